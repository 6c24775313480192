// SPDX-License-Identifier: GPL-2.0-only
//! The list of changes that no test notices and that somebody has judged.
//!
//! Each judgement is a line that begins with its word and says why; the names of the
//! changes that it is about follow it, indented.

use std::collections::BTreeMap;

use anyhow::{bail, ensure, Result};

/// What was made of a change that no named test notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It is no bug: nothing that can be seen changes.
    Equivalent,
    /// It is one, or may be, and has no test yet.
    Open,
}

/// Reads the list.
///
/// # Errors
///
/// A line that makes no sense, and a change that is judged twice.
pub fn read(text: &str) -> Result<BTreeMap<&str, Judgement>> {
    let mut all = BTreeMap::new();
    let mut judgement = None;
    for (line, number) in text.lines().zip(1..) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("    ") {
            let Some(judgement) = judgement else {
                bail!("line {number}: no judgement comes before this change");
            };
            let twice = all.insert(name, judgement).is_some();
            ensure!(!twice, "line {number}: this change is judged twice");
            continue;
        }
        let (word, reason) = line.split_once(": ").unwrap_or((line, ""));
        judgement = Some(match word {
            "equivalent" => Judgement::Equivalent,
            "open" => Judgement::Open,
            _ => bail!("line {number}: begin it with 'equivalent: ', 'open: ' or four spaces"),
        });
        ensure!(!reason.trim().is_empty(), "line {number}: say why");
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::trial;

    #[test]
    fn names_follow_their_judgement() {
        let text = "# A list.\n\nequivalent: it is.\n    a\n    b\nopen: no time.\n    c\n";
        let all = read(text).expect("a list");
        assert_eq!(all.len(), 3);
        assert_eq!(all["b"], Judgement::Equivalent);
        assert_eq!(all["c"], Judgement::Open);
    }

    #[test]
    fn nonsense_is_refused_with_its_line() {
        for (text, what) in [
            ("    a", "line 1: no judgement comes before this change"),
            (
                "open: x\n    a\n    a",
                "line 3: this change is judged twice",
            ),
            (
                "open:",
                "line 1: begin it with 'equivalent: ', 'open: ' or four spaces",
            ),
            ("open:  ", "line 1: say why"),
            (
                "other: x",
                "line 1: begin it with 'equivalent: ', 'open: ' or four spaces",
            ),
        ] {
            let error = read(text).expect_err(text);
            assert_eq!(error.to_string(), what);
        }
    }

    #[test]
    fn every_change_that_is_judged_can_be_made() {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let changes = trial::changes(&project).expect("changes");
        for name in read(crate::JUDGED).expect("the list").keys() {
            let there = changes.iter().any(|change| change.name == *name);
            assert!(
                there,
                "judged.txt has {name:?}, which is no change any more"
            );
        }
    }
}
