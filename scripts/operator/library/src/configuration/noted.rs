// SPDX-License-Identifier: GPL-2.0-only
//! What was applied, where it has names, and the rules of the kernel that stand for
//! them.
//!
//! It is noted so that only that is followed, and not a file that somebody is still
//! writing, and so that no rule is deleted that somebody has typed. It holds for the
//! module that is loaded, and not for one that is loaded later.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::configuration::config::{Config, Wrong};
use crate::configuration::file_text;
use crate::host::file::{remove, replace};
use crate::host::tree::{cannot, Host, Refusal, MODULE};
use crate::words::rule::Subject;

/// The configuration that was applied, where it has names; without the first slash.
pub const APPLIED: &str = "run/amd-gpreempt/applied.toml";
/// The rules of the kernel that stand for its names.
const GIVEN: &str = "run/amd-gpreempt/given.json";

/// Rules of the kernel that were added for names, as they are written.
pub type Given = BTreeSet<String>;

#[derive(Deserialize, Serialize)]
struct Noted {
    /// What the kernel calls the folder of the module, which is another one each time
    /// that it is loaded.
    module: u64,
    rules: Given,
}

/// Notes what was applied, if there is something in it to be followed. Where that
/// fails, nothing is followed.
pub fn note(host: &Host, config: &Config, given: &Given) -> Result<(), Refusal> {
    let path = host.path(APPLIED);
    remove(&path)?;
    let is_named = |subject: &Subject| matches!(subject, Subject::Named(_));
    if !config.rules.iter().any(|rule| is_named(&rule.subject)) {
        return remove(&host.path(GIVEN));
    }
    note_given(host, given)?;
    replace(&path, &file_text::toml(config), 0o600)
}

/// What was applied, if there is something in it to be followed.
pub fn applied(host: &Host) -> Result<Config, Refusal> {
    let path = host.path(APPLIED);
    if !path.exists() || noted(host)?.is_none() {
        return Ok(Config::new());
    }
    Config::read(&path).map_err(|wrong| match wrong {
        Wrong::Unreadable(refusal) => refusal,
        Wrong::Faults(_) => not_as_written(&path),
    })
}

/// The rules that were added for what was applied.
pub fn given(host: &Host) -> Result<Given, Refusal> {
    Ok(noted(host)?.map(|noted| noted.rules).unwrap_or_default())
}

pub fn note_given(host: &Host, given: &Given) -> Result<(), Refusal> {
    let noted = Noted {
        module: module(host)?,
        rules: given.clone(),
    };
    let text = serde_json::to_string(&noted).map_err(|error| Refusal(error.to_string()))?;
    replace(&host.path(GIVEN), &text, 0o600)
}

/// What was noted for the module that is loaded.
fn noted(host: &Host) -> Result<Option<Noted>, Refusal> {
    let path = host.path(GIVEN);
    if !path.exists() || !host.has_module() {
        return Ok(None);
    }
    let bytes = fs::read(&path).map_err(|error| cannot("read", &path, &error))?;
    let noted: Noted = serde_json::from_slice(&bytes).map_err(|_| not_as_written(&path))?;
    Ok((noted.module == module(host)?).then_some(noted))
}

fn module(host: &Host) -> Result<u64, Refusal> {
    let path = host.path("sys/module").join(MODULE);
    let data = fs::metadata(&path).map_err(|error| cannot("look at", &path, &error))?;
    Ok(data.ino())
}

fn not_as_written(path: &Path) -> Refusal {
    Refusal(format!(
        "{} is not as it was written: run 'gpreempt apply'",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new() -> (Tree, Host) {
            let tree = Tree(tempfile::tempdir().unwrap());
            let host = Host::new(tree.0.path());
            fs::create_dir_all(host.path("sys/module/amd_gpreempt")).unwrap();
            (tree, host)
        }
    }

    fn named() -> Config {
        Config::parse("[[rule]]\nid = 1\nuser = \"7\"\nprio = 3\n").unwrap()
    }

    #[test]
    fn what_was_noted_is_for_the_module_that_was_loaded() {
        let (_tree, host) = Tree::new();
        let own = Given::from(["1 cgroup=/a prio=3".to_owned()]);
        note(&host, &named(), &own).unwrap();
        assert_eq!(applied(&host).unwrap().rules, named().rules);
        assert_eq!(given(&host).unwrap(), own);
        // The old folder stays, so that the new one cannot have its number.
        let folder = host.path("sys/module");
        fs::rename(folder.join(MODULE), folder.join("other")).unwrap();
        assert_eq!(given(&host).unwrap(), Given::new());
        fs::create_dir(folder.join(MODULE)).unwrap();
        assert_eq!(applied(&host).unwrap().rules, []);
        assert_eq!(given(&host).unwrap(), Given::new());
    }

    #[test]
    fn what_cannot_be_noted_is_not_followed_and_neither_is_what_was_before() {
        let (_tree, host) = Tree::new();
        note(&host, &named(), &Given::new()).unwrap();
        fs::remove_file(host.path(GIVEN)).unwrap();
        fs::create_dir(host.path(GIVEN)).unwrap();
        assert!(note(&host, &named(), &Given::new()).is_err());
        fs::remove_dir(host.path(GIVEN)).unwrap();
        note_given(&host, &Given::new()).unwrap();
        assert_eq!(applied(&host).unwrap().rules, []);
    }

    #[test]
    fn a_note_that_is_broken_is_said_and_goes_with_the_names() {
        let (_tree, host) = Tree::new();
        note(&host, &named(), &Given::new()).unwrap();
        for file in [APPLIED, GIVEN] {
            fs::write(host.path(file), "broken").unwrap();
            let refusal = applied(&host).map(|_| ()).unwrap_err().to_string();
            assert!(refusal.contains("is not as it was written"), "{refusal}");
        }
        note(&host, &Config::new(), &Given::new()).unwrap();
        assert!(!host.path(APPLIED).exists() && !host.path(GIVEN).exists());
    }
}
