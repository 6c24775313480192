// SPDX-License-Identifier: GPL-2.0-only
//! amdgpu-dkms, AMD's driver package, which is loaded in place of the kernel's own amdgpu,
//! and the type information that it must have been built with.

use std::fs;

use crate::host::distribution::Family;
use crate::host::tree::{Host, MODULE};

/// By what the module's package has amdgpu get type information.
const CONFIGURATION: &str = "etc/dkms/amdgpu.conf";

/// What there is of it, in words, where there is any.
pub fn found(host: &Host, release: &str) -> Option<String> {
    // The kernel's own has no version besides the kernel's.
    if let Some(version) = host.try_read("sys/module/amdgpu/version") {
        let version = version.trim();
        return Some(format!(
            "amdgpu-dkms {version} is loaded in place of the kernel's own amdgpu"
        ));
    }
    let places = ["updates/dkms", "updates", "extra"];
    let names = ["amdgpu.ko", "amdgpu.ko.xz", "amdgpu.ko.zst", "amdgpu.ko.gz"];
    let built = places.iter().any(|place| {
        let folder = host.path(format!("lib/modules/{release}/{place}"));
        names.iter().any(|name| folder.join(name).exists())
    });
    built.then(|| {
        "amdgpu-dkms will be loaded in place of the kernel's own amdgpu at the next boot".to_owned()
    })
}

/// Why it was built for this kernel without type information, as DKMS's log has it.
pub fn why_without_types(host: &Host, release: &str) -> Option<String> {
    let versions = fs::read_dir(host.path("var/lib/dkms/amdgpu")).ok()?;
    let line = versions.flatten().find_map(|version| {
        let log = version.path().join(release).join("x86_64/log/make.log");
        let text = String::from_utf8_lossy(&fs::read(log).ok()?).into_owned();
        let last = text
            .lines()
            .rfind(|line| line.starts_with("amdgpu-types: "));
        last.map(str::to_owned)
    })?;
    let (_, why) = line.split_once(", because ")?;
    let why = why.split_once(": run '").map_or(why, |(why, _)| why);
    Some(why.to_owned())
}

/// What gives it type information: in words, and as a command where `ours`, the module's
/// package for DKMS, is there in that version.
pub fn remedy(host: &Host, release: &str, ours: Option<&str>) -> (String, Option<String>) {
    let why = why_without_types(host, release)
        .map(|why| format!(", since {why}"))
        .unwrap_or_default();
    let Some(version) = ours else {
        let words = format!(
            "it was built without{why}; amd-gpreempt-dkms has DKMS give it some: install that"
        );
        return (words, None);
    };
    let program = format!("sudo /usr/src/{MODULE}-{version}/scripts/package/amdgpu/driver");
    let configuration = host.try_read(CONFIGURATION);
    if configuration.is_some_and(|text| !text.contains("/amdgpu/types")) {
        let words = format!(
            "it was built without{why}; /{CONFIGURATION} is not of amd-gpreempt-dkms, which says \
             what to add to it"
        );
        return (words, Some(format!("{program} install")));
    }
    let family = Family::of(host);
    let pahole = match host.path("usr/bin/pahole").exists() {
        true => String::new(),
        false => format!("{} && ", family.install("dwarves")),
    };
    let words = format!("it was built without{why}: have DKMS build it once more");
    let command = format!(
        "{pahole}{program} rebuild {release} && {} && sudo reboot",
        family.remake_initrd(release)
    );
    (words, Some(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> (tempfile::TempDir, Host) {
        let directory = tempfile::tempdir().unwrap();
        let host = Host::new(directory.path());
        (directory, host)
    }

    fn put(host: &Host, path: &str, text: &str) {
        let path = host.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn it_is_found_before_and_after_it_is_loaded() {
        let (_directory, host) = host();
        assert_eq!(found(&host, "6.12.1"), None);
        put(&host, "lib/modules/6.12.0/updates/dkms/amdgpu.ko", "");
        assert_eq!(found(&host, "6.12.1"), None, "that is another kernel");
        put(&host, "lib/modules/6.12.1/extra/amdgpu.ko.xz", "");
        assert!(found(&host, "6.12.1").unwrap().contains("at the next boot"));
        put(&host, "sys/module/amdgpu/version", "6.16.13\n");
        assert!(found(&host, "6.12.1")
            .unwrap()
            .starts_with("amdgpu-dkms 6.16.13 is loaded"));
    }

    #[test]
    fn the_reason_is_the_last_one_of_the_log() {
        let (_directory, host) = host();
        assert_eq!(why_without_types(&host, "6.12.1"), None);
        let log = "var/lib/dkms/amdgpu/6.16/6.12.1/x86_64/log/make.log";
        put(
            &host,
            log,
            "CC x.o\namdgpu-types: amdgpu for 6.12.1 is left as it was built, without type \
             information, because there is no pahole: run 'sudo apt install dwarves && again'\n",
        );
        let why = why_without_types(&host, "6.12.1");
        assert_eq!(why.as_deref(), Some("there is no pahole"));
        assert_eq!(why_without_types(&host, "6.12.2"), None);
        put(
            &host,
            log,
            "amdgpu-types: amdgpu for 6.12.1 has got type information, 7 bytes\n",
        );
        assert_eq!(why_without_types(&host, "6.12.1"), None);
    }

    #[test]
    fn the_remedy_is_what_is_missing() {
        let (_directory, host) = host();
        let (words, command) = remedy(&host, "6.12.1", None);
        assert!(words.contains("install that"), "{words}");
        assert_eq!(command, None);
        let again = "sudo /usr/src/amd_gpreempt-1.2/scripts/package/amdgpu/driver";
        let command = |host: &Host| remedy(host, "6.12.1", Some("1.2")).1.unwrap();
        let rest =
            format!("{again} rebuild 6.12.1 && sudo update-initramfs -u -k 6.12.1 && sudo reboot");
        assert_eq!(
            command(&host),
            format!("sudo apt install dwarves && {rest}")
        );
        put(&host, "usr/bin/pahole", "");
        assert_eq!(command(&host), rest);
        put(&host, CONFIGURATION, "# Mine.\n");
        assert_eq!(command(&host), format!("{again} install"));
        put(
            &host,
            CONFIGURATION,
            "x=/usr/src/a/scripts/package/amdgpu/types\n",
        );
        assert_eq!(command(&host), rest);
    }
}
