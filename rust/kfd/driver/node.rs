// SPDX-License-Identifier: GPL-2.0-only

//! The nodes of a GPU: it or its partitions, each with a queue manager of its own.

use crate::driver::{
    foreign::Foreign,
    gpu::{Away, Present, MAX_NODES},
    layout::*,
    partitions::{Kept, PartitionLock},
};

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
    /// The caller keeps the nodes as they are.
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

    /// How often KFD has stopped and started it anew because the GPU was reset.
    ///
    /// The GPU's own count of resets goes up when one ring was reset as well, which leaves
    /// KFD's queues and its firmware as they are.
    pub fn resets(&self) -> Option<u32> {
        self.address.read(KFD_NODE_RESET_SEQ_NUM)
    }

    /// Its name while the GPU is divided as it is: an address, to be compared only.
    pub fn name(&self) -> usize {
        self.address.address()
    }

    pub(crate) fn address(&self) -> Foreign {
        self.address
    }

    pub(crate) fn dqm(&self) -> Foreign {
        self.dqm
    }

    /// The driver's manager of the descriptors of a type of queues.
    pub(crate) fn descriptor_manager(&self, of: i64) -> Option<Foreign> {
        let at = usize::try_from(of).ok()?;
        if at >= DEVICE_QUEUE_MANAGER_MQD_MGRS_LEN {
            return None;
        }
        self.dqm
            .pointer(DEVICE_QUEUE_MANAGER_MQD_MGRS + at * size_of::<usize>())
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
    /// scheduler not halted.
    ///
    /// That the driver takes the scheduler for hung (`is_hws_hang`) is not asked. It is no
    /// reset, need not lead to one, and is forgotten when a process is evicted next, be that
    /// long after a reset or never; the driver's own changes do not ask for it either. What
    /// it means is that of a queue which does not yield the GPU is reset at once.
    pub fn ready(&self) -> Result<(), Away> {
        self.gpu.usable()?;
        match self.is_halted()? {
            true => Err(Away::Halted),
            false => Ok(()),
        }
    }

    /// Whether KFD has taken all queues off for a while.
    pub fn is_halted(&self) -> Result<bool, Away> {
        Ok(!self.flag(DEVICE_QUEUE_MANAGER_SCHED_RUNNING)?
            || self.flag(DEVICE_QUEUE_MANAGER_SCHED_HALT)?)
    }

    fn flag(&self, at: Offset) -> Result<bool, Away> {
        self.dqm.flag(at).ok_or(Away::Misfit)
    }
}

impl Present<'_> {
    /// The GPU's nodes, which stay as they are while the result lives.
    ///
    /// Waits for whoever holds the partition lock, because trying would leave it to
    /// others whether a stopped queue is ever started: programs have the driver take
    /// it as often as they like. The result may itself be that lock: never wait with
    /// it for anything that a process does which opens the GPU, and never ask a
    /// second time while the first result lives.
    pub fn nodes(&self) -> Result<Nodes<'_>, Away> {
        let adev = self.adev();
        let lock = PartitionLock::take(self)?;
        if adev.flag(AMDGPU_DEVICE_KFD_INIT_COMPLETE) != Some(true) {
            return Err(Away::NoKfd);
        }
        let kfd = adev.pointer(AMDGPU_DEVICE_KFD_DEV).ok_or(Away::NoKfd)?;
        if kfd.pointer(KFD_DEV_ADEV) != Some(adev) {
            return Err(Away::Misfit);
        }
        if kfd.flag(KFD_DEV_INIT_COMPLETE) != Some(true) {
            return Err(Away::NoKfd);
        }
        let count = kfd
            .read::<u32>(KFD_DEV_NUM_NODES)
            .and_then(|count| usize::try_from(count).ok())
            .filter(|count| (1..=MAX_NODES).contains(count))
            .ok_or(Away::Misfit)?;
        // SAFETY: The GPU names it under the lock, it names the GPU, and it is set up.
        let kept = unsafe { lock.keep_nodes(kfd) };
        Ok(Nodes {
            kfd,
            count,
            gpu: self,
            _kept: kept,
        })
    }
}

/// The nodes of a GPU, for as long as its partitions cannot change.
///
/// # Invariants
///
/// `kfd` is the `struct kfd_dev` of `gpu`, with `count` nodes.
pub struct Nodes<'a> {
    kfd: Foreign,
    count: usize,
    gpu: &'a Present<'a>,
    _kept: Kept<'a>,
}

impl Nodes<'_> {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// A node.
    pub fn node(&self, index: usize) -> Result<Node<'_>, Away> {
        if index >= self.count {
            return Err(Away::Misfit);
        }
        let at = KFD_DEV_NODES + index * size_of::<usize>();
        let address = self.kfd.pointer(at).ok_or(Away::Misfit)?;
        Node::new(self.gpu, self.kfd, address, index).ok_or(Away::Misfit)
    }
}
