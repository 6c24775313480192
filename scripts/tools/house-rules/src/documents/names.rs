// SPDX-License-Identifier: GPL-2.0-only
//! Types and functions that documents name as `Type::function`.

use anyhow::Result;

use super::page::Page;
use crate::breach::Breach;
use crate::house::EXAMPLES;
use crate::tree::{Kind, Tree};

/// Paths whose names no source has together.
pub fn check(tree: &Tree, pages: &[Page]) -> Result<Vec<Breach>> {
    let mut unknown = Vec::new();
    for page in pages {
        for code in &page.code {
            unknown.extend(names(&code.text).map(|names| (page, code, names)));
        }
    }
    for file in tree.files().filter(|file| file.kind == Kind::Rust) {
        let text = tree.text(&file.path)?;
        unknown.retain(|(_, _, names)| !names.iter().all(|name| has_word(&text, name)));
    }
    let breaches = unknown.into_iter().map(|(page, code, _)| {
        let what = format!("no source has '{}': name what is there", code.text);
        Breach::new(&page.path, code.line, "names", what)
    });
    Ok(breaches.collect())
}

fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part)
    })
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The parts of a path that begins with a type of ours.
fn names(text: &str) -> Option<Vec<&str>> {
    let path = text.trim_end_matches("()");
    let names: Vec<&str> = path.split("::").collect();
    let is_path = names.len() > 1
        && !EXAMPLES.contains(&text)
        && path.starts_with(|c: char| c.is_ascii_uppercase())
        && names
            .iter()
            .all(|name| !name.is_empty() && name.chars().all(is_part));
    is_path.then_some(names)
}

#[cfg(test)]
mod tests {
    use crate::documents;
    use crate::testing::{places, tree};

    #[test]
    fn named_functions_exist() {
        let text = "`Node::lock`, `Node::lock()`, `core::ptr`, `a: B::c`\n`Node::unlock`\n";
        let files = [
            ("a.md", text),
            ("src/a.rs", "impl Node { fn lock() {} }"),
            ("src/b.rs", "fn unlock() {}"),
        ];
        let found = documents::check(&tree(&files)).unwrap();
        assert_eq!(places(&found), ["a.md:2 names"]);
    }
}
