// SPDX-License-Identifier: GPL-2.0-only
//! The policy's face to the module.

use crate::level::LevelSlot;
use crate::parts::table::Table;
use crate::pass::node::Node;
use crate::pass::{Pass, Tally};
use crate::process::tenant::TenantSlot;
use crate::process::ProcessSlot;
use crate::queue::QueueSlot;
use crate::settings::{Config, Limits};
use crate::terms::{
    Arming, Decision, Nanos, Observation, Outcome, Priority, QueueId, QueueView, Step,
};

/// The queues that a node is sized for; each may have a process and a tenant of its own.
pub const QUEUE_SLOTS: usize = 1024;

/// The memory of one scheduler. Any lengths will do: what does not fit is
/// exempt and counted. The slots start as `Default::default()`.
#[derive(Debug)]
pub struct Parts<'s> {
    /// One slot for each queue.
    pub queues: &'s mut [QueueSlot],
    /// One slot for each process with queues.
    pub processes: &'s mut [ProcessSlot],
    /// One slot for each tenant with processes.
    pub tenants: &'s mut [TenantSlot],
    /// One slot for each level. With fewer than [`LEVELS`] nothing is decided.
    pub levels: &'s mut [LevelSlot],
}

/// What owns the memory of one scheduler: vectors of the kernel or of the host.
pub trait Storage {
    /// The memory, the same at every call.
    fn parts(&mut self) -> Parts<'_>;
}

/// The policy of one KFD node.
///
/// It reads no clock and keeps no reference: equal calls from the start give
/// equal results.
///
/// # Examples
///
/// ```
/// use gpreempt_policy::*;
///
/// #[derive(Default)]
/// struct Memory {
///     queues: [QueueSlot; 8],
///     processes: [ProcessSlot; 8],
///     tenants: [TenantSlot; 8],
///     levels: [LevelSlot; LEVELS],
/// }
///
/// impl Storage for Memory {
///     fn parts(&mut self) -> Parts<'_> {
///         Parts {
///             queues: &mut self.queues,
///             processes: &mut self.processes,
///             tenants: &mut self.tenants,
///             levels: &mut self.levels,
///         }
///     }
/// }
///
/// let mut scheduler = Scheduler::new(Memory::default());
/// let config = Config::new();
/// let mut out = [Decision::default(); 8];
/// let step = scheduler.step(Nanos(0), &config, &[], &[], &mut out);
/// assert_eq!(step.decisions, 0);
/// assert_eq!(step.next_look, None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scheduler<S> {
    storage: S,
    node: Node,
}

impl<S: Storage> Scheduler<S> {
    /// A scheduler that has seen nothing. The storage must be all default.
    pub fn new(storage: S) -> Self {
        Scheduler {
            storage,
            node: Node::default(),
        }
    }

    /// One pass: what is seen goes in, what is to be done comes out.
    ///
    /// `outcomes` says what became of the decisions of the step before; a
    /// decision without an outcome is judged by what is seen of its queue.
    /// Decisions with `apply` belong in one transaction, in any order.
    /// `now` may jump; a time before the one of the last step counts as that.
    pub fn step(
        &mut self,
        now: Nanos,
        config: &Config,
        seen: &[Observation],
        outcomes: &[Outcome],
        out: &mut [Decision],
    ) -> Step {
        let (node, parts) = (&mut self.node, self.storage.parts());
        let Some(levels) = parts.levels.first_chunk_mut() else {
            return Step::default();
        };
        let last = node.last.unwrap_or(now);
        let now = now.max(last);
        node.last = Some(now);
        node.pass = node.pass.wrapping_add(1);
        node.cost.age(now);
        // A change of mode starts everything first.
        node.releasing |= node.mode.is_some_and(|last| last != config.mode);
        node.mode = Some(config.mode);
        Pass {
            now,
            elapsed: now.since(last),
            config,
            limits: Limits::new(config),
            queues: Table::new(parts.queues, node.queues),
            processes: Table::new(parts.processes, node.processes),
            tenants: Table::new(parts.tenants, node.tenants),
            node,
            levels,
            out,
            step: Step::default(),
            tally: Tally {
                lowest: Priority::HIGHEST,
                floor: Priority::HIGHEST,
                due: Nanos::NEVER,
                bound: Nanos::NEVER,
                ..Tally::default()
            },
        }
        .run(seen, outcomes)
    }

    /// What the last transaction took, from the call to its return. Stops are weighed
    /// against it.
    pub fn transaction_took(&mut self, took: Nanos) {
        self.node.cost.took(took);
    }

    /// Nothing runs on the node now, whoever it is for: nobody is blamed for having made no
    /// progress up to the last step.
    pub fn excuse(&mut self) {
        let (now, processes) = (self.now(), self.node.processes);
        for process in Table::new(self.storage.parts().processes, processes).iter_mut() {
            process.excuse(now);
        }
    }

    /// Arms a node that was disarmed or backs off, and forgets its failures.
    pub fn rearm(&mut self) {
        self.node.recovery.rearm();
    }

    /// The time of the last step.
    fn now(&self) -> Nanos {
        self.node.last.unwrap_or(Nanos::ZERO)
    }

    /// Whether the node is preempted.
    pub fn arming(&self) -> Arming {
        self.node.recovery.arming(self.now())
    }

    /// Whether the pause after the last failure that was heard of is over, whether the
    /// node is preempted or not.
    pub fn may_retry(&self, now: Nanos) -> bool {
        self.node.recovery.may_retry(now)
    }

    /// The view of one queue, found in constant time. `None`: it was not seen in
    /// the last step, or there was no room for it.
    pub fn queue(&mut self, id: QueueId) -> Option<QueueView> {
        let now = self.now();
        let queues = Table::new(self.storage.parts().queues, self.node.queues);
        let at = queues.find(id.0, usize::MAX)?;
        queues.get(at).map(|queue| queue.view(now))
    }

    /// The view of each queue, in the order in which they were first seen.
    pub fn queues(&mut self) -> impl Iterator<Item = QueueView> + '_ {
        let now = self.now();
        let queues = Table::new(self.storage.parts().queues, self.node.queues);
        (0..queues.len()).filter_map(move |at| queues.get(at).map(|queue| queue.view(now)))
    }
}
