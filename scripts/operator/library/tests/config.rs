// SPDX-License-Identifier: GPL-2.0-only
//! What a configuration may say, and what is said of one that is wrong.

use gpreempt_operator::configuration::config::{Access, Config};
use gpreempt_operator::configuration::file_text;
use gpreempt_operator::words::parameters;
use gpreempt_operator::words::rule::Rule;
use gpreempt_operator::words::table::Fault;
use proptest::prelude::*;

/// The faults of a text, each as `line:column: what`.
fn faults(text: &str) -> Vec<String> {
    let faults = Config::parse(text).unwrap_err();
    let line = |fault: &Fault| format!("{}:{}: {}", fault.line, fault.column, fault.what);
    faults.iter().map(line).collect()
}

fn only_fault(text: &str) -> String {
    let all = faults(text);
    assert_eq!(all.len(), 1, "{text}: {all:?}");
    all[0].clone()
}

#[test]
fn an_empty_file_is_the_defaults() {
    assert_eq!(Config::parse("").unwrap(), Config::new());
    assert_eq!(Config::parse("# nothing\n\n").unwrap(), Config::new());
    assert_eq!(Config::new().parameters["mode"], "observe");
}

#[test]
fn everything_that_a_file_can_say_is_understood() {
    let config = Config::parse(
        r#"
        mode = "enforce"
        [parameters]
        grace_us = 77
        user_priority = "cap:7"
        timeslice_us = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
        backend = "mqd"
        [gpu."0000:C1:00.0"]
        mode = "enforce"
        [gpu."0001:c1:00.0"]
        [hints]
        group = "inference"
        mode = "0660"
        [[rule]]
        id = 20
        comm = "a b"
        exempt = true
        [[rule]]
        id = 10
        cgroup = "/inference.slice"
        prio = 12
        timeslice_us = 5
        stop_budget_ms = 7
        exempt = false
        "#,
    )
    .unwrap();
    let of = |name: &str| config.parameters[name].as_str();
    assert_eq!((of("mode"), of("grace_us")), ("enforce", "77"));
    assert_eq!(of("backend"), "mqd");
    assert_eq!(of("timeslice_us"), "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15");
    assert_eq!(of("max_stop_ms"), "100", "the default");
    let own = &config.gpus["0000:c1:00.0"];
    assert_eq!(
        own, "enforce",
        "its own also where all others have the same"
    );
    assert_eq!(config.gpus.len(), 1, "a table that says nothing is none");
    let access = Access {
        owner: "root".into(),
        group: "inference".into(),
        mode: 0o660,
    };
    assert_eq!(config.access, Some(access));
    let rules: Vec<String> = config.rules.iter().map(Rule::to_string).collect();
    assert_eq!(
        rules,
        [
            "10 cgroup=/inference.slice prio=12 timeslice_us=5 stop_budget_ms=7",
            "20 comm=a%20b exempt"
        ]
    );
}

#[test]
fn each_fault_is_said_where_it_is_with_what_to_do() {
    for (text, wanted) in [
        ("mode = \"on\"", "1:8: 'mode' cannot be 'on': give 'observe', 'enforce' or 'off'"),
        ("mode = 3", "1:8: 'mode' cannot be '3': give 'observe', 'enforce' or 'off'"),
        ("\nmoed = \"off\"", "2:1: there is no 'moed' at the top of the file; did you mean 'mode'?"),
        (
            "speed = 1",
            "1:1: there is no 'speed' at the top of the file; there are: mode, parameters, gpu, hints, rule",
        ),
        ("grace_us = 1", "1:1: 'grace_us' is a parameter: write it below [parameters]"),
        (
            "[parameters]\n  grace_ms = 1",
            "2:3: there is no 'grace_ms' among the parameters; did you mean 'grace_us'?",
        ),
        (
            "[parameters]\nx = 1",
            "2:1: there is no 'x' among the parameters; amd_gpreempt(4) lists what there is",
        ),
        (
            "[parameters]\nmode = \"off\"",
            "2:1: 'mode' stands at the top of the file: write it before the first [table]",
        ),
        (
            "[parameters]\ngrace_us = -1",
            "2:12: 'grace_us' cannot be '-1': give a number from 0 to 1000000",
        ),
        (
            "[parameters]\ntimeslice_us = [1, 2]",
            "2:16: 'timeslice_us' cannot be '1,2': \
             give a number of microseconds from 0 to 10000000, or 16 of them",
        ),
        (
            "[parameters]\ntimeslice_us = [1, \"x\"]",
            "2:20: 'timeslice_us' takes a whole number",
        ),
        ("parameters = 3", "1:14: 'parameters' is a table: write [parameters]"),
        ("[hints]\nmode = 660", "2:8: 'mode' takes an octal number such as \"0660\""),
        ("[hints]\nmode = \"1777\"", "2:8: 'mode' takes an octal number such as \"0660\""),
        ("[hints]\ngroup = \"\"", "2:9: 'group' takes a name, as in /etc/group"),
        (
            "[hints]\ngruop = \"x\"",
            "2:1: there is no 'gruop' in [hints]; did you mean 'group'?",
        ),
        ("[rule]\nid = 1", "1:1: there can be several rules: write [[rule]]"),
        ("mode = off", "1:8: this is not TOML: string values must be quoted, expected literal string"),
    ] {
        assert_eq!(only_fault(text), wanted);
    }
}

