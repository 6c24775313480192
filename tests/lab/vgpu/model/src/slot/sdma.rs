// SPDX-License-Identifier: GPL-2.0-only
//! Loading queues into the rings of the SDMA engines.

use crate::bus::Buses;
use crate::engines::Engines;
use crate::layout::descriptor::sdma as mqd;
use crate::memory::{MemoryFault, Space};
use crate::queue::{Identity, Queue};
use crate::registers::sdma_register;
use crate::registers::table::sdma;
use crate::terms::{Format, QueueKey, Role, SdmaRing, Seat, WaveSettings};

const DOORBELL_ENABLE: u32 = 1 << 28;

/// Bytes of a ring, as its control register says.
fn ring_bytes(control: u32) -> u64 {
    4 << ((control >> 1) & 0x1f)
}

/// The driver enabled or disabled an SDMA ring.
pub fn sdma_control(engines: &mut Engines, ring: SdmaRing) {
    let control = sdma_register(ring, sdma::RB_CNTL);
    let control = engines.bus.registers.get(control);
    let enabled = control & 1 != 0;
    match (engines.queues.on_ring(ring), enabled) {
        (Some(key), false) => {
            if let Some(queue) = engines.queues.get(key) {
                queue.store_sdma_pointers(&mut engines.bus, ring);
            }
            engines.queues.drop_left(&mut engines.bus, key);
        }
        (None, true) => enable(engines, ring, control),
        _ => {}
    }
}

fn enable(engines: &mut Engines, ring: SdmaRing, control: u32) {
    let is_user = ring.registers >= sdma::RLC0;
    let queue = from_registers(&engines.bus, ring, control, is_user);
    let key = engines.queues.insert(queue);
    if is_user {
        engines.queues.account_mapped(&mut engines.bus, key);
    }
    engines.queues.kick(&mut engines.bus, key);
}

fn from_registers(bus: &Buses, ring: SdmaRing, control: u32, is_user: bool) -> Queue {
    let get = |register| bus.registers.get(sdma_register(ring, register));
    let wide = |low, high| u64::from(get(low)) | (u64::from(get(high)) << 32);
    let vmid = if is_user { (control >> 24) & 0xf } else { 0 };
    let has_doorbell = get(sdma::DOORBELL) & DOORBELL_ENABLE != 0;
    let doorbell = (get(sdma::DOORBELL_OFFSET) >> 2) & 0x3ff_ffff;
    let identity = Identity {
        role: if is_user { Role::Manual } else { Role::Kernel },
        format: Format::Sdma,
        seat: Seat::Sdma(ring),
        doorbell: has_doorbell.then_some(doorbell),
        space: bus.context_space(vmid, None),
        vmid,
        pasid: if is_user { bus.pasid_of(vmid) } else { 0 },
        ring: wide(sdma::RB_BASE, sdma::RB_BASE_HI) << 8,
        ring_bytes: ring_bytes(control),
        report_address: wide(sdma::RB_RPTR_ADDR_LO, sdma::RB_RPTR_ADDR_HI) & !3,
        pipe_priority: 0,
        is_static: true,
        settings: WaveSettings::default(),
    };
    let read = wide(sdma::RB_RPTR, sdma::RB_RPTR_HI);
    let write = wide(sdma::RB_WPTR, sdma::RB_WPTR_HI);
    Queue::new(identity, 0, 1, read, write)
}

/// A queue of the scheduler's runlist and the ring it gets.
pub struct ListedRing {
    pub ring: SdmaRing,
    /// The first of the partition whose ring it is.
    pub die: u32,
    pub space: Space,
    pub vmid: u32,
    pub pasid: u32,
    pub descriptor: u64,
    pub write_address: u64,
    pub doorbell: u32,
    pub is_static: bool,
    pub settings: WaveSettings,
}

/// Loads a queue of the runlist from its descriptor.
pub fn load_listed(engines: &mut Engines, listed: &ListedRing) -> Result<QueueKey, MemoryFault> {
    let bus = &mut engines.bus;
    let ring = listed.ring;
    let word = |dword: u64| {
        bus.memory
            .read_u32(Space::Kernel, listed.descriptor.wrapping_add(dword * 4))
    };
    let wide = |low: u64, high: u64| -> Result<u64, MemoryFault> {
        Ok(u64::from(word(low)?) | (u64::from(word(high)?) << 32))
    };
    let control = word(mqd::RB_CNTL)?;
    let read = wide(mqd::RB_RPTR, mqd::RB_RPTR + 1)?;
    let base = wide(mqd::RB_BASE, mqd::RB_BASE + 1)?;
    let report = wide(mqd::RB_RPTR_ADDR_LO, mqd::RB_RPTR_ADDR_HI)?;
    let activity = wide(mqd::UTILIZATION, mqd::UTILIZATION + 1)?;
    let doorbell_offset = word(mqd::DOORBELL_OFFSET)?;
    for (register, value) in [
        (sdma::RB_CNTL, control | 1),
        (sdma::RB_BASE, base as u32),
        (sdma::RB_BASE_HI, (base >> 32) as u32),
        (sdma::DOORBELL, DOORBELL_ENABLE),
        (sdma::DOORBELL_OFFSET, doorbell_offset),
    ] {
        bus.registers.set(sdma_register(ring, register), value);
    }
    let identity = Identity {
        role: Role::User,
        format: Format::Sdma,
        seat: Seat::Sdma(ring),
        doorbell: Some(listed.doorbell),
        space: listed.space,
        vmid: listed.vmid,
        pasid: listed.pasid,
        ring: base << 8,
        ring_bytes: ring_bytes(control),
        report_address: report & !3,
        pipe_priority: 0,
        is_static: listed.is_static,
        settings: listed.settings,
    };
    let mut queue = Queue::new(identity, listed.die, 1 << listed.die, read, read)
        .with_descriptor(listed.descriptor, 0)
        .with_busy_nanos(activity * 10);
    queue.read_write_pointer(bus, listed.write_address);
    let key = engines.queues.insert(queue);
    engines.queues.account_mapped(bus, key);
    engines.queues.kick(bus, key);
    Ok(key)
}
