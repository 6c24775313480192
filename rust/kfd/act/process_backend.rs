// SPDX-License-Identifier: GPL-2.0-only

//! The backend for drivers without the functions that `hws` needs: all queues of
//! a process on a node, by the eviction that the driver has for memory.
//!
//! Evictions are counted by the driver, so that ours goes beside others; each of
//! ours is a debt of exactly one restore, also when the eviction failed.

use crate::act::transaction::Done;
use crate::act::transaction::Failure;
use crate::act::transaction::Orders;
use crate::act::transaction::Request;
use crate::act::transaction::Timing;
use crate::act::transaction::Transacted;
use crate::driver::foreign::Foreign;
use crate::driver::layout::*;
use crate::driver::node::Node;
use crate::driver::node::SchedPolicy;
use crate::driver::process::Memory;
use crate::driver::process::MemoryHandle;
use crate::driver::process::Task;
use crate::driver::queue::ProcessFacts;
use crate::driver::queue::QueueFacts;
use crate::driver::queue::QueueKind;
use crate::kernel::bindings;
use crate::kernel::clock;
use gpreempt_policy::Action;
use gpreempt_policy::Nanos;
use gpreempt_policy::PROCESS_SLOTS;
use kernel::prelude::*;

/// An eviction of ours that is to be undone.
struct Debt {
    process: usize,
    qpd: Foreign,
    dqm: Foreign,
    /// Of the process, which lives as long as its memory.
    memory: MemoryHandle,
}

/// The evictions of ours that are to be undone, on one GPU.
pub struct Debts(KVVec<Debt>);

// SAFETY: Addresses and references to memory may be moved between threads.
unsafe impl Send for Debts {}

impl Debts {
    /// None, and room for as many as there can be.
    pub fn new() -> Result<Self> {
        Ok(Self(KVVec::with_capacity(PROCESS_SLOTS, GFP_KERNEL)?))
    }

    /// Whether a process that was in view is evicted by us. [`settle`] has to come
    /// between that look and this question: it forgets the processes that have
    /// ended, whose addresses may be others' now.
    pub(crate) fn has(&self, process: usize) -> bool {
        self.0.iter().any(|debt| debt.process == process)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets all: the driver has taken its processes down.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Undoes the evictions of processes that have no queue in view, whose queues for
/// waves are gone while others of theirs wait, and forgets those of processes that
/// have ended.
pub(crate) fn settle(
    node: &Node<'_>,
    debts: &mut Debts,
    in_view: impl Fn(usize) -> bool,
) -> Result<(), Failure> {
    node.ready().map_err(Failure::Away)?;
    restore_all(node, debts, in_view, &mut 0).map_or(Ok(()), Err)
}

/// Stops and starts the processes of queues.
pub(crate) fn transact(node: &Node<'_>, orders: &mut Orders<'_>, debts: &mut Debts) -> Transacted {
    let owed = debts.0.iter().any(|debt| debt.dqm == node.dqm());
    if !owed && matches!(orders, Orders::StartAll { .. }) {
        return Ok(None);
    }
    node.ready().map_err(Failure::Away)?;
    let begin = clock::now();
    let failure = match orders {
        Orders::Each(requests) => each(node, requests, debts),
        Orders::StartAll { started } => restore_all(node, debts, |_| false, started),
        // An eviction leaves nothing off the hardware that it does not owe.
        Orders::PutBack => None,
    };
    match failure {
        Some(failure) => Err(failure),
        None => Ok(Some(Timing {
            unmap: clock::now().since(begin),
            edit: Nanos::ZERO,
            map: Nanos::ZERO,
        })),
    }
}

/// Carries the requests out. Returns the first failure.
fn each(node: &Node<'_>, requests: &mut [Request], debts: &mut Debts) -> Option<Failure> {
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
            Err(other) => failure = failure.or(Some(other)),
        }
    }
    failure
}

