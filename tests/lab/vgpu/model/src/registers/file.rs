// SPDX-License-Identifier: GPL-2.0-only
//! Storage of registers. Most only remember what was written; the queue
//! registers exist once per hardware queue slot, some per address space, and
//! the driver selects which by GRBM_GFX_CNTL of the XCC.

use std::collections::HashMap;

use super::table::{gc, mmhub, mp, nbio, smuio};
use super::{hub_offset, io_dies, place, xcc_base, Place};
use crate::terms::{Config, Slot};

const QUEUE_FIRST: u32 = gc::CP_MQD_BASE_ADDR;
const QUEUE_LAST: u32 = gc::CP_HQD_AQL_DISPATCH_ID_HI;
/// Of RCC_IOV_FUNC_IDENTIFIER.
const IS_VIRTUAL: u32 = 1;
const HAS_VIRTUAL: u32 = 1 << 31;
/// Registers of one queue slot.
pub const QUEUE_REGISTERS: usize = (QUEUE_LAST - QUEUE_FIRST + 1) as usize;

#[derive(Clone)]
struct Xcc {
    selection: u32,
    queues: Box<[[u32; QUEUE_REGISTERS]; Slot::COUNT]>,
    spaces: HashMap<(u32, u32), u32>,
}

#[derive(Clone)]
pub struct RegisterFile {
    plain: HashMap<u32, u32>,
    xccs: Vec<Xcc>,
}

impl RegisterFile {
    /// All registers with their reset values.
    pub fn new(config: &Config, vram_bytes: u64, fb_base: u64) -> RegisterFile {
        let xcc = || Xcc {
            selection: 0,
            queues: Box::new([[0; QUEUE_REGISTERS]; Slot::COUNT]),
            spaces: HashMap::new(),
        };
        let mut file = RegisterFile {
            plain: HashMap::new(),
            xccs: (0..config.xcc_count).map(|_| xcc()).collect(),
        };
        let fb_top = fb_base + vram_bytes - 1;
        let first = (fb_base >> 24) as u32;
        let last = (fb_top >> 24) as u32;
        file.set(
            nbio::RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE,
            (vram_bytes >> 20) as u32,
        );
        // Revision 0 would be taken for early silicon.
        file.set(nbio::RCC_STRAP0_RCC_DEV0_EPF0_STRAP0, 1 << 24);
        if config.product.facts().has_processors {
            file.set(smuio::PACKAGE, smuio::HAS_PROCESSORS);
        }
        // The boot loader has placed the discovery table.
        file.set(mp::MP0_SMN_C2PMSG_33, 1 << 31);
        // A bit for each mode, by how many parts there are: in force, and possible.
        let mode = 1 << (config.memory_partitions - 1);
        file.set(nbio::BIF_BX_PF0_PARTITION_MEM_STATUS, mode << 4);
        file.set(nbio::BIF_BX_PF0_PARTITION_MEM_CAP, 1 | mode);
        for io_die in 0..io_dies(config) {
            let hub = hub_offset(io_die);
            file.set(hub + mmhub::MC_VM_FB_LOCATION_BASE, first);
            file.set(hub + mmhub::MC_VM_FB_LOCATION_TOP, last);
        }
        for xcc in 0..config.xcc_count {
            let base = xcc_base(xcc);
            file.set(base + gc::MC_VM_FB_LOCATION_BASE, first);
            file.set(base + gc::MC_VM_FB_LOCATION_TOP, last);
            file.set(base + gc::GB_ADDR_CONFIG, 0x2a11_4042);
            file.set(base + gc::CP_IQ_WAIT_TIME2, 0x4040_4040);
        }
        if config.virtual_function {
            file.set_by_host(config);
        }
        file
    }

    /// What the host of a virtual function has set before its guest comes.
    fn set_by_host(&mut self, config: &Config) {
        self.set(
            nbio::RCC_DEV0_EPF0_RCC_IOV_FUNC_IDENTIFIER,
            IS_VIRTUAL | HAS_VIRTUAL,
        );
        let all = config.xcc_count;
        for xcc in 0..all {
            self.set(xcc_base(xcc) + gc::CP_HYP_XCP_CTL, xcc | (all << 3));
        }
    }

    /// The stored value of an unbanked register.
    pub fn get(&self, address: u32) -> u32 {
        self.plain.get(&address).copied().unwrap_or(0)
    }

    pub fn set(&mut self, address: u32, value: u32) {
        self.plain.insert(address, value);
    }

    pub fn get_wide(&self, low: u32, high: u32) -> u64 {
        u64::from(self.get(low)) | (u64::from(self.get(high)) << 32)
    }

    /// The slot that the driver has selected on an XCC.
    pub fn selected_slot(&self, xcc: u32) -> Slot {
        let selection = self.xccs[xcc as usize].selection;
        Slot {
            me: (selection >> 2) & 3,
            pipe: selection & 3,
            queue: (selection >> 8) & 7,
        }
    }

    pub fn is_queue_register(register: u32) -> bool {
        (QUEUE_FIRST..=QUEUE_LAST).contains(&register)
    }

    /// A queue register of one slot.
    pub fn queue(&self, xcc: u32, slot: Slot, register: u32) -> u32 {
        self.xccs[xcc as usize].queues[slot.index()][(register - QUEUE_FIRST) as usize]
    }

    pub fn queue_wide(&self, xcc: u32, slot: Slot, low: u32) -> u64 {
        u64::from(self.queue(xcc, slot, low)) | (u64::from(self.queue(xcc, slot, low + 1)) << 32)
    }

