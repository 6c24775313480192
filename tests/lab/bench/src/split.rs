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
mod tests;
