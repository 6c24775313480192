// SPDX-License-Identifier: GPL-2.0-only
//! The conditions that the numbers are of.

use std::collections::BTreeMap;
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
    let (begin, end) = conditions.host_load;
    line(
        "host's load average",
        &format!("{begin:.1} at the beginning, {end:.1} at the end"),
    );
    line(
        "each run",
        &format!(
            "urgent requests arrive for {} of GPU time",
            durations(results, None)
        ),
    );
    line("loads", conditions.loads.what());
    line("repetitions", &conditions.repetitions.to_string());
    line(
        "module's settings, in GPU time",
        &format!("`{}`", conditions.settings),
    );
    for (settings, runs) in others(results) {
        line(&format!("those of {runs}"), &format!("`{settings}`"));
    }
    for fact in &conditions.model {
        line("model", fact);
    }
    out
}

/// Settings other than the conditions', and the runs that were made with them.
fn others(results: &Results) -> BTreeMap<&str, String> {
    let mut runs: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for record in &results.records {
        if let Some(settings) = &record.settings {
            let of_settings = runs.entry(settings).or_default();
            let contenders = of_settings.entry(&record.load).or_default();
            if !contenders.contains(&&*record.contender) {
                contenders.push(&record.contender);
            }
        }
    }
    let in_words =
        |(load, contenders): (&str, Vec<&str>)| format!("{load} ({})", contenders.join(", "));
    runs.into_iter()
        .map(|(settings, loads)| {
            let loads: Vec<String> = loads.into_iter().map(in_words).collect();
            (settings, loads.join(", "))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Outcome, Record};

    #[test]
    fn what_ran_with_other_settings_is_named_once() {
        let record = |load: &str, contender: &str, settings: Option<&str>| Record {
            part: "loads".into(),
            load: load.into(),
            x: None,
            contender: contender.into(),
            repetition: 0,
            settings: settings.map(Into::into),
            outcome: Outcome::Failed(String::new()),
        };
        let results = Results {
            records: vec![
                record("A", "direct", None),
                record("L", "strict", Some("slow")),
                record("L", "strict", Some("slow")),
                record("L", "direct", Some("slow")),
                record("D", "direct", Some("slow")),
                record("D", "hints", Some("slower")),
            ],
            ..Results::default()
        };
        let text = conditions(&results);
        let others: Vec<&str> = text.lines().filter(|line| line.contains("slow")).collect();
        assert_eq!(
            others,
            [
                "| those of D (direct), L (strict, direct) | `slow` |",
                "| those of D (hints) | `slower` |",
            ]
        );
    }
}
