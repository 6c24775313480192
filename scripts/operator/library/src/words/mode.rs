// SPDX-License-Identifier: GPL-2.0-only
//! How much the module does, for all GPUs and for single ones.

use gpreempt_policy::CHOICES;

use crate::words::gpu::OwnModes;

/// The mode for all GPUs, and those that single GPUs have of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modes {
    pub all: String,
    pub own: OwnModes,
}

/// How much the module does in a mode.
pub fn activity(mode: &str) -> usize {
    const ORDER: [&str; 3] = ["off", "observe", "enforce"];
    debug_assert!(CHOICES[0].words.iter().all(|word| ORDER.contains(word)));
    ORDER.iter().position(|word| *word == mode).unwrap_or(0)
}
