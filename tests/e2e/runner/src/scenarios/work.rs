// SPDX-License-Identifier: GPL-2.0-only
//! Work through ROCr: dispatches, copies, more queues and processes than the
//! hardware has room for, and the order in which it lets them run.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use serde_json::json;
use vgpu_model::TimelineChange;

use crate::guest::{on_disk, Guest};
use crate::load::{queue, run, Load};
use crate::scenario::{Needs, Scenario, Suite};

const SMALL: Needs = Needs {
    small: true,
    ..Needs::ANY
};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::Vgpu,
        name: "dispatches complete and every workgroup counts",
        needs: Needs::ANY,
        run: dispatches,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "copies through SDMA come back the same",
        needs: Needs::ANY,
        run: copies,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "registers of mapped queues are live",
        needs: Needs::ANY,
        run: live_registers,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "priorities fold into three classes",
        needs: SMALL,
        run: classes,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "a high class does not evict what is resident",
        needs: Needs::ANY,
        run: inversion,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "processes have address spaces of their own",
        needs: Needs::ANY,
        run: processes,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "forty queues share twenty-four slots",
        needs: SMALL,
        run: oversubscription,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "a process that is killed harms no other",
        needs: Needs::ANY,
        run: killed,
    },
];

/// A specification of one queue.
fn one(workgroups: u32, cost_ns: u64, more: serde_json::Value) -> serde_json::Value {
    json!({"queues": [queue("one", workgroups, cost_ns, more)]})
}

fn dispatches(guest: &mut Guest) -> Result<()> {
    let before = guest.device.state()?;
    // Grids of one workgroup, of less than the GPU holds, and of more.
    for workgroups in [1, guest.shape.full() / 2, 3 * guest.shape.full() + 1] {
        let report = run(guest, one(workgroups, 20_000, json!({"requests": 20})))?;
        let queue = report.queues.first().context("no queue is reported")?;
        ensure!(
            queue.workgroups.executed == 20 * u64::from(workgroups),
            "{} workgroups were executed",
            queue.workgroups.executed
        );
        ensure!(queue.requests.completed == 20, "{:?}", queue.requests);
    }
    // LDS and registers limit how many workgroups are resident.
    let kernel = json!({"vector_registers": 128, "scalar_registers": 96, "lds_bytes": 40960});
    run(
        guest,
        one(
            guest.shape.full(),
            20_000,
            json!({"requests": 5, "kernel": kernel}),
        ),
    )?;
    let after = guest.device.state()?;
    ensure!(
        after.interrupts > before.interrupts,
        "no interrupt was raised"
    );
    ensure!(
        after.notes.len() == before.notes.len(),
        "the device notes {:?}",
        &after.notes[before.notes.len().min(after.notes.len())..]
    );
    Ok(())
}

fn copies(guest: &mut Guest) -> Result<()> {
    for (bytes, times) in [
        ("4", "2"),
        ("4100", "2"),
        ("1048576", "4"),
        ("8388612", "1"),
    ] {
        let program = on_disk(&["workload", "copy", "--bytes", bytes, "--times", times]);
        guest.agent().check(program, Duration::from_secs(300))?;
    }
    Ok(())
}

/// KFD's own view of the hardware queues agrees with the device's.
fn live_registers(guest: &mut Guest) -> Result<()> {
    let workgroups = 4 * guest.shape.full();
    let long = json!({"requests": 1_000});
    let load = Load::start(guest, one(workgroups, 5_000_000, long))?;
    guest.wait_until("a wave runs", Duration::from_secs(60), |guest| {
        Ok(guest
            .device
            .queues()?
            .iter()
            .any(|queue| queue.workgroups_resident > 0))
    })?;
    let text = guest.agent().read_file("/sys/kernel/debug/kfd/hqds")?;
    let seen = active_slots(&text)?;
    let device: BTreeSet<(u32, u32)> = guest
        .device
        .mapped()?
        .iter()
        .filter_map(|queue| queue.mapped)
        .map(|slot| (slot.pipe, slot.queue))
        .collect();
    ensure!(
        seen == device,
        "KFD reads active slots {seen:?}, the device has {device:?}"
    );
    ensure!(!device.is_empty(), "no queue is mapped");
    for name in ["rls", "mqds"] {
        let text = guest
            .agent()
            .read_file(&format!("/sys/kernel/debug/kfd/{name}"))?;
        ensure!(text.lines().count() > 2, "{name} is empty:\n{text}");
    }
    load.stop(guest)?;
    load.finish(guest)?;
    let left = guest.device.mapped()?;
    ensure!(left.is_empty(), "after the end {left:?} are mapped");
    Ok(())
}

