// SPDX-License-Identifier: GPL-2.0-only

//! The pictures of docs/simulation. They are drawn from the figures that are
//! written there as JSON and from nothing else, so that they can be drawn anew
//! without a simulation, and compared with what was committed.

use crate::documented::{nodes, MicroPoint, MICRO_POLICIES};
use crate::policies::Policy;
use crate::report::Comparison;
use crate::summary::Summary;
use anyhow::{Context, Result};
use gpreempt_plot::{Axis, Lines, Mark, Panel, Panels, Picture, Row, Series};
use serde::de::DeserializeOwned;
use std::path::Path;

/// What the urgent p99 over running alone shall not exceed.
const GOAL: f64 = 1.05;
/// Lines leave the frame there, and bars at a larger value, since few do.
const CEILING: f64 = 2.0;
const CEILING_OF_BARS: f64 = 3.0;
const CEILING_OF_THROUGHPUT: f64 = 150.0;

const OF_BARS: &str = "Dark bars: this module's policies. Pale bars: what they are compared with. \
    A bar beyond the axis ends at the frame.";

/// Puts the files in place.
pub fn write(directory: &Path, pictures: Vec<Picture>) -> Result<()> {
    for (name, text) in pictures {
        let path = directory.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The figures in a file; none where the part that writes it has not run.
fn figures<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    if !path.exists() {
        return Ok(None);
    }
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let figures = serde_json::from_str(&text).with_context(|| {
        format!(
            "{} does not hold the figures expected there",
            path.display()
        )
    })?;
    Ok(Some(figures))
}

/// All pictures whose figures are in this copy of docs/simulation.
pub fn of_document(directory: &Path) -> Result<Vec<Picture>> {
    let mut pictures = Vec::new();
    for gpu in nodes() {
        let path = directory.join(format!("table-{}.json", gpu.name));
        if let Some(summaries) = figures::<Vec<Summary>>(&path)? {
            let comparisons = Comparison::of_all(summaries)
                .with_context(|| format!("{} lacks alone or none", path.display()))?;
            pictures.extend(comparison(&gpu.name, &comparisons));
        }
    }
    for (name, title, x) in [
        (
            "preparation",
            "Workload A on a whole MI300X (SPX): urgent p99 latency by preparation time",
            "the host's work between arrival and doorbell (microseconds)",
        ),
        (
            "rate",
            "Workload A on a whole MI300X (SPX): urgent p99 latency by request rate",
            "urgent requests a second",
        ),
    ] {
        let path = directory.join(format!("{name}.json"));
        if let Some(points) = figures::<Vec<MicroPoint>>(&path)? {
            pictures.push((format!("{name}.svg"), micro(title, x, &points)));
        }
    }
    Ok(pictures)
}

/// Latency and throughput of all policies on all workloads of a node.
fn comparison(gpu: &str, comparisons: &[Comparison]) -> [Picture; 2] {
    let panels = |decimals: usize, value: fn(&Comparison, &Summary) -> f64| -> Vec<Panel> {
        let row = |comparison: &Comparison, name: &str| {
            let value = value(comparison, comparison.of(name)?);
            Some(Row {
                name: name.into(),
                mark: Mark::Bar(value),
                figures: format!("{value:.decimals$}"),
                dark: matches!(Policy::by_name(name, &[]), Ok(Policy::Module { .. })),
            })
        };
        let panel = |comparison: &Comparison| Panel {
            name: format!("Workload {}", comparison.alone.workload),
            rows: Policy::NAMES
                .iter()
                .filter_map(|name| row(comparison, name))
                .collect(),
        };
        comparisons.iter().map(panel).collect()
    };
    let node = match gpu {
        "mi300x-spx" => "Whole MI300X (SPX)",
        "mi300x-cpx" => "One partition of an MI300X (CPX)",
        other => other,
    };
    let latency = Panels {
        title: &format!("{node}: urgent p99 latency, as a multiple of running alone"),
        notes: &[OF_BARS, "Vertical line: the goal."],
        quantity: "p99 latency of urgent requests over that of running alone (goal: at most 1.05)",
        panels: &panels(3, |comparison, own| own.p99_over(&comparison.alone).0),
        axis: Axis::UpTo(CEILING_OF_BARS),
        goal: Some(GOAL),
    };
    let throughput = Panels {
        title: &format!("{node}: requests a second, as a share of those without preemption"),
        notes: &[OF_BARS],
        quantity: "completed requests a second, percent of those under none",
        panels: &panels(1, |comparison, own| 100.0 * comparison.throughput(own)),
        axis: Axis::UpTo(CEILING_OF_THROUGHPUT),
        goal: None,
    };
    [
        (format!("latency-{gpu}.svg"), latency.svg()),
        (format!("throughput-{gpu}.svg"), throughput.svg()),
    ]
}

/// The latency of some policies over what a micro-benchmark varies.
fn micro(title: &str, x: &str, points: &[MicroPoint]) -> String {
    let series: Vec<Series> = MICRO_POLICIES
        .iter()
        .map(|&name| Series {
            name: name.into(),
            points: points
                .iter()
                .filter(|point| point.policy == name)
                .map(|point| (point.value, point.p99_over_alone))
                .collect(),
        })
        .collect();
    Lines {
        title,
        notes: &[],
        x,
        y: "p99 latency over that of running alone",
        logarithmic: false,
        ceiling: CEILING,
        goal: Some(GOAL),
        series: &series,
    }
    .svg()
}
