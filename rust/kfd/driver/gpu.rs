// SPDX-License-Identifier: GPL-2.0-only

//! GPUs and their nodes, looked up afresh each time they are needed.
//!
//! What keeps the driver's memory in place: the driver is pinned; a GPU is only
//! used under the mutex of one of its nodes, all of which the notice that the driver
//! is about to let go of it takes too; and a node is only used while the GPU cannot
//! be divided anew (`partitions.rs`), for which the driver would free all nodes.

use crate::{
    driver::{
        driver::{Bound, Device},
        foreign::Foreign,
        layout::*,
    },
    kernel::{bindings, clock},
};
use core::{marker::PhantomData, pin::Pin};
use gpreempt_policy::Nanos;
use kernel::{
    prelude::*,
    sync::{
        atomic::{Atomic, Relaxed},
        Mutex,
    },
    types::NotThreadSafe,
};

/// The most nodes that a GPU is divided into.
pub const MAX_NODES: usize = KFD_DEV_NODES_LEN;

/// Everything that is remembered of a node.
pub trait NodeData: Send + Unpin + 'static {
    /// The driver is about to let go of the GPU, for which everything is being
    /// made ready since a time: start what is stopped on the node, and forget everything about it.
    fn leave(&mut self, gpu: &Present<'_>, since: Nanos);
}

/// A GPU that the driver is or was bound to, with a slot for each node that it may
/// be divided into.
///
/// Each slot has a mutex of its own, so that nobody waits for a node but those who
/// use it; the notice that the driver is about to let go of the GPU takes them all,
/// one after the other.
pub struct Gpu<D: NodeData> {
    device: Device,
    /// Since when everything is being made ready for the driver to let go of it, in
    /// nanoseconds; 0 if it is not.
    leaving: Atomic<u64>,
    slots: KVec<Pin<KBox<Mutex<NodeSlot<D>>>>>,
}

/// # Invariants
///
/// `bound` is true from the moment the driver had taken the device until the
/// notice that it will let go of it, and never again once `retired` is.
struct NodeSlot<D: NodeData> {
    bound: bool,
    retired: bool,
    data: D,
}

