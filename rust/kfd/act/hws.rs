// SPDX-License-Identifier: GPL-2.0-only

//! The backend for the hardware scheduler.
//!
//! The driver offers no way to take a single queue off the hardware. It can take
//! all off, under the queue manager's lock, and put back those that it has
//! flagged as active. Between the two we change the flags. The flag alone says
//! that a queue is stopped by us; every event of the driver's own, an eviction,
//! a debugger, a change of the queue, computes it anew from other fields, and so
//! sets the queue running again: nothing can be left stopped by a race.

use crate::act::descriptor::saved_nothing;
use crate::act::transaction::report_misfit;
use crate::act::transaction::Done;
use crate::act::transaction::Failure;
use crate::act::transaction::Orders;
use crate::act::transaction::Timing;
use crate::act::transaction::Transacted;
use crate::driver::check;
use crate::driver::locked::LockedNode;
use crate::driver::node::Node;
use crate::kernel::bindings;
use crate::kernel::clock;
use gpreempt_policy::Action;
use gpreempt_policy::FailureKind;
use kernel::prelude::*;

/// The two functions of the driver that the backend needs, found and bound.
///
/// # Invariants
///
/// The shim's calls go to the driver's functions, and the driver is pinned for
/// as long as this lives.
pub struct Hws(());

impl Hws {
    /// Finds the functions. The driver has to outlive the result, which the
    /// module sees to by dropping it first.
    pub fn bind(_driver: &crate::driver::driver::Driver) -> Result<Self> {
        // SAFETY: Process context; the driver is pinned.
        kernel::error::to_result(unsafe { bindings::gp_hws_bind() })?;
        // INVARIANT: Just bound.
        Ok(Self(()))
    }

    /// Stops and starts queues in one transaction.
    pub fn transact(&self, node: &Node<'_>, orders: &mut Orders<'_>) -> Transacted {
        // A transaction disturbs every queue of the node: look first whether
        // there is anything to do, and whether it could be done.
        match orders.due_on(node)? {
            None => return Ok(None),
            Some(census) if census.fits() => {}
            // Putting back edits nothing.
            Some(_) if matches!(orders, Orders::PutBack) => {}
            Some(_) => return Err(Failure::Misfit),
        }
        let begin = clock::now();
        let unmapped = Unmapped::new(node)?;
        let edit = clock::now();
        let mut when = "before an edit";
        let mut census = unmapped.node.census();
        if census.fits() {
            unmapped.edit(orders);
            when = "after an edit";
            census = unmapped.node.census();
        }
        let map = clock::now();
        let mapped = unmapped.map();
        let end = clock::now();
        if !census.fits() {
            report_misfit(node.gpu(), node.index(), &census, when);
        }
        if mapped != 0 {
            let failure = Failure::of_driver(node, mapped, Failure::Map);
            let rebuilt = failure.kind() == FailureKind::Rebuilt;
            if rebuilt || !map_again(node) {
                return Err(failure);
            }
        }
        if !census.fits() {
            return Err(Failure::Inexact);
        }
        note_idle(node, orders);
        Ok(Some(Timing {
            unmap: edit.since(begin),
            edit: map.since(edit),
            map: end.since(map),
        }))
    }
}

impl Drop for Hws {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant bound; a call borrows `self`, so that
        // none is under way.
        unsafe { bindings::gp_hws_unbind() }
    }
}

/// After putting the queues back has failed, none of the node's runs: tries once
/// more, and says whether it worked.
fn map_again(node: &Node<'_>) -> bool {
    let unmapped = node
        .ready()
        .map_err(Failure::Away)
        .and_then(|()| Unmapped::new(node));
    unmapped.is_ok_and(|unmapped| unmapped.map() == 0)
}

/// Notes which of the queues that were stopped had nothing to save. Descriptors are
/// slow to read, so that it is asked when the others run again.
fn note_idle(node: &Node<'_>, orders: &mut Orders<'_>) {
    if !orders.stopped_any() {
        return;
    }
    node.lock().walk(|_, queue| {
        if let Some(request) = orders.that_stopped(queue) {
            if saved_nothing(queue, node) {
                request.done = Done::StoppedIdle;
            }
        }
    });
}

/// All queues of a node taken off the hardware, and its lock held.
///
/// # Invariants
///
/// The driver's debug_lock_and_unmap has returned 0 for the node, so that this
/// thread holds the lock until debug_map_and_unlock.
struct Unmapped<'a> {
    node: LockedNode<'a>,
}

impl<'a> Unmapped<'a> {
    fn new(node: &'a Node<'a>) -> Result<Self, Failure> {
        if !check::lock_is_taken(node) {
            return Err(Failure::Unmap(ENOTSUPP.to_errno().unsigned_abs()));
        }
        // SAFETY: By the invariant of `Node` the queue manager is there, and
        // the GPU is of a kind for which the function takes the lock.
        let error = unsafe { bindings::gp_hws_lock_and_unmap(node.dqm().as_ptr()) };
        if error != 0 {
            return Err(Failure::of_driver(node, error, Failure::Unmap));
        }
        // INVARIANT: The function has returned 0.
        Ok(Self {
            // SAFETY: The lock is held until `drop`.
            node: unsafe { LockedNode::assume(node) },
        })
    }

    /// Makes the changes. No allocation, no early return, nothing that panics.
    fn edit(&self, orders: &mut Orders<'_>) {
        self.node.walk(|process, queue| {
            let Some(action) = orders.due(queue) else {
                return;
            };
            orders.note(queue, Done::Yes);
            self.node
                .set_active(process, queue, action == Action::Start);
        });
    }

    /// Puts the active queues back and releases the lock. Returns what the driver
    /// does.
    fn map(self) -> i32 {
        let dqm = self.node.node().dqm();
        core::mem::forget(self);
        // SAFETY: By the type's invariant this thread holds the lock; `self` is
        // forgotten, so that this is the only release.
        unsafe { bindings::gp_hws_map_and_unlock(dqm.as_ptr()) }
    }
}

impl Drop for Unmapped<'_> {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant this thread holds the lock, and
        // `map` was not called.
        unsafe { bindings::gp_hws_map_and_unlock(self.node.node().dqm().as_ptr()) };
    }
}
