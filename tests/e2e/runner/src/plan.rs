// SPDX-License-Identifier: GPL-2.0-only
//! Which scenarios run on which guests: as few guests as possible, several of them
//! side by side.

use std::fs;
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::cache::{Cache, Kernel};
use crate::scenario::{run_group, Configuration, Kept, Needs, Scenario, Tally};

/// How much of the host's memory a guest with its GPU may take, in KiB.
const GUEST_KIB: u64 = 6 << 20;

/// Scenarios that follow each other on guests of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group<'a> {
    pub configuration: &'a Configuration,
    pub scenarios: Vec<&'a Scenario>,
}

/// How many of the configurations a scenario runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of them.
    Everywhere,
    /// The oldest kernel and the newest, between which most differences lie, and each number
    /// of dies, but not each pair of them. The next scenario has the other pairs.
    Spread,
    /// One of them, and the next scenario the next one.
    Turn,
}

impl Extent {
    /// Whether the scenario with this number runs on the kernel and the number of dies
    /// with these, of so many.
    fn includes(self, scenario: usize, at: (usize, usize), of: (usize, usize)) -> bool {
        match self {
            Extent::Everywhere => true,
            Extent::Spread => (scenario + at.0 + at.1) % of.0.min(of.1).max(1) == 0,
            Extent::Turn => scenario % (of.0 * of.1).max(1) == at.0 * of.1 + at.1,
        }
    }

    /// Those of the kernels that can run a scenario which it has.
    fn of_kernels<'a>(self, able: &[&'a Kernel]) -> Vec<&'a Kernel> {
        match (self, able) {
            (Extent::Spread, [oldest, _, .., newest]) => vec![*oldest, *newest],
            _ => able.to_vec(),
        }
    }
}

/// The different ones among these, in their order.
fn different<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut different = Vec::new();
    for each in all {
        if !different.contains(&each) {
            different.push(each);
        }
    }
    different
}

