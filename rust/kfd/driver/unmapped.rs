// SPDX-License-Identifier: GPL-2.0-only

//! The driver's two functions that take all queues of a node off the hardware, under
//! the queue manager's lock, and put back those that are active.

use crate::driver::check;
use crate::driver::driver::Driver;
use crate::driver::locked::LockedNode;
use crate::driver::node::Node;
use crate::kernel::bindings;
use core::ops::Deref;
use kernel::prelude::*;

/// The functions, found and bound.
///
/// # Invariants
///
/// The shim's calls go to the driver's functions, and the driver is pinned for
/// as long as this lives.
pub(crate) struct Functions(());

impl Functions {
    /// Finds the functions. The driver has to outlive the result, which the
    /// module sees to by dropping it first.
    pub(crate) fn bind(_driver: &Driver) -> Result<Self> {
        // SAFETY: Process context; the driver is pinned.
        kernel::error::to_result(unsafe { bindings::gp_hws_bind() })?;
        // INVARIANT: Just bound.
        Ok(Self(()))
    }

    /// Takes all queues of a node off the hardware. The error is the driver's.
    pub(crate) fn unmap<'a>(&'a self, node: &'a Node<'a>) -> Result<Unmapped<'a>, i32> {
        if !check::lock_is_taken(node) {
            return Err(ENOTSUPP.to_errno());
        }
        // SAFETY: By the type's invariant this calls the driver's function, by that of
        // `Node` the queue manager is there, and the GPU is of a kind for which the
        // function takes the lock.
        let error = unsafe { bindings::gp_hws_lock_and_unmap(node.dqm().as_ptr()) };
        if error != 0 {
            return Err(error);
        }
        // INVARIANT: The function has returned 0.
        Ok(Unmapped {
            // SAFETY: The lock is held until `map` or `drop`, which take the only one.
            locked: unsafe { LockedNode::assume(node) },
            _functions: self,
        })
    }
}

impl Drop for Functions {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant bound; a call borrows `self`, so that
        // none is under way.
        unsafe { bindings::gp_hws_unbind() }
    }
}

/// All queues of a node taken off the hardware, and its lock held.
///
/// # Invariants
///
/// The driver's debug_lock_and_unmap has returned 0 for the node, so that this
/// thread holds the lock until debug_map_and_unlock.
#[must_use = "the queues are put back at once"]
pub(crate) struct Unmapped<'a> {
    locked: LockedNode<'a>,
    _functions: &'a Functions,
}

impl<'a> Deref for Unmapped<'a> {
    type Target = LockedNode<'a>;

    fn deref(&self) -> &LockedNode<'a> {
        &self.locked
    }
}

impl Unmapped<'_> {
    /// Puts the active queues back and releases the lock. Returns what the driver
    /// does.
    pub(crate) fn map(self) -> i32 {
        let dqm = self.node().dqm();
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
        unsafe { bindings::gp_hws_map_and_unlock(self.node().dqm().as_ptr()) };
    }
}
