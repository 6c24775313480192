// SPDX-License-Identifier: GPL-2.0-only
//! Where the time of a preemption goes.
//!
//! The device stamps the packets on the scheduler firmware's ring and what the
//! queues do; probes in the guest stamp the calls into the driver. Together they
//! cut the time from an urgent doorbell to the first urgent workgroup into parts.

use std::collections::{BTreeMap, BTreeSet};

use gpu_workload::report::Sample;
use serde::{Deserialize, Serialize};
use vgpu_model::{HiqAction, HiqRecord, QueueId, TimelineChange, TimelineRecord};

/// A call into the driver that takes queues off the GPU, by the GPU's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    pub begin: u64,
    pub unmapped: u64,
    pub map: u64,
    pub end: u64,
}

/// One preemption: waves of others were saved while an urgent request waited.
/// Times are GPU nanoseconds. What no clock has seen is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Row", into = "Row")]
pub struct Split {
    /// From the urgent doorbell, or from the hint before it, or from the last urgent
    /// workgroup's end where that is later, to the call: looks, grace and decision.
    pub detection: Option<u64>,
    /// From the call to the firmware reading the packet.
    pub command: Option<u64>,
    /// The firmware takes the queues off: their waves are saved.
    pub unmap: u64,
    /// The fence behind it.
    pub query: u64,
    /// From the fence to the new run list: the driver sees it, checks the copy
    /// engines, and the queues are edited.
    pub edit: u64,
    /// The firmware puts the others back.
    pub runlist: u64,
    /// From then to the urgent doorbell, where a hint came before it: the GPU was free
    /// for so long before it had to be.
    pub ahead: Option<u64>,
    /// From then to the first urgent workgroup, where the urgent queue had to be
    /// put back, too; 0 when it ran before that.
    pub launch: u64,
    /// From the call, or from the packet where no call was seen, to the first
    /// urgent workgroup, without what the GPU was free ahead.
    pub total: u64,
    /// From the beginning of the detection to the urgent doorbell, where a hint came
    /// before it: so long nobody waited.
    pub announced: Option<u64>,
    /// Bytes of the waves that were saved.
    pub bytes: u64,
}

/// As it is kept: there are thousands, so that names would be most of the file.
type Row = (
    Option<u64>,
    Option<u64>,
    u64,
    u64,
    u64,
    u64,
    Option<u64>,
    u64,
    u64,
    Option<u64>,
    u64,
);

impl From<Row> for Split {
    fn from(row: Row) -> Split {
        let (detection, command, unmap, query, edit, runlist, ahead, launch, ..) = row;
        let (.., total, announced, bytes) = row;
        Split {
            detection,
            command,
            unmap,
            query,
            edit,
            runlist,
            ahead,
            launch,
            total,
            announced,
            bytes,
        }
    }
}

impl From<Split> for Row {
    fn from(split: Split) -> Row {
        let Split {
            detection,
            command,
            unmap,
            query,
            edit,
            runlist,
            ahead,
            launch,
            total,
            announced,
            bytes,
        } = split;
        (
            detection, command, unmap, query, edit, runlist, ahead, launch, total, announced, bytes,
        )
    }
}

impl Split {
    /// The parts in order, with their names.
    pub fn parts(&self) -> [(&'static str, Option<u64>); 8] {
        [
            ("detection", self.detection),
            ("command", self.command),
            ("unmap", Some(self.unmap)),
            ("query status", Some(self.query)),
            ("edit", Some(self.edit)),
            ("run list", Some(self.runlist)),
            ("ahead", self.ahead),
            ("launch", Some(self.launch)),
        ]
    }

    /// From the urgent doorbell to the first urgent workgroup, or from the end of the
    /// urgent workgroup before it where that is later.
    pub fn end_to_end(&self) -> Option<u64> {
        let all = self.detection? + self.total + self.ahead.unwrap_or(0);
        Some(all.saturating_sub(self.announced.unwrap_or(0)))
    }
}

/// What the logs of one run say.
pub struct Logs<'a> {
    pub packets: &'a [HiqRecord],
    pub timeline: &'a [TimelineRecord],
    pub urgent: &'a BTreeSet<QueueId>,
    /// Of urgent queues, in any order.
    pub requests: &'a [Sample],
    pub calls: &'a [Call],
}

