// SPDX-License-Identifier: GPL-2.0-only

//! An unmapping of our own: all queues of a node taken off the hardware by the packets
//! that the driver itself sends for it, without its look at every queue for copies, which
//! reads hundreds of registers while nothing runs.
//!
//! It does what `unmap_queues_cpsch()` does where everything goes well, with the same
//! checks. Whatever else it meets, it leaves the driver's record as it was, so that the
//! driver's own function, called next, takes all queues off once more and recovers.

use crate::{
    driver::{
        driver::Driver, foreign::Foreign, gpu::Away, layout::*, locked::LockedNode, node::Node,
        operation,
    },
    kernel::{bindings, clock},
};
use gpreempt_policy::Nanos;
use kernel::{
    prelude::*,
    sync::atomic::{Atomic, Relaxed},
};

/// An answer that takes a larger part of the driver's own time limit is none to rely on.
/// Saving waves takes milliseconds; the firmware waits for almost half of the limit for
/// somebody who does not yield, which may be a queue for copies that is not looked at here.
const USUAL_PART: u64 = 20;
/// The same where that limit has been raised since the firmware was told of it.
const USUAL_MOST: Nanos = Nanos::from_millis(450);
/// With a short limit, saving waves takes a larger part of it: an answer may take so long,
/// or half of what the firmware waits for somebody who does not yield if that is less.
const USUAL_LEAST: Nanos = Nanos::from_millis(10);

/// How long waves may go on before they are saved: the least that firmware of every
/// version takes for what it says. The driver asks for 0, and then sends 1, or leaves the
/// default, depending on its release and the firmware's.
const GRACE: u32 = 1;

/// The upper half of the numbers in the driver's fence, of which the driver uses small
/// ones alone. The lower half counts the attempts, so that a late answer to an earlier
/// one is taken for none of the driver's, and for no later one of ours.
const FENCE_BEFORE: u64 = 0x6770_7265 << 32;

/// How often an answer was asked for.
static ATTEMPTS: Atomic<u32> = Atomic::new(0);

/// What only the driver's own function deals with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unexpected {
    /// The driver's structures do not fit together.
    Misfit,
    /// A packet could not be sent.
    Unsent,
    /// The firmware has not answered soon.
    Late,
    /// A queue has not yielded.
    Unyielding,
}

impl Unexpected {
    /// Words for the log.
    pub fn why(self) -> &'static str {
        match self {
            Unexpected::Misfit => "the driver's structures do not fit together",
            Unexpected::Unsent => "a packet could not be sent",
            Unexpected::Late => "the firmware has not answered soon",
            Unexpected::Unyielding => "a queue has not yielded",
        }
    }
}

/// Why an unmapping of our own was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GivenUp {
    pub(crate) why: Unexpected,
    /// The firmware may have taken queues off the hardware, or may do so yet.
    pub(crate) sent: bool,
}

/// Why queues were not taken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotUnmapped {
    /// Nothing may be sent now, by the driver's function no more than by us.
    Away(Away),
    /// The driver's function is to be called.
    GivenUp(GivenUp),
}

impl From<Away> for NotUnmapped {
    fn from(away: Away) -> Self {
        Self::Away(away)
    }
}

impl From<Unexpected> for NotUnmapped {
    fn from(why: Unexpected) -> Self {
        Self::GivenUp(GivenUp { why, sent: false })
    }
}

/// The functions, found and bound.
///
/// # Invariants
///
/// The shim's calls go to the driver's functions, whose types were compared. Whoever has
/// this keeps the driver pinned, and nobody else has another.
pub(crate) struct Direct(());

impl Direct {
    /// Finds the functions.
    ///
    /// # Safety
    ///
    /// Nobody has another `Direct`, and the driver stays pinned for as long as this lives.
    pub(crate) unsafe fn bind(driver: &Driver) -> Result<Self> {
        if !driver.has_direct() {
            return Err(ENOEXEC);
        }
        // SAFETY: The driver is pinned by `driver`; no call is under way, because by the
        // function's requirement nobody has a `Direct`.
        kernel::error::to_result(unsafe { bindings::gp_direct_bind() }).inspect_err(|_| {
            pr_warn!("transaction=direct cannot be used with this amdgpu\n");
        })?;
        // INVARIANT: Just compared and bound; the rest is the function's requirement.
        Ok(Self(()))
    }

