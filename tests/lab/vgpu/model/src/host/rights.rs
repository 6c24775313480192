// SPDX-License-Identifier: GPL-2.0-only
//! Which registers are the guest's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Host;
use crate::registers::table::{gc, ih, mmhub, nbio};
use crate::registers::{named, place, Block, Place};

/// Who accesses a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// A processor of the guest's, through the aperture.
    Processor,
    /// A packet on a ring.
    Packet,
    /// The firmware of a die, for a processor of the guest's.
    Firmware,
}

/// An access that the guest was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForbiddenReport {
    pub block: Block,
    /// In dwords.
    pub register: u32,
    pub name: Option<String>,
    pub by: By,
    pub write: bool,
    pub times: u64,
}

/// How often each register was refused, to whom, and whether for writing.
pub(super) type Refused = BTreeMap<(u32, By, bool), u64>;

impl Host {
    pub fn refuse(&mut self, address: u32, by: By, write: bool) {
        *self.refused.entry((address, by, write)).or_default() += 1;
    }

    pub fn forbidden(&self) -> Vec<ForbiddenReport> {
        let report = |(&(address, by, write), &times): (&(u32, By, bool), &u64)| {
            let (block, register, name) = named(address);
            ForbiddenReport {
                block,
                register,
                name: name.map(str::to_owned),
                by,
                write,
                times,
            }
        };
        self.refused.iter().map(report).collect()
    }

    /// Whether the guest may read a register.
    pub fn may_read(&self, address: u32) -> bool {
        !matches!(
            place(address),
            Place::Other(
                nbio::RCC_STRAP0_RCC_DEV0_EPF0_STRAP0
                    | nbio::BIF_BX_PF0_PARTITION_MEM_CAP
                    | nbio::BIF_BX_PF0_PARTITION_COMPUTE_STATUS
                    | nbio::BIF_BX_PF0_PARTITION_MEM_STATUS
            )
        )
    }

    /// Whether the guest may write a register.
    pub fn may_write(&self, address: u32) -> bool {
        let is_hosts = match place(address) {
            Place::Graphics { register, .. } => matches!(
                register,
                gc::CP_HYP_XCP_CTL | gc::MC_VM_FB_LOCATION_BASE | gc::MC_VM_FB_LOCATION_TOP
            ),
            Place::Other(register) => matches!(
                register,
                ih::IH_RB_CNTL
                    | ih::IH_RB_CNTL_RING1
                    | mmhub::MC_VM_FB_LOCATION_BASE
                    | mmhub::MC_VM_FB_LOCATION_TOP
            ),
            Place::Sdma { .. } => false,
        };
        !is_hosts && self.may_read(address)
    }
}
