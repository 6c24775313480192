// SPDX-License-Identifier: GPL-2.0-only

//! What a node did: counters, the latest decisions, and how long things took.

use crate::node::histogram::Histogram;
use gpreempt_policy::Action;
use gpreempt_policy::Failed;
use gpreempt_policy::Nanos;
use gpreempt_policy::Reason;
use kernel::prelude::*;

/// How many decisions are kept.
pub(crate) const EVENTS: usize = 512;

/// A decision that was made.
#[derive(Clone, Copy)]
pub(crate) struct Event {
    /// The number of the decision, from 1.
    pub(crate) number: u64,
    pub(crate) time: Nanos,
    pub(crate) pid: i32,
    pub(crate) queue_id: u32,
    pub(crate) priority: u8,
    pub(crate) effective: u8,
    pub(crate) action: Action,
    pub(crate) reason: Reason,
    pub(crate) age: Nanos,
    pub(crate) fate: Fate,
    /// Process and queue that it was made for.
    pub(crate) beneficiary: Option<(i32, u32)>,
}

/// What became of a decision.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It was only observed.
    Observed,
    /// It was carried out.
    Done,
    /// Nothing had to or could be done.
    Nothing,
    /// The transaction failed.
    Failed(Failed),
}

impl Fate {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Fate::Observed => "observed",
            Fate::Done => "done",
            Fate::Nothing => "nothing-to-do",
            Fate::Failed(_) => "failed",
        }
    }
}

/// The latest decisions, the oldest out first.
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

    /// Keeps a decision; its number is given here.
    pub(crate) fn add(&mut self, mut event: Event) {
        let at = usize::try_from(self.made % EVENTS as u64).unwrap_or(0);
        self.made = self.made.saturating_add(1);
        event.number = self.made;
        match self.ring.get_mut(at) {
            Some(place) => *place = event,
            // Below the capacity, so that there is room.
            None => drop(self.ring.push_within_capacity(event)),
        }
    }

    /// The decisions, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Event> {
        let first = usize::try_from(self.made % EVENTS as u64).unwrap_or(0);
        let (newer, older) = if self.ring.len() < EVENTS {
            (&self.ring[..], &self.ring[..0])
        } else {
            self.ring.split_at(first)
        };
        Iterator::chain(older.iter(), newer)
    }
}

/// Counters of a node since the module was loaded.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counters {
    /// Looks at the queues.
    pub(crate) passes: u64,
    /// Looks that could not be had because the GPU was not to be used.
    pub(crate) missed: u64,
    /// Inversions that were found, each counted once.
    pub(crate) inversions: u64,
    /// Decisions that were only observed.
    pub(crate) observed: u64,
    pub(crate) stops: u64,
    pub(crate) starts: u64,
    pub(crate) transactions: u64,
    pub(crate) failures: u64,
    /// Stopped queues that something else started.
    pub(crate) healed: u64,
    /// Queues that there is no room for, at the last look.
    pub(crate) exempt: u64,
    /// The most queues at a look.
    pub(crate) most_queues: u64,
}

/// How long things took.
pub(crate) struct Latencies {
    /// From the beginning of an inversion to the decision to end it.
    pub(crate) detection: Histogram,
    /// Transactions: taking queues off, the change, putting queues back.
    pub(crate) unmap: Histogram,
    pub(crate) edit: Histogram,
    pub(crate) map: Histogram,
    /// How long queues were stopped.
    pub(crate) stopped: Histogram,
    /// Looks: until everything is known, and with the decision.
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
