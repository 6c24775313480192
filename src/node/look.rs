// SPDX-License-Identifier: GPL-2.0-only

//! The look at a node's queues: what the driver says of them, then what the
//! programs' memory and the hardware say.

use kernel::prelude::*;
use kfd::{
    driver::{gpu::Present, hardware::HardwareSource, node::Node},
    kernel::thread::Running,
    look::{
        crowd::Known, hardware::Occupancy, registers::Registers, sampler::SamplerKind,
        survey::Survey,
    },
};

/// What the last look saw, and the memory for it.
pub(crate) struct Look {
    survey: Survey,
    occupancy: Occupancy,
    registers: Registers,
}

impl Look {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            survey: Survey::new()?,
            occupancy: Occupancy::new()?,
            registers: Registers::new()?,
        })
    }

    /// What was seen.
    pub(crate) fn survey(&self) -> &Survey {
        &self.survey
    }

    /// Reads the driver's lists, with what is known from the last look. Returns whom
    /// to ask about the hardware.
    pub(crate) fn take<'g>(
        &mut self,
        gpu: &'g Present<'_>,
        node: &Node<'_>,
        known: impl Iterator<Item = Known> + Clone,
    ) -> Option<HardwareSource<'g>> {
        self.survey.take(node, known);
        node.hardware_source(gpu)
    }

    /// Reads what the programs' memory and the hardware say of the queues. Where
    /// the sampler leaves it open, `ask_waves` says whether to count waves. While
    /// anything waits, they are counted too if a queue cannot be read, for it may be
    /// what runs.
    pub(crate) fn sample(
        &mut self,
        gpu: &Present<'_>,
        sampler: SamplerKind,
        ask_waves: bool,
        waits: bool,
        hardware: Option<HardwareSource<'_>>,
        thread: &mut Running,
    ) {
        if let (SamplerKind::Mmio, Some(source)) = (sampler, hardware) {
            self.survey.read_registers(gpu, &mut self.registers, source);
        }
        let counts = ask_waves || sampler == SamplerKind::Mmio;
        self.survey.read_pointers(thread, counts);
        let count = match sampler {
            SamplerKind::Memory => false,
            SamplerKind::Auto => ask_waves || (waits && self.survey.any_unread()),
            SamplerKind::Mmio => true,
        };
        if let (true, Some(source)) = (count, hardware) {
            self.survey.count_waves(gpu, &mut self.occupancy, source);
        }
    }

    /// Whether a queue that was seen has a packet that is not written yet.
    pub(crate) fn any_unwritten(&mut self, thread: &mut Running) -> bool {
        self.survey.any_unwritten(thread)
    }

    /// Forgets what was seen.
    pub(crate) fn clear(&mut self) {
        self.survey.clear();
    }
}
