// SPDX-License-Identifier: GPL-2.0-only
//! Rules with names, from the command line to what is written for the kernel.

mod host;

use std::fs;
use std::os::unix::fs::symlink;

use host::{Host, DEBUGFS, FAUX};

const FILE: &str = "etc/amd-gpreempt/config.toml";
const APPLIED: &str = "run/amd-gpreempt/applied.toml";
const ATTEMPTS: &str = "var/lib/amd-gpreempt/attempts.json";
const MODE: &str = "sys/module/amd_gpreempt/parameters/mode";
const NUMBER: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const CONFIG: &str = "mode = \"enforce\"\n\n[[rule]]\nid = 10\ncontainer = \"trainer\"\nprio = 2\n\
    \n[[rule]]\nid = 20\ncomm = \"x\"\nprio = 3\n";

/// A host with a configuration and the container that it names.
fn host() -> Host {
    let host = Host::with_module();
    host.file(&format!("{FAUX}/rules_del"), "");
    host.file("proc/sys/kernel/random/boot_id", "one\n");
    host.file(FILE, CONFIG);
    host.file(
        &format!("var/lib/docker/containers/{NUMBER}/config.v2.json"),
        "{\"Name\":\"/trainer\"}",
    );
    fs::create_dir_all(cgroup(&host)).unwrap();
    host
}

fn cgroup(host: &Host) -> std::path::PathBuf {
    let below = format!("sys/fs/cgroup/system.slice/docker-{NUMBER}.scope");
    host.0.path().join(below)
}

fn path() -> String {
    format!("/system.slice/docker-{NUMBER}.scope")
}

