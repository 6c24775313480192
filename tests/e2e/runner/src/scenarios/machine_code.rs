// SPDX-License-Identifier: GPL-2.0-only
//! Machine code under the driver: kernels from a compiler and an assembler, saved and
//! restored by the trap handler that the driver installs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use gpu_workload::machine::{Job, Outcome, Said};
use serde::Deserialize;
use serde_json::json;
use vgpu_model::{Faults, Pace, QueueId, Spoil};

use super::direct::DIRECT;
use super::faults::PAGE_FAULT;
use super::repetition::{bursts, unrestrained};
use crate::accounts::Accounts;
use crate::background::{Background, Expect};
use crate::guest::Guest;
use crate::kernels::Case;
use crate::load::Load;
use crate::module::Table;
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::Vgpu,
        name: "machine code leaves what the host calculates",
        needs: Needs::ANY,
        run: undisturbed,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "a debugger finds waves of machine code where they were stopped",
        needs: Needs::ONCE,
        run: debugged,
    },
    Scenario {
        suite: Suite::E2e,
        name: "machine code of PM4 packets goes on where it was preempted",
        needs: Needs {
            thunk: true,
            ..Needs::ANY
        },
        run: preempted_packets,
    },
    Scenario {
        suite: Suite::E2e,
        name: "machine code goes on where it was preempted",
        needs: Needs::ANY,
        run: preempted,
    },
    Scenario {
        suite: Suite::E2e,
        name: "machine code goes on where it was preempted with transaction=direct",
        needs: Needs {
            driver: DIRECT,
            ..Needs::ANY
        },
        run: preempted_directly,
    },
    Scenario {
        suite: Suite::E2e,
        name: "machine code goes on where it was preempted with backend=mqd",
        needs: Needs {
            sched_policy: 2,
            ..Needs::ANY
        },
        run: preempted_by_descriptor,
    },
    Scenario {
        suite: Suite::E2e,
        name: "machine code that is not restored as it was leaves wrong results",
        needs: Needs::ONCE,
        run: spoiled,
    },
];

const PATIENCE: Duration = Duration::from_secs(600);

/// What a debugger has found of a suspended queue.
#[derive(Deserialize)]
struct Looked {
    addresses: Vec<u64>,
}
/// How long a dispatch takes, in nanoseconds of the GPU.
const DISPATCH: u64 = 5_000_000;
const LOWEST: u32 = 0;

/// Workgroups of a dispatch: a square, and no number that another load has.
fn groups(guest: &Guest) -> u32 {
    if guest.shape.dies() == 1 {
        4
    } else {
        9
    }
}

/// What the data and the pace of waves come from: another with GP_SEED.
fn seed() -> Result<u64> {
    match std::env::var("GP_SEED") {
        Ok(text) => text.parse().context("GP_SEED is no whole number"),
        Err(_) => Ok(20),
    }
}

/// All kernels, or those that GP_KERNELS names.
fn cases(guest: &Guest) -> Result<Vec<Case>> {
    let names = std::env::var("GP_KERNELS").unwrap_or_default();
    Case::chosen(Case::all(groups(guest), seed()?), &names)
}

/// A program that dispatches kernels, each again and again until it is told to go on.
struct Run {
    program: Background,
    stops: Vec<String>,
}

impl Run {
    fn start(guest: &mut Guest, cases: &[Case]) -> Result<Run> {
        let place = format!("/tmp/machine.{}", guest.unique());
        let stop = |at: usize| format!("{place}.{at}");
        let stops: Vec<String> = (0..cases.len()).map(stop).collect();
        let pairs = cases.iter().zip(&stops);
        let jobs: Vec<Job> = pairs.map(|(case, stop)| case.job(LOWEST, stop)).collect();
        guest
            .agent()
            .make_file(&place, &serde_json::to_string(&jobs)?)?;
        let line = ["workload", "machine", "--jobs", &place];
        let program = Background::start(guest, &line, Expect::Anything)?;
        Ok(Run { program, stops })
    }

