// SPDX-License-Identifier: GPL-2.0-only
//! The timeline in the trace-event format, which Perfetto and chrome://tracing
//! open: a row for each queue, counters of its waves and of each die's busy compute
//! units. Times are GPU time.

use std::collections::BTreeMap;

use serde_json::{json, Value};
use vgpu_model::{GpuNanos, QueueId, TimelineChange, TimelineRecord, UnitsRecord};

/// What a row shows, from one change to the one that ends it.
fn span(change: &TimelineChange) -> Option<(&'static str, bool)> {
    match change {
        TimelineChange::Mapped => Some(("mapped", true)),
        TimelineChange::Unmapped => Some(("mapped", false)),
        TimelineChange::SaveBegins { .. } => Some(("save", true)),
        TimelineChange::SaveEnds => Some(("save", false)),
        TimelineChange::RestoreBegins { .. } => Some(("restore", true)),
        TimelineChange::RestoreEnds => Some(("restore", false)),
        _ => None,
    }
}

/// The whole trace as one JSON value.
pub fn trace(records: &[TimelineRecord], units: &[UnitsRecord]) -> Value {
    let mut rows: BTreeMap<QueueId, usize> = BTreeMap::new();
    let mut events = Vec::new();
    for record in records {
        let next = rows.len() + 1;
        let row = *rows.entry(record.queue).or_insert_with(|| {
            events.push(json!({
                "name": "thread_name", "ph": "M", "pid": 1, "tid": next,
                "args": {"name": name(record.queue)},
            }));
            next
        });
        let at = microseconds(record.at);
        events.push(match &record.change {
            TimelineChange::DispatchBegins { packet, workgroups } => json!({
                "name": format!("dispatch {packet}"), "cat": "dispatch", "ph": "b", "ts": at,
                "pid": 1, "tid": row, "id": format!("{row}.{packet}"),
                "args": {"workgroups": workgroups},
            }),
            TimelineChange::DispatchEnds { packet } => json!({
                "name": format!("dispatch {packet}"), "cat": "dispatch", "ph": "e", "ts": at,
                "pid": 1, "tid": row, "id": format!("{row}.{packet}"),
            }),
            TimelineChange::Waves { count } => json!({
                "name": format!("waves of {}", name(record.queue)), "ph": "C", "ts": at,
                "pid": 1, "args": {"waves": count},
            }),
            change => {
                let (name, begins) = span(change).unwrap_or(("?", true));
                let bytes = match change {
                    TimelineChange::SaveBegins { bytes }
                    | TimelineChange::RestoreBegins { bytes } => *bytes,
                    _ => 0,
                };
                json!({
                    "name": name, "ph": if begins { "B" } else { "E" }, "ts": at,
                    "pid": 1, "tid": row, "args": {"bytes": bytes},
                })
            }
        });
    }
    events.extend(units.iter().map(|record| {
        json!({
            "name": format!("busy units of XCC {}", record.xcc), "ph": "C",
            "ts": microseconds(record.at), "pid": 1, "args": {"units": record.busy},
        })
    }));
    json!({"traceEvents": events, "displayTimeUnit": "ns"})
}

fn microseconds(at: GpuNanos) -> f64 {
    at.0 as f64 / 1000.0
}

fn name(queue: QueueId) -> String {
    format!(
        "pasid {:#x} doorbell {:#x}.{}",
        queue.pasid, queue.doorbell, queue.generation
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(at: u64, doorbell: u64, change: TimelineChange) -> TimelineRecord {
        TimelineRecord {
            sequence: at,
            at: GpuNanos(at),
            queue: QueueId {
                doorbell,
                ..QueueId::default()
            },
            change,
        }
    }

    #[test]
    fn every_queue_gets_one_named_row() {
        let records = [
            record(1000, 8, TimelineChange::Mapped),
            record(2000, 16, TimelineChange::Mapped),
            record(3000, 8, TimelineChange::Unmapped),
        ];
        let value = trace(&records, &[]);
        let events = value["traceEvents"].as_array().unwrap();
        let names = events.iter().filter(|event| event["ph"] == "M").count();
        assert_eq!(names, 2);
        let last = events.last().unwrap();
        assert_eq!((&last["ph"], &last["tid"]), (&json!("E"), &json!(1)));
        assert_eq!(last["ts"], json!(3.0));
    }

    #[test]
    fn every_kind_of_change_has_an_event() {
        let changes = [
            TimelineChange::SaveBegins { bytes: 7 },
            TimelineChange::SaveEnds,
            TimelineChange::RestoreBegins { bytes: 7 },
            TimelineChange::RestoreEnds,
            TimelineChange::DispatchBegins {
                packet: 1,
                workgroups: 2,
            },
            TimelineChange::DispatchEnds { packet: 1 },
            TimelineChange::Waves { count: 3 },
        ];
        let records: Vec<_> = changes
            .into_iter()
            .enumerate()
            .map(|(at, change)| record(at as u64, 8, change))
            .collect();
        let units = UnitsRecord {
            at: GpuNanos(2500),
            xcc: 1,
            busy: 4,
        };
        let value = trace(&records, &[units]);
        let phases: Vec<_> = value["traceEvents"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["ph"].as_str().unwrap())
            .collect();
        assert_eq!(phases, ["M", "B", "E", "B", "E", "b", "e", "C", "C"]);
        let last = &value["traceEvents"][8];
        assert_eq!(last["name"], "busy units of XCC 1");
        assert_eq!(
            (&last["ts"], &last["args"]["units"]),
            (&json!(2.5), &json!(4))
        );
    }
}
