// SPDX-License-Identifier: GPL-2.0-only
//! Two programs that apply a configuration, and one that is told to end meanwhile.

mod host;

use std::fs;
use std::io::Write;
use std::os::unix::fs::{symlink, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use host::{Host, DEBUGFS, FAUX};

const FILE: &str = "etc/amd-gpreempt/config.toml";
const PARAMETERS: &str = "sys/module/amd_gpreempt/parameters";
/// Opening for reading does not wait for a writer.
const O_NONBLOCK: i32 = 0o4000;

fn host() -> Host {
    let host = Host::with_module();
    host.file(&format!("{PARAMETERS}/grace_us"), "10\n");
    host.file(&format!("{FAUX}/rules_del"), "");
    host.file(FILE, "mode = \"enforce\"\n[parameters]\ngrace_us = 77\n");
    host
}

fn apply(host: &Host) -> Child {
    start(host, "apply")
}

fn start(host: &Host, line: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_gpreempt"))
        .arg("--root")
        .arg(host.0.path())
        .args(line.split('|'))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Whether a process waits for the lock of a file.
fn waits(process: u32, file: &str, host: &Host) -> bool {
    let inode = fs::metadata(host.0.path().join(file)).unwrap().ino();
    let locks = fs::read_to_string("/proc/locks").unwrap();
    locks.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.contains(&"->")
            && words.contains(&process.to_string().as_str())
            && words
                .iter()
                .any(|word| word.ends_with(&format!(":{inode}")))
    })
}

/// Whether a process has opened a file.
fn has_open(process: u32, file: &Path) -> bool {
    let inode = fs::metadata(file).unwrap().ino();
    let files = fs::read_dir(format!("/proc/{process}/fd"));
    let mut files = files.into_iter().flatten().flatten();
    files.any(|file| fs::metadata(file.path()).is_ok_and(|file| file.ino() == inode))
}

#[test]
fn a_second_apply_waits_for_the_first() {
    let host = host();
    let first = gpreempt_operator::host::tree::Host::new(host.0.path())
        .turn()
        .unwrap();
    let mut second = apply(&host);
    while !waits(second.id(), DEBUGFS, &host) {
        assert!(second.try_wait().unwrap().is_none(), "it did not wait");
        sleep(Duration::from_millis(1));
    }
    assert_eq!(host.read(&format!("{PARAMETERS}/grace_us")), "10\n");
    drop(first);
    assert!(second.wait().unwrap().success());
    assert_eq!(host.read(&format!("{PARAMETERS}/grace_us")), "77");
}

/// A unit with a network of its own has a sysfs of its own, with other files.
#[test]
fn a_unit_waits_for_a_person_at_the_prompt() {
    let (person, unit) = (host(), host());
    let tables = unit.0.path().join(DEBUGFS);
    fs::remove_dir_all(&tables).unwrap();
    symlink(person.0.path().join(DEBUGFS), &tables).unwrap();
    let first = gpreempt_operator::host::tree::Host::new(person.0.path())
        .turn()
        .unwrap();
    let mut second = apply(&unit);
    while !waits(second.id(), DEBUGFS, &unit) {
        assert!(second.try_wait().unwrap().is_none(), "it did not wait");
        sleep(Duration::from_millis(1));
    }
    drop(first);
    assert!(second.wait().unwrap().success());
}

#[test]
fn rules_can_be_typed_without_the_tables_one_after_the_other() {
    let host = host();
    fs::remove_dir_all(host.0.path().join(DEBUGFS)).unwrap();
    let first = gpreempt_operator::host::tree::Host::new(host.0.path())
        .turn()
        .unwrap();
    let mut second = start(&host, "rules|del|1");
    while !waits(second.id(), &format!("{FAUX}/rules_add"), &host) {
        assert!(second.try_wait().unwrap().is_none(), "it did not wait");
        sleep(Duration::from_millis(1));
    }
    drop(first);
    assert!(second.wait().unwrap().success());
    assert_eq!(host.read(&format!("{FAUX}/rules_del")), "1");
}

#[test]
fn a_rule_that_is_typed_waits_for_its_turn() {
    let host = host();
    let first = gpreempt_operator::host::tree::Host::new(host.0.path())
        .turn()
        .unwrap();
    for (line, file) in [
        ("rules|add|1 comm=x prio=3", "add"),
        ("rules|del|1", "del"),
        ("rules|save", "del"),
    ] {
        let mut second = start(&host, line);
        while !waits(second.id(), DEBUGFS, &host) {
            assert!(second.try_wait().unwrap().is_none(), "it did not wait");
            sleep(Duration::from_millis(1));
        }
        assert_eq!(host.read(&format!("{FAUX}/rules_{file}")), "");
        second.kill().unwrap();
        second.wait().unwrap();
    }
    drop(first);
    assert!(start(&host, "rules|del|1").wait().unwrap().success());
    assert_eq!(host.read(&format!("{FAUX}/rules_del")), "1");
}

#[test]
fn what_a_name_stands_for_is_looked_up_before_the_turn() {
    let host = host();
    let _first = gpreempt_operator::host::tree::Host::new(host.0.path())
        .turn()
        .unwrap();
    let mut second = start(&host, "rules|add|1 unit=a.service prio=3");
    while second.try_wait().unwrap().is_none() {
        assert!(!waits(second.id(), DEBUGFS, &host), "it waits");
        sleep(Duration::from_millis(1));
    }
    let output = second.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("a.service does not run"), "{text}");
}

#[test]
fn a_program_that_is_told_to_end_applies_the_whole_first() {
    let host = host();
    let pipe = host.0.path().join(PARAMETERS).join("grace_us");
    fs::remove_file(&pipe).unwrap();
    assert!(Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap()
        .success());
    for signal in ["TERM", "INT", "HUP"] {
        host.file(&format!("{PARAMETERS}/mode"), "observe\n");
        let mut child = apply(&host);
        // It reads the parameter, and then waits for somebody to take the new value. Until
        // it has opened the pipe, what is in it may have no other reader: a program that
        // another test starts has the one of the last round for a moment.
        let mut writer = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(&pipe)
            .unwrap();
        writer.write_all(b"20\n").unwrap();
        while !has_open(child.id(), &pipe) {
            assert!(child.try_wait().unwrap().is_none(), "it did not read");
            sleep(Duration::from_millis(1));
        }
        drop(writer);
        let told = Command::new("kill")
            .args(["-s", signal, &child.id().to_string()])
            .status();
        assert!(told.unwrap().success());
        let taker = fs::OpenOptions::new()
            .read(true)
            .custom_flags(O_NONBLOCK)
            .open(&pipe)
            .unwrap();
        child.wait().unwrap();
        assert_eq!(host.read(&format!("{PARAMETERS}/mode")), "enforce");
        drop(taker);
    }
}

#[test]
fn who_may_not_change_the_module_is_told_what_is_missing() {
    let host = host();
    fs::remove_file(host.0.path().join(FAUX).join("rules_add")).unwrap();
    fs::remove_dir_all(host.0.path().join(DEBUGFS)).unwrap();
    let text = host.refuses("apply");
    assert!(
        text.contains("cannot open ") && text.contains("rules_add"),
        "{text}"
    );
    assert_eq!(host.read(&format!("{PARAMETERS}/grace_us")), "10\n");
}
