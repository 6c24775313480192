// SPDX-License-Identifier: GPL-2.0-only
//! Faults of the GPU in each state that the module may be in. A cell counts when a trace
//! shows that both coincided: for a moment within a transaction the packet at which the
//! GPU let the fault begin, for a state that lasts what the module's tables said before
//! the fault began and while it was there. Where the GPU counts what a fault changes, it
//! must have changed something before it was lifted.

mod fault;
mod state;

use std::env;

use anyhow::{ensure, Context, Result};
use vgpu_model::{Faults, Moment};

use super::contention::{accounts, armed, ready_again, urgent_goes_on, wait_until_stopped};
use super::preemption::{PATIENCE, UNBOUNDED};
use super::recovery::{begin_reset, reset_gpu};
use crate::background::{Background, Expect};
use crate::guest::{on_disk, Guest};
use crate::load::Load;
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};
use fault::{check_began, Fault, FAULTS};
use state::{evidence, prepare, State, STATES};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "late firmware in each step of a transaction",
        needs: Needs::ONCE,
        run: representative,
    },
    row("matrix: late", |guest| whole_row(guest, Fault::Late)),
    row("matrix: endless", |guest| whole_row(guest, Fault::Endless)),
    row("matrix: silent", |guest| whole_row(guest, Fault::Silent)),
    row("matrix: hung", |guest| whole_row(guest, Fault::Hung)),
    row("matrix: unyielding", |guest| {
        whole_row(guest, Fault::Unyielding)
    }),
    row("matrix: interrupts lost", |guest| {
        whole_row(guest, Fault::InterruptsLost)
    }),
    row("matrix: interrupts twice", |guest| {
        whole_row(guest, Fault::InterruptsRepeated)
    }),
    row("matrix: interrupts for nothing", |guest| {
        whole_row(guest, Fault::InterruptsSpurious)
    }),
    row("matrix: interrupt ring", |guest| {
        whole_row(guest, Fault::InterruptsOverflow)
    }),
    row("matrix: doorbells", |guest| {
        whole_row(guest, Fault::DoorbellsLost)
    }),
    row("matrix: read pointers", |guest| {
        whole_row(guest, Fault::ReadPointersStuck)
    }),
    row("matrix: memory", |guest| whole_row(guest, Fault::Memory)),
    row("matrix: bus", |guest| whole_row(guest, Fault::BusLost)),
    row("matrix: copies slow", |guest| {
        whole_row(guest, Fault::CopiesSlow)
    }),
    row("matrix: copies hang", |guest| {
        whole_row(guest, Fault::CopiesHung)
    }),
    row("matrix: reset", |guest| whole_row(guest, Fault::Reset)),
];

const fn row(name: &'static str, run: fn(&mut Guest) -> Result<()>) -> Scenario {
    Scenario {
        suite: Suite::Matrix,
        name,
        needs: Needs {
            spoils: true,
            ..Needs::ANY
        },
        run,
    }
}

/// How a cell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Every workgroup ran once.
    Kept,
    /// The driver said that it has reset the GPU or the queue, and new work runs.
    Reset,
    /// The process was told of the fault, the other one went on, and new work runs.
    Told,
}

fn representative(guest: &mut Guest) -> Result<()> {
    for state in [State::Unmapping, State::Editing, State::Mapping] {
        let end = cell(guest, Fault::Late, state)?;
        ensure!(end == End::Kept, "{state:?} ended in a reset");
    }
    Ok(())
}

/// `GP_STATES="stopped,letting go"` tries these states alone.
fn wanted(state: State) -> bool {
    match env::var("GP_STATES") {
        Ok(names) => names.split(',').any(|name| name.trim() == state.name()),
        Err(_) => true,
    }
}

/// Says which cells there can be, so that others that were kept are forgotten.
fn print_names() {
    let faults: Vec<&str> = FAULTS.iter().map(|fault| fault.name()).collect();
    let states: Vec<&str> = STATES.iter().map(|state| state.name()).collect();
    println!("matrix\tfaults\t{}", faults.join(";"));
    println!("matrix\tstates\t{}", states.join(";"));
}

fn whole_row(guest: &mut Guest, fault: Fault) -> Result<()> {
    print_names();
    for &state in STATES.iter().filter(|state| wanted(**state)) {
        let said = match fault.excludes(state) {
            Some(reason) => format!("cannot be: {reason}"),
            None => {
                let end = cell(guest, fault, state)
                    .with_context(|| format!("{} while {}", fault.name(), state.name()))?;
                let said = match end {
                    End::Kept => "goes on",
                    End::Reset => "reset, in the log",
                    End::Told => "told, in the log",
                };
                said.to_owned()
            }
        };
        println!("cell\t{}\t{}\t{said}", fault.name(), state.name());
    }
    Ok(())
}

