// SPDX-License-Identifier: GPL-2.0-only
//! One place where the tree breaks a rule.

use std::fmt;

/// Where a rule is broken, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Breach {
    pub file: String,
    pub line: usize,
    /// The rule's name.
    pub rule: &'static str,
    /// What is wrong, and what to do.
    pub what: String,
}

impl Breach {
    pub fn new(file: &str, line: usize, rule: &'static str, what: impl Into<String>) -> Breach {
        Breach {
            file: file.to_owned(),
            line,
            rule,
            what: what.into(),
        }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}:{}: {}: {}",
            self.file, self.line, self.rule, self.what
        )
    }
}