/// Pipe and queue of each compute slot of the first die that KFD's dump shows
/// as active.
fn active_slots(dump: &str) -> Result<BTreeSet<(u32, u32)>> {
    let mut active = BTreeSet::new();
    let mut lines = dump.lines();
    while let Some(line) = lines.next() {
        let Some((_, slot)) = line.split_once("Inst 0,  CP Pipe ") else {
            continue;
        };
        let (pipe, queue) = slot
            .split_once(", Queue ")
            .with_context(|| format!("what slot is '{line}'?"))?;
        // An address, then CP_MQD_BASE_ADDR, its high half, CP_HQD_ACTIVE.
        let registers = lines.next().unwrap_or_default();
        if registers.split_whitespace().nth(3) == Some("00000001") {
            active.insert((pipe.parse()?, queue.trim().parse()?));
        }
    }
    Ok(active)
}

fn classes(guest: &mut Guest) -> Result<()> {
    let queues: Vec<_> = (0..16)
        .map(|priority| {
            queue(
                &format!("p{priority}"),
                4,
                1_000_000,
                json!({"priority": priority, "requests": 1_000}),
            )
        })
        .collect();
    let load = Load::start(guest, json!({"queues": queues}))?;
    guest.wait_until("all queues are mapped", Duration::from_secs(60), |guest| {
        Ok(guest.device.mapped()?.len() == 17)
    })?;
    let mut count = [0; 3];
    for report in guest.device.mapped()? {
        if let Some(count) = count.get_mut(report.pipe_priority as usize) {
            *count += 1;
        }
    }
    // KFD's levels 0 to 6, 7 to 10 and 11 to 15, and ROCr's own queue at 7.
    ensure!(count == [7, 5, 5], "the classes have {count:?} queues");
    load.stop(guest)?;
    load.finish(guest).map(|_| ())
}

/// New workgroups come from the highest class, but what runs stays: the
/// inversion that the hardware leaves to software.
fn inversion(guest: &mut Guest) -> Result<()> {
    let low = queue(
        "low",
        guest.shape.full(),
        20_000_000,
        json!({
            "group": "low", "priority": 0, "requests": 1
        }),
    );
    let high = queue(
        "high",
        1,
        10_000,
        json!({
            "group": "high", "priority": 15, "requests": 1, "start_ns": 5_000_000
        }),
    );
    let specification = json!({"queues": [low, high], "samples": true});
    // A busy host may keep one of the programs until the other is done.
    for _ in 0..4 {
        let from = next_record(guest)?;
        let report = run(guest, specification.clone())?;
        let sample = |name: &str| {
            report
                .queues
                .iter()
                .find(|queue| queue.identity.name == name)
                .and_then(|queue| queue.samples.first())
                .with_context(|| format!("no sample of {name}"))
        };
        let (low, high) = (sample("low")?, sample("high")?);
        if high.arrival_ns <= low.start_ns || low.end_ns <= high.arrival_ns {
            continue;
        }
        ensure!(
            high.start_ns >= low.end_ns,
            "the urgent request found room on a full GPU: {low:?} {high:?}"
        );
        let saves = guest
            .device
            .timeline(from)?
            .iter()
            .filter(|record| matches!(record.change, TimelineChange::SaveBegins { .. }))
            .count();
        ensure!(saves == 0, "waves were saved {saves} times");
        return Ok(());
    }
    bail!("the urgent request never came within the other")
}

/// The number that the next record of the timeline will have.
fn next_record(guest: &mut Guest) -> Result<u64> {
    let records = guest.device.timeline(0)?;
    Ok(records.last().map_or(0, |record| record.sequence + 1))
}

