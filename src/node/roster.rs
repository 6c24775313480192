// SPDX-License-Identifier: GPL-2.0-only

//! The names that queues and processes have here, and what is remembered under
//! them from look to look.
//!
//! The driver may use an address again for another queue, so the policy gets
//! numbers that are never given twice.

use crate::node::{places::Places, storage::room};
use gpreempt_policy::{ProcessId, QueueId, QUEUE_SLOTS};
use kernel::prelude::*;
use kfd::{
    act::transaction::Done,
    driver::{
        process::{Identity, Program, Traits, COMM_LEN},
        queue::{Format, QueueKey},
    },
    look::{
        crowd::Known,
        survey::{QueueSeen, Survey},
    },
    operator::rules::Matched,
};

/// What is remembered of a queue.
#[derive(Clone, Copy)]
pub(crate) struct Queue {
    pub(crate) key: QueueKey,
    pub(crate) id: QueueId,
    pub(crate) process: ProcessId,
    pub(crate) pid: i32,
    pub(crate) comm: [u8; COMM_LEN],
    /// The rule that counts for its process.
    pub(crate) rule: Option<Matched>,
    /// The priority that its process gave it.
    pub(crate) priority: gpreempt_policy::Priority,
    /// What a stop of ours has come to, as long as it lasts.
    pub(crate) stop: Done,
    /// At the last look, its process was changing it.
    pub(crate) changing: bool,
    /// The read pointer at the last look that could read it.
    read: u64,
    /// The same, but for where its process has set it back: that is no progress.
    pub(crate) progress: u64,
    /// What was submitted and not consumed at the last look, if it could tell.
    pub(crate) backlog: Option<u32>,
}

impl Queue {
    /// It is stopped because a decision of ours was carried out.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop != Done::Nothing
    }

    /// Notes whether it is stopped. What its stop has come to is kept as long as it is.
    pub(crate) fn follow_stop(&mut self, stopped: bool) {
        self.stop = match (stopped, self.stop) {
            (false, _) => Done::Nothing,
            (true, Done::Nothing) => Done::Yes,
            (true, stop) => stop,
        };
    }

    /// Its progress as it is seen again.
    ///
    /// The pointer is in its process's memory. Where it is lower than it was, the process
    /// has written it or made the queue anew at the same addresses: what the queue has on
    /// its account stays, and progress is what comes after.
    fn progress_at(&self, seen: &QueueSeen) -> u64 {
        let Some(read) = seen.sample.read else {
            return self.progress;
        };
        let moved = match seen.facts.format {
            Format::Aql => read.saturating_sub(self.read),
            // The words of PM4 are counted within the ring.
            Format::Pm4 if read < self.read => {
                let words = seen.facts.ring_bytes / 4;
                read.saturating_add(words).saturating_sub(self.read)
            }
            Format::Pm4 => read.saturating_sub(self.read),
        };
        self.progress.wrapping_add(moved)
    }
}

/// What is remembered of a process of the driver's. Those of one program, which may have
/// several contexts, have the same name: they are no rivals of each other.
#[derive(Clone, Copy)]
struct Process {
    address: usize,
    program: Program,
    id: ProcessId,
    /// What `rule` was found for.
    traits: Traits,
    rule: Option<Matched>,
    /// The generation of the rules from which `rule` comes.
    generation: u32,
}

/// The queues and processes of a node, in the order of the last look.
pub(crate) struct Roster {
    queues: KVVec<Queue>,
    next_queues: KVVec<Queue>,
    /// The places of the queues in the order of their names.
    order: KVVec<usize>,
    /// Where each queue of the last look is in this one, while that is taken in.
    moved: KVVec<Option<usize>>,
    processes: KVVec<Process>,
    next_processes: KVVec<Process>,
    places: Places,
    last_queue: u64,
}

