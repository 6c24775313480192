// SPDX-License-Identifier: GPL-2.0-only
//! That one file alone knows the version.

use anyhow::{Context, Result};

use crate::breach::Breach;
use crate::house::{LICENCE_TEXTS, VERSION_FILE, VERSION_LINE, VERSION_READERS};
use crate::tree::{is_below, Kind, Tree};

/// Places where the version stands a second time.
pub fn check(tree: &Tree) -> Result<Vec<Breach>> {
    let version = version(&tree.text(VERSION_FILE)?)?;
    let mut breaches = Vec::new();
    for file in tree.files().filter(|file| is_text(&file.path, file.kind)) {
        for (at, line) in tree.text(&file.path)?.lines().enumerate() {
            let own = file.path == VERSION_FILE && line.starts_with(VERSION_LINE);
            if !own && names(line, &version) {
                let what = format!(
                    "version {version} stands here and in {VERSION_FILE}: take it from there, or \
                     leave it out"
                );
                breaches.push(Breach::new(&file.path, at + 1, "version", what));
            }
        }
    }
    Ok(breaches)
}

fn version(text: &str) -> Result<String> {
    text.lines()
        .find_map(|line| line.strip_prefix(VERSION_LINE))
        .map(|value| value.trim_matches('"').to_owned())
        .with_context(|| format!("{VERSION_FILE} has no line {VERSION_LINE}"))
}

/// Whether a file is one in which the version would be said again: code, and
/// documents other than those that tell of releases.
fn is_text(path: &str, kind: Kind) -> bool {
    (kind != Kind::Other || is_below(path, &["docs/ABI", "scripts"]))
        && !VERSION_READERS.contains(&path)
        && !is_below(path, &[LICENCE_TEXTS])
}

/// Whether a line has the version, and not as part of another number.
fn names(line: &str, version: &str) -> bool {
    line.match_indices(version).any(|(at, _)| {
        let after = &line[at + version.len()..];
        // A full stop may end a sentence.
        let after = after.strip_prefix('.').unwrap_or(after);
        !line[..at].ends_with(|c: char| c.is_ascii_digit() || c == '.')
            && !after.starts_with(|c: char| c.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{places, tree};

    const DKMS: (&str, &str) = (
        "dkms.conf",
        "PACKAGE_NAME=\"a\"\nPACKAGE_VERSION=\"9.8.7\"\n",
    );

    #[test]
    fn a_second_version_is_named() {
        let found = check(&tree(&[
            DKMS,
            ("bindings/a.c", "\nMODULE_VERSION(\"9.8.7\");\n"),
            ("tests/Cargo.toml", "version = \"9.8.7\"\n"),
            ("README.md", "This is version 9.8.7.\n"),
        ]));
        assert_eq!(
            places(&found.unwrap()),
            [
                "README.md:1 version",
                "bindings/a.c:2 version",
                "tests/Cargo.toml:1 version"
            ]
        );
    }

    #[test]
    fn other_numbers_and_the_history_are_not_it() {
        let found = check(&tree(&[
            DKMS,
            ("docs/CHANGELOG.md", "## 9.8.7\n"),
            ("tests/Cargo.lock", "version = \"9.8.7\"\n"),
            ("src/a.rs", "// 19.8.7 and 9.8.71 and 9.8.7.2\n"),
        ]));
        assert_eq!(found.unwrap(), []);
    }
}
