// SPDX-License-Identifier: GPL-2.0-only

//! The backend for `amdgpu.sched_policy=2`, where the driver itself puts queues
//! into the hardware: each queue by itself, the others undisturbed.
//!
//! Experimental, as that mode of the driver is. That a queue on several XCCs may
//! be taken off one XCC after the other is an assumption.

use crate::act::descriptor::descriptor;
use crate::act::transaction::report_misfit;
use crate::act::transaction::Done;
use crate::act::transaction::Failure;
use crate::act::transaction::Orders;
use crate::act::transaction::Timing;
use crate::act::transaction::Transacted;
use crate::driver::foreign::Foreign;
use crate::driver::layout::*;
use crate::driver::locked::LockedNode;
use crate::driver::node::Node;
use crate::driver::queue::Format;
use crate::driver::queue::ProcessFacts;
use crate::driver::queue::QueueFacts;
use crate::kernel::bindings;
use crate::kernel::clock;
use gpreempt_policy::Action;
use gpreempt_policy::Nanos;
use kernel::prelude::*;

/// How long the driver gives one XCC: its KFD_UNMAP_LATENCY_MS with the default
/// queue_preemption_timeout_ms.
const UNMAP_LATENCY_MS: u32 = 4050;

/// Stops and starts queues.
pub(crate) fn transact(node: &Node<'_>, orders: &mut Orders<'_>) -> Transacted {
    if orders.due_on(node)?.is_none() {
        return Ok(None);
    }
    let begin = clock::now();
    let locked = node.lock();
    let edit = clock::now();
    let census = locked.census();
    if !census.fits() {
        return Err(Failure::Misfit);
    }
    let mut failure = None;
    locked.walk(|process, queue| {
        // After a failure nothing more is stopped; what can be started is.
        let action = orders.due(queue);
        let Some(action) = action.filter(|&to| failure.is_none() || to == Action::Start) else {
            return;
        };
        match move_queue(&locked, process, queue, action) {
            Ok(()) => orders.note(queue, Done::Yes),
            Err(error) => failure = failure.or(Some(error)),
        }
    });
    let census = locked.census();
    let map = clock::now();
    drop(locked);
    if !census.fits() {
        report_misfit(node.gpu(), node.index(), &census, "after an edit");
        return Err(Failure::Inexact);
    }
    match failure {
        Some(error) => Err(Failure::of_driver(node, error, Failure::Single)),
        None => Ok(Some(Timing {
            unmap: edit.since(begin),
            edit: map.since(edit),
            map: Nanos::ZERO,
        })),
    }
}

/// Takes a queue out of its hardware queue, or puts it back, and sets its flag
/// and the counters when that has worked. An error is the driver's.
fn move_queue(
    locked: &LockedNode<'_>,
    process: &ProcessFacts,
    queue: &QueueFacts,
    action: Action,
) -> Result<(), i32> {
    let error = match action {
        Action::Stop => take_out(locked.node(), queue),
        Action::Start => put_in(locked.node(), queue),
    }
    .unwrap_or(EFAULT.to_errno());
    if error == 0 {
        locked.set_active(process, queue, action == Action::Start);
        return Ok(());
    }
    if action == Action::Stop {
        put_back_what_is_out(locked.node(), queue);
    }
    Err(error)
}

/// The driver's manager of compute queue descriptors.
fn manager(node: &Node<'_>) -> Option<Foreign> {
    let at = usize::try_from(KFD_MQD_TYPE_CP).ok()?;
    if at >= DEVICE_QUEUE_MANAGER_MQD_MGRS_LEN {
        return None;
    }
    node.dqm()
        .pointer(DEVICE_QUEUE_MANAGER_MQD_MGRS + at * size_of::<usize>())
}

fn take_out(node: &Node<'_>, queue: &QueueFacts) -> Option<i32> {
    let manager = manager(node)?;
    let function = manager.pointer(MQD_MANAGER_DESTROY_MQD)?;
    let mqd = Foreign::new(queue.mqd)?;
    let save = u32::try_from(KFD_PREEMPT_TYPE_WAVEFRONT_SAVE).ok()?;
    // SAFETY: The walk under the lock has just met the queue, so that it, its
    // descriptor and the manager are there; the function is the driver's
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

fn put_in(node: &Node<'_>, queue: &QueueFacts) -> Option<i32> {
    let manager = manager(node)?;
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

/// After a queue could not be taken off all its XCCs: puts it back on those that
/// it is off.
fn put_back_what_is_out(node: &Node<'_>, queue: &QueueFacts) {
    let put_back = || {
        let calls = node.address().pointer(KFD_NODE_KFD2KGD)?;
        let occupied = calls.pointer(KFD2KGD_CALLS_HQD_IS_OCCUPIED)?;
        let load = calls.pointer(KFD2KGD_CALLS_HQD_LOAD)?;
        let xccs = (0..u32::BITS).filter(|xcc| node.xcc_mask() & (1 << xcc) != 0);
        for (at, xcc) in xccs.enumerate() {
            let mqd = descriptor(queue, at)?;
            // SAFETY: The GPU is there, see `take_out`; the function is the
            // driver's, whose type the build compared.
            let there = unsafe {
                bindings::gp_call_hqd_is_occupied(
                    occupied.as_ptr(),
                    node.gpu().adev().as_ptr(),
                    queue.ring,
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
                        queue.write_pointer_address,
                        shift,
                        xcc,
                    )
                };
            }
        }
        Some(())
    };
    let _ = put_back();
}
