// SPDX-License-Identifier: GPL-2.0-only

//! Pointers from the registers of hardware queues: found wherever a queue is, told
//! as the process would tell them, and left alone where a dump is not as expected.
//! And the counts of waves, which are asked of the hardware too.

use crate::fake::layout::*;
use crate::fake::{expect, put, with_gpu, Fake};
use kernel::prelude::*;
use kfd::driver::gpu::Present;
use kfd::driver::hardware::Waves;
use kfd::look::registers::Registers;
use kfd::look::survey::Survey;

/// The doorbell of the fake's first queue, and how many packets its ring has.
const DOORBELL: u32 = 0x400;
const PACKETS: u32 = 1024;

/// A read and a write pointer.
type Pointers = (Option<u64>, Option<u64>);

/// Looks at the fake, again and again.
struct Looker<'a> {
    gpu: &'a Present<'a>,
    registers: Registers,
    survey: Survey,
}

impl Looker<'_> {
    /// One look: the pointers of the first queue, and how many dumps that took.
    fn look(&mut self) -> Result<(Pointers, u32)> {
        let before = Fake::now().dumps;
        let nodes = self.gpu.nodes().map_err(|_| EINVAL)?;
        let node = nodes.node(0).map_err(|_| EINVAL)?;
        self.survey.take(&node, core::iter::empty());
        let source = node.hardware_source(self.gpu).ok_or(ENODEV)?;
        self.survey
            .read_registers(self.gpu, &mut self.registers, source);
        let sample = self.survey.queues().first().ok_or(ENOENT)?.sample;
        Ok(((sample.read, sample.write), Fake::now().dumps - before))
    }

    /// Counts the waves, and says how often the hardware was asked for it.
    fn count_waves(&mut self) -> Result<u32> {
        let before = Fake::now().wave_counts;
        let nodes = self.gpu.nodes().map_err(|_| EINVAL)?;
        let node = nodes.node(0).map_err(|_| EINVAL)?;
        self.survey.take(&node, core::iter::empty());
        let source = node.hardware_source(self.gpu).ok_or(ENODEV)?;
        self.survey
            .count_waves(self.gpu, &mut Waves::new()?, source);
        Ok(Fake::now().wave_counts - before)
    }

    fn sees(&mut self, read: u64, write: u64) -> Result {
        expect(self.look()?.0, (Some(read), Some(write)))
    }

    fn sees_nothing(&mut self) -> Result {
        expect(self.look()?.0, (None, None))
    }
}