fn processes(guest: &mut Guest) -> Result<()> {
    let workgroups = guest.shape.full() / 4;
    let queues: Vec<_> = (0..3)
        .map(|i| {
            let more = json!({"group": format!("g{i}"), "requests": 1_000});
            queue(&format!("q{i}"), workgroups, 500_000, more)
        })
        .collect();
    let load = Load::start(guest, json!({"queues": queues}))?;
    // One of the application and one of ROCr's own in each process.
    guest.wait_until("all queues are mapped", Duration::from_secs(60), |guest| {
        Ok(guest.device.mapped()?.len() == 6)
    })?;
    let spaces: BTreeSet<(u32, u32)> = guest
        .device
        .mapped()?
        .iter()
        .filter_map(|report| Some((report.queue.pasid, report.mapped?.vmid)))
        .collect();
    let count = |key: fn(&(u32, u32)) -> u32| spaces.iter().map(key).collect::<BTreeSet<_>>().len();
    ensure!(
        count(|space| space.0) == 3 && count(|space| space.1) == 3 && spaces.len() == 3,
        "processes and address spaces are {spaces:?}"
    );
    load.stop(guest)?;
    load.finish(guest).map(|_| ())
}

fn oversubscription(guest: &mut Guest) -> Result<()> {
    let mark = guest.device.hiq_mark()?;
    let queues: Vec<_> = (0..40)
        .map(|i| {
            let more = json!({"group": format!("g{}", i % 2), "requests": 20});
            queue(&format!("q{i}"), 4, 200_000, more)
        })
        .collect();
    let report = run(guest, json!({"queues": queues}))?;
    for queue in &report.queues {
        ensure!(
            queue.requests.completed == 20,
            "{} completed {:?}",
            queue.identity.name,
            queue.requests
        );
    }
    is_oversubscribed(guest, mark)?;
    guest.wait_for_log(TOO_LONG, Duration::from_secs(5))
}

/// What the driver says when more is active than the hardware has places for.
pub(super) const TOO_LONG: &str = "Runlist is getting oversubscribed";

/// Wants the driver to have given the firmware more than it has places for, since a mark.
pub(super) fn is_oversubscribed(guest: &mut Guest, mark: u64) -> Result<()> {
    let chained = guest.device.hiq(mark)?.iter().any(|record| {
        matches!(
            record.action,
            vgpu_model::HiqAction::RunList { chained: true, .. }
        )
    });
    ensure!(chained, "the run list was never oversubscribed");
    Ok(())
}

fn killed(guest: &mut Guest) -> Result<()> {
    let other = Load::start(
        guest,
        one(
            guest.shape.full() / 2,
            100_000,
            json!({"requests": 1_000_000}),
        ),
    )?;
    for _ in 0..5 {
        let victim = Load::start(
            guest,
            one(
                2 * guest.shape.full(),
                1_000_000,
                json!({"requests": 1_000_000}),
            ),
        )?;
        victim.kill(guest)?;
    }
    let before = other.completed(guest, "one")?;
    guest.wait_until("the other goes on", Duration::from_secs(120), |guest| {
        Ok(other.completed(guest, "one")? > before)
    })?;
    other.stop(guest)?;
    other.finish(guest).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_slots_are_read_from_the_dump() {
        let dump = "Node 1, gpu_id 8371:\n\
            \x20  Inst 0, HIQ on MEC 2 Pipe 0 Queue 0\n\
            \x20   0000c914: 0148f000 00000000 00000001 00000000\n\
            \x20Inst 0,  CP Pipe 0, Queue 2\n\
            \x20   0000c914: ee6d8000 00000080 00000001 00000003\n\
            \x20Inst 0,  CP Pipe 3, Queue 7\n\
            \x20   0000c914: ee6d8000 00000080 00000000 00000003\n\
            \x20Inst 1,  CP Pipe 1, Queue 2\n\
            \x20   0000c914: ee6d8000 00000080 00000001 00000003\n";
        assert_eq!(active_slots(dump).unwrap(), BTreeSet::from([(0, 2)]));
    }
}
