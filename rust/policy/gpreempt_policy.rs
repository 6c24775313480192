// SPDX-License-Identifier: GPL-2.0
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
        clippy::unwrap_used
    )
)]

mod algorithm;
mod budget;
mod claim;
mod config;
mod cooldown;
mod deadline;
mod decision;
mod effective;
mod fair;
mod hold;
mod ingest;
mod judge;
mod limits;
mod node;
mod observation;
mod output;
mod parameter;
mod pass;
mod presence;
mod priority;
mod process;
mod queue;
mod recovery;
mod rivals;
mod rule;
mod scheduler;
mod storage;
mod strict;
mod table;
mod thrash;
mod time;

pub use config::choice;
pub use config::unit_name;
pub use config::Config;
pub use config::Granularity;
pub use config::Mode;
pub use config::PolicyKind;
pub use config::SetError;
pub use cooldown::PairSlot;
pub use decision::Action;
pub use decision::Arming;
pub use decision::Decision;
pub use decision::Inversion;
pub use decision::Outcome;
pub use decision::Reason;
pub use decision::Report;
pub use decision::Step;
pub use observation::Head;
pub use observation::Observation;
pub use observation::ProcessId;
pub use observation::QueueId;
pub use observation::QueueState;
pub use observation::Waves;
pub use parameter::ChoiceSpec;
pub use parameter::Number;
pub use parameter::NumberSpec;
pub use parameter::Unit;
pub use parameter::CHOICES;
pub use parameter::NUMBERS;
pub use parameter::NUMBER_COUNT;
pub use parameter::TIMESLICE_HELP;
pub use parameter::TIMESLICE_MAX;
pub use parameter::TIMESLICE_NAME;
pub use priority::Priority;
pub use priority::UserPriority;
pub use priority::LEVELS;
pub use process::ProcessSlot;
pub use queue::QueueSlot;
pub use recovery::ETIME;
pub use rule::Reservation;
pub use rule::RuleEffect;
pub use rule::RuleId;
pub use scheduler::QueueView;
pub use scheduler::Scheduler;
pub use scheduler::Verdict;
pub use storage::Parts;
pub use storage::Storage;
pub use storage::PAIR_SLOTS;
pub use storage::PROCESS_SLOTS;
pub use storage::QUEUE_SLOTS;

pub use time::Nanos;
