// SPDX-License-Identifier: GPL-2.0-only
//! Whether a host is supported and ready, and what to do if not.

use std::fs;
use std::io::Read;

use flate2::read::GzDecoder;
use serde::Serialize;

use crate::host::amd_driver;
use crate::host::distribution::Family;
use crate::host::newer_kernel;
use crate::host::options;
use crate::host::secure_boot::{self, Fault, File, Key};
use crate::host::tables::Node;
use crate::host::tree::{Host, Refusal, MODULE};

mod gpus;
mod jobs;

/// The oldest kernel for which there is a module.
const OLDEST_KERNEL: (u32, u32) = (6, 1);
/// The oldest one whose own driver has what the module uses.
const OLDEST_DRIVER: (u32, u32) = (6, 12);
/// What the kernel's configuration must have, and why.
const OPTIONS: [(&str, &str); 3] = [
    ("CONFIG_HSA_AMD", "it extends KFD"),
    ("CONFIG_KPROBES", "it looks two functions of amdgpu up"),
    (
        "CONFIG_DEBUG_INFO_BTF_MODULES",
        "it takes amdgpu's layouts from there",
    ),
];
/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub good: bool,
    pub what: String,
    /// What to do, or what to know where nothing is wrong.
    pub remedy: Option<String>,
    /// What mends it, where a command can.
    pub command: Option<String>,
}

/// Looks at everything.
pub fn examine(host: &Host, release: &str) -> Result<Vec<Finding>, Refusal> {
    let mut doctor = Doctor {
        host,
        release,
        findings: Vec::new(),
    };
    doctor.kernel();
    doctor.driver();
    doctor.gpus();
    doctor.key();
    doctor.options();
    doctor.build();
    doctor.module()?;
    Ok(doctor.findings)
}

struct Doctor<'h> {
    host: &'h Host,
    release: &'h str,
    findings: Vec<Finding>,
}