/// Distributes scenarios over configurations and guests.
pub fn plan<'a>(
    configurations: &'a [Configuration],
    scenarios: &[&'a Scenario],
    extent: Extent,
) -> Vec<Group<'a>> {
    let kernels = different(configurations.iter().map(|each| &each.kernel));
    let dies = different(configurations.iter().map(|each| each.xcc));
    // A scenario has its kernels to itself: one that cannot run it is none of them.
    let mut chosen = Vec::new();
    for scenario in scenarios {
        let able = kernels.iter().copied();
        let able = able.filter(|kernel| scenario.needs.missing_of(kernel).is_none());
        let able = extent.of_kernels(&able.collect::<Vec<_>>());
        if !able.is_empty() {
            chosen.push((*scenario, able));
        }
    }
    let is_due = |number: usize, able: &[&Kernel], configuration: &Configuration| {
        let xcc = dies.iter().position(|&xcc| xcc == configuration.xcc);
        able.iter()
            .position(|&kernel| *kernel == configuration.kernel)
            .is_some_and(|kernel| {
                let at = (kernel, xcc.unwrap_or(0));
                extent.includes(number, at, (able.len(), dies.len()))
            })
    };
    let has_one_die = |number: usize, able: &[&Kernel], configuration: &Configuration| {
        let turn = able.get(number % able.len().max(1));
        configuration.dies() == 1
            && match extent {
                Extent::Turn => turn == Some(&&configuration.kernel),
                _ => able.contains(&&configuration.kernel),
            }
    };
    let is_home = |able: &[&Kernel], configuration: &Configuration| {
        let there = |each: &&Configuration| able.contains(&&each.kernel);
        let mut small = configurations.iter().filter(there);
        let home = small.rfind(|each| each.dies() == 1);
        home.or(configurations.iter().rfind(there)) == Some(configuration)
    };
    let mut groups = Vec::new();
    for configuration in configurations {
        let mut left: Vec<&Scenario> = chosen
            .iter()
            .enumerate()
            .filter(|(number, (scenario, able))| match scenario.needs {
                Needs {
                    divisible: true, ..
                } => {
                    configuration.xcc > 1
                        && scenario
                            .needs
                            .divided_on(able)
                            .contains(&&configuration.kernel)
                }
                Needs { once: true, .. } => {
                    is_home(able, configuration)
                        && (configuration.dies() == 1 || !scenario.needs.one_die)
                }
                Needs { one_die: true, .. } => has_one_die(*number, able, configuration),
                _ => is_due(*number, able, configuration),
            })
            .map(|(_, (scenario, _))| *scenario)
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

/// What is said of each scenario that none of the kernels can run.
pub fn left_out(configurations: &[Configuration], scenarios: &[&Scenario]) -> Vec<String> {
    let kernels = different(configurations.iter().map(|each| &each.kernel));
    let of = |scenario: &&Scenario| {
        let missing = kernels
            .iter()
            .map(|kernel| scenario.needs.missing_of(kernel));
        let missing = missing.collect::<Option<Vec<_>>>()?;
        let (kernel, missing) = (kernels.first()?, missing.first()?);
        Some(format!(
            "not run {}: {}: {missing}",
            kernel.series, scenario.name
        ))
    };
    scenarios.iter().filter_map(of).collect()
}

/// Runs groups, up to `jobs` of them at a time.
pub fn run(cache: &Cache, kept: &Kept, groups: Vec<Group<'_>>, jobs: usize) -> Tally {
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
                let tally = run_group(cache, kept, &group);
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
    use crate::scenario::Suite;

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
            origin: None,
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
            Extent::Everywhere,
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
        let groups = plan(&all, &[&ONCE, &PLAIN, &ONE_DIE], Extent::Everywhere);
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
        for extent in [Extent::Everywhere, Extent::Spread] {
            assert_eq!(named(&plan(&all[1..2], &[&ONCE], extent)), ["7.2x8: once"]);
            assert!(plan(&all[1..2], &[&ONE_DIE], extent).is_empty());
        }
    }

    #[test]
    fn a_gpu_is_divided_where_it_has_several_dies() {
        static DIVISIBLE: Scenario = scenario(
            "divisible",
            Needs {
                divisible: true,
                ..Needs::ANY
            },
        );
        let all = [("7.2", 1), ("7.2", 8), ("7.3", 1), ("7.3", 8)]
            .map(|(series, xcc)| configuration(series, xcc));
        for extent in [Extent::Everywhere, Extent::Spread, Extent::Turn] {
            let groups = plan(&all, &[&DIVISIBLE], extent);
            assert_eq!(named(&groups), ["7.2x8: divisible", "7.3x8: divisible"]);
            assert!(plan(&all[..1], &[&DIVISIBLE], extent).is_empty());
        }
    }

    #[test]
    fn what_is_spread_sees_each_kernel_and_each_number_of_dies() {
        let all = [("7.2", 1), ("7.2", 8), ("7.3", 1), ("7.3", 8)]
            .map(|(series, xcc)| configuration(series, xcc));
        let groups = plan(
            &all,
            &[&PLAIN, &SMALL, &COMPLETION, &ONCE, &ONE_DIE],
            Extent::Spread,
        );
        assert_eq!(
            named(&groups),
            [
                "7.2x1: plain, completion, one die",
                "7.3x1: once, one die",
                "7.3x8: plain, completion",
                "7.2x8: small",
                "7.3x1: small",
            ]
        );
    }

    #[test]
    fn of_more_kernels_the_oldest_and_the_newest_that_can_run_it_have_a_scenario() {
        const FUNCTION: &str = "kfd_ioctl_create_process";
        static NEW: Scenario = scenario(
            "new",
            Needs {
                driver: &[FUNCTION],
                ..Needs::ANY
            },
        );
        let place = tempfile::tempdir().unwrap();
        let of = |series: &str| {
            let mut kernel = configuration(series, 1).kernel;
            kernel.image = place.path().join(series).join("image");
            let information = place.path().join(series).join("btf");
            fs::create_dir_all(&information).unwrap();
            let has = if series == "6.12" { "" } else { FUNCTION };
            fs::write(information.join("amdgpu.btf"), format!("\0a\0{has}\0b\0")).unwrap();
            kernel
        };
        let kernels = ["6.12", "7.2", "7.3"].map(of);
        let all: Vec<Configuration> = kernels
            .into_iter()
            .flat_map(|kernel| [1, 8].map(|xcc| Configuration::new(kernel.clone(), xcc)))
            .collect();
        let scenarios = [&PLAIN, &NEW, &COMPLETION];
        assert_eq!(
            named(&plan(&all, &scenarios, Extent::Spread)),
            [
                "6.12x1: plain, completion",
                "7.3x8: plain, completion",
                "7.2x8: new",
                "7.3x1: new",
            ]
        );
        assert_eq!(plan(&all, &[&NEW], Extent::Everywhere).len(), 4);
        assert_eq!(named(&plan(&all, &[&NEW], Extent::Turn)), ["7.2x1: new"]);
        assert!(left_out(&all, &scenarios).is_empty());
        let said = left_out(&all[..2], &scenarios);
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        let line = format!("not run 6.12: new: its driver has no {FUNCTION}");
        assert_eq!(said, [line.as_str()]);
        assert_eq!(
            named(&plan(&all[..2], &scenarios, Extent::Everywhere)).len(),
            2
        );
    }

    #[test]
    fn those_that_take_turns_run_once_each_and_on_all_configurations() {
        let all = [("7.2", 1), ("7.2", 8), ("7.3", 1), ("7.3", 8)]
            .map(|(series, xcc)| configuration(series, xcc));
        let scenarios = [
            &PLAIN,
            &PLAIN,
            &ONE_DIE,
            &ONE_DIE,
            &COMPLETION,
            &PLAIN,
            &ONCE,
            &COMPLETION,
        ];
        let groups = plan(&all, &scenarios, Extent::Turn);
        assert_eq!(
            named(&groups),
            [
                "7.2x1: plain, one die, completion",
                "7.2x8: plain, plain",
                "7.3x1: one die, once",
                "7.3x8: completion",
            ]
        );
        // The dies that are asked for alone have all of them.
        let groups = plan(&all[1..2], &[&PLAIN, &COMPLETION], Extent::Turn);
        assert_eq!(named(&groups), ["7.2x8: plain, completion"]);
    }

    #[test]
    fn nothing_is_left_out_where_one_kernel_or_one_number_of_dies_is_asked_for() {
        let one_kernel = [("7.3", 1), ("7.3", 8)].map(|(series, xcc)| configuration(series, xcc));
        let one_die = [("7.2", 1), ("7.3", 1)].map(|(series, xcc)| configuration(series, xcc));
        for configurations in [one_kernel, one_die] {
            let scenarios = [&PLAIN, &COMPLETION, &SMALL];
            assert_eq!(
                plan(&configurations, &scenarios, Extent::Spread),
                plan(&configurations, &scenarios, Extent::Everywhere)
            );
        }
    }

    #[test]
    fn more_kernels_than_numbers_of_dies_are_all_seen() {
        for (kernels, dies) in [(3, 2), (2, 3), (3, 3), (1, 4)] {
            for scenario in 0..6 {
                let due =
                    |kernel, die| Extent::Spread.includes(scenario, (kernel, die), (kernels, dies));
                assert!((0..kernels).all(|kernel| (0..dies).any(|die| due(kernel, die))));
                assert!((0..dies).all(|die| (0..kernels).any(|kernel| due(kernel, die))));
            }
        }
    }

    #[test]
    fn what_a_kernel_cannot_do_is_left_out_and_said() {
        static FAILING: Scenario = scenario(
            "failing",
            Needs {
                failing_allocations: true,
                ..Needs::ANY
            },
        );
        let place = tempfile::tempdir().unwrap();
        let mut configurations = [configuration("7.3", 1)];
        configurations[0].kernel.image = place.path().to_path_buf();
        let scenarios = [&PLAIN, &FAILING];
        let planned = |configurations: &[Configuration]| {
            let groups = plan(configurations, &scenarios, Extent::Everywhere);
            (named(&groups), left_out(configurations, &scenarios))
        };
        for lacking in ["", "# CONFIG_FAILSLAB is not set\n", "CONFIG_FAILSLAB=m\n"] {
            fs::write(place.path().join("config"), lacking).unwrap();
            let (groups, left_out) = planned(&configurations);
            assert_eq!(groups, ["7.3x1: plain"]);
            let [line] = &left_out[..] else {
                panic!("{left_out:?}");
            };
            assert!(
                line.starts_with("not run 7.3: failing: the kernel has no CONFIG_FAILSLAB"),
                "{line}"
            );
        }
        fs::write(
            place.path().join("config"),
            "CONFIG_A=y\nCONFIG_FAILSLAB=y\n",
        )
        .unwrap();
        let (groups, left_out) = planned(&configurations);
        assert_eq!(groups, ["7.3x1: plain, failing"]);
        assert!(left_out.is_empty());
    }

    #[test]
    fn the_memory_that_is_left_is_read() {
        let text = "MemTotal:       24000000 kB\nMemAvailable:   13000000 kB\n";
        assert_eq!(available_kib(text), Some(13_000_000));
        assert_eq!(available_kib(""), None);
        assert!(jobs() >= 1);
    }
}
