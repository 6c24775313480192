// SPDX-License-Identifier: GPL-2.0-only
//! What is promised elsewhere of the command: the schema of its JSON, its manual
//! page, the units that call it, and the completion that shells take.

mod host;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use host::{Host, DEBUGFS};
use serde_json::Value;

fn project(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../..")
        .join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What of a document is not as a schema says, or nothing. A word of the schema
/// that is unknown here is an error too.
fn breach(schema: &Value, root: &Value, value: &Value, place: &str) -> Option<String> {
    schema
        .as_object()
        .unwrap()
        .iter()
        .find_map(|(word, wanted)| {
            let wrong =
                |good: bool| (!good).then(|| format!("{place}: {value} breaks {word} {wanted}"));
            match word.as_str() {
                "$schema" | "title" | "description" | "$defs" => None,
                "$ref" => {
                    let path = wanted.as_str().unwrap().trim_start_matches('#');
                    breach(root.pointer(path).unwrap(), root, value, place)
                }
                "const" => wrong(value == wanted),
                "enum" => wrong(wanted.as_array().unwrap().contains(value)),
                "minimum" => wrong(value.is_null() || value.as_i64() >= wanted.as_i64()),
                "maximum" => wrong(value.is_null() || value.as_i64() <= wanted.as_i64()),
                "type" => {
                    let own = match value {
                        Value::Null => "null",
                        Value::Bool(_) => "boolean",
                        Value::Number(number) if number.is_f64() => "number",
                        Value::Number(_) => "integer",
                        Value::String(_) => "string",
                        Value::Array(_) => "array",
                        Value::Object(_) => "object",
                    };
                    let one = std::slice::from_ref(wanted);
                    let types = wanted.as_array().map_or(one, Vec::as_slice);
                    wrong(types.iter().any(|word| word == own))
                }
                "required" => value.as_object().and_then(|object| {
                    let names = wanted.as_array().unwrap().iter();
                    let mut missing =
                        names.filter(|name| !object.contains_key(name.as_str().unwrap()));
                    missing
                        .next()
                        .map(|name| format!("{place}: {name} is missing"))
                }),
                "properties" => value.as_object().and_then(|object| {
                    wanted
                        .as_object()
                        .unwrap()
                        .iter()
                        .find_map(|(name, schema)| {
                            let place = format!("{place}.{name}");
                            breach(schema, root, object.get(name)?, &place)
                        })
                }),
                "additionalProperties" => value.as_object().and_then(|object| {
                    let known = schema["properties"].as_object().unwrap();
                    let mut extra = object.keys().filter(|name| !known.contains_key(*name));
                    extra
                        .next()
                        .map(|name| format!("{place}: {name} is unknown"))
                }),
                "items" => value.as_array().and_then(|items| {
                    let mut all = items.iter();
                    all.find_map(|item| breach(wanted, root, item, &format!("{place}[]")))
                }),
                "oneOf" => {
                    let all = wanted.as_array().unwrap().iter();
                    let breaches: Vec<_> = all.map(|one| breach(one, root, value, place)).collect();
                    let good = breaches.iter().filter(|breach| breach.is_none()).count();
                    (good != 1).then(|| format!("{good} of {word} hold: {breaches:?}"))
                }
                _ => Some(format!(
                    "the schema has {word}, which this test does not know"
                )),
            }
        })
}

fn full_host() -> Host {
    let host = Host::supported();
    host.file(
        "etc/amd-gpreempt/config.toml",
        "[parameters]\ngrace_us = 3\n[[rule]]\nid = 2\nunit = \"a.service\"\nprio = 3\n\
         [[rule]]\nid = 4\nunit = \"b.service\"\nprio = 3\n",
    );
    host.file("sys/module/amd_gpreempt/parameters/grace_us", "10\n");
    host.file(
        &format!("{DEBUGFS}/rules.json"),
        r#"{"schema":1,"rules":[{"id":1,"text":"1 pid=3 exempt","dead":false,"exempt":true},
            {"id":2,"text":"2 cgroup=/system.slice/a.service prio=3","dead":false,"exempt":false}]}"#,
    );
    host.file(
        &format!("{DEBUGFS}/events.json"),
        r#"{"schema":1,"events":[{"number":1,"time_ns":5,"gpu":"0000:01:00.0","node":0,"gpu_id":5,"pid":20,"queue":1,"prio":2,"eff_prio":2,"action":"stop","reason":"inversion","age_ns":3,"for":null,"fate":"done"}]}"#,
    );
    host.file("sys/devices/faux/amd_gpreempt/rules_del", "");
    host.file("wrong.toml", "mode = 1\n");
    host.file("sys/fs/cgroup/system.slice/a.service/cgroup.procs", "");
    host
}

