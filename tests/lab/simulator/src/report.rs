// SPDX-License-Identifier: GPL-2.0-only

//! Tables to read.

use crate::gpu::Gpu;
use crate::reference::Foresight;
use crate::services::{alone, Model};
use crate::summary::Summary;
use std::fmt::Write;

/// A table in Markdown that is also aligned as plain text.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = head.iter().map(|h| h.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        for (index, (cell, width)) in cells.zip(&widths).enumerate() {
            let padding = " ".repeat(width - cell.chars().count());
            // The first column is a name, the others are numbers.
            if index == 0 {
                let _ = write!(text, "| {cell}{padding} ");
            } else {
                let _ = write!(text, "| {padding}{cell} ");
            }
        }
        text.push_str("|\n");
    };
    line(&mut head.iter().copied());
    let rules: Vec<String> = widths
        .iter()
        .enumerate()
        .map(|(index, width)| match index {
            0 => "-".repeat(*width),
            _ => format!("{}:", "-".repeat(width - 1)),
        })
        .collect();
    line(&mut rules.iter().map(String::as_str));
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
    text
}

/// The measurements of one workload; the first are `alone` and `none`.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub alone: Summary,
    pub none: Summary,
    pub others: Vec<Summary>,
}

impl Comparison {
    /// Sorts the measurements of several workloads; none is complete without
    /// `alone` and `none`.
    pub fn of_all(summaries: Vec<Summary>) -> Option<Vec<Comparison>> {
        let mut workloads: Vec<(String, Vec<Summary>)> = Vec::new();
        for summary in summaries {
            match workloads.iter_mut().find(|one| one.0 == summary.workload) {
                Some((_, of_workload)) => of_workload.push(summary),
                None => workloads.push((summary.workload.clone(), vec![summary])),
            }
        }
        workloads
            .into_iter()
            .map(|(_, mut summaries)| {
                let mut take = |policy| {
                    let at = summaries.iter().position(|one| one.policy == policy)?;
                    Some(summaries.remove(at))
                };
                Some(Comparison {
                    alone: take("alone")?,
                    none: take("none")?,
                    others: summaries,
                })
            })
            .collect()
    }

    pub fn all(&self) -> impl Iterator<Item = &Summary> {
        [&self.alone, &self.none].into_iter().chain(&self.others)
    }

    pub fn of(&self, policy: &str) -> Option<&Summary> {
        self.all().find(|s| s.policy == policy)
    }

    /// Requests a second against no preemption.
    pub fn throughput(&self, summary: &Summary) -> f64 {
        summary.per_second / self.none.per_second
    }

    /// How far a contender is from a reference, if that was measured, too.
    pub fn distance(&self, summary: &Summary, reference: Foresight) -> Distance {
        let reference = self.of(reference.name());
        let over = |of: fn(&Summary) -> f64| {
            let share = of(summary) / of(reference?);
            share.is_finite().then_some(share)
        };
        Distance {
            urgent: over(|one| one.urgent.p99_us),
            best_effort: over(|one| one.best_effort_per_second),
        }
    }
}

/// How far a contender is from a reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// Its urgent p99 over the reference's.
    pub urgent: Option<f64>,
    /// Its best-effort requests a second over the reference's.
    pub best_effort: Option<f64>,
}

impl Distance {
    /// What a load may cost `strict` beside the reactive reference. A token is so short
    /// that the time to see it weighs twice as much.
    pub fn goal(workload: &str) -> Self {
        Self {
            urgent: Some(if workload == "TOKEN" { 1.04 } else { 1.02 }),
            best_effort: Some(0.97),
        }
    }

    fn meets(self, goal: Self) -> bool {
        let within = |own: Option<f64>, goal: Option<f64>, met: fn(&f64, &f64) -> bool| {
            own.zip(goal).is_none_or(|(own, goal)| met(&own, &goal))
        };
        within(self.urgent, goal.urgent, f64::le)
            && within(self.best_effort, goal.best_effort, f64::ge)
    }

    pub fn urgent_text(self) -> String {
        self.urgent.map_or("-".into(), |x| format!("{x:.3}"))
    }

    pub fn best_effort_text(self) -> String {
        self.best_effort
            .map_or("-".into(), |x| format!("{:.1}", 100.0 * x))
    }
}

const COMPARISON_HEAD: [&str; 15] = [
    "policy",
    "p50 us",
    "p99 us",
    "p99.9 us",
    "p99 x alone",
    "worst client",
    "p99 x reactive",
    "throughput %",
    "best effort /s",
    "% of reactive",
    "transactions /s",
    "each us",
    "longest stop ms",
    "Jain",
    "monitor %",
];

fn comparison_row(comparison: &Comparison, summary: &Summary) -> Vec<String> {
    let (pooled, worst) = summary.p99_over(&comparison.alone);
    let reactive = comparison.distance(summary, Foresight::Reactive);
    vec![
        summary.policy.clone(),
        format!("{:.0}", summary.urgent.p50_us),
        format!("{:.0}", summary.urgent.p99_us),
        format!("{:.0}", summary.urgent.p999_us),
        format!("{pooled:.3}"),
        format!("{worst:.3}"),
        reactive.urgent_text(),
        format!("{:.1}", 100.0 * comparison.throughput(summary)),
        format!("{:.1}", summary.best_effort_per_second),
        reactive.best_effort_text(),
        format!("{:.0}", summary.transactions_per_second),
        format!("{:.0}", summary.transaction_us),
        format!("{:.1}", summary.longest_stop_ms),
        format!("{:.3}", summary.jain),
        format!("{:.1}", 100.0 * summary.look_share),
    ]
}

