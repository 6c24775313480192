// SPDX-License-Identifier: GPL-2.0-only
//! Packets that dispatch machine code: the registers of which a dispatch is made, the
//! dispatch, and what waits for its end.

use super::execute::Carrier;
use super::{CommandProcessor, Outcome};
use crate::compute::{Direct, Dispatch, Work};
use crate::layout::pm4;
use crate::layout::shader;
use crate::processor::IN_FLIGHT;
use crate::queue::Failure;
use crate::terms::Format;

const LANES: u32 = 64;

impl CommandProcessor<'_> {
    pub(super) fn set_shader_registers(
        &mut self,
        carrier: &Carrier,
        body: &[u32],
    ) -> Result<Outcome, Failure> {
        let packet = pm4::SetShaderRegisters(body);
        let first = shader::SET_FROM + packet.first();
        let values = packet.values();
        if first + values.len() as u32 > shader::SET_END {
            return Err(Failure::Packet(format!(
                "{} registers from {first:#x} on, which are none of shaders",
                values.len()
            )));
        }
        let Some(queue) = self.engines.queues.get_mut(carrier.key) else {
            return Ok(Outcome::Done);
        };
        let registers = queue.shader_mut();
        for (register, value) in (first..).zip(values) {
            registers.set(register, *value);
        }
        if carrier.role.is_user() && queue.format() == Format::Pm4 {
            let masks = shader::STATIC_THREAD_MGMT.map(|register| queue.shader().get(register));
            let compute = &mut self.engines.compute;
            compute.set_mask(carrier.key, carrier.home, masks);
        }
        Ok(Outcome::Done)
    }

    pub(super) fn event(&mut self, carrier: &Carrier, body: &[u32]) -> Outcome {
        let flushes = pm4::EventWrite(body).event() == pm4::PARTIAL_FLUSH;
        if flushes && self.has_waves(carrier) {
            Outcome::Held
        } else {
            Outcome::Done
        }
    }

    /// Whether dispatches by PM4 packets of the queue are not done.
    pub(super) fn has_waves(&self, carrier: &Carrier) -> bool {
        let engines = &*self.engines;
        let queue = engines.queues.get(carrier.key);
        queue.is_some_and(|queue| queue.format() == Format::Pm4)
            && engines.compute.in_flight(carrier.key) > 0
    }

    pub(super) fn dispatch_direct(
        &mut self,
        carrier: &Carrier,
        body: &[u32],
    ) -> Result<Outcome, Failure> {
        let engines = &mut *self.engines;
        let key = carrier.key;
        let Some(queue) = engines.queues.get_mut(key) else {
            return Ok(Outcome::Done);
        };
        if !carrier.role.is_user() || queue.format() != Format::Pm4 {
            let reason = "a dispatch by PM4 packets on a queue that is not a user's of PM4 packets";
            return Err(Failure::Packet(reason.to_owned()));
        }
        let packet = pm4::DispatchDirect(body);
        if !packet.is_whole() {
            return Err(Failure::Packet(format!(
                "a dispatch in {} dwords",
                body.len()
            )));
        }
        // One is launched at a time.
        let compute = &mut engines.compute;
        if compute.is_launching(key) || compute.in_flight(key) >= IN_FLIGHT {
            return Ok(Outcome::Held);
        }
        let number = queue.shader_mut().next_dispatch();
        let (counts, initiator) = (packet.counts(), packet.initiator());
        let local = engines.bus.config.local_memory();
        let direct = Direct::read(queue.shader(), counts, initiator, number, local);
        let Some(direct) = direct.map_err(Failure::Packet)? else {
            return Ok(Outcome::Done);
        };
        let work = Work::Machine(Box::new(direct.program));
        let waves = direct.items.div_ceil(LANES);
        let (groups, kernel) = (direct.workgroups, direct.kernel);
        let dispatch = Dispatch::new(number.into(), groups, waves, kernel, work, 0)
            .map_err(Failure::Packet)?;
        compute.begin_dispatch(&mut engines.bus, &engines.queues, key, dispatch);
        engines.launch_all();
        Ok(Outcome::Done)
    }
}