/// Undoes every eviction of ours on a node but those that are to be kept, if their
/// processes live. Returns the first failure.
fn restore_all(
    node: &Node<'_>,
    debts: &mut Debts,
    keeps: impl Fn(usize) -> bool,
    started: &mut u64,
) -> Option<Failure> {
    let mut failure = None;
    let mut at = 0;
    while let Some(debt) = debts.0.get(at) {
        let settled = match debt.memory.memory() {
            None => true,
            Some(_) if debt.dqm != node.dqm() || keeps(debt.process) => false,
            Some(memory) => {
                let (paid, failed) = pay(node, debt, &memory);
                *started = started.saturating_add(u64::from(failed.is_none()));
                failure = failure.or(failed);
                paid
            }
        };
        if settled {
            let _ = debts.0.remove(at);
        } else {
            at += 1;
        }
    }
    failure
}

/// A process on a node, kept alive.
struct Kept {
    qpd: Foreign,
    evicted: u32,
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
        refused |= owner.has_reset_queue
            || (queue.kind == QueueKind::Compute && (queue.doomed || queue.gws));
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
fn evict(node: &Node<'_>, process: usize, debts: &mut Debts) -> Result<bool, Failure> {
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
        memory: MemoryHandle::new(&kept.memory),
    };
    let _ = debts.0.push_within_capacity(debt);
    match error {
        0 => Ok(true),
        error => Err(Failure::of_driver(node, error, Failure::Unmap)),
    }
}

/// Undoes our eviction of a process. Returns whether there was one.
fn restore(node: &Node<'_>, process: usize, debts: &mut Debts) -> Result<bool, Failure> {
    let owed = |debt: &Debt| debt.process == process && debt.dqm == node.dqm();
    let Some(at) = debts.0.iter().position(owed) else {
        return Ok(false);
    };
    let (settled, failure) = match debts.0.get(at).map(|debt| (debt, debt.memory.memory())) {
        Some((debt, Some(memory))) => pay(node, debt, &memory),
        // The process is being taken down, with its evictions.
        _ => (true, None),
    };
    if settled {
        let _ = debts.0.remove(at);
    }
    failure.map_or(Ok(true), Err)
}

/// Gives a debt's restore. Returns whether it is settled, which a restore that
/// failed on the way to the hardware or can never work is too, and the failure.
fn pay(node: &Node<'_>, debt: &Debt, memory: &Memory) -> (bool, Option<Failure>) {
    let before = evictions(node, debt);
    // A reset or the driver's own care may have undone all of them.
    if before == 0 {
        return (true, None);
    }
    let error = call(
        node,
        DEVICE_QUEUE_MANAGER_OPS_RESTORE_PROCESS_QUEUES,
        debt.qpd,
        memory,
    );
    match error {
        0 => (true, None),
        error => {
            let settled = evictions(node, debt) < before || is_lost(node, debt, memory);
            let failure = Failure::of_driver(node, error, Failure::Restore);
            (settled, Some(failure))
        }
    }
}

/// Whether no restore can ever work, which is said: without the hardware scheduler
/// the driver gets at the memory of a process by its main thread, which may have
/// ended before the others.
fn is_lost(node: &Node<'_>, debt: &Debt, memory: &Memory) -> bool {
    if node.sched_policy() != Some(SchedPolicy::NoHws) {
        return false;
    }
    let Some((task, mm)) = main_thread(debt, memory) else {
        return false;
    };
    let lost = task.memory(mm).is_none();
    if lost {
        pr_err!(
            "{} node {}: process {} stays stopped: its main thread has ended, and without it this driver cannot start the process again with sched_policy=2; end the process\n",
            node.gpu().device().name().to_str().unwrap_or("?"),
            node.index(),
            task.pid()
        );
    }
    lost
}

/// The main thread of a process, and the address of its memory.
fn main_thread(debt: &Debt, _alive: &Memory) -> Option<(Task, usize)> {
    let pdd = debt.qpd.whole(KFD_PROCESS_DEVICE_QPD)?;
    let process = pdd.pointer(KFD_PROCESS_DEVICE_PROCESS)?;
    let thread = process.pointer(KFD_PROCESS_LEAD_THREAD)?;
    // SAFETY: `_alive` keeps the process, which keeps its main thread.
    let task = unsafe { Task::from_raw(thread.as_ptr()) }?;
    Some((task, process.read(KFD_PROCESS_MM)?))
}

/// How many evictions hold a process whose memory is kept.
fn evictions(node: &Node<'_>, debt: &Debt) -> u32 {
    let _locked = node.lock();
    debt.qpd.read(QCM_PROCESS_DEVICE_EVICTED).unwrap_or(0)
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
