// SPDX-License-Identifier: GPL-2.0-only
//! What comes to the outputs, whatever is printed and wherever they lead.

mod host;

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Output, Stdio};

use host::{Host, DEBUGFS, QUEUES};

fn run(host: &Host, line: &str, out: Stdio, errors: Stdio) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpreempt"));
    command.arg("--root").arg(host.0.path());
    command.args(line.split('|')).stdout(out).stderr(errors);
    command.spawn().unwrap().wait_with_output().unwrap()
}

/// An output of which nobody reads anything any more.
fn unread() -> Stdio {
    let (own, _gone) = UnixStream::pair().unwrap();
    OwnedFd::from(own).into()
}

fn full() -> Stdio {
    File::options()
        .write(true)
        .open("/dev/full")
        .unwrap()
        .into()
}

#[test]
fn a_command_that_failed_has_failed_also_where_nobody_can_be_told() {
    let host = Host::new();
    for errors in [unread(), full()] {
        let output = run(&host, "mode", Stdio::null(), errors);
        assert_eq!(output.status.code(), Some(1));
    }
    // One that has something to print as well.
    for (out, errors) in [(unread(), unread()), (full(), full())] {
        let output = run(&host, "doctor", out, errors);
        assert_eq!(output.status.code(), Some(1));
    }
    let output = run(&host, "doctor", unread(), Stdio::piped());
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("must be mended first"), "{errors}");
}

#[test]
fn who_has_seen_enough_does_not_make_a_command_fail() {
    let host = Host::with_module();
    for line in ["queues", "top|--once", "--json|queues"] {
        let output = run(&host, line, unread(), Stdio::piped());
        assert!(output.status.success(), "{line}: {output:?}");
        assert_eq!(output.stderr, b"", "{line}");
    }
}

#[test]
fn an_output_that_is_lost_is_a_failure() {
    let host = Host::with_module();
    for line in ["queues", "top|--once", "--json|queues", "rules|save|-"] {
        let output = run(&host, line, full(), Stdio::piped());
        assert_eq!(output.status.code(), Some(1), "{line}");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            errors, "gpreempt: cannot write the output: No space left on device\n",
            "{line}"
        );
    }
}

/// A host whose programs have names that a terminal would take for commands.
fn commanding() -> Host {
    let host = Host::with_module();
    let events = r#"{"schema":1,"events":[]}"#;
    host.file(&format!("{DEBUGFS}/events.json"), events);
    host.file("sys/module/amd_gpreempt/parameters/max_stop_ms", "2000\n");
    let queues = QUEUES.replace("train", r"\u001b]0;evil\u0007\u009b2J");
    host.file(&format!("{DEBUGFS}/queues.json"), &queues);
    host
}

#[test]
fn the_names_of_programs_cannot_command_the_terminal() {
    let host = commanding();
    for line in ["queues", "top|--once", "explain|20"] {
        let text = host.says(line);
        assert!(text.contains("?]0;evil??2J"), "{line}: {text:?}");
        let strange = |character: char| character.is_control() && character != '\n';
        assert!(!text.contains(strange), "{line}: {text:?}");
    }
    // Programs get the name as it is.
    let text = host.says("--json|queues");
    let table: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(table["queues"][0]["comm"], "\u{1b}]0;evil\u{7}\u{9b}2J");
}

#[test]
fn the_names_of_files_cannot_command_the_terminal() {
    let host = Host::with_module();
    let name = "\u{1b}[2J\nconfig.toml";
    let file = host.0.path().join(name);
    let file = file.to_str().unwrap();
    let missing = host.refuses(&format!("check|{file}"));
    host.file(name, "mode = \"on\"\n");
    let wrong = host.refuses(&format!("check|{file}"));
    fs::write(file, "mode = \"observe\"\n").unwrap();
    let good = host.says(&format!("apply|--dry-run|{file}"));
    for text in [missing, wrong, good] {
        assert!(text.contains("?[2J?config.toml"), "{text:?}");
        assert_eq!(text.lines().count(), 1, "{text:?}");
    }
}
