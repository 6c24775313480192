// SPDX-License-Identifier: GPL-2.0-only
//! The scheduling policy: which GPU queues to stop and to start, and why.
//!
//! Pure: one function of time, configuration and what is seen. Core only; no
//! allocation, no clock, no floating point, no path that can panic. The same
//! files are compiled into the kernel module and on the host.
//!
//! [`Scheduler::step`] is the way in. `docs/policy.md` says what it decides.

#![cfg_attr(not(any(CONFIG_RUST, test)), no_std)]
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        clippy::expect_used,
        clippy::panic,
        clippy::unwrap_used
    )
)]

#[macro_use]
mod terms;

mod settings;

/// What several rooms build on.
mod parts {
    pub(crate) mod lengths;
    pub(crate) mod table;
}

mod level;
mod pass;
mod process;
mod queue;
mod scheduler;

pub use level::LevelSlot;
pub use process::recovery::{RETRY_FIRST, RETRY_LONGEST};
pub use process::share::{share, RoomShare, Worth};
pub use process::tenant::TenantSlot;
pub use process::ProcessSlot;
pub use queue::QueueSlot;
pub use scheduler::{Parts, Scheduler, Storage, QUEUE_SLOTS};
pub use settings::*;
pub use terms::*;
