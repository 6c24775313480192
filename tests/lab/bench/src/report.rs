// SPDX-License-Identifier: GPL-2.0-only
//! Tables and plots of the benchmark's results.

mod conditions;
mod plots;
mod tables;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use gpreempt_plot::Picture;

use crate::contender::Contender;
use crate::doorbells::Doorbells;
use crate::measurement::{punctual, Measurement};
use crate::results::{Outcome, Results};
use crate::split::Split;
use crate::statistics::Spread;

/// The tables and the pictures, as file names and what belongs into each file.
fn files(results: &Results) -> Vec<Picture> {
    let tables = ("results.md".to_owned(), tables::document(results));
    std::iter::once(tables)
        .chain(plots::pictures(results))
        .collect()
}

/// Writes the tables and the pictures.
pub fn write(results: &Results, output: &Path) -> Result<()> {
    for (name, text) in files(results) {
        let path = output.join(name);
        fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// A run in a few words, for the terminal.
pub fn in_short(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failed(why) => format!("failed: {why}"),
        Outcome::Measured(measurement) => match measurement.latency() {
            None => "no urgent request was answered".into(),
            Some(latency) => format!(
                "{} urgent requests, p99 {:.2} ms; {:.0} requests/s; {} preemptions",
                latency.count,
                millis(latency.p99),
                measurement.throughput(),
                measurement.preemptions.len()
            ),
        },
    }
}

fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// For how long urgent requests arrived in the runs of a part, or of all, in words.
fn durations(results: &Results, part: Option<&str>) -> String {
    let durations = results.durations(part);
    let [least, most] = [durations.start(), durations.end()].map(|nanos| nanos / 1_000_000);
    if least == most {
        format!("{most} ms")
    } else {
        format!("{least} to {most} ms")
    }
}

/// A load of a part, with what a sweep varies.
#[derive(Clone, Debug, PartialEq)]
struct Case {
    load: String,
    x: Option<f64>,
}

/// The loads of a part, in the order of their first run.
fn cases(results: &Results, part: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for record in results.records.iter().filter(|record| record.part == part) {
        let case = Case {
            load: record.load.clone(),
            x: record.x,
        };
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    cases
}

/// The contenders of a part, in the order of [`Contender::ALL`].
fn contenders(results: &Results, part: &str) -> Vec<Contender> {
    let ran = |contender: &Contender| {
        results
            .records
            .iter()
            .any(|record| record.part == part && record.contender == contender.name())
    };
    Contender::ALL.into_iter().filter(ran).collect()
}

/// KFD as it is: with one priority for all, unless a load ran with those of the queues alone.
/// All loads of a part are compared with the same.
fn baseline(results: &Results, part: &str) -> Contender {
    let ran = |case: &Case, contender: Contender| {
        let mut runs = results.of(part, &case.load, contender.name());
        runs.next().is_some()
    };
    let missing = |case: &Case| ran(case, Contender::Classes) && !ran(case, Contender::Nobody);
    let somewhere = contenders(results, part).contains(&Contender::Nobody);
    if somewhere && !cases(results, part).iter().any(missing) {
        Contender::Nobody
    } else {
        Contender::Classes
    }
}

/// What several runs of a contender under a load gave.
struct Figures {
    p50: Spread,
    p99: Spread,
    p999: Spread,
    /// The p99 without what the clients were late, where every run says it.
    punctual: Option<Spread>,
    /// Requests a second.
    throughput: Spread,
    others: Spread,
    requests: usize,
    lost: u64,
    repeated: u64,
    /// Workgroups done in vain, as a part of all that were done.
    redone: f64,
    processor: Option<Spread>,
    transactions: Spread,
    preemptions: Vec<Split>,
    doorbells: Option<Doorbells>,
}

impl Figures {
    fn of(results: &Results, part: &str, load: &str, contender: Contender) -> Option<Figures> {
        let runs: Vec<&Measurement> = results.of(part, load, contender.name()).collect();
        let latencies: Vec<_> = runs.iter().filter_map(|run| run.latency()).collect();
        let punctual: Option<Vec<f64>> = runs
            .iter()
            .map(|run| Some(millis(run.punctual()?.p99)))
            .collect();
        let spread = |of: fn(&Measurement) -> f64| Spread::of(runs.iter().map(|run| of(run)));
        let rates = runs
            .iter()
            .map(|run| run.transactions as f64 * 1e9 / run.duration_ns as f64);
        let (redone, executed) = runs.iter().fold((0, 0), |(redone, executed), run| {
            (redone + run.redone, executed + run.executed)
        });
        Some(Figures {
            p50: Spread::of(latencies.iter().map(|latency| millis(latency.p50)))?,
            p99: Spread::of(latencies.iter().map(|latency| millis(latency.p99)))?,
            p999: Spread::of(latencies.iter().map(|latency| millis(latency.p999)))?,
            punctual: punctual.and_then(Spread::of),
            throughput: spread(Measurement::throughput)?,
            others: spread(others)?,
            requests: latencies.iter().map(|latency| latency.count).sum(),
            lost: runs.iter().map(|run| run.lost).sum(),
            repeated: runs.iter().map(|run| run.repeated).sum(),
            redone: redone as f64 / (executed + redone).max(1) as f64,
            processor: Spread::of(runs.iter().filter_map(|run| run.processor)),
            transactions: Spread::of(rates)?,
            preemptions: runs
                .iter()
                .flat_map(|run| run.preemptions.iter().copied())
                .collect(),
            doorbells: runs
                .iter()
                .filter_map(|run| run.doorbells)
                .reduce(Doorbells::and),
        })
    }
}

/// The p99 of one beside another's, on time where both say it.
fn over(own: &Figures, other: &Figures) -> f64 {
    match (own.punctual, other.punctual) {
        (Some(own), Some(other)) => own.median / other.median,
        _ => own.p99.median / other.p99.median,
    }
}

/// Requests a second of the clients that are not urgent.
fn others(measurement: &Measurement) -> f64 {
    measurement
        .rates
        .iter()
        .filter(|(name, _)| !measurement.latencies.contains_key(*name))
        .map(|(_, rate)| rate)
        .sum()
}

/// The urgent client whose p99 is longest beside its own alone, both without what it was
/// late, where that is known.
fn worst_client(results: &Results, part: &str, load: &str, contender: Contender) -> Option<f64> {
    let p99 = |contender: Contender| {
        let mut all: std::collections::BTreeMap<&str, Vec<u64>> = Default::default();
        for run in results.of(part, load, contender.name()) {
            for (client, times) in &run.latencies {
                let late = run.late.get(client);
                let times = late.and_then(|late| punctual(times, late));
                let times = times.unwrap_or_else(|| run.latencies[client].clone());
                all.entry(client).or_default().extend(times);
            }
        }
        all
    };
    let alone = p99(Contender::Alone);
    p99(contender)
        .iter()
        .filter_map(|(client, times)| {
            let here = gpu_workload::latency::summary(times)?.p99;
            let there = gpu_workload::latency::summary(alone.get(client)?)?.p99;
            Some(here as f64 / there as f64)
        })
        .reduce(f64::max)
}

/// What bounds a preemption from below: the bytes over the bandwidth with the
/// fixed part, one round trip to a register, and half a poll interval.
fn floor(results: &Results, bytes: u64) -> f64 {
    /// The virtual GPU notices a register write after that.
    const ROUND_TRIP_NS: f64 = 1_000.0;
    let conditions = &results.conditions;
    let save = bytes as f64 * 1e3 / conditions.save_bytes_per_us.max(1) as f64;
    save + conditions.save_fixed_ns as f64
        + ROUND_TRIP_NS
        + f64::from(conditions.poll_interval_us) * 1e3 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Conditions, Record, SCHEMA};

    /// Two contenders in two runs each, and one that failed.
    pub(super) fn results() -> Results {
        let measured = |p99: u64, others: f64| {
            let mut run = Measurement {
                executed: 90,
                redone: 10,
                transactions: 4,
                duration_ns: 500_000_000,
                processor: Some(0.25),
                ..Measurement::default()
            };
            run.latencies.insert("vgg".into(), vec![1_000_000, p99]);
            run.rates.insert("vgg".into(), 100.0);
            run.rates.insert("resnet".into(), others);
            run.preemptions.push(Split {
                detection: Some(20_000),
                command: Some(2_000),
                unmap: 10_000,
                total: 50_000,
                bytes: 5_300_000,
                ..Split::default()
            });
            Outcome::Measured(Box::new(run))
        };
        let record = |load: &str, contender: &str, repetition, outcome| Record {
            part: "loads".into(),
            load: load.into(),
            x: None,
            contender: contender.into(),
            repetition,
            settings: None,
            outcome,
        };
        Results {
            schema: SCHEMA,
            conditions: Conditions {
                gpu: "virtual".into(),
                duration_ns: 500_000_000,
                repetitions: 2,
                save_bytes_per_us: 5_300_000,
                save_fixed_ns: 5_000,
                poll_interval_us: 100,
                ..Conditions::default()
            },
            records: vec![
                record("A", "none", 0, measured(8_000_000, 50.0)),
                record("A", "alone", 0, measured(2_000_000, 0.0)),
                record("A", "strict", 0, measured(3_000_000, 30.0)),
                record("A", "strict", 1, measured(5_000_000, 40.0)),
                record("D", "strict", 0, Outcome::Failed("no luck".into())),
            ],
        }
    }

    #[test]
    fn the_committed_tables_and_pictures_are_of_the_committed_results() {
        let folder = Path::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../../docs/benchmarks"
        ));
        let results = Results::read(&folder.join("results.json")).unwrap();
        let files = files(&results);
        for (name, text) in &files {
            let committed = fs::read_to_string(folder.join(name)).unwrap_or_default();
            assert!(
                committed == *text,
                "docs/benchmarks/{name} is out of date: run 'scripts/guest/bench report \
                 docs/benchmarks/results.json --output docs/benchmarks'"
            );
        }
        for entry in fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(
                !name.ends_with(".svg") || files.iter().any(|file| file.0 == name),
                "nothing draws docs/benchmarks/{name}"
            );
        }
    }

    #[test]
    fn loads_and_contenders_are_listed_once_and_in_order() {
        let results = results();
        let loads: Vec<String> = cases(&results, "loads")
            .into_iter()
            .map(|c| c.load)
            .collect();
        assert_eq!(loads, ["A", "D"]);
        let names: Vec<&str> = contenders(&results, "loads")
            .iter()
            .map(|c| c.name())
            .collect();
        assert_eq!(names, ["alone", "none", "strict"]);
        assert!(cases(&results, "poll").is_empty());
    }

    #[test]
    fn figures_are_medians_over_runs() {
        let results = results();
        let strict = Contender::by_name("strict").unwrap();
        let figures = Figures::of(&results, "loads", "A", strict).unwrap();
        assert_eq!(figures.p99.text(1), "4.0 (3.0-5.0)");
        assert_eq!(figures.requests, 4);
        assert_eq!(figures.others.median, 35.0);
        assert_eq!(figures.throughput.median, 135.0);
        assert_eq!(figures.transactions.median, 8.0);
        assert_eq!(figures.redone, 0.1);
        assert_eq!(figures.preemptions.len(), 2);
        assert!(Figures::of(&results, "loads", "D", strict).is_none());
    }

    #[test]
    fn all_loads_are_compared_with_a_contender_that_ran_on_all_of_them() {
        let mut results = results();
        assert_eq!(baseline(&results, "loads"), Contender::Nobody);
        let classes = |load: &str| Record {
            load: load.into(),
            contender: "classes".into(),
            ..results.records[0].clone()
        };
        let (on_a, on_b) = (classes("A"), classes("B"));
        results.records.push(on_a);
        assert_eq!(baseline(&results, "loads"), Contender::Nobody);
        results.records.push(on_b);
        assert_eq!(baseline(&results, "loads"), Contender::Classes);
        assert_eq!(baseline(&results, "rate"), Contender::Classes);
    }

    #[test]
    fn transactions_a_second_are_of_the_run_s_own_length() {
        let mut results = results();
        for record in &mut results.records {
            if let Outcome::Measured(run) = &mut record.outcome {
                run.duration_ns = 2_000_000_000;
            }
        }
        let strict = Contender::by_name("strict").unwrap();
        let figures = Figures::of(&results, "loads", "A", strict).unwrap();
        assert_eq!(figures.transactions.median, 2.0);
    }

    #[test]
    fn the_worst_client_is_compared_with_itself() {
        let results = results();
        let strict = Contender::by_name("strict").unwrap();
        assert_eq!(worst_client(&results, "loads", "A", strict), Some(2.5));
        assert_eq!(worst_client(&results, "loads", "D", strict), None);
    }

    #[test]
    fn the_floor_is_save_round_trip_and_half_a_poll() {
        // 5.3 MB are 1 us; 5 + 1 + 50 besides.
        assert_eq!(floor(&results(), 5_300_000), 57_000.0);
    }

    #[test]
    fn a_run_is_told_in_short() {
        let results = results();
        assert!(in_short(&results.records[0].outcome).contains("p99 8.00 ms"));
        assert_eq!(in_short(&results.records[4].outcome), "failed: no luck");
        let empty = Outcome::Measured(Box::default());
        assert!(in_short(&empty).contains("no urgent request"));
    }
}
