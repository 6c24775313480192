// SPDX-License-Identifier: GPL-2.0-only
//! Putting a configuration into force in a kernel that may refuse any step.

mod module;

use gpreempt_operator::act::apply::{apply, differences, Waiting};
use gpreempt_operator::act::typed::add_all;
use gpreempt_operator::configuration::config::Config;
use gpreempt_operator::module::difference::Difference;
use gpreempt_operator::module::kernel::Kernel;
use gpreempt_operator::words::gpu::activity;
use gpreempt_operator::words::rule::{Rule, Subject, MOST_RULES};
use proptest::prelude::*;

use module::{access, config, Module, GPUS};

fn rule(id: usize, whom: &str, prio: u32) -> String {
    format!("[[rule]]\nid = {id}\n{whom}\nprio = {prio}\n")
}

#[test]
fn a_mode_that_does_more_comes_last_and_one_that_does_less_first() {
    let more = "mode = \"enforce\"\n[parameters]\ngrace_us = 7\n[hints]\nmode = \"0660\"\n"
        .to_owned()
        + &rule(1, "comm = \"x\"", 3);
    let mut module = Module::new();
    let applied = apply(&mut module, &config(&more)).unwrap();
    assert_eq!(
        module.tried,
        [
            "grace_us=7",
            "add 1 comm=x prio=3",
            "access root:root 0660",
            "mode=enforce"
        ]
    );
    assert_eq!(applied.changes.len(), 4);
    assert!(differences(&module.state, &config(&more)).is_empty());

    module.tried.clear();
    apply(&mut module, &config("")).unwrap();
    assert_eq!(module.tried, ["mode=observe", "grace_us=10", "del 1"]);
    assert_eq!(module.state.access, Some(access(0o660)), "left as it is");
    module.tried.clear();
    assert!(apply(&mut module, &config("")).unwrap().changes.is_empty());
    assert!(
        module.tried.is_empty(),
        "what is in force is not written again"
    );
}

#[test]
fn rules_for_a_name_are_all_added_or_none() {
    let old = rule(1, "cgroup = \"/b\"", 9);
    let new = |third: &str| {
        let third = format!("cgroup = \"{third}\"");
        config(&(rule(1, "cgroup = \"/a\"", 3) + &rule(2, "comm = \"x\"", 3) + &rule(3, &third, 3)))
    };
    let mut module = Module::with(&old);
    let now = module.state.clone();
    assert_eq!(add_all(&mut module, &now, new("/gone").rules), Ok(false));
    assert_eq!(module.state, now);
    module.tried.clear();
    module.refused = Some(2);
    assert!(add_all(&mut module, &now, new("/a").rules).is_err());
    assert_eq!(module.state, now);
    module.refused = None;
    assert_eq!(add_all(&mut module, &now, new("/a").rules), Ok(true));
    assert!(differences(&module.state, &new("/a")).is_empty());
}

#[test]
fn a_rule_waits_for_its_cgroup_and_the_old_one_of_its_number_goes() {
    let mut module = Module::with(&rule(1, "cgroup = \"/a\"", 3));
    let wanted = config(&rule(1, "cgroup = \"/new\"", 9));
    let applied = apply(&mut module, &wanted).unwrap();
    assert_eq!(applied.waiting, [Waiting::Rule(wanted.rules[0].clone())]);
    assert!(module.state.rules.is_empty());
    assert_eq!(
        differences(&module.state, &wanted)[0].to_string(),
        "rule '1 cgroup=/new prio=9' is not there"
    );
    module.cgroups.insert(b"/new".to_vec());
    assert!(apply(&mut module, &wanted).unwrap().waiting.is_empty());
    assert_eq!(module.state.rules[0].rule, wanted.rules[0]);
}

