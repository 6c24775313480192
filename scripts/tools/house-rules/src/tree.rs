// SPDX-License-Identifier: GPL-2.0-only
//! The files of the source tree, without what a build left there.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// What a file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Rust,
    C,
    Assembly,
    Shell,
    Python,
    Make,
    /// A configuration that is source: a manifest, the description for DKMS.
    Manifest,
    Markdown,
    /// A manual page.
    Manual,
    /// Anything else: data, texts of licences, results.
    Other,
}

impl Kind {
    /// Whether somebody wrote it to be run or built.
    pub fn is_code(self) -> bool {
        !matches!(self, Kind::Markdown | Kind::Manual | Kind::Other)
    }
}

/// A file, by its path from the top of the tree.
#[derive(Clone, Debug)]
pub struct File {
    pub path: String,
    pub kind: Kind,
}

/// The source tree.
pub struct Tree {
    root: PathBuf,
    files: Vec<File>,
}

impl Tree {
    /// Finds the files below `root`.
    pub fn open(root: &Path) -> Result<Tree> {
        let mut tree = Tree {
            root: root.to_owned(),
            files: Vec::new(),
        };
        tree.walk("")?;
        tree.files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(tree)
    }

    fn walk(&mut self, folder: &str) -> Result<()> {
        let place = self.root.join(folder);
        let entries =
            fs::read_dir(&place).with_context(|| format!("cannot read {}", place.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_product(&name) {
                continue;
            }
            let path = if folder.is_empty() {
                name
            } else {
                format!("{folder}/{name}")
            };
            let found = entry.file_type()?;
            if found.is_dir() {
                self.walk(&path)?;
            } else if found.is_file() {
                let kind = self.kind(&path);
                self.files.push(File { path, kind });
            }
        }
        Ok(())
    }

    fn kind(&self, path: &str) -> Kind {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name {
            "Kbuild" | "Makefile" => return Kind::Make,
            "Cargo.toml" | "dkms.conf" => return Kind::Manifest,
            _ => {}
        }
        match name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("rs") => Kind::Rust,
            Some("c" | "h") => Kind::C,
            Some("s" | "S") => Kind::Assembly,
            Some("sh") => Kind::Shell,
            Some("py") => Kind::Python,
            Some("mk") => Kind::Make,
            Some("md") => Kind::Markdown,
            Some(section) if path.starts_with("docs/man/") && section.parse::<u8>().is_ok() => {
                Kind::Manual
            }
            Some(_) => Kind::Other,
            None => self.kind_of_command(path),
        }
    }

    /// Commands have no ending: their first line says what they are.
    fn kind_of_command(&self, path: &str) -> Kind {
        let text = self.text(path).unwrap_or_default();
        let first = text.lines().next().unwrap_or("");
        let Some(program) = first.strip_prefix("#!") else {
            return Kind::Other;
        };
        if program.contains("python") {
            Kind::Python
        } else if program.contains("make") {
            Kind::Make
        } else if program.ends_with("sh") {
            Kind::Shell
        } else {
            Kind::Other
        }
    }

    /// All files, by their paths.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    /// The files below any of some folders.
    pub fn below<'a>(&'a self, folders: &'a [&'a str]) -> impl Iterator<Item = &'a File> {
        self.files
            .iter()
            .filter(|file| is_below(&file.path, folders))
    }

    /// Whether there is a file or folder of this path.
    pub fn has(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// The text of a file; what is not UTF-8 in it is replaced.
    pub fn text(&self, path: &str) -> Result<String> {
        let bytes =
            fs::read(self.root.join(path)).with_context(|| format!("cannot read {path}"))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Whether a path is in one of some folders.
pub fn is_below(path: &str, folders: &[&str]) -> bool {
    folders.iter().any(|folder| {
        path.strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
    })
}

/// Whether git keeps it to itself, or a build makes it.
fn is_product(name: &str) -> bool {
    const ENDINGS: [&str; 7] = [".o", ".ko", ".rmeta", ".cmd", ".mod", ".mod.c", ".d"];
    name == ".git"
        || name == "target"
        || name.starts_with("generated")
        || name.starts_with(".tmp_")
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    #[test]
    fn files_are_known_by_their_endings_and_first_lines() {
        let fixture = tree(&[
            ("rust/a.rs", ""),
            ("scripts/run", "#!/bin/bash\n"),
            ("scripts/show", "#!/usr/bin/env python3\n"),
            ("scripts/rules", "#!/usr/bin/make -f\n"),
            ("scripts/names", "one\ntwo\n"),
            ("docs/man/a.4", ""),
            ("docs/a.md", ""),
            ("Kbuild", ""),
        ]);
        let kinds: Vec<(&str, Kind)> = fixture
            .files()
            .map(|file| (file.path.as_str(), file.kind))
            .collect();
        assert_eq!(
            kinds,
            [
                ("Kbuild", Kind::Make),
                ("docs/a.md", Kind::Markdown),
                ("docs/man/a.4", Kind::Manual),
                ("rust/a.rs", Kind::Rust),
                ("scripts/names", Kind::Other),
                ("scripts/rules", Kind::Make),
                ("scripts/run", Kind::Shell),
                ("scripts/show", Kind::Python),
            ]
        );
    }

    #[test]
    fn what_a_build_made_is_left_out() {
        let fixture = tree(&[
            ("bindings/generated_layout.h", ""),
            ("tests/target/debug/a.rs", ""),
            ("src/a.o", ""),
            ("src/a.rs", ""),
        ]);
        assert_eq!(fixture.files().count(), 1);
    }

    #[test]
    fn a_folder_is_no_prefix_of_another_name() {
        assert!(is_below("src/a.rs", &["rust", "src"]));
        assert!(!is_below("srcs/a.rs", &["src"]));
    }
}