impl<D: NodeData> Gpu<D> {
    /// A GPU that the driver has taken. `data` makes the data of the node with a number.
    pub fn new(device: &Bound<'_>, mut data: impl FnMut(usize) -> D) -> Result<Self> {
        let device = device.device().clone();
        let mut slots = KVec::with_capacity(MAX_NODES, GFP_KERNEL)?;
        for index in 0..MAX_NODES {
            let slot = NodeSlot {
                // INVARIANT: `Bound` proves it.
                bound: true,
                retired: false,
                data: data(index),
            };
            let slot = KBox::pin_init(kernel::new_mutex!(slot, "amd_gpreempt_node"), GFP_KERNEL)?;
            slots.push(slot, GFP_KERNEL)?;
        }
        Ok(Self {
            device,
            leaving: Atomic::new(0),
            slots,
        })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Calls a function with the data of a node, and with the GPU if the driver
    /// has it. The GPU stays the driver's until the function returns. `None`: no GPU
    /// has a node of that number.
    pub fn with<R>(
        &self,
        index: usize,
        f: impl FnOnce(Option<&Present<'_>>, &mut D) -> R,
    ) -> Option<R> {
        let mut slot = self.slots.get(index)?.lock();
        Some(self.call(&mut slot, f))
    }

    /// The same for each node that there may be, one after the other.
    pub fn each(&self, mut f: impl FnMut(Option<&Present<'_>>, &mut D)) {
        for slot in self.slots.iter() {
            self.call(&mut slot.lock(), &mut f);
        }
    }

    fn call<R>(
        &self,
        slot: &mut NodeSlot<D>,
        f: impl FnOnce(Option<&Present<'_>>, &mut D) -> R,
    ) -> R {
        let present = slot.bound.then(|| self.present()).flatten();
        f(present.as_ref(), &mut slot.data)
    }

    /// The driver has taken the device again.
    pub fn bind(&self, device: &Bound<'_>) {
        if *device.device() != self.device {
            return;
        }
        self.leaving.store(0, Relaxed);
        for slot in self.slots.iter() {
            let mut slot = slot.lock();
            // INVARIANT: `Bound` proves it.
            slot.bound = !slot.retired;
        }
    }

    /// Says that everything is about to be made ready for the driver to let go of the
    /// device: whoever has a node starts at once what is stopped there, so that all nodes
    /// are asked together where asking takes long.
    pub fn announce_leave(&self) {
        // Set before the mutexes are taken under which it is read.
        self.leaving.store(clock::now().0.max(1), Relaxed);
    }

    /// The driver is about to let go of the device. When this returns, nobody
    /// uses it any more.
    pub fn unbind(&self) {
        let since = clock::now();
        for slot in self.slots.iter() {
            self.let_go(&mut slot.lock(), since);
        }
    }

    /// The module lets go of the device for good, because later notices of the driver's
    /// may not be received any more.
    pub fn retire(&self) {
        let since = clock::now();
        for slot in self.slots.iter() {
            let mut slot = slot.lock();
            self.let_go(&mut slot, since);
            slot.retired = true;
        }
    }

    fn let_go(&self, slot: &mut NodeSlot<D>, since: Nanos) {
        self.call(slot, |present, data| {
            if let Some(present) = present {
                data.leave(present, since);
            }
        });
        slot.bound = false;
    }

    /// The GPU as the driver has it, if it has set it up.
    ///
    /// To be called with a node's mutex held and the device bound.
    fn present(&self) -> Option<Present<'_>> {
        // SAFETY: The device is alive, because `self.device` is a reference.
        let data = unsafe { bindings::gp_device_data(self.device.as_ptr()) };
        // SAFETY: The device is alive, because `self.device` is a reference; amdgpu is a
        // PCI driver, so that its devices are PCI devices.
        let pci = unsafe { bindings::gp_device_pci(self.device.as_ptr()) };
        let adev = Foreign::new(data.expose_provenance())?.whole(AMDGPU_DEVICE_DDEV)?;
        let ours = adev.read(AMDGPU_DEVICE_DEV) == Some(self.device.as_ptr().expose_provenance())
            && adev.read(AMDGPU_DEVICE_PDEV) == Some(pci.expose_provenance());
        ours.then_some(Present {
            device: &self.device,
            leaving: &self.leaving,
            adev,
            _mutex: PhantomData,
            _thread: NotThreadSafe,
        })
    }
}

/// A GPU that the driver has, for as long as the mutex of one of its nodes is held.
///
/// # Invariants
///
/// `adev` is the driver's `struct amdgpu_device` of `device`, and stays so for
/// the lifetime.
pub struct Present<'a> {
    device: &'a Device,
    leaving: &'a Atomic<u64>,
    adev: Foreign,
    /// Borrowed from the guard of the node's mutex.
    _mutex: PhantomData<&'a mut ()>,
    /// What is taken through it is released in the thread that has taken it.
    _thread: NotThreadSafe,
}

/// Why a GPU cannot be used just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Away {
    /// It is being reset.
    Reset,
    /// The driver may not touch its registers, or the system is being
    /// suspended, or it is being removed.
    NoAccess,
    /// KFD has halted its scheduler, as it does for a while for others.
    Halted,
    /// KFD has not been set up for it.
    NoKfd,
    /// What is read of it does not fit together.
    Misfit,
}

impl<'a> Present<'a> {
    /// The device.
    pub fn device(&self) -> &Device {
        self.device
    }

    /// Since when the driver or the module has been about to let go of it, so that nothing
    /// may be stopped.
    pub fn left_since(&self) -> Option<Nanos> {
        let since = self.leaving.load(Relaxed);
        (since > 0).then_some(Nanos(since))
    }

    pub(crate) fn adev(&self) -> Foreign {
        self.adev
    }

    /// Whether the hardware may be used: neither reset nor suspend is going on.
    ///
    /// Either can begin right after this. The driver's functions that change what
    /// runs look again; for those that only read there is `Present::hardware`.
    pub fn usable(&self) -> Result<(), Away> {
        let adev = self.adev;
        let flags = [
            AMDGPU_DEVICE_SHUTDOWN,
            AMDGPU_DEVICE_IN_SUSPEND,
            AMDGPU_DEVICE_NO_HW_ACCESS,
        ];
        if flags.into_iter().any(|at| adev.flag(at) != Some(false)) {
            return Err(Away::NoAccess);
        }
        match adev
            .pointer(AMDGPU_DEVICE_RESET_DOMAIN)
            .and_then(|domain| domain.read::<u32>(AMDGPU_RESET_DOMAIN_IN_GPU_RESET))
        {
            Some(0) => Ok(()),
            Some(_) => Err(Away::Reset),
            None => Err(Away::Misfit),
        }
    }

    /// Whether it is a virtual function, whose registers are not ours to read.
    pub fn is_virtual_function(&self) -> bool {
        const AMDGPU_SRIOV_CAPS_IS_VF: u32 = 1 << 2;
        self.adev
            .read::<u32>(AMDGPU_DEVICE_VIRT_CAPS)
            .is_none_or(|caps| caps & AMDGPU_SRIOV_CAPS_IS_VF != 0)
    }
}
