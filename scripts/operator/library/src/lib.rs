// SPDX-License-Identifier: GPL-2.0-only
//! What an operator does with the module on one host, without a terminal.
//!
//! [`host`] has the tree of files in which the kernel shows itself, and what they say,
//! [`configuration`] what somebody wrote. [`act`] compares that with what is in force and
//! brings the two together, by way of [`module::kernel::Kernel`], which an agent may
//! implement for a host that is somewhere else. What is further down imports from further
//! up, and not the other way round.

/// What may be written: names, rules, parameters, and the tables they come from.
pub mod words {
    pub mod escape;
    pub mod gone;
    pub mod gpu;
    pub mod names;
    pub mod parameters;
    pub(crate) mod place;
    pub mod rule;
    pub(crate) mod setting;
    pub mod table;
}

/// What a host has, as its files say.
pub mod host {
    pub mod amd_driver;
    pub mod cgroups;
    pub mod containers;
    pub mod distribution;
    pub mod file;
    pub mod ledger;
    pub mod newer_kernel;
    pub mod options;
    pub(crate) mod reader;
    pub mod secure_boot;
    pub mod tables;
    pub mod tracepoint;
    pub mod tree;
    pub mod workload;
}

/// The configuration that somebody wrote, and what is remembered of it.
pub mod configuration {
    pub mod attempts;
    pub mod config;
    pub mod file_text;
    pub mod noted;
}

/// What is in force in the module, and how one thing of it is changed.
pub mod module {
    pub mod difference;
    pub mod kernel;
    pub mod mode_guard;
    pub mod turn;
}

/// A configuration and what is in force are compared and brought together.
pub mod act {
    pub mod apply;
    pub mod compare;
    pub mod follow;
    pub mod resolve;
    pub mod save;
    pub mod typed;
}

/// What somebody is told.
pub mod report {
    pub mod doctor;
    pub mod explain;
    pub mod export;
    pub mod metrics;
    pub mod perfetto;
    pub mod record;
}
