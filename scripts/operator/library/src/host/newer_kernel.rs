// SPDX-License-Identifier: GPL-2.0-only
//! The command that brings a newer kernel, which each distribution has elsewhere.

use crate::host::tree::Host;

/// The command of this host's distribution, where there is one to be named: Debian has
/// newer kernels in the backports of its release. What has the suite `testing` or `sid`
/// needs no other one.
pub fn command(host: &Host) -> Option<String> {
    let text = host
        .try_read("etc/os-release")
        .or_else(|| host.try_read("usr/lib/os-release"))?;
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.trim().trim_matches('"').to_owned())
    };
    if value("ID=")? != "debian" {
        return None;
    }
    let from = match value("VERSION_CODENAME=").as_deref() {
        Some(release @ ("bookworm" | "trixie")) => format!("-t {release}-backports "),
        _ => String::new(),
    };
    Some(format!(
        "sudo apt install {from}linux-image-amd64 linux-headers-amd64 && sudo reboot"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(text: &str) -> Option<String> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("etc")).unwrap();
        std::fs::write(directory.path().join("etc/os-release"), text).unwrap();
        command(&Host::new(directory.path()))
    }

    #[test]
    fn each_release_of_debian_has_its_own_archive() {
        for (text, archive) in [
            (
                "ID=debian\nVERSION_CODENAME=trixie\n",
                "-t trixie-backports ",
            ),
            (
                "VERSION_CODENAME=\"bookworm\"\nID=\"debian\"\n",
                "-t bookworm-backports ",
            ),
            ("ID=debian\nVERSION_CODENAME=forky\n", ""),
            ("ID=debian\n", ""),
        ] {
            let command = on(text).unwrap();
            assert!(
                command.starts_with(&format!("sudo apt install {archive}linux-image-amd64 ")),
                "{text}: {command}"
            );
        }
    }

    #[test]
    fn no_command_is_named_where_it_would_be_another_one() {
        assert_eq!(on("ID=ubuntu\nVERSION_CODENAME=noble\n"), None);
        assert_eq!(on(""), None);
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(command(&Host::new(directory.path())), None);
    }
}
