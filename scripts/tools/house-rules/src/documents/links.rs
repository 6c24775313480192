// SPDX-License-Identifier: GPL-2.0-only
//! Links within the tree that lead nowhere.

use super::page::{Link, Page};
use crate::breach::Breach;
use crate::tree::Tree;

/// Links to files and headings that are not there.
pub fn check(tree: &Tree, pages: &[Page]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for page in pages {
        for link in &page.links {
            if let Some(what) = lost(tree, pages, page, link) {
                breaches.push(Breach::new(&page.path, link.line, "links", what));
            }
        }
    }
    breaches
}

fn lost(tree: &Tree, pages: &[Page], page: &Page, link: &Link) -> Option<String> {
    if link.target.contains("://") || link.target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = match link.target.split_once('#') {
        Some((file, anchor)) => (file, Some(anchor)),
        None => (link.target.as_str(), None),
    };
    let path = if file.is_empty() {
        page.path.clone()
    } else {
        resolve(&page.path, file)
    };
    if !tree.has(&path) {
        return Some(format!(
            "'{}' leads to {path}, which is not there",
            link.target
        ));
    }
    let anchor = anchor?;
    let target = pages.iter().find(|page| page.path == path);
    if target.is_some_and(|target| target.anchors.contains(anchor)) {
        return None;
    }
    let known: Vec<&str> = target
        .into_iter()
        .flat_map(|target| target.anchors.iter().map(String::as_str))
        .collect();
    Some(format!(
        "'{}' leads to a heading that {path} does not have; it has: {}",
        link.target,
        known.join(", ")
    ))
}

/// A path relative to a file, from the top of the tree.
fn resolve(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use crate::documents;
    use crate::testing::{places, tree};

    #[test]
    fn a_link_leads_to_a_file_and_a_heading() {
        let text = "[a](../src/a.rs) [b](b.md#the-one) [c](#here) [d](https://x.y/z) [e](../docs)\n\n# Here\n";
        let good = [
            ("docs/a.md", text),
            ("docs/b.md", "## The one\n"),
            ("src/a.rs", ""),
        ];
        assert_eq!(documents::check(&tree(&good)).unwrap(), []);
        let bad = "[a](b.md)\n![b](c.svg)\n[c](#there)\n";
        let found = documents::check(&tree(&[("docs/a.md", bad)])).unwrap();
        assert_eq!(
            places(&found),
            [
                "docs/a.md:1 links",
                "docs/a.md:2 links",
                "docs/a.md:3 links"
            ]
        );
    }
}
