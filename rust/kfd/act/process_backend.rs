// SPDX-License-Identifier: GPL-2.0-only

//! The backend for drivers without the functions that `hws` needs: all queues of
//! a process on a node, by the eviction that the driver has for memory.
//!
//! Evictions are counted by the driver, so that ours goes beside others; each of
//! ours is a debt of exactly one restore, also when the eviction failed.
//!
//! The processes to be evicted are looked up together, in one walk over the queues. A
//! context beside a program's main one is never evicted: it ends with a file and not with
//! the memory of a process, so that nothing here could keep it for the call.

#![forbid(unsafe_code)]

use crate::act::failure::Failure;
use crate::act::transaction::may_look;
use crate::act::transaction::Done;
use crate::act::transaction::Orders;
use crate::act::transaction::Request;
use crate::act::transaction::Timing;
use crate::act::transaction::Transacted;
use crate::act::transaction::Wanted;
use crate::driver::eviction::Evictable;
use crate::driver::eviction::Lodger;
use crate::driver::eviction::Search;
use crate::driver::node::Node;
use crate::driver::node::SchedPolicy;
use crate::kernel::clock;
use crate::kernel::sort::sort_by_key;
use gpreempt_policy::Action;
use gpreempt_policy::Nanos;
use gpreempt_policy::PROCESS_SLOTS;
use kernel::prelude::*;

/// The evictions of ours that are to be undone, on one node, and room to find more.
///
/// # Invariants
///
/// The debts are sorted by process.
pub struct Debts {
    debts: KVVec<Debt>,
    search: Search,
}

/// An eviction of ours that is to be undone.
struct Debt {
    of: Evictable,
    settled: bool,
    /// A queue of its process was in view at the last look.
    in_view: bool,
}

impl Debts {
    /// None, and room for as many as there can be.
    pub fn new() -> Result<Self> {
        Ok(Self {
            debts: KVVec::with_capacity(PROCESS_SLOTS, GFP_KERNEL)?,
            search: Search::new(PROCESS_SLOTS)?,
        })
    }

    /// Whether a process that was in view is evicted by us. [`pay_debts`] has to come
    /// between that look and this question: it forgets the processes that have
    /// ended, whose addresses may be others' now.
    pub(crate) fn has(&self, process: usize) -> bool {
        self.find(process).is_some()
    }

    fn find(&self, process: usize) -> Option<usize> {
        let found = self
            .debts
            .binary_search_by_key(&process, |debt| debt.of.process());
        found.ok()
    }

