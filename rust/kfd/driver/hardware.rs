// SPDX-License-Identifier: GPL-2.0-only

//! The hardware queues of a GPU, while no reset is under way, and the driver's
//! functions that read what is in them.

use crate::{
    driver::{
        foreign::Foreign,
        gpu::{Away, Present},
        layout::*,
        node::Node,
        operation,
        operation::Function,
    },
    kernel::bindings,
};
use kernel::prelude::*;

/// The hardware queues of the engine that runs user queues: so many on each pipe.
const PIPES: u32 = 4;
const QUEUES_PER_PIPE: u32 = 8;

/// How many hardware queues there are.
pub(crate) const SLOTS: usize = (PIPES * QUEUES_PER_PIPE) as usize;

/// How many hardware queues the driver tells about at most, its AMDGPU_MAX_QUEUES: so
/// many bits has its map of them, which is made of words.
const AMDGPU_MAX_QUEUES: usize = KFD_DEV_SHARED_RESOURCES_CP_QUEUE_BITMAP_LEN * 64;

/// How many registers a dump has, in the sequence from CP_MQD_BASE_ADDR on.
const REGISTERS: u32 = 56;

/// The driver's functions that ask the hardware of a GPU, and the first XCC of a node.
/// Taken while the node was at hand; they belong to the GPU and not to the node, and last
/// as long as the driver has it.
///
/// # Invariants
///
/// The functions are the driver's for asking the GPU with the `struct amdgpu_device`
/// `adev`, and `xcc` is one of its.
#[derive(Clone, Copy)]
pub struct HardwareSource<'a> {
    adev: Foreign,
    occupancy: Function<'a>,
    dump: Function<'a>,
    xcc: u32,
}

impl Node<'_> {
    /// How to ask about this node's hardware queues, if they may be asked about at all.
    /// `gpu` is the GPU of the node.
    pub fn hardware_source<'a>(&self, gpu: &'a Present<'_>) -> Option<HardwareSource<'a>> {
        if gpu.adev() != self.gpu().adev() || gpu.is_virtual_function() {
            return None;
        }
        let calls = self.address().pointer(KFD_NODE_KFD2KGD)?;
        let xccs = self.xcc_mask();
        // INVARIANT: All is the node's own, and it is a node of the GPU; the functions
        // are `Function`s of these operations.
        Some(HardwareSource {
            adev: gpu.adev(),
            occupancy: operation::GET_CU_OCCUPANCY.of(calls, gpu)?,
            dump: operation::HQD_DUMP.of(calls, gpu)?,
            xcc: (xccs != 0).then_some(xccs.trailing_zeros())?,
        })
    }
}

/// A hardware queue that the engine has.
///
/// # Invariants
///
/// `pipe` is below [`PIPES`] and `queue` below [`QUEUES_PER_PIPE`].
#[derive(Clone, Copy)]
pub(crate) struct HardwareSlot {
    pipe: u32,
    queue: u32,
}

impl HardwareSlot {
    /// The hardware queue at a place below [`SLOTS`].
    pub(crate) fn at(place: usize) -> Option<Self> {
        let place = u32::try_from(place).ok()?;
        let (pipe, queue) = (place / QUEUES_PER_PIPE, place % QUEUES_PER_PIPE);
        // INVARIANT: Just compared.
        (pipe < PIPES).then_some(Self { pipe, queue })
    }
}

/// The waves of each hardware queue of a node.
///
/// # Invariants
///
/// `queues` has `AMDGPU_MAX_QUEUES` elements.
pub struct Waves {
    /// Waves and doorbell of each, as in the shim's `struct gp_occupancy`.
    queues: KVec<[u32; 2]>,
    most: i32,
}

impl Waves {
    /// Room for them; nothing was counted yet.
    pub fn new() -> Result<Self> {
        const {
            assert!(core::mem::offset_of!(bindings::gp_occupancy, wave_count) == 0);
            assert!(core::mem::offset_of!(bindings::gp_occupancy, doorbell_offset) == 4);
            assert!(size_of::<bindings::gp_occupancy>() == size_of::<[u32; 2]>());
        }
        // INVARIANT: Just made so, and never changed in length.
        Ok(Self {
            queues: KVec::from_elem([0; 2], AMDGPU_MAX_QUEUES, GFP_KERNEL)?,
            most: 0,
        })
    }

