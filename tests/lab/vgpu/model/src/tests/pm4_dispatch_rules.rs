// SPDX-License-Identifier: GPL-2.0-only
//! Which queues dispatch by PM4 packets, how many dispatches are launched at a time, and
//! what registers say that means nothing.

use super::pm4_dispatch::{driver, places, write_data, written};
use crate::layout::pm4::opcode;
use crate::layout::shader;
use crate::terms::Config;
use crate::testing::direct::{dispatch, release, set, GROUPS};
use crate::testing::driver::{halves, packet, USER};
use crate::testing::machine::{slow, Launch, INSTRUCTION, WRITTEN};

#[test]
fn a_queue_of_aql_packets_is_dispatched_to_by_no_others() {
    const BUFFER: u32 = 1 << 16;
    let (mut driver, other) = driver(Config::default());
    let queue = driver.queue(other.process, 1);
    driver.map(&[queue]);
    let to = driver.buffer(&[0; 512]);
    let mut words = driver.registers(&written("places", 96, 0, to));
    words.extend(dispatch([1, 1, 1], GROUPS));
    let buffer = driver.buffer(&words);
    let [low, high] = halves(USER + buffer);
    let enter = packet(
        opcode::INDIRECT_BUFFER,
        &[low, high, words.len() as u32 | (1 << 23)],
    );
    let mut packet = [0; 16];
    packet[0] = BUFFER;
    packet[1..5].copy_from_slice(&enter);
    driver.put_packet(&queue, &packet);
    driver.ring(&queue);
    driver.run(1_000_000);
    let reason = driver.report(&queue).fault.unwrap();
    assert!(reason.contains("not a user's of PM4"), "{reason}");
    assert_eq!(driver.words(to, 512), places(0));
}

#[test]
fn one_dispatch_is_launched_at_a_time() {
    const MORE_THAN_FIT: u32 = 10_000;
    let (mut driver, queue) = driver(Config::default());
    let seen = driver.guest(4096);
    let forever = Launch {
        arguments: vec![0; 8],
        ..written("forever", 64, 1, 0)
    };
    let mut words = driver.registers(&forever);
    words.extend(dispatch([MORE_THAN_FIT, 1, 1], GROUPS));
    words.extend(write_data(seen, 1));
    words.extend(dispatch([1, 1, 1], GROUPS));
    words.extend(write_data(seen, 2));
    driver.submit_pm4(&queue, &words);
    driver.run(1_000_000);
    assert_eq!(driver.get32(seen), 1, "the second waits behind the first");
    assert_eq!(driver.report(&queue).dispatches_started, 1);
}

#[test]
fn other_bits_and_scratch_that_is_not_enabled_mean_nothing() {
    const BEHIND_THE_ADDRESS: u32 = 0xff00;
    let (mut driver, queue) = driver(Config::default());
    let (to, fence) = (driver.buffer(&[0; 512]), driver.guest(4096));
    let mut words = driver.registers(&written("places", 96, 0, to));
    let at = |words: &[u32], register: u32| {
        let wanted = register - shader::SET_FROM;
        words.iter().position(|word| *word == wanted).unwrap()
    };
    let upper = at(&words, shader::PGM_LO) + 2;
    words[upper] |= BEHIND_THE_ADDRESS;
    // Scratch for no wave at all.
    words.extend(set(shader::TMPRING_SIZE, &[1 << 12]));
    words.extend(dispatch([2, 1, 1], GROUPS));
    words.extend(release(fence, 1));
    driver.submit_pm4(&queue, &words);
    driver.run(10_000_000);
    assert_eq!(driver.report(&queue).fault, None);
    assert_eq!(driver.get32(fence), 1);
    assert_eq!(driver.words(to, 512), places(192));
}

#[test]
fn waves_find_sixteen_user_registers() {
    const USERS: u32 = 0x1f << 1;
    let (mut driver, queue) = driver(Config::default());
    let (to, fence) = (driver.buffer(&[0; 64]), driver.guest(4096));
    let launch = written("last_user", 64, 1, to);
    let mut words = driver.registers(&launch);
    let resources = driver.resources(&launch) & !USERS | (16 << 1);
    words.extend(set(shader::PGM_RSRC2, &[resources]));
    words.extend(set(shader::USER_DATA + 15, &[0x1234]));
    words.extend(dispatch([1, 1, 1], GROUPS));
    words.extend(release(fence, 1));
    driver.submit_pm4(&queue, &words);
    driver.await_fence(fence);
    assert_eq!(driver.words(to, 64), [0x1234; 64]);
}

#[test]
fn a_trap_handler_finds_the_number_of_the_dispatch() {
    let (mut driver, queue) = driver(Config::default());
    let memory = queue.process.handler_memory - USER;
    for number in 1..4 {
        let to = driver.buffer(&[0; 64]);
        let code = USER + driver.next_code();
        driver.put64(memory, code + WRITTEN.symbol("numbered"));
        let fence = driver.launch_pm4(&queue, &written("traps", 64, 1, to));
        driver.await_fence(fence);
        assert_eq!(driver.words(to, 64), [number; 64]);
    }
}

#[test]
fn each_axis_has_a_start_also_when_the_dispatch_was_taken_off() {
    const SECOND_NUMBER: u32 = 1 << 8;
    for preempted in [false, true] {
        let (mut driver, queue) = driver(slow());
        let (to, fence) = (driver.buffer(&[0; 64]), driver.guest(4096));
        let launch = written("plane", 1024, 1, to);
        let mut words = driver.registers(&launch);
        let resources = driver.resources(&launch) | SECOND_NUMBER;
        words.extend(set(shader::PGM_RSRC2, &[resources]));
        words.extend(set(shader::START[0], &[1, 2, 0]));
        words.extend(dispatch([5, 7, 1], GROUPS));
        words.extend(release(fence, 1));
        driver.submit_pm4(&queue, &words);
        while preempted && driver.get32(fence) == 0 {
            driver.run(3 * INSTRUCTION);
            driver.unmap_all();
            driver.map(&[queue]);
        }
        driver.await_fence(fence);
        let expected = |at: u32| match (at % 8, at / 8) {
            (x @ 1..5, y @ 2..7) => (y << 16) | x,
            _ => 0,
        };
        assert_eq!(
            driver.words(to, 64),
            (0..64).map(expected).collect::<Vec<u32>>()
        );
        assert_eq!(driver.report(&queue).workgroups_done, 20);
    }
}

#[test]
fn waves_are_told_how_many_they_are_and_which_is_the_first() {
    const INFORMATION: u32 = 1 << 10;
    const FIRST: u32 = 1 << 31;
    let (mut driver, queue) = driver(Config::default());
    let (to, fence) = (driver.buffer(&[0; 192]), driver.guest(4096));
    let launch = written("told", 192, 1, to);
    let mut words = driver.registers(&launch);
    let resources = driver.resources(&launch) | INFORMATION;
    words.extend(set(shader::PGM_RSRC2, &[resources]));
    words.extend(dispatch([1, 1, 1], GROUPS));
    words.extend(release(fence, 1));
    driver.submit_pm4(&queue, &words);
    driver.await_fence(fence);
    let found = driver.words(to, 192);
    assert_eq!(found[..64], [3 | FIRST; 64]);
    assert_eq!(found[64..], [3; 128]);
}
