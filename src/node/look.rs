// SPDX-License-Identifier: GPL-2.0-only

//! The look at a node's queues: what the driver says of them, then what the
//! programs' memory and the hardware say.

use gpreempt_policy::SamplerKind;
use kernel::prelude::*;
use kfd::{
    driver::{
        gpu::Present,
        hardware::{HardwareSource, Waves},
    },
    kernel::thread::Running,
    look::{registers::Registers, survey::Survey},
};

/// The memory for a look.
pub(crate) struct Look {
    /// What the last one saw.
    pub(crate) survey: Survey,
    waves: Waves,
    registers: Registers,
}

impl Look {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            survey: Survey::new()?,
            waves: Waves::new()?,
            registers: Registers::new()?,
        })
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
            self.survey.count_waves(gpu, &mut self.waves, source);
        }
    }
}