/// What a cell has going.
struct Scene {
    module: Module,
    load: Option<Load>,
    /// A program that copies all the time.
    copies: Option<Background>,
    doorbell: Option<u64>,
    transactions: u64,
    /// What the log and the GPU had counted before.
    resets: usize,
    troubles: usize,
    struck: u64,
}

fn cell(guest: &mut Guest, fault: Fault, state: State) -> Result<End> {
    fault.expect(guest);
    let scene = prepare(guest, fault, state)?;
    let faults = fault.faults(scene.doorbell);
    match state.moment() {
        Some(moment) => within(guest, &scene, state, moment, faults)?,
        None => beside(guest, &scene, fault, state, faults)?,
    }
    let end = settle(guest, scene, fault, state)?;
    ensure!(
        end != End::Reset || fault.may_end_in_reset(),
        "{fault:?} while {state:?} cost a reset"
    );
    Ok(end)
}

/// Lets the fault begin within the module's next transaction.
fn within(
    guest: &mut Guest,
    scene: &Scene,
    state: State,
    moment: Moment,
    faults: Faults,
) -> Result<()> {
    let load = scene.load.as_ref().context("a cell without a load")?;
    let mark = guest.device.hiq_mark()?;
    guest.device.set_faults_at(moment, faults)?;
    match state {
        State::Starting => {
            let pid = load.pid("heavy")?;
            let rule = format!("1 pid={pid} exempt");
            scene.module.add_rule(guest, &rule)?;
        }
        State::LettingGo => {
            Background::shell(guest, "rmmod amd_gpreempt", Expect::Anything)?;
        }
        _ => scene.module.set(guest, "mode", "enforce")?,
    }
    check_began(guest, moment, mark)
}

/// Lets the fault begin at once, and checks that the state lasted.
fn beside(
    guest: &mut Guest,
    scene: &Scene,
    fault: Fault,
    state: State,
    faults: Faults,
) -> Result<()> {
    let before = evidence(guest, scene, state)?;
    if fault == Fault::Reset {
        // That ends whatever lasts.
        return Ok(());
    }
    guest.device.set_faults(faults)?;
    let passes = Table::Stats.sum(guest, "passes")?;
    guest.wait_until("the module looks at it", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "passes")? > passes + 2)
    })?;
    if fault == Fault::Memory {
        // The driver has taken the queue off, as it does without the module.
        return Ok(());
    }
    let after = evidence(guest, scene, state)?;
    ensure!(
        before == after,
        "the state did not last: {before:?} became {after:?}"
    );
    Ok(())
}

/// How often the driver has reset the GPU or a queue.
fn resets(guest: &mut Guest) -> Result<usize> {
    Ok(guest.times_in_log(") succeeded!")? + guest.times_in_log("is reset")?)
}

/// How often the driver has found something that it can only reset.
fn troubles(guest: &mut Guest) -> Result<usize> {
    let mut times = 0;
    for text in [
        "cp might be in an unrecoverable state",
        "Queue preemption failed",
        "GPU reset begin",
    ] {
        times += guest.times_in_log(text)?;
    }
    Ok(times)
}

/// What the module says of a reset that it meets in a transaction.
const IS_RESET: &str = "the GPU is being reset";

/// Has the driver reset the GPU, before the transaction is over if there is one.
fn reset(guest: &mut Guest, scene: &Scene, state: State) -> Result<()> {
    if state.moment().is_none() {
        return reset_gpu(guest, 0);
    }
    begin_reset(guest, 0)?;
    guest.wait_until("the reset begins", PATIENCE, |guest| {
        Ok(troubles(guest)? > scene.troubles)
    })?;
    if state != State::LettingGo {
        // The module gives up when it finds that out, and says so.
        let node = Table::Stats.read(guest)?.swap_remove(0);
        ensure!(
            node["transactions"] == scene.transactions || node["last_failure"] == IS_RESET,
            "the transaction was over before the reset began: {node}"
        );
    }
    Ok(())
}

/// A program with a queue of its own: the driver asks the firmware for all queues.
fn nudge(guest: &mut Guest) -> Result<()> {
    let line = on_disk(&["workload", "copy", "--bytes", "4096"]);
    guest.agent().check(line, PATIENCE).map(drop)
}

