// SPDX-License-Identifier: GPL-2.0-only
//! The registers that `s_getreg_b32` and `s_setreg_b32` reach.

/// A hardware register, by its number in those instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HardwareRegister {
    Mode,
    Status,
    TrapStatus,
    HardwareId,
    RegisterAllocation,
    ShareAllocation,
    InstructionBuffer,
    MemoryBases,
    DieId,
}

impl HardwareRegister {
    pub const ALL: [Self; 9] = [
        Self::Mode,
        Self::Status,
        Self::TrapStatus,
        Self::HardwareId,
        Self::RegisterAllocation,
        Self::ShareAllocation,
        Self::InstructionBuffer,
        Self::MemoryBases,
        Self::DieId,
    ];

    pub const fn number(self) -> u8 {
        match self {
            Self::Mode => 1,
            Self::Status => 2,
            Self::TrapStatus => 3,
            Self::HardwareId => 4,
            Self::RegisterAllocation => 5,
            Self::ShareAllocation => 6,
            Self::InstructionBuffer => 7,
            Self::MemoryBases => 15,
            Self::DieId => 20,
        }
    }

    /// The register of this number, if it is one that is modelled.
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|of| of.number() == number)
    }

    /// The bits that a program may set; the others stay as they are.
    pub const fn writable(self) -> u32 {
        match self {
            Self::Mode => 0xffff_ffff,
            Self::TrapStatus => 0xffff_ffff,
            _ => 0,
        }
    }
}