#[test]
fn a_mode_that_somebody_sets_meanwhile_so_that_less_is_done_stays() {
    let graced = |text: &str| format!("[parameters]\ngrace_us = 7\n{text}");
    let own = |mode: &str| format!("[gpu.\"{}\"]\nmode = \"{mode}\"\n", GPUS[0]);
    for (old, new, braked, mode, tried) in [
        // The last step has more done.
        (
            String::new(),
            format!("mode = \"enforce\"\n{}", graced("")),
            (0, "off"),
            "off",
            vec!["grace_us=7", "grace_us=10"],
        ),
        // Undoing the first step has more done.
        (
            "mode = \"enforce\"".to_owned(),
            graced(""),
            (1, "off"),
            "off",
            vec!["mode=observe", "grace_us=7"],
        ),
        // One GPU has less done, and somebody does not want more on any.
        (
            format!("mode = \"enforce\"\n{}", own("observe")),
            format!("mode = \"enforce\"\n{}", graced(&own("enforce"))),
            (0, "observe"),
            "observe",
            vec!["grace_us=7", "grace_us=10"],
        ),
        // The mode of one GPU is given up by somebody.
        (
            own("enforce"),
            format!("mode = \"enforce\"\n{}", graced(&own("enforce"))),
            (0, "observe"),
            "observe",
            vec!["grace_us=7", "grace_us=10"],
        ),
    ] {
        let mut module = Module::with(&old);
        module.braked = Some(braked);
        module.refused = (braked.0 == 1).then_some(1);
        let refusal = apply(&mut module, &config(&new)).unwrap_err().to_string();
        assert!(refusal.contains("has been set meanwhile"), "{refusal}");
        assert_eq!(module.tried, tried);
        assert_eq!(module.state.parameters["mode"], mode);
        let left = &module.state.gpus[GPUS[0]];
        assert!(left
            .as_ref()
            .is_none_or(|left| activity(left) <= activity(mode)));
        assert_eq!(
            refusal.ends_with("; everything is as it was"),
            braked.0 == 0
        );
    }
}

/// A module with a rule of the operator's for a process, which ends when anything changes.
fn with_ending_process(rule: &str) -> Module {
    let mut module = Module::new();
    module.add_rule(&Rule::parse(rule).unwrap()).unwrap();
    module.tried.clear();
    module.ending.insert(77);
    module
}

#[test]
fn a_rule_that_goes_with_its_process_meanwhile_is_no_failure() {
    let mut module = with_ending_process("4 pid=77 prio=3");
    let done = apply(&mut module, &config("")).unwrap();
    assert_eq!(module.tried, ["del 4"]);
    assert_eq!(done.changes.len(), 1);
    assert!(module.state.rules.is_empty());
    // So with one that somebody else has deleted; any other that cannot go is a failure.
    let mut module = Module::with(&rule(4, "comm = \"x\"", 3));
    module.deleted = Some(4);
    assert!(apply(&mut module, &config("")).is_ok());
    assert!(module.state.rules.is_empty());
    let mut module = Module::with(&rule(4, "comm = \"x\"", 3));
    module.refused = Some(0);
    assert!(apply(&mut module, &config("")).is_err());
}

#[test]
fn the_rule_of_a_process_that_has_ended_need_not_be_put_back() {
    // It had to go, or its number was wanted, and then something else was refused.
    for (text, refused) in [("", 1), (&*rule(4, "comm = \"x\"", 3), 1)] {
        let mut module = with_ending_process("4 pid=77 prio=3");
        module.refused = Some(refused);
        let text = format!("mode = \"enforce\"\n{text}");
        let refusal = apply(&mut module, &config(&text)).unwrap_err().to_string();
        assert!(refusal.ends_with("everything is as it was"), "{refusal}");
        assert!(module.state.rules.is_empty(), "{text}");
    }
}

