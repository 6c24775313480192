// SPDX-License-Identifier: GPL-2.0-only
//! Programs in HIP and OpenCL (`tests/clients`), of which nothing but the source is ours:
//! compiler, runtimes and libraries are Debian's. Each runs alone first. Then it goes on beside a
//! queue for which the module stops it, again and again, and must leave the same bits. That
//! they are right each program has found out by itself, from what the host calculates.

mod devices;
mod opencl;
mod shown;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use e2e_protocol::{Finished, Program};
use serde_json::json;
use vgpu_model::{Pace, QueueKind};

use super::direct::DIRECT;
use super::repetition::bursts;
use crate::background::{Background, Expect};
use crate::built::check_clients;
use crate::cache::clients;
use crate::guest::Guest;
use crate::image::libraries;
use crate::load::Load;
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

pub use devices::devices;
pub use shown::{show, Shown};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "programs in HIP go on where they were preempted",
        needs: Needs::ANY.compiled(),
        run: |guest| preempted(guest, "", &["sums", "scratch"]),
    },
    Scenario {
        suite: Suite::E2e,
        name: "programs in HIP go on where they were preempted with transaction=direct",
        needs: Needs {
            driver: DIRECT,
            // With more the runtime takes several times as long to begin.
            ..Needs::ONE_DIE.compiled()
        },
        run: |guest| preempted(guest, "transaction=direct", &["matrices", "streams"]),
    },
    Scenario {
        suite: Suite::E2e,
        name: "programs in HIP go on where they were preempted with backend=mqd",
        needs: Needs {
            sched_policy: 2,
            ..Needs::ONE_DIE.compiled()
        },
        run: |guest| without_scheduler(guest, &["waiting", "inference"]),
    },
    Scenario {
        suite: Suite::E2e,
        name: "a program in HIP that a rule makes urgent preempts others",
        needs: Needs::ONCE.compiled(),
        run: by_another,
    },
    Scenario {
        suite: Suite::E2e,
        name: "all programs in HIP go on where they were preempted",
        needs: LONG,
        run: |guest| preempted(guest, "", PROGRAMS),
    },
    Scenario {
        suite: Suite::E2e,
        name: "all programs in HIP go on where they were preempted with transaction=direct",
        needs: LONG_DIRECT,
        run: |guest| preempted(guest, "transaction=direct", PROGRAMS),
    },
    Scenario {
        suite: Suite::E2e,
        name: "all programs in HIP go on where they were preempted with backend=mqd",
        needs: LONG_MQD,
        run: |guest| without_scheduler(guest, PROGRAMS),
    },
    Scenario {
        suite: Suite::E2e,
        name: "programs in HIP that share memory with the host go on where they were preempted",
        needs: Needs::ONCE.compiled(),
        run: |guest| preempted(guest, "", &["printing", "sharing", "random"]),
    },
    Scenario {
        suite: Suite::E2e,
        name: "a grid in HIP goes on where it was saved with others",
        needs: Needs::ONCE.compiled(),
        run: |guest| grid(guest, ""),
    },
    Scenario {
        suite: Suite::E2e,
        name: "a grid in HIP goes on where it was saved with others, on all guests",
        needs: LONG,
        run: |guest| grid(guest, ""),
    },
    Scenario {
        suite: Suite::E2e,
        name: "a grid in HIP goes on where it was saved with others with transaction=direct",
        needs: LONG_DIRECT,
        run: |guest| grid(guest, "transaction=direct"),
    },
    Scenario {
        suite: Suite::E2e,
        name: "a program in OpenCL goes on where it was preempted",
        needs: LONG,
        run: |guest| opencl::preempted(guest, ""),
    },
    Scenario {
        suite: Suite::E2e,
        name: "a program in OpenCL goes on where it was preempted with transaction=direct",
        needs: LONG_DIRECT,
        run: |guest| opencl::preempted(guest, "transaction=direct"),
    },
    Scenario {
        suite: Suite::E2e,
        name: "a program in OpenCL goes on where it was preempted with backend=mqd",
        needs: LONG_MQD,
        run: |guest| {
            guest.expect_log(UNSUPPORTED);
            opencl::preempted(guest, "backend=mqd")
        },
    },
];

