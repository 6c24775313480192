// SPDX-License-Identifier: GPL-2.0-only
//! The discovery table: what the driver reads from the end of video memory to
//! learn which blocks the GPU has and where their registers lie.

use crate::registers::table::base;
use crate::registers::{hub_offset, io_dies, sdma_base, xcc_base};
use crate::terms::Config;

/// How far before the end of video memory the table lies.
pub const FROM_END: u64 = 64 << 10;

const TABLE_COUNT: usize = 6;
const BINARY_HEADER: usize = 12 + TABLE_COUNT * 8;
const IP_HEADER: usize = 4 + 2 + 2 + 4 + 2 + 16 * 4 + 2;

/// Hardware ids of the driver's soc15_hw_ip.h.
mod hardware {
    pub const MP1: u16 = 1;
    pub const THM: u16 = 3;
    pub const SMUIO: u16 = 4;
    pub const GC: u16 = 11;
    pub const VCN: u16 = 12;
    pub const MMHUB: u16 = 34;
    pub const ATHUB: u16 = 35;
    pub const OSSSYS: u16 = 40;
    pub const HDP: u16 = 41;
    pub const SDMA0: u16 = 42;
    pub const DF: u16 = 46;
    pub const NBIF: u16 = 108;
    pub const MP0: u16 = 255;
}

fn push16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn push32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn checksum(bytes: &[u8]) -> u16 {
    bytes
        .iter()
        .fold(0, |sum, byte| sum.wrapping_add(u16::from(*byte)))
}

struct Blocks {
    bytes: Vec<u8>,
    count: u16,
}

impl Blocks {
    fn add(&mut self, id: u16, instance: u8, version: (u8, u8, u8), bases: &[u32]) {
        push16(&mut self.bytes, id);
        let (major, minor, revision) = version;
        self.bytes
            .extend_from_slice(&[instance, bases.len() as u8, major, minor, revision, 0]);
        for base in bases {
            push32(&mut self.bytes, *base);
        }
        self.count += 1;
    }

    /// Gives the block that was added last a revision below its version. A virtual
    /// function reads there of which stepping the GPU is, 0 being early silicon.
    fn revise(&mut self, revision: u8) {
        let bases = 4 * base::NBIO.len();
        let at = self.bytes.len() - bases - 1;
        self.bytes[at] = revision;
    }
}

fn blocks(config: &Config) -> Blocks {
    let mut blocks = Blocks {
        bytes: Vec::new(),
        count: 0,
    };
    let facts = config.product.facts();
    let versions = facts.versions;
    for xcc in 0..config.xcc_count {
        let bases: Vec<u32> = base::GC.iter().map(|base| base + xcc_base(xcc)).collect();
        blocks.add(hardware::GC, xcc as u8, versions.graphics, &bases);
    }
    blocks.add(hardware::HDP, 0, versions.host_path, base::HDP);
    for engine in 0..config.sdma_count {
        let bases = [sdma_base(engine), base::SDMA0[1]];
        blocks.add(hardware::SDMA0, engine as u8, versions.copies, &bases);
    }
    for io_die in 0..io_dies(config) {
        let bases = [base::MMHUB[0] + hub_offset(io_die), base::MMHUB[1]];
        blocks.add(hardware::MMHUB, io_die as u8, versions.memory_hub, &bases);
    }
    blocks.add(hardware::ATHUB, 0, (1, 8, 0), base::ATHUB);
    // What the driver accesses of the others' lies outside the aperture, where the upper bits
    // of an address say which is meant, or is the first one's.
    for io_die in 0..io_dies(config) {
        let version = versions.bus_interface;
        blocks.add(hardware::NBIF, io_die as u8, version, base::NBIO);
        if config.virtual_function {
            blocks.revise(1);
        }
    }
    // 13.0.2, not the real 13.0.6: the latter would bring up error handling
    // that lives in firmware this GPU does not have.
    blocks.add(hardware::MP0, 0, (13, 0, 2), base::MP);
    // 9.0.0, not the real 13.0.6: Linux 6.12 would ask the latter's SMU, which this GPU
    // does not have, how to reset it.
    let management = match config.virtual_function || facts.has_processors {
        false => (9, 0, 0),
        // The driver of a virtual function among several asks it nothing. A GPU in one
        // package with processors has no video BIOS to say how fast its clock is: the
        // driver knows it by this version. What it loses is a reset of the whole GPU.
        true => (13, 0, 6),
    };
    blocks.add(hardware::MP1, 0, management, base::MP);
    blocks.add(hardware::DF, 0, (4, 9, 9), base::DF);
    blocks.add(hardware::OSSSYS, 0, versions.interrupts, base::OSSSYS);
    blocks.add(hardware::SMUIO, 0, versions.package, base::SMUIO);
    blocks.add(hardware::THM, 0, (13, 0, 6), base::THM);
    // Linux 7.2 refuses a GPU without a video decoder. 2.0.3 is one for which
    // the driver has nothing to bring up.
    blocks.add(hardware::VCN, 0, (2, 0, 3), &[0]);
    blocks
}