#[test]
fn a_gpu_gets_the_mode_that_the_file_names_and_loses_any_other() {
    let text = "mode = \"enforce\"\n[parameters]\nmax_stop_ms = 50\n\
        [gpu.\"0000:01:00.0\"]\nmode = \"observe\"\n";
    let mut module = Module::new();
    let found = differences(&module.state, &config(text));
    let found: Vec<String> = found.iter().map(Difference::to_string).collect();
    assert_eq!(
        found,
        [
            "max_stop_ms is 100 and should be 50",
            "mode of GPU 0000:01:00.0 is that for all GPUs and should be observe",
            "mode is observe and should be enforce",
        ],
        "a GPU that is to do less than all others is told before them"
    );
    apply(&mut module, &config(text)).unwrap();
    assert!(differences(&module.state, &config(text)).is_empty());

    // Somebody changes the GPUs by hand.
    module.state.gpus = GPUS.map(|gpu| (gpu.into(), Some("off".into()))).into();
    let found = differences(&module.state, &config(text));
    let found: Vec<String> = found.iter().map(Difference::to_string).collect();
    assert_eq!(
        found,
        [
            "mode of GPU 0000:01:00.0 is off and should be observe",
            "mode of GPU 0000:02:00.0 is off and should be that for all GPUs",
        ]
    );
    module.tried.clear();
    apply(&mut module, &config("")).unwrap();
    assert_eq!(module.state.gpus, Module::new().state.gpus);
    assert_eq!(
        module.tried,
        [
            "mode=observe",
            "max_stop_ms=100",
            "0000:01:00.0/mode=module",
            "0000:02:00.0/mode=module",
        ]
    );
}

#[test]
fn a_gpu_that_is_not_there_waits() {
    let text = "[gpu.\"0000:03:00.0\"]\nmode = \"off\"\n\
        [gpu.\"0000:02:00.0\"]\nmode = \"enforce\"\n";
    let wanted = config(text);
    let mut module = Module::new();
    let applied = apply(&mut module, &wanted).unwrap();
    assert_eq!(applied.waiting, [Waiting::Gpu("0000:03:00.0".into())]);
    assert_eq!(applied.waiting[0].to_string(), "GPU 0000:03:00.0");
    assert_eq!(module.tried, ["0000:02:00.0/mode=enforce"]);
    let found = differences(&module.state, &wanted);
    assert_eq!(found, [Difference::Absent("0000:03:00.0".into())]);
    assert_eq!(found[0].to_string(), "GPU 0000:03:00.0 is not there");
    module.state.gpus.insert("0000:03:00.0".into(), None);
    assert!(apply(&mut module, &wanted).unwrap().waiting.is_empty());
    assert_eq!(module.state.gpus["0000:03:00.0"].as_deref(), Some("off"));
}

/// A file that has both GPUs do more.
fn both_enforce() -> Config {
    let one = |gpu: &str| format!("[gpu.\"{gpu}\"]\nmode = \"enforce\"\n");
    config(&GPUS.map(one).concat())
}

#[test]
fn a_gpu_that_goes_meanwhile_waits_and_holds_up_nothing() {
    let mut module = Module::new();
    module.going = Some((0, GPUS[0]));
    let applied = apply(&mut module, &both_enforce()).unwrap();
    assert_eq!(applied.waiting, [Waiting::Gpu(GPUS[0].to_owned())]);
    assert_eq!(module.state.gpus[GPUS[1]].as_deref(), Some("enforce"));
    assert!(!module.state.gpus.contains_key(GPUS[0]));
}

#[test]
fn it_is_said_when_a_gpu_has_gone_and_cannot_be_put_back() {
    let mut module = Module::new();
    module.going = Some((1, GPUS[0]));
    module.refused = Some(1);
    let refusal = apply(&mut module, &both_enforce()).unwrap_err().to_string();
    for part in ["could not be put back", "mode of GPU", "has gone"] {
        assert!(refusal.contains(part), "{refusal}");
    }
}

