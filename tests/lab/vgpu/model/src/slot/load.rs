// SPDX-License-Identifier: GPL-2.0-only
//! Loading a compute queue into a slot.

use crate::bus::{Buses, Partition};
use crate::engines::Engines;
use crate::layout::descriptor as mqd;
use crate::layout::shader::{self, ShaderRegisters};
use crate::memory::{MemoryFault, Space};
use crate::queue::{full_pointer, Identity, Indirect, Queue};
use crate::registers::table::gc;
use crate::registers::QUEUE_REGISTERS;
use crate::terms::{Format, QueueKey, Role, Seat, Slot, WaveSettings};

const DOORBELL_ENABLE: u32 = 1 << 30;

/// Position of a descriptor's dword in the slot's registers.
const fn register(dword: u64) -> u32 {
    gc::CP_MQD_BASE_ADDR + (dword - mqd::REGISTERS) as u32
}

/// Where a queue comes from, for [`load_slot`].
pub struct Loading {
    pub role: Role,
    pub vmid: u32,
    pub pasid: u32,
    pub space: Space,
    /// Where to read the write pointer, unless the registers say it.
    pub write_address: Option<u64>,
    /// Replaces the one that the registers name; dword index in BAR 2.
    pub doorbell: Option<u32>,
    /// Replaces the one that the registers name: the first die's descriptor and
    /// how far behind it the next die's is.
    pub descriptor: Option<(u64, u64)>,
    pub is_static: bool,
    pub settings: WaveSettings,
}

/// Copies a descriptor into the registers of a slot of one die.
pub fn load_registers(
    bus: &mut Buses,
    die: u32,
    slot: Slot,
    descriptor: u64,
    vmid: u32,
) -> Result<(), MemoryFault> {
    let first = descriptor.wrapping_add(mqd::REGISTERS * 4);
    let mut values: [u32; QUEUE_REGISTERS] = bus.memory.read_dwords(Space::Kernel, first)?;
    let place = |register: u32| (register - gc::CP_MQD_BASE_ADDR) as usize;
    values[place(gc::CP_HQD_ACTIVE)] = 1;
    values[place(gc::CP_HQD_VMID)] = vmid;
    values[place(gc::CP_HQD_PQ_DOORBELL_CONTROL)] |= DOORBELL_ENABLE;
    bus.registers.load_queue(die, slot, &values);
    Ok(())
}

/// Makes a queue of the registers of a slot on some dies.
pub fn load_slot(
    engines: &mut Engines,
    home: u32,
    dies: u32,
    slot: Slot,
    loading: Loading,
) -> QueueKey {
    let bus = &engines.bus;
    let get = |register| bus.registers.queue(home, slot, register);
    let wide = |register| bus.registers.queue_wide(home, slot, register);
    let control = get(gc::CP_HQD_PQ_CONTROL);
    let is_aql = get(register(mqd::AQL_CONTROL)) & 1 != 0;
    let doorbell_control = get(gc::CP_HQD_PQ_DOORBELL_CONTROL);
    let doorbell = (doorbell_control >> 2) & 0x3ff_ffff;
    let doorbell = (doorbell_control & DOORBELL_ENABLE != 0).then_some(doorbell);
    let identity = Identity {
        role: loading.role,
        format: if is_aql { Format::Aql } else { Format::Pm4 },
        seat: Seat::Compute(slot),
        doorbell: loading.doorbell.or(doorbell),
        space: loading.space,
        vmid: loading.vmid,
        pasid: loading.pasid,
        ring: wide(gc::CP_HQD_PQ_BASE) << 8,
        ring_bytes: 8 << (control & 0x3f).min(40),
        report_address: wide(register(mqd::PQ_RPTR_REPORT)) & !3,
        pipe_priority: get(register(mqd::PIPE_PRIORITY)) & 3,
        is_static: loading.is_static,
        settings: loading.settings,
    };
    let mut write = wide(gc::CP_HQD_PQ_WPTR_LO);
    let mut read = full_pointer(get(gc::CP_HQD_PQ_RPTR), write);
    if is_aql {
        read >>= 4;
        write >>= 4;
    }
    let own = (wide(gc::CP_MQD_BASE_ADDR), 0);
    let (first, stride) = loading.descriptor.unwrap_or(own);
    let partition = bus.partition_of(home);
    let mut queue = Queue::new(identity, home, dies, read, write)
        .of_partition(partition.first)
        .with_descriptor(first, stride);
    if let Some(address) = loading.write_address.filter(|address| *address != 0) {
        queue.read_write_pointer(bus, address);
    }
    let key = engines.queues.insert(queue);
    engines
        .compute
        .open(&engines.bus.config, key, partition.mask());
    key
}

/// How far apart the dies' descriptors of a queue are.
pub fn descriptor_stride(bus: &Buses, descriptor: u64) -> Result<u64, MemoryFault> {
    if bus.config.xcc_count == 1 {
        return Ok(0);
    }
    let at = descriptor.wrapping_add(mqd::STRIDE * 4);
    Ok(u64::from(bus.memory.read_u32(Space::Kernel, at)?))
}

/// The die that reads a queue's packets, as its first descriptor says. All dies of its
/// partition run what is in AQL packets, which the first one reads.
pub fn reading_die(bus: &Buses, descriptor: u64, partition: Partition) -> Result<u32, MemoryFault> {
    let read = |dword: u64| {
        let at = descriptor.wrapping_add(dword * 4);
        bus.memory.read_u32(Space::Kernel, at)
    };
    if read(mqd::AQL_CONTROL)? & 1 != 0 {
        return Ok(partition.first);
    }
    let target = read(mqd::PM4_TARGET_XCC)?;
    Ok(partition
        .dies()
        .nth(target as usize)
        .unwrap_or(partition.first))
}

/// Takes what a die's descriptor says besides the slot's registers.
pub fn load_die_settings(
    engines: &mut Engines,
    key: QueueKey,
    die: u32,
) -> Result<(), MemoryFault> {
    let Some(queue) = engines.queues.get_mut(key) else {
        return Ok(());
    };
    let descriptor = queue.descriptor_of(die).unwrap_or(0);
    let memory = &engines.bus.memory;
    let read = |dword: u64| memory.read_u32(Space::Kernel, descriptor.wrapping_add(dword * 4));
    let mut mask = [0; 4];
    for (engine, dword) in mask.iter_mut().zip(mqd::STATIC_THREAD_MGMT) {
        *engine = read(dword)?;
    }
    let logical = read(mqd::CURRENT_LOGIC_XCC)?;
    let chunk = read(mqd::TG_CHUNK_SIZE)?;
    let buffer = Indirect {
        space: queue.space(),
        address: u64::from(read(mqd::IB_BASE)?) | (u64::from(read(mqd::IB_BASE + 1)?) << 32),
        dwords: read(mqd::IB_RPTR)?,
    };
    engines.compute.set_mask(key, die, mask);
    if queue.format() == Format::Aql {
        engines.compute.set_dealing(key, die, logical, chunk);
        return Ok(());
    }
    let home = queue.home();
    engines.compute.set_only_die(key, home);
    if die == home {
        if buffer.dwords > 0 {
            queue.enter_buffer(buffer);
        }
        let at = descriptor.wrapping_add(shader::IN_DESCRIPTOR * 4);
        let words = engines.bus.memory.read_dwords(Space::Kernel, at)?;
        queue.load_shader(ShaderRegisters::from_descriptor(words));
    }
    Ok(())
}
