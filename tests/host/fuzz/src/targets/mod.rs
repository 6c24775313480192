// SPDX-License-Identifier: GPL-2.0-only
//! What is tried.

pub mod configuration;
pub mod control;
pub mod device;
pub mod machine;
pub mod packets;
pub mod parameters;
pub mod protocol;
pub mod rules;
pub mod scene;
pub mod tables;
pub mod trace;
pub mod type_info;
