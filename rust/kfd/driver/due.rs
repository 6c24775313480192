// SPDX-License-Identifier: GPL-2.0-only

//! What is found by one walk and changed when it is over: the one place where flags and
//! counters of the driver's queues are written.
//!
//! That the whole list was seen and fits is known only at the walk's end, and
//! nothing may be changed before. What is to be changed is therefore noted on the
//! way. It cannot outlive the lock under which it was found, and so is still there.

use crate::driver::{
    census::Census,
    foreign::Foreign,
    layout::*,
    locked::{LockedNode, QueueManagerLock},
    node::Node,
    queue::{QueueFacts, QueueKind},
};
use gpreempt_policy::Action;
use kernel::prelude::*;

/// Room for what a walk finds, allocated once.
pub(crate) struct Room(KVVec<Found>);

/// A queue that was met, and what is to be done to it.
struct Found {
    /// Its process's `struct qcm_process_device`.
    qpd: Foreign,
    queue: QueueFacts,
    action: Action,
}

impl Room {
    /// Room for so many queues.
    pub(crate) fn new(most: usize) -> Result<Self> {
        Ok(Self(KVVec::with_capacity(most, GFP_KERNEL)?))
    }
}

/// What a walk has found to be done.
///
/// # Invariants
///
/// `locked` has been held since a walk over it met all of `found`.
pub(crate) struct Due<'l> {
    locked: &'l LockedNode<'l>,
    found: &'l [Found],
    census: Census,
    more: bool,
}

impl<'a> LockedNode<'a> {
    /// Walks over all queues, once, and notes those that something is to be done to,
    /// as far as there is room. Until that is done with, nothing else can be found: a
    /// queue that two walks have found would be changed and counted twice.
    pub(crate) fn find<'l>(
        &'l mut self,
        room: &'l mut Room,
        mut wanted: impl FnMut(&QueueFacts) -> Option<Action>,
    ) -> Due<'l> {
        let found = &mut room.0;
        found.clear();
        let mut more = false;
        let census = self.walk(|owner, queue| {
            if let Some(action) = wanted(queue) {
                let qpd = owner.qpd;
                let queue = *queue;
                more |= found
                    .push_within_capacity(Found { qpd, queue, action })
                    .is_err();
            }
        });
        // INVARIANT: Just met, and the lock is borrowed.
        Due {
            locked: self,
            found,
            census,
            more,
        }
    }
}

impl QueueManagerLock<'_> {
    /// The same, under a lock that was taken without anything being unmapped.
    pub(crate) fn find<'l>(
        &'l mut self,
        room: &'l mut Room,
        wanted: impl FnMut(&QueueFacts) -> Option<Action>,
    ) -> Due<'l> {
        self.0.find(room, wanted)
    }
}

impl LockedNode<'_> {
    /// Keeps the driver from saying that the run list is getting oversubscribed when
    /// what was stopped is put back: it would say so under the lock, with the GPU
    /// empty, each time that a start brings the queues above the number of places.
    ///
    /// The driver uses the flag for nothing else, and sets it anew with each run list.
    pub(crate) fn expect_oversubscription(&self) {
        let Some(at) = DEVICE_QUEUE_MANAGER_PACKET_MGR_IS_OVER_SUBSCRIPTION.get() else {
            return;
        };
        // SAFETY: By the invariant of `Node` the queue manager is there, the lock
        // under which the driver makes run lists is held, and the layout says where
        // the flag is.
        unsafe { self.node().dqm().write(at, 1u8) }
    }
}

impl<'l> Due<'l> {
    /// The queues, in the driver's order, each of them once, even if it is in a damaged
    /// list twice: what was found out about one is true until it is changed.
    pub(crate) fn into_queues(self) -> impl Iterator<Item = DueQueue<'l>> {
        let locked = self.locked;
        // INVARIANT: That of `self`.
        self.found
            .iter()
            .map(move |found| DueQueue { locked, found })
            .filter(|queue| !queue.is_done())
    }

    /// The node, whose lock is held.
    pub(crate) fn locked(&self) -> &LockedNode<'l> {
        self.locked
    }

    /// What the walk has counted.
    pub(crate) fn census(&self) -> &Census {
        &self.census
    }

    /// Whether there was no room for all, though for some.
    pub(crate) fn more(&self) -> bool {
        self.more && !self.found.is_empty()
    }

    /// Whether anything is to be started.
    pub(crate) fn starts_any(&self) -> bool {
        self.found.iter().any(|found| found.action == Action::Start)
    }

    /// Whether nothing is to be done.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
}

