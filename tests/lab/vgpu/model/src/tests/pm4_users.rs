// SPDX-License-Identifier: GPL-2.0-only
//! What packets of users may do with registers, and with dies of which another reads them.

use crate::layout::aql::{signal, vendor};
use crate::layout::pm4::opcode;
use crate::registers::table::nbio;
use crate::terms::Config;
use crate::testing::driver::{halves, packet, Driver, TestQueue, USER};

const DIES: u32 = 4;

/// Words that packets write 1 to.
const WORDS: u64 = 3;

fn driver(dies_each: u32) -> Driver {
    let config = Config {
        xcc_count: DIES,
        cu_per_shader_engine: 1,
        ..Config::default()
    };
    Driver::divided(config, 64 << 20, dies_each)
}

fn write(at: u64) -> Vec<u32> {
    let [low, high] = halves(USER + at);
    packet(opcode::WRITE_DATA, &[5 << 8, low, high, 1])
}

/// Waits until a register is at least as large as can be, which is written before, or not.
fn wait(writes: bool, first: u32, second: u32) -> Vec<u32> {
    const AT_LEAST: u32 = 5;
    let what = AT_LEAST | (u32::from(writes) << 6);
    let body = [what, first, second, u32::MAX, u32::MAX, 4];
    packet(opcode::WAIT_REG_MEM, &body)
}

/// Some packets for these dies alone.
fn only(dies: u32, behind: &[u32]) -> Vec<u32> {
    let mut words = packet(opcode::PRED_EXEC, &[(dies << 24) | behind.len() as u32]);
    words.extend(behind);
    words
}

/// Packets of a queue of PM4 packets in its ring: which of the words are written, and why the
/// queue has stopped.
fn in_ring(words: impl Fn(u64) -> Vec<u32>) -> (Vec<u32>, Option<String>) {
    let mut driver = driver(DIES);
    let process = driver.process(1);
    let queue = driver.pm4_queue(process);
    let target = driver.guest(4096);
    driver.map(&[queue]);
    driver.submit_pm4(&queue, &words(target));
    driver.run(100_000);
    written(&driver, &queue, target)
}

/// The same in a buffer that a packet of an AQL queue names, in the partition with that
/// number. It is complete unless it has stopped.
fn in_buffer(
    dies_each: u32,
    partition: usize,
    words: impl Fn(u64) -> Vec<u32>,
) -> (Vec<u32>, Option<String>) {
    let mut driver = driver(dies_each);
    let process = driver.process(1);
    let queue = driver.queue(process, 1);
    let (target, buffer) = (driver.guest(4096), driver.guest(4096));
    let words = words(target);
    for (index, word) in (0..).zip(&words) {
        driver.put32(buffer + index * 4, *word);
    }
    driver.turn_to(partition);
    driver.map(&[queue]);
    let done = driver.signal();
    let mut vendor = [0; 16];
    vendor[0] = (1 << 8) | (vendor::PM4_BUFFER << 16);
    vendor[2..4].copy_from_slice(&halves(USER + buffer));
    vendor[4] = words.len() as u32;
    vendor[14..].copy_from_slice(&halves(USER + done));
    driver.put_packet(&queue, &vendor);
    driver.ring(&queue);
    driver.run(100_000);
    let result = written(&driver, &queue, target);
    let completed = driver.get64(done + signal::VALUE) == 0;
    assert_eq!(completed, result.1.is_none(), "{result:?}");
    result
}

fn written(driver: &Driver, queue: &TestQueue, target: u64) -> (Vec<u32>, Option<String>) {
    let words = (0..WORDS).map(|word| driver.get32(target + word * 4));
    (words.collect(), driver.report(queue).fault)
}

const REQUEST: u32 = nbio::BIF_BX_PF0_GPU_HDP_FLUSH_REQ;
const DONE: u32 = nbio::BIF_BX_PF0_GPU_HDP_FLUSH_DONE;

#[test]
fn a_user_may_have_the_bridge_flushed_and_wait_for_that() {
    let result = in_ring(|target| [wait(true, REQUEST, DONE), write(target)].concat());
    assert_eq!(result, (vec![1, 0, 0], None));
}

#[test]
fn a_user_may_not_wait_for_other_registers() {
    let memory = nbio::RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE;
    let refused = [
        wait(false, DONE, 0),
        wait(false, REQUEST, DONE),
        wait(true, REQUEST, REQUEST),
        wait(true, memory, DONE),
    ];
    for wait in refused {
        let (words, fault) = in_ring(|target| [wait.clone(), write(target)].concat());
        assert_eq!(words, [0; 3], "{wait:x?}");
        let fault = fault.unwrap();
        assert!(fault.contains("register wait by a user"), "{fault}");
    }
}

#[test]
fn of_packets_for_some_dies_those_for_the_first_are_executed() {
    // The dies are counted from the first of the partition.
    for (dies_each, partition) in [(DIES, 0), (2, 0), (2, 1)] {
        let result = in_buffer(dies_each, partition, |target| {
            let (first, last) = (only(0b01, &write(target)), write(target + 8));
            [first, only(0b10, &write(target + 4)), last].concat()
        });
        assert_eq!(result, (vec![1, 0, 1], None), "{dies_each} {partition}");
    }
}

#[test]
fn a_buffer_may_end_with_packets_for_others() {
    let result = in_buffer(DIES, 0, |target| {
        [write(target), only(0b1110, &write(target + 4))].concat()
    });
    assert_eq!(result, (vec![1, 0, 0], None));
}

#[test]
fn packets_for_others_must_be_within_the_buffer() {
    let (words, fault) = in_buffer(DIES, 0, |target| {
        let mut words = only(0b10, &write(target));
        words[1] += 1;
        words
    });
    assert_eq!(words, [0; 3]);
    let fault = fault.unwrap();
    assert!(
        fault.contains("skips 6 dwords, beyond its buffer"),
        "{fault}"
    );
}

#[test]
fn in_a_ring_there_are_no_packets_for_some_dies() {
    let (words, fault) = in_ring(|target| only(0b01, &write(target)));
    assert_eq!(words, [0; 3]);
    let fault = fault.unwrap();
    assert!(fault.contains("unknown packet 0x23"), "{fault}");
}
