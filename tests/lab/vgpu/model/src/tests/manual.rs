// SPDX-License-Identifier: GPL-2.0-only
//! Queues that the driver loads and takes away by register, die by die.

use crate::layout::descriptor as mqd;
use crate::registers::table::{athub, gc};
use crate::registers::xcc_base;
use crate::terms::Config;
use crate::testing::driver::{Driver, TestQueue, Work, USER};
use proptest::prelude::*;

const VMID: u32 = 8;
const SAVE: u32 = 3;

/// As the driver's load: the descriptor's registers, then the activation.
fn load(driver: &mut Driver, queue: &TestQueue, die: u32, pipe: u32) {
    driver.select(die, 1, pipe, 3);
    let base = xcc_base(die);
    for dword in 128..187 {
        let register = gc::CP_MQD_BASE_ADDR + (dword - 128) as u32;
        let value = driver.mqd(queue, die, dword);
        driver.write_reg(base + register, value);
    }
    driver.write_reg(base + gc::CP_HQD_VMID, VMID);
    let doorbell = queue.doorbell as u32 | (1 << 30);
    driver.write_reg(base + gc::CP_HQD_PQ_DOORBELL_CONTROL, doorbell);
    let write = USER + queue.write;
    driver.write_reg(base + gc::CP_HQD_PQ_WPTR_POLL_ADDR, write as u32);
    driver.write_reg(
        base + gc::CP_HQD_PQ_WPTR_POLL_ADDR + 1,
        (write >> 32) as u32,
    );
    driver.write_reg(base + gc::CP_HQD_ACTIVE, 1);
}

fn request(driver: &mut Driver, die: u32, pipe: u32, kind: u32) {
    driver.select(die, 1, pipe, 3);
    driver.write_reg(xcc_base(die) + gc::CP_HQD_DEQUEUE_REQUEST, kind);
}

fn is_active(driver: &mut Driver, die: u32, pipe: u32) -> bool {
    driver.select(die, 1, pipe, 3);
    driver.read_reg(xcc_base(die) + gc::CP_HQD_ACTIVE) & 1 != 0
}

fn unload(driver: &mut Driver, die: u32, pipe: u32) {
    request(driver, die, pipe, SAVE);
    driver.run_until(100_000_000, |driver| !is_active(driver, die, pipe));
}

fn fixture(xcc_count: u32) -> (Driver, TestQueue) {
    let config = Config {
        xcc_count,
        cu_per_shader_engine: 1,
        ..Config::default()
    };
    let mut driver = Driver::new(config);
    let process = driver.process(0x8003);
    driver.write_reg(athub::ATC_VMID0_PASID_MAPPING + VMID, 0x8003 | (1 << 31));
    let status = athub::ATC_VMID_PASID_MAPPING_UPDATE_STATUS;
    assert_eq!(driver.read_reg(status), 1 << VMID);
    driver.write_reg(status, 1 << VMID);
    assert_eq!(driver.read_reg(status), 0);
    for die in 0..xcc_count {
        let root = xcc_base(die) + gc::VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32 + 2 * VMID;
        driver.write_reg(root, process.root as u32);
        driver.write_reg(root + 1, (process.root >> 32) as u32);
    }
    let queue = driver.queue(process, 1);
    (driver, queue)
}

const WORK: Work = Work {
    workgroups: 300,
    items: 128,
    cost: 2_000_000,
    demand: 0,
    vgprs: 32,
    lds: 0,
    barrier: true,
};

#[test]
fn a_queue_is_saved_and_loaded_die_by_die() {
    for xcc_count in [1, 3] {
        let (mut driver, queue) = fixture(xcc_count);
        for die in 0..xcc_count {
            load(&mut driver, &queue, die, 1);
        }
        let dispatch = driver.dispatch(&queue, WORK);
        driver.run(500_000);
        assert_eq!(driver.report(&queue).queue.pasid, 0x8003);
        for cycle in 0..4 {
            for die in 0..xcc_count {
                unload(&mut driver, die, 1);
                let size = driver.mqd(&queue, die, mqd::CNTL_STACK_SIZE);
                assert!(driver.mqd(&queue, die, mqd::CNTL_STACK_OFFSET) < size);
                driver.run(100_000);
            }
            let done = driver.counts(&dispatch).iter().sum::<u32>();
            driver.run(10_000_000);
            let later = driver.counts(&dispatch).iter().sum::<u32>();
            assert_eq!(done, later, "nothing runs while no die is loaded");
            // In another slot, and in another order of dies.
            let pipe = 2 + cycle % 2;
            for die in (0..xcc_count).rev() {
                load(&mut driver, &queue, die, pipe);
                driver.run(300_000);
            }
            for die in 0..xcc_count {
                unload(&mut driver, die, pipe);
                load(&mut driver, &queue, die, 1);
            }
        }
        driver.finish(&dispatch);
        let again = driver.dispatch(&queue, Work::default());
        driver.finish(&again);
    }
}

/// A queue that the driver's load has taken from die to die, as the driver
/// numbers the dies: not always from the first.
fn rotated(xcc_count: u32) -> (Driver, TestQueue) {
    let (driver, queue) = fixture(xcc_count);
    for die in 0..xcc_count {
        driver.set_mqd(&queue, die, mqd::CURRENT_LOGIC_XCC, (die + 1) % xcc_count);
    }
    (driver, queue)
}

