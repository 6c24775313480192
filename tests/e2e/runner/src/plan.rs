// SPDX-License-Identifier: GPL-2.0-only
//! Which scenarios run on which guests: as few guests as possible, several of them
//! side by side.

use std::fs;
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::cache::Cache;
use crate::failed::Failures;
use crate::scenario::{run_group, Configuration, Scenario, Tally};

/// How much of the host's memory a guest with its GPU may take, in KiB.
const GUEST_KIB: u64 = 6 << 20;

/// Scenarios that follow each other on guests of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group<'a> {
    pub configuration: &'a Configuration,
    pub scenarios: Vec<&'a Scenario>,
}

/// Distributes scenarios over configurations and guests.
pub fn plan<'a>(configurations: &'a [Configuration], scenarios: &[&'a Scenario]) -> Vec<Group<'a>> {
    let home = configurations
        .iter()
        .rfind(|configuration| configuration.xcc == 1)
        .or(configurations.last());
    let mut groups = Vec::new();
    for configuration in configurations {
        let mut left: Vec<&Scenario> = scenarios
            .iter()
            .copied()
            .filter(|scenario| !scenario.needs.one_die || configuration.xcc == 1)
            .filter(|scenario| !scenario.needs.once || home == Some(configuration))
            .collect();
        while let Some(first) = left.first().map(|scenario| scenario.needs) {
            let (scenarios, rest): (Vec<_>, Vec<_>) = left
                .into_iter()
                .partition(|scenario| scenario.needs.guest() == first.guest());
            groups.push(Group {
                configuration,
                scenarios,
            });
            left = rest;
        }
    }
    // The longest first, so that all end at about the same time.
    groups.sort_by_key(|group| usize::MAX - group.scenarios.len());
    groups
}

/// Runs groups, up to `jobs` of them at a time.
pub fn run(cache: &Cache, failures: &Failures, groups: Vec<Group<'_>>, jobs: usize) -> Tally {
    let jobs = jobs.min(groups.len());
    let total = Mutex::new(Tally::default());
    let groups = Mutex::new(groups.into_iter());
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| loop {
                let next = groups.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(group) = next else {
                    break;
                };
                let tally = run_group(cache, failures, &group);
                let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                total.passed += tally.passed;
                total.failed += tally.failed;
            });
        }
    });
    total.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// How many guests this host can run side by side.
pub fn jobs() -> usize {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let guests = available_kib(&memory).map_or(1, |kib| kib / GUEST_KIB);
    processors.min(guests as usize).max(1)
}

fn available_kib(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Kernel;
    use crate::scenario::{Needs, Suite};

    const fn scenario(name: &'static str, needs: Needs) -> Scenario {
        Scenario {
            suite: Suite::Vgpu,
            name,
            needs,
            run: |_| Ok(()),
        }
    }

    static PLAIN: Scenario = scenario("plain", Needs::ANY);
    static SMALL: Scenario = scenario(
        "small",
        Needs {
            small: true,
            ..Needs::ANY
        },
    );
    static ONCE: Scenario = scenario(
        "once",
        Needs {
            once: true,
            ..Needs::ANY
        },
    );
    static ONE_DIE: Scenario = scenario(
        "one die",
        Needs {
            one_die: true,
            ..Needs::ANY
        },
    );
    static SPOILS: Scenario = scenario(
        "spoils",
        Needs {
            spoils: true,
            ..Needs::ANY
        },
    );
    static COMPLETION: Scenario = scenario(
        "completion",
        Needs {
            rptr_at_completion: true,
            ..Needs::ANY
        },
    );

    fn configuration(series: &str, xcc: u32) -> Configuration {
        let kernel = Kernel {
            series: series.into(),
            release: series.into(),
            image: "nowhere".into(),
        };
        Configuration::new(kernel, xcc)
    }

    fn named(groups: &[Group<'_>]) -> Vec<String> {
        groups
            .iter()
            .map(|group| {
                let names: Vec<&str> = group.scenarios.iter().map(|s| s.name).collect();
                let at = group.configuration;
                format!("{}x{}: {}", at.kernel.series, at.xcc, names.join(", "))
            })
            .collect()
    }

    #[test]
    fn those_that_can_share_a_guest_do() {
        let configurations = [configuration("7.3", 1)];
        let groups = plan(
            &configurations,
            &[&SPOILS, &PLAIN, &SMALL, &COMPLETION, &ONE_DIE],
        );
        assert_eq!(
            named(&groups),
            [
                "7.3x1: plain, completion, one die",
                "7.3x1: spoils",
                "7.3x1: small",
            ]
        );
    }

    #[test]
    fn what_depends_on_nothing_runs_once() {
        let all = [("7.2", 1), ("7.2", 8), ("7.3", 1), ("7.3", 8)]
            .map(|(series, xcc)| configuration(series, xcc));
        let groups = plan(&all, &[&ONCE, &PLAIN, &ONE_DIE]);
        assert_eq!(
            named(&groups),
            [
                "7.3x1: once, plain, one die",
                "7.2x1: plain, one die",
                "7.2x8: plain",
                "7.3x8: plain",
            ]
        );
        // Also where only one configuration is asked for, and with many dies.
        assert_eq!(named(&plan(&all[1..2], &[&ONCE])), ["7.2x8: once"]);
        assert!(plan(&all[1..2], &[&ONE_DIE]).is_empty());
    }

    #[test]
    fn the_memory_that_is_left_is_read() {
        let text = "MemTotal:       24000000 kB\nMemAvailable:   13000000 kB\n";
        assert_eq!(available_kib(text), Some(13_000_000));
        assert_eq!(available_kib(""), None);
        assert!(jobs() >= 1);
    }
}
