// SPDX-License-Identifier: GPL-2.0-only

//! KFD, AMD's compute driver, as safe types, and the parts of the kernel that
//! the module needs and that have no Rust abstraction yet.
//!
//! All unsafe code of the module is in this crate. What it rests on, and the
//! order of the locks, is in `docs/lock-order.md`; what could go wrong is listed
//! in `docs/hazards.md`.

/// What the module needs of the kernel and has no Rust abstraction yet; nothing
/// here knows KFD.
pub mod kernel {
    pub(crate) mod bindings;
    pub mod cgroup;
    pub mod clock;
    pub(crate) mod compat;
    pub mod count;
    pub mod hint;
    pub(crate) mod owner;
    pub mod preemption;
    pub mod sleep;
    pub mod sort;
    pub mod thread;
    pub mod wake;
}

/// The driver's own things, and what keeps each of them where it is.
#[allow(clippy::module_inception)] // The driver has the name of its room.
pub mod driver {
    pub mod census;
    pub mod check;
    pub mod direct;
    pub mod driver;
    pub(crate) mod due;
    pub(crate) mod fields;
    pub(crate) mod foreign;
    pub(crate) mod forms;
    pub mod gpu;
    pub mod hardware;
    pub(crate) mod hardware_queue;
    pub(crate) mod layout;
    pub(crate) mod loaded;
    pub mod locked;
    pub mod node;
    pub(crate) mod operation;
    pub(crate) mod partitions;
    pub mod process;
    pub(crate) mod prototype;
    pub mod queue;
    pub(crate) mod resolve;
    pub(crate) mod type_info;
    pub(crate) mod unmapped;
}

/// What is seen of the queues, without changing anything.
pub mod look {
    pub mod crowd;
    pub mod grid;
    pub mod registers;
    pub mod sample;
    pub(crate) mod stops;
    pub mod survey;
}

/// What is done to the queues.
pub mod act {
    pub mod backend;
    pub(crate) mod descriptor;
    pub mod failure;
    pub mod hws;
    pub mod index;
    pub(crate) mod mqd;
    pub mod transaction;
}

/// What people set and see: parameters, rules, files and tracepoints.
pub mod operator {
    pub mod files;
    pub(crate) mod folder;
    pub mod gpu_modes;
    pub mod rules;
    pub mod settings;
    pub mod sysfs;
    pub mod trace;
}

const __LOG_PREFIX: &[u8] = b"amd_gpreempt\0";