impl Roster {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            queues: room(QUEUE_SLOTS)?,
            next_queues: room(QUEUE_SLOTS)?,
            order: room(QUEUE_SLOTS)?,
            moved: room(QUEUE_SLOTS)?,
            processes: room(QUEUE_SLOTS)?,
            next_processes: room(QUEUE_SLOTS)?,
            places: Places::new()?,
            last_queue: 0,
        })
    }

    /// The queues, in the order of the survey that was last taken in.
    pub(crate) fn queues(&self) -> &[Queue] {
        &self.queues
    }

    pub(crate) fn queues_mut(&mut self) -> &mut [Queue] {
        &mut self.queues
    }

    /// The place of the queue of a name.
    fn place(&self, id: QueueId) -> Option<usize> {
        let name = |&at: &usize| self.queues.get(at).map(|queue| queue.id);
        let found = self.order.binary_search_by_key(&Some(id), name).ok()?;
        self.order.get(found).copied()
    }

    /// The queue of a name.
    pub(crate) fn find(&self, id: QueueId) -> Option<&Queue> {
        self.queues.get(self.place(id)?)
    }

    /// The queue of a name, to be changed.
    pub(crate) fn find_mut(&mut self, id: QueueId) -> Option<&mut Queue> {
        let at = self.place(id)?;
        self.queues.get_mut(at)
    }

    /// The queues in the order in which they were first seen, each with its place
    /// in the survey that was last taken in.
    pub(crate) fn by_age(&self) -> impl Iterator<Item = (usize, &Queue)> {
        self.order
            .iter()
            .filter_map(|&at| Some((at, self.queues.get(at)?)))
    }

    /// Which queues were in view, and which of them are stopped.
    pub(crate) fn known(&self) -> impl Iterator<Item = Known> + Clone + '_ {
        self.queues.iter().map(|queue| Known {
            key: queue.key,
            stopped: queue.is_stopped(),
        })
    }

    /// The queues that are stopped by us.
    pub(crate) fn stopped(&self) -> impl Iterator<Item = QueueKey> + '_ {
        let stopped = self.queues.iter().filter(|queue| queue.is_stopped());
        stopped.map(|queue| queue.key)
    }

    /// Whether any queue is stopped by us.
    pub(crate) fn any_stopped(&self) -> bool {
        self.stopped().next().is_some()
    }

    /// Notes that every queue runs.
    pub(crate) fn forget_stops(&mut self) {
        for queue in self.queues.iter_mut() {
            queue.follow_stop(false);
        }
    }

    /// Forgets everything, except which names were given.
    pub(crate) fn clear(&mut self) {
        self.queues.clear();
        self.order.clear();
        self.processes.clear();
    }

    /// Gives a name to everything that a look has seen, and forgets what it has not
    /// seen. `find` finds the rule of a process, in rules of this generation or a later one.
    pub(crate) fn take(
        &mut self,
        survey: &Survey,
        generation: u32,
        find: impl Fn(&Identity) -> Option<Matched>,
    ) {
        self.take_processes(survey, generation, find);
        self.next_queues.clear();
        self.moved.clear();
        for _ in 0..self.queues.len() {
            let _ = self.moved.push_within_capacity(None);
        }
        let newest = QueueId(self.last_queue);
        self.places.begin();
        for seen in survey.queues() {
            let Some(process) = self.processes.get(seen.process) else {
                continue;
            };
            let key = |queue: &Queue| queue.key;
            let found = self.places.find(&self.queues, key, seen.facts.key);
            let same = |at: &usize| {
                let queue = self.queues.get(*at);
                queue.is_some_and(|queue| queue.process == process.id)
            };
            let found = found.filter(same);
            if let Some(moved) = found.and_then(|at| self.moved.get_mut(at)) {
                *moved = Some(self.next_queues.len());
            }
            let queue = match found.and_then(|at| self.queues.get(at)) {
                Some(queue) => Queue {
                    comm: process.traits.comm,
                    rule: process.rule,
                    priority: seen.facts.priority,
                    read: seen.sample.read.unwrap_or(queue.read),
                    progress: queue.progress_at(seen),
                    backlog: seen.sample.backlog(&seen.facts),
                    ..*queue
                },
                None => {
                    self.last_queue = self.last_queue.saturating_add(1);
                    Queue {
                        key: seen.facts.key,
                        id: QueueId(self.last_queue),
                        process: process.id,
                        pid: process.program.pid(),
                        comm: process.traits.comm,
                        rule: process.rule,
                        priority: seen.facts.priority,
                        stop: Done::Nothing,
                        changing: false,
                        read: seen.sample.read.unwrap_or(0),
                        progress: seen.sample.read.unwrap_or(0),
                        backlog: seen.sample.backlog(&seen.facts),
                    }
                }
            };
            // There is as much room as in the survey.
            let _ = self.next_queues.push_within_capacity(queue);
        }
        core::mem::swap(&mut self.queues, &mut self.next_queues);
        self.reorder(newest);
    }

    /// Brings the order of names up to date with the queues, of which those with a
    /// name above the newest one before are new. Names only grow: the others keep
    /// their order, and the new ones come behind them.
    fn reorder(&mut self, newest: QueueId) {
        let moved = &self.moved;
        self.order.retain(|at| {
            let now = moved.get(*at).copied().flatten();
            *at = now.unwrap_or(*at);
            now.is_some()
        });
        for (at, queue) in self.queues.iter().enumerate() {
            if queue.id > newest {
                // There is as much room as for queues.
                let _ = self.order.push_within_capacity(at);
            }
        }
    }

    fn take_processes(
        &mut self,
        survey: &Survey,
        generation: u32,
        find: impl Fn(&Identity) -> Option<Matched>,
    ) {
        self.next_processes.clear();
        self.places.begin();
        for seen in survey.processes() {
            let program = seen.task.program();
            let address = |process: &Process| process.address;
            let found = self.places.find(&self.processes, address, seen.process);
            let as_it_was = |process: &&Process| {
                process.program == program
                    && process.generation == generation
                    && process.traits == seen.task.traits()
            };
            let known = found.and_then(|at| self.processes.get(at));
            let process = match known.filter(as_it_was) {
                Some(process) => *process,
                None => {
                    // What is remembered is what the rule was found for, so that a change
                    // in between is seen at the next look.
                    let identity = seen.task.identity();
                    Process {
                        address: seen.process,
                        program,
                        id: ProcessId(program.name()),
                        traits: identity.traits(),
                        rule: find(&identity),
                        generation,
                    }
                }
            };
            let _ = self.next_processes.push_within_capacity(process);
        }
        core::mem::swap(&mut self.processes, &mut self.next_processes);
    }
}