    /// Takes all queues of a node off the hardware, whose lock is held. `limit_ms` is for
    /// how long the driver would wait.
    pub(crate) fn unmap(&self, locked: &LockedNode<'_>, limit_ms: u32) -> Result<(), NotUnmapped> {
        let node = locked.node();
        node.ready()?;
        let dqm = node.dqm();
        let mapped = dqm.flag(DEVICE_QUEUE_MANAGER_ACTIVE_RUNLIST);
        if !mapped.ok_or(Unexpected::Misfit)? {
            // As for the driver, none is on it.
            return Ok(());
        }
        let scheduler = Scheduler::of(locked).ok_or(Unexpected::Misfit)?;
        // As the driver: a reset has the semaphore and waits for the lock.
        let _no_reset = node.gpu().hardware()?;
        self.configure(scheduler, KFD_DEQUEUE_WAIT_SET_SCH_WAVE, GRACE)?;
        let unmapped = match self.send(scheduler) {
            Ok(()) => self
                .wait(node, scheduler, limit_ms)
                .map_err(|why| GivenUp { why, sent: true }),
            Err(why) => Err(GivenUp { why, sent: false }),
        };
        // The driver's function does this as well, unless it finds nothing to do.
        let reset = self.configure(scheduler, KFD_DEQUEUE_WAIT_RESET, 0);
        unmapped.map_err(NotUnmapped::GivenUp)?;
        reset.map_err(|why| NotUnmapped::GivenUp(GivenUp { why, sent: true }))?;
        // SAFETY: By the invariant of `Node` the packet manager is there, and the lock is
        // held; the firmware has answered after it took all queues off, so that it does
        // not read the run list any more, as where the driver itself frees it.
        unsafe { bindings::gp_direct_release(scheduler.packets.as_ptr()) };
        // SAFETY: By the invariant of `Node` the queue manager is there, the lock that
        // protects the field is held, and the layout says where it is. No queue is on the
        // hardware, which is what it says now.
        unsafe { dqm.write(DEVICE_QUEUE_MANAGER_ACTIVE_RUNLIST, 0u8) };
        Ok(())
    }

    /// Has the firmware take all queues off. After an error it was not asked to.
    fn send(&self, scheduler: Scheduler<'_>) -> Result<(), Unexpected> {
        let filter = u32::try_from(KFD_UNMAP_QUEUES_FILTER_ALL_QUEUES);
        let filter = filter.map_err(|_| Unexpected::Misfit)?;
        // SAFETY: By the type's invariant this calls the driver's function; by that of
        // `Scheduler` the packet manager is there; the caller holds the queue manager's
        // lock, under which packets are sent.
        sent(unsafe { bindings::gp_direct_unmap(scheduler.packets.as_ptr(), filter) })
    }

    /// Waits until it has, and has nothing else to say.
    fn wait(
        &self,
        node: &Node<'_>,
        scheduler: Scheduler<'_>,
        limit_ms: u32,
    ) -> Result<(), Unexpected> {
        let since = clock::now();
        let attempt = ATTEMPTS.fetch_add(1, Relaxed).wrapping_add(1).max(1);
        let after = FENCE_BEFORE | u64::from(attempt);
        // SAFETY: By the type's invariant this calls the driver's function; by that of
        // `Scheduler` the fence is the driver's, which nobody else uses while the caller
        // holds the lock, in memory that the firmware can write at the address.
        let error = unsafe {
            bindings::gp_direct_ask(
                scheduler.packets.as_ptr(),
                scheduler.fence.as_ptr(),
                scheduler.fence_address,
                FENCE_BEFORE,
                after,
            )
        };
        sent(error)?;
        // SAFETY: By the type's invariant this calls the driver's function; by that of
        // `Node` the queue manager is there, and the caller holds the lock.
        let error = unsafe { bindings::gp_direct_wait(node.dqm().as_ptr(), after, limit_ms) };
        if error != 0 {
            return Err(Unexpected::Late);
        }
        // Asked in each case, so that the driver does not take it for something new.
        // SAFETY: By the invariant of `Scheduler` the function is the driver's, and
        // manager and descriptor are those of the scheduler's own queue.
        let unyielding = unsafe {
            bindings::gp_call_check_preemption_failed(
                scheduler.check.as_ptr(),
                scheduler.manager.as_ptr(),
                scheduler.descriptor.as_ptr(),
            )
        };
        if unyielding {
            return Err(Unexpected::Unyielding);
        }
        if clock::now().since(since) > usual(Nanos::from_millis(limit_ms)) {
            return Err(Unexpected::Late);
        }
        Ok(())
    }

