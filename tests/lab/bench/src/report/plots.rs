// SPDX-License-Identifier: GPL-2.0-only
//! The plots, as SVG, with the model's parameters in their titles.

use std::path::Path;

use anyhow::Result;
use gpreempt_simulator::plot::{bars, lines, Axes, Group, Series};

use super::{cases, contenders, Figures};
use crate::contender::Contender;
use crate::plan::Part;
use crate::results::{Conditions, Results};
use crate::statistics::{distribution, Spread};

const GOAL_P99: f64 = 1.05;
/// Bars beyond that are cut off, and say their value.
const CEILING_P99: f64 = 5.0;
const CEILING_THROUGHPUT: f64 = 150.0;

pub fn write(results: &Results, output: &Path) -> Result<()> {
    let facts = facts(&results.conditions);
    contest(results, &facts, output)?;
    distributions(results, &facts, output)?;
    for part in [
        Part::Preparation,
        Part::Rate,
        Part::Poll,
        Part::State,
        Part::Queues,
    ] {
        sweep(results, part, &facts, output)?;
    }
    Ok(())
}

/// The model's parameters, short enough for a title.
fn facts(conditions: &Conditions) -> String {
    if conditions.model.is_empty() {
        return conditions.gpu.clone();
    }
    format!(
        "virtual MI300X: save {:.1} TB/s + {} us, 1:{}, {} x {} ms",
        conditions.save_bytes_per_us as f64 / 1e6,
        conditions.save_fixed_ns / 1_000,
        conditions.dilation,
        conditions.repetitions,
        conditions.duration_ns / 1_000_000
    )
}

/// Latency and throughput of every load under every contender.
fn contest(results: &Results, facts: &str, output: &Path) -> Result<()> {
    let part = Part::Loads.name();
    let names: Vec<Contender> = contenders(results, part)
        .into_iter()
        .filter(|&contender| contender != Contender::Alone)
        .collect();
    let of = |load: &str, contender| Figures::of(results, part, load, contender);
    let group = |base: Contender, value: fn(&Figures) -> Spread, scale: f64| -> Vec<Group> {
        cases(results, part)
            .iter()
            .filter_map(|case| {
                let base = value(&of(&case.load, base)?).median;
                let share = |&contender: &Contender| {
                    of(&case.load, contender).map_or(0.0, |own| scale * value(&own).median / base)
                };
                Some(Group {
                    name: case.load.clone(),
                    values: names.iter().map(share).collect(),
                })
            })
            .collect()
    };
    let labels: Vec<String> = names.iter().map(|name| name.name().to_owned()).collect();
    let latency = group(Contender::Alone, |figures| figures.p99, 1.0);
    if !latency.is_empty() && !labels.is_empty() {
        let title = format!("Urgent p99 over alone; {facts}");
        let path = output.join("latency.svg");
        bars(
            &path,
            &title,
            "times alone",
            &labels,
            &latency,
            CEILING_P99,
            Some(GOAL_P99),
        )?;
    }
    let throughput = group(Contender::Nobody, |figures| figures.throughput, 100.0);
    if !throughput.is_empty() && !labels.is_empty() {
        let title = format!("Requests a second over none; {facts}");
        let path = output.join("throughput.svg");
        bars(
            &path,
            &title,
            "percent",
            &labels,
            &throughput,
            CEILING_THROUGHPUT,
            Some(95.0),
        )?;
    }
    Ok(())
}

/// How long preemptions take, as a distribution for each load and contender.
fn distributions(results: &Results, facts: &str, output: &Path) -> Result<()> {
    let part = Part::Loads.name();
    for case in cases(results, part) {
        let series: Vec<Series> = contenders(results, part)
            .into_iter()
            .filter_map(|contender| {
                let figures = Figures::of(results, part, &case.load, contender)?;
                let totals: Vec<u64> = figures.preemptions.iter().map(|one| one.total).collect();
                let points: Vec<(f64, f64)> = distribution(&totals)
                    .into_iter()
                    .map(|(nanos, percent)| (nanos / 1e3, percent))
                    .collect();
                (points.len() > 1).then(|| Series {
                    name: contender.name().into(),
                    points,
                })
            })
            .collect();
        if series.is_empty() {
            continue;
        }
        let title = format!("Load {}: preemptions; {facts}", case.load);
        let axes = Axes {
            title: &title,
            x: "microseconds from the command to the first urgent workgroup",
            y: "percent of preemptions",
            logarithmic: true,
            goal: None,
        };
        lines(
            &output.join(format!("preemption-{}.svg", case.load)),
            axes,
            &series,
        )?;
    }
    Ok(())
}

fn sweep(results: &Results, part: Part, facts: &str, output: &Path) -> Result<()> {
    let name = part.name();
    let (what, x) = match part {
        Part::Preparation => ("preparation time", "microseconds"),
        Part::Rate => ("rate of urgent requests", "requests a second"),
        Part::Poll => ("poll interval", "microseconds"),
        Part::State => ("state", "vector registers of a kernel"),
        _ => ("queues", "queues"),
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
        return Ok(());
    }
    let title = format!("Urgent p99 by {what}; {facts}");
    let axes = Axes {
        title: &title,
        x,
        y: "milliseconds",
        logarithmic: matches!(part, Part::Poll | Part::Queues | Part::State),
        goal: None,
    };
    lines(&output.join(format!("{name}.svg")), axes, &series)
}

#[cfg(test)]
mod tests {
    use super::super::tests::results;
    use super::*;
    use std::fs;

    #[test]
    fn every_picture_says_what_the_model_is() {
        let directory = tempfile::tempdir().unwrap();
        let mut results = results();
        results.conditions.model = vec!["a fact".into()];
        write(&results, directory.path()).unwrap();
        let mut names = Vec::new();
        for entry in fs::read_dir(directory.path()).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.contains("5.3 TB/s"), "{}", path.display());
            names.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
        names.sort();
        assert_eq!(names, ["latency.svg", "preemption-A.svg", "throughput.svg"]);
    }

    #[test]
    fn a_sweep_is_drawn_over_what_it_varies() {
        let directory = tempfile::tempdir().unwrap();
        let mut results = results();
        for (at, record) in results.records.iter_mut().enumerate() {
            record.part = "poll".into();
            record.load = format!("L{at}");
            record.x = Some(10.0 * (at + 1) as f64);
        }
        write(&results, directory.path()).unwrap();
        assert!(directory.path().join("poll.svg").exists());
        assert!(!directory.path().join("latency.svg").exists());
    }

    #[test]
    fn without_results_nothing_is_drawn() {
        let directory = tempfile::tempdir().unwrap();
        write(&Results::default(), directory.path()).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
