// SPDX-License-Identifier: GPL-2.0-only
//! What an operator does with the module on one host, without a terminal.
//!
//! [`host`] is the tree of files in which the kernel shows itself, [`tables`]
//! what the module's tables say, and [`config`] a configuration that somebody
//! wrote. [`apply`] compares a configuration with what is in force and brings
//! the two together, by way of [`kernel::Kernel`], which an agent may implement
//! for a host that is somewhere else.

pub mod amd_driver;
pub mod apply;
pub mod attempts;
pub mod cgroups;
pub mod compare;
pub mod config;
pub mod containers;
pub mod difference;
pub mod distribution;
pub mod doctor;
pub mod escape;
pub mod explain;
pub mod export;
pub mod file;
pub mod file_text;
pub mod follow;
pub mod gone;
pub mod gpu;
pub mod host;
pub mod kernel;
pub mod ledger;
pub mod metrics;
pub mod mode;
pub mod modes;
pub mod names;
pub mod newer_kernel;
pub mod noted;
pub mod options;
pub mod parameters;
pub mod perfetto;
mod reader;
pub mod record;
pub mod resolve;
pub mod rule;
pub mod save;
pub mod secure_boot;
pub mod tables;
pub mod tracepoint;
pub mod turn;
pub mod typed;
pub mod workload;

mod place;
mod setting;
pub mod table;