pub fn comparison(comparison: &Comparison) -> String {
    let rows: Vec<_> = comparison
        .all()
        .map(|summary| comparison_row(comparison, summary))
        .collect();
    table(&COMPARISON_HEAD, &rows)
}

/// How far a policy is from the references on each workload, and whether that is within
/// the goal.
pub fn distances(comparisons: &[Comparison], policy: &str) -> String {
    let rows: Vec<_> = comparisons
        .iter()
        .filter_map(|comparison| comparison.of(policy).map(|own| (comparison, own)))
        .map(|(comparison, own)| {
            let reactive = comparison.distance(own, Foresight::Reactive);
            let clairvoyant = comparison.distance(own, Foresight::Clairvoyant);
            let goal = Distance::goal(&own.workload);
            vec![
                own.workload.clone(),
                reactive.urgent_text(),
                goal.urgent_text(),
                reactive.best_effort_text(),
                goal.best_effort_text(),
                if reactive.meets(goal) { "yes" } else { "no" }.into(),
                clairvoyant.urgent_text(),
                clairvoyant.best_effort_text(),
            ]
        })
        .collect();
    table(
        &[
            "workload",
            "p99 x reactive",
            "at most",
            "best effort % of reactive",
            "at least",
            "met",
            "p99 x clairvoyant",
            "best effort % of clairvoyant",
        ],
        &rows,
    )
}

/// Where the time of an urgent request went that it did not need alone.
pub fn split(comparisons: &[Comparison], policy: &str) -> String {
    let rows: Vec<_> = comparisons
        .iter()
        .filter_map(|c| c.of(policy).map(|s| (c, s)))
        .map(|(comparison, summary)| {
            let split = &summary.split;
            vec![
                summary.workload.clone(),
                format!(
                    "{:.0}",
                    summary.urgent.mean_us - comparison.alone.urgent.mean_us
                ),
                format!("{:.0}", 100.0 * split.disturbed_share),
                format!("{:.2}", split.transactions),
                format!("{:.0}", split.detection_us),
                format!("{:.1}", split.command_us),
                format!("{:.1}", split.save_us),
                format!("{:.1}", split.fence_us),
                format!("{:.1}", split.registers_us),
                format!("{:.1}", split.map_us),
                format!("{:.1}", split.restore_us),
            ]
        })
        .collect();
    table(
        &[
            "workload",
            "added mean us",
            "disturbed %",
            "transactions",
            "detection us",
            "command",
            "save",
            "fence",
            "registers",
            "map",
            "restore",
        ],
        &rows,
    )
}

/// The table of service times.
pub fn services(gpu: &Gpu) -> String {
    let rows: Vec<_> = Model::ALL
        .iter()
        .map(|model| {
            let program = model.program(gpu);
            let workgroups: u64 = program.iter().map(|k| u64::from(k.workgroups)).sum();
            vec![
                model.name().to_string(),
                program.len().to_string(),
                workgroups.to_string(),
                (alone(gpu, &program) / 1_000).to_string(),
                if model.idempotent() { "yes" } else { "no" }.to_string(),
                model.source().to_string(),
            ]
        })
        .collect();
    table(
        &[
            "model",
            "kernels",
            "workgroups",
            "alone us",
            "may run twice",
            "source",
        ],
        &rows,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_are_sorted_by_workload() {
        let summary = |workload: &str, policy: &str| Summary {
            workload: workload.into(),
            policy: policy.into(),
            ..Summary::default()
        };
        let all = |workload| ["none", "alone", "strict"].map(|policy| summary(workload, policy));
        let comparisons = Comparison::of_all([all("A"), all("B")].concat()).unwrap();
        assert_eq!(comparisons.len(), 2);
        assert_eq!(comparisons[1].none.workload, "B");
        assert!(comparisons[1].of("strict").is_some());
        assert!(Comparison::of_all(vec![summary("A", "alone")]).is_none());
    }

    #[test]
    fn a_distance_is_met_only_if_both_of_its_parts_are() {
        let summary = |policy: &str, p99_us: f64, best_effort_per_second: f64| Summary {
            workload: "A".into(),
            policy: policy.into(),
            urgent: crate::summary::Latency {
                p99_us,
                ..Default::default()
            },
            best_effort_per_second,
            ..Summary::default()
        };
        let met = |p99: f64, best_effort: f64| {
            let comparison = Comparison {
                alone: summary("alone", 90.0, 0.0),
                none: summary("none", 200.0, 60.0),
                others: vec![
                    summary("reactive", 100.0, 50.0),
                    summary("strict", p99, best_effort),
                ],
            };
            let text = distances(&[comparison], "strict");
            text.lines().last().unwrap().contains(" yes ")
        };
        assert!(met(102.0, 48.5));
        assert!(!met(102.1, 60.0));
        assert!(!met(90.0, 48.4));
    }

    #[test]
    fn tables_are_aligned() {
        let text = table(
            &["name", "value"],
            &[
                vec!["a".into(), "1".into()],
                vec!["bcdef".into(), "1234567".into()],
            ],
        );
        let lengths: Vec<usize> = text.lines().map(str::len).collect();
        assert_eq!(lengths.len(), 4);
        assert!(lengths.windows(2).all(|w| w[0] == w[1]), "{text}");
    }
}