#[test]
fn the_mode_that_a_gpu_had_of_its_own_is_put_back() {
    let old = format!("[gpu.\"{}\"]\nmode = \"off\"\n", GPUS[0]);
    for refused in 0..2 {
        let mut module = Module::with(&old);
        let before = module.state.clone();
        module.refused = Some(refused);
        let refusal = apply(&mut module, &both_enforce()).unwrap_err().to_string();
        assert!(refusal.ends_with("; everything is as it was"), "{refusal}");
        assert_eq!(module.state, before, "{:?}", module.tried);
    }
    let mut wanted = both_enforce();
    wanted.rules = config(&rule(1, "comm = \"x\"", 3)).rules;
    wanted.parameters.insert("mode", "enforce".into());
    let mut module = Module::with(&old);
    module.all_refused_from = Some(3);
    let refusal = apply(&mut module, &wanted).unwrap_err().to_string();
    let (_, left) = refusal.split_once("could not be put back: ").unwrap();
    assert_eq!(
        left,
        "mode of GPU 0000:02:00.0 was that for all GPUs (refused 0000:02:00.0/mode=module), \
         mode of GPU 0000:01:00.0 was off (refused 0000:01:00.0/mode=off), \
         there was no rule 1 (refused del 1)"
    );
}

#[test]
fn a_dead_rule_is_added_anew() {
    let text = rule(1, "cgroup = \"/a\"", 3);
    let mut module = Module::with(&text);
    module.state.rules[0].dead = true;
    let found = differences(&module.state, &config(&text));
    assert_eq!(
        found[0].to_string(),
        "rule '1 cgroup=/a prio=3' is dead: its cgroup is gone"
    );
    apply(&mut module, &config(&text)).unwrap();
    assert!(!module.state.rules[0].dead);
}

#[test]
fn all_rules_can_be_exchanged_where_there_is_no_room_for_both() {
    let many = |from: usize| -> String {
        (from..from + MOST_RULES)
            .map(|id| rule(id, "comm = \"x\"", 3))
            .collect()
    };
    let mut module = Module::with(&many(0));
    let wanted = config(&many(MOST_RULES / 2));
    apply(&mut module, &wanted).unwrap();
    assert!(differences(&module.state, &wanted).is_empty());

    let mut module = Module::with(&many(0));
    let before = module.state.clone();
    module.refused = Some(MOST_RULES / 2 + 3);
    apply(&mut module, &wanted).unwrap_err();
    assert_eq!(module.state, before, "there is room for what is put back");
}

#[test]
fn a_refusal_says_what_was_refused_and_what_could_not_be_put_back() {
    let wanted = config("[parameters]\ngrace_us = 7\nmin_run_us = 8\n");
    let mut module = Module::new();
    module.refused = Some(1);
    let refusal = apply(&mut module, &wanted).unwrap_err().to_string();
    assert_eq!(refusal, "refused min_run_us=8; everything is as it was");
    assert_eq!(module.tried.last().unwrap(), "grace_us=10");

    let mut module = Module::new();
    module.all_refused_from = Some(1);
    let refusal = apply(&mut module, &wanted).unwrap_err().to_string();
    assert!(
        refusal.contains("could not be put back: grace_us was 10 (refused grace_us=10)"),
        "{refusal}"
    );
}

#[test]
fn what_could_not_be_put_back_is_said_as_it_was() {
    let old = "[hints]\nmode = \"0640\"\n".to_owned()
        + &rule(1, "comm = \"x\"", 3)
        + &rule(2, "comm = \"x\"", 3);
    let new = "mode = \"enforce\"\n[hints]\nmode = \"0660\"\n".to_owned()
        + &rule(1, "comm = \"y\"", 3)
        + &rule(3, "comm = \"z\"", 3);
    let mut module = Module::with(&old);
    module.all_refused_from = Some(4);
    let refusal = apply(&mut module, &config(&new)).unwrap_err().to_string();
    let (_, left) = refusal.split_once("could not be put back: ").unwrap();
    assert_eq!(
        left,
        "/dev/amd_gpreempt belonged to root:root 0640 (refused access root:root 0640), \
         there was rule '2 comm=x prio=3' (refused add 2 comm=x prio=3), \
         there was no rule 3 (refused del 3), \
         there was rule '1 comm=x prio=3' (refused add 1 comm=x prio=3)"
    );
}

