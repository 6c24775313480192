// SPDX-License-Identifier: GPL-2.0-only
//! GPU time, and what is due when.

pub mod agenda;
