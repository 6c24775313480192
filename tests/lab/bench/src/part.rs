// SPDX-License-Identifier: GPL-2.0-only
//! The parts of the benchmark, and in which kinds of guests they run.

use e2e_runner::partitions::Partitions;
use e2e_runner::scenario::Needs;

/// A part of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, clap::ValueEnum)]
pub enum Part {
    /// Every load under every contender.
    Loads,
    /// A with another preparation time.
    Preparation,
    /// A at another rate, against a client that always has work.
    Rate,
    /// The module at another poll interval.
    Poll,
    /// Long kernels with other numbers of registers, so of other state.
    State,
    /// 1 to 128 queues, on a GPU so small that their save areas fit.
    Queues,
    /// A GPU of eight dies.
    Dies,
    /// The same in eight partitions, of which one or all have a load.
    Partitions,
    /// Without the hardware scheduler, for backend=mqd.
    Mqd,
}

impl Part {
    pub const ALL: [Part; 9] = [
        Part::Loads,
        Part::Preparation,
        Part::Rate,
        Part::Poll,
        Part::State,
        Part::Queues,
        Part::Dies,
        Part::Partitions,
        Part::Mqd,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Part::Loads => "loads",
            Part::Preparation => "preparation",
            Part::Rate => "rate",
            Part::Poll => "poll",
            Part::State => "state",
            Part::Queues => "queues",
            Part::Dies => "dies",
            Part::Partitions => "partitions",
            Part::Mqd => "mqd",
        }
    }

    /// The guest that it runs in.
    pub fn place(self) -> Place {
        match self {
            Part::Queues => Place::Small,
            Part::Dies => Place::EightDies,
            Part::Partitions => Place::EightPartitions,
            Part::Mqd => Place::NoScheduler,
            _ => Place::Main,
        }
    }
}

/// A guest of some kind. Each run has one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Main,
    Small,
    EightDies,
    EightPartitions,
    NoScheduler,
}

impl Place {
    pub fn dies(self) -> u32 {
        match self {
            Place::EightDies | Place::EightPartitions => 8,
            _ => 1,
        }
    }

    pub fn partitions(self) -> Partitions {
        match self {
            Place::EightPartitions => Partitions::Cpx,
            _ => Partitions::Spx,
        }
    }

    pub fn needs(self) -> Needs {
        Needs {
            small: self == Place::Small,
            sched_policy: if self == Place::NoScheduler { 2 } else { 0 },
            ..Needs::ANY
        }
    }

    /// Whether the driver's functions that are probed are used there.
    pub fn probes(self) -> bool {
        self != Place::NoScheduler
    }
}