impl Doctor<'_> {
    fn say(&mut self, good: bool, what: impl Into<String>, remedy: impl Into<String>) {
        self.findings.push(Finding {
            good,
            what: what.into(),
            remedy: (!good).then(|| remedy.into()),
            command: None,
        });
    }

    /// Tells what is to be known though nothing is wrong.
    fn know(&mut self, what: String, why: &str) {
        self.findings.push(Finding {
            good: true,
            what,
            remedy: Some(why.to_owned()),
            command: None,
        });
    }

    /// Gives the last finding a command, where it is not good.
    fn mend(&mut self, command: impl Into<String>) {
        if let Some(last) = self.findings.last_mut().filter(|last| !last.good) {
            last.command = Some(command.into());
        }
    }

    /// The same by a newer kernel, where it is known how to get one.
    fn mend_by_newer_kernel(&mut self) {
        if let Some(command) = newer_kernel::command(self.host) {
            self.mend(command);
        }
    }

    /// The running kernel's configuration, where it can be read.
    fn config(&self) -> Option<String> {
        let release = self.release;
        let places = [
            format!("boot/config-{release}"),
            format!("lib/modules/{release}/config"),
            format!("lib/modules/{release}/build/.config"),
        ];
        if let Some(text) = places.iter().find_map(|place| self.host.try_read(place)) {
            return Some(text);
        }
        let packed = fs::File::open(self.host.path("proc/config.gz")).ok()?;
        let mut text = String::new();
        GzDecoder::new(packed).read_to_string(&mut text).ok()?;
        Some(text)
    }

    fn kernel(&mut self) {
        let release = self.release;
        self.say(
            version(release) >= OLDEST_KERNEL,
            format!("kernel {release}"),
            "the module needs Linux 6.1 or newer",
        );
        self.mend_by_newer_kernel();
        let Some(text) = self.config() else {
            let family = Family::of(self.host);
            let headers = family.headers(release);
            let remedy = format!("install {headers}, or read it from /proc/config.gz");
            self.say(false, "the kernel's configuration", remedy);
            self.mend(family.install(&headers));
            return;
        };
        for (option, why) in OPTIONS {
            let set = |end| text.lines().any(|line| line == format!("{option}={end}"));
            let good = set("y") || set("m");
            self.say(good, option, format!("{why}: use a kernel with it"));
            self.mend_by_newer_kernel();
        }
    }

    /// A parameter of amdgpu, or its default.
    fn amdgpu(&self, name: &str, default: &str) -> String {
        let path = format!("sys/module/amdgpu/parameters/{name}");
        let value = self.host.try_read(&path);
        value.unwrap_or_else(|| default.into()).trim().to_owned()
    }

    fn driver(&mut self) {
        let loaded = self.host.path("sys/module/amdgpu").is_dir();
        self.say(loaded, "amdgpu is loaded", "nothing drives the GPU");
        self.mend("sudo modprobe amdgpu");
        let of_amd = self.whose_driver();
        self.types(loaded, of_amd);
        if !loaded {
            return;
        }
        let policy = self.amdgpu("sched_policy", "0");
        let known = ["0", "1", "2"].contains(&policy.as_str());
        self.say(
            known,
            format!("amdgpu.sched_policy={policy}"),
            "0, 1 and 2 are known",
        );
        self.mend(option_of_amdgpu("sched_policy=0"));
        if let Some(last) = self.findings.last_mut().filter(|_| policy == "2") {
            let advice = "there is no hardware scheduler: load the module with backend=mqd";
            last.remedy = Some(advice.into());
            last.command = Some(format!("sudo modprobe {MODULE} backend=mqd"));
        }
        self.say(
            self.amdgpu("cwsr_enable", "1") == "1",
            "waves can be saved (amdgpu.cwsr_enable)",
            "remove cwsr_enable=0 from the kernel command line or /etc/modprobe.d",
        );
        self.mend(option_of_amdgpu("cwsr_enable=1"));
    }

    /// Whether amdgpu is of AMD's driver package, or the kernel's own.
    fn whose_driver(&mut self) -> bool {
        if let Some(what) = amd_driver::found(self.host, self.release) {
            self.say(true, what, "");
            return true;
        }
        self.say(
            version(self.release) >= OLDEST_DRIVER,
            "amdgpu is the kernel's own",
            "that of Linux before 6.12 knows no MI300, or too little of it: use a newer kernel, \
             or AMD's driver package, amdgpu-dkms",
        );
        self.mend_by_newer_kernel();
        false
    }

    /// Whether the driver has the type information that the module reads.  Of one that is
    /// not loaded yet, only the log of DKMS may say that it has none.
    fn types(&mut self, loaded: bool, of_amd: bool) {
        let what = "amdgpu carries type information";
        if !loaded {
            let none = of_amd && amd_driver::why_without_types(self.host, self.release).is_some();
            if !none {
                return;
            }
        }
        let good = loaded && self.host.path("sys/kernel/btf/amdgpu").exists();
        if !of_amd {
            self.say(good, what, "use a kernel whose own amdgpu has some");
            self.mend_by_newer_kernel();
            return;
        }
        let ours = self.version_of_dkms();
        let (remedy, command) = amd_driver::remedy(self.host, self.release, ours.as_deref());
        self.say(good, what, remedy);
        if let Some(command) = command {
            self.mend(command);
        }
    }

    /// With Secure Boot, DKMS's signature must be one that the firmware trusts. A
    /// module that is loaded was signed with another key, then.
    fn key(&mut self) {
        let remedy = match secure_boot::key(self.host) {
            None => return,
            Some(_) if self.host.has_module() => return,
            Some(Key::Trusted) => "",
            Some(Key::Unknown) => {
                "sudo mokutil --import /var/lib/dkms/mok.pub, then reboot and confirm"
            }
            Some(Key::Missing) => {
                "sudo dkms generate_mok && sudo mokutil --import /var/lib/dkms/mok.pub, \
                 then reboot, confirm and have DKMS build the module again"
            }
        };
        let what = "Secure Boot is on, and the firmware trusts the key of DKMS";
        self.say(remedy.is_empty(), what, remedy);
        self.signature();
    }

    /// The module's file must have DKMS's signature, which what was installed by other
    /// means lacks, and what was built before the key was made anew.
    fn signature(&mut self) {
        let Some(file) = File::of_module(self.host, self.release) else {
            return;
        };
        let fault = file.fault(self.host);
        let remedy = match fault {
            None => "",
            Some(Fault::Unsigned) => "the kernel refuses it: have DKMS build and sign it",
            Some(Fault::Unknown) => {
                "the kernel refuses what was signed with another key: have DKMS build it again"
            }
        };
        let what = format!("{} is signed with a known key", file.path);
        self.say(fault.is_none(), what, remedy);
        let Some(version) = self.version_of_dkms() else {
            return;
        };
        let module = format!("{MODULE}/{version} -k {}", self.release);
        // DKMS removes only what it has installed.
        let remove = match file.path.contains("/updates/dkms/") {
            true => String::new(),
            false => format!("sudo rm {} && ", file.path),
        };
        self.mend(format!(
            "{remove}sudo dkms unbuild {module} && sudo dkms install {module}"
        ));
    }

    /// The module's version that DKMS builds, where it has one.
    fn version_of_dkms(&self) -> Option<String> {
        let entries = fs::read_dir(self.host.path("var/lib/dkms").join(MODULE)).ok()?;
        // Beside the versions' folders there are links to what is installed, and a folder
        // of what it has replaced.
        let versions = entries
            .flatten()
            .filter(|entry| fs::symlink_metadata(entry.path().join("source")).is_ok());
        let names = versions.filter_map(|entry| entry.file_name().into_string().ok());
        names.max()
    }

    /// Which of its two builds the module has for this kernel, and why, where DKMS's log
    /// says so.
    fn build(&mut self) {
        let Some(version) = self.version_of_dkms() else {
            return;
        };
        let release = self.release;
        let place = format!("var/lib/dkms/{MODULE}/{version}/{release}/x86_64/log/make.log");
        let log = self.host.try_read(&place).unwrap_or_default();
        let middle = format!(" build for {release}, ");
        let line = |line: &str| {
            let (kind, why) = line.strip_prefix("module: ")?.split_once(&middle)?;
            Some(format!("DKMS has made a {kind} build, {why}"))
        };
        if let Some(what) = log.lines().find_map(line) {
            self.say(true, what, "");
        }
    }

    /// What the module would be loaded with: one wrong value, and the kernel does not load
    /// it, while a name that it does not know it ignores.
    fn options(&mut self) {
        let wrong = options::wrong(self.host);
        if wrong.is_empty() {
            self.say(true, "modprobe gives the module only what it takes", "");
        }
        for options::Wrong {
            place,
            option,
            remedy,
            gone: _,
        } in wrong
        {
            self.say(false, format!("{place} has {option}"), remedy);
            self.mend(match place.starts_with("/proc/") {
                true => "sudoedit /etc/default/grub && sudo update-grub && sudo reboot".to_owned(),
                false => format!("sudoedit {place} && sudo update-initramfs -u"),
            });
        }
    }

    fn module(&mut self) -> Result<(), Refusal> {
        let loaded = self.host.has_module();
        let remedy = "nothing is preempted; if it cannot be loaded, dmesg says why";
        self.say(loaded, format!("{MODULE} is loaded"), remedy);
        self.mend(format!("sudo modprobe {MODULE}"));
        if !loaded {
            return Ok(());
        }
        let nodes = self.host.stats()?.nodes;
        for node in &nodes {
            let why = node.refusal.as_deref().unwrap_or("see the kernel log");
            self.say(
                node.state == "armed",
                format!("{} node {} is armed", node.gpu, node.node),
                format!("it is {}: {why}", node.state),
            );
            self.mend(format!(
                "echo armed | sudo tee /sys/devices/faux/{MODULE}/gpu_{}/node{}/state",
                node.gpu, node.node
            ));
            if node.waited_for + node.unwritten > 0 && self.is_of_intel() {
                self.know_of_halves(node);
            }
        }
        for (what, why) in jobs::known(self.host, &nodes) {
            self.know(what, why);
        }
        Ok(())
    }

    /// Whether the host has processors by which a GPU may read a packet in halves.
    fn is_of_intel(&self) -> bool {
        let processors = self.host.try_read("proc/cpuinfo").unwrap_or_default();
        processors.contains("GenuineIntel")
    }

    /// What is to be known where programs take places in a ring before they write there.
    fn know_of_halves(&mut self, node: &Node) {
        self.know(
            format!(
                "programs of {} node {} write packets after their write pointer has moved: {} \
                 transactions waited for them, {} did not",
                node.gpu, node.node, node.waited_for, node.unwritten
            ),
            "a GPU may execute such a packet half written on a host with Intel processors, \
             also without this module; use a ROCm runtime that knows \
             DEBUG_CLR_ORDER_DOORBELL, and do not set that to 0",
        );
    }
}

