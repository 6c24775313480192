// SPDX-License-Identifier: GPL-2.0-only
//! BAR 5: each register access goes to the engine that owns the register. All
//! other registers only keep what is written.

use crate::bus::Buses;
use crate::clock::Event;
use crate::engines::Engines;
use crate::host::By;
use crate::interrupt::{client, source, xcc_node, Interrupt, InterruptRing};
use crate::preempt;
use crate::registers::table::{athub, gc, ih, mmhub, mp, nbio, sdma};
use crate::registers::{place, sdma_ring, xcc_base, Place, RegisterFile};
use crate::slot;
use crate::terms::Exit;

pub fn read(engines: &mut Engines, address: u32, by: By) -> u32 {
    let bus = &mut engines.bus;
    bus.touched.read(address);
    if bus.config.virtual_function && !engines.host.may_read(address) {
        engines.host.refuse(address, by, false);
        return u32::MAX;
    }
    match place(address) {
        Place::Graphics { xcc, register } if xcc < bus.config.xcc_count => {
            read_graphics(engines, xcc, register, address)
        }
        Place::Sdma { instance, offset } => {
            engines.queues.read_sdma(bus, instance, offset, address)
        }
        Place::Other(nbio::BIF_BX_PF0_MM_DATA) => {
            let offset = indirect_vram_offset(bus);
            bus.memory.vram_read(offset)
        }
        Place::Other(nbio::BIF_BX0_PCIE_DATA2) => {
            let target = indirect_register(bus);
            bus.touched.far(target, false);
            bus.registers.get(target)
        }
        Place::Other(nbio::BIF_BX_PF0_GPU_HDP_FLUSH_DONE) => u32::MAX,
        Place::Other(nbio::BIF_BX_PF0_PARTITION_COMPUTE_STATUS) => bus.partition_mode() << 4,
        Place::Other(mmhub::VM_INVALIDATE_ENG0_SEM..=mmhub::VM_INVALIDATE_ENG17_SEM) => 1,
        Place::Other(mmhub::VM_INVALIDATE_ENG0_ACK..=mmhub::VM_INVALIDATE_ENG17_ACK) => 0xffff,
        _ => bus.registers.read(address),
    }
}

fn read_graphics(engines: &Engines, xcc: u32, register: u32, address: u32) -> u32 {
    let bus = &engines.bus;
    match register {
        gc::VM_INVALIDATE_ENG0_SEM..=gc::VM_INVALIDATE_ENG17_SEM => 1,
        gc::VM_INVALIDATE_ENG0_ACK..=gc::VM_INVALIDATE_ENG17_ACK => 0xffff,
        // A command in it is done as soon as it is written.
        gc::RLC_SAFE_MODE => bus.registers.read(address) & !1,
        gc::RLC_GPU_CLOCK_COUNT_LSB => bus.ticks() as u32,
        gc::RLC_GPU_CLOCK_COUNT_MSB => (bus.ticks() >> 32) as u32,
        register if RegisterFile::is_queue_register(register) => {
            let slot = bus.registers.selected_slot(xcc);
            slot::read_queue_register(engines, xcc, slot, register)
        }
        _ => {
            let waves = engines
                .compute
                .read_register(bus, &engines.queues, xcc, register);
            waves.unwrap_or_else(|| bus.registers.read(address))
        }
    }
}

pub fn write(engines: &mut Engines, address: u32, value: u32, by: By) {
    let bus = &mut engines.bus;
    bus.touched.written(address);
    if bus.config.virtual_function && !engines.host.may_write(address) {
        engines.host.refuse(address, by, true);
        return;
    }
    if write_indirect(bus, address, value) {
        return;
    }
    if address == athub::ATC_VMID_PASID_MAPPING_UPDATE_STATUS {
        let pending = bus.registers.get(address);
        bus.registers.set(address, pending & !value);
        return;
    }
    bus.registers.write(address, value);
    match place(address) {
        Place::Graphics { xcc, register } if xcc < bus.config.xcc_count => {
            write_graphics(engines, xcc, register, value);
        }
        Place::Sdma { instance, offset } => {
            if let Some((ring, sdma::RB_CNTL)) = sdma_ring(instance, offset) {
                bus.soon(Event::SdmaControl { ring });
            }
        }
        Place::Other(
            address @ athub::ATC_VMID0_PASID_MAPPING..=athub::ATC_VMID15_PASID_MAPPING,
        ) => bus.pasid_written(address - athub::ATC_VMID0_PASID_MAPPING),
        Place::Other(mp::MP0_SMN_C2PMSG_101) if bus.config.virtual_function => {
            engines.host.security_written(bus);
        }
        Place::Other(ih::IH_RB_CNTL) => {
            InterruptRing::control_written(&mut bus.registers, value);
        }
        Place::Other(
            mmhub::VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32
                ..=mmhub::VM_CONTEXT0_PAGE_TABLE_END_ADDR_HI32,
        ) => bus.update_gart(),
        _ => {}
    }
}

