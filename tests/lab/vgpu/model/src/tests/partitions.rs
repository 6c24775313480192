// SPDX-License-Identifier: GPL-2.0-only
//! Partitions: each has its dies, its scheduler and its queues to itself.

use crate::terms::{Config, Faults};
use crate::testing::driver::{Driver, TestDispatch, TestQueue, Work};

const DIES: u32 = 4;
const DIES_EACH: u32 = 2;

/// A GPU of two partitions, with a queue in each.
fn halves() -> (Driver, [TestQueue; 2]) {
    let config = Config {
        xcc_count: DIES,
        cu_per_shader_engine: 1,
        ..Config::default()
    };
    let mut driver = Driver::divided(config, 64 << 20, DIES_EACH);
    // One process has a queue in each: its number says nothing about the partition.
    let process = driver.process(0x8001);
    let queues = [(); 2].map(|()| driver.queue(process, 1));
    for (partition, queue) in queues.iter().enumerate() {
        driver.turn_to(partition);
        driver.map(&[*queue]);
    }
    (driver, queues)
}

/// Longer than waves may go on before they are saved.
const COST: u64 = 200_000;
const WORKGROUPS: u32 = 1000;

fn work() -> Work {
    Work {
        workgroups: WORKGROUPS,
        items: 256,
        cost: COST,
        ..Work::default()
    }
}

fn dispatch(driver: &mut Driver, queues: &[TestQueue; 2]) -> [TestDispatch; 2] {
    queues.map(|queue| driver.dispatch(&queue, work()))
}

fn mapped(driver: &Driver, queues: &[TestQueue; 2]) -> [bool; 2] {
    queues.map(|queue| driver.report(&queue).mapped.is_some())
}

#[test]
fn a_queue_has_the_dies_of_its_partition_alone() {
    let (mut driver, queues) = halves();
    let dispatches = dispatch(&mut driver, &queues);
    for (queue, dispatch) in queues.iter().zip(&dispatches) {
        driver.finish(dispatch);
        let report = driver.report(queue);
        // As long as if there were no other: 8 workgroups on each of 4 units of a die.
        let rounds = u64::from(WORKGROUPS.div_ceil(32 * DIES_EACH));
        assert_eq!(report.running_time, rounds * COST);
        assert!(driver.counts(dispatch).iter().all(|count| *count == 1));
    }
}

#[test]
fn one_scheduler_takes_nothing_off_another_ones_dies() {
    let (mut driver, queues) = halves();
    for partition in [0, 1] {
        let dispatches = dispatch(&mut driver, &queues);
        driver.run(5 * COST / 2);
        driver.turn_to(partition);
        driver.unmap_all();
        let mut expected = [true; 2];
        expected[partition] = false;
        assert_eq!(mapped(&driver, &queues), expected);
        assert_eq!(driver.report(&queues[partition]).saves, 1);
        driver.finish(&dispatches[1 - partition]);
        driver.map(&[queues[partition]]);
        driver.finish(&dispatches[partition]);
        for dispatch in &dispatches {
            assert!(driver.counts(dispatch).iter().all(|count| *count == 1));
        }
    }
}

#[test]
fn a_queue_that_does_not_yield_holds_up_its_own_partition_alone() {
    let (mut driver, queues) = halves();
    let dispatches = dispatch(&mut driver, &queues);
    driver.run(5 * COST / 2);
    driver.device.set_faults(Faults {
        unyielding: [queues[0].doorbell].into(),
        ..Faults::default()
    });
    driver.turn_to(0);
    driver.unmap(0, 3, 0);
    driver.turn_to(1);
    driver.run(10_000);
    assert!(!driver.fence_is_written());
    driver.unmap_all();
    assert_eq!(mapped(&driver, &queues), [true, false]);
    driver.map(&[queues[1]]);
    for dispatch in &dispatches {
        driver.finish(dispatch);
    }
}

#[test]
fn a_scheduler_that_does_not_answer_holds_up_its_own_partition_alone() {
    let (mut driver, queues) = halves();
    let dispatches = dispatch(&mut driver, &queues);
    driver.run(5 * COST / 2);
    let held = Faults {
        held_fences: [0].into(),
        ..Faults::default()
    };
    driver.device.set_faults(held);
    driver.turn_to(0);
    driver.unmap(0, 3, 0);
    driver.run(COST);
    assert!(!driver.fence_is_written());
    let unanswered = |driver: &Driver| {
        let log = driver.device.hiq_log(0).into_iter();
        log.filter(|record| record.completed.is_none()).count()
    };
    assert_eq!(unanswered(&driver), 1);
    driver.turn_to(1);
    driver.unmap_all();
    driver.run_list(&[queues[1]]);
    driver.finish(&dispatches[1]);
    assert_eq!(unanswered(&driver), 1);
    driver.device.set_faults(Faults::default());
    assert_eq!(unanswered(&driver), 0);
    driver.turn_to(0);
    driver.map(&[queues[0]]);
    driver.finish(&dispatches[0]);
}
