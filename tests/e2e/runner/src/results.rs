// SPDX-License-Identifier: GPL-2.0-only
//! What became of each scenario, and on what: lines that each run adds to a file in the
//! cache, from which `scripts/test/results` takes what has been run on what.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};

use crate::cache::{make_directory, target};
use crate::partitions::Partitions;
use crate::scenario::{Configuration, Needs, Scenario};

/// The file, to which guests side by side add.
pub struct Results(Mutex<File>);

impl Results {
    pub fn new() -> Result<Results> {
        let target = target()?;
        make_directory(&target)?;
        Results::at(&target.join("results"))
    }

    fn at(path: &Path) -> Result<Results> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Results(Mutex::new(file)))
    }

    /// Adds a line with suite, scenario, what it ran on, kernel and end, between tabs.
    pub fn add(&self, configuration: &Configuration, scenario: &Scenario, passed: bool) {
        let end = if passed { "passed" } else { "failed" };
        let (suite, name) = (scenario.suite.name(), scenario.name);
        let kernel = &configuration.kernel.series;
        let kind = kind(configuration, &scenario.needs);
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A scenario's end is what it is, whether there is room for the line or not.
        if let Err(error) = writeln!(file, "{suite}\t{name}\t{kind}\t{kernel}\t{end}") {
            eprintln!("the result of '{name}' is not kept: {error}");
        }
    }
}

/// What a scenario with these needs runs on, but for the kernel.
fn kind(configuration: &Configuration, needs: &Needs) -> String {
    let dies = configuration.xcc;
    let plural = if dies == 1 { "die" } else { "dies" };
    let product = configuration.product_for(needs);
    let mut kind = format!("{product}, {dies} {plural}");
    if configuration.is_virtual(needs) {
        kind += ", virtual function";
    }
    if configuration.partitions != Partitions::Spx {
        kind += &format!(", {}", configuration.partitions.mode());
    }
    if needs.divided_memory {
        kind += ", NPS4";
    }
    if needs.eight_gpus {
        kind += ", with others";
    }
    if configuration.clock.is_own() && !needs.own_clock {
        kind += ", by the guest's clock";
    }
    if !configuration.parameters.is_empty() {
        kind += &format!(", {}", configuration.parameters);
    }
    kind
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use vgpu_model::Product;

    use super::*;
    use crate::cache::Kernel;
    use crate::image::Clock;
    use crate::scenario::Suite;
    use crate::scenarios;

    /// What `scripts/test/results --keep` has kept.
    const KEPT: &str = include_str!("../../../data/results.txt");

    fn plain() -> Configuration {
        let kernel = Kernel {
            series: "7.3".into(),
            release: "7.3.4".into(),
            image: PathBuf::new(),
            origin: None,
        };
        Configuration::new(kernel, 8)
    }

    #[test]
    fn results_name_what_is_unusual_of_a_guest() {
        assert_eq!(kind(&plain(), &Needs::ANY), "mi300x, 8 dies");
        let divided = Configuration {
            partitions: Partitions::Cpx,
            clock: Clock::Own,
            parameters: "transaction=direct".into(),
            ..plain()
        };
        assert_eq!(
            kind(&divided, &Needs::ANY),
            "mi300x, 8 dies, CPX, by the guest's clock, transaction=direct"
        );
        // What a scenario needs goes before what was asked for.
        let needs = Needs {
            product: Some(Product::Mi350x),
            virtual_function: true,
            ..Needs::ANY
        };
        let single = Configuration { xcc: 1, ..plain() };
        assert_eq!(kind(&single, &needs), "mi350x, 1 die, virtual function");
        let needs = Needs {
            divided_memory: true,
            eight_gpus: true,
            ..Needs::ANY
        };
        assert_eq!(kind(&plain(), &needs), "mi300x, 8 dies, NPS4, with others");
    }

    #[test]
    fn each_run_adds_to_what_is_there() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("results");
        let scenario = scenarios::all().next().unwrap();
        for passed in [true, false] {
            let results = Results::at(&path).unwrap();
            results.add(&plain(), scenario, passed);
        }
        let name = scenario.name;
        let line = |end: &str| {
            let suite = scenario.suite.name();
            format!("{suite}\t{name}\tmi300x, 8 dies\t7.3\t{end}\n")
        };
        let text = fs::read_to_string(path).unwrap();
        assert_eq!(text, line("passed") + &line("failed"));
    }

    #[test]
    fn what_is_kept_is_of_scenarios_that_there_are() {
        let all: Vec<&Scenario> = scenarios::all().collect();
        for line in KEPT.lines() {
            let parts: Vec<&str> = line.split('\t').collect();
            let [suite, name, _, _] = parts[..] else {
                panic!("{line}");
            };
            assert!([Suite::Vgpu, Suite::E2e]
                .iter()
                .any(|of| of.name() == suite));
            let known = all
                .iter()
                .any(|each| each.name == name && each.suite.name() == suite);
            assert!(known, "'{name}' is none: run scripts/test/results --keep");
        }
    }
}