/// Waits for what becomes of the fault while it is there. Returns whether something was,
/// or will be, reset.
fn outcome(guest: &mut Guest, scene: &Scene, fault: Fault, state: State) -> Result<bool> {
    if fault == Fault::Reset {
        reset(guest, scene, state)?;
        return Ok(true);
    }
    if state.moment().is_some() {
        let before = scene.transactions;
        guest.wait_until("the transaction is over", PATIENCE, |guest| {
            let over = match state {
                State::LettingGo => is_unloaded(guest)?,
                _ => Table::Stats.sum(guest, "transactions")? > before,
            };
            Ok(over || troubles(guest)? > scene.troubles)
        })?;
    }
    if fault == Fault::Hung && troubles(guest)? == scene.troubles {
        // What hangs does so until a reset, and the driver finds out when it asks. Nobody
        // waits for an answer to a run list.
        let line = ["workload", "copy", "--bytes", "4096"];
        Background::start(guest, &line, Expect::Anything)?;
        guest.wait_until("the driver finds out", PATIENCE, |guest| {
            Ok(troubles(guest)? > scene.troubles)
        })?;
    }
    if fault.is_counted() {
        guest.wait_until("the fault makes a difference", PATIENCE, |guest| {
            Ok(guest.device.state()?.struck > scene.struck)
        })?;
    }
    Ok(troubles(guest)? > scene.troubles)
}

/// Waits for what becomes of it, lifts the fault, and has everybody run again.
fn settle(guest: &mut Guest, scene: Scene, fault: Fault, state: State) -> Result<End> {
    let mut end = match outcome(guest, &scene, fault, state)? {
        true => End::Reset,
        false => End::Kept,
    };
    guest.device.set_faults(Faults::default())?;
    if end == End::Reset {
        guest.wait_until("the driver has reset it", PATIENCE, |guest| {
            Ok(resets(guest)? > scene.resets)
        })?;
    }
    let module = match state {
        State::LettingGo => {
            guest.wait_until("the module is gone", PATIENCE, is_unloaded)?;
            None
        }
        _ => Some(scene.module),
    };
    if let Some(copies) = scene.copies {
        copies.stop(guest)?;
    }
    if fault == Fault::Memory {
        told(guest, scene.load.as_ref())?;
        end = End::Told;
    }
    let load = match scene.load {
        Some(load) if end == End::Kept => load,
        lost => {
            if let Some(load) = lost {
                load.kill(guest)?;
            }
            return start_over(guest, module, end);
        }
    };
    if fault == Fault::DoorbellsLost {
        nudge(guest)?;
    }
    if let Some(module) = module {
        match state {
            State::Disarmed => arm(guest, &load)?,
            _ => armed(guest)?,
        }
        module.unload(guest)?;
    }
    accounts(guest)?;
    load.stop(guest)?;
    load.finish(guest)?;
    Ok(End::Kept)
}

/// The driver has said whose fault it is, and the other program goes on.
fn told(guest: &mut Guest, load: Option<&Load>) -> Result<()> {
    guest.wait_for_log("no-retry page fault", PATIENCE)?;
    let load = load.context("a cell without a load")?;
    urgent_goes_on(guest, load)
}

const ARM: &str = "echo armed | tee /sys/devices/faux/amd_gpreempt/gpu_*/node0/state";

/// As the operations guide describes it.
fn arm(guest: &mut Guest, load: &Load) -> Result<()> {
    guest.agent().shell(ARM)?;
    wait_until_stopped(guest, load, 0)
}

/// New work, of which a queue is stopped for another.
fn start_over(guest: &mut Guest, module: Option<Module>, end: End) -> Result<End> {
    let module = match module {
        Some(module) => module,
        None => Module::load(guest, UNBOUNDED)?,
    };
    module.set(guest, "mode", "enforce")?;
    if Table::Stats.read(guest)?[0]["state"] == "disarmed" {
        guest.agent().shell(ARM)?;
    }
    ready_again(guest)?;
    module.unload(guest)?;
    Ok(end)
}

fn is_unloaded(guest: &mut Guest) -> Result<bool> {
    let modules = guest.agent().list("/sys/module")?;
    Ok(!modules.contains(&"amd_gpreempt".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const KEPT: &str = include_str!("../../../../data/fault-states.txt");

    #[test]
    fn every_fault_has_a_row() {
        let rows = SCENARIOS.iter().filter(|row| row.suite == Suite::Matrix);
        assert_eq!(rows.count(), FAULTS.len());
        let names: BTreeSet<_> = FAULTS.iter().map(|fault| fault.name()).collect();
        assert_eq!(names.len(), FAULTS.len());
    }

    #[test]
    fn every_cell_that_is_kept_is_one_that_there_is() {
        let mut kept = BTreeSet::new();
        for line in KEPT.lines() {
            let cell: Vec<&str> = line.split('\t').collect();
            assert_eq!(cell.len(), 3, "{line}");
            assert!(kept.insert((cell[0], cell[1])), "{line} is there twice");
        }
        let all: BTreeSet<_> = FAULTS
            .iter()
            .flat_map(|fault| STATES.iter().map(|state| (fault.name(), state.name())))
            .collect();
        assert_eq!(kept, all);
    }
}
