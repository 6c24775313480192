// SPDX-License-Identifier: GPL-2.0-only
//! Tables and plots of the benchmark's results.

mod conditions;
mod plots;
mod simulator;
mod tables;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use gpreempt_plot::Picture;

use crate::contender::Contender;
use crate::measurement::Measurement;
use crate::results::{Outcome, Record, Results};
use crate::split::Split;
use crate::statistics::{percentile, Spread};

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
    for Record { name, .. } in results
        .records
        .iter()
        .filter(|record| record.name.part == part)
    {
        let case = Case {
            load: name.load.clone(),
            x: name.x,
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
            .any(|Record { name, .. }| name.part == part && name.contender == contender.name())
    };
    Contender::ALL.into_iter().filter(ran).collect()
}

/// What several runs of a contender under a load gave.
struct Figures {
    p50: Spread,
    p99: Spread,
    p999: Spread,
    /// The p99, and what each request took more than the same request alone, in
    /// microseconds at the median and at the p99; of the same requests, run by run.
    beside_alone: Option<BesideAlone>,
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
}

/// How the urgent requests did in comparison with the same requests alone.
#[derive(Clone, Copy)]
struct BesideAlone {
    /// The p99, as a multiple.
    over: Spread,
    /// What a request took longer, in microseconds.
    added_p50: Spread,
    added_p99: Spread,
}

impl Figures {
    fn of(results: &Results, part: &str, load: &str, contender: Contender) -> Option<Figures> {
        let runs: Vec<&Measurement> = results
            .of(part, load, contender.name())
            .map(|(_, run)| run)
            .collect();
        let latencies: Vec<Vec<u64>> = runs.iter().map(|run| run.all_latencies()).collect();
        let spread = |of: fn(&Measurement) -> f64| Spread::of(runs.iter().map(|run| of(run)));
        let rates = runs
            .iter()
            .map(|run| run.transactions as f64 * 1e9 / run.duration_ns as f64);
        let (redone, executed) = runs.iter().fold((0, 0), |(redone, executed), run| {
            (redone + run.redone, executed + run.executed)
        });
        Some(Figures {
            p50: percentile(&latencies, 500, millis)?,
            p99: percentile(&latencies, 990, millis)?,
            p999: percentile(&latencies, 999, millis)?,
            beside_alone: beside_alone(results, part, load, contender),
            throughput: spread(Measurement::throughput)?,
            others: spread(others)?,
            requests: latencies.iter().map(Vec::len).sum(),
            lost: runs.iter().map(|run| run.lost).sum(),
            repeated: runs.iter().map(|run| run.repeated).sum(),
            redone: redone as f64 / (executed + redone).max(1) as f64,
            processor: Spread::of(runs.iter().filter_map(|run| run.processor)),
            transactions: Spread::of(rates)?,
            preemptions: runs
                .iter()
                .flat_map(|run| run.preemptions.iter().copied())
                .collect(),
        })
    }
}

/// Compares each run with the one of the same seed alone. Of a client that was not served to
/// its end there are the requests up to there.
fn beside_alone(
    results: &Results,
    part: &str,
    load: &str,
    contender: Contender,
) -> Option<BesideAlone> {
    let alone: BTreeMap<u64, &Measurement> =
        results.of(part, load, Contender::Alone.name()).collect();
    let pairs: Vec<(&Measurement, &Measurement)> = results
        .of(part, load, contender.name())
        .filter_map(|(seed, run)| Some((run, *alone.get(&seed)?)))
        .collect();
    let p99 = |runs: &[Vec<u64>]| Some(percentile(runs, 990, |time| time as f64)?.value);
    let ratio = |pairs: &[(&Measurement, &Measurement)]| {
        let own: Vec<_> = pairs.iter().map(|pair| pair.0.all_latencies()).collect();
        let alone: Vec<_> = pairs.iter().map(|pair| pair.1.all_latencies()).collect();
        Some(p99(&own)? / p99(&alone)?)
    };
    let each = pairs.chunks(1).filter_map(ratio);
    let added: Vec<Vec<i64>> = pairs.iter().map(|(run, alone)| added(run, alone)).collect();
    let micros = |nanos: i64| nanos as f64 / 1e3;
    Some(BesideAlone {
        over: Spread::around(ratio(&pairs)?, each)?,
        added_p50: percentile(&added, 500, micros)?,
        added_p99: percentile(&added, 990, micros)?,
    })
}

