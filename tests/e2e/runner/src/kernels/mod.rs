// SPDX-License-Identifier: GPL-2.0-only
//! Kernels of machine code that scenarios have the guest dispatch: what is in memory
//! before, and what the host says must be there afterwards.

mod host;
mod landmarks;
#[allow(dead_code)] // Other tests need more of it.
#[path = "../../../../lab/gfx942/tests/common/object.rs"]
mod object;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::LazyLock;

use anyhow::{ensure, Result};
use gpu_workload::machine::{digits, Job};

pub use landmarks::Landmarks;
use object::Object;

/// What a compiler makes, with optimization and without, and what was written by hand.
static COMPILED: LazyLock<Object> = LazyLock::new(|| Object::compile("-O2"));
static UNOPTIMIZED: LazyLock<Object> = LazyLock::new(|| Object::compile("-O0"));
static WRITTEN: LazyLock<Object> = LazyLock::new(|| {
    let text = include_str!("../../../../lab/vgpu/model/src/tests/kernels.s");
    Object::translate(&["-x", "assembler"], text)
});

const DISPATCH_PATIENCE_MS: u64 = 240_000;

/// A kernel with its data.
pub struct Case {
    pub kernel: &'static str,
    object: &'static Object,
    items: u16,
    pub groups: u32,
    buffers: Vec<Vec<u32>>,
    expected: Vec<Vec<u32>>,
    number: u32,
    pm4: bool,
    /// About how many instructions a wave of it executes.
    pub instructions: u64,
}

/// What comes in and what comes out.
struct Data {
    buffers: [Vec<u32>; 3],
    results: Vec<u32>,
    number: u32,
}

impl Case {
    fn compiled(
        kernel: &'static str,
        (items, groups): (u16, u32),
        data: Data,
        instructions: u64,
    ) -> Case {
        let [a, b, to] = data.buffers;
        Case {
            kernel,
            object: &COMPILED,
            items,
            groups,
            expected: vec![a.clone(), b.clone(), data.results],
            buffers: vec![a, b, to],
            number: data.number,
            pm4: false,
            instructions,
        }
    }

    /// All kernels, each for so many workgroups of its own size.
    pub fn all(groups: u32, seed: u64) -> Vec<Case> {
        // The last workgroup has items without work.
        let count = groups * 256 - 37;
        let by_item = (256, groups);
        vec![
            Case {
                kernel: "state",
                object: &WRITTEN,
                items: 128,
                groups,
                buffers: vec![vec![0; 128 * groups as usize]],
                expected: vec![host::state(groups)],
                number: 0,
                pm4: false,
                instructions: 480,
            },
            Case::compiled("add", by_item, host::add(count, seed), 20),
            Case::compiled("reduce", by_item, host::reduce(count, seed), 130),
            Case::compiled("histogram", (256, 4), host::histogram(seed), 120),
            Case::compiled("scan", by_item, host::scan(count, seed), 200),
            Case::compiled("product", by_item, host::product(groups, seed), 400),
            Case::compiled("product_halves", (64, groups), host::halves(seed), 200),
            Case {
                object: &UNOPTIMIZED,
                ..Case::compiled("scratch", by_item, host::scratch(count, seed), 1_500)
            },
        ]
    }

    /// A kernel that has all local memory of a unit of GFX 9.5.0.
    pub fn large(groups: u32) -> Case {
        const ITEMS: u16 = 64;
        Case {
            kernel: "large",
            object: &WRITTEN,
            items: ITEMS,
            groups,
            buffers: vec![vec![0; usize::from(ITEMS) * groups as usize]],
            expected: vec![host::large(groups)],
            number: 0,
            pm4: false,
            instructions: 9_000,
        }
    }

    /// The same, dispatched by PM4 packets.
    pub fn by_packets(self) -> Case {
        Case { pm4: true, ..self }
    }

    /// Those of the cases whose kernels are named, or all without a name.
    pub fn chosen(mut cases: Vec<Case>, names: &str) -> Result<Vec<Case>> {
        let names: Vec<&str> = names.split_whitespace().collect();
        for name in &names {
            ensure!(
                cases.iter().any(|case| case.kernel == *name),
                "there is no kernel '{name}' for GP_KERNELS"
            );
        }
        cases.retain(|case| names.is_empty() || names.contains(&case.kernel));
        Ok(cases)
    }

    /// Local memory that a dispatch of it asks for.
    fn share(&self) -> u32 {
        self.object.kernel(self.kernel).share as u32
    }

    /// Dispatches of it until a file is there.
    pub fn job(&self, priority: u32, stop: &str) -> Job {
        let (descriptor, entry) = self.object.descriptor(self.kernel);
        Job {
            code: digits(&self.object.text),
            descriptor: digits(&descriptor),
            entry,
            priority,
            items: self.items,
            groups: self.groups,
            private_bytes: self.object.kernel(self.kernel).scratch as u32,
            lds_bytes: self.share(),
            buffers: self.buffers.clone(),
            expected: self.expected.clone(),
            number: self.number,
            pm4: self.pm4,
            stop: PathBuf::from(stop),
            patience_ms: DISPATCH_PATIENCE_MS,
            ..Job::default()
        }
    }

    /// Offsets of the instructions of `state` at which all that a wave has is still to be
    /// used: whatever is lost there is missing in the sums.
    pub fn vulnerable() -> Range<u64> {
        // The first two change nothing, or not all sums.
        WRITTEN.symbol("full") + 8..WRITTEN.symbol("summed")
    }

    pub fn landmarks(&self) -> Landmarks {
        let (_, entry) = self.object.descriptor(self.kernel);
        Landmarks::of(&self.object.text, entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_chosen_by_name() {
        let chosen = |names| {
            let cases = Case::chosen(Case::all(4, 1), names)?;
            Ok::<_, anyhow::Error>(cases.iter().map(|case| case.kernel).collect::<Vec<_>>())
        };
        assert_eq!(chosen("").unwrap().len(), 8);
        assert_eq!(chosen(" scan add ").unwrap(), ["add", "scan"]);
        let error = chosen("scan sum").unwrap_err().to_string();
        assert!(error.contains("'sum'"), "{error}");
    }

    #[test]
    fn each_kernel_changes_memory() {
        for case in Case::all(9, 2) {
            let name = case.kernel;
            assert_ne!(case.buffers, case.expected, "{name}");
            assert!(!case.landmarks().instructions.is_empty(), "{name}");
            let job = case.job(0, "stop");
            assert_eq!(job.descriptor.len(), 128, "{name}");
        }
        let barriers = |name: &str| {
            let all = Case::all(4, 1);
            let case = all.iter().find(|case| case.kernel == name).unwrap();
            case.landmarks().barriers.len()
        };
        assert_eq!((barriers("state"), barriers("add")), (2, 0));
    }
}
