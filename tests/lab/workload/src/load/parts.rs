// SPDX-License-Identifier: GPL-2.0-only
//! The memory of what a request launches: the code of each step, and for each request
//! that can be outstanding the arguments and the counters of each.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use anyhow::Result;

use super::STRIDE;
use crate::counters::{tally, Tally};
use crate::hsa::{Buffer, Runtime};
use crate::kernel;
use crate::spec::{QueueSpec, Step};

/// The code of two steps is so far apart.
const CODE_STRIDE: usize = kernel::OBJECT_BYTES.next_multiple_of(kernel::ALIGNMENT);

pub struct Parts {
    steps: Vec<Step>,
    /// Where the counters of each step begin within those of a slot.
    starts: Vec<usize>,
    /// How many counters a slot has.
    length: usize,
    counters: Buffer,
    arguments: Buffer,
    code: Buffer,
}

impl Parts {
    pub fn create(runtime: &Arc<Runtime>, gpu: usize, spec: &QueueSpec) -> Result<Parts> {
        let steps: Vec<Step> = spec.steps().collect();
        let slots = spec.slots() as usize;
        let (starts, length) = layout(&steps);
        let allocate = |bytes| Buffer::allocate(runtime, gpu, spec.place, bytes);
        let parts = Parts {
            counters: allocate(slots * length * 4)?,
            arguments: allocate(slots * steps.len() * STRIDE)?,
            code: allocate(steps.len() * CODE_STRIDE)?,
            steps,
            starts,
            length,
        };
        for (index, step) in parts.steps.iter().enumerate() {
            let object = kernel::object(&step.kernel);
            parts.code.store(index * CODE_STRIDE, &object);
            for slot in 0..slots {
                let counter = slot * parts.length + parts.starts[index];
                let address = parts.counters.address() + 4 * counter as u64;
                let arguments = kernel::arguments(address, step.cost_ns.nanoseconds(), step.demand);
                parts.arguments.store(parts.place(slot, index), &arguments);
            }
        }
        Ok(parts)
    }

    /// Where the arguments of a step are.
    fn place(&self, slot: usize, index: usize) -> usize {
        (slot * self.steps.len() + index) * STRIDE
    }

    /// The dispatches of a request in their order: what is launched, its code and its
    /// arguments.
    pub fn dispatches(&self, slot: usize) -> impl Iterator<Item = (&Step, u64, u64)> {
        self.steps
            .iter()
            .enumerate()
            .flat_map(move |(index, step)| {
                let code = self.code.address() + (index * CODE_STRIDE) as u64;
                let arguments = self.arguments.address() + self.place(slot, index) as u64;
                (0..step.dispatches).map(move |_| (step, code, arguments))
            })
    }

    /// The counters of each step of a slot, with how much a request adds to each.
    fn counters(&self, slot: usize) -> impl Iterator<Item = (&[AtomicU32], u32)> {
        self.steps
            .iter()
            .zip(&self.starts)
            .map(move |(step, start)| {
                let first = slot * self.length + start;
                let counters = &self.counters.words()[first..][..step.workgroups as usize];
                (counters, step.dispatches)
            })
    }

    /// Compares a slot's counters with those of that many requests at least and at most.
    pub fn tally(&self, slot: usize, least: u32, most: u32) -> Tally {
        let mut sum = Tally::default();
        for (counters, each) in self.counters(slot) {
            sum += tally(counters, least.wrapping_mul(each), most.wrapping_mul(each));
        }
        sum
    }

    /// Has a slot's counters say that so many requests have run.
    pub fn set(&self, slot: usize, requests: u32) {
        for (counters, each) in self.counters(slot) {
            for counter in counters {
                counter.store(requests.wrapping_mul(each), Ordering::Release);
            }
        }
    }
}

/// Where the counters of each step begin, and where the last one's end.
fn layout(steps: &[Step]) -> (Vec<usize>, usize) {
    let mut length = 0;
    let starts = steps.iter().map(|step| {
        let start = length;
        length += step.workgroups as usize;
        start
    });
    (starts.collect(), length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Cost, KernelSpec};

    #[test]
    fn each_step_has_counters_of_its_own() {
        let step = |workgroups| Step {
            dispatches: 3,
            workgroups,
            cost_ns: Cost::Nanoseconds(1),
            demand: 0,
            kernel: KernelSpec::default(),
        };
        assert_eq!(layout(&[step(7)]), (vec![0], 7));
        assert_eq!(layout(&[step(7), step(1), step(40)]), (vec![0, 7, 8], 48));
    }
}