    /// What the program has said so far.
    fn said(&self, guest: &mut Guest) -> Result<Vec<Said>> {
        let text = self.program.output(guest)?;
        let lines = text.split_inclusive('\n').filter(|l| l.ends_with('\n'));
        lines.map(|line| Ok(serde_json::from_str(line)?)).collect()
    }

    /// Waits until it has said so many things, two for each kernel, and returns the last.
    fn wait_for(&self, guest: &mut Guest, count: usize) -> Result<Said> {
        let mut said = Vec::new();
        guest.wait_until("the program of machine code goes on", PATIENCE, |guest| {
            let ended = self.program.wait(guest, Duration::ZERO)?;
            said = match &ended {
                Some(ended) => ended
                    .stdout
                    .lines()
                    .map(|line| Ok(serde_json::from_str(line)?))
                    .collect::<Result<Vec<_>>>()?,
                None => self.said(guest)?,
            };
            if let Some(ended) = ended.filter(|_| said.len() < count) {
                bail!("the program of machine code has ended: {ended:?}");
            }
            Ok(said.len() >= count)
        })?;
        Ok(said.swap_remove(count - 1))
    }

    /// Waits until a kernel's turn has come, and returns where its code is.
    fn begins(&self, guest: &mut Guest, at: usize) -> Result<u64> {
        Ok(self.ready(guest, at)?.0)
    }

    /// The same, and the number of its process.
    fn ready(&self, guest: &mut Guest, at: usize) -> Result<(u64, u32)> {
        match self.wait_for(guest, 2 * at + 1)? {
            Said::Ready { code, process } => Ok((code, process)),
            Said::Done(_) => bail!("a kernel ended that had not begun"),
        }
    }

    /// Lets the dispatch that is under way be the kernel's last, after which memory must
    /// hold what the host says.
    fn ends(&self, guest: &mut Guest, at: usize, case: &Case) -> Result<Outcome> {
        guest.agent().make_file(&self.stops[at], "")?;
        let Said::Done(outcome) = self.wait_for(guest, 2 * at + 2)? else {
            bail!("a kernel began that should end");
        };
        ensure!(
            outcome.dispatches > 0 && outcome.wrong.is_empty(),
            "{} left wrong results in {} of {} dispatches: {:?}",
            case.kernel,
            outcome.wrong.len(),
            outcome.dispatches,
            outcome.wrong.first()
        );
        Ok(outcome)
    }
}

fn undisturbed(guest: &mut Guest) -> Result<()> {
    let cases = cases(guest)?;
    let run = Run::start(guest, &cases)?;
    for (at, case) in cases.iter().enumerate() {
        run.begins(guest, at)?;
        run.ends(guest, at, case)?;
    }
    Ok(())
}

/// Where waves of a queue were when they were saved, and how often so far.
fn stops(guest: &mut Guest, queue: QueueId) -> Result<BTreeMap<u64, u64>> {
    let all = guest.device.stops()?;
    let own = all.into_iter().find(|each| each.queue == queue);
    Ok(own.map_or_else(BTreeMap::new, |own| own.addresses.into_iter().collect()))
}

