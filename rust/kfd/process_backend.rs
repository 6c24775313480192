// SPDX-License-Identifier: GPL-2.0

//! The backend for drivers without the functions that `hws` needs: all queues of
//! a process on a node, by the eviction that the driver has for memory.
//!
//! Evictions are counted by the driver, so that ours goes beside others; each of
//! ours is a debt of exactly one restore, also when the eviction failed.

use crate::bindings;
use crate::clock;
use crate::foreign::Foreign;
use crate::layout::*;
use crate::locked::ProcessFacts;
use crate::node::Node;
use crate::process::Memory;
use crate::process::Task;
use crate::queue::QueueFacts;
use crate::queue::QueueKind;
use crate::transaction::Done;
use crate::transaction::Failure;
use crate::transaction::Orders;
use crate::transaction::Request;
use crate::transaction::Timing;
use gpreempt_policy::Action;
use gpreempt_policy::Nanos;
use gpreempt_policy::PROCESS_SLOTS;
use kernel::prelude::*;

/// An eviction of ours that is to be undone.
struct Debt {
    process: usize,
    qpd: Foreign,
    dqm: Foreign,
    task: Task,
    mm: usize,
}

/// The evictions of ours that are to be undone, on one GPU.
pub struct Debts(KVVec<Debt>);

// SAFETY: Addresses and references to tasks may be moved between threads.
unsafe impl Send for Debts {}

impl Debts {
    /// None, and room for as many as there can be.
    pub fn new() -> Result<Self> {
        Ok(Self(KVVec::with_capacity(PROCESS_SLOTS, GFP_KERNEL)?))
    }

