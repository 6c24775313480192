// SPDX-License-Identifier: GPL-2.0-only

//! The driver's functions that take one queue out of its hardware queue and put it
//! back, for when the driver itself does so instead of the hardware scheduler.

use crate::{
    driver::{
        census::Census,
        due::DueQueue,
        foreign::Foreign,
        layout::*,
        node::{Node, SchedPolicy},
        operation,
        queue::Format,
    },
    kernel::bindings,
};
use gpreempt_policy::Action;
use kernel::prelude::*;

/// How long the driver gives one XCC: its KFD_UNMAP_LATENCY_MS with the default
/// queue_preemption_timeout_ms.
const UNMAP_LATENCY_MS: u32 = 4050;

/// Whether the driver itself moves queues. Beside the hardware scheduler a queue has no
/// hardware queue of its own.
fn driver_moves_queues(node: &Node<'_>) -> bool {
    node.sched_policy() == Some(SchedPolicy::NoHws)
}

/// The driver's manager of compute queue descriptors, where queues may be moved by it.
pub(crate) fn manager(node: &Node<'_>) -> Option<Foreign> {
    if !driver_moves_queues(node) {
        return None;
    }
    node.descriptor_manager(KFD_MQD_TYPE_CP)
}

impl DueQueue<'_> {
    /// Takes the queue out of its hardware queue or puts it back, as is due, and sets its
    /// flag and the counters when that has worked. An error is the driver's.
    pub(crate) fn carry_out(self, expected: &mut Census) -> Result<(), i32> {
        let moved = match self.action() {
            Action::Stop => self.take_out(),
            Action::Start => self.put_in(),
        };
        let error = moved.unwrap_or(EFAULT.to_errno());
        if error == 0 {
            // SAFETY: The driver has just moved the queue as its flag is going to say.
            unsafe { self.set_active(expected) };
            return Ok(());
        }
        if self.action() == Action::Stop {
            self.put_back_what_is_out();
        }
        Err(error)
    }

    /// Takes the queue out of its hardware queue. Returns what the driver does.
    fn take_out(&self) -> Option<i32> {
        let queue = self.facts();
        let manager = manager(self.node())?;
        let function = operation::DESTROY_MQD.of(manager, self.node().gpu())?;
        let mqd = Foreign::new(queue.mqd)?;
        let save = u32::try_from(KFD_PREEMPT_TYPE_WAVEFRONT_SAVE).ok()?;
        // SAFETY: By the type's invariant the queue is on the node's list and the lock is
        // held, so that it, its descriptor and the manager are there; by that of
        // `Function` this is the driver's destroy_mqd, called as its own eviction does.
        Some(unsafe {
            bindings::gp_call_destroy_mqd(
                function.as_ptr(),
                manager.as_ptr(),
                mqd.as_ptr(),
                save,
                UNMAP_LATENCY_MS,
                queue.pipe,
                queue.slot,
            )
        })
    }

    /// Puts the queue into its hardware queue. Returns what the driver does.
    fn put_in(&self) -> Option<i32> {
        let queue = self.facts();
        let manager = manager(self.node())?;
        let function = operation::LOAD_MQD.of(manager, self.node().gpu())?;
        let mqd = Foreign::new(queue.mqd)?;
        let properties = Foreign::new(queue.key.queue)?.part(QUEUE_PROPERTIES)?;
        // SAFETY: By the type's invariant the queue is on the node's list and the lock is
        // held, so that it, its descriptor and the manager are there; by that of
        // `Function` this is the driver's load_mqd, which for compute queues does not use
        // the process's memory, which is not given.
        Some(unsafe {
            bindings::gp_call_load_mqd(
                function.as_ptr(),
                manager.as_ptr(),
                mqd.as_ptr(),
                queue.pipe,
                queue.slot,
                properties.as_ptr(),
                core::ptr::null_mut(),
            )
        })
    }

    /// After the queue could not be taken off all its XCCs: puts it back on those that
    /// it is off.
    fn put_back_what_is_out(&self) {
        let xccs = self.node().xcc_mask();
        let xccs = (0..u32::BITS).filter(|xcc| xccs & (1 << xcc) != 0);
        for (at, xcc) in xccs.enumerate() {
            if self.put_back_if_out(at, xcc).is_none() {
                return;
            }
        }
    }

    /// Puts the queue back on an XCC, which is the one at a place among the node's,
    /// unless it is there.
    fn put_back_if_out(&self, at: usize, xcc: u32) -> Option<()> {
        let (node, queue) = (self.node(), self.facts());
        if !driver_moves_queues(node) {
            return None;
        }
        let calls = node.address().pointer(KFD_NODE_KFD2KGD)?;
        let occupied = operation::HQD_IS_OCCUPIED.of(calls, node.gpu())?;
        let load = operation::HQD_LOAD.of(calls, node.gpu())?;
        let mqd = queue.descriptor(at)?;
        // SAFETY: By the invariant of `Node` the GPU is there; by that of `Function` this
        // is the driver's hqd_is_occupied, and the XCC is one of the node's.
        let there = unsafe {
            bindings::gp_call_hqd_is_occupied(
                occupied.as_ptr(),
                node.gpu().adev().as_ptr(),
                queue.key.ring,
                queue.pipe,
                queue.slot,
                xcc,
            )
        };
        if !there {
            let shift = if queue.format == Format::Aql { 4 } else { 0 };
            // SAFETY: By the invariant of `Node` the GPU is there, and by the type's own
            // the queue with its descriptor; by that of `Function` this is the driver's
            // hqd_load, called as its load_mqd calls it.
            unsafe {
                bindings::gp_call_hqd_load(
                    load.as_ptr(),
                    node.gpu().adev().as_ptr(),
                    mqd.as_ptr(),
                    queue.pipe,
                    queue.slot,
                    queue.key.write_pointer,
                    shift,
                    xcc,
                )
            };
        }
        Some(())
    }
}
