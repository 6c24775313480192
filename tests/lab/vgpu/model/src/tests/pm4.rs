// SPDX-License-Identifier: GPL-2.0-only
//! User queues of PM4 packets: their pointers, and how they leave and come back.

use crate::layout::descriptor as mqd;
use crate::layout::pm4::opcode;
use crate::terms::Config;
use crate::testing::direct::RING;
use crate::testing::driver::{packet, Driver, TestProcess, TestQueue, USER};

/// Slots that the scheduler may give to user queues.
const SLOTS: usize = 24;

fn driver() -> Driver {
    Driver::new(Config {
        cu_per_shader_engine: 1,
        ..Config::default()
    })
}

/// Writes a value to guest memory.
fn write_data(at: u64, value: u32) -> Vec<u32> {
    let at = USER + at;
    let body = [5 << 8, at as u32, (at >> 32) as u32, value];
    packet(opcode::WRITE_DATA, &body)
}

/// Waits until a word of guest memory is 1.
fn wait(at: u64) -> Vec<u32> {
    const EQUAL: u32 = 3;
    const MEMORY: u32 = 1 << 4;
    let at = USER + at;
    let body = [EQUAL | MEMORY, at as u32, (at >> 32) as u32, 1, u32::MAX, 4];
    packet(opcode::WAIT_REG_MEM, &body)
}

/// A queue that waits for a word of memory within a buffer, behind its whole ring,
/// to write the word behind that one.
fn within_a_buffer(driver: &mut Driver, process: TestProcess) -> (TestQueue, u64) {
    let queue = driver.pm4_queue(process);
    let (gate, buffer) = (driver.guest(4096), driver.guest(4096));
    let mut words = wait(gate);
    words.extend(write_data(gate + 4, 7));
    for (index, word) in words.iter().enumerate() {
        driver.put32(buffer + index as u64 * 4, *word);
    }
    let at = USER + buffer;
    let body = [at as u32, (at >> 32) as u32, words.len() as u32];
    driver.map(&[queue]);
    driver.submit_pm4(&queue, &packet(opcode::INDIRECT_BUFFER, &body));
    driver.run(100_000);
    (queue, gate)
}

#[test]
fn pointers_turn_with_the_ring() {
    const MARK: u32 = 0xdead_beef;
    let mut driver = driver();
    let process = driver.process(1);
    let queue = driver.pm4_queue(process);
    let target = driver.guest(4096);
    driver.put32(queue.read + 4, MARK);
    driver.map(&[queue]);
    let mut written = 0;
    for round in 1..=300 {
        let words = write_data(target, round);
        written += words.len() as u64;
        driver.submit_pm4(&queue, &words);
        driver.run(100_000);
        assert_eq!(driver.get32(target), round);
        assert_eq!(u64::from(driver.get32(queue.read)), written % RING);
        // It is left and taken up again at any place.
        if round % 7 == 0 {
            driver.unmap_all();
            driver.map(&[queue]);
        }
    }
    assert!(written > RING);
    assert_eq!(driver.get32(queue.read + 4), MARK, "32 bits are stored");
}

#[test]
fn a_buffer_is_left_and_taken_up_where_it_was() {
    let mut driver = driver();
    let process = driver.process(1);
    let (queue, gate) = within_a_buffer(&mut driver, process);
    driver.unmap_all();
    assert_eq!(
        driver.mqd(&queue, 0, mqd::PQ_RPTR),
        driver.mqd(&queue, 0, mqd::PQ_WPTR),
        "the ring is read to its end"
    );
    assert!(driver.mqd(&queue, 0, mqd::IB_RPTR) > 0);
    driver.put32(gate, 1);
    driver.run(1_000_000);
    assert_eq!(driver.get32(gate + 4), 0, "it is off the hardware");
    driver.map(&[queue]);
    driver.run(1_000_000);
    assert_eq!(driver.get32(gate + 4), 7);
    driver.unmap_all();
    assert_eq!(driver.mqd(&queue, 0, mqd::IB_RPTR), 0);
}

/// A buffer of what fills up, from within a page on, with a packet behind it in the buffer
/// or in the ring: when that is executed, and after how many events.
fn behind_fillers(fillers: u64, in_buffer: bool) -> (u64, u64) {
    let kinds = [0, 0x8000_0000, 0xffff_1000];
    let mut driver = driver();
    let process = driver.process(1);
    let queue = driver.pm4_queue(process);
    let (target, memory) = (driver.guest(4096), driver.guest(4 * 4096));
    let buffer = memory + 404;
    let mut words: Vec<u32> = (0..fillers).map(|at| kinds[at as usize % 3]).collect();
    let last = write_data(target, 7);
    if in_buffer {
        words.extend(&last);
    }
    for (index, word) in words.iter().enumerate() {
        driver.put32(buffer + index as u64 * 4, *word);
    }
    let at = USER + buffer;
    let body = [at as u32, (at >> 32) as u32, words.len() as u32];
    let mut ring = packet(opcode::INDIRECT_BUFFER, &body);
    if !in_buffer {
        ring.extend(&last);
    }
    driver.map(&[queue]);
    let start = driver.now().0;
    driver.submit_pm4(&queue, &ring);
    let mut events = 0;
    driver.run_until(1_000_000, |driver| {
        events += 1;
        driver.get32(target) == 7
    });
    (driver.now().0 - start, events)
}

#[test]
fn what_fills_a_buffer_up_takes_a_nanosecond_a_word_and_an_event_a_page() {
    /// Over two borders of pages.
    const MANY: u64 = 2500;
    for in_buffer in [true, false] {
        let (one, one_events) = behind_fillers(1, in_buffer);
        let (many, many_events) = behind_fillers(1 + MANY, in_buffer);
        assert_eq!(many - one, MANY, "in the buffer: {in_buffer}");
        assert_eq!(many_events - one_events, 2, "in the buffer: {in_buffer}");
    }
}

#[test]
fn a_queue_within_a_buffer_gets_its_turn_among_too_many() {
    let mut driver = driver();
    let process = driver.process(1);
    let (queue, gate) = within_a_buffer(&mut driver, process);
    driver.unmap_all();
    let never = driver.guest(4096);
    let mut queues: Vec<TestQueue> = Vec::new();
    for _ in 0..SLOTS {
        let other = driver.pm4_queue(process);
        driver.submit_pm4(&other, &wait(never));
        queues.push(other);
    }
    queues.push(queue);
    driver.run_list(&queues);
    driver.put32(gate, 1);
    driver.run_until(200_000_000, |driver| driver.get32(gate + 4) == 7);
}
