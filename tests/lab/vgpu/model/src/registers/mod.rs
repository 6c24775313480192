// SPDX-License-Identifier: GPL-2.0-only
//! The register file of BAR 5: where each block lies, which registers have
//! several banks, and the plain storage behind those that do nothing.
//!
//! Addresses are dwords. A register of an accelerator die (XCC) is named by
//! its address in the first one; [`Place`] tells which die was meant.

pub mod discovery;
mod file;
pub mod table;
mod touched;

use crate::terms::{Config, SdmaRing};

pub use file::{RegisterFile, QUEUE_REGISTERS};
pub use touched::{named, Block, RegisterReport, Touched};

/// What an address of BAR 5 refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A graphics register, by its address in XCC 0.
    Graphics { xcc: u32, register: u32 },
    /// An SDMA register, by its offset in the instance.
    Sdma { instance: u32, offset: u32 },
    /// All else; a memory hub's by their addresses in the first hub.
    Other(u32),
}

/// Dwords from one XCC's registers to the next one's in the aperture.
const XCC_STRIDE: u32 = 1 << 16;

/// Where the first SDMA engine's registers lie, and how many there are.
pub const SDMA0_BASE: u32 = 0x1260;
const SDMA_SPAN: u32 = 0x400;
/// The other engines' registers lie behind those of all XCCs.
const SDMA_FAR_BASE: u32 = 0xa0000;
const SDMA_FAR_STRIDE: u32 = 0x1000;

/// First address of an XCC's copy of register 0. XCC 0 is at 0; the page
/// behind it holds other blocks, so XCC 1 starts at the second.
pub fn xcc_base(xcc: u32) -> u32 {
    if xcc == 0 {
        0
    } else {
        (xcc + 1) * XCC_STRIDE
    }
}

pub fn sdma_base(instance: u32) -> u32 {
    if instance == 0 {
        SDMA0_BASE
    } else {
        SDMA_FAR_BASE + instance * SDMA_FAR_STRIDE
    }
}

/// Copy engines of an I/O die.
const SDMA_OF_IO_DIE: u32 = 4;

/// Where the registers of each I/O die's memory hub lie, and how many there are: where packets
/// reach them, which have 18 bits for a register, and no graphics register has those low bits.
const HUBS: [u32; 4] = [table::base::MMHUB[0], 0x18000, 0x24000, 0x28000];
const HUB_SPAN: u32 = 0x2000;

/// The I/O die that a copy engine is on.
pub fn io_die_of(engine: u32) -> u32 {
    engine / SDMA_OF_IO_DIE
}

/// I/O dies, of which the driver knows by the copy engines.
pub fn io_dies(config: &Config) -> u32 {
    config.sdma_count.div_ceil(SDMA_OF_IO_DIE)
}

/// Dwords from the first memory hub's registers to those of another I/O die's.
pub fn hub_offset(io_die: u32) -> u32 {
    HUBS[io_die as usize % HUBS.len()] - HUBS[0]
}

/// The address in the first memory hub of a register of any.
fn in_first_hub(address: u32) -> Option<u32> {
    let offsets = HUBS.iter().map(|base| address.wrapping_sub(*base));
    let mut own = offsets.filter(|offset| *offset < HUB_SPAN);
    own.next().map(|offset| HUBS[0] + offset)
}

fn is_graphics(low: u32) -> bool {
    (0x2000..0x3400).contains(&low) || (0xa000..0x10000).contains(&low)
}

pub fn place(address: u32) -> Place {
    if (SDMA0_BASE..SDMA0_BASE + SDMA_SPAN).contains(&address) {
        return Place::Sdma {
            instance: 0,
            offset: address - SDMA0_BASE,
        };
    }
    if address >= SDMA_FAR_BASE {
        let instance = (address - SDMA_FAR_BASE) / SDMA_FAR_STRIDE;
        let offset = (address - SDMA_FAR_BASE) % SDMA_FAR_STRIDE;
        if (1..16).contains(&instance) && offset < SDMA_SPAN {
            return Place::Sdma { instance, offset };
        }
        return Place::Other(address);
    }
    let (page, low) = (address / XCC_STRIDE, address % XCC_STRIDE);
    if page != 1 && is_graphics(low) {
        return Place::Graphics {
            xcc: page.saturating_sub(1),
            register: low,
        };
    }
    Place::Other(in_first_hub(address).unwrap_or(address))
}

/// The ring and register that an offset of an SDMA engine belongs to.
pub fn sdma_ring(engine: u32, offset: u32) -> Option<(SdmaRing, u32)> {
    let first = offset.checked_sub(table::sdma::GFX)?;
    // The user's rings do not follow the kernel's directly.
    let registers = if offset >= table::sdma::RLC0 {
        let index = (offset - table::sdma::RLC0) / table::sdma::RING_SPAN;
        if index >= table::sdma::RLC_COUNT {
            return None;
        }
        table::sdma::RLC0 + index * table::sdma::RING_SPAN
    } else {
        table::sdma::GFX + first / table::sdma::RING_SPAN * table::sdma::RING_SPAN
    };
    Some((SdmaRing { engine, registers }, offset - registers))
}

/// Address of a register of an SDMA ring.
pub fn sdma_register(ring: SdmaRing, register: u32) -> u32 {
    sdma_base(ring.engine) + ring.registers + register
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_copy_of_a_graphics_register_has_one_name() {
        for xcc in 0..8 {
            let address = xcc_base(xcc) + table::gc::CP_HQD_ACTIVE;
            assert_eq!(
                place(address),
                Place::Graphics {
                    xcc,
                    register: table::gc::CP_HQD_ACTIVE
                }
            );
        }
    }

    #[test]
    fn the_page_of_the_other_blocks_is_no_xcc() {
        assert_eq!(place(table::mp::MP0_SMN_C2PMSG_33), Place::Other(0x16061));
        assert_eq!(
            place(table::mmhub::MC_VM_FB_LOCATION_BASE),
            Place::Other(table::mmhub::MC_VM_FB_LOCATION_BASE)
        );
    }

    #[test]
    fn sdma_engines_do_not_overlap_graphics() {
        for instance in 0..16 {
            for offset in [0, 0x3ff] {
                assert_eq!(
                    place(sdma_base(instance) + offset),
                    Place::Sdma { instance, offset }
                );
            }
        }
        assert_eq!(place(0xa0000), Place::Other(0xa0000));
    }

    #[test]
    fn every_memory_hub_has_the_registers_of_the_first() {
        let config = Config {
            xcc_count: 8,
            sdma_count: 16,
            ..Config::default()
        };
        assert_eq!(io_dies(&config), 4);
        for io_die in 0..io_dies(&config) {
            let place = |register| place(HUBS[io_die as usize] + register);
            assert_eq!(place(0), Place::Other(HUBS[0]));
            let last = HUB_SPAN - 1;
            assert_eq!(place(last), Place::Other(HUBS[0] + last));
            assert!(HUBS[io_die as usize] + HUB_SPAN <= 1 << 18);
        }
        let behind = HUBS[1] + HUB_SPAN;
        assert_eq!(place(behind), Place::Other(behind));
    }
}