    /// Has the firmware change how long waves may go on, or put it back.
    fn configure(
        &self,
        scheduler: Scheduler<'_>,
        command: i64,
        value: u32,
    ) -> Result<(), Unexpected> {
        let command = u32::try_from(command).map_err(|_| Unexpected::Misfit)?;
        // SAFETY: By the type's invariant this calls the driver's function; by that of
        // `Scheduler` the packet manager is there, and the caller holds the lock.
        let error =
            unsafe { bindings::gp_direct_configure(scheduler.packets.as_ptr(), command, value) };
        sent(error)
    }
}

/// How long an answer may take, if the driver would wait for so long.
fn usual(limit: Nanos) -> Nanos {
    let least = USUAL_LEAST.min(Nanos(limit.0 / 4));
    Nanos(limit.0 / USUAL_PART).min(USUAL_MOST).max(least)
}

impl Drop for Direct {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant bound, and for nobody else; a call borrows
        // `self`, so that none is under way.
        unsafe { bindings::gp_direct_unbind() }
    }
}

fn sent(error: i32) -> Result<(), Unexpected> {
    match error {
        0 => Ok(()),
        _ => Err(Unexpected::Unsent),
    }
}

/// What the driver keeps of the hardware scheduler of a node.
///
/// # Invariants
///
/// All are the driver's and of one node, whose lock is held for the lifetime, without which
/// the driver frees them: its packet manager; its fence, seen from here and from the
/// firmware; the manager and the descriptor of the scheduler's own queue, and the function
/// that looks into it.
#[derive(Clone, Copy)]
struct Scheduler<'a> {
    packets: Foreign,
    fence: Foreign,
    fence_address: u64,
    manager: Foreign,
    descriptor: Foreign,
    check: operation::Function<'a>,
}

impl<'a> Scheduler<'a> {
    fn of(locked: &'a LockedNode<'_>) -> Option<Self> {
        let node = locked.node();
        let dqm = node.dqm();
        let queue = dqm
            .pointer(DEVICE_QUEUE_MANAGER_PACKET_MGR_PRIV_QUEUE.get()?)?
            .pointer(KERNEL_QUEUE_QUEUE.get()?)?;
        let manager = manager(node)?;
        // INVARIANT: Read under the lock where the layout says that they are; the function
        // is one of the operation's.
        Some(Self {
            packets: dqm.part(DEVICE_QUEUE_MANAGER_PACKET_MGR)?,
            fence: dqm.pointer(DEVICE_QUEUE_MANAGER_FENCE_ADDR.get()?)?,
            fence_address: dqm.read(DEVICE_QUEUE_MANAGER_FENCE_GPU_ADDR.get()?)?,
            manager,
            descriptor: queue.pointer(QUEUE_MQD)?,
            check: operation::CHECK_PREEMPTION_FAILED.of(manager, node.gpu())?,
        })
    }
}

/// The driver's manager of the descriptor of the scheduler's own queue.
fn manager(node: &Node<'_>) -> Option<Foreign> {
    node.descriptor_manager(KFD_MQD_TYPE_HIQ)
}

/// Whether the driver has on a node what an unmapping of our own needs, as far as that does
/// not come and go with the scheduler.
pub(crate) fn is_possible(node: &Node<'_>) -> bool {
    let manager = manager(node);
    manager.is_some_and(|manager| {
        let check = operation::CHECK_PREEMPTION_FAILED.of(manager, node.gpu());
        check.is_some()
    })
}
