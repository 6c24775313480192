// SPDX-License-Identifier: GPL-2.0-only
//! The words of the policy: what is seen, what is decided, times and priorities.

#[macro_use] // Before those that declare enumerations by it.
mod words;

mod decision;
mod observation;
mod priority;
mod time;

pub use self::{decision::*, observation::*, priority::*, time::*};