/// What each request took more than the same request alone, in nanoseconds.
fn added(run: &Measurement, alone: &Measurement) -> Vec<i64> {
    let of_client = |(client, times): (&String, &Vec<u64>)| {
        let alone = alone.latencies.get(client).into_iter().flatten();
        let pairs = times.iter().zip(alone);
        let added = pairs.map(|(&own, &alone)| own as i64 - alone as i64);
        added.collect::<Vec<_>>()
    };
    run.latencies.iter().flat_map(of_client).collect()
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

/// The urgent client whose p99 is longest beside its own alone.
fn worst_client(results: &Results, part: &str, load: &str, contender: Contender) -> Option<f64> {
    let times = |contender: Contender| {
        let mut all: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (_, run) in results.of(part, load, contender.name()) {
            for (client, times) in &run.latencies {
                all.entry(client).or_default().extend(times);
            }
        }
        all
    };
    let alone = times(Contender::Alone);
    times(contender)
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
    use crate::results::{Conditions, Name, SCHEMA};

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
        let record = |load: &str, contender: &str, seed, outcome| Record {
            name: Name {
                part: "loads".into(),
                load: load.into(),
                x: None,
                contender: contender.into(),
                seed,
            },
            outcome,
        };
        Results {
            schema: SCHEMA,
            conditions: Conditions {
                gpu: "virtual".into(),
                save_bytes_per_us: 5_300_000,
                save_fixed_ns: 5_000,
                poll_interval_us: 100,
                ..Conditions::default()
            },
            records: vec![
                record("A", "alone", 1, measured(2_000_000, 0.0)),
                record("A", "alone", 2, measured(2_500_000, 0.0)),
                record("A", "classes", 1, measured(8_000_000, 50.0)),
                record("A", "strict", 1, measured(3_000_000, 30.0)),
                record("A", "strict", 2, measured(5_000_000, 40.0)),
                record("D", "strict", 1, Outcome::Failed("no luck".into())),
            ],
            ..Results::default()
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
        assert_eq!(names, ["alone", "classes", "strict"]);
        assert!(cases(&results, "poll").is_empty());
    }

    #[test]
    fn latencies_are_of_all_runs_together_and_rates_their_median() {
        let results = results();
        let strict = Contender::by_name("strict").unwrap();
        let figures = Figures::of(&results, "loads", "A", strict).unwrap();
        assert_eq!(figures.p99.text(1), "5.0 (3.0 to 5.0)");
        assert_eq!(figures.requests, 4);
        assert_eq!(figures.others.value, 35.0);
        assert_eq!(figures.throughput.value, 135.0);
        assert_eq!(figures.transactions.value, 8.0);
        assert_eq!(figures.redone, 0.1);
        assert_eq!(figures.preemptions.len(), 2);
        assert!(Figures::of(&results, "loads", "D", strict).is_none());
    }

    #[test]
    fn requests_are_compared_with_the_same_ones_alone() {
        let mut results = results();
        let strict = Contender::by_name("strict").unwrap();
        let of = |results: &Results| beside_alone(results, "loads", "A", strict);
        let beside = of(&results).unwrap();
        // 3 over 2 ms and 5 over 2.5.
        assert_eq!(beside.over.text(2), "2.00 (1.50 to 2.00)");
        assert_eq!(beside.added_p50.text(0), "0");
        assert_eq!(beside.added_p99.text(0), "2500 (1000 to 2500)");

        // A run whose seed did not run alone is compared with nothing.
        results.records.retain(|record| {
            record.name
                != (Name {
                    seed: 2,
                    contender: "alone".into(),
                    ..record.name.clone()
                })
        });
        assert_eq!(of(&results).unwrap().over.text(2), "1.50");
        results
            .records
            .retain(|record| record.name.contender != "alone");
        assert!(of(&results).is_none());
    }

    #[test]
    fn a_client_that_was_not_served_is_compared_as_far_as_it_was() {
        let run = |times: &[u64]| {
            let mut run = Measurement::default();
            run.latencies.insert("a".into(), times.to_vec());
            run
        };
        assert_eq!(added(&run(&[5, 3]), &run(&[1, 4, 9])), [4, -1]);
        assert!(added(&run(&[]), &run(&[1])).is_empty());
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
        assert_eq!(figures.transactions.value, 2.0);
    }

    #[test]
    fn the_worst_client_is_compared_with_itself() {
        let results = results();
        let strict = Contender::by_name("strict").unwrap();
        assert_eq!(worst_client(&results, "loads", "A", strict), Some(2.0));
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
        assert!(in_short(&results.records[2].outcome).contains("p99 8.00 ms"));
        assert_eq!(in_short(&results.records[5].outcome), "failed: no luck");
        let empty = Outcome::Measured(Box::default());
        assert!(in_short(&empty).contains("no urgent request"));
    }
}