#[test]
fn each_fault_of_a_rule_is_said_where_it_is() {
    for (lines, wanted) in [
        (
            "comm = \"x\"\nexempt = true",
            "1:1: the rule has no number: add 'id = 10'",
        ),
        (
            "id = -1\ncomm = \"x\"\nexempt = true",
            "1:1: 'id' takes a number from 0 to 4294967295",
        ),
        (
            "id = 1\nexempt = true",
            "1:1: the rule is for nobody: add 'cgroup', 'comm', 'unit', 'container', 'label' or 'user'",
        ),
        (
            "id = 1\ncomm = \"x\"\ncgroup = \"/\"\nexempt = true",
            "1:1: give only one of 'cgroup', 'comm' and the name of a unit, container, label or user",
        ),
        (
            "id = 1\ncomm = \"x\"\nnode = \"0\\\"000:c1:00.0/3\"\nexempt = true",
            "4:8: node takes a GPU and a node's number, as in 0000:c1:00.0/0",
        ),
        (
            "id = 1\ncomm = \"x\"\nexempt = false",
            "1:1: the rule does nothing: add 'prio', 'timeslice_us', 'stop_budget_ms' or 'exempt'",
        ),
        (
            "id = 1\ncomm = \"x\"\nexempt = true\nprio = 1",
            "1:1: 'exempt' goes with nothing else: take the rest out",
        ),
        (
            "id = 1\ncomm = \"x\"\nprio = 16",
            "4:8: prio takes a number from 0 to 15",
        ),
        (
            "id = 1\ncomm = \"a name of sixteen\"\nprio = 1",
            "3:8: comm takes a command name of 1 to 15 bytes",
        ),
        (
            "id = 1\ncgroup = \"x\"\nprio = 1",
            "3:10: cgroup takes a path of at most 1024 bytes that begins with /",
        ),
        (
            "id = 1\ncomm = \"50%\"\nprio = 1",
            "3:8: % must be followed by two hexadecimal digits other than 00",
        ),
        (
            "id = 1\ncomm = \"x\"\ntimeslice_us = 10000001",
            "4:16: times are whole microseconds, at most 10000000",
        ),
        (
            "id = 1\ncomm = \"x\"\nstop_budget_ms = 0",
            "4:18: stop_budget_ms takes a number from 1 to 1000",
        ),
        (
            "id = 1\ncomm = \"x\"\nprio = 9\nstop_budget_ms = 1001",
            "5:18: stop_budget_ms takes a number from 1 to 1000",
        ),
        (
            "id = 1\ncomm = 3\nprio = 1",
            "3:8: 'comm' takes a text in quotation marks",
        ),
        (
            "id = 1\ncomm = \"x\"\nexempt = 1",
            "4:10: 'exempt' takes true or false",
        ),
        (
            "id = 1\ncom = \"x\"\nexempt = true",
            "3:1: there is no 'com' in a rule; did you mean 'comm'?",
        ),
    ] {
        let fault = only_fault(&format!("[[rule]]\n{lines}"));
        assert_eq!(fault, wanted);
    }
    let pid = only_fault("[[rule]]\nid = 1\npid = 4711\nexempt = true");
    assert!(
        pid.starts_with("3:1: ") && pid.contains("gpreempt rules add"),
        "{pid}"
    );
}

#[test]
fn all_faults_are_said_at_once_and_in_order() {
    let text = "mode = 1\n[[rule]]\nid = 1\nprio = 99\n[parameters]\nx = 1\n";
    let lines: Vec<String> = faults(text);
    let places: Vec<&str> = lines.iter().map(|line| &line[..3]).collect();
    assert_eq!(places, ["1:8", "4:8", "6:1"], "{lines:?}");
}

