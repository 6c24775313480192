// SPDX-License-Identifier: GPL-2.0-only
//! How the driver has divided the GPU: partitions of neighbouring dies, each with a
//! scheduler of its own on its first die.

use std::ops::Range;

use super::Buses;
use crate::registers::table::gc;
use crate::registers::xcc_base;

/// The dies that share the work of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    pub first: u32,
    pub count: u32,
}

impl Partition {
    pub fn dies(self) -> Range<u32> {
        self.first..self.first + self.count
    }

    pub fn mask(self) -> u32 {
        self.dies().fold(0, |mask, die| mask | (1 << die))
    }
}

impl Buses {
    /// The partition of a die, as the driver has told that die: which of how many it is.
    /// Before it has, all dies are one.
    pub fn partition_of(&self, die: u32) -> Partition {
        let all = self.config.xcc_count;
        let control = self.registers.get(xcc_base(die) + gc::CP_HYP_XCP_CTL);
        let (position, count) = (control & 7, (control >> 3) & 15);
        if count == 0 {
            return Partition {
                first: 0,
                count: all,
            };
        }
        let first = die.saturating_sub(position);
        Partition {
            first,
            count: count.min(all.saturating_sub(first)).max(1),
        }
    }

    /// The copy engines that are a partition's: as many for each, in the same order.
    pub fn copy_engines_of(&self, partition: Partition) -> Range<u32> {
        let partitions = (self.config.xcc_count / partition.count).max(1);
        let count = self.config.sdma_count.div_ceil(partitions);
        let first = partition.first / partition.count * count;
        first.min(self.config.sdma_count)..(first + count).min(self.config.sdma_count)
    }

    /// What the bus interface says of it, as the driver numbers the modes.
    pub fn partition_mode(&self) -> u32 {
        let Partition { count, .. } = self.partition_of(0);
        match self.config.xcc_count / count {
            0 | 1 => 0,
            2 => 1,
            3 => 2,
            4 => 3,
            _ => 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;
    use crate::terms::Config;
    use crate::testing::{TestBus, TestVram};

    fn divided(xcc_count: u32, sdma_count: u32, each: u32) -> Buses {
        let config = Config {
            xcc_count,
            sdma_count,
            ..Config::default()
        };
        let memory = Memory::new(Box::new(TestBus::new(0)), Box::new(TestVram::new(64 << 20)));
        let mut bus = Buses::new(config, memory);
        for die in 0..xcc_count {
            let control = (die % each) | (each << 3);
            let register = xcc_base(die) + gc::CP_HYP_XCP_CTL;
            bus.registers.set(register, control);
        }
        bus
    }

    #[test]
    fn each_die_is_in_the_partition_that_it_was_told() {
        for (each, mode) in [(8, 0), (4, 1), (2, 3), (1, 4)] {
            let bus = divided(8, 4, each);
            assert_eq!(bus.partition_mode(), mode);
            for die in 0..8 {
                let first = die / each * each;
                let partition = Partition { first, count: each };
                assert_eq!(bus.partition_of(die), partition);
                assert!(partition.dies().contains(&die));
                assert_eq!(partition.mask().count_ones(), each);
            }
        }
    }

    #[test]
    fn what_leads_beyond_the_dies_is_cut_off() {
        let mut bus = divided(4, 1, 4);
        let register = xcc_base(3) + gc::CP_HYP_XCP_CTL;
        for (value, first, count) in [(0, 0, 4), (0x7f, 0, 4), (8 << 3, 3, 1), (1 << 3, 3, 1)] {
            bus.registers.set(register, value);
            assert_eq!(bus.partition_of(3), Partition { first, count });
        }
    }

    #[test]
    fn copy_engines_are_shared_out_in_order() {
        let engines = |sdma_count, each| {
            let bus = divided(8, sdma_count, each);
            let firsts = (0..8).step_by(each as usize);
            let of = |first| bus.copy_engines_of(bus.partition_of(first));
            let bounds = firsts.map(of).map(|engines| (engines.start, engines.end));
            bounds.collect::<Vec<_>>()
        };
        assert_eq!(engines(4, 8), [(0, 4)]);
        assert_eq!(engines(4, 4), [(0, 2), (2, 4)]);
        assert_eq!(engines(4, 2), [(0, 1), (1, 2), (2, 3), (3, 4)]);
        assert_eq!(engines(1, 4), [(0, 1), (1, 1)]);
    }
}
