// SPDX-License-Identifier: GPL-2.0-only
//! The pictures of the results, with the model's parameters below their titles.

use std::collections::BTreeSet;

use gpreempt_plot::{Axis, Lines, Mark, Panel, Panels, Picture, Row, Series};

use super::{cases, contenders, durations, Case, Figures};
use gpu_workload::latency::summary;

use crate::contender::Contender;
use crate::part::Part;
use crate::results::Results;

const GOAL_P99: f64 = 1.05;
const GOAL_THROUGHPUT: f64 = 95.0;
/// Axes end there.
const CEILING_P99: f64 = 5.0;
const CEILING_THROUGHPUT: f64 = 150.0;

const OF_BARS: &str = "Dark bars: this module. Pale bars: other ways to schedule. \
    Vertical line: the goal. A bar beyond the axis ends at the frame.";
const OF_SPREADS: &str = "A bar goes from the shortest to the p99, and a line on to the longest. \
    Black stroke: the median, which stands beside it with the count.";

/// Every picture that the results allow.
pub fn pictures(results: &Results) -> Vec<Picture> {
    let whole = [latency, throughput, preemptions];
    let mut pictures: Vec<Picture> = whole.iter().filter_map(|of| of(results)).collect();
    let sweeps = [
        Part::Preparation,
        Part::Rate,
        Part::Poll,
        Part::State,
        Part::Queues,
    ];
    pictures.extend(sweeps.into_iter().filter_map(|part| sweep(results, part)));
    pictures
}

/// What a part was run on, and how often.
fn facts(results: &Results, part: Part) -> String {
    let conditions = &results.conditions;
    if conditions.model.is_empty() {
        return conditions.gpu.clone();
    }
    let seeds: BTreeSet<u64> = results
        .records
        .iter()
        .filter(|record| record.name.part == part.name())
        .map(|record| record.name.seed)
        .collect();
    let runs = match seeds.len() {
        1 => "1 run".to_owned(),
        more => format!("{more} runs"),
    };
    format!(
        "Virtual MI300X: saves at {:.1} TB/s and {} us each, time dilated 1:{}, {runs} of {}.",
        conditions.save_bytes_per_us as f64 / 1e6,
        conditions.save_fixed_ns / 1_000,
        conditions.dilation,
        durations(results, Some(part.name()))
    )
}

/// The urgent p99 of every load under every contender.
fn latency(results: &Results) -> Option<Picture> {
    let panels = of_loads(results, |contender, own, _| {
        Some(bar(contender, own.beside_alone?.over.value, 2))
    });
    picture(
        "latency.svg",
        Panels {
            title: "Urgent p99 latency, as a multiple of running alone",
            notes: &[OF_BARS, &facts(results, Part::Loads)],
            quantity:
                "p99 latency of urgent requests over that of running alone (goal: at most 1.05)",
            panels: &panels,
            axis: Axis::UpTo(CEILING_P99),
            goal: Some(GOAL_P99),
        },
    )
}

/// The throughput of every load under every contender.
fn throughput(results: &Results) -> Option<Picture> {
    let panels = of_loads(results, |contender, own, classes| {
        let share = 100.0 * own.throughput.value / classes?.throughput.value;
        Some(bar(contender, share, 1))
    });
    let quantity =
        "completed requests a second, percent of those of KFD as it is (goal: at least 95)";
    picture(
        "throughput.svg",
        Panels {
            title: "Requests a second, as a share of those of KFD as it is",
            notes: &[OF_BARS, &facts(results, Part::Loads)],
            quantity,
            panels: &panels,
            axis: Axis::UpTo(CEILING_THROUGHPUT),
            goal: Some(GOAL_THROUGHPUT),
        },
    )
}

/// How long preemptions took under every load that has seen some.
fn preemptions(results: &Results) -> Option<Picture> {
    let panels = of_loads(results, |contender, own, _| {
        let totals = own.preemptions.iter().map(|one| one.total);
        let totals: Vec<u64> = totals.filter(|total| *total > 0).collect();
        let total = summary(&totals)?;
        let micros = |nanos: u64| nanos as f64 / 1e3;
        Some(Row {
            name: contender.name().into(),
            mark: Mark::Spread([total.min, total.p50, total.p99, total.max].map(micros)),
            figures: format!("{:.0} ({})", micros(total.p50), total.count),
            dark: contender.is_module(),
        })
    });
    picture(
        "preemption.svg",
        Panels {
            title: "How long preemptions took",
            notes: &[OF_SPREADS, &facts(results, Part::Loads)],
            quantity: "microseconds of GPU time from the command to the first urgent workgroup",
            panels: &panels,
            axis: Axis::Ratios(&[10.0, 30.0, 100.0, 300.0, 1000.0]),
            goal: None,
        },
    )
}