fn with_looker(test: impl FnOnce(&mut Looker<'_>) -> Result) -> Result {
    with_gpu(|gpu| {
        test(&mut Looker {
            gpu: gpu.ok_or(ENODEV)?,
            registers: Registers::new()?,
            survey: Survey::new()?,
        })
    })
}

/// Has the first queue in a hardware queue, with pointers in packets.
fn map(slot: u32, read: u32, write: u64, empty: bool) {
    Fake::map(slot, DOORBELL, (read % PACKETS) * 16, write * 16, empty);
}

fn unmap(slot: u32) {
    Fake::map(slot, 0, 0, 0, false);
}

#[kunit_tests(amd_gpreempt_registers)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_in_no_hardware_queue_has_no_pointers() -> Result {
        with_looker(|looker| looker.sees_nothing())
    }

    #[test]
    fn packets_are_counted_from_the_place_in_the_ring() -> Result {
        with_looker(|looker| {
            for (read, write) in [(0, 1), (3, 7), (1023, 1024), (1020, 1030), (5000, 5600)] {
                map(9, read, write, false);
                looker.sees(read.into(), write)?;
            }
            Ok(())
        })
    }

    #[test]
    fn a_ring_that_may_be_full_or_empty_is_left_to_memory() -> Result {
        with_looker(|looker| {
            map(0, 2000, 2000, true);
            looker.sees(2000, 2000)?;
            map(0, 2000, 2000 + u64::from(PACKETS), false);
            looker.sees_nothing()
        })
    }

    #[test]
    fn a_pointer_beyond_32_bits_is_whole() -> Result {
        with_looker(|looker| {
            let write = (7u64 << 32) + 5;
            map(0, 3, write, false);
            looker.sees(write - 2, write)
        })
    }

    #[test]
    fn words_of_the_command_processor_are_as_they_are() -> Result {
        with_looker(|looker| {
            let queue = Fake::now().processes[0].queues[0];
            let format = u32::try_from(KFD_QUEUE_FORMAT_PM4).map_err(|_| EINVAL)?;
            put(queue, QUEUE_PROPERTIES + QUEUE_PROPERTIES_FORMAT, format);
            Fake::map(31, DOORBELL, 77, 4711, false);
            looker.sees(77, 4711)
        })
    }

    #[test]
    fn what_another_xcc_reads_is_left_to_memory() -> Result {
        with_looker(|looker| {
            let queue = Fake::now().processes[0].queues[0];
            map(0, 1, 2, false);
            // Packets of the standard are read by the first, whatever stands here.
            put(
                queue,
                QUEUE_PROPERTIES + QUEUE_PROPERTIES_PM4_TARGET_XCC,
                1u32,
            );
            looker.sees(1, 2)?;
            let format = u32::try_from(KFD_QUEUE_FORMAT_PM4).map_err(|_| EINVAL)?;
            put(queue, QUEUE_PROPERTIES + QUEUE_PROPERTIES_FORMAT, format);
            looker.sees_nothing()?;
            put(
                queue,
                QUEUE_PROPERTIES + QUEUE_PROPERTIES_PM4_TARGET_XCC,
                0u32,
            );
            looker.sees(16, 32)
        })
    }

    #[test]
    fn a_ring_without_room_has_no_read_pointer() -> Result {
        with_looker(|looker| {
            let queue = Fake::now().processes[0].queues[0];
            put(queue, QUEUE_PROPERTIES + QUEUE_PROPERTIES_QUEUE_SIZE, 0u64);
            map(0, 1, 2, false);
            looker.sees_nothing()
        })
    }

    #[test]
    fn a_queue_is_found_where_it_was_and_where_it_went() -> Result {
        with_looker(|looker| {
            map(20, 1, 2, false);
            // The other queues are in none, so that all are looked through once.
            expect(looker.look()?.1, 32)?;
            unmap(20);
            map(31, 2, 3, false);
            expect(looker.look()?, ((Some(2), Some(3)), 32))?;
            unmap(31);
            looker.sees_nothing()
        })
    }

    #[test]
    fn queues_that_stay_cost_one_dump_each() -> Result {
        with_looker(|looker| {
            for (slot, queue) in [(8, 0), (2, 1), (30, 3), (17, 4)] {
                Fake::map(slot, DOORBELL + 2 * queue, 0, 16, false);
            }
            looker.look()?;
            expect(looker.look()?, ((Some(0), Some(1)), 4))
        })
    }

    #[test]
    fn a_stopped_queue_is_not_looked_for() -> Result {
        with_looker(|looker| {
            for queue in 0..4 {
                Fake::stop(queue)?;
            }
            map(0, 1, 2, false);
            expect(looker.look()?, ((None, None), 0))
        })
    }

    #[test]
    fn a_dump_of_another_form_is_refused() -> Result {
        with_looker(|looker| {
            map(0, 1, 2, false);
            Fake::set(|fake| fake.dump_registers = 55);
            looker.sees_nothing()?;
            Fake::set(|fake| (fake.dump_registers, fake.dump_stride) = (56, 8));
            looker.sees_nothing()?;
            Fake::set(|fake| (fake.dump_stride, fake.dump_error) = (4, -12));
            looker.sees_nothing()?;
            Fake::set(|fake| fake.dump_error = 0);
            looker.sees(1, 2)
        })
    }

    #[test]
    fn nothing_is_read_while_the_gpu_is_away() -> Result {
        with_looker(|looker| {
            map(0, 1, 2, false);
            looker.sees(1, 2)?;
            expect(Fake::during_reset(|| looker.look())?.1, 0)?;
            looker.sees(1, 2)?;
            put(Fake::now().adev, AMDGPU_DEVICE_IN_SUSPEND, 1u8);
            expect(looker.look()?.1, 0)
        })
    }

    #[test]
    fn waves_are_not_counted_while_the_gpu_is_away() -> Result {
        with_looker(|looker| {
            expect(looker.count_waves()?, 1)?;
            expect(Fake::during_reset(|| looker.count_waves())?, 0)?;
            expect(looker.count_waves()?, 1)?;
            put(Fake::now().adev, AMDGPU_DEVICE_NO_HW_ACCESS, 1u8);
            expect(looker.count_waves()?, 0)
        })
    }
}