fn debugged(guest: &mut Guest) -> Result<()> {
    const LOOKS: usize = 10;
    let cases = Case::chosen(Case::all(groups(guest), seed()?), BY_PACKETS)?;
    let case = &cases[0];
    let bytes = case.landmarks().instructions.last().context("no code")? + 8;
    set_pace(guest, case)?;
    let mut accounts = Accounts::new(guest)?;
    let run = Run::start(guest, &cases)?;
    let (code, process) = run.ready(guest, 0)?;
    let mut report = None;
    guest.wait_until("the kernel has begun", PATIENCE, |guest| {
        report = accounts.find(guest, case.groups)?;
        Ok(report.is_some())
    })?;
    let queue = report.context("no account")?.queue;
    let line = [code, bytes, process.into()].map(|number: u64| number.to_string());
    let [code, bytes, pid] = &line;
    let line = [
        "kfdctl", "look", "--pid", pid, "--code", code, "--bytes", bytes,
    ];
    let waves = case.groups as usize * usize::from(case.job(LOWEST, "").items).div_ceil(64);
    let mut looks = 0;
    // Between two dispatches there are no waves, and at an end fewer.
    for _ in 0..10 * LOOKS {
        let before = stops(guest, queue)?;
        let found: Vec<Looked> = serde_json::from_value(guest.json(&line, PATIENCE)?)?;
        // To begin to debug saves waves, too.
        let after = stops(guest, queue)?;
        let is_new = |at: &u64| after.get(at) > before.get(at);
        let found: Vec<u64> = found.into_iter().flat_map(|each| each.addresses).collect();
        ensure!(
            found.iter().all(is_new) && found.len() <= waves,
            "the debugger finds {found:x?}, and the GPU has saved {after:x?} in all, before \
             {before:x?}"
        );
        looks += usize::from(found.len() == waves);
        if looks == LOOKS {
            break;
        }
    }
    ensure!(looks == LOOKS, "only {looks} looks found all waves");
    guest.device.set_pace(Pace::default())?;
    run.ends(guest, 0, case)?;
    Ok(())
}

/// Whoever else has waves is stopped for it again and again.
fn urgent(guest: &Guest) -> serde_json::Value {
    bursts(guest, json!({"group": "urgent", "priority": 15}))
}

/// The kernel whose waves have everything that can be lost.
const BY_PACKETS: &str = "state";

fn preempted_packets(guest: &mut Guest) -> Result<()> {
    let cases = Case::chosen(Case::all(groups(guest), seed()?), BY_PACKETS)?;
    let cases: Vec<Case> = cases.into_iter().map(Case::by_packets).collect();
    preempted_cases(guest, "transaction=driver", &cases)
}

fn preempted(guest: &mut Guest) -> Result<()> {
    preempted_with(guest, "transaction=driver")
}

fn preempted_directly(guest: &mut Guest) -> Result<()> {
    preempted_with(guest, "transaction=direct")
}

fn preempted_by_descriptor(guest: &mut Guest) -> Result<()> {
    // The driver itself logs this whenever a process ends in this mode.
    guest.expect_log("Unsupported on sched_policy");
    preempted_with(guest, "backend=mqd")
}

fn preempted_with(guest: &mut Guest, parameters: &str) -> Result<()> {
    let cases = cases(guest)?;
    preempted_cases(guest, parameters, &cases)
}

/// Kernels that are each saved and restored often, beside an urgent queue.
pub(super) fn preempted_cases(guest: &mut Guest, parameters: &str, cases: &[Case]) -> Result<()> {
    let module = unrestrained(guest, parameters)?;
    let urgent = urgent(guest);
    let load = Load::start(guest, json!({"queues": [urgent]}))?;
    // As often as a long run wants it, or a short one.
    let goal = if guest.cycles > 500 { 1_000 } else { 20 };
    let mut accounts = Accounts::new(guest)?;
    let run = Run::start(guest, cases)?;
    for (at, case) in cases.iter().enumerate() {
        let line = stopped_often(guest, &mut accounts, &run, (at, case), goal)?;
        println!("        {}", line);
    }
    guest.device.set_pace(Pace::default())?;
    load.stop(guest)?;
    load.finish(guest)?;
    ensure!(Table::Stats.sum(guest, "failures")? == 0);
    module.unload(guest)
}

/// So slow that a kernel can be interrupted between any two instructions.
fn set_pace(guest: &mut Guest, case: &Case) -> Result<()> {
    guest.device.set_pace(Pace {
        instruction: DISPATCH / case.instructions,
        wave_quantum: 1,
        wave_seed: seed()?,
    })
}

