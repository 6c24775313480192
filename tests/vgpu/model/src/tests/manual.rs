// SPDX-License-Identifier: GPL-2.0
//! Queues that the driver loads and takes away by register, die by die.

use crate::mqd;
use crate::registers::table::{athub, gc};
use crate::registers::xcc_base;
use crate::testing::driver::{Driver, TestQueue, Work, USER};
use crate::Config;

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
