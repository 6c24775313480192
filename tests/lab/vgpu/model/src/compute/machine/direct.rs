// SPDX-License-Identifier: GPL-2.0-only
//! Dispatches that PM4 packets make of a queue's compute registers.

use super::program::{Program, PRELOADED};
use super::scratch::Scratch;
use crate::compute::Kernel;
use crate::layout::pm4::initiator;
use crate::layout::shader::{self, ShaderRegisters};
use crate::terms::LocalMemory;

/// The second word of resources: that waves have scratch, and local memory in units.
const HAS_SCRATCH: u32 = 1;
const LDS_FROM: u32 = 15;
const LDS_SIZE: u32 = 0x1ff;

/// Bits of a register with the items of a workgroup along an axis; above them those of
/// the last one.
const WHOLE: u32 = 0xffff;
const LAST_FROM: u32 = 16;
const MOST_ITEMS: u64 = 1024;

/// What DISPATCH_DIRECT begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Direct {
    pub program: Program,
    pub kernel: Kernel,
    pub workgroups: u64,
    /// Items of a workgroup.
    pub items: u32,
}

/// Workgroups and their items along the axes.
struct Shape {
    first: [u32; 3],
    /// Behind which item the last one ends.
    grid: [u32; 3],
    items: [u32; 3],
}

impl Direct {
    /// A dispatch, none if it has no workgroups, or why there can be none.
    pub fn read(
        registers: &ShaderRegisters,
        counts: [u32; 3],
        initiator: u32,
        number: u32,
        local: LocalMemory,
    ) -> Result<Option<Direct>, String> {
        if initiator & initiator::ORDERED_APPEND != 0 {
            return Err("a dispatch whose waves append in order".to_owned());
        }
        let shape = Shape::read(registers, counts, initiator)?;
        let items = shape.items_of_group()?;
        let workgroups = shape.workgroups(counts)?;
        if workgroups == 0 || initiator & initiator::SHADER == 0 {
            return Ok(None);
        }
        let resources = [shader::PGM_RSRC1, shader::PGM_RSRC2, shader::PGM_RSRC3]
            .map(|register| registers.get(register));
        let lds = ((resources[1] >> LDS_FROM) & LDS_SIZE) * local.granule;
        Ok(Some(Direct {
            program: program(registers, resources, &shape, number),
            kernel: Kernel::of_registers(resources[0], lds, local)?,
            workgroups,
            items,
        }))
    }
}

fn program(
    registers: &ShaderRegisters,
    resources: [u32; 3],
    shape: &Shape,
    number: u32,
) -> Program {
    let location = registers.wide(shader::SCRATCH_BASE_LO) << 8;
    let scratch = Scratch::of_registers(location, registers.get(shader::TMPRING_SIZE));
    let has_scratch = resources[1] & HAS_SCRATCH != 0;
    let mut preload = [0; PRELOADED];
    for (register, value) in (shader::USER_DATA..).zip(&mut preload) {
        *value = registers.get(register);
    }
    Program {
        entry: (registers.wide(shader::PGM_LO) << 8) & ADDRESS,
        resources,
        number: number.into(),
        first: shape.first,
        grid: shape.grid,
        items: shape.items,
        private: if has_scratch { scratch.item_bytes() } else { 0 },
        scratch,
        preload,
        preloaded: shader::USER_DATA_COUNT,
        ..Program::default()
    }
}

/// The upper register has other bits behind those of the address.
const ADDRESS: u64 = (1 << 48) - 1;

impl Shape {
    fn read(
        registers: &ShaderRegisters,
        counts: [u32; 3],
        initiator: u32,
    ) -> Result<Shape, String> {
        let threads = shader::NUM_THREAD.map(|register| registers.get(register));
        let items = threads.map(|threads| threads & WHOLE);
        let mut grid = counts;
        if initiator & initiator::COUNTS_ITEMS == 0 {
            let has_last = initiator & initiator::PARTIAL_GROUPS != 0;
            for (axis, end) in grid.iter_mut().enumerate() {
                let all = items[axis];
                let last = match has_last {
                    true => threads[axis] >> LAST_FROM,
                    false => all,
                };
                if last > all || (last == 0 && all > 0) {
                    return Err(format!(
                        "the last workgroup has {last} items along an axis, others {all}"
                    ));
                }
                *end = last_item(*end, all, last)?;
            }
        }
        let from_zero = initiator & initiator::FROM_ZERO != 0;
        let first = shader::START.map(|register| match from_zero {
            true => 0,
            false => registers.get(register),
        });
        Ok(Shape { first, grid, items })
    }

    fn items_of_group(&self) -> Result<u32, String> {
        let items: u64 = self.items.map(u64::from).iter().product();
        match items {
            1..=MOST_ITEMS => Ok(items as u32),
            _ => Err(format!(
                "workgroup of {:?} items, at least 1 and at most {MOST_ITEMS}",
                self.items
            )),
        }
    }

    /// Of all axes. Counts are where they end, not how many there are.
    fn workgroups(&self, counts: [u32; 3]) -> Result<u64, String> {
        let along = |axis: usize| {
            let end = self.grid[axis].div_ceil(self.items[axis]);
            u64::from(end.saturating_sub(self.first[axis]))
        };
        let product = along(0).checked_mul(along(1));
        product
            .and_then(|two| two.checked_mul(along(2)))
            .ok_or_else(|| format!("dispatch of {counts:?}, more than can be counted"))
    }
}

/// Behind which item an axis of so many workgroups ends.
fn last_item(groups: u32, items: u32, last: u32) -> Result<u32, String> {
    let Some(before) = groups.checked_sub(1) else {
        return Ok(0);
    };
    before
        .checked_mul(items)
        .and_then(|before| before.checked_add(last))
        .ok_or_else(|| format!("{groups} workgroups of {items} items, more than can be counted"))
}
