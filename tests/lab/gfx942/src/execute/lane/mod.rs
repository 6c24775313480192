// SPDX-License-Identifier: GPL-2.0-only
//! What vector instructions make of one lane's numbers. Nothing here knows registers.

mod bytes;
mod compare;
mod convert;
mod cube;
mod division;
mod exact;
mod float;
mod integer;
mod modes;
mod pair;
mod reduction;
mod special;
mod value;

use crate::code::{Operation, Pairs};
use crate::float::Format;

pub use bytes::differences;
pub use compare::Comparison;
pub use exact::shifted_sum;
use float::Rule;
pub use modes::Modes;
pub use pair::Pair;
pub use value::{Output, Value};

/// One lane's sources, with their modifiers applied, as many bits as they have.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inputs {
    pub first: u64,
    pub second: u64,
    pub third: u64,
    /// What this lane has in the mask that the instruction reads, or in VCC.
    pub flag: bool,
    pub lane: usize,
}

/// What an operation does to each lane, as far as its name says it.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    operation: Operation,
    float: Option<(Rule, Format)>,
    sources: usize,
}

/// How many lanes below this one a mask has, half by half.
fn lanes_below(operation: Operation, mask: u32, lane: usize) -> Option<u32> {
    let below = (1_u64 << (lane & 63)) - 1;
    let half = match operation {
        Operation::v_mbcnt_lo_u32_b32 => below as u32,
        Operation::v_mbcnt_hi_u32_b32 => (below >> 32) as u32,
        _ => return None,
    };
    Some((mask & half).count_ones())
}

impl Task {
    pub fn new(operation: Operation, sources: usize) -> Self {
        Self {
            operation,
            float: Rule::of(operation),
            sources,
        }
    }

    fn integer(self, inputs: &Inputs) -> Option<u32> {
        let (first, second) = (inputs.first as u32, inputs.second as u32);
        match self.sources {
            1 => integer::one(self.operation, first),
            2 => lanes_below(self.operation, first, inputs.lane)
                .map(|count| count.wrapping_add(second))
                .or_else(|| integer::two(self.operation, first, second)),
            _ => integer::three(self.operation, first, second, inputs.third as u32),
        }
    }

    /// The lane's result; none if the operation has no meaning here.
    pub fn evaluate(self, inputs: &Inputs, modes: &Modes) -> Option<Output> {
        if let Some((rule, format)) = self.float {
            return rule.evaluate(format, inputs, modes);
        }
        if self.operation == Operation::v_cndmask_b32 {
            let chosen = if inputs.flag {
                inputs.second
            } else {
                inputs.first
            };
            return Some(Value::Bits32(chosen as u32).into());
        }
        if let Some(pair) = Pair::of_accumulating(self.operation) {
            let sources = [inputs.first, inputs.second, inputs.third];
            let bits = pair.evaluate(sources, 0, &Pairs::WHOLE, modes)?;
            return Some(Value::Bits32(bits as u32).into());
        }
        exact::evaluate(self.operation, inputs)
            .or_else(|| self.integer(inputs).map(|bits| Value::Bits32(bits).into()))
            .or_else(|| convert::evaluate(self.operation, inputs, modes).map(Output::from))
            .or_else(|| bytes::evaluate(self.operation, inputs).map(Output::from))
    }
}
