// SPDX-License-Identifier: GPL-2.0-only
//! The benchmark's raw results, as they are kept: one file, written anew after
//! each run, from which tables and plots are made.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::measure::Measurement;

pub const SCHEMA: u32 = 2;
/// In which the contenders had other names: there was no rule, and *none* had the queues'
/// priorities.
const FIRST_SCHEMA: u32 = 1;
const NEW_NAMES: [(&str, &str); 2] = [("none", "classes"), ("strict", "claimed")];

/// Which definitions of the loads results are of: those of other definitions must not
/// be compared with each other, even where a load has kept its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loads {
    /// Results that do not say it.
    #[default]
    First,
    Second,
    Third,
    Fourth,
    Fifth,
}

impl Loads {
    /// Those of the simulator's that this program is built with.
    pub const NOW: Loads = Loads::Fifth;

    /// What sets them apart from the others.
    pub fn what(self) -> &'static str {
        match self {
            Loads::First => {
                "first definitions: B at 220 Hz, the clients of REAL arrive at the same times"
            }
            Loads::Second => {
                "second definitions: B at 180 Hz, each client arrives at its own times"
            }
            Loads::Third => {
                "third definitions: as the second, and workgroups beside each other share the \
                 compute units' throughput"
            }
            Loads::Fourth => {
                "fourth definitions: as the third, and each kernel of a request has the size, the \
                 time and the state of the model's"
            }
            Loads::Fifth => {
                "fifth definitions: as the fourth, all requests arrive when they do in the \
                 simulator, best-effort clients prepare theirs, too, and an AQL packet takes 5 us"
            }
        }
    }
}

/// Where and how the numbers came about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// `virtual` or the name of a real GPU.
    pub gpu: String,
    pub kernel: String,
    pub dilation: u32,
    /// The model's parameters in words; empty for a real GPU.
    pub model: Vec<String>,
    /// The module's settings, as on hardware.
    pub settings: String,
    /// For how long urgent requests arrive in a run, in GPU time.
    pub duration_ns: u64,
    pub repetitions: u32,
    pub host: String,
    /// The host's load average when the benchmark began and ended; where it is
    /// above the benchmark's own two or three, the host was shared.
    pub host_load: (f64, f64),
    /// Time of the save of one byte, and what each save takes besides: the floor.
    pub save_bytes_per_us: u64,
    pub save_fixed_ns: u64,
    pub poll_interval_us: u32,
    #[serde(default)]
    pub loads: Loads,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    pub part: String,
    pub load: String,
    pub x: Option<f64>,
    pub contender: String,
    pub repetition: u32,
    pub outcome: Outcome,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Measured(Box<Measurement>),
    /// The run could not be made, and why.
    Failed(String),
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Results {
    pub schema: u32,
    pub conditions: Conditions,
    pub records: Vec<Record>,
}

impl Results {
    pub fn read(path: &Path) -> Result<Results> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let mut results: Results = serde_json::from_str(&text)
            .with_context(|| format!("{} is no result", path.display()))?;
        if results.schema == FIRST_SCHEMA {
            results.schema = SCHEMA;
            for record in &mut results.records {
                for (old, new) in NEW_NAMES {
                    if record.contender == old {
                        new.clone_into(&mut record.contender);
                    }
                }
            }
        }
        anyhow::ensure!(
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

    /// The measurements of a contender under a load, over all repetitions.
    pub fn of<'r>(
        &'r self,
        part: &'r str,
        load: &'r str,
        contender: &'r str,
    ) -> impl Iterator<Item = &'r Measurement> + 'r {
        self.records
            .iter()
            .filter(move |record| {
                record.part == part && record.load == load && record.contender == contender
            })
            .filter_map(|record| match &record.outcome {
                Outcome::Measured(measurement) => Some(&**measurement),
                Outcome::Failed(_) => None,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(contender: &str, outcome: Outcome) -> Record {
        Record {
            part: "loads".into(),
            load: "A".into(),
            x: None,
            contender: contender.into(),
            repetition: 0,
            outcome,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.json");
        let mut results = Results {
            schema: SCHEMA,
            ..Results::default()
        };
        let measured = Outcome::Measured(Box::default());
        results.records.push(record("alone", measured));
        results
            .records
            .push(record("none", Outcome::Failed("why".into())));
        results.write(&path).unwrap();
        let read = Results::read(&path).unwrap();
        assert_eq!(read.conditions, results.conditions);
        assert_eq!(read.of("loads", "A", "alone").count(), 1);
        assert_eq!(read.of("loads", "A", "none").count(), 0);
        assert_eq!(read.of("poll", "A", "alone").count(), 0);
    }

    #[test]
    fn results_that_do_not_say_it_are_of_the_first_loads() {
        let mut conditions = serde_json::to_value(Conditions {
            loads: Loads::NOW,
            ..Conditions::default()
        })
        .unwrap();
        assert_eq!(conditions["loads"], "fifth");
        conditions.as_object_mut().unwrap().remove("loads");
        let read: Conditions = serde_json::from_value(conditions).unwrap();
        assert_eq!(read.loads, Loads::First);
    }

    #[test]
    fn contenders_of_the_first_schema_get_the_names_of_what_they_are_now() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.json");
        let mut results = Results {
            schema: FIRST_SCHEMA,
            ..Results::default()
        };
        for name in ["none", "strict", "fair"] {
            let outcome = Outcome::Measured(Box::default());
            results.records.push(record(name, outcome));
        }
        results.write(&path).unwrap();
        let read = Results::read(&path).unwrap();
        let names: Vec<&str> = read.records.iter().map(|r| r.contender.as_str()).collect();
        assert_eq!(names, ["classes", "claimed", "fair"]);
        assert_eq!(read.schema, SCHEMA);
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
