// SPDX-License-Identifier: GPL-2.0-only
//! The one table of parameters: name, unit, default, range and meaning.
//!
//! The module's parameters, their range checks, the manual page and the ABI
//! documents are all made from it.

use crate::settings::set_error::SetError;
use crate::terms::time::Nanos;

/// The unit of a parameter, also the end of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds.
    Micros,
    /// Milliseconds.
    Millis,
    /// A plain number.
    Count,
}

/// What the documents and the range check know about a numeric parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberSpec {
    /// The parameter.
    pub number: Number,
    /// Its name in sysfs and on the command line.
    pub name: &'static str,
    /// The unit of its value.
    pub unit: Unit,
    /// The value without a setting.
    pub default: u32,
    /// The smallest value accepted.
    pub min: u32,
    /// The largest value accepted.
    pub max: u32,
    /// What it does, in a sentence or two.
    pub help: &'static str,
}

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
        gone.map_or(SetError::Invalid, |&(_, instead)| SetError::Gone(instead))
    }
}

/// Declares the numeric parameters, once.
macro_rules! numbers {
    ($($number:ident $name:literal $unit:ident $default:literal $min:literal..=$max:literal $help:literal;)*) => {
        /// A numeric parameter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Number {
            $(#[doc = $help] $number,)*
        }

        /// Every numeric parameter, in the order of [`Number`].
        pub const NUMBERS: &[NumberSpec] = &[
            $(NumberSpec {
                number: Number::$number,
                name: $name,
                unit: Unit::$unit,
                default: $default,
                min: $min,
                max: $max,
                help: $help,
            },)*
        ];

        /// How many numeric parameters there are.
        pub const NUMBER_COUNT: usize = NUMBERS.len();

        impl Number {
            /// The table's entry of the parameter.
            pub const fn spec(self) -> NumberSpec {
                match self {
                    $(Number::$number => NumberSpec {
                        number: Number::$number,
                        name: $name,
                        unit: Unit::$unit,
                        default: $default,
                        min: $min,
                        max: $max,
                        help: $help,
                    },)*
                }
            }
        }
    };
}

numbers! {
    PollInterval "poll_interval_us" Micros 100 20..=1_000_000
        "Time between two looks at the queues while one of them could be inverted; a fifth of it while an urgent request may come or queues are stopped, ten times as long while nothing can be inverted, and longer with hundreds of queues.";
    Grace "grace_us" Micros 10 0..=1_000_000
        "How long a queue must have had a packet that nothing takes before it counts as waiting; never less than two looks, which are made early for it.";
    MaxStop "max_stop_ms" Millis 100 1..=60_000
        "The longest time that a queue stays stopped; it then runs for its timeslice, or min_run_us where that is longer, before a level up to the one that held it may stop it again.";
    MinRun "min_run_us" Micros 200 0..=1_000_000
        "How long a queue that was stopped for as long as max_stop_ms then runs at least.";
    NoProgress "noprogress_ms" Millis 20 1..=60_000
        "How long a process that others are stopped for may make no progress before it is taken to wait for the stopped ones. They are started, and it has nothing stopped for 10 ms, twice as long each time up to a second, or until it makes progress.";
    StopBudget "stop_budget_ms" Millis 500 1..=1_000
        "How much stopped time each tenant may cause in a second by priorities that no rule gave it; 1000 is no limit.";
    RuleOverhead "rule_overhead_percent" Count 50 1..=100
        "The share of the time that transactions may take for the queues of one level that a rule raised.";
    ClaimOverhead "claim_overhead_percent" Count 3 1..=100
        "The share of the time that transactions may take for the queues of one level that claimed it themselves; eight times as much while no rule gives a level.";
    DisarmAfter "disarm_after" Count 5 1..=1_000
        "How many transactions may fail in a row before a node is disarmed.";
    HintLimit "hint_limit_us" Micros 1_000 0..=10_000
        "How long a program's word that it prepares a request counts, while no request comes; 0 makes such hints nothing.";
}

