// SPDX-License-Identifier: GPL-2.0-only
//! The video BIOS, in the ROM of the PCI device: the least that a driver takes which
//! does without none, as that of Linux 6.12.
//!
//! It is our own and holds no code: tables that the driver follows to three clocks, a
//! place for its scratch registers, and a command that initialises nothing, since there
//! is nothing to initialise. Offsets and versions are those of the driver's
//! atomfirmware.h and atom.h.

use crate::pci::{Identity, Kind};

/// The size of the ROM, a power of two.
pub const BYTES: usize = 4096;

/// Images are counted in this many bytes.
const UNIT: usize = 512;

/// What lies where. Places of the first group are given; the others are our own.
mod at {
    pub const PCI_DATA_POINTER: usize = 0x18;
    pub const MAGIC: usize = 0x30;
    pub const ROM_HEADER_POINTER: usize = 0x48;
    pub const DATE: usize = 0x50;
    pub const PART_NUMBER: usize = 0x80;

    pub const VERSION: usize = 0xa0;
    pub const ROM_HEADER: usize = 0x100;
    pub const PCI_DATA: usize = 0x180;
    pub const COMMANDS: usize = 0x200;
    pub const DATA: usize = 0x300;
    pub const FIRMWARE_INFO: usize = 0x400;
    pub const SMU_INFO: usize = 0x480;
    pub const UMC_INFO: usize = 0x4c0;
    pub const MEMORY_USAGE: usize = 0x540;
    pub const ASIC_INIT: usize = 0x500;
}

/// How many entries the driver's lists have: of commands, and of tables of data.
const COMMANDS: usize = 82;
const TABLES: usize = 35;

/// Places in the list of tables.
const FIRMWARE_INFO: usize = 4;
const SMU_INFO: usize = 8;
const MEMORY_USAGE: usize = 11;
const UMC_INFO: usize = 24;

/// BIF_BX0_BIOS_SCRATCH_0, where a BIOS says how far it has come: registers that keep
/// what is written.
const SCRATCH: u32 = 0x4c;
/// The reference clocks, in units of 10 kHz.
const REFERENCE: u32 = 10_000;
/// With what the GPU starts, in the same units.
const ENGINE_CLOCK: u32 = 90_000;
const MEMORY_CLOCK: u32 = 100_000;
/// The operation that ends a command.
const END_OF_TABLE: u8 = 91;

struct Image([u8; BYTES]);

impl Image {
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn put16(&mut self, at: usize, value: usize) {
        self.put(at, &(value as u16).to_le_bytes());
    }

    fn put32(&mut self, at: usize, value: u32) {
        self.put(at, &value.to_le_bytes());
    }

    /// The head that each table has.
    fn head(&mut self, at: usize, bytes: usize, (format, content): (u8, u8)) {
        self.put16(at, bytes);
        self.put(at + 2, &[format, content]);
    }

    /// Enters a table in the list of tables.
    fn list(&mut self, number: usize, at: usize) {
        self.put16(at::DATA + 4 + 2 * number, at);
    }
}

/// The whole ROM.
pub fn build(identity: Identity) -> [u8; BYTES] {
    let mut image = Image([0; BYTES]);
    put_rom(&mut image, identity);
    put_clocks(&mut image);
    if identity.kind() == Kind::Virtual {
        put_shared_memory(&mut image);
    }

    // A command of no operation, with no parameter and no workspace.
    image.head(at::COMMANDS, 4 + 2 * COMMANDS, (2, 1));
    image.put16(at::COMMANDS + 4, at::ASIC_INIT);
    image.head(at::ASIC_INIT, 7, (2, 1));
    image.put(at::ASIC_INIT + 6, &[END_OF_TABLE]);

    // The bytes of a ROM add up to nothing.
    let sum = image
        .0
        .iter()
        .fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    image.0[BYTES - 1] = sum.wrapping_neg();
    image.0
}

