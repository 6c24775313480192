// SPDX-License-Identifier: GPL-2.0-only
//! Small trees on which tests break the rules.

use std::fs;
use std::ops::Deref;

use tempfile::TempDir;

use crate::breach::Breach;
use crate::tree::Tree;

/// A tree that goes when the test ends.
pub struct Fixture {
    tree: Tree,
    _folder: TempDir,
}

impl Deref for Fixture {
    type Target = Tree;

    fn deref(&self) -> &Tree {
        &self.tree
    }
}

/// Writes files, each a path and its text, and opens them as a tree.
pub fn tree(files: &[(&str, &str)]) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let place = folder.path().join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }
    Fixture {
        tree: Tree::open(folder.path()).unwrap(),
        _folder: folder,
    }
}

/// Where breaches are: `FILE:LINE RULE`.
pub fn places(breaches: &[Breach]) -> Vec<String> {
    let mut places: Vec<String> = breaches
        .iter()
        .map(|breach| format!("{}:{} {}", breach.file, breach.line, breach.rule))
        .collect();
    places.sort();
    places
}
