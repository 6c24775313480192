// SPDX-License-Identifier: GPL-2.0-only
//! The operator's command on a tree of files as the kernel would show them.

mod host;

use std::fs;
use std::process::Command;

use host::{Host, DEBUGFS, FAUX, QUEUES, STATS};

#[test]
fn without_the_module_every_command_says_so() {
    for line in [
        "status",
        "queues",
        "events",
        "mode",
        "rules",
        "rules|del|3",
        "top|--once",
    ] {
        let text = Host::new().refuses(line);
        assert!(text.contains("modprobe amd_gpreempt"), "{line}: {text}");
    }
}

#[test]
fn the_most_urgent_queue_comes_first() {
    let text = Host::with_module().says("queues");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(
        lines[1].contains("infer") && lines[2].contains("train"),
        "{text}"
    );
    let words: Vec<&str> = lines[2].split_whitespace().collect();
    assert_eq!(
        words[1..9],
        ["20", "train", "1", "2", "2", "stopped", "-", "5"]
    );
    assert!(lines[2].contains("12 s"), "{text}");
}

#[test]
fn who_is_left_alone_for_want_of_room_is_named() {
    let host = Host::with_module();
    assert!(!host.says("status").contains("want of room"));
    let few = r#"{"gpu":"0000:01:00.0","node":0,"gpu_id":5,"pid":30,"comm":"few","queues":205,"left_out":1}"#;
    let many = few
        .replace("few", "many")
        .replace("\"left_out\":1", "\"left_out\":88");
    let crowd = format!("\"left_out\":[\n{few},\n{many}\n");
    let queues = QUEUES.replace("\"left_out\":[\n", &crowd);
    host.file(&format!("{DEBUGFS}/queues.json"), &queues);
    let stats = STATS.replace("\"exempt\":0", "\"exempt\":89");
    host.file(&format!("{DEBUGFS}/stats.json"), &stats);
    assert!(host.says("status").contains("want of room: 89 queues"));
    let text = host.says("queues");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[3..],
        [
            "0000:01:00.0/0: 88 of 205 queues of many (30) are left alone for want of room",
            "0000:01:00.0/0: 1 of 205 queues of few (30) are left alone for want of room",
        ]
    );
}

#[test]
fn a_disarmed_node_is_shown_with_its_remedy() {
    let text = Host::with_module().says("status");
    assert!(text.contains("0000:01:00.0 node 0: disarmed"), "{text}");
    assert!(
        text.contains("echo armed > /sys/devices/faux/amd_gpreempt/gpu_0000:01:00.0/node0/state"),
        "{text}"
    );
    assert!(text.contains("gpreempt mode enforce"), "{text}");
    assert!(
        text.contains("last failure: the GPU is being reset"),
        "{text}"
    );
}

#[test]
fn the_mode_is_written_and_read_back() {
    let host = Host::with_module();
    assert_eq!(host.says("mode"), "observe\n");
    assert_eq!(host.says("mode|enforce"), "enforce\n");
    assert_eq!(
        host.read("sys/module/amd_gpreempt/parameters/mode"),
        "enforce"
    );
    assert_eq!(host.run("mode|fast").status.code(), Some(2));
}

#[test]
fn a_rule_is_written_as_it_was_given() {
    let host = Host::with_module();
    host.says("rules|add|10 comm=a%20b prio=3");
    assert_eq!(
        host.read(&format!("{FAUX}/rules_add")),
        "10 comm=a%20b prio=3"
    );
    assert!(host.refuses("rules|add").contains("needs a rule"));
    // The file is missing here, as any other failure of the write would show.
    assert!(host.refuses("rules|del|3").contains("rules_del"));
}

#[test]
fn a_table_of_another_schema_is_refused() {
    let host = Host::with_module();
    host.file(
        &format!("{DEBUGFS}/queues.json"),
        r#"{"schema":2,"queues":[]}"#,
    );
    assert!(host.refuses("queues").contains("schema 2"));
    host.file(&format!("{DEBUGFS}/queues.json"), "{");
    assert!(host.refuses("queues").contains("not what it should be"));
}

#[test]
fn the_mode_is_the_most_that_any_gpu_does() {
    let host = Host::with_module();
    host.gpu("0000:01:00.0", "enforce");
    host.gpu("0000:02:00.0", "off");
    host.gpu("0000:03:00.0", "module");
    host.file("sys/module/amd_gpreempt/parameters/mode", "enforce\n");
    let own = |gpu: &str, mode: &str| format!("GPU {gpu} has a mode of its own: {mode}\n");
    let off = own("0000:02:00.0", "off");
    assert_eq!(
        host.says("mode"),
        format!("enforce\n{}{off}", own("0000:01:00.0", "enforce"))
    );
    assert_eq!(host.own("0000:01:00.0"), "enforce\n", "only shown");
    assert_eq!(host.says("mode|observe"), format!("observe\n{off}"));
    assert_eq!(host.own("0000:01:00.0"), "module");
    assert_eq!(host.own("0000:02:00.0"), "off\n");
    assert_eq!(host.own("0000:03:00.0"), "module\n");
    let json: serde_json::Value = serde_json::from_str(&host.says("--json|mode|enforce")).unwrap();
    assert_eq!(json["own"]["0000:02:00.0"], "off", "{json}");
}

