// SPDX-License-Identifier: GPL-2.0-only
//! Whatever reads bytes that nobody vouches for, tried with any bytes at all.
//!
//! A target is a function of an input that panics when a property is broken. The
//! program `fuzzer` looks for inputs that reach new code; those worth keeping are
//! in `tests/data/fuzz`, where `cargo test` lives through them again.

pub mod corpus;
mod input;
mod targets;

use targets::{
    configuration, control, device, machine, packets, parameters, protocol, rules, tables, trace,
    type_info,
};

/// One thing that is tried.
pub struct Target {
    pub name: &'static str,
    /// Inputs longer than this find nothing more.
    pub longest: usize,
    pub run: fn(&[u8]),
}

/// Everything that is tried, in the order of the alphabet.
pub const TARGETS: &[Target] = &[
    Target {
        name: "aql",
        longest: 1024,
        run: packets::aql,
    },
    Target {
        name: "configuration",
        longest: 1024,
        run: configuration::file,
    },
    Target {
        name: "control",
        longest: 512,
        run: control::lines,
    },
    Target {
        name: "device",
        longest: 1024,
        run: device::operations,
    },
    Target {
        name: "machine",
        longest: 1024,
        run: machine::code,
    },
    Target {
        name: "parameters",
        longest: 256,
        run: parameters::text,
    },
    Target {
        name: "pm4",
        longest: 1024,
        run: packets::pm4,
    },
    Target {
        name: "protocol",
        longest: 1024,
        run: protocol::messages,
    },
    Target {
        name: "rules",
        longest: 256,
        run: rules::text,
    },
    Target {
        name: "scheduler",
        longest: 1024,
        run: packets::scheduler,
    },
    Target {
        name: "sdma",
        longest: 1024,
        run: packets::sdma,
    },
    Target {
        name: "tables",
        longest: 512,
        run: tables::entries,
    },
    Target {
        name: "trace",
        longest: 1024,
        run: trace::lines,
    },
    Target {
        name: "type-info",
        longest: 2048,
        run: type_info::sections,
    },
];

/// The target with a name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
