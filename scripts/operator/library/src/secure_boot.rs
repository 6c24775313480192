// SPDX-License-Identifier: GPL-2.0-only
//! Whether the firmware lets modules load that DKMS has signed.

use std::fs;

use crate::host::Host;

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
    let entries = fs::read_dir(variables).into_iter().flatten().flatten();
    let mut lists = entries.filter(|entry| {
        let name = entry.file_name();
        KEYS.iter()
            .any(|key| name.to_string_lossy().starts_with(key))
    });
    let trusted = lists.any(|entry| {
        let list = fs::read(entry.path()).unwrap_or_default();
        list.windows(certificate.len())
            .any(|part| part == certificate)
    });
    Some(match trusted {
        true => Key::Trusted,
        false => Key::Unknown,
    })
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
}
