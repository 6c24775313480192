// SPDX-License-Identifier: GPL-2.0-only

//! The driver's two functions that take all queues of a node off the hardware, under
//! the queue manager's lock, and put back those that are active. The first may be
//! replaced by an unmapping of our own (`direct.rs`).

use crate::{
    driver::{
        census::Census,
        check,
        direct::{Direct, NotUnmapped, Unexpected},
        driver::Driver,
        due::{Due, Room},
        locked::LockedNode,
        node::Node,
        queue::QueueFacts,
    },
    kernel::{bindings, owner::Owner},
};
use core::ops::Deref;
use gpreempt_policy::Action;
use kernel::{prelude::*, sync::atomic::Atomic};

/// The functions, found and bound.
///
/// # Invariants
///
/// The shim's calls go to the driver's functions, and the driver is pinned for
/// as long as this lives.
pub(crate) struct Functions {
    /// Those for an unmapping of our own, if the driver has them as they are expected.
    direct: Option<Direct>,
    _owner: Owner,
    driver: Driver,
}

/// Whether somebody owns the shim's room for one pair of functions.
static OWNED: Atomic<bool> = Atomic::new(false);

impl Functions {
    /// Finds the functions, unless somebody has them already.
    pub(crate) fn bind(driver: &Driver) -> Result<Self> {
        let owner = Owner::of(&OWNED)?;
        let driver = driver.clone();
        // SAFETY: The driver is pinned by `driver`; no call is under way, because whoever
        // may call has the `Owner` of `OWNED`, which is this one.
        kernel::error::to_result(unsafe { bindings::gp_hws_bind() })?;
        // SAFETY: Whoever has a `Direct` has the `Owner` of `OWNED`, which is this one; the
        // driver is kept for longer, since fields are dropped in their order.
        let direct = unsafe { Direct::bind(&driver) }.ok();
        // INVARIANT: Just bound, and the driver is kept.
        Ok(Self {
            direct,
            _owner: owner,
            driver,
        })
    }

    /// Whether the driver has what an unmapping of our own needs.
    pub(crate) fn has_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// Takes all queues of a node off the hardware by an unmapping of our own. Where that
    /// is given up, the lock is released, and the driver's own is to follow.
    pub(crate) fn unmap_directly<'a>(
        &'a self,
        node: &'a Node<'a>,
    ) -> Result<Unmapped<'a>, NotUnmapped> {
        let direct = self.direct.as_ref().ok_or(Unexpected::Misfit)?;
        if !check::lock_is_taken(node) {
            return Err(Unexpected::Misfit.into());
        }
        let lock = node.lock();
        direct.unmap(&lock, self.driver.preemption_limit_ms())?;
        // INVARIANT: All queues are off the hardware and the lock is held, which the
        // driver's debug_map_and_unlock releases on this GPU, as was just asked.
        Ok(Unmapped {
            locked: lock.into_locked(),
            _functions: self,
        })
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
        // SAFETY: By the type's invariant bound, for nobody else, because the owner is
        // dropped after this; a call borrows `self`, so that none is under way.
        unsafe { bindings::gp_hws_unbind() }
    }
}

/// What is to be done to queues that are off the hardware.
///
/// # Invariants
///
/// It was found under the lock of an `Unmapped`, which is borrowed.
pub(crate) struct DueUnmapped<'u>(Due<'u>);

impl DueUnmapped<'_> {
    /// The node, whose lock is held.
    pub(crate) fn locked(&self) -> &LockedNode<'_> {
        self.0.locked()
    }

    /// What the walk has counted.
    pub(crate) fn census(&self) -> &Census {
        self.0.census()
    }

    /// Whether there was no room for all, though for some.
    pub(crate) fn more(&self) -> bool {
        self.0.more()
    }

    /// Whether anything is to be started.
    pub(crate) fn starts_any(&self) -> bool {
        self.0.starts_any()
    }

    /// Sets the flags and the counters, and what is now expected of these. Calls a
    /// function for each queue that is stopped or started, as it was before.
    pub(crate) fn carry_out(self, expected: &mut Census, mut done: impl FnMut(&QueueFacts)) {
        for queue in self.0.into_queues() {
            if queue.facts().uncounted_gws {
                // SAFETY: By the type's invariant all queues of the node are off the
                // hardware until `Unmapped` has the driver put back those that are flagged.
                unsafe { queue.count_gws() };
                continue;
            }
            done(queue.facts());
            // SAFETY: By the type's invariant all queues of the node are off the hardware
            // until `Unmapped` has the driver put back those that are flagged.
            unsafe { queue.set_active(expected) };
        }
    }
}

/// All queues of a node taken off the hardware, and its lock held.
///
/// # Invariants
///
/// The driver's debug_lock_and_unmap has returned 0 for the node, or the same was done
/// directly under the lock that it takes, so that this thread holds the lock until
/// debug_map_and_unlock.
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
    /// Walks over all queues, once, and notes those that something is to be done to,
    /// as far as there is room.
    pub(crate) fn find<'u>(
        &'u mut self,
        room: &'u mut Room,
        wanted: impl FnMut(&QueueFacts) -> Option<Action>,
    ) -> DueUnmapped<'u> {
        // INVARIANT: The lock is that of `self`.
        DueUnmapped(self.locked.find(room, wanted))
    }

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