#[test]
fn the_json_of_every_command_is_as_the_schema_says() {
    let schema: Value = serde_json::from_str(&project("docs/gpreempt.schema.json")).unwrap();
    let host = full_host();
    let wrong = host.0.path().join("wrong.toml").display().to_string();
    let mut seen = BTreeSet::new();
    let events = host.0.path().join("events");
    let line = "a-1 [0] ..... 1.5: gp_stop: gpu_id=1 node=0 pid=2 queue_id=3 prio=4 eff_prio=5 reason=rotation age_ns=6";
    fs::write(&events, line).unwrap();
    for line in [
        "status",
        "queues",
        "events",
        "explain|20",
        &format!("record|{0}.trace|--from|{0}", events.display()),
        "mode",
        "mode|off",
        "rules",
        "rules|list",
        "rules|add|1 pid=3 exempt",
        "rules|del|1",
        "check",
        "check|--gone",
        &format!("check|{wrong}"),
        &format!("apply|{wrong}"),
        "apply|--dry-run",
        "apply",
        "apply|--resolve",
        "status",
        "rules",
        "good",
        "doctor|--release|7.3.4",
        "doctor|--release|7.1.0",
        "rules|save",
    ] {
        let output = host.run(&format!("--json|{line}"));
        let document: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{line}: {error}: {output:?}"));
        assert_eq!(
            breach(&schema, &schema, &document, ""),
            None,
            "{line}: {document}"
        );
        seen.insert(document["command"].as_str().unwrap().to_owned());
    }
    let described = schema["oneOf"].as_array().unwrap().len();
    assert_eq!(seen.len(), described, "{seen:?}");
    assert!(host.refuses("--json|top").contains("is for people"));
}

#[test]
fn a_document_that_is_not_as_the_schema_says_is_noticed() {
    let schema: Value = serde_json::from_str(&project("docs/gpreempt.schema.json")).unwrap();
    for text in [
        r#"{"schema":2,"command":"mode","mode":"off"}"#,
        r#"{"schema":1,"command":"mode","mode":"on"}"#,
        r#"{"schema":1,"command":"mode"}"#,
        r#"{"schema":1,"command":"mode","mode":"off","more":1}"#,
        r#"{"schema":1,"command":"rules","rules":[{"id":-1,"text":"","dead":false}]}"#,
        r#"{"schema":1,"command":"rules","rules":[{"id":1,"text":3,"dead":false}]}"#,
        "[]",
    ] {
        let document = serde_json::from_str(text).unwrap();
        assert!(breach(&schema, &schema, &document, "").is_some(), "{text}");
    }
}

/// Words of a page behind a macro, at the beginning of a line or within one.
fn marked(page: &str, mark: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for line in page.lines().filter(|line| line.starts_with('.')) {
        let mut after = false;
        for word in line.split_whitespace() {
            let word = word.trim_start_matches('.');
            let is_macro = word.len() == 2 && word.starts_with(|c: char| c.is_ascii_uppercase());
            if after && !is_macro && word != "|" && word != "," {
                words.insert(word.to_owned());
            }
            after = word == mark || (after && !is_macro);
        }
    }
    words
}

/// Commands and options of a help text.
fn helped(text: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut commands, mut options) = (BTreeSet::new(), BTreeSet::new());
    let mut in_commands = false;
    for line in text.lines() {
        if !line.starts_with(' ') && !line.is_empty() {
            in_commands = line == "Commands:";
        }
        let first = line.split_whitespace().next().unwrap_or_default();
        if in_commands && line.starts_with("  ") {
            commands.insert(first.to_owned());
        }
        let long = line
            .split_whitespace()
            .find_map(|word| word.strip_prefix("--"));
        if let Some(long) = long.filter(|_| first.starts_with('-')) {
            options.insert(long.trim_end_matches(',').to_owned());
        }
    }
    (commands, options)
}

