// SPDX-License-Identifier: GPL-2.0-only
//! The report: one file that people read and programs, too. It names neither the host
//! nor anybody on it.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::json;

use crate::host::Host;
use crate::steps::{Found, STEPS};

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Passed,
    Stopped(String),
}

#[derive(Clone, Debug, Serialize)]
pub struct Done {
    pub step: usize,
    pub title: String,
    pub outcome: Outcome,
    pub found: Found,
}

/// Everything that a run has found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    pub steps: Vec<Done>,
    /// Why not everything is as it was; nothing when it is.
    pub not_restored: Option<String>,
}

impl Report {
    /// Whether every step that there is has passed, and everything is as it was.
    pub fn passed(&self) -> bool {
        self.not_restored.is_none() && self.stopped().is_none()
    }

    /// The step that was the last because of a surprise.
    fn stopped(&self) -> Option<(&Done, &str)> {
        self.steps.iter().find_map(|done| match &done.outcome {
            Outcome::Stopped(why) => Some((done, why.as_str())),
            Outcome::Passed => None,
        })
    }

    /// The result in one line.
    pub fn in_short(&self) -> String {
        let mut text = match self.stopped() {
            Some((done, why)) => format!("step {} ({}): {why}", done.step, done.title),
            None => format!("{} of {} steps passed", self.steps.len(), STEPS.len()),
        };
        match &self.not_restored {
            None => text += "; everything is as it was",
            Some(why) => text += &format!("; not everything is as it was: {why}"),
        }
        text
    }

    fn document(&self) -> String {
        let mut out = String::from("# Self test of amd_gpreempt\n\n");
        let _ = writeln!(out, "{}.\n", self.in_short());
        out += "Send this file as it is: it has what the steps measured, the versions of kernel, driver and\n\
            firmware, and the module's parameters. It names neither the host nor anybody on it.\n";
        for done in &self.steps {
            let _ = writeln!(out, "\n## Step {}: {}\n", done.step, done.title);
            for line in &done.found.lines {
                let _ = writeln!(out, "- {line}");
            }
            let _ = match &done.outcome {
                Outcome::Passed => writeln!(out, "- passed"),
                Outcome::Stopped(why) => writeln!(out, "- **stopped**: {why}"),
            };
        }
        let data = json!({ "schema": 1, "report": self });
        let text = serde_json::to_string_pretty(&data).unwrap_or_default();
        let _ = writeln!(out, "\n## The same for programs\n\n```json\n{text}\n```");
        out
    }

    /// Writes it as a whole.
    pub fn write(&self, host: &Host, path: &Path) -> Result<()> {
        let text = without_name(&self.document(), host.line("proc/sys/kernel/hostname"));
        let new = path.with_extension("new");
        std::fs::write(&new, text).with_context(|| new.display().to_string())?;
        std::fs::rename(&new, path).with_context(|| path.display().to_string())
    }
}

/// The name of the host may be in messages of the kernel or in a release's name.
fn without_name(text: &str, name: Option<String>) -> String {
    // What most hosts without a name are called is a word of other things, too.
    const NO_NAMES: &[&str] = &["localhost", "(none)"];
    match name {
        Some(name) if !NO_NAMES.contains(&name.as_str()) => text.replace(&name, "HOST"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::files;

    fn done(step: usize, outcome: Outcome) -> Done {
        Done {
            step,
            title: STEPS[step].0.into(),
            outcome,
            found: Found {
                lines: vec!["kernel 7.3-node17".into()],
                data: json!({"a": 1}),
            },
        }
    }

    #[test]
    fn the_first_surprise_is_told_in_one_line() {
        let mut report = Report {
            steps: vec![done(0, Outcome::Passed)],
            not_restored: None,
        };
        assert!(report.passed());
        assert!(
            report.in_short().starts_with("1 of 5 steps passed"),
            "{}",
            report.in_short()
        );
        report.steps.push(done(1, Outcome::Stopped("why".into())));
        assert!(!report.passed());
        assert_eq!(
            report.in_short(),
            "step 1 (reading only): why; everything is as it was"
        );
        report.not_restored = Some("mode".into());
        assert!(report
            .in_short()
            .ends_with("not everything is as it was: mode"));
    }

    #[test]
    fn what_was_not_restored_is_no_success() {
        let report = Report {
            steps: Vec::new(),
            not_restored: Some("mode".into()),
        };
        assert!(!report.passed());
    }

    #[test]
    fn the_report_is_for_people_and_programs_and_names_nobody() {
        let (directory, host) = files(&[("proc/sys/kernel/hostname", "node17\n")]);
        let path = directory.path().join("report.md");
        let report = Report {
            steps: vec![done(0, Outcome::Stopped("node17 burns".into()))],
            not_restored: None,
        };
        report.write(&host, &path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.contains("- **stopped**: HOST burns") && !text.contains("node17"),
            "{text}"
        );
        let data = text
            .split("```json")
            .nth(1)
            .unwrap()
            .split("```")
            .next()
            .unwrap();
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["report"]["steps"][0]["found"]["data"]["a"], 1);
    }

    #[test]
    fn a_host_without_a_name_changes_nothing() {
        for name in [
            None,
            Some("localhost".to_owned()),
            Some("(none)".to_owned()),
        ] {
            assert_eq!(without_name("localhost (none)", name), "localhost (none)");
        }
    }
}