/// The firmware of a die accesses a register for the guest of a virtual function, which has
/// written what into two others: a value, and a command with the register's address. When
/// it is done, there is no address any more.
fn access_for_guest(engines: &mut Engines, xcc: u32) {
    const ADDRESS: u32 = 0xf_ffff;
    const WRITE: u32 = 0;
    const READ: u32 = 1;
    const WRITE_MEMORY_HUB: u32 = 2;
    const WRITE_AS_BEFORE: u32 = 8;
    const NOT_ALLOWED: u32 = 1 << 24;
    let registers = [gc::SCRATCH_REG0, gc::SCRATCH_REG1].map(|it| xcc_base(xcc) + it);
    let [value, command] = registers.map(|it| engines.bus.registers.get(it));
    let address = command & ADDRESS;
    let mut result = command & !ADDRESS;
    match command >> 28 {
        READ => {
            let value = read(engines, address, By::Firmware);
            engines.bus.registers.set(registers[0], value);
        }
        WRITE | WRITE_MEMORY_HUB | WRITE_AS_BEFORE => {
            if engines.host.may_write(address) {
                write(engines, address, value, By::Firmware);
            } else {
                engines.host.refuse(address, By::Firmware, true);
                result |= NOT_ALLOWED;
            }
        }
        other => {
            let note = format!("the firmware of die {xcc} has no access of kind {other}");
            engines.bus.note(note);
        }
    }
    engines.bus.registers.set(registers[1], result);
}

/// A write of one byte, which only the mailbox takes.
pub fn write_byte(engines: &mut Engines, offset: u64, value: u8) {
    const MAILBOX: u64 = nbio::BIF_BX_PF0_MAILBOX_CONTROL as u64;
    let bus = &mut engines.bus;
    match (offset / 4, (offset % 4) as u32) {
        (MAILBOX, byte) if bus.config.virtual_function => {
            bus.touched.written(MAILBOX as u32);
            engines.host.control_written(bus, byte, value);
        }
        _ => bus.note(format!("a byte is written to the register at {offset:#x}")),
    }
}

fn write_graphics(engines: &mut Engines, xcc: u32, register: u32, value: u32) {
    let bus = &mut engines.bus;
    let slot = bus.registers.selected_slot(xcc);
    match register {
        gc::CP_HQD_ACTIVE if value & 1 != 0 => bus.soon(Event::Activate { xcc, slot }),
        gc::CP_HQD_DEQUEUE_REQUEST if value & 0xf != 0 => {
            let exit = match value & 0xf {
                1 => Exit::Drain,
                2 => Exit::Kill,
                _ => Exit::Save,
            };
            bus.soon(Event::Dequeue { xcc, slot, exit });
        }
        gc::SPI_COMPUTE_QUEUE_RESET if value & 1 != 0 => {
            if let Some(key) = engines.queues.in_slot(xcc, slot) {
                preempt::force_exit(engines, key, 1 << xcc);
            }
        }
        gc::VM_INVALIDATE_ENG0_REQ..=gc::VM_INVALIDATE_ENG17_REQ => {
            bus.flush_spaces(value & 0xffff, xcc);
        }
        gc::RLC_SPARE_INT if value & 1 != 0 && bus.config.virtual_function => {
            access_for_guest(engines, xcc);
        }
        gc::CPC_INT_STATUS if value & (1 << 29) != 0 => bus.raise(&Interrupt {
            client: client::COMMAND_PROCESSOR,
            source: source::PRIVILEGED_QUEUE,
            node: xcc_node(xcc),
            ..Interrupt::default()
        }),
        _ => {}
    }
}

/// Writes by way of index and data registers; false if it is none.
fn write_indirect(bus: &mut Buses, address: u32, value: u32) -> bool {
    match place(address) {
        Place::Other(nbio::BIF_BX_PF0_MM_DATA) => {
            let offset = indirect_vram_offset(bus);
            bus.memory.vram_write(offset, &value.to_le_bytes());
        }
        Place::Other(nbio::BIF_BX0_PCIE_DATA2) => {
            let target = indirect_register(bus);
            bus.touched.far(target, true);
            bus.registers.set(target, value);
        }
        _ => return false,
    }
    true
}

fn indirect_vram_offset(bus: &Buses) -> u64 {
    let low = u64::from(bus.registers.get(nbio::BIF_BX_PF0_MM_INDEX) & 0x7fff_ffff);
    low | (u64::from(bus.registers.get(nbio::BIF_BX_PF0_MM_INDEX_HI)) << 31)
}

/// Registers behind the aperture are stored by their full dword address.
fn indirect_register(bus: &Buses) -> u32 {
    let low = u64::from(bus.registers.get(nbio::BIF_BX0_PCIE_INDEX2));
    let high = u64::from(bus.registers.get(nbio::BIF_BX0_PCIE_INDEX2_HI) & 0xff);
    ((low | (high << 32)) / 4) as u32
}
