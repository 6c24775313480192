// SPDX-License-Identifier: GPL-2.0-only
//! Decisions as a trace in the trace-event format, which Perfetto and chrome://tracing
//! open: a group of lanes for each program, with a lane for each queue.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Serialize;
use serde_json::{json, Value};

use crate::host::tracepoint::{Occurrence, Point};

/// A queue, as the tracepoints know it.
type Queue = (u32, u32, i64, u32);

/// What a viewer shows in a lane, or says of it.
#[derive(Serialize)]
struct Event {
    /// What it is, by a letter of the format's.
    ph: &'static str,
    name: String,
    cat: &'static str,
    pid: i64,
    tid: usize,
    /// In microseconds, as its length.
    ts: f64,
    dur: f64,
    args: Value,
}

/// A stop that lasts.
struct Stop {
    since_ns: u64,
    name: String,
    args: Value,
}

/// A trace while it is made.
#[derive(Default)]
pub struct Trace {
    events: Vec<Event>,
    processes: BTreeSet<i64>,
    lanes: BTreeMap<Queue, usize>,
    stops: BTreeMap<Queue, Stop>,
    latest_ns: u64,
}

impl Trace {
    pub fn new() -> Trace {
        Trace::default()
    }

    /// Adds what has happened. `name` says what a process is called.
    pub fn add(&mut self, occurrence: &Occurrence, name: &mut dyn FnMut(i64) -> String) {
        let at = occurrence.time_ns;
        self.latest_ns = self.latest_ns.max(at);
        self.describe(occurrence, name);
        let queue = queue(occurrence);
        let words = |what: &str| format!("{what} ({})", occurrence.reason);
        let instant = match occurrence.point {
            Point::Stop => {
                // Two stops without a start between them: one was lost.
                self.end_stop(queue, at);
                let stop = Stop {
                    since_ns: at,
                    name: words("stopped"),
                    args: numbers(occurrence),
                };
                self.stops.insert(queue, stop);
                return;
            }
            Point::Start => {
                if occurrence.age_ns > 0 {
                    // Where it was stopped before the recording began.
                    self.stops.entry(queue).or_insert_with(|| Stop {
                        since_ns: at.saturating_sub(occurrence.age_ns),
                        name: "stopped".to_owned(),
                        args: json!({}),
                    });
                }
                self.end_stop(queue, at);
                words("started")
            }
            Point::Inversion => "waits above a running queue".to_owned(),
            Point::Fallback => words("given up"),
        };
        self.push("i", queue, instant, at..at, numbers(occurrence));
    }

    /// The file. What is still stopped is so until its end.
    pub fn finish(mut self) -> Vec<u8> {
        let stopped: Vec<Queue> = self.stops.keys().copied().collect();
        for queue in stopped {
            self.end_stop(queue, self.latest_ns);
        }
        let trace = json!({ "traceEvents": self.events, "displayTimeUnit": "ns" });
        trace.to_string().into_bytes()
    }

    fn end_stop(&mut self, queue: Queue, at: u64) {
        if let Some(stop) = self.stops.remove(&queue) {
            self.push("X", queue, stop.name, stop.since_ns..at, stop.args);
        }
    }

    /// Names a program and the lane of a queue when they are seen first.
    fn describe(&mut self, occurrence: &Occurrence, name: &mut dyn FnMut(i64) -> String) {
        let queue = queue(occurrence);
        if self.lanes.contains_key(&queue) {
            return;
        }
        self.lanes.insert(queue, self.lanes.len() + 1);
        let lane = format!(
            "queue {} of GPU {} node {}",
            occurrence.queue, occurrence.gpu_id, occurrence.node
        );
        self.name("thread_name", queue, lane);
        if self.processes.insert(occurrence.pid) {
            self.name("process_name", queue, name(occurrence.pid));
        }
    }

    fn name(&mut self, what: &str, queue: Queue, name: String) {
        let args = json!({ "name": name });
        self.push("M", queue, what.to_owned(), 0..0, args);
    }

    fn push(
        &mut self,
        ph: &'static str,
        queue: Queue,
        name: String,
        time: Range<u64>,
        args: Value,
    ) {
        let microseconds = |ns: u64| ns as f64 / 1_000.0;
        self.events.push(Event {
            ph,
            name,
            cat: "amd_gpreempt",
            pid: queue.2,
            tid: self.lanes[&queue],
            ts: microseconds(time.start),
            dur: microseconds(time.end.saturating_sub(time.start)),
            args,
        });
    }
}

fn queue(occurrence: &Occurrence) -> Queue {
    let Occurrence {
        gpu_id, node, pid, ..
    } = *occurrence;
    (gpu_id, node, pid, occurrence.queue)
}

fn numbers(occurrence: &Occurrence) -> Value {
    json!({
        "prio": occurrence.prio,
        "eff_prio": occurrence.eff_prio,
        "age_ns": occurrence.age_ns,
    })
}
