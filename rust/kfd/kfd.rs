// SPDX-License-Identifier: GPL-2.0

//! KFD, AMD's compute driver, as safe types, and the parts of the kernel that
//! the module needs and that have no Rust abstraction yet.
//!
//! All unsafe code of the module is in this crate. What it rests on, and the
//! order of the locks, is in `docs/lock-order.md`; what could go wrong is listed
//! in `docs/hazards.md`.

mod bindings;
mod compat;
mod descriptor;
mod foreign;
mod layout;
mod mqd;
mod process_backend;

pub mod backend;
pub mod check;
pub mod clock;
pub mod driver;
pub mod files;
pub mod gpu;
pub mod hardware;
pub mod hws;
pub mod locked;
pub mod node;
pub mod process;
pub mod queue;
pub mod registers;
pub mod rule_text;
pub mod rules;
pub mod sample;
pub mod settings;
pub mod sleep;
pub mod survey;
pub mod sysfs;
pub mod thread;
pub mod trace;
pub mod transaction;
pub mod wake;

const __LOG_PREFIX: &[u8] = b"amd_gpreempt\0";