/// What only runs when it is asked for, and then on all guests.
pub const LONG: Needs = Needs {
    long: true,
    ..Needs::ANY.compiled()
};
const LONG_DIRECT: Needs = Needs {
    driver: DIRECT,
    ..LONG
};
const LONG_MQD: Needs = Needs {
    sched_policy: 2,
    ..LONG
};
/// The driver itself logs this whenever a process ends where it has no scheduler.
const UNSUPPORTED: &str = "Unsupported on sched_policy";

/// All programs that are preempted.
const PROGRAMS: &[&str] = &[
    "sums",
    "matrices",
    "waiting",
    "streams",
    "scratch",
    "primitives",
    "inference",
    "printing",
    "sharing",
    "random",
];
/// The one whose queue has GWS, so that the module never stops it.
const GRID: &str = "grid";
/// The one for which others are preempted.
const CROWD: &str = "crowd";
/// The name of the process in which it runs then.
const URGENT: &str = "urgent";
/// Where the programs and their libraries are in the guest.
const PLACE: &str = "/tmp/hip";
/// How often the module stops each program, so that waves of it are saved.
const GOAL: u64 = 50;
/// How long an instruction takes, in nanoseconds of the GPU: so long that each kernel is
/// under way for some of the guest's milliseconds.
const INSTRUCTION: u64 = 20_000;
const PATIENCE: Duration = Duration::from_secs(900);

/// Those of `all` that GP_CLIENTS names, or all of them, or else `usual`.
pub fn chosen(all: &[&'static str], usual: &[&'static str]) -> Result<Vec<&'static str>> {
    let names = std::env::var("GP_CLIENTS").unwrap_or_default();
    let mut chosen = all.to_vec();
    match names.as_str() {
        "all" => (),
        "" => chosen = usual.to_vec(),
        names => chosen.retain(|program| names.split_whitespace().any(|name| name == *program)),
    }
    ensure!(!chosen.is_empty(), "GP_CLIENTS names none of {all:?}");
    Ok(chosen)
}

/// Takes the programs in HIP and all that they need into the guest, and does something with
/// them. Nothing of it stays, since it takes memory.
fn with_programs(guest: &mut Guest, run: impl FnOnce(&mut Guest) -> Result<()>) -> Result<()> {
    check_clients()?;
    let program = clients()?;
    let mut files = with_libraries(&program)?;
    for name in ["clients", URGENT] {
        files.insert(name.into(), program.clone());
    }
    with_files(guest, &files, PLACE, run)
}

/// A file, and the libraries that it needs, by their names.
fn with_libraries(file: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut files = BTreeMap::new();
    for each in libraries(file)?.into_iter().chain([file.to_path_buf()]) {
        let name = each.file_name().context("a file without a name")?;
        files.insert(name.to_string_lossy().into_owned(), each);
    }
    Ok(files)
}

/// Takes files into the guest by their names there, and removes them afterwards.
pub fn with_files<T>(
    guest: &mut Guest,
    files: &BTreeMap<String, PathBuf>,
    place: &str,
    run: impl FnOnce(&mut Guest) -> Result<T>,
) -> Result<T> {
    guest.add_files(files, place)?;
    let result = run(guest)?;
    guest.agent().shell(&format!("rm -r {place}"))?;
    Ok(result)
}

/// How one of the programs is started, without what it is told.
fn started(file: &str) -> Program {
    Program {
        program: format!("{PLACE}/{file}"),
        environment: vec![("LD_LIBRARY_PATH".into(), PLACE.into())],
        ..Program::default()
    }
}

/// The processes with queues, as the GPU knows them.
fn processes(guest: &mut Guest) -> Result<BTreeSet<u32>> {
    let queues = guest.device.queues()?;
    Ok(queues.iter().map(|queue| queue.queue.pasid).collect())
}

/// A process that runs programs one after the other.
pub struct Clients {
    process: Background,
    place: String,
    /// What each leaves when nobody disturbs it.
    alone: BTreeMap<&'static str, String>,
    /// The GPU's number of the process.
    number: u32,
}

