// SPDX-License-Identifier: GPL-2.0-only
//! While a queue is stopped by the module, its owner, a debugger or the driver
//! itself changes something about it.

use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use serde_json::{json, Value};

use super::contention::{accounts, armed, urgent_goes_beyond, urgent_goes_on, Contention};
use super::preemption::PATIENCE;
use super::save::fill_video_memory;
use crate::guest::Guest;
use crate::module::Table;
use crate::run_list::{self, RunList};
use crate::scenario::{Needs, Scenario, Suite};
use crate::strict::strictly;

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "a stopped queue is destroyed and made again",
        needs: Needs::ANY,
        run: destroyed,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a process exits while its queue is stopped",
        needs: Needs::ANY,
        run: exits,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a stopped queue is updated",
        needs: Needs::ANY,
        run: updated,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a queue at no percentage is not started",
        needs: Needs::ANY,
        run: no_percentage,
    },
    Scenario {
        suite: Suite::E2e,
        name: "the units of a stopped queue are changed",
        needs: Needs::ANY,
        run: units,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a stopped queue is given GWS",
        needs: Needs::ANY,
        run: cooperative,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a process is evicted and restored while its queue is stopped",
        needs: Needs::ANY,
        run: evicted,
    },
    Scenario {
        suite: Suite::E2e,
        name: "video memory runs out while a queue is stopped",
        needs: Needs {
            small: true,
            one_die: true,
            ..Needs::ANY
        },
        run: |guest| strictly(guest, video_memory),
    },
    Scenario {
        suite: Suite::E2e,
        name: "a debugger meets a stopped queue",
        needs: Needs::ANY,
        run: debugger,
    },
];

fn destroyed(guest: &mut Guest) -> Result<()> {
    let contention = Contention::start(guest, "", json!({}))?;
    for _ in 0..3 {
        contention.control(guest, &["hold"])?;
        guest.wait_until("the queue is gone", PATIENCE, |guest| {
            Ok(contention.heavy(guest)?.is_none())
        })?;
        contention.control(guest, &["release"])?;
        contention.wait_until_stopped_again(guest, 0)?;
    }
    contention.finish(guest)
}

/// Its queues disappear with unfinished work; those of other processes stay.
fn exits(guest: &mut Guest) -> Result<()> {
    let mut contention = Contention::start(guest, "", json!({"drain": false}))?;
    contention.control(guest, &["stop"])?;
    guest.wait_until("the process is gone", PATIENCE, |guest| {
        Ok(contention.heavy(guest)?.is_none())
    })?;
    urgent_goes_on(guest, &contention.load)?;
    contention.load.queues.retain(|queue| queue.name != "heavy");
    contention.finish(guest)
}

/// Each update has the driver work out anew whether the queue is active.
fn updated(guest: &mut Guest) -> Result<()> {
    let contention = Contention::start(guest, "", json!({}))?;
    for update in [["--percentage", "100"], ["--priority", "3"]] {
        contention.disturb(guest, |guest| {
            let line = ["update", update[0], update[1]];
            contention.control(guest, &line).map(|_| ())
        })?;
    }
    // No lower than the one that it was stopped for, it is left alone.
    contention.control(guest, &["update", "--priority", "15"])?;
    guest.wait_until("it runs", PATIENCE, |guest| {
        let row = contention.heavy(guest)?.context("the queue is gone")?;
        Ok(row["prio"] == 15 && row["active"] == true)
    })?;
    contention.finish(guest)
}

/// A queue that its owner holds still is not ours to start.
fn no_percentage(guest: &mut Guest) -> Result<()> {
    let mut contention = Contention::start(guest, "", json!({}))?;
    contention.control(guest, &["update", "--percentage", "0"])?;
    guest.wait_until("the queue is held", PATIENCE, |guest| {
        let row = contention.heavy(guest)?.context("the queue is gone")?;
        Ok(row["state"] == "held")
    })?;
    let completed = contention.load.completed(guest, "heavy")?;
    // Nothing is left that it might be stopped for.
    contention.load.control(guest, "urgent", &["stop"])?;
    contention
        .load
        .queues
        .retain(|queue| queue.name != "urgent");
    guest.wait_until("the urgent process is gone", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "processes")? == 1)
    })?;
    let passes = Table::Stats.sum(guest, "passes")?;
    guest.wait_until("the module has looked again", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "passes")? > passes + 2)
    })?;
    let row = contention.heavy(guest)?.context("the queue is gone")?;
    ensure!(row["state"] == "held" && row["active"] == false, "{row}");
    armed(guest)?;
    let Contention { module, load } = contention;
    module.unload(guest)?;
    ensure!(
        load.completed(guest, "heavy")? == completed,
        "a queue at 0 percent went on"
    );
    load.control(guest, "heavy", &["update", "--percentage", "100"])?;
    accounts(guest)?;
    load.stop(guest)?;
    load.finish(guest).map(|_| ())
}

fn units(guest: &mut Guest) -> Result<()> {
    let contention = Contention::start(guest, "", json!({}))?;
    for mask in ["0000ffff", "ffffffff"] {
        contention.disturb(guest, |guest| {
            let line = ["cu-mask", "--mask", mask];
            contention.control(guest, &line).map(|_| ())
        })?;
    }
    contention.finish(guest)
}

