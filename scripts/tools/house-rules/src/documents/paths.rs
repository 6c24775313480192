// SPDX-License-Identifier: GPL-2.0-only
//! Paths of this tree that documents name and that are not there.

use super::page::{Code, Page, Place};
use super::pattern::{fits, generalised};
use crate::breach::Breach;
use crate::house::{EXAMPLES, SHORT_FORMS, TOP_FOLDERS};
use crate::tree::Tree;

/// Files and folders named in code that the tree does not have.
pub fn check(tree: &Tree, pages: &[Page]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for page in pages {
        for code in &page.code {
            for path in paths(code).filter(|path| !exists(tree, path)) {
                let what = format!("'{path}' is not there: name what is, from the top of the tree");
                breaches.push(Breach::new(&page.path, code.line, "paths", what));
            }
        }
    }
    breaches
}

/// The words of a piece of code that can only be paths of this tree.
fn paths(code: &Code) -> impl Iterator<Item = String> + '_ {
    let is_alone = code.place == Place::Sentence && !code.text.contains(' ');
    code.text
        .split(|c: char| c.is_whitespace() || "=,;'\"()".contains(c))
        .map(|word| word.trim_start_matches("./").trim_end_matches(['.', ':']))
        .filter_map(move |word| match word.split_once('/') {
            Some((first, _)) if TOP_FOLDERS.contains(&first) => Some(word.to_owned()),
            Some((first, rest)) if rest.ends_with(".rs") => SHORT_FORMS
                .iter()
                .find(|(short, _)| *short == first)
                .map(|(_, long)| format!("{long}/{rest}")),
            None if is_alone && is_name(word) => Some(word.to_owned()),
            _ => None,
        })
}

/// Whether a word is the name of a file of ours: of sources and documents, since
/// those of C may be the kernel's.
fn is_name(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty() && !stem.contains('*') && matches!(ending, "rs" | "md")
    })
}

fn exists(tree: &Tree, path: &str) -> bool {
    if EXAMPLES.contains(&path) {
        return true;
    }
    let path = path.trim_end_matches('/');
    if !path.contains('/') && is_name(path) {
        return tree
            .files()
            .any(|file| file.path.rsplit('/').next() == Some(path));
    }
    if tree.has(path) {
        return true;
    }
    let pattern = generalised(path);
    let parts: Vec<&str> = pattern.split('/').collect();
    pattern.contains('*')
        && tree.files().any(|file| {
            let names: Vec<&str> = file.path.split('/').collect();
            names.len() >= parts.len()
                && parts
                    .iter()
                    .zip(&names)
                    .all(|(part, name)| fits(part, name))
        })
}

#[cfg(test)]
mod tests {
    use crate::documents;
    use crate::testing::{places, tree};

    #[test]
    fn paths_of_this_tree_exist() {
        let text = "`src/a.rs`, `rust/`, `kfd/act/b.rs`, `b.rs`, `scripts/NAME`, `src/*.rs`, `kfd/hqds`,\n\
            `amdgpu_xcp.c`, `/usr/src/x.rs`\n\n    scripts/run --path src/a.rs\n";
        let files = [
            ("docs/a.md", text),
            ("src/a.rs", ""),
            ("rust/kfd/act/b.rs", ""),
            ("scripts/run", ""),
        ];
        assert_eq!(documents::check(&tree(&files)).unwrap(), []);
        let bad = "`src/a.rs`\n`kfd/act/b.rs`\n`c.rs`\n`tests/*.rs`\n\n    nice scripts/run\n";
        let found = documents::check(&tree(&[("README.md", bad)])).unwrap();
        assert_eq!(
            places(&found),
            [1, 2, 3, 4, 6].map(|line| format!("README.md:{line} paths"))
        );
        assert!(found
            .iter()
            .any(|breach| breach.what.contains("'rust/kfd/act/b.rs'")));
    }
}
