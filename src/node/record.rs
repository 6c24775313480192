// SPDX-License-Identifier: GPL-2.0-only

//! What a node did: counters, the latest decisions, and how long things took.

use crate::node::histogram::Histogram;
use gpreempt_policy::{Action, HintCounts, Nanos, Reason};
use kernel::prelude::*;
use kfd::act::failure::Failure;

/// How many decisions are kept.
pub(crate) const EVENTS: usize = 512;

/// What a node did.
pub(crate) struct Record {
    pub(crate) counters: Counters,
    pub(crate) events: Events,
    pub(crate) latencies: KBox<Latencies>,
}

impl Record {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            counters: Counters::default(),
            events: Events::new()?,
            latencies: KBox::new(Latencies::new(), GFP_KERNEL)?,
        })
    }
}

/// A decision that was made.
#[derive(Clone, Copy)]
pub(crate) struct Event {
    pub(crate) time: Nanos,
    pub(crate) pid: i32,
    pub(crate) queue_id: u32,
    pub(crate) priority: u8,
    pub(crate) effective: u8,
    pub(crate) action: Action,
    pub(crate) reason: Reason,
    pub(crate) age: Nanos,
    pub(crate) outcome: Outcome,
    /// The process and the queue that it was made for.
    pub(crate) beneficiary: Option<(i32, u32)>,
}

/// What became of a decision.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was only observed.
    Observed,
    /// It was carried out.
    Done,
    /// Nothing had to or could be done.
    Nothing,
    /// The transaction failed.
    Failed(Failure),
}

impl Outcome {
    /// The word for it, which tables and JSON call its fate.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Outcome::Observed => "observed",
            Outcome::Done => "done",
            Outcome::Nothing => "nothing-to-do",
            Outcome::Failed(_) => "failed",
        }
    }
}

/// The latest decisions. A new one takes the place of the oldest.
pub(crate) struct Events {
    ring: KVVec<Event>,
    made: u64,
}

impl Events {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            ring: KVVec::with_capacity(EVENTS, GFP_KERNEL)?,
            made: 0,
        })
    }

    /// Keeps a decision.
    pub(crate) fn add(&mut self, event: Event) {
        let oldest = self.oldest();
        match self.ring.get_mut(oldest) {
            Some(place) => *place = event,
            // There is room until the ring has come round.
            None => drop(self.ring.push_within_capacity(event)),
        }
        self.made = self.made.saturating_add(1);
    }

    /// The decisions with their numbers, the oldest first. The first one that was
    /// ever made has number 1.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Event)> {
        let (newer, older) = self
            .ring
            .split_at_checked(self.oldest())
            .unwrap_or((&self.ring, &[]));
        let first = self.made.saturating_sub(wide(self.ring.len()));
        (first.saturating_add(1)..).zip(Iterator::chain(older.iter(), newer))
    }

    /// Where the oldest decision is, once the ring has come round: the next one
    /// takes its place.
    fn oldest(&self) -> usize {
        usize::try_from(self.made % EVENTS as u64).unwrap_or(0)
    }
}

/// A number that only grows.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counter(u64);

impl Counter {
    pub(crate) fn add(&mut self, more: u64) {
        self.0 = self.0.saturating_add(more);
    }

    pub(crate) fn get(self) -> u64 {
        self.0
    }
}

/// Counters of a node since the module was loaded.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counters {
    /// Looks at the queues.
    pub(crate) passes: Counter,
    /// Looks that could not be taken because the GPU was not to be used.
    pub(crate) missed: Counter,
    /// Inversions that were found, each counted once.
    pub(crate) inversions: Counter,
    /// Decisions that were only observed.
    pub(crate) observed: Counter,
    pub(crate) stops: Counter,
    pub(crate) starts: Counter,
    pub(crate) transactions: Counter,
    pub(crate) failures: Counter,
    /// Unmappings of our own that were left to the driver's.
    pub(crate) handed_over: Counter,
    /// Transactions before which it was waited for packets that were being written.
    pub(crate) waited_for: Counter,
    /// Those that were sent though such a packet was not written yet.
    pub(crate) unwritten: Counter,
    /// Hints of programs: see [`gpreempt_policy::HintCounts`].
    pub(crate) hints: Counter,
    pub(crate) hints_honoured: Counter,
    pub(crate) hints_expired: Counter,
    pub(crate) hints_over_budget: Counter,
    pub(crate) hints_ignored: Counter,
    /// Stopped queues that something else started.
    pub(crate) healed: Counter,
    /// Queues that there was no room for at the last look.
    pub(crate) exempt: u64,
}

impl Counters {
    /// Counts what became of the hints of a pass.
    pub(crate) fn count_hints(&mut self, hints: &HintCounts) {
        self.hints.add(wide(hints.seen));
        self.hints_honoured.add(wide(hints.honoured));
        self.hints_expired.add(wide(hints.expired));
        self.hints_over_budget.add(wide(hints.over_budget));
        self.hints_ignored.add(wide(hints.ignored));
    }
}

/// A number of things, as counters and tables have it.
pub(crate) fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// How long things took.
pub(crate) struct Latencies {
    /// From the beginning of an inversion to the decision to end it.
    pub(crate) detection: Histogram,
    /// The parts of a transaction: taking the queues off, the edit, putting them back.
    pub(crate) unmap: Histogram,
    pub(crate) edit: Histogram,
    pub(crate) map: Histogram,
    /// How long queues were stopped.
    pub(crate) stopped: Histogram,
    /// Passes: the look until everything is known, and the whole.
    pub(crate) look: Histogram,
    pub(crate) pass: Histogram,
}

impl Latencies {
    pub(crate) const fn new() -> Self {
        Self {
            detection: Histogram::new(),
            unmap: Histogram::new(),
            edit: Histogram::new(),
            map: Histogram::new(),
            stopped: Histogram::new(),
            look: Histogram::new(),
            pass: Histogram::new(),
        }
    }

    /// Each with its name.
    pub(crate) fn all(&self) -> [(&'static str, &Histogram); 7] {
        [
            ("detection", &self.detection),
            ("unmap", &self.unmap),
            ("edit", &self.edit),
            ("map", &self.map),
            ("stopped", &self.stopped),
            ("look", &self.look),
            ("pass", &self.pass),
        ]
    }
}
