// SPDX-License-Identifier: GPL-2.0-only

//! Judges the console log of a virtual machine that ran KUnit suites.
//!
//! A suite that says 'ok' is not enough: the log must hold every suite that was
//! asked for, each with as many tests as it announced, it must go on to its end,
//! and the kernel must not have complained about anything between.

pub mod console;
pub mod ktap;
pub mod report;
pub mod splat;
#[cfg(test)]
mod tests;
