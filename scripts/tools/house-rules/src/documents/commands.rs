// SPDX-License-Identifier: GPL-2.0-only
//! Targets of make and packages of cargo that documents name.

use std::collections::BTreeSet;

use anyhow::Result;

use super::page::Page;
use crate::breach::Breach;
use crate::tree::Tree;

/// Commands that name a target or a package that is not there.
pub fn check(tree: &Tree, pages: &[Page]) -> Result<Vec<Breach>> {
    let targets = targets(tree)?;
    let packages = packages(tree)?;
    let mut breaches = Vec::new();
    for page in pages {
        for code in &page.code {
            let words: Vec<&str> = code.text.split_whitespace().collect();
            for target in named_targets(&words).filter(|target| !targets.contains(*target)) {
                let what = format!("the Makefile has no target '{target}'");
                breaches.push(Breach::new(&page.path, code.line, "commands", what));
            }
            for package in named_packages(&words).filter(|package| !packages.contains(*package)) {
                let what = format!("there is no package '{package}'");
                breaches.push(Breach::new(&page.path, code.line, "commands", what));
            }
        }
    }
    Ok(breaches)
}

fn targets(tree: &Tree) -> Result<BTreeSet<String>> {
    if !tree.has("Makefile") {
        return Ok(BTreeSet::new());
    }
    let text = tree.text("Makefile")?;
    let rules = text
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    let names = rules.filter_map(|line| line.split_once(':'));
    // `name := value` is no rule.
    let names = names.filter(|(_, rest)| !rest.starts_with('='));
    Ok(names
        .flat_map(|(names, _)| names.split_whitespace().map(str::to_owned))
        .collect())
}

fn packages(tree: &Tree) -> Result<BTreeSet<String>> {
    let mut packages = BTreeSet::new();
    for file in tree
        .files()
        .filter(|file| file.path.ends_with("Cargo.toml"))
    {
        let text = tree.text(&file.path)?;
        let name = text.lines().find_map(|line| line.strip_prefix("name = "));
        packages.extend(name.map(|name| name.trim_matches('"').to_owned()));
    }
    Ok(packages)
}

/// What is made in the words of a command line: a word after each `make`.
fn named_targets<'a>(words: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let makes = words
        .iter()
        .enumerate()
        .filter(|(_, word)| **word == "make");
    makes.filter_map(|(at, _)| {
        let arguments = words[at + 1..].iter();
        let target = arguments
            .copied()
            .find(|word| !word.contains('=') && !word.starts_with('-'))?;
        let target = target.trim_end_matches([',', ';', ':', '.', ')']);
        (!target.is_empty() && target.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
            .then_some(target)
    })
}

fn named_packages<'a>(words: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let is_cargo = words.contains(&"cargo");
    words
        .windows(2)
        .filter(move |pair| is_cargo && matches!(pair[0], "-p" | "--package"))
        .map(|pair| pair[1])
        .filter(|name| name.contains(|c: char| c.is_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use crate::documents;
    use crate::testing::{places, tree};

    const MAKEFILE: (&str, &str) = ("Makefile", "A := b\nshort := 1\none two: three\n\techo\n");

    #[test]
    fn targets_and_packages_exist() {
        let text = "`make one KDIR=x`, `sudo make two`, `make KDIR=x one`, `make TARGET`, make three\n\n    \
            make one    # or: make two, slower\n    cargo test -p model\n";
        let files = [
            MAKEFILE,
            ("a.md", text),
            ("tests/Cargo.toml", "[package]\nname = \"model\"\n"),
        ];
        assert_eq!(documents::check(&tree(&files)).unwrap(), []);
        let bad = "`make three`\n`cargo run -p model -- x`\n`make short`\n";
        let found = documents::check(&tree(&[MAKEFILE, ("a.md", bad)])).unwrap();
        assert_eq!(
            places(&found),
            ["a.md:1 commands", "a.md:2 commands", "a.md:3 commands"]
        );
    }
}