    pub fn set_queue(&mut self, xcc: u32, slot: Slot, register: u32, value: u32) {
        self.xccs[xcc as usize].queues[slot.index()][(register - QUEUE_FIRST) as usize] = value;
    }

    /// Registers that each address space has of its own.
    fn is_space_register(register: u32) -> bool {
        matches!(
            register,
            gc::SH_MEM_BASES | gc::SH_MEM_CONFIG | gc::SQ_SHADER_TBA_LO..=gc::SQ_SHADER_TMA_HI
        )
    }

    /// What is stored in a register of an address space.
    pub fn of_space(&self, xcc: u32, vmid: u32, register: u32) -> u32 {
        let bank = self.xccs.get(xcc as usize);
        let stored = bank.and_then(|bank| bank.spaces.get(&(vmid, register)));
        stored.copied().unwrap_or(0)
    }

    /// Loads all registers of a slot at once, as from a queue's descriptor.
    pub fn load_queue(&mut self, xcc: u32, slot: Slot, values: &[u32; QUEUE_REGISTERS]) {
        self.xccs[xcc as usize].queues[slot.index()] = *values;
    }

    /// Reads what was stored, through the banks that the driver has selected.
    pub fn read(&self, address: u32) -> u32 {
        if let Place::Graphics { xcc, register } = place(address) {
            if let Some(bank) = self.xccs.get(xcc as usize) {
                if register == gc::GRBM_GFX_CNTL {
                    return bank.selection;
                }
                if Self::is_queue_register(register) {
                    return self.queue(xcc, self.selected_slot(xcc), register);
                }
                if Self::is_space_register(register) {
                    let vmid = (bank.selection >> 4) & 15;
                    return bank.spaces.get(&(vmid, register)).copied().unwrap_or(0);
                }
            }
        }
        self.get(address)
    }

    /// Stores through the banks that the driver has selected.
    pub fn write(&mut self, address: u32, value: u32) {
        if let Place::Graphics { xcc, register } = place(address) {
            if (xcc as usize) < self.xccs.len() {
                if register == gc::GRBM_GFX_CNTL {
                    self.xccs[xcc as usize].selection = value;
                    return;
                }
                if Self::is_queue_register(register) {
                    let slot = self.selected_slot(xcc);
                    self.set_queue(xcc, slot, register, value);
                    return;
                }
                if Self::is_space_register(register) {
                    let bank = &mut self.xccs[xcc as usize];
                    let vmid = (bank.selection >> 4) & 15;
                    bank.spaces.insert((vmid, register), value);
                    return;
                }
            }
        }
        self.set(address, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> RegisterFile {
        let config = Config {
            xcc_count: 2,
            ..Config::default()
        };
        RegisterFile::new(&config, 4 << 30, 0x80_0000_0000)
    }

    fn select(xcc: u32, slot: Slot, vmid: u32) -> (u32, u32) {
        let value = slot.pipe | (slot.me << 2) | (vmid << 4) | (slot.queue << 8);
        (xcc_base(xcc) + gc::GRBM_GFX_CNTL, value)
    }

    #[test]
    fn queue_registers_have_a_bank_per_die_and_slot() {
        let mut file = file();
        let slots = [
            Slot {
                me: 1,
                pipe: 0,
                queue: 0,
            },
            Slot {
                me: 1,
                pipe: 3,
                queue: 7,
            },
            Slot {
                me: 2,
                pipe: 1,
                queue: 0,
            },
        ];
        let mut value = 1;
        for xcc in 0..2 {
            for slot in slots {
                let (address, selection) = select(xcc, slot, 0);
                file.write(address, selection);
                file.write(xcc_base(xcc) + gc::CP_HQD_PQ_BASE, value);
                value += 1;
            }
        }
        let mut value = 1;
        for xcc in 0..2 {
            for slot in slots {
                let (address, selection) = select(xcc, slot, 0);
                file.write(address, selection);
                assert_eq!(file.read(address), selection);
                assert_eq!(file.read(xcc_base(xcc) + gc::CP_HQD_PQ_BASE), value);
                assert_eq!(file.queue(xcc, slot, gc::CP_HQD_PQ_BASE), value);
                value += 1;
            }
        }
    }

    #[test]
    fn apertures_have_a_bank_per_address_space() {
        let mut file = file();
        for vmid in [3, 8] {
            let (address, selection) = select(
                0,
                Slot {
                    me: 0,
                    pipe: 0,
                    queue: 0,
                },
                vmid,
            );
            file.write(address, selection);
            file.write(gc::SH_MEM_BASES, vmid * 100);
        }
        let (address, selection) = select(
            0,
            Slot {
                me: 0,
                pipe: 0,
                queue: 0,
            },
            3,
        );
        file.write(address, selection);
        assert_eq!(file.read(gc::SH_MEM_BASES), 300);
    }

    #[test]
    fn memory_size_and_place_follow_the_configuration() {
        let file = file();
        assert_eq!(file.read(nbio::RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE), 4096);
        assert_eq!(file.read(mmhub::MC_VM_FB_LOCATION_BASE), 0x8000);
        assert_eq!(file.read(mmhub::MC_VM_FB_LOCATION_TOP), 0x80ff);
        assert_eq!(file.read(xcc_base(1) + gc::MC_VM_FB_LOCATION_TOP), 0x80ff);
    }
}