    /// Whether a process is evicted by us.
    pub(crate) fn has(&self, process: usize) -> bool {
        self.0.iter().any(|debt| debt.process == process)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// Stops and starts the processes of queues.
pub(crate) fn transact(
    node: &Node<'_>,
    orders: &mut Orders<'_>,
    debts: &mut Debts,
) -> Result<Timing, Failure> {
    node.ready().map_err(Failure::Away)?;
    let begin = clock::now();
    let failure = match orders {
        Orders::Each(requests) => each(node, requests, debts),
        Orders::StartAll { started } => restore_all(node, debts, started),
    };
    match failure {
        Some(errno) => Err(Failure::Unmap(errno)),
        None => Ok(Timing {
            unmap: clock::now().since(begin),
            edit: Nanos::ZERO,
            map: Nanos::ZERO,
        }),
    }
}

/// Carries the requests out. Returns the first positive errno.
fn each(node: &Node<'_>, requests: &mut [Request], debts: &mut Debts) -> Option<u32> {
    let mut failure = None;
    for at in 0..requests.len() {
        let Some(request) = requests.get(at).copied() else {
            break;
        };
        let process = request.key.process;
        if request.done != Done::Nothing {
            continue;
        }
        let result = match request.action {
            Action::Stop => evict(node, process, debts),
            Action::Start => restore(node, process, debts),
        };
        match result {
            Ok(true) => {
                for request in requests.iter_mut() {
                    if request.key.process == process {
                        request.done = Done::Yes;
                    }
                }
            }
            Ok(false) => {}
            Err(errno) => failure = failure.or(Some(errno)),
        }
    }
    failure
}

/// Undoes every eviction of ours on a node. Returns the first positive errno.
fn restore_all(node: &Node<'_>, debts: &mut Debts, started: &mut u64) -> Option<u32> {
    let mut failure = None;
    let mut at = 0;
    while let Some(debt) = debts.0.get(at) {
        if debt.dqm != node.dqm() {
            at += 1;
            continue;
        }
        let before = debts.0.len();
        match restore(node, debt.process, debts) {
            Ok(_) => *started = started.saturating_add(1),
            Err(errno) => failure = failure.or(Some(errno)),
        }
        // A debt that stays is tried again next time.
        if debts.0.len() == before {
            at += 1;
        }
    }
    failure
}

/// A process on a node, kept alive.
struct Kept {
    qpd: Foreign,
    evicted: u32,
    task: Task,
    mm: usize,
    /// What keeps it: a primary context lives as long as its memory.
    memory: Memory,
}

/// Finds a process that may be evicted, and keeps it alive.
fn keep(node: &Node<'_>, process: usize) -> Option<Kept> {
    let facts = find(node, process)?;
    let (facts, task) = facts;
    let memory = task.memory(facts.mm)?;
    // Between the look and the reference the process may have gone and another
    // may have come: what is found now is kept.
    let (now, _) = find(node, process)?;
    (now.mm == facts.mm && now.primary && !now.protected).then_some(Kept {
        qpd: now.qpd,
        evicted: now.evicted,
        task,
        mm: facts.mm,
        memory,
    })
}

/// Finds a process and takes a reference to its main thread, unless one of its
/// queues forbids to touch it.
fn find(node: &Node<'_>, process: usize) -> Option<(ProcessFacts, Task)> {
    let mut found = None;
    let mut refused = false;
    let locked = node.lock();
    locked.walk(|owner: &ProcessFacts, queue: &QueueFacts| {
        if owner.process.address() != process {
            return;
        }
        refused |= queue.kind == QueueKind::Compute && (queue.doomed || queue.gws);
        if found.is_none() {
            // SAFETY: The driver keeps the main thread of a process that has
            // queues, and the lock keeps the process.
            let task = unsafe { Task::from_raw(owner.lead_thread.as_ptr()) };
            found = task.map(|task| (*owner, task));
        }
    });
    drop(locked);
    found.filter(|_| !refused)
}

/// Evicts a process. Returns whether it was.
fn evict(node: &Node<'_>, process: usize, debts: &mut Debts) -> Result<bool, u32> {
    if debts.has(process) || debts.0.len() >= debts.0.capacity() {
        return Ok(false);
    }
    let Some(kept) = keep(node, process) else {
        return Ok(false);
    };
    // Somebody else has evicted it, and will run it again: wait for that.
    if kept.evicted > 0 {
        return Ok(false);
    }
    let error = call(
        node,
        DEVICE_QUEUE_MANAGER_OPS_EVICT_PROCESS_QUEUES,
        kept.qpd,
        &kept.memory,
    );
    // The driver counts the eviction before it tries, so that it is owed for
    // whatever came of it.
    let debt = Debt {
        process,
        qpd: kept.qpd,
        dqm: node.dqm(),
        task: kept.task,
        mm: kept.mm,
    };
    let _ = debts.0.push_within_capacity(debt);
    match error {
        0 => Ok(true),
        error => Err(error.unsigned_abs()),
    }
}

/// Undoes our eviction of a process. Returns whether there was one.
fn restore(node: &Node<'_>, process: usize, debts: &mut Debts) -> Result<bool, u32> {
    let at = debts
        .0
        .iter()
        .position(|debt| debt.process == process && debt.dqm == node.dqm());
    let Some(debt) = at.and_then(|at| debts.0.remove(at).ok()) else {
        return Ok(false);
    };
    // Without its memory the process is being taken down, with its evictions.
    let Some(memory) = debt.task.memory(debt.mm) else {
        return Ok(true);
    };
    let locked = node.lock();
    let evicted = debt.qpd.read::<u32>(QCM_PROCESS_DEVICE_EVICTED);
    drop(locked);
    if evicted.is_none_or(|evicted| evicted == 0) {
        return Ok(true);
    }
    match call(
        node,
        DEVICE_QUEUE_MANAGER_OPS_RESTORE_PROCESS_QUEUES,
        debt.qpd,
        &memory,
    ) {
        0 => Ok(true),
        error => Err(error.unsigned_abs()),
    }
}

/// Calls an operation of the queue manager on a process. Returns its result.
fn call(node: &Node<'_>, operation: usize, qpd: Foreign, _alive: &Memory) -> i32 {
    let Some(function) = node.dqm().pointer(operation) else {
        return EFAULT.to_errno();
    };
    // SAFETY: By the invariant of `Node` the queue manager is there, `_alive`
    // keeps the process and what the driver has of it, and the check of the
    // node has seen that the operations are the driver's.
    unsafe { bindings::gp_call_evict(function.as_ptr(), node.dqm().as_ptr(), qpd.as_ptr()) }
}
