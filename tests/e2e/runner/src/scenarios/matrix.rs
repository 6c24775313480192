// SPDX-License-Identifier: GPL-2.0-only
//! Faults of the GPU in each state that the module may be in. A cell counts when a trace
//! shows that both coincided: for a moment within a transaction the packet at which the
//! GPU let the fault begin, for a state that lasts what the module's tables said before
//! the fault began and while it was there.

use anyhow::{bail, ensure, Context, Result};
use serde_json::json;
use vgpu_model::{Faults, Fence, HiqAction, Moment};

use super::contention::{accounts, armed, heavy, ready_again, start_load, wait_until_stopped};
use super::preemption::{PATIENCE, UNBOUNDED};
use super::recovery::expect_hang;
use crate::background::{Background, Expect};
use crate::guest::Guest;
use crate::load::Load;
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "late firmware in each step of a transaction",
        needs: Needs::ONCE,
        run: representative,
    },
    row("matrix: late", |guest| whole_row(guest, Fault::Late)),
    row("matrix: endless", |guest| whole_row(guest, Fault::Endless)),
    row("matrix: interrupts", |guest| {
        whole_row(guest, Fault::InterruptsLost)
    }),
    row("matrix: silent", |guest| whole_row(guest, Fault::Silent)),
    row("matrix: hung", |guest| whole_row(guest, Fault::Hung)),
    row("matrix: unyielding", |guest| {
        whole_row(guest, Fault::Unyielding)
    }),
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Late,
    Silent,
    Hung,
    Unyielding,
    Endless,
    InterruptsLost,
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Fault::Late => "firmware answers late",
            Fault::Silent => "firmware does not answer",
            Fault::Hung => "the command processors hang",
            Fault::Unyielding => "a queue does not yield",
            Fault::Endless => "waves never end",
            Fault::InterruptsLost => "interrupts are lost",
        }
    }

    fn faults(self, doorbell: Option<u64>) -> Faults {
        // Longer than any step of a transaction; far below what the driver waits.
        const LATE_NS: u64 = 3_000_000;
        let mut faults = Faults::default();
        match self {
            Fault::Late => faults.fence = Fence::Late(LATE_NS),
            Fault::Silent => faults.fence = Fence::Never,
            Fault::Hung => faults.hung = true,
            Fault::Unyielding => faults.unyielding.extend(doorbell),
            Fault::Endless => faults.endless.extend(doorbell),
            Fault::InterruptsLost => faults.interrupts_lost = true,
        }
        faults
    }

    /// Whether the driver can only reset something once it asks for anything.
    fn ends_in_reset(self) -> bool {
        matches!(self, Fault::Silent | Fault::Hung | Fault::Unyielding)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Observing,
    Grace,
    Unmapping,
    Editing,
    Mapping,
    Stopped,
    Starting,
    LettingGo,
}

const STATES: &[State] = &[
    State::Idle,
    State::Observing,
    State::Grace,
    State::Unmapping,
    State::Editing,
    State::Mapping,
    State::Stopped,
    State::Starting,
    State::LettingGo,
];

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Idle => "idle",
            State::Observing => "observing",
            State::Grace => "waiting for grace",
            State::Unmapping => "unmapping",
            State::Editing => "editing",
            State::Mapping => "mapping",
            State::Stopped => "stopped",
            State::Starting => "starting",
            State::LettingGo => "letting go",
        }
    }

    /// The moment of a transaction that it is, if it is one.
    fn moment(self) -> Option<Moment> {
        match self {
            State::Unmapping | State::Starting | State::LettingGo => Some(Moment::Unmap),
            State::Editing => Some(Moment::Unmapped),
            State::Mapping => Some(Moment::Map),
            _ => None,
        }
    }
}

/// How a cell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Every workgroup ran once.
    Kept,
    /// The driver said that it has reset the GPU or the queue, and new work runs.
    Reset,
}