#[test]
fn the_manual_page_has_every_command_and_option_and_no_other() {
    let page = project("docs/man/gpreempt.8");
    let help = |words: &str| Host::new().says(&format!("{words}--help"));
    let (commands, mut options) = helped(&help(""));
    assert!(
        commands.len() >= 10 && options.contains("json"),
        "{commands:?} {options:?}"
    );
    let (rules, _) = helped(&help("rules|"));
    for command in commands.iter().filter(|command| *command != "selftest") {
        options.extend(helped(&help(&format!("{command}|"))).1);
    }
    let described = marked(&page, "Cm");
    for command in commands.iter().chain(&rules) {
        assert!(
            described.contains(command),
            "{command} is not in the manual page"
        );
    }
    let flags: BTreeSet<String> = marked(&page, "Fl")
        .iter()
        .filter_map(|word| word.strip_prefix('-').map(String::from))
        .collect();
    assert_eq!(flags, options);
    let items: BTreeSet<String> = page
        .split(".Sh CONFIGURATION")
        .next()
        .unwrap()
        .lines()
        .filter_map(|line| line.strip_prefix(".It Cm ").map(String::from))
        .collect();
    assert_eq!(items, commands);
}

#[test]
fn the_units_call_what_the_command_understands() {
    let mut lines = Vec::new();
    for unit in ["", "-good", "-names"] {
        let text = project(&format!("scripts/package/host/amd-gpreempt{unit}.service"));
        let commands = text.lines().filter(|line| line.starts_with("Exec"));
        lines.extend(commands.map(|line| line.split_once('=').unwrap().1.to_owned()));
    }
    let ours: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.split_once("/usr/sbin/gpreempt "))
        .map(|(_, words)| words.trim_end_matches('\''))
        .collect();
    assert_eq!(ours.len(), 5, "{lines:?}");
    let host = full_host();
    for line in ours {
        host.says(&line.replace(' ', "|"));
    }
}

#[test]
fn that_the_unit_is_stopped_counts_only_while_the_host_shuts_down() {
    let unit = project("scripts/package/host/amd-gpreempt.service");
    let (_, line) = unit.split_once("\nExecStop=/bin/sh -c '").unwrap();
    let (line, _) = line.split_once("'\n").unwrap();
    // What systemd makes of it.
    let line = line
        .replace("$$", "$")
        .replace("/usr/sbin/gpreempt", "/bin/echo");
    for (job, said) in [("", ""), ("0", ""), ("712", "good\n")] {
        let host = Host::new();
        host.file("systemctl", &format!("#!/bin/sh\necho {job}\n"));
        let program = host.0.path().join("systemctl");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &line]).env("PATH", host.0.path());
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8(output.stdout).unwrap(), said, "{job}");
    }
}

/// What a word of a udev rule is compared with.
fn matched(rule: &str, word: &str) -> String {
    let (_, rest) = rule.split_once(&format!("{word}==\"")).unwrap();
    rest.split('"').next().unwrap().to_owned()
}

#[test]
fn a_device_that_was_there_before_the_package_gets_its_tag() {
    let rule = project("scripts/package/host/80-amd_gpreempt.rules");
    let trigger = format!(
        "udevadm trigger --subsystem-match={} --sysname-match={} ",
        matched(&rule, "SUBSYSTEM"),
        matched(&rule, "KERNEL")
    );
    let script = project("scripts/package/debian/amd-gpreempt-tools.postinst");
    let (reload, after) = script.split_once("udevadm control --reload").unwrap();
    assert!(
        !reload.contains("trigger") && after.contains(&trigger),
        "{script}"
    );
}

/// systemd drops the wish to start a unit that it is about to stop, as it is while
/// the device of a module that has gone takes the unit along.
#[test]
fn the_device_wants_a_unit_that_does_not_end_with_it() {
    let rule = project("scripts/package/host/80-amd_gpreempt.rules");
    let (_, wanted) = rule.split_once("SYSTEMD_WANTS}+=\"").unwrap();
    let wanted = wanted.split('"').next().unwrap();
    let unit = project(&format!("scripts/package/host/{wanted}"));
    let settings: BTreeSet<&str> = unit.lines().collect();
    assert!(
        settings.contains("ExecStart=/usr/bin/systemctl --no-block restart amd-gpreempt.service"),
        "{unit}"
    );
    for word in ["BindsTo", "PartOf", "StopPropagatedFrom", "RemainAfterExit"] {
        let has = settings.iter().any(|line| line.starts_with(word));
        assert!(!has, "{word} in {wanted}");
    }
}