#[test]
fn two_rules_of_a_number_and_too_many_rules_are_refused() {
    let rule = |id: usize| format!("[[rule]]\nid = {id}\ncomm = \"x\"\nprio = 1\n");
    let twice = rule(7) + &rule(7);
    assert_eq!(
        only_fault(&twice),
        "5:1: line 1 has rule 7 already: give another id"
    );
    let many: String = (0..256).map(rule).collect();
    assert_eq!(Config::parse(&many).unwrap().rules.len(), 256);
    let more: String = (0..257).map(rule).collect();
    assert_eq!(
        only_fault(&more),
        "1025:1: there can be at most 256 rules: take some out"
    );
}

#[test]
fn each_fault_of_a_gpu_is_said_where_it_is() {
    for (text, wanted) in [
        (
            "gpu = 1",
            "1:7: there can be several GPUs: write [gpu.\"0000:c1:00.0\"]",
        ),
        (
            "[gpu.\"c1:00.0\"]\nmode = \"off\"",
            "1:6: 'c1:00.0' is not the address of a GPU: write it as 'gpreempt status' shows it, \
             for example \"0000:c1:00.0\"",
        ),
        (
            "[gpu]\n\"0000:c1:00.0\" = 1",
            "2:1: a GPU is a table: write [gpu.\"0000:c1:00.0\"]",
        ),
        (
            "[gpu.\"0000:c1:00.0\"]\n[gpu.\"0000:C1:00.0\"]",
            "2:6: line 1 has GPU 0000:c1:00.0 already: put the two together",
        ),
        (
            "[gpu.\"0000:c1:00.0\"]\n mode = \"on\"",
            "2:9: 'mode' cannot be 'on': give 'observe', 'enforce' or 'off'",
        ),
        (
            "[gpu.\"0000:c1:00.0\"]\nmode = \"module\"",
            "2:8: 'mode' cannot be 'module': give 'observe', 'enforce' or 'off'",
        ),
        (
            "[gpu.\"0000:c1:00.0\"]\nmodes = 1",
            "2:1: there is no 'modes' in the table of a GPU; did you mean 'mode'?",
        ),
    ] {
        assert_eq!(only_fault(text), wanted);
    }
}

#[test]
fn more_gpus_than_there_is_room_for_are_refused() {
    let with = |count: usize| -> String {
        let gpu = |bus| format!("[gpu.\"0000:{bus:02x}:00.0\"]\nmode = \"off\"\n");
        (0..count).map(gpu).collect::<Vec<String>>().concat()
    };
    assert_eq!(Config::parse(&with(64)).unwrap().gpus.len(), 64);
    assert_eq!(
        only_fault(&with(65)),
        "129:6: 64 GPUs at most can have modes of their own: take some out"
    );
}

#[test]
fn what_is_no_text_is_said_with_its_place() {
    let faults = Config::parse_bytes(b"mode = \"off\"\n\xff").unwrap_err();
    assert_eq!((faults[0].line, faults[0].column), (2, 1));
    assert!(faults[0].what.contains("UTF-8"), "{faults:?}");
    let deep = format!("x = {}", "[".repeat(100_000));
    assert!(!Config::parse(&deep).unwrap_err().is_empty());
}

/// Lines as a person might write them, more or less.
fn some_line() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("mode".to_owned()),
        Just("id".to_owned()),
        Just("comm".to_owned()),
        Just("cgroup".to_owned()),
        Just("prio".to_owned()),
        Just("stop_budget_ms".to_owned()),
        Just("node".to_owned()),
        Just("exempt".to_owned()),
        Just("group".to_owned()),
        Just("gpu".to_owned()),
        proptest::sample::select(parameters::names().collect::<Vec<_>>()).prop_map(String::from),
        "[a-z_]{1,8}",
    ];
    let value = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        (0u32..20).prop_map(|number| number.to_string()),
        any::<bool>().prop_map(|yes| yes.to_string()),
        Just("\"enforce\"".to_owned()),
        Just("\"/a b\"".to_owned()),
        Just("\"0000:c1:00.0/3\"".to_owned()),
        "\"[ -~]{0,20}\"",
        "\\[[0-9, ]{0,40}\\]",
        "\\PC{0,10}",
        Just("0o660".to_owned()),
        Just("1979-05-27".to_owned()),
        Just("{ a = 1 }".to_owned()),
    ];
    prop_oneof![
        4 => (word, value).prop_map(|(word, value)| format!("{word} = {value}")),
        2 => Just("[[rule]]".to_owned()),
        1 => Just("[parameters]".to_owned()),
        1 => Just("[hints]".to_owned()),
        1 => Just("[gpu.\"0000:c1:00.0\"]".to_owned()),
        1 => "\\PC{0,20}",
    ]
}

