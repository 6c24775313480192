// SPDX-License-Identifier: GPL-2.0-only
//! What the commands say of what is gone.

mod host;

use std::os::unix::fs::symlink;
use std::process::Command;

use host::Host;

const FILE: &str = "etc/amd-gpreempt/config.toml";
const PARAMETERS: &str = "sys/module/amd_gpreempt/parameters";

fn host() -> Host {
    let host = Host::with_module();
    host.file(&format!("{PARAMETERS}/grace_us"), "10\n");
    host.file("proc/sys/kernel/random/boot_id", "one\n");
    host
}

#[test]
fn what_is_gone_is_said_and_the_rest_of_the_file_is_applied() {
    const OLD: &str = "mode = \"enforce\"\n[parameters]\ngrace_us = 77\npolicy = \"fair\"\n";
    let host = host();
    host.file(FILE, OLD);
    let place = host.0.path().join(FILE).display().to_string();
    let gone = "policy=fair is gone: give timeslice_us for turns within a level";
    let line = format!("{place}:4:1: {gone}\n");
    let text = host.says("check");
    assert!(
        text.starts_with(&line) && text.contains("mode enforce"),
        "{text}"
    );
    assert!(host.says("apply|--dry-run").starts_with(&line));
    let text = host.says("apply");
    assert_eq!(text, format!("{line}{place} is in force\n"));
    assert_eq!(host.read(&format!("{PARAMETERS}/grace_us")), "77");
    assert_eq!(host.read(&format!("{PARAMETERS}/mode")), "enforce");
    let status = host.says("status");
    assert!(
        status.contains(&format!("\n  line 4: {gone}\n")),
        "{status}"
    );
}

#[test]
fn what_is_gone_is_said_alone_of_the_file_and_of_the_modules_options() {
    let host = host();
    assert_eq!(host.says("check|--gone"), "", "there is no file");
    host.file(FILE, "mode = \"on\"\n");
    assert_eq!(
        host.says("check|--gone"),
        "",
        "a fault is not what is asked"
    );
    host.file(FILE, "mode = \"enforce\"\n[parameters]\nretry_ms = 5\n");
    let options = "etc/modprobe.d/amd_gpreempt.conf";
    host.file(
        options,
        "options amd_gpreempt mode=enforce backend=process speed=1\n",
    );
    let text = host.says("check|--gone");
    let lines: Vec<&str> = text.lines().collect();
    let file = host.0.path().join(FILE).display().to_string();
    let starts = [
        format!("{file}:3:1: retry_ms is gone: "),
        format!("/{options}: backend=process is gone: give backend=hws"),
    ];
    assert_eq!(lines.len(), starts.len(), "{text}");
    for (line, start) in lines.iter().zip(&starts) {
        assert!(line.starts_with(start), "{line}");
    }
}

#[test]
fn the_package_says_what_is_gone_when_it_is_configured() {
    let host = host();
    let root = host.0.path();
    host.file("usr/sbin/none", "");
    symlink(
        env!("CARGO_BIN_EXE_gpreempt"),
        root.join("usr/sbin/gpreempt"),
    )
    .unwrap();
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../package/debian/amd-gpreempt-tools.postinst"
    );
    let configured = |what| {
        let mut command = Command::new("sh");
        let output = command
            .args([script, what])
            .env("DPKG_ROOT", root)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(configured("configure"), "");
    host.file(FILE, "[parameters]\nexpect_ms = 5\n");
    let options = "etc/modprobe.d/site.conf";
    host.file(options, "options amd_gpreempt same_process=1\n");
    let text = configured("configure");
    assert!(text.contains(":2:1: expect_ms is gone: "), "{text}");
    assert!(
        text.contains("/etc/modprobe.d/site.conf: same_process is gone: "),
        "{text}"
    );
    assert_eq!(text.lines().count(), 2, "{text}");
    assert_eq!(configured("abort-upgrade"), "");
    // Nothing that is said keeps the package from being configured.
    std::fs::remove_file(root.join("usr/sbin/gpreempt")).unwrap();
    assert_eq!(configured("configure"), "");
}
