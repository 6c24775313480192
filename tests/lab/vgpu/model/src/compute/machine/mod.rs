// SPDX-License-Identifier: GPL-2.0-only
//! Workgroups that execute machine code, as the crate `gfx942` knows it: how their
//! waves begin, run, and go through the trap handler to the save area and back.

mod direct;
mod group;
mod handler;
mod program;
mod scratch;
mod sight;

pub use direct::Direct;
pub use group::{Context, Course, Group};
pub use handler::Trouble;
pub use program::{private_bytes, Origin, Program, Seats};
pub use scratch::{Scratch, ScratchSlot};
