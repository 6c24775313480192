// SPDX-License-Identifier: GPL-2.0-only
//! Parameters that documents name, by themselves or with a value.

use std::collections::BTreeSet;

use anyhow::Result;

use super::literals;
use super::page::{Page, Place};
use crate::breach::Breach;
use crate::house::{
    ABI_FOLDER, FOREIGN_SETTINGS, GONE_TABLE, PARAMETER_TABLE, RECORD_FOLDERS, RULE_WORDS,
};
use crate::tree::{is_below, Tree};

/// Endings by which a word is known to be a parameter or a value with a unit.
const UNITS: [&str; 3] = ["_us", "_ms", "_per_s"];

/// Settings that neither the module nor anybody else has.
pub fn check(tree: &Tree, pages: &[Page]) -> Result<Vec<Breach>> {
    let today = known(tree)?;
    let gone = names_in(tree, &[GONE_TABLE])?;
    let ever: BTreeSet<String> = today.union(&gone).cloned().collect();
    let mut breaches = Vec::new();
    let mut report = |page: &Page, line, name: &str| {
        let what = format!(
            "there is no parameter '{name}' in {PARAMETER_TABLE}; what others have is listed in \
             scripts/tools/house-rules/src/house.rs"
        );
        breaches.push(Breach::new(&page.path, line, "parameters", what));
    };
    for page in pages {
        let known = match is_below(&page.path, RECORD_FOLDERS) {
            true => &ever,
            false => &today,
        };
        for code in &page.code {
            let is_alone = code.place == Place::Sentence;
            for name in names(&code.text, is_alone).filter(|name| !known.contains(*name)) {
                report(page, code.line, name);
            }
        }
        for cell in page.cells.iter().filter(|cell| cell.head == "parameter") {
            let names = cell.code.iter().filter(|name| is_name(name));
            for name in names.filter(|name| !known.contains(*name)) {
                report(page, cell.line, name);
            }
        }
    }
    Ok(breaches)
}

fn known(tree: &Tree) -> Result<BTreeSet<String>> {
    let mut known: BTreeSet<String> = FOREIGN_SETTINGS
        .iter()
        .map(|name| (*name).to_owned())
        .collect();
    known.extend(names_in(tree, &[PARAMETER_TABLE, RULE_WORDS])?);
    // Values in the tables have units too.
    for file in tree
        .files()
        .filter(|file| is_below(&file.path, &[ABI_FOLDER]))
    {
        let text = tree.text(&file.path)?;
        let words = text.split(|c: char| c != '_' && !c.is_alphanumeric());
        known.extend(words.filter(|word| is_name(word)).map(str::to_owned));
    }
    Ok(known)
}

/// What is in quotation marks in Rust files and may be a name, or one before its value.
fn names_in(tree: &Tree, files: &[&str]) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for file in files.iter().filter(|file| tree.has(file)) {
        let literals = literals::rust(&tree.text(file)?);
        let words = literals.iter().map(|text| text.trim_end_matches('='));
        names.extend(words.filter(|word| is_name(word)).map(str::to_owned));
    }
    Ok(names)
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// The settings in a piece of code: what stands before `=`, and what ends in a
/// unit where it stands alone.
fn names(text: &str, is_alone: bool) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "|'\"()[],".contains(c))
        .filter_map(move |word| match word.split_once('=') {
            Some((name, value)) if !value.starts_with(['=', '>']) => Some(name),
            None if is_alone && has_unit(word) => Some(word),
            _ => None,
        })
        .filter(|name| is_name(name))
}

/// Whether a word ends in a unit; "by us" is none.
fn has_unit(word: &str) -> bool {
    UNITS.iter().any(|unit| word.ends_with(unit)) && !word.ends_with("_by_us")
}

#[cfg(test)]
mod tests {
    use crate::documents;
    use crate::testing::{places, tree};

    const TABLE: (&str, &str) = (
        "rust/policy/settings/parameter.rs",
        "numbers! { Grace \"grace_us\" Micros; }\nconst A: &str = \"mode\";\n",
    );

    #[test]
    fn parameters_exist() {
        let text = "`mode=off`, `grace_us`, `--root=x`, `X=y`, `a == b`, `sched_policy=2`, `stopped_by_us`\n\n\
            | parameter | x |\n|---|---|\n| `mode` | `b` |\n\n    modprobe amd_gpreempt mode=enforce\n";
        assert_eq!(
            documents::check(&tree(&[TABLE, ("a.md", text)])).unwrap(),
            []
        );
        let bad =
            "`modes=off`\n`grace_ms`\n\n| parameter |\n|---|\n| `size` |\n\n    modprobe a way=b\n";
        let found = documents::check(&tree(&[TABLE, ("a.md", bad)])).unwrap();
        assert_eq!(
            places(&found),
            [1, 2, 6, 8].map(|line| format!("a.md:{line} parameters"))
        );
    }

    #[test]
    fn what_was_measured_is_told_with_the_settings_of_that_day() {
        let gone = (
            "scripts/operator/library/src/words/gone.rs",
            "const GONE: &str = \"slow_ms\";\n",
        );
        let text = "`slow_ms=3` `never_ms`\n";
        let pages = [("docs/benchmarks/a.md", text), ("docs/a.md", text)];
        let found = documents::check(&tree(&[TABLE, gone, pages[0], pages[1]])).unwrap();
        let expected = [
            "docs/a.md:1 parameters",
            "docs/a.md:1 parameters",
            "docs/benchmarks/a.md:1 parameters",
        ];
        assert_eq!(places(&found), expected);
    }
}
