// SPDX-License-Identifier: GPL-2.0-only
//! Packets that move data between memory and registers.

use super::execute::Carrier;
use super::{CommandProcessor, Outcome};
use crate::aperture;
use crate::host::By;
use crate::layout::pm4;
use crate::queue::Failure;

impl CommandProcessor<'_> {
    pub(super) fn write_data(
        &mut self,
        carrier: &Carrier,
        body: &[u32],
    ) -> Result<Outcome, Failure> {
        let packet = pm4::WriteData(body);
        if packet.to_register() && !carrier.is_privileged() {
            return Err(Failure::Packet("register write by a user".into()));
        }
        for (index, value) in packet.values().iter().enumerate() {
            let step = if packet.same_address() { 0 } else { index };
            if packet.to_register() {
                let register = packet.register().wrapping_add(step as u32);
                aperture::write(self.engines, carrier.local(register), *value, By::Packet);
            } else {
                let at = packet.address().wrapping_add(step as u64 * 4);
                let memory = &mut self.engines.bus.memory;
                memory.write_u32(carrier.space, at, *value)?;
            }
        }
        Ok(Outcome::Done)
    }

    pub(super) fn copy_data(
        &mut self,
        carrier: &Carrier,
        body: &[u32],
    ) -> Result<Outcome, Failure> {
        let packet = pm4::CopyData(body);
        let space = carrier.space;
        let touches_register = packet.source() == 0 || packet.destination() == 0;
        if touches_register && !carrier.is_privileged() {
            return Err(Failure::Packet("register copy by a user".into()));
        }
        let memory = &mut self.engines.bus.memory;
        let value = match packet.source() {
            0 => {
                let register = carrier.local(packet.source_register());
                u64::from(aperture::read(self.engines, register, By::Packet))
            }
            1 | 2 if packet.is_wide() => memory.read_u64(space, packet.source_address())?,
            1 | 2 => u64::from(memory.read_u32(space, packet.source_address())?),
            5 => packet.source_address(),
            9 => self.engines.bus.ticks(),
            other => return Err(Failure::Packet(format!("copy from unknown source {other}"))),
        };
        let memory = &mut self.engines.bus.memory;
        let target = packet.destination_address();
        match packet.destination() {
            0 => {
                let register = carrier.local(packet.destination_register());
                aperture::write(self.engines, register, value as u32, By::Packet);
            }
            1 | 2 | 5 if packet.is_wide() => memory.write_u64(space, target, value)?,
            1 | 2 | 5 => memory.write_u32(space, target, value as u32)?,
            other => return Err(Failure::Packet(format!("copy to unknown place {other}"))),
        }
        Ok(Outcome::Done)
    }

    pub(super) fn release_mem(
        &mut self,
        carrier: &Carrier,
        body: &[u32],
    ) -> Result<Outcome, Failure> {
        if self.has_waves(carrier) {
            return Ok(Outcome::Held);
        }
        let packet = pm4::ReleaseMem(body);
        let bus = &mut self.engines.bus;
        let (space, address) = (carrier.space, packet.address());
        let ticks = bus.ticks();
        match packet.data() {
            0 => {}
            1 => bus
                .memory
                .write_u32(space, address, packet.value() as u32)?,
            2 => bus.memory.write_u64(space, address, packet.value())?,
            3 => bus.memory.write_u64(space, address, ticks)?,
            other => return Err(Failure::Packet(format!("release of unknown data {other}"))),
        }
        if packet.interrupt() != 0 {
            let queues = &self.engines.queues;
            queues.end_of_pipe_interrupt(bus, carrier.key, packet.context());
        }
        Ok(Outcome::Done)
    }
}