/// Sets an option of amdgpu for the next boot.
fn option_of_amdgpu(option: &str) -> String {
    format!(
        "echo options amdgpu {option} | sudo tee /etc/modprobe.d/amdgpu-{MODULE}.conf && \
         sudo update-initramfs -u && sudo reboot"
    )
}

/// The first two numbers of a release.
fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.splitn(3, '.').map(|part| {
        let end = part.find(|c: char| !c.is_ascii_digit());
        part[..end.unwrap_or(part.len())].parse().ok()
    });
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) => (major, minor),
        _ => (0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_has_two_numbers_or_none() {
        assert_eq!(version("7.3.4+deb13-amd64"), (7, 3));
        assert_eq!(version("7.2-rc1"), (7, 2));
        assert_eq!(version("10.0"), (10, 0));
        assert_eq!(version("seven"), (0, 0));
        assert_eq!(version(""), (0, 0));
    }

    #[test]
    fn the_build_of_this_kernel_is_said_as_the_log_of_dkms_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let host = Host::new(directory.path());
        let said = || {
            let findings = examine(&host, "7.3.4").unwrap();
            let mut whats = findings.into_iter().map(|finding| finding.what);
            whats.find(|what| what.contains("DKMS has made"))
        };
        assert_eq!(said(), None, "DKMS has no such module");
        let version = host.path("var/lib/dkms/amd_gpreempt/1.2.3");
        let place = version.join("7.3.4/x86_64/log");
        fs::create_dir_all(&place).unwrap();
        fs::write(version.join("source"), "").unwrap();
        assert_eq!(said(), None, "it has not built it");
        let log = |text: &str| fs::write(place.join("make.log"), text).unwrap();
        log("module: native build for 7.3.41, because\nCC x.o\n");
        assert_eq!(said(), None, "that is another kernel");
        log("make.log\nmodule: native build for 7.3.4, because it has Rust, as here\nCC x.o\n");
        let what = "DKMS has made a native build, because it has Rust, as here";
        assert_eq!(said().as_deref(), Some(what));
    }

    #[test]
    fn the_configuration_is_read_from_proc_where_there_is_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let host = Host::new(directory.path());
        fs::create_dir(host.path("proc")).unwrap();
        let file = fs::File::create(host.path("proc/config.gz")).unwrap();
        let mut packer = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        std::io::Write::write_all(&mut packer, b"CONFIG_HSA_AMD=m\n").unwrap();
        packer.finish().unwrap();
        let findings = examine(&host, "7.3.4").unwrap();
        let of = |what: &str| {
            findings
                .iter()
                .find(|finding| finding.what == what)
                .unwrap()
        };
        assert!(of("CONFIG_HSA_AMD").good);
        assert!(!of("CONFIG_KPROBES").good);
        assert!(!of("amd_gpreempt is loaded").good);
    }
}
