// SPDX-License-Identifier: GPL-2.0-only
//! The states of the module in the table, how it gets there, and what shows that it is
//! in one.

use anyhow::{bail, ensure, Context, Result};
use serde_json::json;
use vgpu_model::{Faults, Moment};

use super::super::contention::{heavy, heavy_grid, start_load, wait_until_stopped};
use super::super::failure::{is_in_state, set_driver_patience};
use super::super::preemption::UNBOUNDED;
use super::super::recovery::expect_hang;
use super::{resets, troubles, Fault, Scene, PATIENCE};
use crate::accounts::Accounts;
use crate::background::{Background, Expect};
use crate::guest::Guest;
use crate::module::{Module, Table};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Idle,
    Observing,
    Grace,
    Unmapping,
    Editing,
    Mapping,
    Stopped,
    Starting,
    Disarmed,
    LettingGo,
}

pub const STATES: &[State] = &[
    State::Idle,
    State::Observing,
    State::Grace,
    State::Unmapping,
    State::Editing,
    State::Mapping,
    State::Stopped,
    State::Starting,
    State::Disarmed,
    State::LettingGo,
];

impl State {
    pub fn name(self) -> &'static str {
        match self {
            State::Idle => "idle",
            State::Observing => "observing",
            State::Grace => "waiting for grace",
            State::Unmapping => "unmapping",
            State::Editing => "editing",
            State::Mapping => "mapping",
            State::Stopped => "stopped",
            State::Starting => "starting",
            State::Disarmed => "disarmed",
            State::LettingGo => "letting go",
        }
    }

    /// The moment of a transaction that it is, if it is one.
    pub fn moment(self) -> Option<Moment> {
        match self {
            State::Unmapping | State::Starting | State::LettingGo => Some(Moment::Unmap),
            State::Editing => Some(Moment::Unmapped),
            State::Mapping => Some(Moment::Map),
            _ => None,
        }
    }

    fn parameters(self) -> &'static str {
        match self {
            State::Grace => "mode=enforce grace_us=1000000",
            State::Disarmed => "mode=enforce disarm_after=1",
            _ => "mode=observe",
        }
    }
}

/// Brings the module into the state, or to just before it.
pub fn prepare(guest: &mut Guest, fault: Fault, state: State) -> Result<Scene> {
    let module = Module::load(guest, &format!("{UNBOUNDED} {}", state.parameters()))?;
    if state == State::Disarmed {
        disarm(guest, &module)?;
    }
    let mut scene = Scene {
        module,
        load: None,
        copies: None,
        doorbell: None,
        transactions: 0,
        resets: resets(guest)?,
        troubles: troubles(guest)?,
        struck: guest.device.state()?.struck,
    };
    if state == State::Idle {
        return Ok(scene);
    }
    if fault.concerns_copies() {
        let line = [
            "workload",
            "copy",
            "--bytes",
            "262144",
            "--times",
            "100000000",
        ];
        scene.copies = Some(Background::start(guest, &line, Expect::Anything)?);
    }
    let mut accounts = Accounts::new(guest)?;
    let load = start_load(guest, 0, json!({}))?;
    guest.wait_until("the module sees the load", PATIENCE, |guest| {
        Ok(match state {
            State::Grace | State::Disarmed => heavy(guest, &load)?.is_some(),
            _ => Table::Stats.sum(guest, "observed")? > 0,
        })
    })?;
    guest.wait_until("the heavy queue has begun", PATIENCE, |guest| {
        let begun = accounts.find(guest, heavy_grid(guest))?;
        scene.doorbell = begun.map(|report| report.queue.doorbell);
        Ok(scene.doorbell.is_some())
    })?;
    if matches!(state, State::Stopped | State::Starting | State::LettingGo) {
        scene.module.set(guest, "mode", "enforce")?;
        wait_until_stopped(guest, &load, 0)?;
    }
    scene.load = Some(load);
    scene.transactions = Table::Stats.sum(guest, "transactions")?;
    Ok(scene)
}

/// One failure, which costs a reset, is one too many.
fn disarm(guest: &mut Guest, module: &Module) -> Result<()> {
    expect_hang(guest);
    for text in [
        "the queues could not be taken off the GPU",
        "disarmed: too many",
    ] {
        guest.expect_log(text);
    }
    let usual = set_driver_patience(guest, "500")?;
    let load = start_load(guest, 0, json!({}))?;
    wait_until_stopped(guest, &load, 0)?;
    let before = resets(guest)?;
    guest.device.set_faults(Faults {
        hung: true,
        ..Faults::default()
    })?;
    let pid = load.pid("heavy")?;
    module.add_rule(guest, &format!("1 pid={pid} exempt"))?;
    guest.wait_until("the GPU is reset", PATIENCE, |guest| {
        Ok(resets(guest)? > before)
    })?;
    guest.device.set_faults(Faults::default())?;
    load.end(guest)?;
    set_driver_patience(guest, &usual)?;
    is_in_state(guest, "disarmed")
}

/// What shows that the module is in a state, and the same as long as it is.
pub fn evidence(guest: &mut Guest, scene: &Scene, state: State) -> Result<String> {
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
        State::Disarmed => node["state"] == "disarmed",
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
