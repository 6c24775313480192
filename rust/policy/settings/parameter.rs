// SPDX-License-Identifier: GPL-2.0-only
//! The one table of parameters: name, unit, default, range and meaning.
//!
//! The module's parameters, their range checks, the manual page and the ABI
//! documents are all made from it.

use crate::settings::value::{BackendKind, Mode, SamplerKind, SetError, TransactionKind};

/// What the documents and the range check know about a numeric parameter.
#[derive(Clone, Copy, Debug)]
pub struct NumberSpec {
    /// Its name in sysfs and on the command line.
    pub name: &'static str,
    /// The unit of its value, also the end of its name: `us`, `ms`, or nothing for a
    /// plain number.
    pub unit: &'static str,
    /// The value without a setting.
    pub default: u32,
    /// The smallest value accepted.
    pub min: u32,
    /// The largest value accepted.
    pub max: u32,
    /// What it does, in a sentence or two.
    pub help: &'static str,
    /// Where its value is.
    pub place: fn(&mut Numbers) -> &mut u32,
}

/// Declares the numeric parameters, once.
macro_rules! numbers {
    ($($name:ident $unit:literal $default:literal $min:literal..=$max:literal $help:literal;)*) => {
        /// A value for each numeric parameter, in its unit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Numbers {
            $(#[doc = $help] pub $name: u32,)*
        }

        impl Numbers {
            /// Without a setting.
            pub const DEFAULT: Numbers = Numbers { $($name: $default,)* };
        }

        /// Every numeric parameter.
        pub const NUMBERS: &[NumberSpec] = &[$(NumberSpec {
            name: stringify!($name),
            unit: $unit,
            default: $default,
            min: $min,
            max: $max,
            help: $help,
            place: |numbers| &mut numbers.$name,
        },)*];
    };
}

numbers! {
    poll_interval_us "us" 100 20..=1_000_000
        "Time between two looks at the queues while one of them could be inverted; a fifth of it while an urgent request may come or queues are stopped, ten times as long while nothing can be inverted, a hundred times while nothing has any work, and longer with hundreds of queues.";
    grace_us "us" 10 0..=1_000_000
        "How long a queue must have had a packet that nothing takes before it counts as waiting; never less than two looks, which are made early for it.";
    max_stop_ms "ms" 100 1..=60_000
        "The longest time that a queue stays stopped; it then runs for its timeslice, or min_run_us where that is longer, before a level up to the one that held it may stop it again.";
    min_run_us "us" 200 0..=1_000_000
        "How long a queue that was stopped for as long as max_stop_ms then runs at least.";
    noprogress_ms "ms" 20 1..=60_000
        "How long a process that others are stopped for may make no progress before it is taken to wait for the stopped ones. They are started, and it has nothing stopped for 10 ms, twice as long each time up to a second, or until it makes progress.";
    stop_budget_ms "ms" 500 1..=1_000
        "How much stopped time each tenant may cause in a second by priorities that no rule gave it; 1000 is no limit.";
    rule_overhead_percent "" 50 1..=100
        "The share of the time that transactions may take for the queues of one level that a rule raised.";
    claim_overhead_percent "" 1 1..=100
        "The share of the time that transactions may take for the queues of one level that claimed it themselves; 24 times as much while no rule gives a level.";
    disarm_after "" 5 1..=1_000
        "How many transactions may fail in a row before a node is disarmed.";
    hint_limit_us "us" 1_000 0..=10_000
        "How long a program's word that it prepares a request counts, while no request comes; 0 makes such hints nothing.";
}

/// The timeslices, one value for all levels or one a level; 0 takes no turns.
pub const TIMESLICE_NAME: &str = "timeslice_us";
/// The longest timeslice accepted.
pub const TIMESLICE_MAX: u32 = 10_000_000;
/// What the timeslices do.
pub const TIMESLICE_HELP: &str = "How long queues of one priority level take turns on the GPU: one value, or 16 separated by commas for the levels 0 to 15. 0 takes no turns.";

/// What an operator writes for the mode of a GPU that follows the module. No mode has
/// this word.
pub const AS_MODULE: &str = "module";

/// The most GPUs with modes of their own, also counting those that are gone.
pub const MOST_GPUS: usize = 64;

/// What the documents know about a parameter that is a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChoiceSpec {
    /// Its name in sysfs and on the command line.
    pub name: &'static str,
    /// The words it may be; the first is the default.
    pub words: &'static [&'static str],
    /// What it does.
    pub help: &'static str,
    /// The words that it may not be any more, each with what to give instead.
    pub gone: &'static [(&'static str, &'static str)],
}

impl ChoiceSpec {
    /// Why a word is none of these.
    pub fn refuse(&self, word: &str) -> SetError {
        let gone = self.gone.iter().find(|(gone, _)| *gone == word);
        gone.map_or(SetError::NO_VALUE, |&(_, instead)| SetError::Gone(instead))
    }
}

/// The table's entry of a parameter that is a word.
pub fn choice(name: &str) -> Option<&'static ChoiceSpec> {
    CHOICES.iter().find(|choice| choice.name == name)
}

/// Declares the parameters that are words.
macro_rules! choices {
    ($($name:literal $words:expr => $help:literal $($gone:literal: $instead:literal)?;)*) => {
        /// Every parameter that is a word.
        pub const CHOICES: &[ChoiceSpec] = &[$(ChoiceSpec {
            name: $name,
            words: $words,
            help: $help,
            gone: &[$(($gone, $instead))?],
        },)*];
    };
}

choices! {
    "mode" Mode::WORDS =>
        "observe: decide, count and trace, but touch nothing. enforce: also stop and start queues. off: start everything and do nothing.";
    "user_priority" &["auto", "honour", "cap:N", "ignore"] =>
        "How far the priority that a program gave its own queue counts where no rule gives one. auto: as given, but at most 7 as soon as a rule gives a level above 7. honour: as given. cap:N: up to level N. ignore: not at all.";
    "sampler" SamplerKind::WORDS =>
        "How queues are watched. memory: read and write pointers. mmio: those in the queue registers, which no process can write, and wave counts in every look. auto: memory, and wave counts while an inversion depends on them.";
    "backend" BackendKind::WORDS =>
        "How queues are stopped. hws: in one transaction with the hardware scheduler. mqd: one by one, without it."
        "process": "give backend=hws, or backend=mqd where amdgpu is loaded with sched_policy=2; both stop queues singly";
    "transaction" TransactionKind::WORDS =>
        "backend=hws: how queues are taken off the GPU for a transaction. driver: by the driver's own function. direct: by the same packets without its look at the copy engines; anything unexpected is left to the driver's function.";
}
