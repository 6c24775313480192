// SPDX-License-Identifier: GPL-2.0-only
//! The benchmark's raw results, as they are kept: one file, written anew after
//! each run, from which tables and plots are made.

use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use anyhow::{ensure, Context, Result};
use serde::{Deserialize, Serialize};

use crate::contender::Contender;
use crate::measurement::Measurement;
use crate::part::Part;
use crate::suite;

pub const SCHEMA: u32 = 4;

/// Where and how the numbers came about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// `virtual` or the name of a real GPU.
    pub gpu: String,
    pub kernel: String,
    /// The commit of the sources, as git describes it.
    pub commit: String,
    /// A digest of the module and of the programs that ran it: results with another one are of
    /// something else.
    pub tested: String,
    /// How much arrives in a run, in words.
    pub extent: String,
    pub dilation: u32,
    /// The model's parameters in words; empty for a real GPU.
    pub model: Vec<String>,
    /// The module's settings, as on hardware.
    pub settings: String,
    pub host: String,
    /// Time of the save of one byte, and what each save takes besides: the floor.
    pub save_bytes_per_us: u64,
    pub save_fixed_ns: u64,
    pub poll_interval_us: u32,
}

impl Conditions {
    /// Whether runs under these and others are of the same. The commit is for the reader: one
    /// that changes no program changes no result.
    pub fn same(&self, other: &Conditions) -> bool {
        let commit = self.commit.clone();
        *self
            == Conditions {
                commit,
                ..other.clone()
            }
    }
}

/// Which run of all it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Name {
    pub part: String,
    pub load: String,
    pub x: Option<f64>,
    pub contender: String,
    /// The seed of its arrivals.
    pub seed: u64,
}

impl Name {
    /// Its place among all: by part, load, point of a sweep, contender and seed.
    fn order(&self) -> (usize, usize, u64, usize, u64) {
        fn place<'n>(mut names: impl Iterator<Item = &'n str>, name: &str) -> usize {
            names.position(|one| one == name).unwrap_or(usize::MAX)
        }
        (
            place(Part::ALL.iter().map(|part| part.name()), &self.part),
            place(suite::names(), &self.load),
            self.x.unwrap_or(0.0).to_bits(),
            place(
                Contender::ALL.iter().map(|contender| contender.name()),
                &self.contender,
            ),
            self.seed,
        )
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    #[serde(flatten)]
    pub name: Name,
    pub outcome: Outcome,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Measured(Box<Measurement>),
    /// The run could not be made, and why.
    Failed(String),
}

/// What all runs of a contender under a load gave in the simulator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Simulated {
    pub load: String,
    pub contender: String,
    /// From arrival to completion.
    pub p50_ns: u64,
    pub p99_ns: u64,
    /// From the command of a transaction that an urgent request waits for to the new run
    /// list: the mean.
    pub transaction_ns: Option<u64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Results {
    pub schema: u32,
    pub conditions: Conditions,
    pub records: Vec<Record>,
    /// The same loads in the simulator, as far as they were simulated.
    #[serde(default)]
    pub simulated: Vec<Simulated>,
}

