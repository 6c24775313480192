// SPDX-License-Identifier: GPL-2.0-only
//! How a host's distribution installs packages and makes its initial RAM disk, for
//! commands that can be run as they are printed.

use crate::host::tree::Host;

/// Distributions with the same commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Debian,
    RedHat,
    Suse,
}

impl Family {
    /// That of a host, by what it says of itself and of what it is like; Debian's if it
    /// says nothing that is known.
    pub fn of(host: &Host) -> Family {
        let text = host
            .try_read("etc/os-release")
            .or_else(|| host.try_read("usr/lib/os-release"))
            .unwrap_or_default();
        let mut words = text.lines().flat_map(|line| {
            let value = line
                .strip_prefix("ID=")
                .or_else(|| line.strip_prefix("ID_LIKE="));
            value.unwrap_or("").trim_matches('"').split_whitespace()
        });
        let family = words.find_map(|word| match word {
            "debian" | "ubuntu" => Some(Family::Debian),
            "rhel" | "fedora" | "centos" | "ol" => Some(Family::RedHat),
            "suse" | "sles" | "sle_hpc" => Some(Family::Suse),
            _ => None,
        });
        family.unwrap_or(Family::Debian)
    }

    /// What installs a package, to be run by root.
    pub fn install(self, package: &str) -> String {
        let program = match self {
            Family::Debian => "apt",
            Family::RedHat => "dnf",
            Family::Suse => "zypper",
        };
        format!("sudo {program} install {package}")
    }

    /// The package with the headers of a kernel.
    pub fn headers(self, release: &str) -> String {
        match self {
            Family::Debian => format!("linux-headers-{release}"),
            Family::RedHat => format!("kernel-devel-{release}"),
            Family::Suse => {
                let flavour = release.rsplit('-').next().unwrap_or("default");
                format!("kernel-{flavour}-devel")
            }
        }
    }

    /// What makes the initial RAM disk of a kernel anew.
    pub fn remake_initrd(self, release: &str) -> String {
        match self {
            Family::Debian => format!("sudo update-initramfs -u -k {release}"),
            _ => format!("sudo dracut --force --kver {release}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(text: &str) -> Family {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("etc")).unwrap();
        std::fs::write(directory.path().join("etc/os-release"), text).unwrap();
        Family::of(&Host::new(directory.path()))
    }

    #[test]
    fn each_distribution_has_the_commands_of_its_family() {
        for (text, family) in [
            ("ID=debian\n", Family::Debian),
            ("NAME=x\nID=ubuntu\nID_LIKE=debian\n", Family::Debian),
            ("ID=\"rhel\"\nID_LIKE=\"fedora\"\n", Family::RedHat),
            (
                "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n",
                Family::RedHat,
            ),
            ("ID=\"ol\"\nID_LIKE=\"fedora\"\n", Family::RedHat),
            ("ID=\"sles\"\nID_LIKE=\"suse\"\n", Family::Suse),
            ("ID=other\n", Family::Debian),
            ("", Family::Debian),
        ] {
            assert_eq!(on(text), family, "{text}");
        }
    }

    #[test]
    fn the_scripts_tell_them_by_the_same_words() {
        let scripts = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lib/distribution.sh");
        let scripts = std::fs::read_to_string(scripts).unwrap();
        let cases = scripts.lines().filter_map(|line| {
            let (words, program) = line.strip_suffix(" && return ;;")?.split_once(") echo ")?;
            Some((words.trim().split(" | "), program))
        });
        let mut known = 0;
        for (words, program) in cases {
            for word in words {
                let install = on(&format!("ID={word}\n")).install("make");
                assert_eq!(install, format!("sudo {program} install make"), "{word}");
                known += 1;
            }
        }
        assert_eq!(known, 9);
    }

    #[test]
    fn the_commands_are_those_of_the_family() {
        for (family, install, headers, initrd) in [
            (
                Family::Debian,
                "sudo apt install dwarves",
                "linux-headers-6.12.1-amd64",
                "sudo update-initramfs -u -k 6.12.1-amd64",
            ),
            (
                Family::RedHat,
                "sudo dnf install dwarves",
                "kernel-devel-6.12.1-amd64",
                "sudo dracut --force --kver 6.12.1-amd64",
            ),
            (
                Family::Suse,
                "sudo zypper install dwarves",
                "kernel-amd64-devel",
                "sudo dracut --force --kver 6.12.1-amd64",
            ),
        ] {
            assert_eq!(family.install("dwarves"), install);
            assert_eq!(family.headers("6.12.1-amd64"), headers);
            assert_eq!(family.remake_initrd("6.12.1-amd64"), initrd);
        }
    }
}