fn representative(guest: &mut Guest) -> Result<()> {
    for state in [State::Unmapping, State::Editing, State::Mapping] {
        let end = cell(guest, Fault::Late, state)?;
        ensure!(end == End::Kept, "{state:?} ended in a reset");
    }
    Ok(())
}

fn whole_row(guest: &mut Guest, fault: Fault) -> Result<()> {
    for &state in STATES {
        if fault == Fault::InterruptsLost && state == State::Stopped {
            // Who is waited for sleeps until an interrupt, and has no more work: the stopped
            // queue is started.
            println!("cell\t{}\t{}\tcannot be", fault.name(), state.name());
            continue;
        }
        let end = cell(guest, fault, state)
            .with_context(|| format!("{} while {}", fault.name(), state.name()))?;
        if end == End::Reset {
            ensure!(
                fault.ends_in_reset(),
                "{fault:?} while {state:?} cost a reset"
            );
        }
        let said = match end {
            End::Kept => "goes on",
            End::Reset => "reset, in the log",
        };
        println!("cell\t{}\t{}\t{said}", fault.name(), state.name());
    }
    Ok(())
}

/// What a cell has going.
struct Scene {
    module: Module,
    load: Option<Load>,
    doorbell: Option<u64>,
    resets: usize,
    transactions: u64,
}

fn cell(guest: &mut Guest, fault: Fault, state: State) -> Result<End> {
    if fault.ends_in_reset() {
        expect_hang(guest);
        for text in ["Queue preemption failed", "is reset", "Queues reset on"] {
            guest.expect_log(text);
        }
    }
    let scene = prepare(guest, state)?;
    let faults = fault.faults(scene.doorbell);
    match state.moment() {
        Some(moment) => within(guest, &scene, state, moment, faults)?,
        None => beside(guest, &scene, state, faults)?,
    }
    settle(guest, scene, state)
}

/// Brings the module into the state, or to just before it.
fn prepare(guest: &mut Guest, state: State) -> Result<Scene> {
    let more = match state {
        State::Grace => "mode=enforce grace_us=1000000",
        _ => "mode=observe",
    };
    let module = Module::load(guest, &format!("{UNBOUNDED} {more}"))?;
    let resets = resets(guest)?;
    let mut scene = Scene {
        module,
        load: None,
        doorbell: None,
        resets,
        transactions: 0,
    };
    if state == State::Idle {
        return Ok(scene);
    }
    let load = start_load(guest, 0, json!({}))?;
    if state != State::Grace {
        guest.wait_until("an inversion is seen", PATIENCE, |guest| {
            Ok(Table::Stats.sum(guest, "observed")? > 0)
        })?;
    }
    let queue = guest
        .device
        .mapped()?
        .into_iter()
        .max_by_key(|queue| queue.workgroups_resident);
    scene.doorbell = Some(queue.context("no queue is mapped")?.queue.doorbell);
    if matches!(state, State::Stopped | State::Starting | State::LettingGo) {
        scene.module.set(guest, "mode", "enforce")?;
        wait_until_stopped(guest, &load, 0)?;
    }
    scene.load = Some(load);
    scene.transactions = Table::Stats.sum(guest, "transactions")?;
    Ok(scene)
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
    let mut began = None;
    guest.wait_until("the fault begins", PATIENCE, |guest| {
        began = guest.device.faults_began()?;
        Ok(began.is_some())
    })?;
    let began = began.context("it has not begun")?;
    // Nobody but the module had anything sent since the mark.
    let packet = guest.device.hiq(began.packet)?.into_iter().next();
    let packet = packet.context("the packet is not in the log")?;
    let fits = match moment {
        Moment::Unmap => matches!(packet.action, HiqAction::Unmap { .. }),
        Moment::Unmapped => matches!(packet.action, HiqAction::QueryStatus { .. }),
        Moment::Map => matches!(packet.action, HiqAction::RunList { .. }),
    };
    ensure!(
        fits && began.packet >= mark && began.packet < mark + 8,
        "the fault began at {packet:?}, {} packets after the mark",
        began.packet.saturating_sub(mark)
    );
    Ok(())
}

