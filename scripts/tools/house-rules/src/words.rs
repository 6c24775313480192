// SPDX-License-Identifier: GPL-2.0-only
//! That words which said less than they should do not come back.

use anyhow::Result;

use crate::breach::Breach;
use crate::house::{OLD_WORDS, WORDED};
use crate::tree::{is_below, Kind, Tree};

/// Lines of the product with a word that another one has replaced.
pub fn check(tree: &Tree) -> Result<Vec<Breach>> {
    let mut breaches = Vec::new();
    for file in tree.files().filter(|file| is_worded(&file.path, file.kind)) {
        for (at, line) in tree.text(&file.path)?.lines().enumerate() {
            for (old, instead) in OLD_WORDS {
                if words(line).any(|word| word == *old) {
                    let what = format!("'{old}' was replaced: {instead}");
                    breaches.push(Breach::new(&file.path, at + 1, "words", what));
                }
            }
        }
    }
    Ok(breaches)
}

fn is_worded(path: &str, kind: Kind) -> bool {
    matches!(kind, Kind::Rust | Kind::C) && is_below(path, WORDED)
}

/// The words of a line, with those that a name is made of.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{places, tree};

    #[test]
    fn old_words_are_named_wherever_they_stand_in_a_line() {
        let found = check(&tree(&[
            ("src/a.rs", "// Here.\nstruct Keeper;\nlet seat = 1;\n"),
            ("rust/a/b.rs", "/// The Engine.\nfn at_seat() {}\n"),
            ("bindings/a.c", "int tempo;\n"),
        ]));
        assert_eq!(
            places(&found.unwrap()),
            [
                "bindings/a.c:1 words",
                "rust/a/b.rs:1 words",
                "rust/a/b.rs:2 words",
                "src/a.rs:2 words",
                "src/a.rs:3 words"
            ]
        );
    }

    #[test]
    fn parts_of_words_and_other_files_are_not_meant() {
        let found = check(&tree(&[
            ("src/a.rs", "// Housekeepers, seats, engines.\n"),
            ("tests/a.rs", "struct Engine;\n"),
            ("docs/a.md", "An Engine.\n"),
        ]));
        assert_eq!(found.unwrap(), []);
    }
}
