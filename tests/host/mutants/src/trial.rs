// SPDX-License-Identifier: GPL-2.0-only
//! The tree in which the policy is compiled with every change, beside its tests.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use quote::ToTokens;
use syn::parse_quote;

use crate::change::Change;
use crate::writer::Writer;

/// Where the policy is.
const POLICY: &str = "rust/policy";

/// Where its tests are.
pub const TESTS: &str = "tests/host/policy";

/// The file in which the crate begins.
const ROOT: &str = "gpreempt_policy.rs";

/// The workspace of the policy and its tests alone.
const WORKSPACE: &str = r#"[workspace]
resolver = "2"
members = ["rust/policy", "tests/host/policy"]
[workspace.package]
edition = "2021"
rust-version = "1.85"
license = "GPL-2.0-only"
publish = false
[profile.dev]
debug = 0
opt-level = 1
"#;

/// Every change of the policy of a project.
///
/// # Errors
///
/// A file that cannot be read or understood.
pub fn changes(project: &Path) -> Result<Vec<Change>> {
    let mut writer = Writer::default();
    walk(&project.join(POLICY), "", &mut |name, path| {
        let text = fs::read_to_string(path)?;
        writer.write(name, &text).map(drop)
    })?;
    Ok(writer.into_changes())
}

/// Lays out the changed policy and its tests anew.
///
/// # Errors
///
/// A file that cannot be read, understood or written.
pub fn lay_out(project: &Path, trial: &Path) -> Result<Vec<Change>> {
    for folder in [POLICY, TESTS] {
        let place = trial.join(folder);
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        copy(&project.join(folder), &place)?;
    }
    // A unit test compares its table with the document.
    copy(&project.join("docs"), &trial.join("docs"))?;
    fs::write(trial.join("Cargo.toml"), WORKSPACE)?;
    fs::copy(project.join("tests/Cargo.lock"), trial.join("Cargo.lock"))?;
    let mut writer = Writer::default();
    walk(&trial.join(POLICY), "", &mut |name, path| {
        let mut file = writer.write(name, &fs::read_to_string(path)?)?;
        if name == ROOT {
            add_alarm(&mut file);
        }
        Ok(fs::write(path, file.to_token_stream().to_string())?)
    })?;
    Ok(writer.into_changes())
}

/// Goes through the Rust files of a folder in the order of their names.
fn walk(folder: &Path, below: &str, meet: &mut dyn FnMut(&str, &Path) -> Result<()>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))?;
    let mut entries = entries.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        if path.is_dir() {
            walk(&path, &format!("{name}/"), meet)?;
        } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") {
            // What is in such a file is compiled for tests alone.
            meet(&name, &path).with_context(|| format!("cannot change {}", path.display()))?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("no {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Adds what knows which change is awake; for this the crate needs `std`.
fn add_alarm(file: &mut syn::File) {
    file.attrs
        .retain(|attribute| !attribute.to_token_stream().to_string().contains("no_std"));
    file.attrs.push(parse_quote!(#![allow(warnings)]));
    file.items.push(parse_quote!(
        mod mutant {
            use std::sync::OnceLock;
            static AWAKE: OnceLock<u32> = OnceLock::new();
            #[inline(always)]
            pub(crate) fn is(number: u32) -> bool {
                let read = || {
                    let set = std::env::var("GP_MUTANT").ok();
                    set.and_then(|text| text.parse().ok()).unwrap_or(0)
                };
                *AWAKE.get_or_init(read) == number
            }
        }
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_changed_in_the_order_of_their_names() {
        let project = tempfile::tempdir().expect("a folder");
        for (path, text) in [
            ("rust/policy/b.rs", "fn f() -> bool { a }"),
            ("rust/policy/a/c.rs", "fn f() -> bool { a }"),
            ("rust/policy/a/c.txt", "no Rust"),
            ("rust/policy/a/tests.rs", "fn f() -> bool { a }"),
            ("rust/policy/gpreempt_policy.rs", "#![no_std] fn f() { a }"),
            ("tests/host/policy/a.rs", ""),
            ("tests/Cargo.lock", ""),
            ("docs/a.md", ""),
        ] {
            let place = project.path().join(path);
            fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
            fs::write(place, text).expect("a file");
        }
        let trial = project.path().join("trial");
        let made = lay_out(project.path(), &trial).expect("a trial");
        let names: Vec<&str> = made.iter().map(|change| change.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "a/c.rs f: returns true",
                "a/c.rs f: returns false",
                "b.rs f: returns true",
                "b.rs f: returns false",
                "gpreempt_policy.rs f: returns ()",
            ]
        );
        assert_eq!(changes(project.path()).expect("changes"), made);
        let root = fs::read_to_string(trial.join("rust/policy/gpreempt_policy.rs"));
        let root = root.expect("the root");
        assert!(
            root.contains("mod mutant") && !root.contains("no_std"),
            "{root}"
        );
        // The trial is laid out anew each time.
        assert_eq!(lay_out(project.path(), &trial).expect("a trial"), made);
    }
}