/// Lets the fault begin at once, and checks that the state lasted.
fn beside(guest: &mut Guest, scene: &Scene, state: State, faults: Faults) -> Result<()> {
    let before = evidence(guest, scene, state)?;
    guest.device.set_faults(faults)?;
    let passes = Table::Stats.sum(guest, "passes")?;
    guest.wait_until("the module looks at it", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "passes")? > passes + 2)
    })?;
    let after = evidence(guest, scene, state)?;
    ensure!(
        before == after,
        "the state did not last: {before:?} became {after:?}"
    );
    Ok(())
}

/// What shows that the module is in a state, and the same as long as it is.
fn evidence(guest: &mut Guest, scene: &Scene, state: State) -> Result<String> {
    let node = Table::Stats.read(guest)?.swap_remove(0);
    let load = scene.load.as_ref();
    let row = match load {
        Some(load) => heavy(guest, load)?.context("the heavy queue is gone")?,
        None => json!(null),
    };
    let is = match state {
        State::Idle => Table::Queues.read(guest)?.is_empty(),
        State::Observing => node["observed"].as_u64() > Some(0) && node["mode"] == "observe",
        State::Grace => {
            let urgent = Table::Queues.read(guest)?;
            row["stops"] == 0 && urgent.iter().any(|row| row["prio"] == 15)
        }
        State::Stopped => row["state"] == "stopped",
        other => bail!("{other:?} does not last"),
    };
    ensure!(is, "the module is not {}: {node} {row}", state.name());
    // Stops that are only observed are counted as well.
    let stops = match state {
        State::Observing => json!(null),
        _ => row["stops"].clone(),
    };
    Ok(format!(
        "{} transactions, {stops} stops",
        node["transactions"]
    ))
}

/// How often the driver has reset the GPU or a queue.
fn resets(guest: &mut Guest) -> Result<usize> {
    Ok(guest.times_in_log(") succeeded!")? + guest.times_in_log("is reset")?)
}

/// Whether the driver has found something that it can only reset.
fn in_trouble(guest: &mut Guest) -> Result<bool> {
    for text in [
        "cp might be in an unrecoverable state",
        "Queue preemption failed",
    ] {
        if guest.times_in_log(text)? > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Waits for what becomes of it, lifts the fault, and has everybody run again.
fn settle(guest: &mut Guest, scene: Scene, state: State) -> Result<End> {
    let before = scene.transactions;
    if state.moment().is_some() {
        guest.wait_until("the transaction is over", PATIENCE, |guest| {
            let over = match state {
                State::LettingGo => is_unloaded(guest)?,
                _ => Table::Stats.sum(guest, "transactions")? > before,
            };
            Ok(over || in_trouble(guest)?)
        })?;
    }
    let is_reset = in_trouble(guest)?;
    guest.device.set_faults(Faults::default())?;
    if is_reset {
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
    let load = match scene.load {
        Some(load) if !is_reset => load,
        lost => {
            if let Some(load) = lost {
                load.kill(guest)?;
            }
            return start_over(guest, module, is_reset);
        }
    };
    if let Some(module) = module {
        armed(guest)?;
        module.unload(guest)?;
    }
    accounts(guest)?;
    load.stop(guest)?;
    load.finish(guest)?;
    Ok(End::Kept)
}

/// New work, of which a queue is stopped for another.
fn start_over(guest: &mut Guest, module: Option<Module>, is_reset: bool) -> Result<End> {
    let module = match module {
        Some(module) => module,
        None => Module::load(guest, UNBOUNDED)?,
    };
    module.set(guest, "mode", "enforce")?;
    ready_again(guest)?;
    module.unload(guest)?;
    Ok(if is_reset { End::Reset } else { End::Kept })
}

fn is_unloaded(guest: &mut Guest) -> Result<bool> {
    let modules = guest.agent().list("/sys/module")?;
    Ok(!modules.contains(&"amd_gpreempt".into()))
}