#[test]
fn the_unit_that_applies_may_write_what_is_applied() {
    let unit = project("scripts/package/host/amd-gpreempt.service");
    let settings: BTreeSet<&str> = unit.lines().collect();
    // Each makes a part of /sys or /dev read-only, or another one.
    for word in [
        "ProtectKernelTunables",
        "PrivateDevices",
        "ReadOnlyPaths",
        "InaccessiblePaths",
        "PrivateUsers",
        "DynamicUser",
        "User",
    ] {
        let set = settings
            .iter()
            .find(|line| line.starts_with(&format!("{word}=")));
        assert_eq!(set, None);
    }
    for line in [
        "CapabilityBoundingSet=CAP_CHOWN CAP_FOWNER",
        "StateDirectory=amd-gpreempt",
        "SystemCallFilter=@system-service",
    ] {
        assert!(settings.contains(line), "{line}");
    }
}

#[test]
fn the_unit_that_follows_names_sees_what_is_named_and_what_was_applied() {
    let unit = |name: &str| project(&format!("scripts/package/host/amd-gpreempt{name}"));
    let (own, other) = (unit("-names.service"), unit(".service"));
    let own: BTreeSet<&str> = own.lines().collect();
    for line in [
        "ConditionPathExists=/run/amd-gpreempt/applied.toml",
        "CapabilityBoundingSet=CAP_DAC_READ_SEARCH",
        "ProtectHome=read-only",
        "ReadWritePaths=/run/amd-gpreempt",
    ] {
        assert!(own.contains(line), "{line}");
    }
    // Its sandbox is that of the unit that applies, but for what is said above.
    let other: BTreeSet<&str> = other.lines().collect();
    let sandbox = |line: &&&str| {
        let words = [
            "Protect",
            "Private",
            "Restrict",
            "SystemCall",
            "Device",
            "IP",
            "No",
            "Memory",
        ];
        words.iter().any(|word| line.starts_with(word))
    };
    let missing: Vec<_> = other.difference(&own).filter(sandbox).collect();
    assert_eq!(missing, [&"ProtectHome=yes"]);
    assert!(other.contains("MemoryMax=256M"));
    assert!(other.contains("RuntimeDirectory=amd-gpreempt"));
    assert!(other.contains("Wants=amd-gpreempt-good.timer amd-gpreempt-names.timer"));
    let start = "systemctl --no-block start amd-gpreempt-names.timer";
    assert!(other.contains(format!("ExecReload=/usr/bin/{start}").as_str()));
    let upgraded = project("scripts/package/debian/amd-gpreempt-tools.postinst");
    assert!(upgraded.contains(start), "{upgraded}");
    let purged = project("scripts/package/debian/amd-gpreempt-tools.postrm");
    assert!(
        purged.contains("\"$DPKG_ROOT/run/amd-gpreempt\""),
        "{purged}"
    );
    let timer = unit("-names.timer");
    assert!(
        timer.contains("\nBindsTo=dev-amd_gpreempt.device\n"),
        "{timer}"
    );
}

#[test]
fn the_example_is_a_configuration() {
    let host = Host::new();
    host.file("example", &project("scripts/package/host/config.toml"));
    let file = host.0.path().join("example");
    let text = host.says(&format!("check|{}", file.display()));
    assert!(
        text.ends_with("mode observe, 1 parameter other than by default, 2 rules\n"),
        "{text}"
    );
}

#[test]
fn bash_completes_commands_and_options() {
    let script = Host::new().says("completion|bash");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("gpreempt");
    fs::write(&file, script).unwrap();
    let complete = |words: &str| {
        let last = words.split(' ').count() - 1;
        let line = format!(
            ". {}; COMP_WORDS=({words}); COMP_CWORD={last}; \
             _gpreempt gpreempt ${{COMP_WORDS[{last}]}} ${{COMP_WORDS[{last}-1]}}; echo ${{COMPREPLY[@]}}",
            file.display()
        );
        let output = Command::new("bash").args(["-c", &line]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("gpreempt sta"), "status");
    assert_eq!(complete("gpreempt apply --dr"), "--dry-run");
    assert_eq!(complete("gpreempt mode enf"), "enforce");
    assert!(Host::new()
        .says("completion|zsh")
        .starts_with("#compdef gpreempt\n"));
}
