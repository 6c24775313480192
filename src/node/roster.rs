// SPDX-License-Identifier: GPL-2.0-only

//! The names that queues and processes have here, and what is remembered under
//! them from look to look.
//!
//! The driver's addresses may be used again for other queues, so that the policy
//! gets numbers that are never given twice.

use crate::node::storage::room;
use gpreempt_policy::ProcessId;
use gpreempt_policy::QueueId;
use gpreempt_policy::RuleId;
use gpreempt_policy::QUEUE_SLOTS;
use kernel::prelude::*;
use kfd::driver::process::COMM_LEN;
use kfd::driver::queue::Activity;
use kfd::driver::queue::Format;
use kfd::driver::queue::QueueKey;
use kfd::kernel::sort::sort_by_key;
use kfd::look::survey::ProcessSeen;
use kfd::look::survey::QueueSeen;
use kfd::look::survey::Survey;
use kfd::operator::rules::Rules;

/// What is remembered of a queue.
#[derive(Clone, Copy)]
pub(crate) struct Queue {
    pub(crate) key: QueueKey,
    pub(crate) id: QueueId,
    pub(crate) process: ProcessId,
    pub(crate) pid: i32,
    pub(crate) comm: [u8; COMM_LEN],
    pub(crate) rule: Option<RuleId>,
    /// The claimed priority.
    pub(crate) priority: gpreempt_policy::Priority,
    /// It is stopped because a decision of ours was carried out.
    pub(crate) stopped: bool,
    /// When it was stopped, its descriptor held neither waves nor work.
    pub(crate) stopped_idle: bool,
    /// The read pointer at the last look that could read it.
    pub(crate) progress: u64,
}

/// What is remembered of a process.
#[derive(Clone, Copy)]
struct Process {
    address: usize,
    pid: i32,
    id: ProcessId,
    comm: [u8; COMM_LEN],
    rule: Option<RuleId>,
    /// The generation of the rules that `rule` comes from.
    generation: u32,
}

/// Finds the rule of a process.
pub(crate) trait Matcher {
    /// Changes with the rules.
    fn generation(&self) -> u32;
    /// The rule of a process.
    fn find(&self, process: &ProcessSeen) -> Option<RuleId>;
}

impl Matcher for &Rules {
    fn generation(&self) -> u32 {
        Rules::generation(self)
    }

    fn find(&self, process: &ProcessSeen) -> Option<RuleId> {
        Rules::find(self, &process.task)
    }
}

/// The queues and processes of a node, in the order of the last look.
///
/// # Invariants
///
/// `places` says where in `queues` each name stands, sorted by name.
pub(crate) struct Roster {
    queues: KVVec<Queue>,
    places: KVVec<(QueueId, usize)>,
    next_queues: KVVec<Queue>,
    processes: KVVec<Process>,
    next_processes: KVVec<Process>,
    last_queue: u64,
    last_process: u64,
}

