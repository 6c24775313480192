// SPDX-License-Identifier: GPL-2.0-only
//! The words of the policy: what is seen, what is decided, times and priorities.

#[macro_use] // Before those that declare enumerations by it.
pub(crate) mod words;

pub(crate) mod decision;
pub(crate) mod observation;
pub(crate) mod priority;
pub(crate) mod rule;
pub(crate) mod time;
pub(crate) mod view;

pub(crate) use self::{decision::*, observation::*, priority::*, time::*, view::*};
