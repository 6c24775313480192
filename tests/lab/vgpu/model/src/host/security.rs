// SPDX-License-Identifier: GPL-2.0-only
//! The security processor, as far as a virtual function has it: a ring of commands, of
//! which the one that has a meaning writes registers that are not the guest's. Numbers and
//! layouts are those of the driver's psp_gfx_if.h.

use super::Host;
use crate::bus::Buses;
use crate::clock::{Event, HostStep};
use crate::interrupt::InterruptRing;
use crate::memory::{MemoryFault, Space};
use crate::registers::table::{ih, mp};

/// Commands of the register C2PMSG_101.
mod control {
    pub const CREATE: u32 = 2 << 16;
    pub const CONSUME: u32 = 9 << 16;
    pub const DESTROY: u32 = 12 << 16;
}

/// What that register says when the command was done, above a status of 0.
const DONE: u32 = 1 << 31;

/// Bytes of the ring, and of a frame in it.
const RING: u32 = 4096;
const FRAME: u32 = 64;

/// The command that writes a register, and where a command's parts are.
const WRITE_REGISTER: u32 = 11;
const COMMAND: u64 = 8;
const VALUE: u64 = 28;
const NUMBER: u64 = 32;
const STATUS: u64 = 864;

/// The ring of commands.
#[derive(Clone, Copy, Default)]
pub(super) struct CommandRing {
    address: u64,
    /// Bytes.
    read: u32,
}

impl Host {
    /// The guest has written the register for commands.
    pub fn security_written(&mut self, bus: &mut Buses) {
        bus.soon(Event::Host(HostStep::Security));
    }

    pub(super) fn security(&mut self, bus: &mut Buses) {
        let command = bus.registers.get(mp::MP0_SMN_C2PMSG_101);
        match command & !DONE {
            control::CREATE => {
                let address = bus
                    .registers
                    .get_wide(mp::MP0_SMN_C2PMSG_102, mp::MP0_SMN_C2PMSG_103);
                self.ring = Some(CommandRing { address, read: 0 });
                // From now on it is the write pointer.
                bus.registers.set(mp::MP0_SMN_C2PMSG_102, 0);
            }
            control::DESTROY => self.ring = None,
            control::CONSUME => {
                if let Err(fault) = self.consume(bus) {
                    bus.note(format!("the security processor meets {fault:?}"));
                }
            }
            other => bus.note(format!("the security processor has no command {other:#x}")),
        }
        bus.registers
            .set(mp::MP0_SMN_C2PMSG_101, (command & 0x7fff_0000) | DONE);
    }

    /// Does what was written to the ring.
    fn consume(&mut self, bus: &mut Buses) -> Result<(), MemoryFault> {
        let Some(mut ring) = self.ring else {
            return Ok(());
        };
        let write = bus.registers.get(mp::MP0_SMN_C2PMSG_102) * 4 % RING;
        while ring.read != write {
            let frame = ring.address.wrapping_add(u64::from(ring.read));
            ring.read = (ring.read + FRAME) % RING;
            self.ring = Some(ring);
            let [low, high, _, fence_low, fence_high, fence]: [u32; 6] =
                bus.memory.read_dwords(Space::Kernel, frame)?;
            let wide = |low: u32, high: u32| u64::from(low) | (u64::from(high) << 32);
            let buffer = wide(low, high);
            run(bus, buffer)?;
            bus.memory
                .write_u32(Space::Kernel, buffer.wrapping_add(STATUS), 0)?;
            bus.memory
                .write_u32(Space::Kernel, wide(fence_low, fence_high), fence)?;
        }
        Ok(())
    }
}

/// Firmware that is to be loaded is there already.
fn run(bus: &mut Buses, buffer: u64) -> Result<(), MemoryFault> {
    let word = |at: u64| bus.memory.read_u32(Space::Kernel, buffer.wrapping_add(at));
    if word(COMMAND)? != WRITE_REGISTER {
        return Ok(());
    }
    let (value, number) = (word(VALUE)?, word(NUMBER)?);
    match number {
        0 => {
            bus.registers.write(ih::IH_RB_CNTL, value);
            InterruptRing::control_written(&mut bus.registers, value);
        }
        1 => bus.registers.write(ih::IH_RB_CNTL_RING1, value),
        other => bus.note(format!("the security processor has no register {other}")),
    }
    Ok(())
}