#[test]
fn a_module_that_lacks_a_parameter_is_as_one_with_the_default() {
    let mut module = Module::new();
    module.state.parameters.remove("hint_limit_us");
    assert!(differences(&module.state, &config("")).is_empty());
    let found = differences(&module.state, &config("[parameters]\nhint_limit_us = 5"));
    assert_eq!(
        found[0].to_string(),
        "hint_limit_us is missing and should be 5"
    );
    module.state.access = None;
    let found = differences(&module.state, &config("[hints]\nmode = \"0660\""));
    assert!(found[0].to_string().contains("is not there"), "{found:?}");
}

/// A configuration with a few parameters and rules, of which some clash.
fn some_config() -> impl Strategy<Value = Config> {
    let whom = proptest::sample::select(vec![
        "comm = \"x\"",
        "comm = \"y\"",
        "cgroup = \"/a\"",
        "cgroup = \"/b\"",
        "cgroup = \"/gone\"",
    ]);
    let rules = proptest::collection::btree_map(0usize..5, (whom, 0u32..3), 0..5);
    let mode = || proptest::sample::select(vec!["off", "observe", "enforce"]);
    let gpu = proptest::sample::select(vec![GPUS[0], GPUS[1], "0000:0f:00.0"]);
    (
        mode(),
        0u32..3,
        20u32..23,
        proptest::option::of(0u32..2),
        rules,
        proptest::collection::btree_map(gpu, proptest::option::of(mode()), 0..4),
    )
        .prop_map(|(mode, grace, poll, hints, rules, gpus)| {
            let mut text = format!(
                "mode = \"{mode}\"\n[parameters]\ngrace_us = {grace}\npoll_interval_us = {poll}\n"
            );
            for (gpu, mode) in gpus {
                text.push_str(&format!("[gpu.\"{gpu}\"]\n"));
                text.extend(mode.map(|mode| format!("mode = \"{mode}\"\n")));
            }
            if let Some(hints) = hints {
                text.push_str(&format!("[hints]\nmode = \"06{hints}0\"\n"));
            }
            for (id, (whom, prio)) in rules {
                text.push_str(&rule(id, whom, prio));
            }
            config(&text)
        })
}

/// Whether it is about what is not there.
fn waits(difference: &Difference) -> bool {
    match difference {
        Difference::Absent(gpu) => gpu == "0000:0f:00.0",
        Difference::Rule { wanted, .. } => wanted.subject == Subject::Cgroup(b"/gone".to_vec()),
        _ => false,
    }
}

proptest! {
    #[test]
    fn it_is_in_force_as_a_whole_or_everything_is_as_it_was(
        old in some_config(),
        new in some_config(),
        refused in 0usize..20,
    ) {
        let mut module = Module::new();
        apply(&mut module, &old).unwrap();
        module.tried.clear();
        module.refused = Some(refused);
        let before = module.state.clone();
        module.modes.clear();
        module.note_modes();
        let first = module.modes[0].clone();
        let all = &new.parameters["mode"];
        let last = GPUS.map(|gpu| {
            activity(new.gpus.get(gpu).unwrap_or(all))
        });
        match apply(&mut module, &new) {
            Ok(applied) => {
                let left = differences(&module.state, &new);
                prop_assert!(left.iter().all(waits), "{left:?}");
                prop_assert_eq!(left.len(), applied.waiting.len());
                prop_assert!(module.tried.len() <= refused);
            }
            Err(refusal) => {
                prop_assert!(refusal.to_string().ends_with("; everything is as it was"));
                prop_assert_eq!(&module.state, &before);
            }
        }
        for modes in &module.modes {
            for (gpu, mode) in modes.iter().enumerate() {
                prop_assert!(*mode <= first[gpu].max(last[gpu]), "{:?}", module.tried);
            }
        }
    }
}
