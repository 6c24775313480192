// SPDX-License-Identifier: GPL-2.0-only
//! The schedulers in user space that the benchmark compares with do their work:
//! an urgent queue gets through, and each workgroup counts once all the same.

use std::time::Duration;

use anyhow::{ensure, Context, Result};
use gpu_workload::report::Sample;
use serde_json::{json, Value};

use crate::background::{Background, Expect};
use crate::guest::Guest;
use crate::load::{queue, Load};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::Vgpu,
        name: "a poller in user space lets an urgent queue through",
        needs: Needs {
            once: true,
            ..Needs::ANY
        },
        run: poll,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "reset and resubmit lets an urgent queue through",
        needs: Needs {
            once: true,
            ..Needs::ANY
        },
        run: reset,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "pages taken away evict the process and bring it back",
        needs: Needs::ANY,
        run: invalidate,
    },
];

const PATIENCE: Duration = Duration::from_secs(300);

/// A queue that fills the GPU for a long time, and one that needs it now and then.
fn start(guest: &mut Guest) -> Result<Load> {
    let full = guest.shape.full();
    let low = json!({"group": "low", "priority": 1, "requests": 6});
    let high = json!({
        "group": "high", "priority": 15, "requests": 8,
        "arrival": {"fixed_rate": {"period_ns": 30_000_000}}, "start_ns": 30_000_000,
    });
    let low = queue("low", full, 60_000_000, low);
    let high = queue("high", 4, 20_000, high);
    Load::start(guest, json!({"queues": [low, high], "samples": true}))
}

/// Checks that urgent requests ran while long ones were under way, and returns
/// how often the low queue was destroyed and how much of its work was wasted.
fn judge(guest: &mut Guest, load: Load, scheduler: &Background) -> Result<(u64, u64)> {
    let report = load.finish(guest)?;
    let find = |name: &str| {
        report
            .queues
            .iter()
            .find(|queue| queue.identity.name == name)
            .with_context(|| format!("no report of {name}"))
    };
    let (low, high) = (find("low")?, find("high")?);
    let within = high.samples.iter().any(|high| {
        let around = |low: &Sample| low.start_ns < high.start_ns && high.end_ns < low.end_ns;
        low.samples.iter().any(around)
    });
    let account: Value = serde_json::from_str(&scheduler.succeed(guest, PATIENCE)?)?;
    let number = |name: &str| {
        account[name]
            .as_u64()
            .with_context(|| format!("no {name} in {account}"))
    };
    ensure!(number("stops")? > 0, "nothing was ever stopped: {account}");
    ensure!(
        number("starts")? <= number("stops")?,
        "more was started than stopped: {account}"
    );
    // A reset starts the long request over, so that it begins after the urgent one.
    ensure!(
        within || low.resets > 0,
        "no urgent request ran within a long one: {:?} {:?}",
        low.samples,
        high.samples
    );
    Ok((low.resets, low.redone))
}

fn poll(guest: &mut Guest) -> Result<()> {
    let load = start(guest)?;
    let mut line = vec!["kfdctl".to_owned(), "poll".to_owned()];
    for queue in &load.queues {
        let name = format!("{}:{}:{}", queue.pid, queue.queue_id, queue.priority);
        line.extend(["--queue".to_owned(), name]);
    }
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let scheduler = Background::start(guest, &line, Expect::Success)?;
    let (resets, redone) = judge(guest, load, &scheduler)?;
    ensure!(
        (resets, redone) == (0, 0),
        "a debugger destroyed a queue {resets} times"
    );
    Ok(())
}

fn reset(guest: &mut Guest) -> Result<()> {
    let load = start(guest)?;
    let mut line = vec!["kfdctl".to_owned(), "reset-resubmit".to_owned()];
    for queue in &load.queues {
        let socket = load.socket(&queue.name)?;
        let name = format!("{socket}:{}:{}", queue.name, queue.priority);
        line.extend(["--queue".to_owned(), name]);
    }
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let scheduler = Background::start(guest, &line, Expect::Success)?;
    let (resets, _) = judge(guest, load, &scheduler)?;
    ensure!(resets > 0, "the queue was never destroyed");
    Ok(())
}

fn invalidate(guest: &mut Guest) -> Result<()> {
    let full = guest.shape.full();
    let more = json!({"arrival": {"closed_loop": {"depth": 2}}, "requests": 1_000_000});
    let load = Load::start(
        guest,
        json!({"queues": [queue("victim", full, 1_000_000, more)]}),
    )?;
    let moved = |guest: &mut Guest| -> Result<(u64, u64)> {
        let queues = guest.device.queues()?;
        let unmaps = queues.iter().map(|queue| queue.unmaps).sum();
        Ok((unmaps, queues.iter().map(|queue| queue.saves).sum()))
    };
    // An eviction between two dispatches finds no waves to save.
    let mut saved = 0;
    for _ in 0..50 {
        let (unmaps, saves) = moved(guest)?;
        load.control(guest, "victim", &["invalidate"])?;
        guest.wait_until("the process is evicted", PATIENCE, |guest| {
            Ok(moved(guest)?.0 > unmaps)
        })?;
        let completed = load.completed(guest, "victim")?;
        guest.wait_until("the process is back", PATIENCE, |guest| {
            Ok(load.completed(guest, "victim")? > completed)
        })?;
        saved += u64::from(moved(guest)?.1 > saves);
        if saved == 5 {
            break;
        }
    }
    ensure!(saved == 5, "fifty evictions saved waves {saved} times");
    load.stop(guest)?;
    load.finish(guest).map(|_| ())
}