/// A queue that something is to be done to.
///
/// # Invariants
///
/// `locked` has been held since a walk over it met `found`, and the queue was not
/// changed since.
pub(crate) struct DueQueue<'l> {
    locked: &'l LockedNode<'l>,
    found: &'l Found,
}

impl DueQueue<'_> {
    /// Whether what is due was done since the queue was met, because it was met twice.
    fn is_done(&self) -> bool {
        let Found { queue, .. } = self.found;
        let (at, due) = match queue.uncounted_gws {
            true => (QUEUE_PROPERTIES_IS_GWS, true),
            false => (QUEUE_PROPERTIES_IS_ACTIVE, self.action() == Action::Start),
        };
        let flag =
            Foreign::new(queue.key.queue).and_then(|queue| queue.flag(QUEUE_PROPERTIES + at));
        flag == Some(due)
    }

    /// The queue as it was met.
    pub(crate) fn facts(&self) -> &QueueFacts {
        &self.found.queue
    }

    /// What is to be done to it.
    pub(crate) fn action(&self) -> Action {
        self.found.action
    }

    /// Its node.
    pub(crate) fn node(&self) -> &Node<'_> {
        self.locked.node()
    }

    /// Sets the queue's flag and the three counters as the driver's
    /// increment_queue_count() and decrement_queue_count() do, and what is now
    /// expected of the counters.
    ///
    /// # Safety
    ///
    /// What the hardware runs must agree with the flag before the lock is released:
    /// either all queues are off the hardware until the driver puts those back that are
    /// flagged, or this one was just taken out of its hardware queue or put into it.
    pub(crate) unsafe fn set_active(self, expected: &mut Census) {
        let Found { queue, action, .. } = self.found;
        let active = *action == Action::Start;
        let Some(address) = Foreign::new(queue.key.queue) else {
            return;
        };
        // SAFETY: By the type's invariant the queue is on the node's list, and the
        // lock that protects the field is held; the layout says where it is.
        unsafe {
            address.write(
                QUEUE_PROPERTIES + QUEUE_PROPERTIES_IS_ACTIVE,
                u8::from(active),
            )
        };
        self.count(DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT, active);
        if queue.kind == QueueKind::Compute {
            self.count(DEVICE_QUEUE_MANAGER_ACTIVE_CP_QUEUE_COUNT, active);
        }
        if queue.counted_gws {
            self.map_gws(active);
        }
        expected.expect(queue.kind, active);
    }

    /// Makes up for what the driver's update_queue() leaves out where it sets a queue
    /// running that was not: it says that the queue takes part in cooperative
    /// launches, and counts it.
    ///
    /// # Safety
    ///
    /// All queues must be off the hardware until the driver puts back those that are
    /// flagged: how it does that depends on whether any takes part.
    pub(crate) unsafe fn count_gws(self) {
        let Some(address) = Foreign::new(self.found.queue.key.queue) else {
            return;
        };
        // SAFETY: By the type's invariant the queue is on the node's list, and the
        // lock that protects the field is held; the layout says where it is.
        unsafe { address.write(QUEUE_PROPERTIES + QUEUE_PROPERTIES_IS_GWS, 1u8) };
        self.map_gws(true);
    }

    /// Counts a queue that takes part in cooperative launches among those that run, or
    /// no more. A process has at most one.
    fn map_gws(&self, active: bool) {
        self.count(DEVICE_QUEUE_MANAGER_GWS_QUEUE_COUNT, active);
        let qpd = self.found.qpd;
        // SAFETY: By the type's invariant the walk has met the queue, and with it its
        // process's structure, which stays as long as the lock is held; the layout says
        // where the field is.
        unsafe { qpd.write(QCM_PROCESS_DEVICE_MAPPED_GWS_QUEUE, u8::from(active)) };
    }

    /// Adds one to a counter of the queue manager, or takes one.
    fn count(&self, at: Offset, up: bool) {
        let dqm = self.locked.node().dqm();
        let Some(count) = dqm.read::<u32>(at) else {
            return;
        };
        let count = if up {
            count.wrapping_add(1)
        } else {
            count.wrapping_sub(1)
        };
        // SAFETY: By the invariant of `Node` the queue manager is there, the
        // lock that protects its counters is held, and the layout says where
        // they are.
        unsafe { dqm.write(at, count) }
    }
}