impl NumberSpec {
    /// The duration that a value of this parameter means; zero for a count.
    #[inline]
    pub const fn duration(&self, value: u32) -> Nanos {
        match self.unit {
            Unit::Micros => Nanos::from_micros(value),
            Unit::Millis => Nanos::from_millis(value),
            Unit::Count => Nanos::ZERO,
        }
    }
}

/// The timeslices, one value for all levels or one a level; 0 takes no turns.
pub const TIMESLICE_NAME: &str = "timeslice_us";
/// The longest timeslice accepted.
pub const TIMESLICE_MAX: u32 = 10_000_000;
/// What the timeslices do.
pub const TIMESLICE_HELP: &str = "How long queues of one priority level take turns on the GPU: one value, or 16 separated by commas for the levels 0 to 15. 0 takes no turns.";

/// Every parameter that is a word.
pub const CHOICES: &[ChoiceSpec] = &[
    ChoiceSpec {
        name: "mode",
        words: &["observe", "enforce", "off"],
        help: "observe: decide, count and trace, but touch nothing. enforce: also stop and start queues. off: start everything and do nothing.",
        gone: &[],
    },
    ChoiceSpec {
        name: "user_priority",
        words: &["auto", "honour", "cap:N", "ignore"],
        help: "How far the priority that a program gave its own queue counts where no rule gives one. auto: as given, but at most 7 as soon as a rule gives a level above 7. honour: as given. cap:N: up to level N. ignore: not at all.",
        gone: &[],
    },
    ChoiceSpec {
        name: "sampler",
        words: &["auto", "memory", "mmio"],
        help: "How queues are watched. memory: read and write pointers. mmio: those in the queue registers, which no process can write, and wave counts in every look. auto: memory, and wave counts while an inversion depends on them.",
        gone: &[],
    },
    ChoiceSpec {
        name: "backend",
        words: &["hws", "mqd"],
        help: "How queues are stopped. hws: in one transaction with the hardware scheduler. mqd: one by one, without it.",
        gone: &[(
            "process",
            "give backend=hws, or backend=mqd where amdgpu is loaded with sched_policy=2; both stop queues singly",
        )],
    },
    ChoiceSpec {
        name: "transaction",
        words: &["driver", "direct"],
        help: "backend=hws: how queues are taken off the GPU for a transaction. driver: by the driver's own function. direct: by the same packets without its look at the copy engines; anything unexpected is left to the driver's function.",
        gone: &[],
    },
];

/// What an operator writes for the mode of a GPU that follows the module. No mode has
/// this word.
pub const AS_MODULE: &str = "module";

/// The most GPUs with modes of their own, also counting those that are gone.
pub const MOST_GPUS: usize = 64;

/// How many parameters there are.
pub const PARAMETER_COUNT: usize = NUMBERS.len() + CHOICES.len() + 1;

/// The names of all parameters.
#[expect(
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, which would report it"
)]
pub const PARAMETERS: [&str; PARAMETER_COUNT] = {
    let mut names = [TIMESLICE_NAME; PARAMETER_COUNT];
    let mut at = 0;
    while at < NUMBERS.len() {
        names[at] = NUMBERS[at].name;
        at += 1;
    }
    while at < NUMBERS.len() + CHOICES.len() {
        names[at] = CHOICES[at - NUMBERS.len()].name;
        at += 1;
    }
    names
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_is_named_once() {
        let mut names: Vec<&str> = CHOICES.iter().map(|choice| choice.name).collect();
        names.extend(NUMBERS.iter().map(|spec| spec.name));
        names.push(TIMESLICE_NAME);
        names.sort_unstable();
        let mut all = PARAMETERS.to_vec();
        all.sort_unstable();
        assert_eq!(all, names);
        for choice in CHOICES {
            assert!(!choice.words.contains(&AS_MODULE), "{}", choice.name);
        }
    }
}
