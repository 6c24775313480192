// SPDX-License-Identifier: GPL-2.0-only
//! The commands of the operations guide, as it has them, in their order. Those that
//! cannot run in this guest are listed, with what runs them instead.

use anyhow::{ensure, Context, Result};

use super::hotplug::GPU;
use super::operator::{install, remove, PLACE};
use super::preemption::{inversion, wait_for_heavy, UNBOUNDED};
use crate::guest::Guest;
use crate::load::Load;
use crate::module::Module;
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[Scenario {
    suite: Suite::E2e,
    name: "the commands of the operations guide do what it says",
    needs: Needs::ONCE,
    run: guide,
}];

const GUIDE: &str = include_str!("../../../../../docs/operations.md");

/// What commands of the guide begin with.
const BEGINNINGS: [&str; 8] = [
    "sudo ",
    "gpreempt ",
    "make ",
    "echo ",
    "dmesg ",
    "perf ",
    "bpftrace ",
    "scripts/",
];

/// Commands that do not run here, and why.
const ELSEWHERE: [(&str, &str); 24] = [
    ("sudo apt ", "scripts/test/system and scripts/test/dkms"),
    ("sudo touch /etc/dkms/", "a host on which dpkg has failed"),
    ("sudo update-initramfs ", "it reboots the host"),
    ("make deb", "scripts/test/dkms"),
    ("sudo /usr/src/amd_gpreempt-", "scripts/test/dkms --amdgpu"),
    ("sudo modprobe ", "scripts/test/system"),
    ("sudo mokutil ", "a person confirms it at the firmware"),
    ("echo amd_gpreempt ", "scripts/test/system"),
    ("echo options ", "scripts/test/dkms: options of a module"),
    ("echo standalone ", "scripts/test/dkms"),
    ("scripts/build/package-object ", "scripts/test/dkms"),
    ("sudo gpreempt selftest", "selftest.rs"),
    ("sudo systemctl ", "scripts/test/system"),
    ("sudo gpreempt apply ", "see `apply`"),
    ("sudo gpreempt export --output ", "see `endless`"),
    ("gpreempt top", "tests/top.rs of the command, on a terminal"),
    ("perf ", "a program of the kernel's for any tracepoint"),
    ("bpftrace ", "a program for any tracepoint"),
    ("sudo fuser ", "a program of Debian's"),
    ("echo 0000:c1:00.0 ", "hotplug.rs"),
    ("echo CPX ", "partitions.rs"),
    ("sudo rmmod ", "every scenario, at its end"),
    ("sudo install ", "see `apply`"),
    (
        "sudo rm -f ",
        "scripts/test/system removes the files itself",
    ),
];

/// The commands of a document, without what is said about them.
fn commands(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| line.starts_with("    ") || line.starts_with("       "))
        .map(|line| line.split(" #").next().unwrap_or(line).trim())
        .filter(|line| {
            BEGINNINGS
                .iter()
                .any(|beginning| line.starts_with(beginning))
        })
        .collect()
}

fn is_elsewhere(command: &str) -> bool {
    ELSEWHERE
        .iter()
        .any(|(beginning, _)| command.starts_with(beginning))
}

/// In a shell that has the command, and needs nobody's leave.
fn shell(guest: &mut Guest, line: &str) -> Result<String> {
    let whole = format!("cd /tmp; PATH=$PATH:{PLACE}; sudo() {{ \"$@\"; }}; {line}");
    guest
        .agent()
        .shell(&whole)
        .with_context(|| format!("the guide's command '{line}'"))
}

