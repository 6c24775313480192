// SPDX-License-Identifier: GPL-2.0-only
//! What the doctor says of hosts that are ready, and of those that are not.

mod host;

use std::fs;
use std::process::Command;

use host::{shell, Host, DEBUGFS, STATS};

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
fn the_doctor_tells_of_half_written_packets_where_they_may_be_executed() {
    let stats = STATS.replace("disarmed", "armed");
    let waited = stats.replace("\"waited_for\":0", "\"waited_for\":3");
    let unwritten = stats.replace("\"unwritten\":0", "\"unwritten\":2");
    for (processor, stats, told) in [
        (
            "GenuineIntel",
            &waited,
            Some("3 transactions waited for them, 0 did not"),
        ),
        (
            "GenuineIntel",
            &unwritten,
            Some("0 transactions waited for them, 2 did not"),
        ),
        ("GenuineIntel", &stats, None),
        ("AuthenticAMD", &waited, None),
    ] {
        let host = Host::supported();
        host.file(
            "proc/cpuinfo",
            &format!("processor : 0\nvendor_id : {processor}\n"),
        );
        host.file(&format!("{DEBUGFS}/stats.json"), stats);
        let text = host.says("doctor|--release|7.3.4");
        assert_eq!(
            text.contains("DEBUG_CLR_ORDER_DOORBELL"),
            told.is_some(),
            "{text}"
        );
        assert!(text.contains(told.unwrap_or_default()), "{text}");
    }
}

#[test]
fn the_doctor_tells_what_is_to_be_known_of_programs() {
    const SWAPS: &str = "Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2\n";
    const QUIET: &[(&str, &str)] = &[];
    let limited: &[(&str, &str)] = &[
        ("proc/swaps", SWAPS),
        ("sys/fs/cgroup/pods/job/memory.max", "max\n"),
        ("sys/fs/cgroup/pods/memory.max", "1073741824\n"),
    ];
    let unswapped = [limited, &[("sys/fs/cgroup/pods/memory.swap.max", "0\n")]].concat();
    let deaf: &[(&str, &str)] = &[(
        "proc/4711/environ",
        "A=1\0DEBUG_HIP_IGNORE_STREAM_PRIORITY=1\0",
    )];
    let hears: &[(&str, &str)] = &[(
        "proc/4711/environ",
        "A=1\0DEBUG_HIP_IGNORE_STREAM_PRIORITY=0\0",
    )];
    for (files, told) in [
        (QUIET, None),
        (
            limited,
            Some("at its limit, /sys/fs/cgroup/pods/memory.max"),
        ),
        (&limited[1..], None),
        (&unswapped[..], None),
        (deaf, Some("process 4711 (train) has DEBUG_HIP_IGNORE")),
        (hears, None),
    ] {
        let host = Host::supported();
        host.file(
            &format!("{DEBUGFS}/stats.json"),
            &STATS.replace("disarmed", "armed"),
        );
        host.file("sys/class/kfd/kfd/proc/4711/pasid", "7\n");
        host.file("proc/4711/comm", "train\n");
        host.file("proc/4711/cgroup", "0::/pods/job\n");
        for (file, text) in files {
            host.file(file, text);
        }
        let text = host.says("doctor|--release|7.3.4");
        assert_eq!(text.contains("process 4711"), told.is_some(), "{text}");
        assert!(text.contains(told.unwrap_or_default()), "{text}");
        assert!(
            text.ends_with("this host is supported and ready\n"),
            "{text}"
        );
    }
}

#[test]
fn the_doctor_tells_of_more_queues_than_there_are_places() {
    let stats = STATS.replace("disarmed", "armed");
    let place = stats.find("\"queues\":").expect("nodes have queues") + "\"queues\":".len();
    let end = place + stats[place..].find(',').expect("more follows");
    for (queues, told) in [("24", false), ("25", true)] {
        let host = Host::supported();
        let stats = format!("{}{queues}{}", &stats[..place], &stats[end..]);
        host.file(&format!("{DEBUGFS}/stats.json"), &stats);
        let text = host.says("doctor|--release|7.3.4");
        assert_eq!(text.contains("GPU_MAX_HW_QUEUES"), told, "{text}");
    }
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
fn the_doctor_names_a_gpu_of_the_series_that_no_driver_has() {
    const UNKNOWN: &str = "amdgpu of Linux 6.12 does not know GFX 9.5.0";
    const REFUSED: &str = "amdgpu has refused it, or it was unbound";
    const AMD: &str = "0x1002";
    for (vendor, device, release, said) in [
        (AMD, "0x75a0", "6.12.117+deb13-amd64", Some(UNKNOWN)),
        (AMD, "0x75b3", "7.3.4", Some(REFUSED)),
        (AMD, "0x74a1", "6.12.117+deb13-amd64", Some(REFUSED)),
        (AMD, "0x7550", "7.3.4", None),
        ("0x8086", "0x75a0", "7.3.4", None),
    ] {
        let host = Host::supported();
        let options = "CONFIG_HSA_AMD=y\nCONFIG_KPROBES=y\nCONFIG_DEBUG_INFO_BTF_MODULES=y\n";
        host.file(&format!("boot/config-{release}"), options);
        let file = |name: &str, text: &str| {
            host.file(&format!("sys/bus/pci/devices/0000:c1:00.0/{name}"), text);
        };
        file("vendor", &format!("{vendor}\n"));
        file("device", &format!("{device}\n"));
        let doctor = format!("doctor|--release|{release}");
        match said {
            Some(said) => {
                let text = host.refuses(&doctor);
                let number = device.trim_start_matches("0x");
                let head = format!("MISSING  0000:c1:00.0 (1002:{number}, GFX 9.");
                assert!(text.contains(&head), "{text}");
                assert!(text.contains(said), "{text}");
                assert_eq!(
                    text.contains("$ sudo apt install -t trixie"),
                    said == UNKNOWN
                );
            }
            None => assert!(!host.says(&doctor).contains("0000:c1:00.0")),
        }
        file("driver/module", "");
        assert!(
            !host.says(&doctor).contains("0000:c1:00.0"),
            "{device} has one"
        );
    }
    // AMD's driver may know it.
    let host = Host::supported();
    let device = "sys/bus/pci/devices/0000:c1:00.0";
    host.file(&format!("{device}/vendor"), "0x1002\n");
    host.file(&format!("{device}/device"), "0x75a3\n");
    host.file("sys/module/amdgpu/version", "6.16.13\n");
    let text = host.refuses("doctor|--release|6.12.117");
    assert!(text.contains(REFUSED) && !text.contains(UNKNOWN), "{text}");
    // Where there is no driver at all, that is what is missing.
    fs::remove_dir_all(host.0.path().join("sys/module/amdgpu")).unwrap();
    let text = host.refuses("doctor|--release|6.12.117");
    assert!(!text.contains("0000:c1:00.0"), "{text}");
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
