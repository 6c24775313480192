// SPDX-License-Identifier: GPL-2.0-only

//! The pictures of docs/simulation. They are drawn from the figures that are
//! written there as JSON and from nothing else, so that they can be drawn anew
//! without a simulation, and compared with what was committed.

use crate::documented::{nodes, MicroPoint, MICRO_POLICIES};
use crate::policies::Policy;
use crate::report::Comparison;
use crate::summary::Summary;
use anyhow::{Context, Result};
use gpreempt_plot::bars::{Bar, Bars, Panel};
use gpreempt_plot::lines::{Lines, Series};
use gpreempt_plot::Picture;
use serde::de::DeserializeOwned;
use std::path::Path;

/// What the urgent p99 over running alone shall not exceed.
const GOAL: f64 = 1.05;
/// Lines leave the frame there, and bars at a larger value, since few do.
const CEILING: f64 = 2.0;
const CEILING_OF_BARS: f64 = 3.0;
const CEILING_OF_THROUGHPUT: f64 = 150.0;

const TIMES_ALONE: &str = "p99 latency over that of running alone";
const OF_BARS: &str = "Dark bars: this module's policies. Pale bars: what they are compared with.";
const OF_BROKEN_BARS: &str =
    "Dashed line: the goal. A broken bar is longer than shown; its value is in bold type.";

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
    let panels = |value: fn(&Comparison, &Summary) -> f64| -> Vec<Panel> {
        let panel = |comparison: &Comparison| Panel {
            name: format!("Workload {}", comparison.alone.workload),
            bars: Policy::NAMES
                .iter()
                .map(|&name| Bar {
                    name: name.into(),
                    value: comparison.of(name).map(|own| value(comparison, own)),
                    dark: matches!(Policy::by_name(name, &[]), Ok(Policy::Module { .. })),
                })
                .collect(),
        };
        comparisons.iter().map(panel).collect()
    };
    let node = match gpu {
        "mi300x-spx" => "Whole MI300X (SPX)",
        "mi300x-cpx" => "One partition of an MI300X (CPX)",
        other => other,
    };
    let latency = Bars {
        title: &format!("{node}: urgent p99 latency, as a multiple of running alone"),
        notes: &[OF_BARS, OF_BROKEN_BARS],
        quantity: "p99 latency of urgent requests over that of running alone (goal: at most 1.05)",
        panels: &panels(|comparison, own| own.p99_over(&comparison.alone).0),
        ceiling: CEILING_OF_BARS,
        goal: Some(GOAL),
        decimals: 3,
    };
    let throughput = Bars {
        title: &format!("{node}: requests a second, as a share of those without preemption"),
        notes: &[OF_BARS],
        quantity: "completed requests a second, percent of those under none",
        panels: &panels(|comparison, own| 100.0 * comparison.throughput(own)),
        ceiling: CEILING_OF_THROUGHPUT,
        goal: None,
        decimals: 1,
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
        y: TIMES_ALONE,
        logarithmic: false,
        ceiling: Some(CEILING),
        goal: Some(GOAL),
        mark: None,
        decimals: 2,
        series: &series,
    }
    .svg()
}
