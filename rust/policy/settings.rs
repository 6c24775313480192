// SPDX-License-Identifier: GPL-2.0-only
//! What operators set: the table of parameters, their values, the text of a rule.

mod config;
mod parameter;
mod rule_text;
mod value;

pub use self::{config::*, parameter::*, rule_text::*, value::*};