#[test]
fn work_that_comes_between_the_loads_of_two_dies_is_dealt_to_all() {
    let (mut driver, queue) = rotated(4);
    for cycle in 0..3 {
        // Nothing of it is in flight, so no die has it in its save area.
        let dispatch = driver.dispatch(
            &queue,
            Work {
                workgroups: 10,
                ..WORK
            },
        );
        for die in 0..4 {
            load(&mut driver, &queue, die, 1);
            driver.run(5_000_000);
            assert_eq!(
                driver.is_done(&dispatch),
                die == 3,
                "cycle {cycle}, die {die}"
            );
        }
        driver.finish(&dispatch);
        assert_eq!(driver.get64(queue.read), cycle + 1);
        for die in 0..4 {
            unload(&mut driver, die, 1);
        }
    }
}

#[test]
fn a_die_may_end_its_share_before_the_others_are_back() {
    let (mut driver, queue) = rotated(3);
    for die in 0..3 {
        load(&mut driver, &queue, die, 1);
    }
    // Die 0 has its 12 workgroups on its units; the others launch on when it leaves.
    let dispatch = driver.dispatch(
        &queue,
        Work {
            workgroups: 300,
            ..WORK
        },
    );
    driver.run(500_000);
    unload(&mut driver, 0, 1);
    driver.run(50_000_000);
    assert!(!driver.is_done(&dispatch));
    for die in 1..3 {
        unload(&mut driver, die, 1);
    }
    for die in 0..3 {
        load(&mut driver, &queue, die, 1);
    }
    driver.finish(&dispatch);
    assert_eq!(driver.get64(queue.read), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Dies come and go in any order and at any time, while work arrives.
    #[test]
    fn no_workgroup_is_lost_or_repeated(
        xcc_count in 1u32..5,
        steps in proptest::collection::vec((0u32..8, 0u64..1_500_000, 0u32..200), 1..40),
    ) {
        let (mut driver, queue) = rotated(xcc_count);
        let mut loaded = vec![false; xcc_count as usize];
        let mut dispatches = Vec::new();
        for (what, nanos, workgroups) in steps {
            match loaded.get_mut(what as usize) {
                Some(true) => unload(&mut driver, what, 1),
                Some(false) => load(&mut driver, &queue, what, 1),
                None if dispatches.len() < 20 => {
                    let work = Work { workgroups: workgroups + 1, barrier: nanos % 2 == 0, ..WORK };
                    dispatches.push(driver.dispatch(&queue, work));
                }
                None => {}
            }
            if let Some(loaded) = loaded.get_mut(what as usize) {
                *loaded = !*loaded;
            }
            driver.run(nanos);
        }
        for die in (0..xcc_count).filter(|die| !loaded[*die as usize]) {
            load(&mut driver, &queue, die, 1);
        }
        for dispatch in &dispatches {
            driver.finish(dispatch);
        }
        driver.run(1_000_000);
        prop_assert_eq!(driver.get64(queue.read), dispatches.len() as u64);
    }
}

#[test]
fn one_queue_leaves_and_the_others_run_on() {
    let (mut driver, queue) = fixture(1);
    let process = queue.process;
    let other = driver.queue(process, 1);
    load(&mut driver, &queue, 0, 1);
    load(&mut driver, &other, 0, 2);
    let stopped = driver.dispatch(&queue, WORK);
    driver.run(100_000);
    let running = driver.dispatch(
        &other,
        Work {
            workgroups: 10,
            ..WORK
        },
    );
    unload(&mut driver, 0, 1);
    driver.finish(&running);
    assert!(!driver.is_done(&stopped));
    load(&mut driver, &queue, 0, 1);
    driver.finish(&stopped);
}

#[test]
fn draining_waits_for_the_waves() {
    let (mut driver, queue) = fixture(1);
    load(&mut driver, &queue, 0, 1);
    // A second round has not been launched when the draining begins.
    let dispatch = driver.dispatch(&queue, WORK);
    driver.run(500_000);
    request(&mut driver, 0, 1, 1);
    driver.run(1_000_000);
    assert!(is_active(&mut driver, 0, 1));
    driver.run(2_000_000);
    assert!(!is_active(&mut driver, 0, 1));
    let done = driver.counts(&dispatch).iter().sum::<u32>();
    assert_eq!(done, 64, "4 units of 32 waves, 2 waves a workgroup");
    load(&mut driver, &queue, 0, 1);
    driver.finish(&dispatch);
}

/// On several dies the descriptor is read first to find the others'.
#[test]
fn an_unreadable_descriptor_is_charged_to_its_own_queue() {
    const NOWHERE: u64 = 1 << 46;
    let (mut driver, first) = fixture(3);
    load(&mut driver, &first, 0, 1);
    let process = driver.process(0x8003);
    let second = driver.queue(process, 1);
    driver.set_mqd(&second, 0, 128, NOWHERE as u32);
    driver.set_mqd(&second, 0, 129, (NOWHERE >> 32) as u32);
    load(&mut driver, &second, 0, 2);
    driver.run(1_000_000);
    assert_eq!(driver.report(&first).fault, None);
    let fault = driver.report(&second).fault.expect("a fault");
    assert!(fault.contains("descriptor"), "{fault}");
}
