// SPDX-License-Identifier: GPL-2.0-only
//! What becomes of a command.

use crate::report::Report;

/// What a command prints, and why it has failed if it has.
pub struct Outcome {
    /// For people.
    pub lines: Vec<String>,
    /// For programs.
    pub report: Report,
    /// Each a line on the error output; with one, the command has failed.
    pub complaints: Vec<String>,
}

impl Outcome {
    pub fn good(lines: Vec<String>, report: Report) -> Outcome {
        Outcome {
            lines,
            report,
            complaints: Vec::new(),
        }
    }
}
