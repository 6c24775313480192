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
    /// Where the trap handler and its memory are, shifted right by 8 bits.
    HandlerLower,
    HandlerUpper,
    HandlerMemoryLower,
    HandlerMemoryUpper,
}

/// STATUS says here that the wave is in its trap handler.
pub const STATUS_PRIVILEGED: u32 = 1 << 5;
/// STATUS has nothing of its own in these bits: they follow from EXEC and VCC.
const STATUS_FOLLOWS: u32 = (1 << 9) | (1 << 10);

impl HardwareRegister {
    pub const ALL: [Self; 13] = [
        Self::Mode,
        Self::Status,
        Self::TrapStatus,
        Self::HardwareId,
        Self::RegisterAllocation,
        Self::ShareAllocation,
        Self::InstructionBuffer,
        Self::MemoryBases,
        Self::DieId,
        Self::HandlerLower,
        Self::HandlerUpper,
        Self::HandlerMemoryLower,
        Self::HandlerMemoryUpper,
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
            Self::HandlerLower => 16,
            Self::HandlerUpper => 17,
            Self::HandlerMemoryLower => 18,
            Self::HandlerMemoryUpper => 19,
        }
    }

    /// The register of this number, if it is one that is modelled.
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|of| of.number() == number)
    }

    /// The bits that a program may set; the others stay as they are.
    pub const fn writable(self, is_privileged: bool) -> u32 {
        match (self, is_privileged) {
            (Self::Mode | Self::TrapStatus, _) => u32::MAX,
            // The handler goes back by an instruction, not by clearing its bit.
            (Self::Status, true) => !(STATUS_PRIVILEGED | STATUS_FOLLOWS),
            (Self::InstructionBuffer, true) => u32::MAX,
            _ => 0,
        }
    }

    /// Whether only the trap handler can read it; others read zero.
    pub const fn is_private(self) -> bool {
        matches!(
            self,
            Self::HandlerLower
                | Self::HandlerUpper
                | Self::HandlerMemoryLower
                | Self::HandlerMemoryUpper
        )
    }
}
