// SPDX-License-Identifier: GPL-2.0-only

//! The driver's functions that take one queue out of its hardware queue and put it
//! back, for when the driver itself does so instead of the hardware scheduler.

use crate::driver::due::DueQueue;
use crate::driver::foreign::Foreign;
use crate::driver::layout::*;
use crate::driver::node::Node;
use crate::driver::node::SchedPolicy;
use crate::driver::queue::Format;
use crate::kernel::bindings;

/// How long the driver gives one XCC: its KFD_UNMAP_LATENCY_MS with the default
/// queue_preemption_timeout_ms.
const UNMAP_LATENCY_MS: u32 = 4050;

/// Whether the driver itself moves queues. Beside the hardware scheduler a queue has no
/// hardware queue of its own.
fn driver_moves_queues(node: &Node<'_>) -> bool {
    node.sched_policy() == Some(SchedPolicy::NoHws)
}

/// The driver's manager of compute queue descriptors, where queues may be moved by it.
fn manager(node: &Node<'_>) -> Option<Foreign> {
    if !driver_moves_queues(node) {
        return None;
    }
    let at = usize::try_from(KFD_MQD_TYPE_CP).ok()?;
    if at >= DEVICE_QUEUE_MANAGER_MQD_MGRS_LEN {
        return None;
    }
    node.dqm()
        .pointer(DEVICE_QUEUE_MANAGER_MQD_MGRS + at * size_of::<usize>())
}

impl DueQueue<'_> {
    /// Takes the queue out of its hardware queue. Returns what the driver does.
    pub(crate) fn take_out(&self) -> Option<i32> {
        let queue = self.facts();
        let manager = manager(self.node())?;
        let function = manager.pointer(MQD_MANAGER_DESTROY_MQD)?;
        let mqd = Foreign::new(queue.mqd)?;
        let save = u32::try_from(KFD_PREEMPT_TYPE_WAVEFRONT_SAVE).ok()?;
        // SAFETY: By the type's invariant the queue is on the node's list, so that it,
        // its descriptor and the manager are there; the function is the driver's
        // destroy_mqd, whose type the build compared, called as the driver's own
        // eviction calls it.
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
    pub(crate) fn put_in(&self) -> Option<i32> {
        let queue = self.facts();
        let manager = manager(self.node())?;
        let function = manager.pointer(MQD_MANAGER_LOAD_MQD)?;
        let mqd = Foreign::new(queue.mqd)?;
        let properties = Foreign::new(queue.key.queue)?.part(QUEUE_PROPERTIES)?;
        // SAFETY: As for `take_out`; for compute queues the function does not use
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
    pub(crate) fn put_back_what_is_out(&self) {
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
        let occupied = calls.pointer(KFD2KGD_CALLS_HQD_IS_OCCUPIED)?;
        let load = calls.pointer(KFD2KGD_CALLS_HQD_LOAD)?;
        let mqd = queue.descriptor(at)?;
        // SAFETY: The GPU is there, see `take_out`; the function is the
        // driver's, whose type the build compared.
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
            // SAFETY: As above; called as the driver's load_mqd calls it.
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