impl Clients {
    /// Starts a process, and returns when each of its programs has run alone. No other may
    /// make its first queue meanwhile.
    pub fn start(
        guest: &mut Guest,
        mut program: Program,
        programs: &[&'static str],
    ) -> Result<Clients> {
        let place = format!("/tmp/clients-{}", guest.unique());
        guest.agent().shell(&format!("mkdir {place}"))?;
        let others = processes(guest)?;
        let names = programs.iter().map(|&name| name.to_owned());
        program.arguments.push(place.clone());
        program.arguments.extend(names);
        let mut clients = Clients {
            process: Background::program(guest, program, Expect::Anything)?,
            place,
            alone: BTreeMap::new(),
            number: 0,
        };
        for &name in programs {
            guest.wait_until(&format!("{name} has run alone"), PATIENCE, |guest| {
                let alone = clients.said(guest, name)?.pop();
                let has_run = alone.is_some();
                clients.alone.extend(alone.map(|digest| (name, digest)));
                Ok(has_run)
            })?;
        }
        let own = processes(guest)?
            .difference(&others)
            .copied()
            .collect::<Vec<_>>();
        ensure!(own.len() == 1, "the new processes of the GPU are {own:?}");
        clients.number = own[0];
        Ok(clients)
    }

    /// Makes one of the files that the process waits for.
    fn tell(&self, guest: &mut Guest, word: &str) -> Result<()> {
        let path = format!("{}/{word}", self.place);
        guest.agent().make_file(&path, "")
    }

    /// What it has printed behind a word, in each line. Where something was wrong, it has
    /// ended.
    fn said(&self, guest: &mut Guest, word: &str) -> Result<Vec<String>> {
        if let Some(ended) = self.process.wait(guest, Duration::ZERO)? {
            let Finished { status, stderr, .. } = ended;
            bail!("while '{word}' was awaited, the programs ended with {status:?}: {stderr}");
        }
        let text = self.process.output(guest)?;
        Ok(behind(&text, word))
    }

    /// How often waves of the process were saved so far.
    fn saves(&self, guest: &mut Guest) -> Result<u64> {
        let mut queues = guest.device.queues()?;
        queues.retain(|each| each.queue.pasid == self.number && each.kind != QueueKind::Sdma);
        for queue in &queues {
            ensure!(queue.fault.is_none(), "{queue:?}");
        }
        Ok(queues.iter().map(|queue| queue.saves).sum())
    }

    /// Waits until a program was stopped so often with waves that were saved, and lets its
    /// round be the last. Each must have left what it leaves alone.
    fn stopped_often(
        &self,
        guest: &mut Guest,
        (name, goal): (&str, u64),
        tell: &mut dyn FnMut(Stopped),
    ) -> Result<Stopped> {
        guest.wait_until(&format!("{name} begins"), PATIENCE, |guest| {
            Ok(self.said(guest, "begin")?.iter().any(|begun| begun == name))
        })?;
        let before = self.stopped(guest)?;
        let mut so_far = Stopped::default();
        // The driver has waves saved as well, when queues come and go.
        let waited = guest.wait_until("programs are stopped often", PATIENCE, |guest| {
            self.said(guest, name)?;
            let now = self.stopped(guest)?;
            so_far.saved = now.saved - before.saved;
            so_far.stops = now.stops - before.stops;
            tell(so_far);
            Ok(so_far.saved.min(so_far.stops) >= goal)
        });
        let Stopped { stops, saved } = so_far;
        waited.with_context(|| format!("{name}: {stops} stops, waves were saved {saved} times"))?;
        self.tell(guest, name)?;
        Ok(so_far)
    }

    fn stopped(&self, guest: &mut Guest) -> Result<Stopped> {
        Ok(Stopped {
            saved: self.saves(guest)?,
            stops: Table::Stats.sum(guest, "stops")?,
        })
    }

    /// Waits for the end, and compares what each round has left with what it leaves alone.
    /// Returns that of each, round by round.
    fn finish(self, guest: &mut Guest) -> Result<BTreeMap<&'static str, Vec<String>>> {
        let text = self.process.succeed(guest, PATIENCE)?;
        let mut left = BTreeMap::new();
        for (name, alone) in &self.alone {
            let mut rounds = behind(&text, name);
            ensure!(
                rounds.len() > 1 && rounds.iter().all(|digest| digest == alone),
                "{name} leaves {alone} alone, and left {rounds:?}"
            );
            // The first is that alone.
            left.insert(*name, rounds.split_off(1));
        }
        Ok(left)
    }
}

/// How often a program was stopped, and how often waves of it were saved.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stopped {
    pub stops: u64,
    pub saved: u64,
}