/// None where there is nothing to show.
fn picture(name: &str, of: Panels) -> Option<Picture> {
    (!of.panels.is_empty()).then(|| (name.into(), of.svg()))
}

fn bar(contender: Contender, value: f64, decimals: usize) -> Row {
    Row {
        name: contender.name().into(),
        mark: Mark::Bar(value),
        figures: format!("{value:.decimals$}"),
        dark: contender.is_module(),
    }
}

/// A panel for each load: a row for each contender, made of its figures and those of KFD with
/// its classes.
fn of_loads(
    results: &Results,
    row: impl Fn(Contender, &Figures, Option<&Figures>) -> Option<Row>,
) -> Vec<Panel> {
    let part = Part::Loads.name();
    let panel = |case: Case| {
        let of = |contender| Figures::of(results, part, &case.load, contender);
        let classes = of(Contender::Classes);
        let rows = contenders(results, part)
            .into_iter()
            .filter(|&contender| contender != Contender::Alone)
            .filter_map(|one| row(one, &of(one)?, classes.as_ref()));
        Panel {
            name: format!("Load {}", case.load),
            rows: rows.collect(),
        }
    };
    let panels = cases(results, part).into_iter().map(panel);
    panels.filter(|panel| !panel.rows.is_empty()).collect()
}

/// The urgent p99 over what a part varies.
fn sweep(results: &Results, part: Part) -> Option<Picture> {
    let name = part.name();
    let (title, x) = match part {
        Part::Preparation => (
            "Load A: urgent p99 latency by preparation time",
            "the host's work between arrival and doorbell (microseconds)",
        ),
        Part::Rate => (
            "Load A: urgent p99 latency by request rate",
            "urgent requests a second",
        ),
        Part::Poll => (
            "Load L: urgent p99 latency by poll interval",
            "poll_interval_us (microseconds)",
        ),
        Part::State => (
            "Load L: urgent p99 latency by the state to be saved",
            "vector registers of a best-effort kernel",
        ),
        _ => ("Urgent p99 latency by the number of queues", "queues"),
    };
    let series: Vec<Series> = contenders(results, name)
        .into_iter()
        .map(|contender| Series {
            name: contender.name().into(),
            points: cases(results, name)
                .iter()
                .filter_map(|case| {
                    let figures = Figures::of(results, name, &case.load, contender)?;
                    Some((case.x?, figures.p99.value))
                })
                .collect(),
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    if series.is_empty() {
        return None;
    }
    let lines = Lines {
        title,
        notes: &[&facts(results, part)],
        x,
        y: "p99 latency (milliseconds of GPU time)",
        logarithmic: matches!(part, Part::Poll | Part::Queues | Part::State),
        ceiling: f64::INFINITY,
        goal: None,
        series: &series,
    };
    Some((format!("{name}.svg"), lines.svg()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::results;
    use super::*;

    fn names(results: &Results) -> Vec<String> {
        let mut names: Vec<String> = pictures(results).into_iter().map(|one| one.0).collect();
        names.sort();
        names
    }

    #[test]
    fn every_picture_says_what_the_model_is() {
        let mut results = results();
        results.conditions.model = vec!["a fact".into()];
        for (name, text) in pictures(&results) {
            assert!(text.contains("5.3 TB/s and 5 us each"), "{name}");
            assert!(text.contains("2 runs of 500 ms"), "{name}");
        }
        assert_eq!(
            names(&results),
            ["latency.svg", "preemption.svg", "throughput.svg"]
        );
    }

    #[test]
    fn a_load_without_any_run_has_no_panel() {
        let panels = of_loads(&results(), |contender, own, _| {
            Some(bar(contender, own.p99.value, 1))
        });
        assert_eq!(panels.len(), 1);
        assert_eq!(panels[0].name, "Load A");
        let rows: Vec<(&str, &str, bool)> = panels[0]
            .rows
            .iter()
            .map(|row| (row.name.as_str(), row.figures.as_str(), row.dark))
            .collect();
        assert_eq!(rows, [("classes", "8.0", false), ("strict", "5.0", true)]);
    }

    #[test]
    fn a_sweep_is_drawn_over_what_it_varies() {
        let mut results = results();
        for (at, record) in results.records.iter_mut().enumerate() {
            record.name.part = "poll".into();
            record.name.load = format!("L{at}");
            record.name.x = Some(10.0 * (at + 1) as f64);
        }
        assert_eq!(names(&results), ["poll.svg"]);
    }

    #[test]
    fn without_results_nothing_is_drawn() {
        assert!(pictures(&Results::default()).is_empty());
    }
}
