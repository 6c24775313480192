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
use crate::plan::Part;
use crate::suite;

pub const SCHEMA: u32 = 2;

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
    Sixth,
}

impl Loads {
    /// Those of the simulator's that this program is built with.
    pub const NOW: Loads = Loads::Sixth;

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
            Loads::Sixth => {
                "sixth definitions: as the fifth, clients ring once for each request, and urgent \
                 ones go before all else that wants the emulated processors"
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
    /// The module's settings, where they are not those of the conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<String>,
    pub outcome: Outcome,
}

impl Record {
    /// It belongs to results of these settings from now on, and keeps in mind its own. To
    /// who runs without the module they are all one.
    fn move_to(&mut self, settings: &str, before: &str) {
        let of_module =
            Contender::by_name(&self.contender).is_none_or(|contender| contender.is_module());
        let own = self.settings.take().unwrap_or_else(|| before.into());
        self.settings = Some(own).filter(|own| of_module && own != settings);
    }

    /// Whether it is another run of the same.
    fn repeats(&self, other: &Record) -> bool {
        (&self.part, &self.load, self.x, &self.contender)
            == (&other.part, &other.load, other.x, &other.contender)
    }

    /// Its place among the results of several runs: by part, load and contender.
    fn order(&self) -> (usize, usize, usize) {
        fn place<'n>(mut names: impl Iterator<Item = &'n str>, name: &str) -> usize {
            names.position(|one| one == name).unwrap_or(usize::MAX)
        }
        (
            place(Part::ALL.iter().map(|part| part.name()), &self.part),
            place(suite::names(), &self.load),
            place(
                Contender::ALL.iter().map(|contender| contender.name()),
                &self.contender,
            ),
        )
    }
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

    /// Those of several runs of the benchmark, which must be of the same things. The
    /// settings may differ between contenders and loads; those of the first are the rule.
    pub fn together(parts: Vec<Results>) -> Result<Results> {
        let mut parts = parts.into_iter();
        let mut whole = parts.next().context("there are no results")?;
        for mut part in parts {
            let all = &mut whole.conditions;
            for record in &mut part.records {
                record.move_to(&all.settings, &part.conditions.settings);
            }
            let (begin, end) = part.conditions.host_load;
            all.host_load = (all.host_load.0.max(begin), all.host_load.1.max(end));
            all.repetitions = all.repetitions.max(part.conditions.repetitions);
            let same = Conditions {
                host_load: all.host_load,
                repetitions: all.repetitions,
                duration_ns: all.duration_ns,
                settings: all.settings.clone(),
                ..part.conditions
            };
            ensure!(
                same == *all,
                "results of different conditions cannot be put together: {same:?} and {all:?}"
            );
            whole.records.extend(part.records);
        }
        // Whatever the days on which they were run.
        whole.records.sort_by_key(Record::order);
        for record in &whole.records {
            let repeats = whole.records.iter().filter(|other| other.repeats(record));
            for other in repeats {
                ensure!(
                    other.settings == record.settings,
                    "{} under {} ran with different settings, of which no median can be \
                     taken: leave one out",
                    record.load,
                    record.contender
                );
            }
        }
        Ok(whole)
    }

