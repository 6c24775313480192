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

/// The words of the policy: what is seen, what is decided, times and priorities.
mod terms {
    pub(crate) mod decision;
    pub(crate) mod observation;
    pub(crate) mod priority;
    pub(crate) mod rule;
    pub(crate) mod time;
    pub(crate) mod view;
}

/// What operators set: the table of parameters, their values, the text of a rule.
mod settings {
    pub(crate) mod choices;
    pub(crate) mod config;
    pub(crate) mod digits;
    pub(crate) mod limits;
    pub(crate) mod own;
    pub(crate) mod parameter;
    pub(crate) mod rule_text;
    pub(crate) mod set_error;
}

/// What several rooms build on.
mod parts {
    pub(crate) mod backoff;
    pub(crate) mod budget;
    pub(crate) mod lengths;
    pub(crate) mod table;
}

/// What is remembered of a queue.
#[allow(clippy::module_inception)] // The queue has the name of its room.
mod queue {
    pub(crate) mod figures;
    pub(crate) mod phase;
    pub(crate) mod queue;
    pub(crate) mod rating;
    pub(crate) mod stop;
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
    pub(crate) mod close;
    pub(crate) mod cost;
    pub(crate) mod gather;
    pub(crate) mod hints;
    pub(crate) mod ingest;
    pub(crate) mod node;
    pub(crate) mod output;
    pub(crate) mod pass;
    pub(crate) mod questions;
    pub(crate) mod rest;
    pub(crate) mod start;
    pub(crate) mod stop;
    pub(crate) mod storage;
    pub(crate) mod turns;
}

mod scheduler;

pub use pass::storage::LevelSlot;
pub use pass::storage::Parts;
pub use pass::storage::Storage;
pub use pass::storage::LEVEL_SLOTS;
pub use pass::storage::PROCESS_SLOTS;
pub use pass::storage::QUEUE_SLOTS;
pub use pass::storage::TENANT_SLOTS;
pub use process::process::ProcessSlot;
pub use process::recovery::RETRY_FIRST;
pub use process::recovery::RETRY_LONGEST;
pub use process::share::share;
pub use process::share::Claim;
pub use process::share::Claimant;
pub use process::share::Worth;
pub use process::tenant::TenantSlot;
pub use queue::queue::QueueSlot;
pub use scheduler::Scheduler;
pub use settings::choices::Mode;
pub use settings::config::choice;
pub use settings::config::unit_name;
pub use settings::config::Config;
pub use settings::own::Address;
pub use settings::own::OwnError;
pub use settings::own::PerGpu;
pub use settings::own::Values;
pub use settings::own::AS_MODULE;
pub use settings::own::MOST_GPUS;
pub use settings::parameter::ChoiceSpec;
pub use settings::parameter::Number;
pub use settings::parameter::NumberSpec;
pub use settings::parameter::Unit;
pub use settings::parameter::CHOICES;
pub use settings::parameter::NUMBERS;
pub use settings::parameter::NUMBER_COUNT;
pub use settings::parameter::PARAMETERS;
pub use settings::parameter::PARAMETER_COUNT;
pub use settings::parameter::TIMESLICE_HELP;
pub use settings::parameter::TIMESLICE_MAX;
pub use settings::parameter::TIMESLICE_NAME;
pub use settings::rule_text::unescaped;
pub use settings::rule_text::RuleError;
pub use settings::rule_text::RuleText;
pub use settings::rule_text::Subject;
pub use settings::set_error::SetError;
pub use terms::decision::Action;
pub use terms::decision::Arming;
pub use terms::decision::Decision;
pub use terms::decision::Failed;
pub use terms::decision::FailureKind;
pub use terms::decision::HintCounts;
pub use terms::decision::Inversion;
pub use terms::decision::Outcome;
pub use terms::decision::Reason;
pub use terms::decision::Report;
pub use terms::decision::Step;
pub use terms::observation::Head;
pub use terms::observation::Observation;
pub use terms::observation::ProcessId;
pub use terms::observation::QueueId;
pub use terms::observation::QueueState;
pub use terms::observation::TenantId;
pub use terms::observation::Waves;
pub use terms::priority::Priority;
pub use terms::priority::UserPriority;
pub use terms::priority::LEVELS;
pub use terms::rule::RuleEffect;
pub use terms::rule::RuleId;
pub use terms::time::Nanos;
pub use terms::view::QueueView;
pub use terms::view::Verdict;