/// Lets a kernel go on until its waves were saved so often, at each loop and barrier among
/// other instructions. Returns what came of it.
fn stopped_often(
    guest: &mut Guest,
    accounts: &mut Accounts,
    run: &Run,
    (at, case): (usize, &Case),
    goal: u64,
) -> Result<String> {
    set_pace(guest, case)?;
    let landmarks = case.landmarks();
    let code = run.begins(guest, at)?;
    let mut before = None;
    let mut saves = 0;
    let mut stops = BTreeSet::new();
    let what = format!("{} was saved {goal} times", case.kernel);
    let patience = PATIENCE * (1 + goal as u32 / 100);
    let waited = guest.wait_until(&what, patience, |guest| {
        let Some(report) = accounts.find(guest, case.groups)? else {
            return Ok(false);
        };
        ensure!(report.fault.is_none(), "{report:?}");
        saves = report.saves - *before.get_or_insert(report.saves);
        for each in guest.device.stops()? {
            if each.queue == report.queue {
                let offsets = each.addresses.iter().map(|(at, _)| at.wrapping_sub(code));
                stops.extend(offsets.filter(|at| landmarks.instructions.contains(at)));
            }
        }
        Ok(saves >= goal && landmarks.missed(&stops).is_empty())
    });
    waited.with_context(|| format!("{saves} saves missed {:?}", landmarks.missed(&stops)))?;
    let outcome = run.ends(guest, at, case)?;
    Ok(format!(
        "{}: {saves} saves in {} dispatches, at {} of {} instructions, {} barriers and {} loops \
         among them",
        case.kernel,
        outcome.dispatches,
        stops.len(),
        landmarks.instructions.len(),
        landmarks.barriers.len(),
        landmarks.loops.len()
    ))
}

/// What a wave may be when it is restored, other than it was.
const SPOILS: [Spoil; 5] = [
    // Where the sum is kept.
    Spoil::Scalar(2),
    Spoil::Vector(20),
    Spoil::Exec,
    Spoil::Share,
    Spoil::ProgramCounter,
];

fn spoiled(guest: &mut Guest) -> Result<()> {
    // A wave that skips the load of an address stores anywhere.
    PAGE_FAULT.iter().for_each(|text| guest.expect_log(text));
    guest.expect_log("in page starting at address 0x");
    let module = unrestrained(guest, "transaction=driver")?;
    let load = Load::start(guest, json!({"queues": [urgent(guest)]}))?;
    let case = Case::chosen(Case::all(groups(guest), seed()?), "state")?;
    for spoil in SPOILS {
        guest.device.set_faults(Faults {
            spoiled_waves: Some(spoil),
            ..Faults::default()
        })?;
        // A wave that is saved twice has its halves of EXEC exchanged twice.
        let mut is_noticed = false;
        for _ in 0..4 {
            is_noticed = is_noticed || spoiled_once(guest, &case)?;
        }
        ensure!(is_noticed, "{spoil:?}: nobody noticed, four times");
    }
    guest.device.set_faults(Faults::default())?;
    guest.device.set_pace(Pace::default())?;
    load.stop(guest)?;
    load.finish(guest)?;
    module.unload(guest)
}

/// Lets the kernel go on until a wave was saved at an instruction that matters, and says
/// whether what it leaves is wrong.
fn spoiled_once(guest: &mut Guest, cases: &[Case]) -> Result<bool> {
    set_pace(guest, &cases[0])?;
    let mut accounts = Accounts::new(guest)?;
    let run = Run::start(guest, cases)?;
    let code = run.begins(guest, 0)?;
    guest.wait_until("a wave is spoiled where it matters", PATIENCE, |guest| {
        let Some(report) = accounts.find(guest, cases[0].groups)? else {
            return Ok(false);
        };
        let stops = guest.device.stops()?;
        let own = stops.iter().filter(|each| each.queue == report.queue);
        let mut addresses = own.flat_map(|each| each.addresses.iter());
        let matters = Case::vulnerable();
        Ok(report.fault.is_some()
            || addresses.any(|(at, _)| matters.contains(&at.wrapping_sub(code))))
    })?;
    guest.agent().make_file(&run.stops[0], "")?;
    let ended = run.program.end(guest, PATIENCE)?;
    let last = ended.stdout.lines().last().unwrap_or_default();
    Ok(match serde_json::from_str(last)? {
        Said::Done(outcome) => !outcome.wrong.is_empty(),
        // It went on where it was told of a fault in memory.
        Said::Ready { .. } => ended.stderr.contains("the GPU reports"),
    })
}
