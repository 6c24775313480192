// SPDX-License-Identifier: GPL-2.0-only
//! The countable kernel: a kernel descriptor with the entry that the virtual GPU
//! knows, and the arguments of one dispatch.
//!
//! Each finished workgroup w adds 1 to counters[w] and took `cost` GPU
//! nanoseconds, or longer where workgroups beside it ask for more than the compute
//! units have. The descriptor is an ordinary amdhsa one: its registers and LDS
//! decide how many waves fit on a compute unit and what a context save moves.
//! For a real GPU the entry is machine code that does the same.

mod gfx942;

use crate::spec::KernelSpec;

/// What stands at the code entry.
pub const ENTRY: &[u8; 16] = b"VGPU-COUNT-WORK1";

/// Code begins on the boundary that the program counter needs, and so do objects.
pub const ALIGNMENT: usize = 256;
const ENTRY_OFFSET: usize = ALIGNMENT;
/// Descriptor, padding and the longer one of the entries.
pub const OBJECT_BYTES: usize = ENTRY_OFFSET + 4 * gfx942::CODE.len();
pub const ARGUMENT_BYTES: usize = 32;

/// gfx942 allocates vector registers by eights and scalar registers by sixteens.
const VECTOR_REGISTER_GRANULE: u32 = 8;
const SCALAR_REGISTER_GRANULE: u32 = 16;

/// The code object of a kernel with the given use of registers and LDS.
pub fn object(kernel: &KernelSpec) -> [u8; OBJECT_BYTES] {
    let mut object = [0; OBJECT_BYTES];
    let mut put = |offset: usize, bytes: &[u8]| {
        object[offset..offset + bytes.len()].copy_from_slice(bytes);
    };
    let vector = kernel
        .vector_registers
        .max(1)
        .div_ceil(VECTOR_REGISTER_GRANULE)
        - 1;
    let scalar = 2
        * (kernel
            .scalar_registers
            .max(1)
            .div_ceil(SCALAR_REGISTER_GRANULE)
            - 1);
    // Accumulation registers start behind the vector registers, in units of four.
    let accumulation_offset = (vector + 1) * VECTOR_REGISTER_GRANULE / 4 - 1;
    let user_scalars: u32 = 2;
    let workgroup_id_x: u32 = 1 << 7;
    let argument_pointer: u16 = 1 << 3;

    put(0, &kernel.lds_bytes.to_le_bytes());
    put(8, &(ARGUMENT_BYTES as u32).to_le_bytes());
    put(16, &(ENTRY_OFFSET as i64).to_le_bytes());
    put(44, &accumulation_offset.min(63).to_le_bytes());
    put(48, &(vector | (scalar << 6)).to_le_bytes());
    put(52, &((user_scalars << 1) | workgroup_id_x).to_le_bytes());
    put(56, &argument_pointer.to_le_bytes());
    if kernel.machine_code {
        for (at, word) in gfx942::CODE.iter().enumerate() {
            put(ENTRY_OFFSET + 4 * at, &word.to_le_bytes());
        }
    } else {
        put(ENTRY_OFFSET, ENTRY);
    }
    object
}

/// The kernel's arguments.
pub fn arguments(counters: u64, cost_ns: u64, demand: u32) -> [u8; ARGUMENT_BYTES] {
    let mut bytes = [0; ARGUMENT_BYTES];
    bytes[..8].copy_from_slice(&counters.to_le_bytes());
    bytes[8..16].copy_from_slice(&cost_ns.to_le_bytes());
    bytes[16..20].copy_from_slice(&demand.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(object: &[u8], offset: usize) -> u32 {
        u32::from_le_bytes(object[offset..offset + 4].try_into().unwrap())
    }

    #[test]
    fn the_descriptor_leads_to_the_entry() {
        let object = object(&KernelSpec::default());
        let entry = word(&object, 16) as usize;
        assert_eq!(entry % 256, 0);
        assert_eq!(&object[entry..entry + 16], ENTRY);
    }

    #[test]
    fn a_real_gpu_gets_machine_code() {
        let kernel = KernelSpec {
            machine_code: true,
            ..Default::default()
        };
        let object = object(&kernel);
        let entry = word(&object, 16) as usize;
        assert_eq!(word(&object, entry), gfx942::CODE[0]);
        // It ends the wave.
        assert_eq!(word(&object, OBJECT_BYTES - 4), 0xbf81_0000);
    }

    #[test]
    fn registers_are_rounded_up_to_granules() {
        for (registers, granules) in [(0, 0), (1, 0), (8, 0), (9, 1), (256, 31), (512, 63)] {
            let kernel = KernelSpec {
                vector_registers: registers,
                ..Default::default()
            };
            assert_eq!(word(&object(&kernel), 48) & 0x3f, granules, "{registers}");
        }
        for (registers, field) in [(1, 0), (16, 0), (17, 2), (102, 12)] {
            let kernel = KernelSpec {
                scalar_registers: registers,
                ..Default::default()
            };
            assert_eq!(
                (word(&object(&kernel), 48) >> 6) & 0xf,
                field,
                "{registers}"
            );
        }
    }

    #[test]
    fn lds_is_in_the_descriptor() {
        let kernel = KernelSpec {
            lds_bytes: 65536,
            ..Default::default()
        };
        assert_eq!(word(&object(&kernel), 0), 65536);
    }

    #[test]
    fn arguments_are_little_endian() {
        let bytes = arguments(0x1_0000_0002, crate::spec::ENDLESS, 250);
        assert_eq!(bytes[..8], [2, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(bytes[8..16], [0xff; 8]);
        assert_eq!(bytes[16..24], [250, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[24..], [0; 8]);
    }
}
