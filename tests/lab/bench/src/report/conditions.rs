// SPDX-License-Identifier: GPL-2.0-only
//! The conditions that the numbers are of.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::durations;
use crate::results::Results;

/// Where and how all numbers of the report came about, as a table.
pub fn conditions(results: &Results) -> String {
    let conditions = &results.conditions;
    let mut out = String::new();
    let mut line = |what: &str, value: &str| {
        let _ = writeln!(out, "| {what} | {value} |");
    };
    line("condition", "value");
    line("---", "---");
    line("GPU", &conditions.gpu);
    line("kernel", &conditions.kernel);
    line("host", &conditions.host);
    line("commit", &conditions.commit);
    line(
        "each run",
        &format!(
            "{}, which is {}",
            conditions.extent,
            durations(results, None)
        ),
    );
    let seeds: BTreeSet<u64> = results.records.iter().map(|one| one.name.seed).collect();
    line(
        "runs of each, with seeds of their own",
        &seeds.len().to_string(),
    );
    line(
        "module's settings, in GPU time",
        &format!("`{}`", conditions.settings),
    );
    for fact in &conditions.model {
        line("model", fact);
    }
    out
}
