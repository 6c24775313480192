// SPDX-License-Identifier: GPL-2.0-only
//! What the module is worth, measured side by side in one guest.
//!
//! Everything here is in GPU time: an emulated CPU is slow, and the virtual
//! GPU's clock runs as much slower than the guest's, so that their ratio stays
//! plausible (see docs/virtual-gpu.md).

pub mod contender;
pub mod hardware;
pub mod load;
pub mod measure;
pub mod measurement;
pub mod part;
pub mod picture;
pub mod plan;
pub mod probes;
pub mod report;
pub mod results;
pub mod settings;
pub mod simulated;
pub mod split;
pub mod statistics;
pub mod suite;
