// SPDX-License-Identifier: GPL-2.0-only
//! What the storm and its runner share.
#![forbid(unsafe_code)]

pub mod random;