    /// Those of the queue with a doorbell, as far as the last count says.
    pub(crate) fn of(&self, doorbell: u32) -> u32 {
        let queues = self.queues.iter();
        let of_it = queues.filter(|[_, of]| *of == doorbell);
        of_it.fold(0, |sum: u32, [waves, _]| sum.saturating_add(*waves))
    }
}

impl Present<'_> {
    /// The hardware for reading its registers, with no reset until the result is
    /// dropped. No allocation may wait for memory meanwhile: freeing memory may itself
    /// wait for work that only a reset ends.
    pub(crate) fn hardware(&self) -> Result<Hardware<'_>, Away> {
        let domain = self
            .adev()
            .pointer(AMDGPU_DEVICE_RESET_DOMAIN)
            .ok_or(Away::Misfit)?;
        let reset = domain.part(AMDGPU_RESET_DOMAIN_SEM).ok_or(Away::Misfit)?;
        // SAFETY: By the type's invariant the GPU is there and with it its reset
        // domain; the layout says that this is its semaphore, whose size was
        // compared.
        if !unsafe { bindings::gp_rwsem_read_trylock(reset.as_ptr()) } {
            return Err(Away::Reset);
        }
        let hardware = Hardware { reset, gpu: self };
        self.usable()?;
        Ok(hardware)
    }
}

/// The hardware of a GPU that is not being reset.
///
/// # Invariants
///
/// `reset` is the semaphore of the GPU's reset domain, held for reading.
pub(crate) struct Hardware<'a> {
    reset: Foreign,
    gpu: &'a Present<'a>,
}

impl Hardware<'_> {
    /// Asks for the waves of each hardware queue of a node; one that is not in use has
    /// no waves. Takes the locks of the register windows.
    pub(crate) fn count_waves(&self, source: HardwareSource<'_>, waves: &mut Waves) {
        for queue in waves.queues.iter_mut() {
            *queue = [0; 2];
        }
        if source.adev != self.gpu.adev() {
            return;
        }
        // SAFETY: By the type's invariant the device is there and is not being reset; by
        // that of the source the function is the driver's get_cu_occupancy, which has
        // this type and fills at most `AMDGPU_MAX_QUEUES` entries, for which there is room.
        unsafe {
            bindings::gp_call_cu_occupancy(
                source.occupancy.as_ptr(),
                source.adev.as_ptr(),
                waves.queues.as_mut_ptr().cast(),
                &mut waves.most,
                source.xcc,
            )
        };
    }

    /// Reads the registers of a hardware queue.
    pub(crate) fn dump(&self, source: HardwareSource<'_>, slot: HardwareSlot) -> Option<Dump> {
        if source.adev != self.gpu.adev() {
            return None;
        }
        let mut pairs = core::ptr::null_mut();
        let mut count = 0;
        // SAFETY: By the type's invariant the device is there and is not being reset; by
        // that of the source the function is the driver's hqd_dump, which has this type;
        // the engine has every `HardwareSlot`.
        let error = unsafe {
            bindings::gp_call_hqd_dump(
                source.dump.as_ptr(),
                source.adev.as_ptr(),
                slot.pipe,
                slot.queue,
                &mut pairs,
                &mut count,
                source.xcc,
            )
        };
        // INVARIANT: The function returned 0, and so has allocated and filled them.
        (error == 0).then(|| Dump { pairs, count })
    }
}

impl Drop for Hardware<'_> {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant it is held; by the same thread, because
        // `Present` does not leave its own.
        unsafe { bindings::gp_rwsem_read_unlock(self.reset.as_ptr()) }
    }
}

/// A dump that the driver has made.
///
/// # Invariants
///
/// `pairs` points to `count` pairs of a register's address and value, which are
/// ours to free.
pub(crate) struct Dump {
    pairs: *mut [u32; 2],
    count: u32,
}

impl Dump {
    /// The register at a place of the sequence.
    pub(crate) fn register(&self, at: usize) -> Option<u32> {
        if self.count != REGISTERS || at >= REGISTERS as usize {
            return None;
        }
        // SAFETY: By the type's invariant there are `count` pairs, and both places are below.
        let ([first, _], [address, value]) = unsafe { (*self.pairs, *self.pairs.add(at)) };
        // One register follows the other; else it is another sequence.
        let offset = address.wrapping_sub(first);
        (usize::try_from(offset) == Ok(at * size_of::<u32>())).then_some(value)
    }
}

impl Drop for Dump {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant the pairs are ours to free, and this is their end.
        unsafe { bindings::gp_free(self.pairs.cast()) }
    }
}
