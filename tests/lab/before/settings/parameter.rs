// SPDX-License-Identifier: GPL-2.0-only
//! The one table of parameters: name, unit, default, range and meaning.
//!
//! The module's parameters, their range checks, the manual page and the ABI
//! documents are all made from it.

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
        "Time between two looks at the queues while one of them could be inverted; a fifth of it while an urgent request may come, and longer with hundreds of queues.";
    IdlePoll "idle_poll_us" Micros 1_000 20..=10_000_000
        "Time between two looks while no queue can be inverted; the bound of the reaction to the first work.";
    IdlePollNoWake "idle_poll_ms" Millis 100 1..=10_000
        "Time between two looks while there are no queues, where the creation of a queue cannot wake the monitor.";
    Expect "expect_ms" Millis 1_000 0..=60_000
        "How long after its last launch a queue is expected to have more work. Looks are frequent for so long after urgent work. A lower queue without work is stopped along with others, and one whose work shows no waves yet is worth a stop. 0: all of this never.";
    Grace "grace_us" Micros 20 0..=1_000_000
        "How long a queue must have had a packet to run before it counts as waiting; never less than two looks, which are made early for it.";
    MinRun "min_run_us" Micros 200 0..=1_000_000
        "How long a queue runs at least after it was started.";
    ResumeDelay "resume_delay_us" Micros 300 0..=1_000_000
        "A stopped queue is started when no queue that may hold it has wanted the GPU, or may have had a launch running, for this long, or for a fifteenth of this where requests have been far apart of late.";
    MaxStop "max_stop_ms" Millis 100 1..=60_000
        "The longest time that a queue stays stopped; it then runs for its timeslice, or min_run_us where that is longer, and no queue may stop it.";
    NoProgress "noprogress_ms" Millis 20 1..=60_000
        "How long the queues that others are stopped for may make no progress before they are taken to wait for the stopped ones.";
    MinInterval "min_interval_us" Micros 200 0..=1_000_000
        "The shortest time from one transaction to the next stop; longer where transactions are dear.";
    MaxSwitches "max_switches_per_s" Count 500 1..=100_000
        "The most stops, in transactions, in a second.";
    SwitchCost "switch_cost_us" Micros 200 0..=1_000_000
        "What a transaction is assumed to cost before the first one was measured.";
    CostRatio "cost_ratio" Count 2 0..=1_000
        "The shortest time from one transaction to the next stop, in measured costs of a transaction; 0 also leaves no inversion to pass by itself.";
    StopBudget "stop_budget_ms" Millis 500 1..=1_000
        "How much stopped time each process may cause in a second by a priority that no rule gave it; 1000 is no limit.";
    CoolDown "cool_down_ms" Millis 100 1..=60_000
        "How long a pair of processes is left alone after no progress, or a queue that does nothing between its starts; doubled each time it happens again.";
    CoolDownMax "cool_down_max_ms" Millis 60_000 1..=3_600_000
        "The longest time that a pair of processes or such a queue is left alone.";
    Retry "retry_ms" Millis 10 1..=60_000
        "How long a node is left alone after a failed transaction; doubled each time it fails again.";
    RetryMax "retry_max_ms" Millis 10_000 1..=3_600_000
        "The longest time that a node is left alone before the next try. Where the firmware has not answered, it is the first pause.";
    DisarmAfter "disarm_after" Count 5 1..=1_000
        "How many transactions may fail in a row before a node is disarmed.";
    HintLimit "hint_limit_us" Micros 1_000 0..=10_000
        "How long a program's word that it prepares a request counts, while no request comes; 0 makes such hints nothing.";
    FairSlice "fair_slice_us" Micros 2_000 100..=1_000_000
        "policy=fair: how far a queue may get ahead of its share before it is stopped, in time at the priority of the one that waits.";
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
    },
    ChoiceSpec {
        name: "policy",
        words: &["strict", "fair", "deadline"],
        help: "Which queue may preempt which. strict: one of higher priority. fair: one that has had less than its weighted share. deadline: as strict, and within a level one with an earlier deadline.",
    },
    ChoiceSpec {
        name: "user_priority",
        words: &["honour", "cap:N", "ignore"],
        help: "How far the priority that a program gave its own queue counts where no rule gives one: as given, up to level N, or not at all.",
    },
    ChoiceSpec {
        name: "same_process",
        words: &["0", "1"],
        help: "1: queues may be stopped for queues of their own process. A runtime makes its queues wait for each other, so 0 is right unless the application is known.",
    },
    ChoiceSpec {
        name: "sampler",
        words: &["auto", "memory", "mmio"],
        help: "How queues are watched. memory: read and write pointers. mmio: those in the queue registers, which no process can write, and wave counts in every look. auto: memory, and wave counts while an inversion depends on them.",
    },
    ChoiceSpec {
        name: "backend",
        words: &["hws", "mqd", "process"],
        help: "How queues are stopped. hws: in one transaction with the hardware scheduler. mqd: one by one, without it. process: all queues of a process.",
    },
    ChoiceSpec {
        name: "transaction",
        words: &["driver", "direct"],
        help: "backend=hws: how queues are taken off the GPU for a transaction. driver: by the driver's own function. direct: by the same packets without its look at the copy engines; anything unexpected is left to the driver's function.",
    },
];

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