impl Roster {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            queues: room(QUEUE_SLOTS)?,
            places: room(QUEUE_SLOTS)?,
            next_queues: room(QUEUE_SLOTS)?,
            processes: room(QUEUE_SLOTS)?,
            next_processes: room(QUEUE_SLOTS)?,
            last_queue: 0,
            last_process: 0,
        })
    }

    /// The queues, in the order of the survey that was last taken in.
    pub(crate) fn queues(&self) -> &[Queue] {
        &self.queues
    }

    pub(crate) fn queues_mut(&mut self) -> &mut [Queue] {
        &mut self.queues
    }

    /// The queue of a name.
    pub(crate) fn find(&self, id: QueueId) -> Option<&Queue> {
        self.queues.get(self.place(id)?)
    }

    /// Where the queue of a name stands, here and in the survey that was last taken in.
    pub(crate) fn place(&self, id: QueueId) -> Option<usize> {
        let found = self.places.binary_search_by_key(&id, |(name, _)| *name);
        self.places.get(found.ok()?).map(|(_, at)| *at)
    }

    /// Notes where the queues stand, unless they stand where they stood.
    fn note_places(&mut self) {
        let stays = |(at, queue): (usize, &Queue)| self.place(queue.id) == Some(at);
        let same_count = self.queues.len() == self.places.len();
        if same_count && self.queues.iter().enumerate().all(stays) {
            return;
        }
        self.places.clear();
        for (at, queue) in self.queues.iter().enumerate() {
            // There is as much room as for queues.
            let _ = self.places.push_within_capacity((queue.id, at));
        }
        // INVARIANT: These are all, just sorted.
        sort_by_key(&mut self.places, |(name, _)| *name);
    }

    /// Whether any queue is stopped by us.
    pub(crate) fn any_stopped(&self) -> bool {
        self.queues.iter().any(|queue| queue.stopped)
    }

    /// Forgets everything; names are not given again all the same.
    pub(crate) fn clear(&mut self) {
        self.queues.clear();
        self.places.clear();
        self.processes.clear();
    }

    /// Gives a name to everything that a look has seen, and forgets what it has
    /// not.
    pub(crate) fn take(&mut self, survey: &Survey, rules: &impl Matcher) {
        self.take_processes(survey, rules);
        self.next_queues.clear();
        for (at, seen) in survey.queues().iter().enumerate() {
            let Some(process) = self.processes.get(seen.process).copied() else {
                continue;
            };
            let same = |queue: &Queue| queue.process == process.id && same_queue(queue, seen);
            let queue = match find_near(&self.queues, at, same) {
                Some(queue) => Queue {
                    rule: process.rule,
                    priority: seen.facts.priority,
                    progress: seen.sample.read.unwrap_or(queue.progress),
                    ..*queue
                },
                None => {
                    self.last_queue = self.last_queue.saturating_add(1);
                    Queue {
                        key: seen.facts.key,
                        id: QueueId(self.last_queue),
                        process: process.id,
                        pid: process.pid,
                        comm: process.comm,
                        rule: process.rule,
                        priority: seen.facts.priority,
                        stopped: false,
                        stopped_idle: false,
                        progress: seen.sample.read.unwrap_or(0),
                    }
                }
            };
            // There is as much room as in the survey.
            let _ = self.next_queues.push_within_capacity(queue);
        }
        core::mem::swap(&mut self.queues, &mut self.next_queues);
        self.note_places();
    }

    fn take_processes(&mut self, survey: &Survey, rules: &impl Matcher) {
        let generation = rules.generation();
        self.next_processes.clear();
        for (at, seen) in survey.processes().iter().enumerate() {
            let pid = seen.task.pid();
            let same = |process: &Process| process.address == seen.process && process.pid == pid;
            let process = match find_near(&self.processes, at, same) {
                Some(process) if process.generation == generation => *process,
                Some(process) => Process {
                    rule: rules.find(seen),
                    generation,
                    ..*process
                },
                None => {
                    self.last_process = self.last_process.saturating_add(1);
                    Process {
                        address: seen.process,
                        pid,
                        id: ProcessId(self.last_process),
                        comm: seen.task.comm(),
                        rule: rules.find(seen),
                        generation,
                    }
                }
            };
            let _ = self.next_processes.push_within_capacity(process);
        }
        core::mem::swap(&mut self.processes, &mut self.next_processes);
    }
}

/// Whether a queue is the one that was remembered. A pointer that went back is
/// that of a new queue with the name of an old one.
///
/// That holds for packets alone: the words of the command processor are counted
/// within the ring. And a queue that is still stopped is no new one, which would
/// run, whatever its process writes into the pointer.
fn same_queue(queue: &Queue, seen: &QueueSeen) -> bool {
    let facts = &seen.facts;
    let counts_within_ring = facts.format == Format::Pm4;
    let still_stopped = queue.stopped && facts.activity != Activity::Active;
    queue.key == facts.key
        && (counts_within_ring
            || still_stopped
            || seen.sample.read.is_none_or(|read| read >= queue.progress))
}

/// Finds something that is expected at a place, and looks elsewhere only if it
/// is not there.
fn find_near<T>(all: &[T], at: usize, is: impl Fn(&T) -> bool) -> Option<&T> {
    match all.get(at) {
        Some(there) if is(there) => Some(there),
        _ => all.iter().find(|other| is(other)),
    }
}