impl Results {
    pub fn read(path: &Path) -> Result<Results> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let results: Results = serde_json::from_str(&text)
            .with_context(|| format!("{} is no result", path.display()))?;
        ensure!(
            results.schema == SCHEMA,
            "{} is of schema {}, not {SCHEMA}: run the benchmark again",
            path.display(),
            results.schema
        );
        Ok(results)
    }

    /// Puts the file in place as a whole.
    pub fn write(&self, path: &Path) -> Result<()> {
        let new = path.with_extension("new");
        let text = serde_json::to_string(self)?;
        fs::write(&new, text + "\n").with_context(|| new.display().to_string())?;
        fs::rename(&new, path).with_context(|| path.display().to_string())
    }

    /// Adds those of another run of the benchmark, which must be of the same things.
    pub fn add(&mut self, other: Results) -> Result<()> {
        ensure!(
            self.conditions.same(&other.conditions),
            "results of different conditions cannot be put together: {:?} and {:?}",
            self.conditions,
            other.conditions
        );
        for record in other.records {
            self.record(record);
        }
        Ok(())
    }

    /// Keeps what a run gave, in place of an attempt before it that failed.
    pub fn record(&mut self, record: Record) {
        if self.has(&record.name) {
            return;
        }
        self.records.retain(|one| one.name != record.name);
        self.records.push(record);
        // Whatever the order in which they ended.
        self.records.sort_by_key(|record| record.name.order());
    }

    /// Whether this run has been measured.
    pub fn has(&self, name: &Name) -> bool {
        self.records
            .iter()
            .any(|one| one.name == *name && matches!(one.outcome, Outcome::Measured(_)))
    }

    /// For how long urgent requests arrived in the runs of a part, or of all.
    pub fn durations(&self, part: Option<&str>) -> RangeInclusive<u64> {
        let all = self
            .records
            .iter()
            .filter(|record| part.is_none_or(|part| record.name.part == part))
            .filter_map(|record| match &record.outcome {
                Outcome::Measured(run) => Some(run.duration_ns),
                Outcome::Failed(_) => None,
            });
        let (least, most) = all.fold((u64::MAX, 0), |(least, most), one| {
            (least.min(one), most.max(one))
        });
        least.min(most)..=most
    }

    /// The measurements of a contender under a load, with their seeds.
    pub fn of<'r>(
        &'r self,
        part: &'r str,
        load: &'r str,
        contender: &'r str,
    ) -> impl Iterator<Item = (u64, &'r Measurement)> + 'r {
        self.records
            .iter()
            .filter(move |record| {
                let name = &record.name;
                name.part == part && name.load == load && name.contender == contender
            })
            .filter_map(|record| match &record.outcome {
                Outcome::Measured(measurement) => Some((record.name.seed, &**measurement)),
                Outcome::Failed(_) => None,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(load: &str, contender: &str, seed: u64, outcome: Outcome) -> Record {
        Record {
            name: Name {
                part: "loads".into(),
                load: load.into(),
                x: None,
                contender: contender.into(),
                seed,
            },
            outcome,
        }
    }

    fn measured(duration_ns: u64) -> Outcome {
        Outcome::Measured(Box::new(Measurement {
            duration_ns,
            ..Measurement::default()
        }))
    }

    fn results(records: Vec<Record>) -> Results {
        Results {
            schema: SCHEMA,
            records,
            ..Results::default()
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.json");
        let failed = Outcome::Failed("why".into());
        let written = results(vec![
            record("A", "alone", 1, measured(1)),
            record("A", "none", 1, failed),
        ]);
        written.write(&path).unwrap();
        let read = Results::read(&path).unwrap();
        assert_eq!(read.conditions, written.conditions);
        assert_eq!(read.of("loads", "A", "alone").count(), 1);
        assert_eq!(read.of("loads", "A", "none").count(), 0);
        assert_eq!(read.of("poll", "A", "alone").count(), 0);
    }

    #[test]
    fn results_are_put_together_if_they_are_of_the_same_things() {
        let mut whole = results(vec![record("A", "alone", 1, measured(7))]);
        let mut other = results(vec![record("D", "alone", 1, measured(9))]);
        other.conditions.commit = "another".into();
        whole.add(other.clone()).unwrap();
        assert_eq!(whole.of("loads", "D", "alone").count(), 1);

        other.conditions.tested = "something else".into();
        let error = whole.add(other).unwrap_err().to_string();
        assert!(error.contains("something else"), "{error}");
    }

    #[test]
    fn a_run_is_kept_once_and_one_that_failed_is_replaced() {
        let failed = || Outcome::Failed("once".into());
        let mut whole = results(vec![record("A", "alone", 1, failed())]);
        let name = whole.records[0].name.clone();
        assert!(!whole.has(&name));
        for outcome in [measured(1), measured(2), failed()] {
            whole.record(record("A", "alone", 1, outcome));
            assert!(whole.has(&name));
        }
        let kept: Vec<u64> = whole
            .of("loads", "A", "alone")
            .map(|(_, run)| run.duration_ns)
            .collect();
        assert_eq!(kept, [1]);
    }

    #[test]
    fn runs_come_in_an_order_of_their_own() {
        let mut whole = results(Vec::new());
        for (load, contender, seed) in [
            ("MIX", "alone", 1),
            ("D", "hints", 1),
            ("D", "alone", 2),
            ("D", "alone", 1),
        ] {
            whole.record(record(load, contender, seed, measured(1)));
        }
        let mut sweep = record("A", "alone", 1, measured(1));
        sweep.name.part = "poll".into();
        whole.record(sweep);
        let order: Vec<_> = whole
            .records
            .iter()
            .map(|Record { name, .. }| (&*name.part, &*name.load, &*name.contender, name.seed))
            .collect();
        assert_eq!(
            order,
            [
                ("loads", "D", "alone", 1),
                ("loads", "D", "alone", 2),
                ("loads", "D", "hints", 1),
                ("loads", "MIX", "alone", 1),
                ("poll", "A", "alone", 1),
            ]
        );
    }

    #[test]
    fn runs_last_as_long_as_they_say() {
        let whole = results(vec![
            record("A", "alone", 1, measured(7)),
            record("D", "alone", 1, measured(9)),
        ]);
        assert_eq!(whole.durations(None), 7..=9);
        assert_eq!(whole.durations(Some("loads")), 7..=9);
        assert_eq!(whole.durations(Some("poll")), 0..=0);
    }

    #[test]
    fn another_schema_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.json");
        Results::default().write(&path).unwrap();
        let error = Results::read(&path).unwrap_err().to_string();
        assert!(error.contains("schema 0"), "{error}");
        assert!(Results::read(&directory.path().join("none")).is_err());
    }
}