    /// Notes which processes have queues in view. The queues of one come together, so
    /// that each is looked up once.
    fn see(&mut self, in_view: impl Iterator<Item = usize>) {
        for debt in self.debts.iter_mut() {
            debt.in_view = false;
        }
        let mut last = None;
        for process in in_view {
            if last.replace(process) == Some(process) {
                continue;
            }
            if let Some(debt) = self.find(process).and_then(|at| self.debts.get_mut(at)) {
                debt.in_view = true;
            }
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.debts.is_empty()
    }

    /// Forgets all: the driver has taken its processes down.
    pub fn clear(&mut self) {
        self.debts.clear();
    }

    /// Forgets those that are settled.
    fn sweep(&mut self) {
        self.debts.retain(|debt| !debt.settled);
    }
}

/// Undoes the evictions of processes that have no queue in view, whose queues for
/// waves are gone while others of theirs wait, and forgets those of processes that
/// have ended.
pub(crate) fn pay_debts(
    node: &Node<'_>,
    debts: &mut Debts,
    in_view: impl Iterator<Item = usize>,
) -> Result<(), Failure> {
    node.ready().map_err(Failure::Away)?;
    debts.see(in_view);
    restore_all(node, debts, |debt| debt.in_view, &mut 0).map_or(Ok(()), Err)
}

/// Whether orders may come down to anything.
pub(crate) fn has_to_do(
    node: &Node<'_>,
    orders: &Orders<'_>,
    debts: &Debts,
) -> Result<bool, Failure> {
    let may = match orders.wanted {
        Wanted::StartAll { .. } => debts.debts.iter().any(|debt| debt.of.is_on(node)),
        // A process is stopped as a whole, along with those of its queues that are out of
        // view. Where none is in view, its debt is paid at the next look.
        Wanted::StartBeyond { .. } => false,
        // The driver leaves nothing out for a queue that it knows to be evicted.
        Wanted::CountGws => false,
        Wanted::Each(_) | Wanted::PutBack => true,
    };
    if may {
        may_look(node)??;
    }
    Ok(may)
}

/// Stops and starts the processes of queues.
pub(crate) fn transact(node: &Node<'_>, orders: &mut Orders<'_>, debts: &mut Debts) -> Transacted {
    if !has_to_do(node, orders, debts)? {
        return Ok(None);
    }
    let begin = clock::now();
    let failure = match &mut orders.wanted {
        Wanted::Each(asked) => {
            let requests = &mut *asked.requests;
            match restore_each(node, requests, debts) {
                failure if is_unanswered(failure) => failure,
                failure => graver(failure, evict_each(node, requests, debts)),
            }
        }
        Wanted::StartAll { started } => restore_all(node, debts, |_| false, started),
        // An eviction leaves nothing off the hardware that it does not owe.
        Wanted::StartBeyond { .. } | Wanted::CountGws | Wanted::PutBack => None,
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

/// The requests of each process that are to do something, and were not carried out
/// with those of another queue.
fn of_processes(
    requests: &mut [Request],
    action: Action,
) -> impl Iterator<Item = (usize, &mut [Request])> {
    requests
        .chunk_by_mut(|one, other| one.key.process == other.key.process)
        .filter(move |group| {
            let open = group.iter().all(|request| request.done == Done::Nothing);
            open && group.iter().any(|request| request.action == action)
        })
        .filter_map(|group| Some((group.first()?.key.process, group)))
}

/// Notes that the process of some requests was stopped or started as a whole.
fn carried_out(group: &mut [Request]) {
    for request in group {
        request.done = Done::Yes;
    }
}

/// Undoes our evictions of the processes that are to be started. Returns the gravest
/// failure.
fn restore_each(node: &Node<'_>, requests: &mut [Request], debts: &mut Debts) -> Option<Failure> {
    let mut failure = None;
    for (process, group) in of_processes(requests, Action::Start) {
        let Some(debt) = debts.find(process).and_then(|at| debts.debts.get_mut(at)) else {
            continue;
        };
        if !debt.of.is_on(node) {
            continue;
        }
        // A process that is gone is taken down with its evictions.
        let (settled, failed) = debt
            .of
            .alive(node)
            .map_or((true, None), |lodger| pay(&lodger));
        debt.settled = settled;
        match failed {
            None => carried_out(group),
            Some(_) => failure = graver(failure, failed),
        }
        if is_unanswered(failure) {
            break;
        }
    }
    debts.sweep();
    failure
}

/// Evicts the processes that are to be stopped, unless they are already. Returns the
/// gravest failure.
fn evict_each(node: &Node<'_>, requests: &mut [Request], debts: &mut Debts) -> Option<Failure> {
    let Debts {
        debts: owed,
        search,
    } = debts;
    let owed_before = |process| {
        let found = owed.binary_search_by_key(&process, |debt| debt.of.process());
        found.is_ok()
    };
    let asked = of_processes(requests, Action::Stop).map(|(process, _)| process);
    search.find(node, asked.filter(|&process| !owed_before(process)));
    let mut failure = None;
    for (process, group) in of_processes(requests, Action::Stop) {
        if owed.len() >= owed.capacity() {
            break;
        }
        // What somebody else has evicted will run again: wait for that.
        let Some(lodger) = search.take(node, process).filter(Lodger::is_free) else {
            continue;
        };
        let error = lodger.evict();
        // The driver counts the eviction before it tries, so that it is owed for
        // whatever came of it.
        let _ = owed.push_within_capacity(Debt {
            of: lodger.keep(),
            settled: false,
            in_view: true,
        });
        if error == 0 {
            carried_out(group);
        } else {
            let failed = Failure::of_driver(node, error, Failure::Unmap);
            failure = graver(failure, Some(failed));
        }
        if is_unanswered(failure) {
            break;
        }
    }
    search.clear();
    // INVARIANT: Nothing else adds any.
    sort_by_key(owed, |debt| debt.of.process());
    failure
}

/// Undoes every eviction of ours on a node but those that are to be kept, if their
/// processes live. Returns the gravest failure.
fn restore_all(
    node: &Node<'_>,
    debts: &mut Debts,
    keeps: impl Fn(&Debt) -> bool,
    started: &mut u64,
) -> Option<Failure> {
    let mut failure = None;
    for debt in debts.debts.iter_mut() {
        let kept = !debt.of.is_on(node) || keeps(debt);
        if kept {
            debt.settled = debt.of.is_gone();
        } else if let Some(lodger) = debt.of.alive(node) {
            let (settled, failed) = pay(&lodger);
            *started = started.saturating_add(u64::from(failed.is_none()));
            failure = graver(failure, failed);
            debt.settled = settled;
        } else {
            debt.settled = true;
        }
        if is_unanswered(failure) {
            break;
        }
    }
    debts.sweep();
    failure
}

/// Of the failures of two processes, that which says most: that the firmware does not
/// answer, or else the first.
fn graver(first: Option<Failure>, second: Option<Failure>) -> Option<Failure> {
    match second {
        Some(failure) if failure.is_unanswered() => second,
        _ => first.or(second),
    }
}

/// Whether the firmware has not answered. Whoever asked for the next process would wait
/// for as long.
fn is_unanswered(failure: Option<Failure>) -> bool {
    failure.is_some_and(Failure::is_unanswered)
}

/// Gives a debt's restore. Returns whether it is settled, which a restore that
/// failed on the way to the hardware or can never work is too, and the failure.
fn pay(lodger: &Lodger<'_>) -> (bool, Option<Failure>) {
    let before = lodger.evictions();
    // A reset or the driver's own care may have undone all of them.
    if before == 0 {
        return (true, None);
    }
    match lodger.restore() {
        0 => (true, None),
        error => {
            let settled = lodger.evictions() < before || is_lost(lodger);
            let failure = Failure::of_driver(lodger.node(), error, Failure::Restore);
            (settled, Some(failure))
        }
    }
}

/// Whether no restore can ever work, which is said: without the hardware scheduler
/// the driver gets at the memory of a process by its main thread, which may have
/// ended before the others.
fn is_lost(lodger: &Lodger<'_>) -> bool {
    let node = lodger.node();
    if node.sched_policy() != Some(SchedPolicy::NoHws) {
        return false;
    }
    let Some((task, has_memory)) = lodger.main_thread() else {
        return false;
    };
    if !has_memory {
        pr_err!(
            "{} node {}: process {} stays stopped: its main thread has ended, and without it this driver cannot start the process again with sched_policy=2; end the process\n",
            node.gpu().device().name().to_str().unwrap_or("?"),
            node.index(),
            task.pid()
        );
    }
    !has_memory
}