/// What any ROM of a PCI device has, and what the driver knows a BIOS of AMD's by.
fn put_rom(image: &mut Image, identity: Identity) {
    image.put(0, &[0x55, 0xaa, (BYTES / UNIT) as u8]);
    image.put16(at::PCI_DATA_POINTER, at::PCI_DATA);
    image.put(at::PCI_DATA, b"PCIR");
    let [vendor, device] = identity.numbers();
    image.put16(at::PCI_DATA + 4, vendor.into());
    image.put16(at::PCI_DATA + 6, device.into());
    image.put16(at::PCI_DATA + 0xa, 24);
    image.put(at::PCI_DATA + 0xd, &[0, 0, 0x12]);
    image.put16(at::PCI_DATA + 0x10, BYTES / UNIT);
    // The only image.
    image.put(at::PCI_DATA + 0x15, &[0x80]);

    image.put(at::MAGIC, b" 761295520");
    image.put(at::DATE, b"01/01/24 00:00");
    image.put(at::PART_NUMBER, b"VIRTUAL");
    image.put(at::VERSION, b"ATOMBIOSBK-AMD VER000.000.000.000.000000");
    image.put16(at::ROM_HEADER_POINTER, at::ROM_HEADER);
    image.head(at::ROM_HEADER, 40, (2, 2));
    image.put(at::ROM_HEADER + 4, b"ATOM");
    image.put16(at::ROM_HEADER + 0x1e, at::COMMANDS);
    image.put16(at::ROM_HEADER + 0x20, at::DATA);
}

/// The tables of data: all that the driver reads of them are clocks and the scratch
/// registers.
fn put_clocks(image: &mut Image) {
    image.head(at::DATA, 4 + 2 * TABLES, (2, 1));
    image.list(FIRMWARE_INFO, at::FIRMWARE_INFO);
    image.head(at::FIRMWARE_INFO, 76, (3, 1));
    image.put32(at::FIRMWARE_INFO + 8, ENGINE_CLOCK);
    image.put32(at::FIRMWARE_INFO + 12, MEMORY_CLOCK);
    image.put32(at::FIRMWARE_INFO + 24, SCRATCH);

    image.list(SMU_INFO, at::SMU_INFO);
    image.head(at::SMU_INFO, 28, (3, 1));
    image.put32(at::SMU_INFO + 16, REFERENCE);

    image.list(UMC_INFO, at::UMC_INFO);
    image.head(at::UMC_INFO, 32, (3, 1));
    image.put32(at::UMC_INFO + 28, REFERENCE);
}

/// Which video memory the driver must leave to what it exchanges with its host.
fn put_shared_memory(image: &mut Image) {
    const SHARED_WITH_HOST: u32 = 2 << 30;
    const START: u32 = 0;
    const KIB: usize = 132;
    image.list(MEMORY_USAGE, at::MEMORY_USAGE);
    image.head(at::MEMORY_USAGE, 12, (2, 1));
    image.put32(at::MEMORY_USAGE + 4, SHARED_WITH_HOST | START);
    image.put16(at::MEMORY_USAGE + 8, KIB);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(image: &[u8], at: usize) -> usize {
        u16::from_le_bytes([image[at], image[at + 1]]).into()
    }

    #[test]
    fn it_is_a_rom_of_this_device() {
        let image = build(Identity::default());
        assert_eq!(image[..2], [0x55, 0xaa]);
        assert_eq!(usize::from(image[2]) * UNIT, BYTES);
        let sum = image.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        assert_eq!(sum, 0);
        let pci = word(&image, at::PCI_DATA_POINTER);
        assert_eq!(pci % 4, 0, "the kernel reads it by words");
        assert_eq!(&image[pci..pci + 4], b"PCIR");
        let identity = Identity::default().numbers().map(usize::from);
        assert_eq!([word(&image, pci + 4), word(&image, pci + 6)], identity);
        assert_eq!(word(&image, pci + 0x10) * UNIT, BYTES);
    }

    #[test]
    fn tables_are_whole_and_apart() {
        let image = build(Identity::default());
        let header = word(&image, at::ROM_HEADER_POINTER);
        assert_eq!(&image[header + 4..header + 8], b"ATOM");
        let commands = word(&image, header + 0x1e);
        let data = word(&image, header + 0x20);
        let mut tables = vec![header, commands, data];
        for (list, entries) in [(commands, COMMANDS), (data, TABLES)] {
            assert_eq!(word(&image, list), 4 + 2 * entries);
            let entries = (0..entries).map(|entry| word(&image, list + 4 + 2 * entry));
            tables.extend(entries.filter(|at| *at != 0));
        }
        tables.sort_unstable();
        assert_eq!(tables.len(), 7);
        for pair in tables.windows(2) {
            assert!(pair[0] + word(&image, pair[0]) <= pair[1], "{pair:x?}");
        }
    }

    #[test]
    fn nothing_is_initialised() {
        let image = build(Identity::default());
        let command = word(&image, word(&image, at::ROM_HEADER + 0x1e) + 4);
        assert_eq!(word(&image, command), 7);
        assert_eq!(image[command + 6], END_OF_TABLE);
    }
}