/// Has the tables show these rules, and nothing as written since.
fn in_force(host: &Host, rules: &[&str]) {
    let rows: Vec<String> = rules
        .iter()
        .map(|text| {
            let id = text.split(' ').next().unwrap();
            format!(r#"{{"id":{id},"text":"{text}","dead":false,"exempt":false}}"#)
        })
        .collect();
    let table = format!(r#"{{"schema":1,"rules":[{}]}}"#, rows.join(","));
    host.file(&format!("{DEBUGFS}/rules.json"), &table);
    host.file(&format!("{FAUX}/rules_add"), "");
    host.file(&format!("{FAUX}/rules_del"), "");
}

fn written(host: &Host) -> (String, String) {
    let of = |what: &str| host.read(&format!("{FAUX}/rules_{what}"));
    (of("add"), of("del"))
}

#[test]
fn what_is_named_is_in_force_by_its_cgroup_and_shown_with_its_name() {
    let host = host();
    let rule = format!("10 cgroup={} prio=2", path());
    assert!(host.says("check").ends_with("2 rules\n"));
    let dry = host.says("apply|--dry-run");
    assert!(
        dry.contains(&format!("rule '{rule}' is not there\n")),
        "{dry}"
    );
    assert!(!host.0.path().join(APPLIED).exists());
    in_force(&host, &["20 comm=x prio=3"]);
    assert!(host.says("apply").ends_with("config.toml is in force\n"));
    assert_eq!(written(&host), (rule.clone(), String::new()));

    in_force(&host, &[&rule, "20 comm=x prio=3"]);
    assert!(host.says("status").ends_with("config.toml is in force\n"));
    assert_eq!(
        host.says("rules"),
        format!("{rule}  # container=trainer\n20 comm=x prio=3\n")
    );
    let json = host.says("--json|rules");
    assert!(json.contains("\"name\": \"container=trainer\""), "{json}");
}

#[test]
fn what_comes_and_goes_is_followed_and_nothing_else() {
    let host = host();
    let rule = format!("10 cgroup={} prio=2", path());
    fs::remove_dir(cgroup(&host)).unwrap();
    let text = host.says("apply|--at-boot");
    assert!(
        text.ends_with(
            "rule '10 container=trainer prio=2' waits: no container of that name runs\n"
        ),
        "{text}"
    );
    let tried = host.read(ATTEMPTS);
    host.says("good");
    in_force(&host, &["20 comm=x prio=3"]);
    let status = host.says("status");
    assert!(
        status.contains("config.toml is in force\n  rule '10 container"),
        "{status}"
    );

    // Somebody has put the host back, and has the rule of another number gone.
    host.file(MODE, "observe\n");
    in_force(&host, &["30 pid=7 exempt"]);
    assert_eq!(host.says("apply|--resolve"), "");
    assert_eq!(written(&host), (String::new(), String::new()));
    fs::create_dir(cgroup(&host)).unwrap();
    let status = host.says("status");
    assert!(
        status.contains(&format!(
            "  rule '{rule}' is not there, until 'container=trainer' is followed the next time\n"
        )),
        "{status}"
    );
    assert_eq!(
        host.says("apply|--resolve"),
        format!("added rule '{rule}'\n")
    );
    assert_eq!(written(&host), (rule.clone(), String::new()));
    assert_eq!(host.read(MODE), "observe\n");
    assert!(!host.0.path().join(ATTEMPTS).exists(), "nothing is tried");

    in_force(&host, &[&rule, "20 comm=x prio=3", "30 pid=7 exempt"]);
    assert_eq!(host.says("apply|--resolve"), "");
    assert_eq!(written(&host), (String::new(), String::new()));
    fs::remove_dir(cgroup(&host)).unwrap();
    assert_eq!(
        host.says("apply|--resolve"),
        format!("deleted rule '{rule}'\n")
    );
    assert_eq!(written(&host), (String::new(), "10".into()));

    // For what is remembered, the configuration is the same with the container and without.
    host.file(MODE, "observe\n");
    host.says("apply|--at-boot");
    assert_eq!(host.read(ATTEMPTS), tried);
}

#[test]
fn metrics_compare_with_what_was_noted_and_read_no_files_of_runtimes() {
    let host = host();
    let rule = format!("10 cgroup={} prio=2", path());
    let latency = format!("{DEBUGFS}/latency.json");
    host.file(&latency, r#"{"schema":1,"nodes":[]}"#);
    let holds = |host: &Host| {
        let text = host.says("export");
        text.contains("amd_gpreempt_configuration_in_force 1\n")
    };
    in_force(&host, &[&rule, "20 comm=x prio=3"]);
    assert!(!holds(&host), "it has not been applied");
    host.says("apply");
    host.file(MODE, "enforce\n");
    in_force(&host, &[&rule, "20 comm=x prio=3"]);
    assert!(holds(&host));
    // What cannot be read now would leave open which rules are for the name.
    let file = format!("var/lib/docker/containers/{NUMBER}/config.v2.json");
    host.file(&file, "broken");
    in_force(&host, &[&rule, "11 cgroup=/q prio=2", "20 comm=x prio=3"]);
    assert!(!holds(&host), "somebody has typed one");
    in_force(&host, &[&rule, "20 comm=x prio=3"]);
    fs::remove_dir(cgroup(&host)).unwrap();
    assert!(holds(&host));
    in_force(&host, &["20 comm=x prio=3"]);
    assert!(
        holds(&host),
        "it comes back when it is followed the next time"
    );
    in_force(&host, &[&rule, "11 cgroup=/q prio=2", "20 comm=x prio=3"]);
    assert!(!holds(&host), "somebody has typed one");
    in_force(&host, &[&rule]);
    assert!(!holds(&host));
}

#[test]
fn only_what_was_applied_is_followed() {
    let host = host();
    in_force(&host, &[]);
    assert_eq!(host.says("apply|--resolve"), "");
    assert_eq!(written(&host).0, "");
    let status = host.says("status");
    assert!(
        status.contains("is not in force")
            && status.contains("  rule '10 container=trainer prio=2' has not been applied\n"),
        "{status}"
    );
    host.says("apply");
    assert!(host.0.path().join(APPLIED).exists());
    // A file that is being written, and then one that has no names.
    host.file(FILE, &CONFIG.replace("prio = 2", "prio = 9"));
    in_force(&host, &[]);
    let rule = format!("10 cgroup={} prio=2", path());
    assert_eq!(
        host.says("apply|--resolve"),
        format!("added rule '{rule}'\n")
    );
    host.file(FILE, "mode = \"off\"\n");
    host.says("apply");
    assert!(!host.0.path().join(APPLIED).exists());
    host.file(FILE, CONFIG);
    host.says("apply");
    host.file(APPLIED, "broken");
    let text = host.refuses("apply|--resolve");
    assert!(
        text.contains("applied.toml is not as it was written"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_followed_is_said_and_what_the_kernel_refuses_too() {
    let host = host();
    host.file("run", "no folder");
    let text = host.refuses("apply");
    assert!(
        text.contains("config.toml is in force")
            && text.contains("what has names in it is not followed"),
        "{text}"
    );
    fs::remove_file(host.0.path().join("run")).unwrap();
    host.says("apply");
    let rules = host.0.path().join(FAUX).join("rules_add");
    fs::remove_file(&rules).unwrap();
    symlink("/dev/full", &rules).unwrap();
    let text = host.refuses("apply|--resolve");
    assert!(text.ends_with("; everything is as it was\n"), "{text}");
    for line in ["apply|--resolve|--again", "apply|--resolve|file"] {
        assert_eq!(host.run(line).status.code(), Some(2), "{line}");
    }
}

#[test]
fn a_rule_with_a_name_can_be_typed() {
    let host = host();
    in_force(&host, &["12 comm=y prio=3"]);
    host.says("rules|add|11 container=trainer prio=2");
    assert_eq!(written(&host).0, format!("11 cgroup={} prio=2", path()));
    host.file(&format!("{FAUX}/rules_add"), "");
    for (line, why) in [
        (
            "11 container=other prio=2",
            "no container of that name runs; to have it waited for, write",
        ),
        ("11 unit=train prio=2", "'unit' takes the whole name"),
        ("11 unit=train.service", "say what it does"),
    ] {
        let text = host.refuses(&format!("rules|add|{line}"));
        assert!(text.contains(why), "{text}");
    }
    // Two cgroups, and one number.
    let other = NUMBER.replace('0', "1");
    host.file(
        &format!("var/lib/docker/containers/{other}/config.v2.json"),
        "{\"Name\":\"/trainer\"}",
    );
    fs::create_dir_all(host.0.path().join(format!("sys/fs/cgroup/docker/{other}"))).unwrap();
    let text = host.refuses("rules|add|11 container=trainer prio=2");
    assert!(text.contains("the numbers 11 to 11 allow"), "{text}");
    assert_eq!(written(&host).0, "");
    host.says("rules|add|10 container=trainer prio=2");
    assert_eq!(written(&host).0, format!("11 cgroup={} prio=2", path()));
    // What the kernel knows is its own to understand.
    host.says("rules|add|11 comm=unit=x odd");
    assert_eq!(written(&host).0, "11 comm=unit=x odd");
}

#[test]
fn what_is_saved_has_the_names_that_were_applied_unless_they_are_contradicted() {
    let host = host();
    host.says("apply");
    let rule = format!("10 cgroup={} prio=2", path());
    let named = "[[rule]]\nid = 10\ncontainer = \"trainer\"\nprio = 2\n";
    let plain = format!("[[rule]]\nid = 10\ncgroup = \"{}\"\nprio = 2\n", path());
    let saved = |rules: &[&str]| {
        in_force(&host, rules);
        host.says("rules|save|-")
    };
    assert!(saved(&[&rule, "20 comm=x prio=3"]).contains(named));
    // It was deleted, or another has its number.
    let text = saved(&["20 comm=x prio=3"]);
    assert!(!text.contains("id = 10"), "{text}");
    let text = saved(&["10 comm=z prio=2"]);
    assert!(
        text.contains("comm = \"z\"") && !text.contains("container ="),
        "{text}"
    );
    let text = saved(&[&rule, "11 comm=z prio=2"]);
    assert!(
        text.contains(&plain) && !text.contains("container ="),
        "{text}"
    );
    // It waits, and a rule of the time before has not gone yet.
    fs::remove_dir(cgroup(&host)).unwrap();
    assert!(saved(&["20 comm=x prio=3"]).contains(named));
    let text = saved(&[&rule]);
    assert!(text.contains(named) && !text.contains("cgroup"), "{text}");
    // What the file says was not applied.
    for other in [
        "broken".to_owned(),
        CONFIG.replace("trainer", "other"),
        CONFIG.replace("prio = 2", "prio = 9"),
    ] {
        host.file(FILE, &other);
        assert!(saved(&[&rule]).contains(named));
    }
    host.file(FILE, "mode = \"off\"\n");
    host.says("apply");
    // Nothing is noted now, as after a stop of the unit, so that the file's names count.
    host.file(FILE, CONFIG);
    let text = saved(&[&rule]);
    assert!(text.contains(named) && !text.contains("cgroup"), "{text}");
    fs::create_dir(cgroup(&host)).unwrap();
    for rules in [[rule.as_str()].as_slice(), &[]] {
        let text = saved(rules);
        assert!(text.contains(named) && !text.contains("cgroup"), "{text}");
        assert!(
            text.contains("not in force any more: 20 comm=x prio=3"),
            "{text}"
        );
    }
    host.file("sys/fs/cgroup/q/cgroup.procs", "");
    for other in ["11 cgroup=/q prio=2", "10 comm=z prio=2"] {
        let text = saved(&[other]);
        assert!(!text.contains(named), "{text}");
        assert!(
            text.contains("# left out, because it is not in force any more: 10 container=trainer"),
            "{text}"
        );
    }
}

#[test]
fn a_rule_that_somebody_has_typed_stays_whatever_its_number() {
    let host = host();
    let rule = format!("10 cgroup={} prio=2", path());
    host.says("apply");
    let typed = "11 cgroup=/q prio=2";
    in_force(&host, &[&rule, typed, "20 comm=x prio=3"]);
    assert_eq!(host.says("apply|--resolve"), "");
    assert_eq!(written(&host), (String::new(), String::new()));
    let status = host.says("status");
    assert!(
        status.contains(&format!("  rule '{typed}' should not be there\n")),
        "{status}"
    );
    assert_eq!(
        host.says("rules"),
        format!("{rule}  # container=trainer\n{typed}\n20 comm=x prio=3\n")
    );
    let saved = host.says("rules|save|-");
    assert!(saved.contains("cgroup = \"/q\""), "{saved}");
    // What following has added, it deletes.
    fs::remove_dir(cgroup(&host)).unwrap();
    let deleted = format!("deleted rule '{rule}'\n");
    assert_eq!(host.says("apply|--resolve"), deleted);
}

#[test]
fn a_rule_that_the_kernel_refuses_keeps_no_other_waiting() {
    let host = host();
    let server = "[[rule]]\nid = 5\ncontainer = \"server\"\nprio = 4\n";
    host.file(FILE, &format!("{CONFIG}{server}"));
    let rule = format!("10 cgroup={} prio=2", path());
    host.says("apply");
    in_force(&host, &[&rule, "20 comm=x prio=3"]);
    // One ends and another comes.
    fs::remove_dir(cgroup(&host)).unwrap();
    let other = NUMBER.replace('0', "1");
    host.file(
        &format!("var/lib/docker/containers/{other}/config.v2.json"),
        "{\"Name\":\"/server\"}",
    );
    fs::create_dir_all(host.0.path().join(format!("sys/fs/cgroup/docker/{other}"))).unwrap();
    let rules = host.0.path().join(FAUX).join("rules_add");
    fs::remove_file(&rules).unwrap();
    symlink("/dev/full", &rules).unwrap();
    let text = host.refuses("apply|--resolve");
    assert!(
        text.contains(&format!("deleted rule '{rule}'\n"))
            && text.contains(&format!(
                "rule '5 cgroup=/docker/{other} prio=4' is not there: "
            )),
        "{text}"
    );
    assert_eq!(host.read(&format!("{FAUX}/rules_del")), "10");
}

#[test]
fn a_name_that_is_followed_and_not_in_the_file_is_a_difference() {
    let host = host();
    fs::remove_dir(cgroup(&host)).unwrap();
    host.says("apply");
    host.file(FILE, "mode = \"enforce\"\n");
    in_force(&host, &[]);
    let status = host.says("status");
    assert!(
        status.contains("is not in force")
            && status
                .contains("  rule '10 container=trainer prio=2' is followed and should not be\n"),
        "{status}"
    );
}
