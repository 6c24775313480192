// SPDX-License-Identifier: GPL-2.0-only
//! Decisions as a trace for Perfetto, in its protocol buffers: a group of lanes for each
//! program, with a lane for each queue.

use std::collections::BTreeMap;

use crate::host::tracepoint::{Occurrence, Point};

/// The numbers of the fields, as Perfetto's `trace_packet.proto`, `track_event.proto`,
/// `track_descriptor.proto`, `process_descriptor.proto` and `debug_annotation.proto` have
/// them.
mod field {
    pub const PACKET: u64 = 1;
    pub const TIMESTAMP: u64 = 8;
    pub const SEQUENCE: u64 = 10;
    pub const TRACK_EVENT: u64 = 11;
    pub const TRACK_DESCRIPTOR: u64 = 60;
    pub const TRACK_UUID: u64 = 1;
    pub const TRACK_NAME: u64 = 2;
    pub const TRACK_PROCESS: u64 = 3;
    pub const TRACK_PARENT: u64 = 5;
    pub const PROCESS_PID: u64 = 1;
    pub const PROCESS_NAME: u64 = 6;
    pub const EVENT_ANNOTATION: u64 = 4;
    pub const EVENT_TYPE: u64 = 9;
    pub const EVENT_TRACK: u64 = 11;
    pub const EVENT_CATEGORY: u64 = 22;
    pub const EVENT_NAME: u64 = 23;
    pub const ANNOTATION_UINT: u64 = 3;
    pub const ANNOTATION_NAME: u64 = 10;
}

#[derive(Clone, Copy)]
enum Kind {
    Begin = 1,
    End = 2,
    Instant = 3,
}

/// A message while it is written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u64, value: u64) -> Message {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Message {
        self.varint((field << 3) | 2);
        self.varint(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        self.0.extend_from_slice(bytes);
        self
    }

    fn text(self, field: u64, text: &str) -> Message {
        self.bytes(field, text.as_bytes())
    }

    fn message(self, field: u64, message: Message) -> Message {
        self.bytes(field, &message.0)
    }
}

/// A queue, as the tracepoints know it.
type Queue = (u32, u32, i64, u32);

/// A trace while it is written.
#[derive(Default)]
pub struct Trace {
    out: Message,
    tracks: u64,
    processes: BTreeMap<i64, u64>,
    queues: BTreeMap<Queue, u64>,
    /// The queues that are stopped.
    open: BTreeMap<Queue, u64>,
    latest: u64,
}

impl Trace {
    pub fn new() -> Trace {
        Trace::default()
    }

    /// Adds what has happened. `name` says what a process is called.
    pub fn add(&mut self, occurrence: &Occurrence, name: &mut dyn FnMut(i64) -> String) {
        self.latest = self.latest.max(occurrence.time_ns);
        let track = self.track(occurrence, name);
        let queue = queue(occurrence);
        let at = occurrence.time_ns;
        let words = |what: &str| format!("{what} ({})", occurrence.reason);
        match occurrence.point {
            Point::Stop => {
                // Two stops without a start between them: one was lost.
                if self.open.insert(queue, track).is_some() {
                    self.event(at, track, Kind::End, None, None);
                }
                self.event(
                    at,
                    track,
                    Kind::Begin,
                    Some(&words("stopped")),
                    Some(occurrence),
                );
            }
            Point::Start => {
                match self.open.remove(&queue) {
                    Some(_) => self.event(at, track, Kind::End, None, None),
                    // It was stopped before the recording began.
                    None if occurrence.age_ns > 0 => {
                        let since = at.saturating_sub(occurrence.age_ns);
                        self.event(since, track, Kind::Begin, Some("stopped"), None);
                        self.event(at, track, Kind::End, None, None);
                    }
                    None => {}
                }
                self.event(
                    at,
                    track,
                    Kind::Instant,
                    Some(&words("started")),
                    Some(occurrence),
                );
            }
            Point::Inversion => {
                let name = "waits above a running queue";
                self.event(at, track, Kind::Instant, Some(name), Some(occurrence));
            }
            Point::Fallback => {
                let name = words("given up");
                self.event(at, track, Kind::Instant, Some(&name), Some(occurrence));
            }
        }
    }

    /// The file. What is still stopped is so until its end.
    pub fn finish(mut self) -> Vec<u8> {
        let latest = self.latest;
        for track in std::mem::take(&mut self.open).into_values() {
            self.event(latest, track, Kind::End, None, None);
        }
        self.out.0
    }

    fn packet(&mut self, packet: Message) {
        let packet = packet.number(field::SEQUENCE, 1);
        let out = std::mem::take(&mut self.out);
        self.out = out.message(field::PACKET, packet);
    }

    fn describe(&mut self, describe: impl FnOnce(Message) -> Message) -> u64 {
        self.tracks += 1;
        let uuid = self.tracks;
        let track = describe(Message::default().number(field::TRACK_UUID, uuid));
        self.packet(Message::default().message(field::TRACK_DESCRIPTOR, track));
        uuid
    }

    /// The lane of a queue, which is described when it is seen first.
    fn track(&mut self, occurrence: &Occurrence, name: &mut dyn FnMut(i64) -> String) -> u64 {
        let (pid, key) = (occurrence.pid, queue(occurrence));
        if let Some(track) = self.queues.get(&key) {
            return *track;
        }
        let process = match self.processes.get(&pid) {
            Some(process) => *process,
            None => {
                let of_it = Message::default()
                    .number(field::PROCESS_PID, u64::try_from(pid).unwrap_or(0))
                    .text(field::PROCESS_NAME, &name(pid));
                let uuid = self.describe(|track| track.message(field::TRACK_PROCESS, of_it));
                self.processes.insert(pid, uuid);
                uuid
            }
        };
        let name = format!(
            "queue {} of GPU {} node {}",
            occurrence.queue, occurrence.gpu_id, occurrence.node
        );
        let track = self.describe(|track| {
            track
                .number(field::TRACK_PARENT, process)
                .text(field::TRACK_NAME, &name)
        });
        self.queues.insert(key, track);
        track
    }

    fn event(
        &mut self,
        at: u64,
        track: u64,
        kind: Kind,
        name: Option<&str>,
        more: Option<&Occurrence>,
    ) {
        let mut event = Message::default()
            .number(field::EVENT_TYPE, kind as u64)
            .number(field::EVENT_TRACK, track)
            .text(field::EVENT_CATEGORY, "amd_gpreempt");
        if let Some(name) = name {
            event = event.text(field::EVENT_NAME, name);
        }
        for (name, value) in more.into_iter().flat_map(numbers) {
            let annotation = Message::default()
                .text(field::ANNOTATION_NAME, name)
                .number(field::ANNOTATION_UINT, value);
            event = event.message(field::EVENT_ANNOTATION, annotation);
        }
        let packet = Message::default()
            .number(field::TIMESTAMP, at)
            .message(field::TRACK_EVENT, event);
        self.packet(packet);
    }
}

fn queue(occurrence: &Occurrence) -> Queue {
    let Occurrence {
        gpu_id, node, pid, ..
    } = *occurrence;
    (gpu_id, node, pid, occurrence.queue)
}

fn numbers(occurrence: &Occurrence) -> [(&'static str, u64); 3] {
    [
        ("prio", occurrence.prio.into()),
        ("eff_prio", occurrence.eff_prio.into()),
        ("age_ns", occurrence.age_ns),
    ]
}
