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

/// What operators set: the table of parameters, their values, the text of a rule.
mod settings {
    pub(crate) mod config;
    pub(crate) mod limits;
    pub(crate) mod parameter;
    pub(crate) mod rule_text;
    pub(crate) mod value;
}

/// What several rooms build on.
mod parts {
    pub(crate) mod lengths;
    pub(crate) mod table;
}

/// What is remembered of a queue.
#[allow(clippy::module_inception)] // The queue has the name of its room.
mod queue {
    pub(crate) mod phase;
    pub(crate) mod queue;
    pub(crate) mod rating;
    pub(crate) mod work;
}

/// What is remembered of those whom queues belong to.
#[allow(clippy::module_inception)] // The process has the name of its room.
mod process {
    pub(crate) mod hint;
    pub(crate) mod process;
    pub(crate) mod recovery;
    pub(crate) mod share;
    pub(crate) mod tenant;
}

/// What is remembered of a priority level.
#[allow(clippy::module_inception)] // The level has the name of its room.
mod level {
    pub(crate) mod demand;
    pub(crate) mod level;
    pub(crate) mod tank;
}

/// One pass over the queues of a node.
#[allow(clippy::module_inception)] // The pass has the name of its room.
mod pass {
    pub(crate) mod begin;
    pub(crate) mod close;
    pub(crate) mod cost;
    pub(crate) mod gather;
    pub(crate) mod hints;
    pub(crate) mod ingest;
    pub(crate) mod node;
    pub(crate) mod pass;
    pub(crate) mod questions;
    pub(crate) mod rest;
    pub(crate) mod start;
    pub(crate) mod stop;
    pub(crate) mod storage;
    pub(crate) mod turns;
}

mod scheduler;

pub use level::level::LevelSlot;
pub use pass::storage::{Parts, Storage, LEVEL_SLOTS, PROCESS_SLOTS, QUEUE_SLOTS, TENANT_SLOTS};
pub use process::process::ProcessSlot;
pub use process::recovery::{RETRY_FIRST, RETRY_LONGEST};
pub use process::share::{share, RoomShare, Worth};
pub use process::tenant::TenantSlot;
pub use queue::queue::QueueSlot;
pub use scheduler::Scheduler;
pub use settings::config::Config;
pub use settings::parameter::{
    choice, ChoiceSpec, NumberSpec, Numbers, AS_MODULE, CHOICES, MOST_GPUS, NUMBERS,
    TIMESLICE_HELP, TIMESLICE_MAX, TIMESLICE_NAME,
};
pub use settings::rule_text::{unescaped, RuleText, Subject};
pub use settings::value::{BackendKind, Mode, SamplerKind, SetError, TransactionKind};
pub use terms::decision::{
    Action, Arming, Decision, FailureKind, HintCounts, Inversion, Outcome, Reason, Report, Step,
};
pub use terms::observation::{Head, Observation, ProcessId, QueueId, QueueState, TenantId, Waves};
pub use terms::priority::{Priority, UserPriority, LEVELS};
pub use terms::rule::RuleEffect;
pub use terms::time::Nanos;
pub use terms::view::{QueueView, Verdict};
