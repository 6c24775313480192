// SPDX-License-Identifier: GPL-2.0-only
//! What the model needs of a kernel: its descriptor (the amdhsa format of the
//! compiler's documentation) and the mark of countable work at its entry.

use crate::memory::{Memory, Space};
use crate::queue::Failure;
use crate::terms::LocalMemory;

/// Marks the code entry of a kernel that is countable work.
pub const COUNTABLE: &[u8; 16] = b"VGPU-COUNT-WORK1";

const GROUP_SEGMENT: u64 = 0;
const CODE_ENTRY: u64 = 16;
const PROGRAM_RESOURCES_1: u64 = 48;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Vector registers per lane, accumulation registers included.
    pub vgprs: u32,
    /// Local memory of a workgroup, in bytes.
    pub lds: u32,
    /// Its code is the mark of countable work.
    pub is_countable: bool,
}

impl Kernel {
    /// Machine code whose registers the first word of resources counts.
    pub fn of_registers(resources: u32, lds: u32, local: LocalMemory) -> Result<Kernel, String> {
        Ok(Kernel {
            vgprs: vector_registers(resources),
            lds: allocated(lds, local)?,
            is_countable: false,
        })
    }

    /// Reads a descriptor. `group_segment` is the packet's local memory size,
    /// which includes the descriptor's.
    pub fn read(
        memory: &Memory,
        space: Space,
        object: u64,
        group_segment: u32,
        local: LocalMemory,
    ) -> Result<Kernel, Failure> {
        let fixed = memory.read_u32(space, object.wrapping_add(GROUP_SEGMENT))?;
        let entry = object.wrapping_add(memory.read_u64(space, object.wrapping_add(CODE_ENTRY))?);
        let resources = memory.read_u32(space, object.wrapping_add(PROGRAM_RESOURCES_1))?;
        let mut code = [0; 16];
        // Machine code can be shorter than the mark.
        let read = memory.read(space, entry, &mut code);
        if entry % 4096 <= 4096 - 16 {
            read?;
        }
        let lds = allocated(fixed.max(group_segment), local).map_err(Failure::Packet)?;
        Ok(Kernel {
            vgprs: vector_registers(resources),
            lds,
            is_countable: &code == COUNTABLE,
        })
    }
}

/// What a workgroup gets that wants so many bytes, or that no unit has as many.
fn allocated(lds: u32, local: LocalMemory) -> Result<u32, String> {
    let LocalMemory { bytes, granule } = local;
    if lds > bytes {
        return Err(format!(
            "a workgroup wants {lds} bytes of local memory, a compute unit has {bytes}"
        ));
    }
    Ok(lds.next_multiple_of(granule))
}

/// Of a lane, accumulation registers included.
fn vector_registers(resources: u32) -> u32 {
    ((resources & 0x3f) + 1) * 8
}
