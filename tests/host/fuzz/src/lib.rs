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
    /// Its own files in `src/targets`.
    pub files: &'static [&'static str],
    /// Where the sources are of what it tries, and of all that those need.
    pub sources: &'static [&'static str],
    pub run: fn(&[u8]),
}

const POLICY: &[&str] = &["rust/policy"];
const READERS: &[&str] = &[
    "rust/kfd/driver/fields.rs",
    "rust/kfd/driver/forms.rs",
    "rust/kfd/driver/prototype.rs",
    "rust/kfd/driver/resolve.rs",
    "rust/kfd/driver/type_info.rs",
];
const OPERATOR: &[&str] = &["scripts/operator/library", "rust/policy"];
const MODEL: &[&str] = &["tests/lab/vgpu/model", "tests/lab/gfx942"];
const SERVER: &[&str] = &[
    "tests/lab/vgpu/server",
    "tests/lab/vgpu/model",
    "tests/lab/gfx942",
];

/// Everything that is tried, in the order of the alphabet.
pub const TARGETS: &[Target] = &[
    Target {
        name: "aql",
        longest: 1024,
        files: &["packets.rs", "scene.rs"],
        sources: MODEL,
        run: packets::aql,
    },
    Target {
        name: "configuration",
        longest: 1024,
        files: &["configuration.rs"],
        sources: OPERATOR,
        run: configuration::file,
    },
    Target {
        name: "control",
        longest: 512,
        files: &["control.rs"],
        sources: SERVER,
        run: control::lines,
    },
    Target {
        name: "device",
        longest: 1024,
        files: &["device.rs", "scene.rs"],
        sources: MODEL,
        run: device::operations,
    },
    Target {
        name: "machine",
        longest: 1024,
        files: &["machine.rs", "scene.rs"],
        sources: MODEL,
        run: machine::code,
    },
    Target {
        name: "parameters",
        longest: 256,
        files: &["parameters.rs"],
        sources: POLICY,
        run: parameters::text,
    },
    Target {
        name: "pm4",
        longest: 1024,
        files: &["packets.rs", "scene.rs"],
        sources: MODEL,
        run: packets::pm4,
    },
    Target {
        name: "protocol",
        longest: 1024,
        files: &["protocol.rs"],
        sources: SERVER,
        run: protocol::messages,
    },
    Target {
        name: "rules",
        longest: 256,
        files: &["rules.rs"],
        sources: POLICY,
        run: rules::text,
    },
    Target {
        name: "scheduler",
        longest: 1024,
        files: &["packets.rs", "scene.rs"],
        sources: MODEL,
        run: packets::scheduler,
    },
    Target {
        name: "sdma",
        longest: 1024,
        files: &["packets.rs", "scene.rs"],
        sources: MODEL,
        run: packets::sdma,
    },
    Target {
        name: "tables",
        longest: 512,
        files: &["tables.rs", "scene.rs"],
        sources: MODEL,
        run: tables::entries,
    },
    Target {
        name: "trace",
        longest: 1024,
        files: &["trace.rs"],
        sources: OPERATOR,
        run: trace::lines,
    },
    Target {
        name: "type-info",
        longest: 2048,
        files: &["type_info.rs"],
        sources: READERS,
        run: type_info::sections,
    },
];

/// Files of this crate that every target needs.
const SHARED: &[&str] = &["src/input.rs", "src/bin/fuzzer.rs"];

impl Target {
    /// The files and folders, from the project's, that decide what it finds.
    pub fn all_sources(&self) -> Vec<String> {
        let own = self.files.iter().map(|file| format!("src/targets/{file}"));
        let shared = SHARED.iter().map(|file| (*file).to_owned());
        let here = own
            .chain(shared)
            .map(|file| format!("tests/host/fuzz/{file}"));
        let others = self.sources.iter().map(|source| (*source).to_owned());
        here.chain(others).collect()
    }
}

/// The target with a name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