    /// For how long urgent requests arrived in the runs of a part, or of all.
    pub fn durations(&self, part: Option<&str>) -> RangeInclusive<u64> {
        let all = self
            .records
            .iter()
            .filter(|record| part.is_none_or(|part| record.part == part))
            .filter_map(|record| match &record.outcome {
                Outcome::Measured(run) => Some(run.duration_ns),
                Outcome::Failed(_) => None,
            });
        let (least, most) = all.fold((u64::MAX, 0), |(least, most), one| {
            (least.min(one), most.max(one))
        });
        least.min(most)..=most
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
            settings: None,
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

    fn part(load: &str, duration_ns: u64, host_load: f64) -> Results {
        let run = Measurement {
            duration_ns,
            ..Measurement::default()
        };
        let measured = Outcome::Measured(Box::new(run));
        Results {
            schema: SCHEMA,
            conditions: Conditions {
                dilation: 32,
                host_load: (0.5, host_load),
                ..Conditions::default()
            },
            records: vec![Record {
                load: load.into(),
                ..record("alone", measured)
            }],
        }
    }

    #[test]
    fn results_of_parts_are_put_together_if_they_are_of_the_same_things() {
        let parts = vec![part("A", 7, 3.0), part("D", 9, 1.0)];
        let whole = Results::together(parts).unwrap();
        assert_eq!(whole.of("loads", "A", "alone").count(), 1);
        assert_eq!(whole.of("loads", "D", "alone").count(), 1);
        assert_eq!(whole.conditions.host_load, (0.5, 3.0));

        let mut other = part("D", 9, 1.0);
        other.conditions.dilation = 16;
        let error = Results::together(vec![part("A", 7, 3.0), other]).unwrap_err();
        assert!(error.to_string().contains("dilation: 16"), "{error}");
        assert!(Results::together(Vec::new()).is_err());
    }

    #[test]
    fn who_ran_with_other_settings_than_the_first_says_so() {
        let of = |settings: &str, load: &str, contenders: &[&str]| {
            let mut part = part(load, 7, 1.0);
            part.conditions.settings = settings.into();
            let outcome = part.records.remove(0).outcome;
            part.records = contenders
                .iter()
                .map(|contender| Record {
                    load: load.into(),
                    ..record(contender, outcome.clone())
                })
                .collect();
            part
        };
        let together = Results::together;
        let own = |whole: &Results| -> Vec<_> {
            let records = whole.records.iter();
            records.map(|record| record.settings.clone()).collect()
        };
        let whole = together(vec![
            of("new", "A", &["strict"]),
            of("old", "A", &["alone", "direct"]),
            of("new", "D", &["direct"]),
        ])
        .unwrap();
        assert_eq!(whole.conditions.settings, "new");
        assert_eq!(own(&whole), [None, None, Some("old".into()), None]);
        // It stays so when they are put together with others once more.
        let again = together(vec![of("new", "Z", &["direct"]), whole.clone()]).unwrap();
        assert_eq!(own(&again)[..4], own(&whole));
        let back = together(vec![of("old", "Z", &["direct"]), whole]).unwrap();
        let new = Some("new".to_string());
        assert_eq!(own(&back), [None, new.clone(), None, new, None]);

        let both = vec![of("new", "A", &["strict"]), of("old", "A", &["strict"])];
        let error = together(both).unwrap_err().to_string();
        assert!(error.starts_with("A under strict ran"), "{error}");
        let both = vec![of("new", "A", &["alone"]), of("old", "A", &["alone"])];
        assert_eq!(together(both).unwrap().records.len(), 2);
    }

    #[test]
    fn results_that_are_put_together_come_in_an_order_of_their_own() {
        let mut parts = ["MIX", "D", "Z", "A"].map(|load| part(load, 7, 1.0));
        parts[1]
            .records
            .insert(0, record("hints", Outcome::Failed(String::new())));
        parts[1].records[0].load = "D".into();
        parts[3].records[0].part = "poll".into();
        let whole = Results::together(parts.into()).unwrap();
        let records = whole.records.iter();
        let order: Vec<_> = records
            .map(|record| (&*record.part, &*record.load, &*record.contender))
            .collect();
        let loads = "loads";
        assert_eq!(
            order,
            [
                (loads, "D", "alone"),
                (loads, "D", "hints"),
                (loads, "Z", "alone"),
                (loads, "MIX", "alone"),
                ("poll", "A", "alone"),
            ]
        );
    }

    #[test]
    fn runs_last_as_long_as_they_say() {
        let whole = Results::together(vec![part("A", 7, 1.0), part("D", 9, 1.0)]).unwrap();
        assert_eq!(whole.durations(None), 7..=9);
        assert_eq!(whole.durations(Some("loads")), 7..=9);
        assert_eq!(whole.durations(Some("poll")), 0..=0);
    }

    #[test]
    fn results_that_do_not_say_it_are_of_the_first_loads() {
        let mut conditions = serde_json::to_value(Conditions {
            loads: Loads::NOW,
            ..Conditions::default()
        })
        .unwrap();
        assert_eq!(conditions["loads"], "sixth");
        conditions.as_object_mut().unwrap().remove("loads");
        let read: Conditions = serde_json::from_value(conditions).unwrap();
        assert_eq!(read.loads, Loads::First);
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
