// SPDX-License-Identifier: GPL-2.0-only
//! The commands that are about a configuration, on a tree of files.

mod host;

use std::fs;
use std::os::unix::fs::{symlink, MetadataExt, PermissionsExt};
use std::process::Command;

use host::{own, Host, DEBUGFS, FAUX};

const FILE: &str = "etc/amd-gpreempt/config.toml";
const ATTEMPTS: &str = "var/lib/amd-gpreempt/attempts.json";
const PARAMETERS: &str = "sys/module/amd_gpreempt/parameters";
const CONFIG: &str = "mode = \"enforce\"\n[parameters]\ngrace_us = 77\n\
    [[rule]]\nid = 10\ncomm = \"infer\"\nprio = 12\n";

fn host() -> Host {
    let host = Host::with_module();
    host.file(&format!("{PARAMETERS}/grace_us"), "10\n");
    host.file(&format!("{FAUX}/rules_del"), "");
    host.file("proc/sys/kernel/random/boot_id", "one\n");
    host
}

fn show_rules(host: &Host, rules: &[(&str, bool)]) {
    let rows: Vec<String> = rules
        .iter()
        .map(|(text, dead)| {
            let id = text.split(' ').next().unwrap();
            format!(r#"{{"id":{id},"text":"{text}","dead":{dead},"exempt":false}}"#)
        })
        .collect();
    let table = format!(r#"{{"schema":1,"rules":[{}]}}"#, rows.join(","));
    host.file(&format!("{DEBUGFS}/rules.json"), &table);
}

#[test]
fn check_says_what_a_good_file_is_and_where_a_bad_one_is_wrong() {
    let host = host();
    host.file(FILE, CONFIG);
    let text = host.says("check");
    assert!(
        text.ends_with("config.toml: mode enforce, 1 parameter other than by default, 1 rule\n"),
        "{text}"
    );
    host.file("bad", "mode = \"on\"\n[parameters]\ngrace_ms = 1\n");
    let bad = host.0.path().join("bad");
    let text = host.refuses(&format!("check|{}", bad.display()));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(
        lines[0].starts_with(&format!("gpreempt: {}:1:8: 'mode'", bad.display())),
        "{text}"
    );
    assert!(
        lines[1].contains(":3:1: ") && lines[1].ends_with("did you mean 'grace_us'?"),
        "{text}"
    );
    let text = host.refuses("check|/nowhere/file");
    assert_eq!(
        text,
        "gpreempt: cannot read /nowhere/file: No such file or directory\n"
    );
    let text = host.refuses(&format!("check|{}", host.0.path().display()));
    assert!(text.ends_with(": Is a directory\n"), "{text}");
}

#[test]
fn what_is_applied_is_written_and_what_is_in_force_is_not() {
    let host = host();
    host.file(FILE, CONFIG);
    let dry = host.says("apply|--dry-run");
    assert_eq!(
        dry,
        "grace_us is 10 and should be 77\nrule '10 comm=infer prio=12' is not there\n\
         mode is observe and should be enforce\n"
    );
    assert_eq!(host.read(&format!("{PARAMETERS}/grace_us")), "10\n");
    assert!(host.says("apply").ends_with("config.toml is in force\n"));
    assert_eq!(host.read(&format!("{PARAMETERS}/mode")), "enforce");
    assert_eq!(host.read(&format!("{PARAMETERS}/grace_us")), "77");
    assert_eq!(
        host.read(&format!("{FAUX}/rules_add")),
        "10 comm=infer prio=12"
    );
    assert!(
        !host.0.path().join(ATTEMPTS).exists(),
        "only an attempt at boot is remembered"
    );

    show_rules(&host, &[("10 comm=infer prio=12", false)]);
    host.file(&format!("{FAUX}/rules_add"), "");
    host.says("apply");
    assert_eq!(host.read(&format!("{FAUX}/rules_add")), "");
}

#[test]
fn a_gpu_gets_a_mode_of_its_own_and_waits_where_it_is_not_there() {
    let host = host();
    host.gpu("0000:01:00.0", "module");
    host.gpu("0000:02:00.0", "off");
    host.file(
        FILE,
        "mode = \"enforce\"\n[gpu.\"0000:01:00.0\"]\nmode = \"observe\"\n\
         [gpu.\"0000:0a:00.0\"]\nmode = \"off\"\n",
    );
    let text = host.says("check");
    assert!(
        text.ends_with(
            "0 rules, mode observe for GPU 0000:01:00.0 alone, \
             mode off for GPU 0000:0a:00.0 alone\n"
        ),
        "{text}"
    );
    assert_eq!(
        host.says("apply|--dry-run"),
        "GPU 0000:0a:00.0 is not there\n\
         mode of GPU 0000:01:00.0 is that for all GPUs and should be observe\n\
         mode of GPU 0000:02:00.0 is off and should be that for all GPUs\n\
         mode is observe and should be enforce\n"
    );
    let text = host.says("apply");
    assert!(
        text.ends_with("GPU 0000:0a:00.0 waits: it is not there; apply again when it is\n"),
        "{text}"
    );
    assert_eq!(host.own("0000:01:00.0"), "observe");
    assert_eq!(host.own("0000:02:00.0"), "module");
    assert_eq!(host.read(&format!("{PARAMETERS}/mode")), "enforce");

    let status = host.says("status");
    assert!(
        status.contains("config.toml is in force\n")
            && status.contains("\n  GPU 0000:0a:00.0 is not there\n"),
        "{status}"
    );
    let saved = host.says("rules|save|-");
    assert!(
        saved.contains("\n[gpu.\"0000:01:00.0\"]\nmode = \"observe\"\n"),
        "{saved}"
    );
    // What the other one is to have is still what it is to have.
    assert!(saved.contains("\n[gpu.\"0000:0a:00.0\"]\n"), "{saved}");
    assert_eq!(saved.matches("[gpu").count(), 2, "{saved}");
    host.file(FILE, &saved);
    assert!(host.says("status").contains("config.toml is in force\n"));
}

#[test]
fn what_a_gpu_refuses_is_put_back_in_all_of_the_host() {
    let host = host();
    let file = "[parameters]\ngrace_us = 7\n[gpu.\"0000:01:00.0\"]\nmode = \"enforce\"\n";
    host.file(FILE, file);
    // A file that can be read and takes nothing.
    host.gpu("0000:01:00.0", "module");
    let refusing = host.0.path().join(own("0000:01:00.0"));
    fs::remove_file(&refusing).unwrap();
    symlink("/proc/version", &refusing).unwrap();
    let text = host.refuses("apply");
    assert!(
        text.contains("/mode: ") && text.contains("; everything is as it was"),
        "{text}"
    );
    assert_eq!(host.read(&format!("{PARAMETERS}/grace_us")), "10");
}

#[test]
fn a_wrong_file_changes_nothing() {
    let host = host();
    host.file(FILE, "mode = \"enforce\"\n[parameters]\ngrace_us = \"x\"\n");
    let text = host.refuses("apply");
    assert!(
        text.contains(":3:12: ") && text.ends_with("gpreempt: nothing was changed\n"),
        "{text}"
    );
    assert_eq!(host.read(&format!("{PARAMETERS}/mode")), "observe\n");
}

#[test]
fn what_the_kernel_refuses_puts_back_what_was_changed() {
    let host = host();
    host.file(FILE, CONFIG);
    let rules = host.0.path().join(FAUX).join("rules_add");
    fs::remove_file(&rules).unwrap();
    // The file that takes nothing refuses as a module that has no room.
    symlink("/dev/full", &rules).unwrap();
    let text = host.refuses("apply|--at-boot");
    assert!(
        text.contains("rules_add: No space left on device; the kernel log says why")
            && text.ends_with("; everything is as it was\n"),
        "{text}"
    );
    assert_eq!(host.read(&format!("{PARAMETERS}/grace_us")), "10");
    assert_eq!(host.read(&format!("{PARAMETERS}/mode")), "observe\n");
    for boot in ["two", "three", "four"] {
        host.file("proc/sys/kernel/random/boot_id", boot);
        let text = host.refuses("apply|--at-boot");
        assert!(
            text.contains("No space left"),
            "it is not to blame for the boots: {text}"
        );
    }
}

#[test]
fn who_may_hint_is_set_and_an_unknown_group_changes_nothing() {
    let host = host();
    host.file("dev/amd_gpreempt", "");
    let device = host.0.path().join("dev/amd_gpreempt");
    let mode = || fs::metadata(&device).unwrap().permissions().mode() & 0o777;
    fs::set_permissions(&device, fs::Permissions::from_mode(0o600)).unwrap();
    host.file(
        FILE,
        "[hints]\ngroup = \"no-such-group\"\nmode = \"0666\"\n[parameters]\ngrace_us = 7\n",
    );
    let text = host.refuses("apply");
    assert!(text.contains("addgroup --system no-such-group"), "{text}");
    assert_eq!(
        (mode(), host.read(&format!("{PARAMETERS}/grace_us"))),
        (0o600, "10".into())
    );
    host.file(FILE, "[hints]\nmode = \"0660\"\n");
    host.says("apply");
    assert_eq!(mode(), 0o660);
}

#[test]
fn a_user_is_the_same_as_a_number_and_by_name() {
    let host = host();
    host.file("dev/amd_gpreempt", "");
    let device = host.0.path().join("dev/amd_gpreempt");
    let data = fs::metadata(&device).unwrap();
    for (owner, group) in [
        (data.uid().to_string(), data.gid().to_string()),
        (format!("00{}", data.uid()), format!("00{}", data.gid())),
    ] {
        host.file(
            FILE,
            &format!("[hints]\nowner = \"{owner}\"\ngroup = \"{group}\"\nmode = \"0600\"\n"),
        );
        host.says("apply");
        host.file(&format!("{PARAMETERS}/grace_us"), "10");
        let status = host.says("status");
        assert!(status.ends_with("config.toml is in force\n"), "{status}");
        let dry = host.says("apply|--dry-run");
        assert!(dry.ends_with("config.toml is in force\n"), "{dry}");
    }
    host.file(FILE, "[hints]\nowner = \"4294967295\"\n");
    let text = host.refuses("check");
    assert!(text.contains(":2:9: 'owner' takes a name"), "{text}");
}

#[test]
fn a_file_without_an_end_is_refused() {
    let host = host();
    let text = host.refuses("check|/dev/zero");
    assert!(
        text.starts_with("gpreempt: /dev/zero is longer than 1048576 bytes: "),
        "{text}"
    );
    host.file(FILE, &"#".repeat(1 << 20));
    host.says("check");
}

#[test]
fn status_shows_what_differs() {
    let host = host();
    assert!(
        !host.says("status").contains("config.toml"),
        "there is none"
    );
    host.file(FILE, CONFIG);
    show_rules(
        &host,
        &[("10 comm=infer prio=12", false), ("11 pid=4 exempt", false)],
    );
    let text = host.says("status");
    assert!(
        text.contains("config.toml is not in force: 'gpreempt apply'"),
        "{text}"
    );
    assert!(
        text.contains("\n  mode is observe and should be enforce\n"),
        "{text}"
    );
    assert!(
        text.contains("\n  rule '11 pid=4 exempt' should not be there\n"),
        "{text}"
    );
    assert!(!text.contains("rule '10"), "{text}");

    host.file(FILE, "");
    show_rules(&host, &[]);
    assert!(host.says("status").ends_with("config.toml is in force\n"));
    host.file(FILE, "mode = 1\nx = 2\n");
    assert!(host
        .says("status")
        .contains("config.toml is wrong in 2 places: 'gpreempt check'"));
    fs::remove_file(host.0.path().join(FILE)).unwrap();
    fs::create_dir(host.0.path().join(FILE)).unwrap();
    assert!(host.says("status").contains("Is a directory"));
}

#[test]
fn a_configuration_with_which_the_host_failed_twice_is_not_applied_again() {
    let host = host();
    host.file(FILE, CONFIG);
    for boot in ["one", "two"] {
        host.file("proc/sys/kernel/random/boot_id", boot);
        host.says("apply|--at-boot");
    }
    host.file("proc/sys/kernel/random/boot_id", "three");
    host.file(&format!("{PARAMETERS}/grace_us"), "10");
    for line in ["apply|--at-boot", "apply"] {
        let text = host.refuses(line);
        assert!(
            text.contains("failed 2 times with this configuration"),
            "{text}"
        );
    }
    assert_eq!(host.read(&format!("{PARAMETERS}/grace_us")), "10");
    assert!(host.says("status").contains("the host failed with it"));
    host.says("apply|--again");
    assert_eq!(host.read(&format!("{PARAMETERS}/grace_us")), "77");
    host.says("apply|--at-boot");
    host.says("good");
    for boot in ["four", "five", "six"] {
        host.file("proc/sys/kernel/random/boot_id", boot);
        host.says("apply|--at-boot");
        host.says("good");
    }
}

#[test]
fn what_is_remembered_must_be_kept_before_anything_is_applied() {
    let host = host();
    host.file(FILE, CONFIG);
    host.file("var/lib/amd-gpreempt", "not a folder");
    let text = host.refuses("apply|--at-boot");
    assert!(text.contains("attempts.json: "), "{text}");
    assert_eq!(host.read(&format!("{PARAMETERS}/mode")), "observe\n");

    // Nothing is remembered, and nothing can be.
    let folder = host.0.path().join("var/lib/amd-gpreempt");
    fs::remove_file(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    symlink("/proc/nowhere/file", folder.join("attempts.json")).unwrap();
    let text = host.refuses("apply|--at-boot");
    assert!(text.starts_with("gpreempt: cannot write "), "{text}");
    assert_eq!(host.read(&format!("{PARAMETERS}/mode")), "observe\n");
    // There is nothing to forget.
    host.says("good");
    host.says("apply|--again");
}

#[test]
fn a_plain_apply_takes_the_blame_from_what_was_being_tried() {
    let host = host();
    host.file(FILE, CONFIG);
    host.file(
        "other",
        "mode = \"off\"\n[[rule]]\nid = 3\ncomm = \"x\"\nexempt = true\n",
    );
    let other = format!("apply|{}", host.0.path().join("other").display());
    for boot in ["one", "two", "three"] {
        host.file("proc/sys/kernel/random/boot_id", boot);
        host.says("apply|--at-boot");
        host.says(&other);
    }
    // What is refused is not in force, and what was being tried still is.
    host.says("apply|--at-boot");
    let tried = host.read(ATTEMPTS);
    let rules = host.0.path().join(FAUX).join("rules_add");
    fs::remove_file(&rules).unwrap();
    symlink("/dev/full", &rules).unwrap();
    host.refuses(&other);
    assert_eq!(host.read(ATTEMPTS), tried);
}

#[test]
fn what_is_in_force_is_saved_as_a_file_that_says_the_same() {
    let host = host();
    host.file(&format!("{PARAMETERS}/grace_us"), "5\n");
    show_rules(
        &host,
        &[
            ("7 comm=a%20b prio=3", false),
            ("8 pid=4711 exempt", false),
            ("9 cgroup=/x exempt", true),
        ],
    );
    let text = host.says("rules|save");
    assert!(
        text.contains("config.toml has what is in force\n"),
        "{text}"
    );
    assert!(
        text.contains("left out") && text.contains("8 pid=4711 exempt"),
        "{text}"
    );
    let saved = host.read(FILE);
    assert_eq!(
        saved,
        "mode = \"observe\"\n\n[parameters]\ngrace_us = 5\n\n[[rule]]\nid = 7\ncomm = \"a%20b\"\n\
         prio = 3\n\n[[rule]]\nid = 9\ncgroup = \"/x\"\nexempt = true\n"
    );
    host.says("check");
    let shown = host.says("rules|save|-");
    assert!(
        shown.starts_with(&saved) && shown.lines().last().unwrap().starts_with("# "),
        "{shown}"
    );
    let left: Vec<_> = fs::read_dir(host.0.path().join("etc/amd-gpreempt"))
        .unwrap()
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
    let text = host.refuses("rules|save|/proc/nowhere/file");
    assert!(
        text.starts_with("gpreempt: cannot write /proc/nowhere/file: "),
        "{text}"
    );
}

#[test]
fn a_rule_that_waits_for_its_cgroup_is_not_lost_when_all_is_saved() {
    let host = host();
    let rule = |id: u32, whom: &str| format!("[[rule]]\nid = {id}\n{whom}\nprio = 3\n");
    let waiting = rule(5, "cgroup = \"/waits\"");
    let all = [
        waiting.clone(),
        rule(6, "cgroup = \"/there\""),
        rule(7, "cgroup = \"/gone\""),
        rule(8, "comm = \"x\""),
    ];
    host.file(FILE, &all.concat());
    host.file("sys/fs/cgroup/there/cgroup.procs", "");
    show_rules(&host, &[("7 comm=y prio=3", false)]);
    let text = host.says("rules|save");
    let left: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(
        left,
        [
            "# kept, because it waits for its cgroup: 5 cgroup=/waits prio=3",
            "# left out, because it is not in force any more: 6 cgroup=/there prio=3",
            "# left out, because it is not in force any more: 8 comm=x prio=3"
        ]
    );
    let saved = host.read(FILE);
    assert!(
        saved.contains(&format!("{waiting}\n{}", rule(7, "comm = \"y\""))),
        "{saved}"
    );
    assert_eq!(saved.matches("[[rule]]").count(), 2, "{saved}");
}

#[test]
fn what_is_in_force_is_saved_to_a_file_of_the_current_folder() {
    let host = host();
    let output = Command::new(env!("CARGO_BIN_EXE_gpreempt"))
        .current_dir(host.0.path())
        .args(["--root", ".", "rules", "save", "new.toml"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(host.read("new.toml").starts_with("mode = \"observe\"\n"));
}

#[test]
fn without_the_module_nothing_is_applied_or_saved() {
    let host = Host::new();
    host.file(FILE, CONFIG);
    for line in ["apply", "apply|--dry-run", "apply|--at-boot", "rules|save"] {
        assert!(
            host.refuses(line).contains("modprobe amd_gpreempt"),
            "{line}"
        );
    }
    assert!(!host.0.path().join(ATTEMPTS).exists());
    assert_eq!(host.read(FILE), CONFIG);
}