fn ip_table(config: &Config) -> Vec<u8> {
    let blocks = blocks(config);
    let die_offset = (BINARY_HEADER + IP_HEADER) as u16;
    let mut table = Vec::new();
    push32(&mut table, 0x5344_5049); // "IPDS"
    push16(&mut table, 3); // 32-bit base addresses
    push16(&mut table, (IP_HEADER + 4 + blocks.bytes.len()) as u16);
    push32(&mut table, 0);
    push16(&mut table, 1); // dies
    for die in 0..16 {
        push16(&mut table, die);
        push16(&mut table, if die == 0 { die_offset } else { 0 });
    }
    push16(&mut table, 0);
    push16(&mut table, 0); // die id
    push16(&mut table, blocks.count);
    table.extend_from_slice(&blocks.bytes);
    table
}

/// The shape of one XCC (struct gc_info_v2_1).
fn gc_table(config: &Config) -> Vec<u8> {
    let fields = [
        Config::SHADER_ENGINES,
        config.cu_per_shader_engine,
        1,    // shader arrays per engine
        1,    // render back ends
        16,   // L2 channels
        256,  // registers per lane that one wave may have
        32,   // geometry shader threads
        32,   // geometry shader table
        1792, // geometry shader buffer
        0,
        0,
        64, // lanes of a wave
        8,  // waves per SIMD
        32, // scratch slots per CU
        config.local_memory().bytes >> 10,
        1,
        1,
        config.cu_per_shader_engine,
        32, // L1, KiB
        16,
        2,    // CUs that share an instruction cache
        64,   // instruction cache, KiB
        16,   // scalar cache, KiB
        4096, // L2, KiB
    ];
    let mut table = Vec::new();
    push32(&mut table, 0x4347); // "GC"
    push16(&mut table, 2);
    push16(&mut table, 1);
    push32(&mut table, (12 + fields.len() * 4) as u32);
    for field in fields {
        push32(&mut table, field);
    }
    table
}

/// No block is harvested.
fn harvest_table() -> Vec<u8> {
    let mut table = vec![0; 8 + 32 * 4];
    table[..4].copy_from_slice(b"HARV");
    table
}

/// The whole binary.
pub fn build(config: &Config) -> Vec<u8> {
    let tables = [ip_table(config), gc_table(config), harvest_table()];
    let mut binary = vec![0; BINARY_HEADER];
    binary[..4].copy_from_slice(&0x2821_1407u32.to_le_bytes());
    binary[4..6].copy_from_slice(&1u16.to_le_bytes());
    for (index, table) in tables.iter().enumerate() {
        let offset = binary.len() as u16;
        let entry = &mut binary[12 + index * 8..][..8];
        entry[..2].copy_from_slice(&offset.to_le_bytes());
        entry[2..4].copy_from_slice(&checksum(table).to_le_bytes());
        entry[4..6].copy_from_slice(&(table.len() as u16).to_le_bytes());
        binary.extend_from_slice(table);
    }
    let length = binary.len() as u16;
    binary[10..12].copy_from_slice(&length.to_le_bytes());
    let sum = checksum(&binary[10..]);
    binary[8..10].copy_from_slice(&sum.to_le_bytes());
    binary
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(bytes: &[u8], at: usize) -> u16 {
        u16::from_le_bytes([bytes[at], bytes[at + 1]])
    }

    #[test]
    fn checksums_and_lengths_agree() {
        for (xcc_count, sdma_count) in [(1, 4), (8, 4), (8, 16)] {
            let config = Config {
                xcc_count,
                sdma_count,
                ..Config::default()
            };
            let binary = build(&config);
            assert_eq!(word(&binary, 10) as usize, binary.len());
            assert_eq!(word(&binary, 8), checksum(&binary[10..]));
            assert!(binary.len() < 10 << 10, "the driver reads 10 KiB");
            let mut end = BINARY_HEADER;
            for table in 0..3 {
                let (offset, size) = (word(&binary, 12 + table * 8), word(&binary, 16 + table * 8));
                assert_eq!(offset as usize, end);
                end += size as usize;
                let bytes = &binary[offset as usize..end];
                assert_eq!(word(&binary, 14 + table * 8), checksum(bytes));
            }
            assert_eq!(end, binary.len());
        }
    }

    #[test]
    fn every_die_and_engine_is_listed_once() {
        let config = Config {
            xcc_count: 8,
            sdma_count: 16,
            ..Config::default()
        };
        let binary = build(&config);
        let mut at = word(&binary, BINARY_HEADER + 14 + 2) as usize;
        let count = word(&binary, at + 2);
        at += 4;
        let mut graphics = Vec::new();
        let mut others = [(); 3].map(|()| Vec::new());
        let kinds = [hardware::SDMA0, hardware::MMHUB, hardware::NBIF];
        for _ in 0..count {
            let bases = binary[at + 3] as usize;
            if word(&binary, at) == hardware::GC {
                graphics.push(binary[at + 2]);
            }
            for (instances, kind) in others.iter_mut().zip(kinds) {
                if word(&binary, at) == kind {
                    instances.push(binary[at + 2]);
                }
            }
            at += 8 + bases * 4;
        }
        assert_eq!(graphics, (0..8).collect::<Vec<u8>>());
        let counted = [16, 4, 4].map(|count| (0..count).collect::<Vec<u8>>());
        assert_eq!(others, counted);
        assert_eq!(at, word(&binary, 12 + 8) as usize, "the next table follows");
    }
}
