// SPDX-License-Identifier: GPL-2.0-only

//! Whom to ask about the hardware queues of a node, and how many waves they have.

use crate::driver::foreign::Foreign;
use crate::driver::gpu::Away;
use crate::driver::gpu::Present;
use crate::driver::layout::*;
use crate::driver::node::Node;
use crate::kernel::bindings;
use kernel::prelude::*;

/// The driver's functions that ask the hardware, and the first XCC of the node.
/// Taken while the node was at hand; they belong to the GPU and not to the node.
#[derive(Clone, Copy)]
pub struct HardwareSource {
    pub(crate) occupancy: Foreign,
    pub(crate) dump: Foreign,
    pub(crate) xcc: u32,
}

/// How many hardware queues the driver tells about.
const AMDGPU_MAX_QUEUES: usize = 128;

/// The waves of each hardware queue of one node.
pub struct Occupancy {
    /// Waves and doorbell of each, as in the shim's `struct gp_occupancy`.
    queues: KVec<[u32; 2]>,
    max_waves: i32,
}

impl Occupancy {
    /// Room for the answer.
    pub fn new() -> Result<Self> {
        const {
            assert!(core::mem::offset_of!(bindings::gp_occupancy, wave_count) == 0);
            assert!(core::mem::offset_of!(bindings::gp_occupancy, doorbell_offset) == 4);
            assert!(size_of::<bindings::gp_occupancy>() == size_of::<[u32; 2]>());
        }
        Ok(Self {
            queues: KVec::from_elem([0; 2], AMDGPU_MAX_QUEUES, GFP_KERNEL)?,
            max_waves: 0,
        })
    }

    /// Asks the hardware, which takes the locks of the register windows. No
    /// lock of the driver may be held.
    pub(crate) fn ask(&mut self, gpu: &Present<'_>, source: HardwareSource) -> Result<(), Away> {
        let hardware = gpu.hardware()?;
        for queue in self.queues.iter_mut() {
            *queue = [0; 2];
        }
        // SAFETY: `hardware` proves that the device is there and is not being reset;
        // the function is the driver's get_cu_occupancy, whose type the build compared, and fills at
        // most `AMDGPU_MAX_QUEUES` entries, which is what there is room for.
        unsafe {
            bindings::gp_call_cu_occupancy(
                source.occupancy.as_ptr(),
                hardware.gpu().adev().as_ptr(),
                self.queues.as_mut_ptr().cast(),
                &mut self.max_waves,
                source.xcc,
            )
        };
        Ok(())
    }

    /// The waves of the queue with a doorbell, as far as the last answer says.
    pub(crate) fn waves(&self, doorbell: u32) -> u32 {
        self.queues
            .iter()
            .filter(|[_, of]| *of == doorbell)
            .fold(0, |sum: u32, [waves, _]| sum.saturating_add(*waves))
    }
}

impl Node<'_> {
    /// Whom to ask about this node's hardware queues, if that may be asked at all.
    pub fn hardware_source(&self) -> Option<HardwareSource> {
        if self.gpu().is_virtual_function() {
            return None;
        }
        let calls = self.address().pointer(KFD_NODE_KFD2KGD)?;
        Some(HardwareSource {
            occupancy: calls.pointer(KFD2KGD_CALLS_GET_CU_OCCUPANCY)?,
            dump: calls.pointer(KFD2KGD_CALLS_HQD_DUMP)?,
            xcc: self
                .xcc_mask()
                .checked_ilog2()
                .map(|_| self.xcc_mask().trailing_zeros())?,
        })
    }
}
