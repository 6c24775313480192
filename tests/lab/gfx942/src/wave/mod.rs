// SPDX-License-Identifier: GPL-2.0-only
//! What a wave is: its registers, what it reaches, and what can become of a step.

mod memory;
mod outcome;
mod registers;
mod special;
mod trap;

pub use memory::{Fault, Memory};
pub use outcome::Outcome;
pub use registers::{Wave, LANES};
pub use special::HardwareRegister;