#[test]
fn the_status_shows_which_gpus_have_modes_of_their_own() {
    let host = Host::with_module();
    host.gpu("0000:01:00.0", "enforce");
    host.gpu("0000:02:00.0", "module");
    let text = host.says("status");
    let line = "GPU 0000:01:00.0 has a mode of its own: enforce";
    assert!(text.lines().any(|own| own == line), "{text}");
    assert!(!text.contains("0000:02:00.0"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&host.says("--json|status")).unwrap();
    assert_eq!(json["own"], serde_json::json!({"0000:01:00.0": "enforce"}));
}

#[test]
fn the_doctor_is_content_with_a_supported_host() {
    let text = Host::supported().says("doctor|--release|7.3.4");
    assert!(text.contains("gfx 9.4.2"), "{text}");
    assert!(
        text.ends_with("this host is supported and ready\n"),
        "{text}"
    );
}

#[test]
fn the_doctor_knows_each_gpu_that_the_module_takes_and_no_other() {
    for (number, good) in [(90402, true), (90500, true), (90010, false), (90403, false)] {
        let host = Host::supported();
        host.file(
            &format!("{}/1/properties", host::NODES),
            &format!("gfx_target_version {number}\n"),
        );
        let output = host.run("doctor|--release|7.3.4");
        assert_eq!(output.status.success(), good, "{number}: {output:?}");
    }
}

#[test]
fn the_doctor_names_each_thing_that_is_missing() {
    let cases: [(&str, &str, &str, &str); 7] = [
        (
            "boot/config-7.3.4",
            "CONFIG_HSA_AMD=n\n",
            "7.3.4",
            "CONFIG_HSA_AMD",
        ),
        ("boot/config-6.0.9", "", "6.0.9", "Linux 6.1 or newer"),
        (
            "boot/config-6.1.0-56-amd64",
            "",
            "6.1.0-56-amd64",
            "that of Linux before 6.12 knows no MI300",
        ),
        (
            "sys/module/amdgpu/parameters/cwsr_enable",
            "0\n",
            "7.3.4",
            "cwsr_enable=0",
        ),
        (
            "sys/module/amdgpu/parameters/sched_policy",
            "7\n",
            "7.3.4",
            "sched_policy=7",
        ),
        (
            "sys/class/kfd/kfd/topology/nodes/1/properties",
            "gfx_target_version 110000\n",
            "7.3.4",
            "only the MI300 series",
        ),
        (
            "sys/kernel/debug/amd_gpreempt/stats.json",
            STATS,
            "7.3.4",
            "it is disarmed",
        ),
    ];
    for (path, text, release, complaint) in cases {
        let host = Host::supported();
        host.file(path, text);
        let text = host.refuses(&format!("doctor|--release|{release}"));
        assert!(
            text.contains("MISSING") && text.contains(complaint),
            "{complaint}: {text}"
        );
    }
}

fn shell(line: &str) {
    let status = Command::new("sh").args(["-c", line]).status().unwrap();
    assert!(status.success(), "{line}");
}

#[test]
fn with_secure_boot_the_doctor_says_how_a_module_gets_to_load() {
    const EFI: &str = "sys/firmware/efi/efivars";
    let host = Host::supported();
    let doctor = "doctor|--release|7.3.4";
    host.file(
        &format!("{EFI}/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"),
        "\u{6}\0\0\0\u{1}",
    );
    assert!(!host.says(doctor).contains("Secure Boot"), "it is loaded");

    fs::remove_dir_all(host.0.path().join("sys/module/amd_gpreempt")).unwrap();
    let text = host.refuses(doctor);
    assert!(text.contains("sudo dkms generate_mok &&"), "{text}");
    host.file("var/lib/dkms/mok.pub", "certificate");
    let text = host.refuses(doctor);
    assert!(
        text.contains(" sudo mokutil --import /var/lib/dkms/mok.pub, then reboot and confirm\n"),
        "{text}"
    );
    host.file(
        &format!("{EFI}/MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23"),
        "a certificate",
    );
    let text = host.refuses(doctor);
    assert!(text.contains("ok       Secure Boot is on"), "{text}");
}

/// What the doctor prints where modinfo prints this of the module.
fn doctor_with(host: &Host, modinfo: &str) -> String {
    let root = host.0.path().display();
    host.file("modinfo.text", modinfo);
    // By a process of its own, for the same reason as below.
    shell(&format!(
        "mkdir -p {root}/bin && cat >{root}/bin/modinfo <<'END' && chmod 755 {root}/bin/modinfo\n\
         #!/bin/sh\n\
         [ \"$*\" = '--basedir {root}/ --set-version 7.3.4 amd_gpreempt' ] && cat {root}/modinfo.text\n\
         END\n"
    ));
    let output = Command::new(env!("CARGO_BIN_EXE_gpreempt"))
        .args(["--root", &root.to_string()])
        .args(["doctor", "--release", "7.3.4"])
        .env("PATH", format!("{root}/bin:/usr/bin:/bin"))
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn with_secure_boot_the_doctor_says_what_signs_a_module() {
    const BUILT: &str = "/lib/modules/7.3.4/updates/dkms/amd_gpreempt.ko.xz";
    const BY_HAND: &str = "/lib/modules/7.3.4/updates/amd_gpreempt.ko";
    let host = Host::supported();
    fs::remove_dir_all(host.0.path().join("sys/module/amd_gpreempt")).unwrap();
    let unsigned = format!("filename: {BUILT}\n");
    let text = doctor_with(&host, &unsigned);
    assert!(!text.contains("signed"), "without Secure Boot: {text}");
    host.file(
        "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
        "\u{6}\0\0\0\u{1}",
    );
    host.file("var/lib/dkms/mok.pub", "\u{2}\u{2}\u{52}\u{3f}");
    let text = doctor_with(&host, "");
    assert!(!text.contains("signed"), "there is no module: {text}");
    let text = doctor_with(&host, &format!("filename: {BUILT}\nsig_key: 52:3F\n"));
    let good = format!("ok       {BUILT} is signed with a known key\n");
    assert!(text.contains(&good), "{text}");

    let text = doctor_with(&host, &unsigned);
    let bad = format!(
        "MISSING  {BUILT} is signed with a known key\n         \
         the kernel refuses it: have DKMS build and sign it\n"
    );
    assert!(text.contains(&bad), "{text}");
    assert!(!text.contains("unbuild"), "DKMS has no such module: {text}");
    host.file("var/lib/dkms/amd_gpreempt/1.2.3/source", "");
    host.file("var/lib/dkms/amd_gpreempt/original_module/7.3.4/a", "");
    let again = "sudo dkms unbuild amd_gpreempt/1.2.3 -k 7.3.4 && \
                 sudo dkms install amd_gpreempt/1.2.3 -k 7.3.4\n";
    let text = doctor_with(&host, &unsigned);
    assert!(text.contains(&format!("         $ {again}")), "{text}");
    let text = doctor_with(&host, &format!("filename: {BY_HAND}\nsig_key: 52:40\n"));
    assert!(text.contains("signed with another key"), "{text}");
    let first = format!("         $ sudo rm {BY_HAND} && {again}");
    assert!(text.contains(&first), "{text}");
}

#[test]
fn the_self_test_is_a_program_beside_the_command_that_takes_its_own_arguments() {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("gpreempt");
    // In processes of their own: one that is started by another test meanwhile would
    // keep a file that is open for writing here, which then cannot be run.
    shell(&format!(
        "cp {} {}",
        env!("CARGO_BIN_EXE_gpreempt"),
        own.display()
    ));
    let run = || {
        Command::new(&own)
            .args(["selftest", "--until", "1", "--help"])
            .output()
            .unwrap()
    };
    let missing = run();
    let error = String::from_utf8(missing.stderr).unwrap();
    assert_eq!(missing.status.code(), Some(1), "{error}");
    assert!(
        error.starts_with("gpreempt: ") && error.contains("of a checkout of the project"),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1, "{error}");

    let program = directory.path().join("gpreempt-selftest");
    let text = r##"printf '#!/bin/sh\necho "$@"\nexit 7\n'"##;
    shell(&format!("{text} > {0} && chmod 755 {0}", program.display()));
    let there = run();
    assert_eq!(there.status.code(), Some(7));
    assert_eq!(there.stdout, b"--until 1 --help\n");
}

#[test]
fn the_last_events_are_shown_in_the_order_of_time() {
    let host = Host::with_module();
    let event = |time: u64| {
        format!(
            r#"{{"number":1,"time_ns":{time},"gpu":"0000:01:00.0","node":0,"gpu_id":5,"pid":20,"queue":1,"prio":2,"eff_prio":2,"action":"stop","reason":"inversion","age_ns":30000,"for":{{"pid":10,"queue":3}},"fate":"done"}}"#
        )
    };
    let events: Vec<String> = [1_000_000, 3_000_000, 2_000_000].map(event).into();
    host.file(
        &format!("{DEBUGFS}/events.json"),
        &format!(r#"{{"schema":1,"events":[{}]}}"#, events.join(",")),
    );
    let all = host.says("events");
    assert_eq!(all.lines().count(), 4, "{all}");
    let last = host.says("events|--last|2");
    let times: Vec<&str> = last.lines().skip(1).map(|line| &line[..8]).collect();
    assert_eq!(times, ["0.002000", "0.003000"], "{last}");
    assert!(last.contains("30 us") && last.contains("10/3"), "{last}");
    assert_eq!(host.says("events|--last|0").lines().count(), 1);
}

#[test]
fn a_table_without_a_name_that_is_needed_is_refused() {
    let host = Host::with_module();
    let broken = STATS.replace("\"mode\"", "\"moon\"");
    host.file(&format!("{DEBUGFS}/stats.json"), &broken);
    let text = host.refuses("status");
    assert!(text.contains("missing field `mode`"), "{text}");
}

#[test]
fn the_command_line_is_refused_with_two() {
    for line in [
        "",
        "stats",
        "mode|fast",
        "events|--last|x",
        "top|--interval|-1",
    ] {
        assert_eq!(Host::new().run(line).status.code(), Some(2), "{line}");
    }
}

#[test]
fn each_finding_that_a_command_can_mend_has_it() {
    let cases = [
        (
            "boot/config-7.1.0",
            "",
            "7.1.0",
            "$ sudo apt install -t trixie-backports linux-image-amd64",
        ),
        (
            "etc/os-release",
            "ID=debian\nVERSION_CODENAME=bookworm\n",
            "6.1.0-56-amd64",
            "$ sudo apt install -t bookworm-backports linux-image-amd64",
        ),
        (
            "sys/module/amdgpu/parameters/cwsr_enable",
            "0",
            "7.3.4",
            "$ echo options amdgpu cwsr_enable=1 | sudo tee",
        ),
        (
            "sys/module/amdgpu/parameters/sched_policy",
            "7",
            "7.3.4",
            "$ echo options amdgpu sched_policy=0 | sudo tee",
        ),
        (
            "sys/kernel/debug/amd_gpreempt/stats.json",
            STATS,
            "7.3.4",
            "$ echo armed | sudo tee /sys/devices/faux/amd_gpreempt/gpu_0000:01:00.0/node0/state",
        ),
    ];
    for (path, text, release, command) in cases {
        let host = Host::supported();
        host.file(path, text);
        let text = host.refuses(&format!("doctor|--release|{release}"));
        assert!(text.contains(command), "{command}: {text}");
    }
    let good = Host::supported().says("doctor|--release|7.3.4");
    assert!(!good.contains("$ "), "{good}");
    let bare = Host::new().refuses("doctor|--release|7.3.4");
    for command in [
        "$ sudo apt install linux-headers-7.3.4",
        "$ sudo modprobe amdgpu",
        "$ sudo dmesg | grep -e kfd -e amdgpu",
        "$ sudo modprobe amd_gpreempt",
    ] {
        assert!(bare.contains(command), "{command}: {bare}");
    }
}

#[test]
fn the_driver_of_amd_is_named_before_and_after_it_is_loaded() {
    for (path, text, what) in [
        (
            "sys/module/amdgpu/version",
            "6.16.6\n",
            "amdgpu-dkms 6.16.6 is loaded in place",
        ),
        (
            "lib/modules/7.3.4/updates/dkms/amdgpu.ko.xz",
            "",
            "at the next boot",
        ),
    ] {
        let host = Host::supported();
        host.file(path, text);
        let text = host.says("doctor|--release|7.3.4");
        assert!(text.contains(what) && !text.contains("$ "), "{text}");
    }
    let host = Host::supported();
    host.file("lib/modules/7.2.0/updates/dkms/amdgpu.ko", "");
    assert!(host
        .says("doctor|--release|7.3.4")
        .contains("amdgpu is the kernel's own"));
    let host = Host::supported();
    host.file("sys/module/amdgpu/version", "6.16.6\n");
    std::fs::remove_file(host.0.path().join("sys/kernel/btf/amdgpu")).unwrap();
    host.file("var/lib/dkms/amd_gpreempt/1.2.3/source", "");
    let text = host.refuses("doctor|--release|7.3.4");
    let command = "$ sudo apt install dwarves && \
                   sudo /usr/src/amd_gpreempt-1.2.3/scripts/package/amdgpu/driver rebuild 7.3.4";
    assert!(text.contains(command), "{text}");
}
