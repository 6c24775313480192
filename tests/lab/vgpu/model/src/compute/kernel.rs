// SPDX-License-Identifier: GPL-2.0-only
//! What the model needs of a kernel: its descriptor (the amdhsa format of the
//! compiler's documentation) and the mark of countable work at its entry.

use crate::memory::{Memory, Space};
use crate::queue::Failure;

/// Marks the code entry of a kernel that is countable work.
pub const COUNTABLE: &[u8; 16] = b"VGPU-COUNT-WORK1";

const GROUP_SEGMENT: u64 = 0;
const CODE_ENTRY: u64 = 16;
const PROGRAM_RESOURCES_1: u64 = 48;

pub const LDS_BYTES: u32 = 64 << 10;

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
    /// Local memory is allocated in units of this size.
    pub const LDS_GRANULE: u32 = 512;

    /// Machine code whose registers the first word of resources counts.
    pub fn of_registers(resources: u32, lds: u32) -> Result<Kernel, String> {
        if lds > LDS_BYTES {
            return Err(format!(
                "a workgroup wants {lds} bytes of local memory, a compute unit has {LDS_BYTES}"
            ));
        }
        Ok(Kernel {
            vgprs: vector_registers(resources),
            lds,
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
        let lds = fixed.max(group_segment);
        if lds > LDS_BYTES {
            return Err(Failure::Packet(format!(
                "a workgroup wants {lds} bytes of local memory, a compute unit has {LDS_BYTES}"
            )));
        }
        Ok(Kernel {
            vgprs: vector_registers(resources),
            lds: lds.next_multiple_of(Kernel::LDS_GRANULE),
            is_countable: &code == COUNTABLE,
        })
    }
}

/// Of a lane, accumulation registers included.
fn vector_registers(resources: u32) -> u32 {
    ((resources & 0x3f) + 1) * 8
}
