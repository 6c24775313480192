// SPDX-License-Identifier: GPL-2.0-only

//! A node: a GPU or a partition of one, with a queue manager of its own.

use crate::driver::foreign::Foreign;
use crate::driver::gpu::Away;
use crate::driver::gpu::Present;
use crate::driver::layout::*;
use crate::driver::locked::LockedNode;
use crate::driver::locked::QueueManagerLock;
use crate::kernel::bindings;

/// How the driver hands queues to the hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedPolicy {
    /// By the hardware scheduler.
    Hws,
    /// By the hardware scheduler, with no more queues than it has places for.
    HwsNoOversubscription,
    /// By itself.
    NoHws,
}

/// A node, for as long as the GPU's partitions cannot change.
///
/// # Invariants
///
/// `address` is a `struct kfd_node` of `gpu`, `dqm` its queue manager, and both
/// stay where they are for the lifetime.
pub struct Node<'a> {
    gpu: &'a Present<'a>,
    kfd: Foreign,
    address: Foreign,
    dqm: Foreign,
    index: usize,
}

impl<'a> Node<'a> {
    /// The node at an address, if what it says of itself is true.
    ///
    /// The caller holds the lock against a change of partitions.
    pub(crate) fn new(
        gpu: &'a Present<'a>,
        kfd: Foreign,
        address: Foreign,
        index: usize,
    ) -> Option<Self> {
        let number = address.read::<u32>(KFD_NODE_NODE_ID)?;
        let dqm = address.pointer(KFD_NODE_DQM)?;
        let fits = address.pointer(KFD_NODE_KFD) == Some(kfd)
            && address.pointer(KFD_NODE_ADEV) == Some(gpu.adev())
            && usize::try_from(number) == Ok(index)
            && dqm.pointer(DEVICE_QUEUE_MANAGER_DEV) == Some(address);
        // INVARIANT: Node and queue manager name each other and their GPU.
        fits.then_some(Self {
            gpu,
            kfd,
            address,
            dqm,
            index,
        })
    }

    /// Its place in the GPU.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The GPU.
    pub fn gpu(&self) -> &Present<'a> {
        self.gpu
    }

    /// KFD's number of it.
    pub fn gpu_id(&self) -> u32 {
        self.address.read(KFD_NODE_ID).unwrap_or(0)
    }

    /// Its XCCs, as bits of the GPU's.
    pub(crate) fn xcc_mask(&self) -> u32 {
        self.address.read(KFD_NODE_XCC_MASK).unwrap_or(0)
    }

    pub(crate) fn kfd(&self) -> Foreign {
        self.kfd
    }

    pub(crate) fn address(&self) -> Foreign {
        self.address
    }

    pub(crate) fn dqm(&self) -> Foreign {
        self.dqm
    }

    /// How the driver hands its queues to the hardware.
    pub fn sched_policy(&self) -> Option<SchedPolicy> {
        let policy = i64::from(self.dqm.read::<u32>(DEVICE_QUEUE_MANAGER_SCHED_POLICY)?);
        match policy {
            KFD_SCHED_POLICY_HWS => Some(SchedPolicy::Hws),
            KFD_SCHED_POLICY_HWS_NO_OVERSUBSCRIPTION => Some(SchedPolicy::HwsNoOversubscription),
            KFD_SCHED_POLICY_NO_HWS => Some(SchedPolicy::NoHws),
            _ => None,
        }
    }

    /// Whether a transaction may be tried: the GPU is usable and the hardware
    /// scheduler neither halted nor hung.
    pub fn ready(&self) -> Result<(), Away> {
        self.gpu.usable()?;
        let flag = |at| self.dqm.flag(at).ok_or(Away::Misfit);
        if flag(DEVICE_QUEUE_MANAGER_IS_HWS_HANG)? || flag(DEVICE_QUEUE_MANAGER_IS_RESETTING)? {
            return Err(Away::Reset);
        }
        if !flag(DEVICE_QUEUE_MANAGER_SCHED_RUNNING)? || flag(DEVICE_QUEUE_MANAGER_SCHED_HALT)? {
            return Err(Away::Halted);
        }
        Ok(())
    }

    /// Takes the lock of the queue manager.
    ///
    /// Until it is released: no user memory, no allocation, no other lock of
    /// the driver or of a process.
    pub fn lock(&self) -> QueueManagerLock<'_> {
        let lock = self.dqm.as_ptr::<u8>();
        // SAFETY: By the type's invariant the queue manager is there; the layout
        // says where its mutex, whose size the shim has compared, and its saved
        // flags are.
        unsafe {
            bindings::gp_dqm_lock(
                lock.wrapping_add(DEVICE_QUEUE_MANAGER_LOCK_HIDDEN).cast(),
                lock.wrapping_add(DEVICE_QUEUE_MANAGER_SAVED_FLAGS).cast(),
            )
        };
        // SAFETY: The lock was just taken.
        QueueManagerLock::new(unsafe { LockedNode::assume(self) })
    }
}
