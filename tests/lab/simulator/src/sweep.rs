// SPDX-License-Identifier: GPL-2.0-only

//! Sweeps over one parameter of the module at a time: what its default is
//! chosen from.

use crate::documented::compare;
use crate::gpu::Gpu;
use crate::policies::{measure, Effort, Policy};
use crate::report::table;
use crate::workload::Workload;
use anyhow::{Context, Result};
use std::path::Path;

/// One parameter and the values it is tried with.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    pub parameter: &'static str,
    /// The policy that it matters to.
    pub policy: &'static str,
    /// Other settings that it needs in order to matter.
    pub settings: &'static [(&'static str, &'static str)],
    pub values: &'static [u32],
    pub workloads: &'static [&'static str],
}

impl Sweep {
    pub const ALL: [Self; 8] = [
        Self::new("poll_interval_us", &[20, 30, 50, 75, 100, 200, 500, 1_000]),
        Self::new("grace_us", &[0, 10, 20, 50, 100, 200, 500]),
        Self::new("min_run_us", &[0, 200, 500, 1_000, 2_000, 5_000]),
        Self::new("max_stop_ms", &[5, 10, 20, 50, 100, 200, 500, 1_000]),
        Self::new("noprogress_ms", &[1, 2, 5, 10, 20, 50, 100]),
        Self {
            // A priority from a rule has no budget.
            settings: &[("priorities", "claimed")],
            ..Self::new("stop_budget_ms", &[50, 100, 200, 500, 800, 1_000])
        },
        Self::new("rule_overhead_percent", &[5, 10, 20, 50, 100]),
        Self {
            settings: &[("priorities", "claimed")],
            ..Self::new("claim_overhead_percent", &[1, 2, 3, 6, 12, 25])
        },
    ];

    const fn new(parameter: &'static str, values: &'static [u32]) -> Self {
        Self {
            parameter,
            policy: "strict",
            settings: &[],
            values,
            workloads: &["A", "B", "C", "D", "E", "Y", "L"],
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sweep| sweep.parameter == name)
    }
}

/// What one value did to one workload.
#[derive(Clone, Debug)]
pub struct Point {
    pub workload: String,
    pub value: u32,
    pub p99_over_alone: f64,
    pub worst_client: f64,
    pub throughput: f64,
    pub transactions_per_second: f64,
    pub longest_stop_ms: f64,
    pub monitor_share: f64,
}

/// Runs a sweep; `settings` hold for all its points.
pub fn run(
    gpu: &Gpu,
    sweep: Sweep,
    settings: &[(String, String)],
    effort: Effort,
) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    for name in sweep.workloads {
        let workload = Workload::by_name(name).context("a sweep names known workloads")?;
        let effort = effort.enough_for(&workload);
        let comparison = compare(gpu, &workload, &[], effort);
        for &value in sweep.values {
            let mut settings = settings.to_vec();
            let own = sweep.settings.iter();
            settings.extend(own.map(|(key, value)| (key.to_string(), value.to_string())));
            settings.push((sweep.parameter.into(), value.to_string()));
            let policy = Policy::by_name(sweep.policy, &settings)?;
            let summary = measure(gpu, &workload, &policy, effort);
            let (p99_over_alone, worst_client) = summary.p99_over(&comparison.alone);
            points.push(Point {
                workload: (*name).into(),
                value,
                p99_over_alone,
                worst_client,
                throughput: comparison.throughput(&summary),
                transactions_per_second: summary.transactions_per_second,
                longest_stop_ms: summary.longest_stop_ms,
                monitor_share: summary.look_share,
            });
        }
    }
    Ok(points)
}

/// A table with a row for each value and three columns for each workload; the
/// last columns are the worst of all workloads.
pub fn text(sweep: Sweep, points: &[Point]) -> String {
    let mut head = vec![sweep.parameter.to_string()];
    for name in sweep.workloads {
        head.push(format!("{name} p99 x"));
        head.push("thr. %".into());
        head.push("trans. /s".into());
    }
    head.push("worst client".into());
    head.push("monitor %".into());
    head.push("longest stop ms".into());
    let rows: Vec<Vec<String>> = sweep
        .values
        .iter()
        .map(|&value| {
            let of_value = || points.iter().filter(move |p| p.value == value);
            let mut row = vec![value.to_string()];
            for point in of_value() {
                row.push(format!("{:.3}", point.p99_over_alone));
                row.push(format!("{:.1}", 100.0 * point.throughput));
                row.push(format!("{:.0}", point.transactions_per_second));
            }
            let most = |f: fn(&Point) -> f64| of_value().map(f).fold(0.0, f64::max);
            row.push(format!("{:.3}", most(|p| p.worst_client)));
            row.push(format!("{:.1}", 100.0 * most(|p| p.monitor_share)));
            row.push(format!("{:.0}", most(|p| p.longest_stop_ms)));
            row
        })
        .collect();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    table(&head, &rows)
}

/// Writes the table of a sweep.
pub fn write(directory: &Path, sweep: Sweep, points: &[Point]) -> Result<()> {
    let path = directory.join(format!("{}.md", sweep.parameter));
    let text = text(sweep, points) + "\n";
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}
