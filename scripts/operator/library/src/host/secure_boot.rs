// SPDX-License-Identifier: GPL-2.0-only
//! Whether the firmware lets modules load that DKMS has signed.

use std::fs;
use std::process::Command;

use crate::host::tree::{Host, MODULE};

/// The firmware's variables: a word of attributes, then the value.
const VARIABLES: &str = "sys/firmware/efi/efivars";
const ATTRIBUTES: usize = 4;
const SWITCH: &str = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
/// The keys that modules may be signed with: those of the machine's owner, as the
/// loader passes them on, and the firmware's own.
const KEYS: [&str; 2] = ["MokListRT", "db-d719b2cb-3d3a-4596-a3bc-dad00e67656f"];
/// The certificate of DKMS.
pub const CERTIFICATE: &str = "var/lib/dkms/mok.pub";

/// What there is to say about DKMS's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Trusted,
    Unknown,
    /// DKMS has made none, or it cannot be read.
    Missing,
}

/// Nothing where Secure Boot is off.
pub fn key(host: &Host) -> Option<Key> {
    let variables = host.path(VARIABLES);
    let switch = fs::read(variables.join(SWITCH)).ok()?;
    if switch.get(ATTRIBUTES) != Some(&1) {
        return None;
    }
    let certificate = fs::read(host.path(CERTIFICATE)).unwrap_or_default();
    if certificate.is_empty() {
        return Some(Key::Missing);
    }
    Some(
        match lists(host).any(|list| contains(&list, &certificate)) {
            true => Key::Trusted,
            false => Key::Unknown,
        },
    )
}

/// The certificates that the firmware trusts, in its own form.
fn lists(host: &Host) -> impl Iterator<Item = Vec<u8>> {
    let entries = fs::read_dir(host.path(VARIABLES)).into_iter().flatten();
    let lists = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        KEYS.iter()
            .any(|key| name.to_string_lossy().starts_with(key))
    });
    lists.map(|entry| fs::read(entry.path()).unwrap_or_default())
}

fn contains(list: &[u8], part: &[u8]) -> bool {
    list.windows(part.len()).any(|window| window == part)
}

/// The file that would be loaded as the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub path: String,
    /// The serial number of the certificate that it was signed for; none where it is not
    /// signed.
    serial: Option<Vec<u8>>,
}

/// What is wrong with a file's signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Unsigned,
    /// Neither DKMS nor the firmware has the key.
    Unknown,
}

impl File {
    /// Nothing where the kernel has no such module, or nobody can say.
    pub fn of_module(host: &Host, release: &str) -> Option<File> {
        // A user other than root often lacks the folder that the command is in.
        let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").ok()?);
        let output = Command::new("modinfo")
            .env("PATH", path)
            .arg("--basedir")
            .arg(host.path(""))
            .args(["--set-version", release, MODULE])
            .output()
            .ok()?;
        File::parse(&String::from_utf8_lossy(&output.stdout))
    }

    /// From the lines of `modinfo`.
    fn parse(text: &str) -> Option<File> {
        let value = |name: &str| {
            let lines = text.lines().filter_map(|line| line.split_once(':'));
            let mut named = lines.filter(|(key, _)| *key == name);
            named.next().map(|(_, value)| value.trim())
        };
        let serial = value("sig_key").and_then(|key| {
            let bytes = key.split(':').map(|byte| u8::from_str_radix(byte, 16));
            bytes.collect::<Result<Vec<u8>, _>>().ok()
        });
        // The folder that was named ends with a slash, and what is in it begins with one.
        let path = value("filename")?.replace("//", "/");
        Some(File { path, serial })
    }