/// The driver sets the queue running, and leaves out that it has GWS. The run list
/// must say so all the same, and the queue is not stopped again.
fn cooperative(guest: &mut Guest) -> Result<()> {
    const TRIES: u32 = 20;
    let contention = Contention::start(guest, "", json!({}))?;
    ensure!(gws(guest)? == (0, 0), "somebody has GWS already");
    // The urgent work pauses now and then, and the queue runs meanwhile. It has to be
    // the driver that has set it running.
    for _ in 0..TRIES {
        let healed = Table::Stats.sum(guest, "healed")?;
        contention.control(guest, &["cooperate"])?;
        let passes = Table::Stats.sum(guest, "passes")?;
        guest.wait_until("the module has looked again", PATIENCE, |guest| {
            Ok(Table::Stats.sum(guest, "passes")? > passes + 2)
        })?;
        if Table::Stats.sum(guest, "healed")? > healed {
            return cooperates(guest, contention);
        }
        contention.control(guest, &["hold"])?;
        contention.control(guest, &["release"])?;
        contention.wait_until_stopped_again(guest, 0)?;
    }
    bail!("the queue was not stopped when it was given GWS, {TRIES} times")
}

fn cooperates(guest: &mut Guest, contention: Contention) -> Result<()> {
    guest.wait_until("the run list says so", PATIENCE, |guest| {
        Ok(gws(guest)? == (1, 1))
    })?;
    let stops = contention.stops(guest)?;
    let before = contention.load.completed(guest, "heavy")?;
    guest.wait_until("it runs beside the urgent one", PATIENCE, |guest| {
        Ok(contention.load.completed(guest, "heavy")? > before + 1)
    })?;
    ensure!(contention.stops(guest)? == stops, "it was stopped again");
    contention.finish(guest)
}

/// Processes that the run lists lend GWS, and queues that use it.
fn gws(guest: &mut Guest) -> Result<(usize, usize)> {
    let lists = guest.agent().read_file("/sys/kernel/debug/kfd/rls")?;
    let lists = run_list::parse(&lists)?;
    let sum = |count: fn(&RunList) -> usize| lists.iter().map(|(_, list)| count(list)).sum();
    Ok((sum(|list| list.lent_gws), sum(|list| list.with_gws)))
}

fn evicted(guest: &mut Guest) -> Result<()> {
    let contention = Contention::start(guest, "", json!({}))?;
    for _ in 0..3 {
        contention.disturb(guest, |guest| {
            contention.control(guest, &["invalidate"]).map(|_| ())
        })?;
        // The same for the one that it is stopped for.
        let before = contention.load.completed(guest, "urgent")?;
        contention.load.control(guest, "urgent", &["invalidate"])?;
        urgent_goes_beyond(guest, &contention.load, before)?;
    }
    let stops = contention.stops(guest)?;
    contention.wait_until_stopped_again(guest, stops - 1)?;
    contention.finish(guest)
}

fn video_memory(guest: &mut Guest) -> Result<()> {
    // Only who has something in video memory is evicted from it.
    let contention = Contention::start(guest, "", json!({"place": "device"}))?;
    contention.disturb(guest, |guest| run_out(guest, &contention))?;
    urgent_goes_on(guest, &contention.load)?;
    contention.finish(guest)
}

/// Lets video memory run out until the driver has evicted the heavy process, which has
/// something there.
pub(super) fn run_out(guest: &mut Guest, contention: &Contention) -> Result<()> {
    const AWHILE: Duration = Duration::from_secs(10);
    // The driver may take the memory of the urgent process instead, and give it back at
    // the cost of the newcomer, again and again. The one that was last given memory is the
    // last to lose it to the next newcomer.
    for attempt in 0..5 {
        let before = evicted_ms(guest, contention)?;
        let pressure = fill_video_memory(guest)?;
        // It may be back before anybody has seen it held.
        let patience = AWHILE * (1 << attempt);
        let evicted = guest.wait_until("the driver has evicted it", patience, |guest| {
            let row = contention.heavy(guest)?.context("the queue is gone")?;
            Ok(row["state"] == "held" || evicted_ms(guest, contention)? > before)
        });
        pressure.stop(guest)?;
        if evicted.is_ok() {
            return Ok(());
        }
    }
    bail!("the driver has evicted others only")
}

/// For how long the heavy process was evicted, as KFD counts it at the end of each
/// eviction.
fn evicted_ms(guest: &mut Guest, contention: &Contention) -> Result<u64> {
    let row = contention.heavy(guest)?.context("the queue is gone")?;
    let path = format!(
        "/sys/class/kfd/kfd/proc/{}/stats_{}/evicted_ms",
        row["pid"], row["gpu_id"]
    );
    let text = guest.agent().read_file(&path)?;
    text.trim()
        .parse()
        .with_context(|| format!("{path}: {text}"))
}

fn debugger(guest: &mut Guest) -> Result<()> {
    const CYCLES: &str = "5";
    let contention = Contention::start(guest, "", json!({}))?;
    for name in ["heavy", "urgent"] {
        let identity = contention.load.identity(name)?;
        let (pid, queue) = (identity.pid.to_string(), identity.queue_id.to_string());
        let line = ["kfdctl", "debug", "--pid", &pid, "--queues", &queue]
            .into_iter()
            .chain([
                "--cycles",
                CYCLES,
                "--suspended-ms",
                "20",
                "--running-ms",
                "20",
            ])
            .collect::<Vec<_>>();
        contention.disturb(guest, |guest| {
            guest.json::<Value>(&line, PATIENCE).map(|_| ())
        })?;
    }
    contention.finish(guest)
}
