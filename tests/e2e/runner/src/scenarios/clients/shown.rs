// SPDX-License-Identifier: GPL-2.0-only
//! A program that the demo shows while it is stopped again and again.

use anyhow::{ensure, Context, Result};
use vgpu_model::Pace;

use super::{beside, set_pace, Clients, Stopped};
use crate::guest::Guest;
use crate::module::Table;

/// What became of a program that the demo shows.
#[derive(Debug)]
pub struct Shown {
    pub stopped: Stopped,
    /// What it has left alone, and in each round beside another.
    pub alone: String,
    pub rounds: Vec<String>,
}

/// Has a program run alone, and then beside a load of ours that is urgent, until waves of it
/// were saved so often.
pub fn show(
    guest: &mut Guest,
    clients: Clients,
    (name, goal): (&'static str, u64),
    tell: &mut dyn FnMut(Stopped),
) -> Result<Shown> {
    let alone = clients.alone.get(name).context("it did not run alone")?;
    let alone = alone.clone();
    beside(guest, "", |guest| {
        set_pace(guest)?;
        clients.tell(guest, "go")?;
        let stopped = clients.stopped_often(guest, (name, goal), tell)?;
        let mut left = clients.finish(guest)?;
        let rounds = left.remove(name).context("no rounds")?;
        ensure!(Table::Stats.sum(guest, "failures")? == 0);
        guest.device.set_pace(Pace::default())?;
        Ok(Shown {
            stopped,
            alone,
            rounds,
        })
    })
}