    /// Why the kernel would refuse it although the firmware trusts the key of DKMS.
    pub fn fault(&self, host: &Host) -> Option<Fault> {
        let Some(serial) = &self.serial else {
            return Some(Fault::Unsigned);
        };
        let own = fs::read(host.path(CERTIFICATE)).unwrap_or_default();
        // A number in a certificate: its kind, its length, its bytes.
        let number = [&[2, serial.len() as u8], &serial[..]].concat();
        let known = contains(&own, &number) || lists(host).any(|list| contains(&list, &number));
        (!known).then_some(Fault::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23";

    fn host() -> (tempfile::TempDir, Host) {
        let directory = tempfile::tempdir().unwrap();
        let host = Host::new(directory.path());
        fs::create_dir_all(host.path(VARIABLES)).unwrap();
        fs::create_dir_all(host.path("var/lib/dkms")).unwrap();
        (directory, host)
    }

    fn set(host: &Host, variable: &str, value: &[u8]) {
        let bytes = [&[6, 0, 0, 0], value].concat();
        fs::write(host.path(VARIABLES).join(variable), bytes).unwrap();
    }

    #[test]
    fn nothing_is_said_where_secure_boot_is_off() {
        let (_directory, host) = host();
        assert_eq!(key(&host), None, "no such variable");
        for off in [&[0][..], &[]] {
            set(&host, SWITCH, off);
            assert_eq!(key(&host), None, "{off:?}");
        }
    }

    #[test]
    fn a_key_is_trusted_where_it_is_in_one_of_the_lists_as_a_whole() {
        let (_directory, host) = host();
        set(&host, SWITCH, &[1]);
        assert_eq!(key(&host), Some(Key::Missing));
        fs::write(host.path(CERTIFICATE), "").unwrap();
        assert_eq!(key(&host), Some(Key::Missing));
        fs::write(host.path(CERTIFICATE), "certificate").unwrap();
        assert_eq!(key(&host), Some(Key::Unknown), "there are no lists");
        set(&host, LIST, b"another, certificat");
        set(&host, "dbDefault-8be4df61", b"certificate");
        assert_eq!(key(&host), Some(Key::Unknown));
        set(&host, LIST, b"another, certificate.");
        assert_eq!(key(&host), Some(Key::Trusted));
        set(&host, LIST, b"");
        set(&host, KEYS[1], b"certificate");
        assert_eq!(key(&host), Some(Key::Trusted));
    }

    const SIGNED: &str = "filename:       //lib/modules/7.3.4/updates/dkms/amd_gpreempt.ko.xz\n\
                          version:        1.2.3\n\
                          sig_id:         PKCS#7\n\
                          signer:         DKMS module signing key\n\
                          sig_key:        52:3F:0A\n\
                          signature:      52:3F\n\t\t0A:00\n";

    #[test]
    fn a_file_is_known_by_what_modinfo_says() {
        let file = File::parse(SIGNED).unwrap();
        assert_eq!(
            file.path,
            "/lib/modules/7.3.4/updates/dkms/amd_gpreempt.ko.xz"
        );
        assert_eq!(file.serial, Some(vec![0x52, 0x3f, 0x0a]));
        let unsigned = File::parse("filename:  /a.ko\nname:  amd_gpreempt\n").unwrap();
        assert_eq!(unsigned.serial, None);
        assert_eq!(File::parse(""), None, "there is no such module");
        let odd = File::parse("filename: /a.ko\nsig_key: 5G:\n").unwrap();
        assert_eq!(odd.serial, None);
        let (_directory, host) = host();
        assert_eq!(File::of_module(&host, "7.3.4"), None);
    }

    #[test]
    fn a_file_is_refused_that_nobody_or_somebody_unknown_has_signed() {
        let (_directory, host) = host();
        let file = File::parse(SIGNED).unwrap();
        let unsigned = File::parse("filename: /a.ko\n").unwrap();
        assert_eq!(file.fault(&host), Some(Fault::Unknown), "no certificates");
        for (place, bytes, fault) in [
            (
                CERTIFICATE,
                &b"\x02\x03\x52\x3f\x0b."[..],
                Some(Fault::Unknown),
            ),
            (
                CERTIFICATE,
                b".\x02\x04\x52\x3f\x0a\x00",
                Some(Fault::Unknown),
            ),
            (CERTIFICATE, b".\x02\x03\x52\x3f\x0a.", None),
            (CERTIFICATE, b"", Some(Fault::Unknown)),
        ] {
            fs::write(host.path(place), bytes).unwrap();
            assert_eq!(file.fault(&host), fault, "{bytes:?}");
            assert_eq!(unsigned.fault(&host), Some(Fault::Unsigned), "{bytes:?}");
        }
        set(&host, LIST, b"..\x02\x03\x52\x3f\x0a.");
        assert_eq!(file.fault(&host), None, "the firmware has another key");
    }
}
