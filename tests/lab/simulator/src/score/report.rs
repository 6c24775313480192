// SPDX-License-Identifier: GPL-2.0-only

//! Verdicts to read.

use super::{Score, Verdict};
use crate::report::table;
use std::fmt::Write;

const HEAD: [&str; 14] = [
    "contender",
    "p50 us",
    "p99 us",
    "p99.9 us",
    "added p50 us",
    "added p99 us",
    "middle p99 us",
    "best effort %",
    "% of reference",
    "transactions /s",
    "latency",
    "best effort",
    "both",
    "worse than none",
];

/// The outcomes of a load as a table.
pub fn text(score: &Score) -> String {
    let micros = |time: Option<f64>| time.map_or("-".into(), |time| format!("{time:.0}"));
    let said = |met: bool| if met { "yes" } else { "no" }.to_string();
    let rows: Vec<Vec<String>> = score
        .all()
        .map(|own| {
            let name = match &own.plan {
                Some(plan) if own.contender != "blind" => format!("{} ({plan})", own.contender),
                _ => own.contender.clone(),
            };
            let mut row = vec![
                name,
                format!("{:.0}", own.latency.p50),
                format!("{:.0}", own.latency.p99),
                format!("{:.0}", own.latency.p999),
                micros(own.added_p50),
                micros(own.added_p99),
                micros(own.middle_p99),
                format!("{:.1}", 100.0 * own.best_effort()),
                format!("{:.1}", 100.0 * own.kept_of(&score.reference)),
                format!("{:.0}", own.transactions_per_second),
            ];
            if own.contender == "alone" {
                row.extend(["-"; 4].map(String::from));
            } else {
                let verdict = score.verdict(own);
                let met = [verdict.latency, verdict.best_effort, verdict.both()];
                row.extend(met.map(said));
                row.push(match verdict.worse.is_empty() {
                    true => "-".into(),
                    false => verdict.worse.join(" "),
                });
            }
            row
        })
        .collect();
    format!(
        "{} on {}\n\n{}",
        score.load,
        score.node,
        table(&HEAD, &rows)
    )
}

/// On how many loads of each node each contender meets the goals.
pub fn totals(scores: &[Score]) -> String {
    let mut nodes: Vec<&str> = scores.iter().map(|score| score.node.as_str()).collect();
    nodes.dedup();
    let mut text = String::new();
    for node in nodes {
        let of_node = || scores.iter().filter(|score| score.node == node);
        let names = of_node().flat_map(|score| &score.contenders);
        let mut names: Vec<&str> = names.map(|own| own.contender.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let verdicts: Vec<Verdict> = of_node()
                .flat_map(|score| score.contenders.iter().map(move |own| (score, own)))
                .filter(|(_, own)| own.contender == name)
                .map(|(score, own)| score.verdict(own))
                .collect();
            let count = |met: fn(&Verdict) -> bool| verdicts.iter().filter(|v| met(v)).count();
            let _ = writeln!(
                text,
                "{name} on {node}: both goals: {} of {} (latency {}, best effort {}); \
                 worse than no module: {}",
                count(|v| v.both()),
                verdicts.len(),
                count(|v| v.latency),
                count(|v| v.best_effort),
                count(|v| !v.worse.is_empty()),
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::{outcome_of, scored};
    use super::super::Outcome;
    use super::*;

    #[test]
    fn totals_count_by_node_and_contender() {
        let good = |name: &str| Outcome {
            contender: name.into(),
            ..outcome_of(1.0, 1.0, &[(0, 0.5)])
        };
        let base = good("blind");
        let mut first = scored(base.clone(), base.clone(), base.clone());
        first.contenders = vec![good("strict"), good("other")];
        let mut second = first.clone();
        second.contenders[0].latency.p99 = 100.0;
        let text = totals(&[first, second]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "other on node: both goals: 2 of 2 (latency 2, best effort 2); worse than no module: 0",
                "strict on node: both goals: 1 of 2 (latency 1, best effort 2); worse than no module: 1",
            ]
        );
    }
}
