// SPDX-License-Identifier: GPL-2.0-only
//! Going to the trap handler and back. What the hardware does of it is here; all else
//! is up to the handler's code.

use super::registers::Wave;
use super::special::{HardwareRegister, STATUS_PRIVILEGED};

/// The first of the registers that belong to the handler, and how many there are.
const FIRST: u8 = 108;
/// Behind the program counter's bits in the handler's second register.
const NUMBER: u32 = 16;
const PC_BITS: u64 = 0x0000_ffff_ffff_ffff;

impl Wave {
    /// Whether the wave is in its trap handler.
    pub fn is_privileged(&self) -> bool {
        self.hardware(HardwareRegister::Status) & STATUS_PRIVILEGED != 0
    }

    fn set_privileged(&mut self, privileged: bool) {
        let others = self.hardware(HardwareRegister::Status) & !STATUS_PRIVILEGED;
        let own = if privileged { STATUS_PRIVILEGED } else { 0 };
        self.set_hardware(HardwareRegister::Status, others | own);
    }

    /// A register of the trap handler, of which there are sixteen.
    pub fn temporary(&self, number: u8) -> u32 {
        self.scalar(FIRST + (number & 0xf))
    }

    pub fn set_temporary(&mut self, number: u8, value: u32) {
        self.set_scalar(FIRST + (number & 0xf), value);
    }

    /// Goes to the trap handler at `handler`, which finds in its first registers where
    /// the wave was and the trap's number.
    pub fn enter_handler(&mut self, handler: u64, number: u8) {
        let back = self.pc & PC_BITS;
        self.set_temporary(0, back as u32);
        let upper = (back >> 32) as u32 | (u32::from(number) << NUMBER);
        self.set_temporary(1, upper);
        self.begin_handler(handler);
    }

    /// Begins in the trap handler, as a wave does that is restored.
    pub fn begin_handler(&mut self, handler: u64) {
        self.set_privileged(true);
        self.pc = handler;
    }

    /// The handler goes back to the program.
    pub(crate) fn leave_handler(&mut self, pc: u64) {
        self.set_privileged(false);
        self.pc = pc;
    }
}