fn is_unmap(record: &HiqRecord) -> bool {
    matches!(record.action, HiqAction::Unmap { .. })
}

impl Logs<'_> {
    /// All preemptions of the run, in order.
    pub fn preemptions(&self) -> Vec<Split> {
        let starts = self.packets.iter().enumerate();
        starts
            .filter(|(_, packet)| is_unmap(packet))
            .filter_map(|(at, _)| self.preemption(at))
            .collect()
    }

    fn preemption(&self, at: usize) -> Option<Split> {
        let unmap = &self.packets[at];
        let (from, to) = (unmap.fetched.0, unmap.completed?.0);
        let bytes = self.saved(from, to)?;
        let rest = &self.packets[at + 1..];
        let next = rest
            .iter()
            .find(|packet| is_unmap(packet))
            .map_or(u64::MAX, |packet| packet.fetched.0);
        let query = rest
            .iter()
            .find(|packet| matches!(packet.action, HiqAction::QueryStatus { .. }))?;
        let runlist = rest
            .iter()
            .find(|packet| matches!(packet.action, HiqAction::RunList { .. }))?;
        let fence = query.completed?.0;
        let mapped = runlist.completed?.0;
        if runlist.fetched.0 >= next {
            return None;
        }
        let call = self
            .calls
            .iter()
            .find(|call| call.begin <= from && from <= call.end);
        let began = call.map_or(from, |call| call.begin);
        // The request that waits longest. None waits when queues are put back, or
        // when somebody else has the queues unmapped.
        let known = |request: &Sample| request.hint_ns.unwrap_or(request.submit_ns);
        let waiting = self
            .requests
            .iter()
            .filter(|request| known(request) <= began && request.end_ns > to)
            .min_by_key(|request| request.submit_ns)?;
        let idle = self.urgent_idle_since(from)?;
        let since = known(waiting).max(idle);
        let first = self.first_urgent_wave(to, next)?;
        let before = |from: u64| {
            let announced = waiting.hint_ns.is_some();
            announced.then(|| waiting.submit_ns.saturating_sub(from))
        };
        let ahead = before(mapped);
        Some(Split {
            ahead,
            announced: before(since),
            detection: call.map(|call| call.begin.saturating_sub(since)),
            command: call.map(|call| from - call.begin),
            unmap: to - from,
            query: fence.saturating_sub(query.fetched.0.max(to)),
            edit: runlist.fetched.0.saturating_sub(fence),
            runlist: mapped - runlist.fetched.0,
            launch: first.saturating_sub(mapped + ahead.unwrap_or(0)),
            total: (first - began).saturating_sub(ahead.unwrap_or(0)),
            bytes,
        })
    }

    /// Bytes that queues other than the urgent ones had saved in this time.
    fn saved(&self, from: u64, to: u64) -> Option<u64> {
        let bytes: u64 = self
            .timeline
            .iter()
            .filter(|record| (from..=to).contains(&record.at.0))
            .filter(|record| !self.urgent.contains(&record.queue))
            .filter_map(|record| match record.change {
                TimelineChange::SaveBegins { bytes } => Some(bytes),
                _ => None,
            })
            .sum();
        (bytes > 0).then_some(bytes)
    }

    /// Since when no urgent queue has had waves, or nothing when one has some:
    /// urgent work that runs is interrupted and did not wait.
    fn urgent_idle_since(&self, at: u64) -> Option<u64> {
        let mut last: BTreeMap<QueueId, (u64, u64)> = BTreeMap::new();
        for record in self.timeline.iter().take_while(|record| record.at.0 < at) {
            match record.change {
                TimelineChange::Waves { count } if self.urgent.contains(&record.queue) => {
                    last.insert(record.queue, (count, record.at.0));
                }
                _ => {}
            }
        }
        let busy = last.values().any(|&(count, _)| count > 0);
        let since = last.values().map(|&(_, at)| at).max().unwrap_or(0);
        (!busy).then_some(since)
    }

    fn first_urgent_wave(&self, from: u64, to: u64) -> Option<u64> {
        self.timeline
            .iter()
            .filter(|record| (from..to).contains(&record.at.0))
            .filter(|record| self.urgent.contains(&record.queue))
            .find(|record| matches!(record.change, TimelineChange::Waves { count } if count > 0))
            .map(|record| record.at.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vgpu_model::GpuNanos;

    const URGENT: QueueId = QueueId {
        doorbell: 8,
        pasid: 1,
        generation: 0,
    };
    const OTHER: QueueId = QueueId {
        doorbell: 16,
        pasid: 2,
        generation: 0,
    };

    fn packet(sequence: u64, action: HiqAction, fetched: u64, completed: u64) -> HiqRecord {
        HiqRecord {
            sequence,
            action,
            fetched: GpuNanos(fetched),
            completed: Some(GpuNanos(completed)),
        }
    }

    fn unmap(at: u64, to: u64) -> HiqRecord {
        let action = HiqAction::Unmap {
            action: 0,
            filter: 2,
            filter_value: 0,
            queues: 0,
        };
        packet(0, action, at, to)
    }

    fn query(at: u64, to: u64) -> HiqRecord {
        let action = HiqAction::QueryStatus {
            address: 0,
            value: 1,
        };
        packet(1, action, at, to)
    }

    fn runlist(at: u64, to: u64) -> HiqRecord {
        let action = HiqAction::RunList {
            processes: 2,
            queues: 2,
            chained: false,
        };
        packet(2, action, at, to)
    }

    fn record(at: u64, queue: QueueId, change: TimelineChange) -> TimelineRecord {
        TimelineRecord {
            sequence: at,
            at: GpuNanos(at),
            queue,
            change,
        }
    }

    fn request(submit_ns: u64, end_ns: u64) -> Sample {
        Sample {
            arrival_ns: submit_ns,
            hint_ns: None,
            submit_ns,
            start_ns: end_ns - 1,
            end_ns,
        }
    }

    /// One preemption: doorbell at 100, call at 300, urgent waves at 420.
    struct Scene {
        packets: Vec<HiqRecord>,
        timeline: Vec<TimelineRecord>,
        requests: Vec<Sample>,
        calls: Vec<Call>,
    }

    impl Scene {
        fn new() -> Scene {
            Scene {
                packets: vec![unmap(310, 350), query(350, 352), runlist(400, 410)],
                timeline: vec![
                    record(311, OTHER, TimelineChange::SaveBegins { bytes: 1000 }),
                    record(420, URGENT, TimelineChange::Waves { count: 4 }),
                ],
                requests: vec![request(100, 500)],
                calls: vec![Call {
                    begin: 300,
                    unmapped: 380,
                    map: 390,
                    end: 405,
                }],
            }
        }

        fn split(&self) -> Vec<Split> {
            Logs {
                packets: &self.packets,
                timeline: &self.timeline,
                urgent: &[URGENT].into(),
                requests: &self.requests,
                calls: &self.calls,
            }
            .preemptions()
        }
    }

    #[test]
    fn the_parts_add_up() {
        let splits = Scene::new().split();
        let [split] = splits[..] else {
            panic!("{splits:?}");
        };
        let expected = Split {
            detection: Some(200),
            command: Some(10),
            unmap: 40,
            query: 2,
            edit: 48,
            runlist: 10,
            ahead: None,
            launch: 10,
            total: 120,
            announced: None,
            bytes: 1000,
        };
        assert_eq!(split, expected);
        let parts: u64 = split.parts().iter().skip(1).filter_map(|part| part.1).sum();
        assert_eq!(parts, split.total);
        assert_eq!(split.end_to_end(), Some(320));
    }

    /// A hint at 100, and a doorbell at another time.
    fn announced(doorbell: u64) -> Scene {
        let mut scene = Scene::new();
        scene.requests[0].hint_ns = Some(100);
        scene.requests[0].submit_ns = doorbell;
        scene
    }

    #[test]
    fn after_a_hint_only_what_follows_the_doorbell_is_waited_for() {
        // In the middle of the transaction.
        let split = announced(360).split()[0];
        assert_eq!((split.detection, split.ahead), (Some(200), Some(0)));
        assert_eq!((split.launch, split.total), (10, 120));
        assert_eq!(split.announced, Some(260));
        assert_eq!(split.end_to_end(), Some(60));
        // After it.
        let split = announced(415).split()[0];
        assert_eq!((split.ahead, split.launch), (Some(5), 5));
        assert_eq!(split.total, 115);
        assert_eq!(split.end_to_end(), Some(5));
        // The urgent client was busy with another request until after the doorbell.
        let mut scene = announced(150);
        let waves = |at, count| record(at, URGENT, TimelineChange::Waves { count });
        scene.timeline.splice(0..0, [waves(110, 4), waves(180, 0)]);
        let split = scene.split()[0];
        assert_eq!((split.detection, split.announced), (Some(120), Some(0)));
        assert_eq!(split.end_to_end(), Some(240));
    }

    #[test]
    fn a_request_that_queued_up_waits_from_its_hint_and_not_from_its_arrival() {
        let mut scene = announced(360);
        scene.requests[0].arrival_ns = 20;
        let split = scene.split()[0];
        assert_eq!((split.detection, split.announced), (Some(200), Some(260)));
        // What is stopped before the hint is not stopped for it.
        scene.requests[0].hint_ns = Some(301);
        assert_eq!(scene.split(), []);
    }

    #[test]
    fn what_is_stopped_before_the_doorbell_is_no_preemption_without_a_hint() {
        let mut scene = announced(360);
        scene.requests[0].hint_ns = None;
        assert_eq!(scene.split(), []);
    }

    #[test]
    fn without_a_call_the_packet_is_the_beginning() {
        let mut scene = Scene::new();
        scene.calls.clear();
        let splits = scene.split();
        assert_eq!((splits[0].detection, splits[0].command), (None, None));
        assert_eq!(splits[0].total, 110);
    }

    #[test]
    fn unmapping_without_a_save_of_others_is_no_preemption() {
        let mut scene = Scene::new();
        scene.timeline[0].queue = URGENT;
        assert_eq!(scene.split(), []);
        scene.timeline.remove(0);
        assert_eq!(scene.split(), []);
    }

    #[test]
    fn nobody_waits_when_queues_are_put_back() {
        let mut scene = Scene::new();
        scene.requests = vec![request(100, 200), request(600, 700)];
        assert_eq!(scene.split(), []);
    }

    #[test]
    fn an_interrupted_request_did_not_wait() {
        let mut scene = Scene::new();
        scene
            .timeline
            .insert(0, record(150, URGENT, TimelineChange::Waves { count: 4 }));
        assert_eq!(scene.split(), []);
    }

    #[test]
    fn a_request_waits_from_the_end_of_its_last_kernel() {
        let mut scene = Scene::new();
        let waves = |at, count| record(at, URGENT, TimelineChange::Waves { count });
        scene.timeline.splice(0..0, [waves(150, 4), waves(180, 0)]);
        assert_eq!(scene.split()[0].detection, Some(120));
    }

    #[test]
    fn the_longest_waiting_request_counts() {
        let mut scene = Scene::new();
        scene.requests = vec![request(250, 600), request(120, 500)];
        assert_eq!(scene.split()[0].detection, Some(180));
    }

    #[test]
    fn urgent_waves_after_the_next_unmapping_are_not_of_this_one() {
        let mut scene = Scene::new();
        scene.packets.push(unmap(415, 416));
        assert_eq!(scene.split(), []);
    }

    #[test]
    fn a_packet_that_never_completed_is_left_out() {
        for packet in 0..3 {
            let mut scene = Scene::new();
            scene.packets[packet].completed = None;
            assert_eq!(scene.split(), [], "{packet}");
        }
    }
}
