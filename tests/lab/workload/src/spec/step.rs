// SPDX-License-Identifier: GPL-2.0-only
//! What a request launches: equal dispatches, one after the other.

use anyhow::{ensure, Result};
use serde::{Deserialize, Serialize};

use super::{one, Cost, KernelSpec};

/// GPU virtual memory is ample, guest memory is not.
const MAX_WORKGROUPS: u32 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    #[serde(default = "one")]
    pub dispatches: u32,
    pub workgroups: u32,
    /// Time of one workgroup.
    pub cost_ns: Cost,
    /// What a workgroup asks for of a compute unit's throughput, in thousandths. Where
    /// those on the GPU ask for more than it has, all take longer; a real GPU does that
    /// without being told.
    #[serde(default)]
    pub demand: u32,
    #[serde(default)]
    pub kernel: KernelSpec,
}

impl Step {
    pub(super) fn check(&self) -> Result<()> {
        ensure!(
            self.dispatches >= 1,
            "dispatches_per_request, and the dispatches of what follows, must be at least 1"
        );
        ensure!(
            (1..=MAX_WORKGROUPS).contains(&self.workgroups),
            "workgroups must be in 1..={MAX_WORKGROUPS}"
        );
        ensure!(
            self.demand <= 1000,
            "demand {} is above 1000, the whole of a compute unit",
            self.demand
        );
        ensure!(
            self.kernel.vector_registers <= 512 && self.kernel.scalar_registers <= 102,
            "a kernel has at most 512 vector and 102 scalar registers"
        );
        ensure!(
            self.kernel.lds_bytes <= 64 << 10,
            "a workgroup has at most 65536 bytes of LDS"
        );
        Ok(())
    }
}
