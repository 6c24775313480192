// SPDX-License-Identifier: GPL-2.0-only
//! Address spaces as the registers describe them: the page table of each and
//! the process that owns it.

use super::Buses;
use crate::memory::{Gart, Space, Via};
use crate::registers::table::{athub, gc, mmhub};
use crate::registers::xcc_base;

impl Buses {
    /// The page table that the registers give an address space of a die, or
    /// of the memory hub, which the SDMA engines use.
    pub fn context_space(&self, vmid: u32, die: Option<u32>) -> Space {
        if vmid == 0 {
            return Space::Kernel;
        }
        let (root, via) = match die {
            Some(die) => (self.table_of(vmid, die), Via::Die(die)),
            None => {
                let low = mmhub::VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32 + 2 * vmid;
                (self.registers.get_wide(low, low + 1), Via::MemoryHub)
            }
        };
        Space::Process { root, via }
    }

    /// The page table that a die's registers give an address space.
    fn table_of(&self, vmid: u32, die: u32) -> u64 {
        let low = xcc_base(die) + gc::VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32 + 2 * vmid;
        self.registers.get_wide(low, low + 1)
    }

    /// The driver has a die forget the translations of these address spaces, a bit each.
    pub fn flush_spaces(&mut self, vmids: u32, die: u32) {
        for vmid in (1..16).filter(|vmid| (vmids >> vmid) & 1 != 0) {
            let pasid = self.pasid_of(vmid);
            let table = self.table_of(vmid, die);
            self.memory
                .flush((pasid != 0).then_some(pasid), &[table], die);
        }
    }

    /// The driver has a die forget the translations of a process, whether or not it has an
    /// address space now.
    pub fn flush_process(&mut self, pasid: u32, die: u32) {
        let tables: Vec<u64> = (1..16)
            .filter(|vmid| self.pasid_of(*vmid) == pasid)
            .map(|vmid| self.table_of(vmid, die))
            .collect();
        self.memory.flush(Some(pasid), &tables, die);
    }

    /// The driver changed the location of the kernel's flat table.
    pub fn update_gart(&mut self) {
        let registers = &self.registers;
        let page = |low| registers.get_wide(low, low + 1) << 12;
        let table = mmhub::VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32;
        self.memory.set_gart(Gart {
            start: page(mmhub::VM_CONTEXT0_PAGE_TABLE_START_ADDR_LO32),
            end: page(mmhub::VM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32) | 0xfff,
            table: registers.get_wide(table, table + 1) & 0xffff_ffff_f000,
        });
    }

    pub fn set_pasid_of(&mut self, vmid: u32, pasid: u32) {
        let valid = if pasid == 0 { 0 } else { 1 << 31 };
        self.registers
            .set(athub::ATC_VMID0_PASID_MAPPING + vmid, pasid | valid);
    }

    pub fn pasid_of(&self, vmid: u32) -> u32 {
        self.registers.get(athub::ATC_VMID0_PASID_MAPPING + vmid) & 0xffff
    }

    /// The driver assigned an address space to a process. It waits for this bit
    /// and clears it.
    pub fn pasid_written(&mut self, vmid: u32) {
        let status = athub::ATC_VMID_PASID_MAPPING_UPDATE_STATUS;
        let done = self.registers.get(status);
        self.registers.set(status, done | (1 << vmid));
    }
}
