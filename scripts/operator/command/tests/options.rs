// SPDX-License-Identifier: GPL-2.0-only
//! What the doctor says about the options that modprobe gives the module.

mod host;

use host::Host;

const DOCTOR: &str = "doctor|--release|7.3.4";

#[test]
fn an_option_that_is_gone_or_wrong_is_named_with_what_to_write_instead() {
    let gone = "give backend=hws, or backend=mqd where amdgpu is loaded with sched_policy=2";
    for (path, text, finding, remedy, command) in [
        (
            "etc/modprobe.d/amd_gpreempt.conf",
            "options amd_gpreempt mode=enforce backend=process\n",
            "/etc/modprobe.d/amd_gpreempt.conf has backend=process",
            gone,
            "$ sudoedit /etc/modprobe.d/amd_gpreempt.conf && sudo update-initramfs -u",
        ),
        (
            "usr/lib/modprobe.d/site.conf",
            "options amd-gpreempt \\\n backend=process\n",
            "/usr/lib/modprobe.d/site.conf has backend=process",
            gone,
            "$ sudoedit /usr/lib/modprobe.d/site.conf",
        ),
        (
            "etc/modprobe.d/a.conf",
            "options amd_gpreempt resume-delay-us=300\n",
            "/etc/modprobe.d/a.conf has resume-delay-us=300",
            "resume_delay_us is gone: pauses are learned; remove the line",
            "$ sudoedit /etc/modprobe.d/a.conf",
        ),
        (
            "proc/cmdline",
            "quiet amd_gpreempt.backend=process amdgpu.backend=other\n",
            "/proc/cmdline has backend=process",
            gone,
            "update-grub",
        ),
        (
            "etc/modprobe.d/a.conf",
            "options amd_gpreempt speed=1\n",
            "/etc/modprobe.d/a.conf has speed=1",
            "there is no such parameter",
            "$ sudoedit /etc/modprobe.d/a.conf",
        ),
        (
            "etc/modprobe.d/a.conf",
            "options amd_gpreempt max-stop-ms=0\n",
            "/etc/modprobe.d/a.conf has max-stop-ms=0",
            "give a number from 1 to 60000",
            "$ sudoedit /etc/modprobe.d/a.conf",
        ),
    ] {
        let host = Host::supported();
        host.file(path, text);
        let said = host.refuses(DOCTOR);
        for part in [finding, remedy, command] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains("only what it takes"), "{said}");
    }
}

#[test]
fn options_that_the_module_takes_are_no_finding() {
    let host = Host::supported();
    host.file(
        "etc/modprobe.d/amd_gpreempt.conf",
        "options amd_gpreempt mode=enforce timeslice_us=\"500\" dyndbg=+p\n\
         options amdgpu backend=process\n",
    );
    // modprobe reads neither of these: one is not named as it wants, and of two of one
    // name the administrator's counts.
    host.file(
        "etc/modprobe.d/old.conf.bak",
        "options amd_gpreempt backend=process\n",
    );
    host.file(
        "lib/modprobe.d/amd_gpreempt.conf",
        "options amd_gpreempt backend=process\n",
    );
    let said = host.says(DOCTOR);
    assert!(
        said.contains("modprobe gives the module only what it takes"),
        "{said}"
    );
}