/// What complete lines have behind their first word, of those that have this one.
fn behind(text: &str, word: &str) -> Vec<String> {
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    let lines = complete.lines().filter_map(|line| line.split_once(' '));
    let own = lines.filter(|(first, _)| *first == word);
    own.map(|(_, rest)| rest.to_owned()).collect()
}

/// So slow that kernels are under way when the module looks, each wave at its own place.
fn set_pace(guest: &mut Guest) -> Result<()> {
    guest.device.set_pace(Pace {
        instruction: INSTRUCTION,
        wave_quantum: 1,
        wave_seed: 7,
    })
}

/// Has each program stopped often for who comes under the rule, by a module with its
/// defaults.
fn stopped_each(guest: &mut Guest, clients: Clients, programs: &[&'static str]) -> Result<()> {
    set_pace(guest)?;
    clients.tell(guest, "go")?;
    for name in programs {
        let Stopped { stops, saved } = clients.stopped_often(guest, (name, GOAL), &mut |_| ())?;
        println!("        {name}: {stops} stops, waves were saved {saved} times");
    }
    clients.finish(guest)?;
    guest.device.set_pace(Pace::default())?;
    ensure!(Table::Stats.sum(guest, "failures")? == 0);
    Ok(())
}

fn preempted(guest: &mut Guest, parameters: &str, usual: &[&'static str]) -> Result<()> {
    let programs = chosen(PROGRAMS, usual)?;
    with_programs(guest, |guest| {
        let clients = Clients::start(guest, started("clients"), &programs)?;
        beside_urgent(guest, parameters, clients, &programs)
    })
}

/// The queue of a grid whose workgroups wait for each other is not stopped, but whenever
/// another is, all queues are off the hardware for a moment, with the waves that they have.
fn grid(guest: &mut Guest, parameters: &str) -> Result<()> {
    const OTHER: &str = "sums";
    with_programs(guest, |guest| {
        let grid = Clients::start(guest, started("clients"), &[GRID])?;
        let other = Clients::start(guest, started("clients"), &[OTHER])?;
        beside(guest, parameters, |guest| {
            other.tell(guest, "go")?;
            stopped_each(guest, grid, &[GRID])?;
            other.tell(guest, OTHER)?;
            other.finish(guest).map(drop)
        })
    })
}

/// Each program is stopped often for a load of ours that is urgent.
pub fn beside_urgent(
    guest: &mut Guest,
    parameters: &str,
    clients: Clients,
    programs: &[&'static str],
) -> Result<()> {
    beside(guest, parameters, |guest| {
        stopped_each(guest, clients, programs)
    })
}

/// Does something beside a load of ours that is urgent, with a module with its defaults but
/// for these parameters.
fn beside<T>(
    guest: &mut Guest,
    parameters: &str,
    run: impl FnOnce(&mut Guest) -> Result<T>,
) -> Result<T> {
    let module = Module::load(guest, &format!("mode=enforce {parameters}"))?;
    module.add_rule(guest, "7 comm=workload prio=9")?;
    let urgent = bursts(guest, json!({}));
    let load = Load::start(guest, json!({"queues": [urgent]}))?;
    let result = run(guest)?;
    load.stop(guest)?;
    load.finish(guest)?;
    module.unload(guest)?;
    Ok(result)
}

/// Where the driver has no scheduler.
fn without_scheduler(guest: &mut Guest, usual: &[&'static str]) -> Result<()> {
    guest.expect_log(UNSUPPORTED);
    preempted(guest, "backend=mqd", usual)
}

fn by_another(guest: &mut Guest) -> Result<()> {
    let programs = chosen(PROGRAMS, &["primitives"])?;
    with_programs(guest, |guest| {
        let clients = Clients::start(guest, started("clients"), &programs)?;
        let urgent = Clients::start(guest, started(URGENT), &[CROWD])?;
        let module = Module::load(guest, "mode=enforce")?;
        module.add_rule(guest, &format!("7 comm={URGENT} prio=9"))?;
        urgent.tell(guest, "go")?;
        stopped_each(guest, clients, &programs)?;
        urgent.tell(guest, CROWD)?;
        urgent.finish(guest)?;
        module.unload(guest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_lines_are_read() {
        let text = "sums 1\nbegin sums\nsums 2\nsums 3";
        assert_eq!(behind(text, "sums"), ["1", "2"]);
        assert_eq!(behind(text, "begin"), ["sums"]);
        assert!(behind("sums 1", "sums").is_empty());
    }
}
