// SPDX-License-Identifier: GPL-2.0-only
//! The device's accounts and its timeline, as they can be read while a guest runs.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{bail, ensure, Context, Result};
use serde_json::Value;

use super::save::Victim;
use crate::guest::Guest;
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::Vgpu,
        name: "the control socket tells what the queues and the firmware do",
        needs: Needs::ANY,
        run: accounts,
    },
    Scenario {
        suite: Suite::Vgpu,
        name: "the timeline is a trace of queues and units",
        needs: Needs::ANY,
        run: timeline,
    },
];

fn accounts(guest: &mut Guest) -> Result<()> {
    let mark = guest.device.hiq_mark()?;
    let victim = Victim::start(guest)?;
    let first = victim.running(guest)?;
    let stopped = victim.stop(guest)?;
    ensure!(
        stopped.mapped.is_none()
            && stopped.saves > first.saves
            && stopped.unmaps > first.unmaps
            && stopped.bytes_saved > first.bytes_saved
            && stopped.running_time >= first.running_time,
        "a stop turned {first:?} into {stopped:?}"
    );
    let state = guest.device.state()?;
    ensure!(
        state.occupancy.len() == guest.shape.xcc as usize
            && state.occupancy.iter().all(|die| die.units_busy == 0),
        "nothing runs, and yet {:?}",
        state.occupancy
    );
    victim.start_again(guest)?;
    victim.finish(guest)?;
    let records = guest.device.hiq(mark)?;
    let numbers: Vec<u64> = records.iter().map(|record| record.sequence).collect();
    let expected: Vec<u64> = (mark..mark + records.len() as u64).collect();
    ensure!(numbers == expected, "packets are missing: {numbers:?}");
    let kinds: BTreeSet<String> = records
        .iter()
        .map(|record| format!("{:?}", record.action))
        .filter_map(|action| Some(action.split([' ', '{']).next()?.to_string()))
        .collect();
    for kind in ["RunList", "Unmap", "QueryStatus"] {
        ensure!(kinds.contains(kind), "no {kind} among {kinds:?}");
    }
    Ok(())
}

fn timeline(guest: &mut Guest) -> Result<()> {
    let victim = Victim::start(guest)?;
    victim.stop(guest)?;
    victim.start_again(guest)?;
    victim.finish(guest)?;
    let trace = guest.device.trace()?;
    let seen = check(&trace)?;
    for name in ["mapped", "save", "restore"] {
        ensure!(seen.contains(name), "there is no span '{name}': {seen:?}");
    }
    let units = 4 * guest.shape.cu_per_sh;
    for xcc in 0..guest.shape.xcc {
        let name = format!("busy units of XCC {xcc}");
        let most = events(&trace)?
            .iter()
            .filter(|event| event["name"] == name.as_str())
            .filter_map(|event| event["args"]["units"].as_u64())
            .max();
        ensure!(
            most == Some(units.into()),
            "at most {most:?} of {units} units of die {xcc} were busy"
        );
    }
    Ok(())
}

fn events(trace: &Value) -> Result<&Vec<Value>> {
    trace["traceEvents"]
        .as_array()
        .context("the trace has no events")
}

/// Checks what Perfetto and chrome://tracing require of the format, and returns
/// the names of all spans. A span that has not ended yet is none of the trace's
/// faults.
fn check(trace: &Value) -> Result<BTreeSet<String>> {
    let mut open: BTreeMap<u64, Vec<(String, f64)>> = BTreeMap::new();
    let mut named = BTreeSet::new();
    let mut flights = BTreeSet::new();
    let mut spans = BTreeSet::new();
    for event in events(trace)? {
        let text = |field: &str| {
            event[field]
                .as_str()
                .with_context(|| format!("no {field} in {event}"))
        };
        let row = || {
            event["tid"]
                .as_u64()
                .with_context(|| format!("no row in {event}"))
        };
        ensure!(event["pid"].is_u64(), "no process in {event}");
        let (phase, name) = (text("ph")?, text("name")?);
        if phase == "M" {
            ensure!(name == "thread_name" && event["args"]["name"].is_string());
            named.insert(row()?);
            continue;
        }
        let at = event["ts"]
            .as_f64()
            .with_context(|| format!("no time in {event}"))?;
        match phase {
            "B" => open.entry(row()?).or_default().push((name.into(), at)),
            "E" => {
                let (begun, since) = open
                    .entry(row()?)
                    .or_default()
                    .pop()
                    .with_context(|| format!("{event} ends what has not begun"))?;
                ensure!(begun == name && since <= at, "{begun} is ended by {event}");
                spans.insert(begun);
            }
            "b" => {
                ensure!(flights.insert(text("id")?), "{event} begins twice");
            }
            "e" => {
                ensure!(flights.remove(text("id")?), "{event} has not begun");
            }
            "C" => ensure!(
                event["args"]
                    .as_object()
                    .is_some_and(|args| args.values().all(Value::is_u64)),
                "{event} counts nothing"
            ),
            other => bail!("the phase '{other}' is unknown: {event}"),
        }
        if "BEbe".contains(phase) {
            ensure!(
                named.contains(&row()?),
                "{event} is in a row without a name"
            );
        }
    }
    Ok(spans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn trace(events: Value) -> Result<BTreeSet<String>> {
        let mut all = vec![json!({"ph": "M", "pid": 1, "tid": 1, "name": "thread_name",
            "args": {"name": "a"}})];
        all.extend(events.as_array().unwrap().clone());
        check(&json!({"traceEvents": all}))
    }

    #[test]
    fn spans_must_nest_and_rows_must_have_names() {
        let begin = json!({"ph": "B", "pid": 1, "tid": 1, "name": "save", "ts": 1.0});
        let end = json!({"ph": "E", "pid": 1, "tid": 1, "name": "save", "ts": 2.0});
        assert_eq!(trace(json!([begin, end])).unwrap().len(), 1);
        assert!(trace(json!([end, begin])).is_err());
        for (field, value) in [
            ("tid", json!(2)),
            ("ts", json!("late")),
            ("ts", json!(0.5)),
            ("name", json!("mapped")),
            ("ph", json!("X")),
            ("pid", Value::Null),
        ] {
            let mut bad = end.clone();
            bad[field] = value;
            assert!(trace(json!([begin, bad])).is_err(), "{bad}");
        }
    }

    #[test]
    fn counters_count() {
        let counter = |value: Value| {
            json!([{"ph": "C", "pid": 1, "name": "n", "ts": 0.0,
            "args": {"waves": value}}])
        };
        assert!(trace(counter(json!(3))).is_ok());
        assert!(trace(counter(json!("three"))).is_err());
    }
}