fn guide(guest: &mut Guest) -> Result<()> {
    install(guest)?;
    // The folder of a unit goes before that of its slice.
    let slices = "/sys/fs/cgroup/inference.slice /sys/fs/cgroup/batch.slice \
                  /sys/fs/cgroup/system.slice/train.service /sys/fs/cgroup/system.slice";
    shell(guest, &format!("mkdir -p /etc/amd-gpreempt {slices}"))?;
    let module = Module::load(guest, UNBOUNDED)?;
    let load = Load::start(guest, inversion(guest))?;
    let heavy = load.pid("heavy")?.to_string();
    for line in commands(GUIDE) {
        if is_elsewhere(line) {
            continue;
        }
        // A rule is for a process that there is, and nothing here depends on this one's.
        let line = line
            .replace("PID", &heavy)
            .replace("pid=4711", "pid=1")
            .replace("gpu_0000:c1:00.0", &format!("gpu_{GPU}"));
        let text = match line.starts_with("gpreempt record ") {
            true => record(guest, &module, &line)?,
            false => shell(guest, &line)?,
        };
        ensure!(
            !text.is_empty() || line.contains("rules") || line.starts_with("echo "),
            "{line}: silence"
        );
        match line.as_str() {
            "gpreempt mode enforce" => wait_for_heavy(guest, &load, true)?,
            "gpreempt mode observe" => wait_for_heavy(guest, &load, false)?,
            // The kept file is the other one from here on.
            "sudo gpreempt rules save" => {
                shell(guest, "cp /etc/amd-gpreempt/config.toml new.toml")?;
            }
            _ => {}
        }
    }
    apply(guest)?;
    endless(guest)?;
    load.stop(guest)?;
    load.finish(guest)?;
    module.unload(guest)?;
    let left = "/etc/amd-gpreempt /var/lib/amd-gpreempt /tmp/new.toml /tmp/trace.json";
    shell(guest, &format!("rm -r {left}; rmdir {slices}"))?;
    remove(guest)
}

/// Something happens while it is recorded. When nothing does, it says so: where the module
/// only observes, it may tell at any time of what it would do.
fn record(guest: &mut Guest, module: &Module, line: &str) -> Result<String> {
    let short = line.replace("--seconds 10", "--seconds 0.1");
    module.set(guest, "mode", "off")?;
    let silence = shell(
        guest,
        &format!("! {short} 2>&1; ! ls trace.json 2>/dev/null"),
    )?;
    ensure!(
        silence.contains("nothing happened in that time"),
        "{silence}"
    );
    module.set(guest, "mode", "observe")?;
    let meanwhile = "{ sleep 2; gpreempt mode enforce; sleep 3; gpreempt mode observe; } >&2 &";
    shell(guest, &format!("{meanwhile} {line}; wait"))
}

/// What the guide has done to the configuration of a host.
fn apply(guest: &mut Guest) -> Result<()> {
    let changed =
        "sed -i 's/^mode = \"observe\"/mode = \"enforce\"/' new.toml; grep -q enforce new.toml";
    shell(guest, changed)?;
    let says = shell(guest, "sudo gpreempt apply --dry-run new.toml")?;
    ensure!(
        says.contains("mode is observe and should be enforce"),
        "{says}"
    );
    let installed = "sudo install -D -m 644 new.toml /etc/amd-gpreempt/config.toml";
    shell(guest, installed)?;
    let says = shell(guest, "sudo gpreempt apply")?;
    ensure!(says.contains("is in force"), "{says}");
    Ok(())
}

/// The commands that go on until they are ended.
fn endless(guest: &mut Guest) -> Result<()> {
    let file = "/tmp/amd_gpreempt.prom";
    let written = format!(
        "gpreempt export --output {file} --interval 15 & \
         until grep -q amd_gpreempt_up {file}; do sleep 0.2; done 2>/dev/null; kill $!; rm {file}"
    );
    shell(guest, &written)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_what_stands_by_itself() {
        let text = "Say `gpreempt top`:\n\n    gpreempt top   # live\n\n       sudo cp a b && c\n\
            gpreempt mode\n    [hints]\n    echo '#1' | tee x\n";
        assert_eq!(
            commands(text),
            ["gpreempt top", "sudo cp a b && c", "echo '#1' | tee x"]
        );
    }

    /// A command that the guide no longer has, or that would run after all, is not left
    /// in the list.
    #[test]
    fn what_runs_elsewhere_is_in_the_guide() {
        let all = commands(GUIDE);
        for (beginning, _) in ELSEWHERE {
            assert!(
                all.iter().any(|command| command.starts_with(beginning)),
                "'{beginning}' begins no command of the guide"
            );
        }
        assert!(all.len() > 30, "{all:?}");
    }
}
