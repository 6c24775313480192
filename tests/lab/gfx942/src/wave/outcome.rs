// SPDX-License-Identifier: GPL-2.0-only
//! What can become of one step of a wave.

use super::memory::Fault;

/// What became of a step. Unless it says otherwise, the instruction is done and the
/// program counter is behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The wave goes on.
    Next,
    /// The program is at its end.
    Ended,
    /// The bytes at this address are no instruction, or one that is not known here.
    /// Nothing is done, and the program counter is still there.
    Illegal { address: u64, bytes: [u8; 8] },
    /// Memory that the instruction needs is not there. The program counter is still
    /// at the instruction.
    Fault(Fault),
    /// The wave waits for the others of its workgroup.
    Barrier,
    /// The wave waits for a counter that is at zero. The program counter is still at
    /// the instruction.
    Counter,
    /// The wave does nothing for a while, in units of 64 clocks.
    Sleep(u16),
    /// The wave has stopped itself until somebody lets it go on.
    Halted,
    /// The wave has sent this message.
    Message(u16),
    /// The wave wants the trap handler, with this number.
    Trap(u8),
}