/// A configuration that can be.
fn some_config() -> impl Strategy<Value = Config> {
    let node = (any::<u16>(), 0u32..64)
        .prop_map(|(domain, index)| format!(" node={domain:04x}:c1:00.0/{index}"));
    let rule = (
        0u32..400,
        "[ -~]{1,15}",
        proptest::option::of(node),
        0u8..16,
        any::<bool>(),
    )
        .prop_map(|(id, name, node, prio, exempt)| {
            let name = gpreempt_operator::words::escape::escaped(name.as_bytes());
            let effect = if exempt {
                "exempt".into()
            } else {
                format!("prio={prio}")
            };
            let node = node.unwrap_or_default();
            Rule::parse(&format!("{id} comm={name}{node} {effect}")).unwrap()
        });
    let numbers = (
        20u32..1000,
        0u32..1000,
        proptest::sample::select(vec!["off", "enforce"]),
    );
    let rules = proptest::collection::vec(rule, 0..20);
    let own = proptest::sample::select(vec!["off", "observe", "enforce"]).prop_map(String::from);
    let address = (0u32..0x20000).prop_map(|domain| format!("{domain:04x}:c1:00.0"));
    let gpus = proptest::collection::btree_map(address, own, 0..4);
    let all = (numbers, rules, proptest::option::of(0u32..0o1000), gpus);
    all.prop_map(|(numbers, mut rules, access, gpus)| {
        rules.sort_by_key(|rule| rule.id);
        rules.dedup_by_key(|rule| rule.id);
        let mut config = Config::new();
        config
            .parameters
            .insert("poll_interval_us", numbers.0.to_string());
        config.parameters.insert("grace_us", numbers.1.to_string());
        config.parameters.insert("mode", numbers.2.to_owned());
        config.rules = rules;
        config.gpus = gpus;
        config.access = access.map(|mode| Access {
            owner: "a \"b\"".into(),
            group: "ü".into(),
            mode,
        });
        config
    })
}

proptest! {
    #[test]
    fn a_configuration_that_is_written_is_read_as_the_same(config in some_config()) {
        let text = file_text::toml(&config);
        prop_assert_eq!(Config::parse(&text), Ok(config), "{}", text);
    }

    #[test]
    fn whatever_a_file_says_it_is_understood_or_has_a_fault_with_a_place(
        lines in proptest::collection::vec(some_line(), 0..12)
    ) {
        let text = lines.join("\n");
        match Config::parse(&text) {
            Ok(mut config) => {
                // What is gone is not written.
                config.gone.clear();
                prop_assert_eq!(Config::parse(&file_text::toml(&config)), Ok(config));
            }
            Err(faults) => {
                prop_assert!(!faults.is_empty());
                for fault in faults {
                    prop_assert!((1..=lines.len().max(1) + 1).contains(&fault.line), "{:?}", fault);
                    prop_assert!(fault.column >= 1);
                    prop_assert!(!fault.what.is_empty() && !fault.what.contains('\n'), "{:?}", fault);
                }
            }
        }
    }

    #[test]
    fn bytes_are_understood_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Err(faults) = Config::parse_bytes(&bytes) {
            prop_assert!(faults.iter().all(|fault| fault.line >= 1 && fault.column >= 1));
        }
    }
}

#[test]
fn a_file_that_is_none_leads_to_a_few_lines() {
    let lines: Vec<String> = (0..500).map(|line| format!("x{line} = 1\n")).collect();
    let faults = Config::parse(&lines.concat()).unwrap_err();
    assert_eq!(faults.len(), 101);
    assert_eq!((faults[99].line, faults[100].line), (100, 101));
    assert!(
        faults[100].what.contains("mend what was said"),
        "{faults:?}"
    );

    for text in ["[", "{a=", "a."] {
        let text = format!("x = {}", text.repeat(50_000));
        let faults = Config::parse(&text).unwrap_err();
        assert!(faults.len() < 5, "{}", faults.len());
    }
    let keys = format!("{} = 1", vec!["a"; 50_000].join("."));
    assert_eq!(Config::parse(&keys).unwrap_err().len(), 1);
}

#[test]
fn a_value_that_has_no_words_is_not_repeated() {
    let faults = Config::parse("[parameters]\ngrace_us = nan\n").unwrap_err();
    let what = &faults[0].what;
    assert!(
        what.starts_with("'grace_us' cannot be this: give a number from 0"),
        "{what}"
    );
}
