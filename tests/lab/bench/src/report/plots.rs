// SPDX-License-Identifier: GPL-2.0-only
//! The pictures of the results, with the model's parameters below their titles.

use std::collections::BTreeSet;

use gpreempt_plot::bars::{Bar, Bars, Panel};
use gpreempt_plot::lines::{Lines, Series};
use gpreempt_plot::rug::{Row, Rug};
use gpreempt_plot::Picture;

use super::{baseline, cases, contenders, durations, over, Figures};
use crate::contender::Contender;
use crate::plan::Part;
use crate::results::Results;

const GOAL_P99: f64 = 1.05;
const GOAL_THROUGHPUT: f64 = 95.0;
/// Bars beyond that are broken off, and say their value.
const CEILING_P99: f64 = 5.0;
const CEILING_THROUGHPUT: f64 = 150.0;

const OF_BARS: &str =
    "Dark bars: this module. Pale bars: other ways to schedule. Dashed line: the goal. \
    A broken bar is longer than shown; its value is in bold type.";

/// Every picture that the results allow.
pub fn pictures(results: &Results) -> Vec<Picture> {
    let mut pictures: Vec<Picture> = [latency(results), throughput(results)]
        .into_iter()
        .flatten()
        .collect();
    pictures.extend(preemptions(results));
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
    let repetitions: BTreeSet<u32> = results
        .records
        .iter()
        .filter(|record| record.part == part.name())
        .map(|record| record.repetition)
        .collect();
    let runs = match repetitions.len() {
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
    let panels = panels(results, |own, alone, _| Some(over(own, alone?)))?;
    let bars = Bars {
        title: "Urgent p99 latency, as a multiple of running alone",
        notes: &[OF_BARS, &facts(results, Part::Loads)],
        quantity: "p99 latency of urgent requests over that of running alone (goal: at most 1.05)",
        panels: &panels,
        ceiling: CEILING_P99,
        goal: Some(GOAL_P99),
        decimals: 2,
    };
    Some(("latency.svg".into(), bars.svg()))
}

/// The throughput of every load under every contender.
fn throughput(results: &Results) -> Option<Picture> {
    let panels = panels(results, |own, _, nobody| {
        Some(100.0 * own.throughput.median / nobody?.throughput.median)
    })?;
    let bars = Bars {
        title: "Requests a second, as a share of those of KFD as it is",
        notes: &[OF_BARS, &facts(results, Part::Loads)],
        quantity:
            "completed requests a second, percent of those of KFD as it is (goal: at least 95)",
        panels: &panels,
        ceiling: CEILING_THROUGHPUT,
        goal: Some(GOAL_THROUGHPUT),
        decimals: 1,
    };
    Some(("throughput.svg".into(), bars.svg()))
}

/// A panel for each load: what a contender's figures are beside those of alone
/// and of nobody. None where there is nothing to compare.
fn panels(
    results: &Results,
    value: impl Fn(&Figures, Option<&Figures>, Option<&Figures>) -> Option<f64>,
) -> Option<Vec<Panel>> {
    let part = Part::Loads.name();
    let baseline = baseline(results, part);
    let panels: Vec<Panel> = cases(results, part)
        .iter()
        .map(|case| {
            let of = |contender| Figures::of(results, part, &case.load, contender);
            let (alone, nobody) = (of(Contender::Alone), of(baseline));
            let bars = contenders(results, part)
                .into_iter()
                .filter(|&contender| contender != Contender::Alone)
                .map(|contender| Bar {
                    name: contender.name().into(),
                    value: of(contender)
                        .and_then(|own| value(&own, alone.as_ref(), nobody.as_ref())),
                    dark: contender.is_module(),
                });
            Panel {
                name: format!("Load {}", case.load),
                bars: bars.collect(),
            }
        })
        .filter(|panel| panel.bars.iter().any(|bar| bar.value.is_some()))
        .collect();
    (!panels.is_empty()).then_some(panels)
}

/// How long preemptions take, for each load that has seen some.
fn preemptions(results: &Results) -> Vec<Picture> {
    let part = Part::Loads.name();
    let mut pictures = Vec::new();
    for case in cases(results, part) {
        let rows: Vec<Row> = contenders(results, part)
            .into_iter()
            .filter_map(|contender| {
                let figures = Figures::of(results, part, &case.load, contender)?;
                let micros = |nanos: u64| nanos as f64 / 1e3;
                let totals = figures.preemptions.iter().map(|one| micros(one.total));
                Some(Row {
                    name: contender.name().into(),
                    values: totals.filter(|time| *time > 0.0).collect(),
                })
            })
            .filter(|row| !row.values.is_empty())
            .collect();
        // A picture of single preemptions would say no more than the table.
        if rows.iter().all(|row| row.values.len() < 2) {
            continue;
        }
        let rug = Rug {
            title: &format!("Load {}: how long each preemption took", case.load),
            notes: &[
                "Each stroke is one preemption; the wedges above and below a row point at its median.",
                &facts(results, Part::Loads),
            ],
            quantity: "microseconds of GPU time from the command to the first urgent workgroup",
            rows: &rows,
        };
        pictures.push((format!("preemption-{}.svg", case.load), rug.svg()));
    }
    pictures
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
                    Some((case.x?, figures.p99.median))
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
        ceiling: None,
        goal: None,
        mark: None,
        decimals: 2,
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
            ["latency.svg", "preemption-A.svg", "throughput.svg"]
        );
    }

    #[test]
    fn a_load_without_any_run_has_no_panel() {
        let panels = panels(&results(), |own, _, _| Some(own.p99.median)).unwrap();
        assert_eq!(panels.len(), 1);
        assert_eq!(panels[0].name, "Load A");
        let bars: Vec<(&str, bool)> = panels[0]
            .bars
            .iter()
            .map(|bar| (bar.name.as_str(), bar.dark))
            .collect();
        assert_eq!(bars, [("none", false), ("strict", true)]);
    }

    #[test]
    fn a_sweep_is_drawn_over_what_it_varies() {
        let mut results = results();
        for (at, record) in results.records.iter_mut().enumerate() {
            record.part = "poll".into();
            record.load = format!("L{at}");
            record.x = Some(10.0 * (at + 1) as f64);
        }
        assert_eq!(names(&results), ["poll.svg"]);
    }

    #[test]
    fn without_results_nothing_is_drawn() {
        assert!(pictures(&Results::default()).is_empty());
    }
}
