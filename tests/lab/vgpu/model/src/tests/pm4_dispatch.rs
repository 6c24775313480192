// SPDX-License-Identifier: GPL-2.0-only
//! Dispatches of machine code by PM4 packets: what waits for them, what is wrong with
//! them, which die runs them, and that nothing is lost when they are preempted.

use crate::layout::descriptor as mqd;
use crate::layout::pm4::{initiator, opcode};
use crate::layout::shader;
use crate::terms::{Bus, Config};
use crate::testing::direct::{dispatch, release, set, GROUPS, ITEMS};
use crate::testing::driver::{halves, packet, Driver, TestQueue, USER};
use crate::testing::machine::{slow, Launch, HANDLERS, INSTRUCTION, WRITTEN};

const COUNT: usize = 128;

pub(super) fn driver(config: Config) -> (Driver, TestQueue) {
    let mut driver = Driver::new(Config {
        cu_per_shader_engine: 1,
        ..config
    });
    let process = driver.process_with_handler(0x8001, &HANDLERS[0]);
    let queue = driver.pm4_queue(process);
    driver.map(&[queue]);
    (driver, queue)
}

pub(super) fn written(kernel: &'static str, items: u16, groups: u32, to: u64) -> Launch<'static> {
    Launch {
        object: &WRITTEN,
        kernel,
        items,
        groups,
        arguments: (USER + to).to_le_bytes().to_vec(),
    }
}

pub(super) fn write_data(at: u64, value: u32) -> Vec<u32> {
    let [low, high] = halves(USER + at);
    packet(opcode::WRITE_DATA, &[5 << 8, low, high, value])
}

/// CS_PARTIAL_FLUSH.
fn flush() -> Vec<u32> {
    packet(opcode::EVENT_WRITE, &[7 | (4 << 8)])
}

/// What `places` leaves of so many items in groups of 96, and zeros behind them.
pub(super) fn places(items: u32) -> Vec<u32> {
    let place = |at: u32| ((at / 96) << 16) | (at % 96);
    (0..512)
        .map(|at| if at < items { place(at) } else { 0 })
        .collect()
}

#[test]
fn workgroups_and_items_are_counted() {
    let last = |items: u32| set(shader::NUM_THREAD[0], &[96 | (items << 16)]);
    let cases = [
        (vec![], [3, 1, 1], GROUPS, 288),
        (vec![], [96, 1, 1], ITEMS, 96),
        (vec![], [97, 1, 1], ITEMS, 97),
        (vec![], [287, 1, 1], ITEMS, 287),
        (last(1), [3, 1, 1], GROUPS, 288),
        (last(1), [3, 1, 1], GROUPS | initiator::PARTIAL_GROUPS, 193),
        (last(96), [1, 1, 1], GROUPS | initiator::PARTIAL_GROUPS, 96),
    ];
    for (more, counts, initiator, items) in cases {
        let (mut driver, queue) = driver(Config::default());
        let (to, fence) = (driver.buffer(&[0; 512]), driver.guest(4096));
        // One axis with a rest, the other two with a workgroup each.
        let partial = initiator & initiator::PARTIAL_GROUPS != 0;
        let mut words = driver.registers(&written("places", 96, 0, to));
        words.extend(more);
        if partial {
            words.extend(set(shader::NUM_THREAD[1], &[0x10001, 0x10001]));
        }
        words.extend(dispatch(counts, initiator));
        words.extend(release(fence, 1));
        driver.submit_pm4(&queue, &words);
        driver.await_fence(fence);
        let what = format!("{counts:?} {initiator:#x}");
        assert_eq!(driver.words(to, 512), places(items), "{what}");
        let report = driver.report(&queue);
        assert_eq!(
            report.workgroups_done,
            u64::from(items.div_ceil(96)),
            "{what}"
        );
        assert_eq!((report.dispatches_done, report.fault), (1, None), "{what}");
    }
}

#[test]
fn what_has_no_workgroups_is_done_at_once() {
    let start = |at: u32| set(shader::START[0], &[at]);
    let cases = [
        (vec![], [0, 1, 1], GROUPS),
        (vec![], [1, 1, 0], ITEMS),
        (vec![], [3, 1, 1], 0),
        (start(3), [3, 1, 1], GROUPS),
        (start(u32::MAX), [3, 1, 1], GROUPS),
    ];
    for (more, counts, initiator) in cases {
        let (mut driver, queue) = driver(Config::default());
        let (to, fence) = (driver.buffer(&[0; 512]), driver.guest(4096));
        let mut words = driver.registers(&written("places", 96, 0, to));
        words.extend(more);
        words.extend(dispatch(counts, initiator));
        words.extend(release(fence, 1));
        driver.submit_pm4(&queue, &words);
        driver.await_fence(fence);
        assert_eq!(driver.words(to, 512), places(0), "{counts:?}");
        let report = driver.report(&queue);
        assert_eq!((report.workgroups_done, report.fault), (0, None));
    }
}

#[test]
fn workgroups_are_numbered_from_the_start_on() {
    let (mut driver, queue) = driver(Config::default());
    let (to, fence) = (driver.buffer(&[0; 512]), driver.guest(4096));
    let mut words = driver.registers(&written("places", 96, 0, to));
    words.extend(set(shader::START[0], &[2]));
    words.extend(dispatch([4, 1, 1], GROUPS));
    words.extend(release(fence, 1));
    driver.submit_pm4(&queue, &words);
    driver.await_fence(fence);
    let mut expected = places(384);
    expected[..192].fill(0);
    assert_eq!(driver.words(to, 512), expected);
    assert_eq!(driver.report(&queue).workgroups_done, 2);
    // The start means nothing where the dispatch says so.
    words = dispatch([1, 1, 1], GROUPS | initiator::FROM_ZERO);
    words.extend(release(fence, 2));
    driver.submit_pm4(&queue, &words);
    driver.run_until(1_000_000_000, |driver| driver.get32(fence) == 2);
    expected[..96].copy_from_slice(&places(96)[..96]);
    assert_eq!(driver.words(to, 512), expected);
}

#[test]
fn fences_and_flushes_wait_for_waves_and_other_packets_do_not() {
    let (mut driver, queue) = driver(slow());
    let (to, seen) = (driver.buffer(&[0; 512]), driver.guest(4096));
    let mut words = driver.registers(&written("places", 96, 3, to));
    words.extend(dispatch([3, 1, 1], GROUPS));
    words.extend(write_data(seen, 1));
    words.extend(flush());
    words.extend(write_data(seen + 4, 1));
    words.extend(dispatch([3, 1, 1], GROUPS));
    words.extend(release(seen + 8, 1));
    driver.submit_pm4(&queue, &words);
    driver.run_until(INSTRUCTION, |driver| driver.get32(seen) == 1);
    assert_eq!(driver.words(to, 512), places(0));
    assert_eq!(driver.get32(seen + 4), 0);
    driver.run_until(1_000_000_000, |driver| driver.get32(seen + 4) == 1);
    assert_eq!(driver.words(to, 512), places(288));
    assert_eq!(driver.get32(seen + 8), 0);
    driver.bus.write(to, &[0; 2048]).unwrap();
    driver.run_until(1_000_000_000, |driver| driver.get32(seen + 8) == 1);
    assert_eq!(driver.words(to, 512), places(288));
}

#[test]
fn sixteen_dispatches_are_in_flight_at_a_time() {
    let (mut driver, queue) = driver(Config::default());
    let seen = driver.guest(4096);
    let forever = Launch {
        arguments: vec![0; 8],
        ..written("forever", 64, 1, 0)
    };
    let mut words = driver.registers(&forever);
    for at in 1..=17 {
        words.extend(dispatch([1, 1, 1], GROUPS));
        words.extend(write_data(seen, at));
    }
    driver.submit_pm4(&queue, &words);
    driver.run(1_000_000);
    assert_eq!(driver.get32(seen), 16);
    assert_eq!(driver.report(&queue).workgroups_resident, 16);
    // They are saved, and come back.
    driver.unmap_all();
    driver.map(&[queue]);
    driver.run(1_000_000);
    let report = driver.report(&queue);
    assert_eq!((report.workgroups_resident, report.fault), (16, None));
    assert_eq!(driver.get32(seen), 16);
}

#[test]
fn nothing_is_lost_when_a_dispatch_is_taken_off_again_and_again() {
    let sums = |preempted: bool| {
        let (mut driver, queue) = driver(slow());
        let to = driver.buffer(&[0; COUNT]);
        let fence = driver.launch_pm4(&queue, &written("state", COUNT as u16, 1, to));
        driver.run_until(1_000_000, |d| d.report(&queue).workgroups_resident == 1);
        let mut saves = 0;
        while preempted && driver.get32(fence) == 0 {
            driver.run(3 * INSTRUCTION);
            driver.unmap_all();
            driver.map(&[queue]);
            saves += 1;
        }
        driver.await_fence(fence);
        assert_eq!(driver.report(&queue).fault, None);
        (driver.words(to, COUNT), saves)
    };
    let (expected, _) = sums(false);
    assert!(expected.windows(2).all(|two| two[0] != two[1]));
    let (found, saves) = sums(true);
    assert!(saves > 130, "{saves}");
    assert_eq!(found, expected);
}

#[test]
fn workgroups_that_have_not_begun_keep_their_places_in_the_save_area() {
    // More waves than the units take at a time.
    const GROUPS_IN_ALL: u32 = 70;
    const ITEMS_IN_ALL: u32 = GROUPS_IN_ALL * 96 - 5;
    let (mut driver, queue) = driver(slow());
    let words = (GROUPS_IN_ALL * 96) as usize;
    let (to, fence) = (driver.buffer(&vec![0; words]), driver.guest(4096));
    let mut packets = driver.registers(&written("places", 96, 0, to));
    packets.extend(set(shader::START[0], &[2]));
    packets.extend(dispatch([ITEMS_IN_ALL, 1, 1], ITEMS));
    packets.extend(release(fence, 1));
    driver.submit_pm4(&queue, &packets);
    let mut saves = 0;
    while driver.get32(fence) == 0 {
        driver.run(2 * INSTRUCTION);
        driver.unmap_all();
        driver.map(&[queue]);
        saves += 1;
    }
    assert!(saves > 3, "{saves}");
    let place = |at: u32| match at {
        192..ITEMS_IN_ALL => ((at / 96) << 16) | (at % 96),
        _ => 0,
    };
    let expected: Vec<u32> = (0..words as u32).map(place).collect();
    assert_eq!(driver.words(to, words), expected);
}

#[test]
fn registers_are_kept_in_the_descriptor() {
    let (mut driver, queue) = driver(Config::default());
    let (to, fence) = (driver.buffer(&[0; 512]), driver.guest(4096));
    let words = driver.registers(&written("places", 96, 0, to));
    driver.submit_pm4(&queue, &words);
    driver.run(1_000_000);
    driver.unmap_all();
    assert_eq!(driver.mqd(&queue, 0, 8), 96, "items along the first axis");
    // Another queue in the same slot has registers of its own.
    let other = driver.pm4_queue(queue.process);
    driver.map(&[other]);
    driver.submit_pm4(&other, &set(shader::NUM_THREAD[0], &[5]));
    driver.run(1_000_000);
    driver.unmap_all();
    assert_eq!(driver.mqd(&other, 0, 8), 5);
    driver.map(&[queue]);
    let mut words = dispatch([2, 1, 1], GROUPS);
    words.extend(release(fence, 1));
    driver.submit_pm4(&queue, &words);
    driver.await_fence(fence);
    assert_eq!(driver.words(to, 512), places(192));
}

#[test]
fn one_die_reads_a_queues_packets_and_runs_what_they_dispatch() {
    const DIES: u32 = 8;
    // What no die has is the first one's.
    for (target, expected) in [(0, 0), (5, 5), (7, 7), (DIES, 0), (u32::MAX, 0)] {
        let mut driver = Driver::new(Config {
            xcc_count: DIES,
            cu_per_shader_engine: 1,
            ..slow()
        });
        let process = driver.process_with_handler(0x8001, &HANDLERS[0]);
        let queue = driver.pm4_queue(process);
        for die in 0..DIES {
            driver.set_mqd(&queue, die, mqd::PM4_TARGET_XCC, target);
        }
        driver.map(&[queue]);
        let to = driver.buffer(&[u32::MAX]);
        let fence = driver.launch_pm4(&queue, &written("where", 64, 20, to));
        // Once it is in the save areas of all dies.
        driver.run(INSTRUCTION);
        driver.unmap_all();
        assert!(driver.report(&queue).saves > 0);
        driver.map(&[queue]);
        driver.await_fence(fence);
        assert_eq!(driver.words(to, 1), [expected], "{target}");
        assert_eq!(driver.report(&queue).workgroups_done, 20);
        driver.unmap_all();
        let read = |die| driver.mqd(&queue, die, mqd::PQ_RPTR);
        assert_eq!(read(expected), read((expected + 1) % DIES));
        // The registers are that die's.
        let items = |die| driver.mqd(&queue, die, 8);
        assert_eq!((items(expected), items((expected + 1) % DIES)), (64, 0));
    }
}

#[test]
fn units_that_a_mask_excludes_get_no_waves() {
    let (mut driver, queue) = driver(Config::default());
    let to = driver.buffer(&[0; 512]);
    let mut words = driver.registers(&written("places", 96, 0, to));
    words.extend(set(shader::STATIC_THREAD_MGMT[0], &[0, 0]));
    words.extend(set(shader::STATIC_THREAD_MGMT[2], &[0, 0]));
    words.extend(dispatch([1, 1, 1], GROUPS));
    driver.submit_pm4(&queue, &words);
    driver.run(1_000_000);
    assert_eq!(driver.words(to, 512), places(0));
    // The packet that gives units back comes from the driver's side.
    driver.unmap_all();
    for dword in mqd::STATIC_THREAD_MGMT {
        assert_eq!(driver.mqd(&queue, 0, dword), 0);
        driver.set_mqd(&queue, 0, dword, u32::MAX);
    }
    driver.map(&[queue]);
    driver.run(1_000_000);
    assert_eq!(driver.words(to, 512), places(96));
}

#[test]
fn scratch_is_where_the_registers_say() {
    // Four waves, one for each shader engine, with 1 KiB each.
    const RING: u32 = 8 | (1 << 12);
    let (mut driver, queue) = driver(slow());
    let (to, fence) = (driver.buffer(&[0; 512]), driver.guest(4096));
    let memory = driver.buffer(&[0; 8 * 256]);
    let mut words = driver.registers(&written("own", 96, 0, to));
    let resources = driver.resources(&written("own", 96, 0, to));
    words.extend(set(shader::PGM_RSRC2, &[resources | 1]));
    words.extend(set(shader::SCRATCH_BASE_LO, &halves((USER + memory) >> 8)));
    words.extend(set(shader::TMPRING_SIZE, &[RING]));
    words.extend(dispatch([5, 1, 1], GROUPS));
    words.extend(release(fence, 1));
    driver.submit_pm4(&queue, &words);
    let mut saves = 0;
    while driver.get32(fence) == 0 {
        driver.run(3 * INSTRUCTION);
        driver.unmap_all();
        driver.map(&[queue]);
        saves += 1;
    }
    assert!(saves > 3, "{saves}");
    assert_eq!(driver.report(&queue).fault, None);
    assert_eq!(driver.words(to, 512), places(480));
    // Each of the eight parts was a wave's.
    let parts = driver.words(memory, 8 * 256);
    assert!(parts
        .chunks(256)
        .all(|part| part.iter().any(|word| *word != 0)));
}

/// Packets that stop their queue. Returns why.
fn fault(words: &[u32]) -> String {
    let (mut driver, queue) = driver(Config::default());
    let other = driver.pm4_queue(queue.process);
    driver.map(&[queue, other]);
    let to = driver.buffer(&[0; 512]);
    let mut all = driver.registers(&written("places", 96, 0, to));
    all.extend(words);
    let interrupts = driver.device.state().interrupts;
    driver.submit_pm4(&queue, &all);
    driver.run(1_000_000);
    assert_eq!(driver.device.state().interrupts, interrupts + 1);
    // Other queues go on, and this one can be taken away.
    let fence = driver.launch_pm4(&other, &written("places", 96, 3, to));
    driver.await_fence(fence);
    let reason = driver.report(&queue).fault.unwrap();
    driver.unmap_all();
    assert_eq!(driver.report(&queue).mapped, None);
    reason
}

#[test]
fn what_cannot_be_dispatched_stops_its_queue() {
    let items = |x: u32, y: u32| set(shader::NUM_THREAD[0], &[x, y]);
    let one = || dispatch([1, 1, 1], GROUPS);
    let with = |words: Vec<u32>, more: Vec<u32>| [words, more].concat();
    let cases = [
        (packet(opcode::DISPATCH_DIRECT, &[1, 1, 1]), "3 dwords"),
        (with(items(0, 1), one()), "[0, 1, 1]"),
        (with(items(1025, 1), one()), "at most 1024"),
        (with(items(0xffff, 0xffff), one()), "at most 1024"),
        (
            dispatch([1, 1, 1], GROUPS | initiator::PARTIAL_GROUPS),
            "0 items",
        ),
        (
            with(
                set(shader::NUM_THREAD[0], &[96 | (97 << 16)]),
                dispatch([1, 1, 1], GROUPS | initiator::PARTIAL_GROUPS),
            ),
            "97 items",
        ),
        (dispatch([u32::MAX, 1, 1], GROUPS), "can be counted"),
        (dispatch([u32::MAX; 3], ITEMS), "can be counted"),
        (
            dispatch([1, 1, 1], GROUPS | initiator::ORDERED_APPEND),
            "append",
        ),
        // Local memory beyond that of a unit, and scratch for no wave.
        (
            with(set(shader::PGM_RSRC1 + 1, &[129 << 15]), one()),
            "66048 bytes of local memory",
        ),
        (
            with(
                with(
                    set(shader::TMPRING_SIZE, &[1 << 12]),
                    set(shader::PGM_RSRC1 + 1, &[1]),
                ),
                one(),
            ),
            "scratch",
        ),
        (set(shader::SET_END - 1, &[1, 2]), "none of shaders"),
        (packet(opcode::SET_SH_REG, &[0xffff, 1]), "none of shaders"),
    ];
    for (words, reason) in cases {
        let found = fault(&words);
        assert!(found.contains(reason), "'{found}' for {words:x?}");
    }
    // No register at all, and the last one, are fine.
    let (mut driver, queue) = driver(Config::default());
    let mut words = set(shader::SET_END - 1, &[1]);
    words.extend(packet(opcode::SET_SH_REG, &[0x400]));
    driver.submit_pm4(&queue, &words);
    driver.run(1_000_000);
    assert_eq!(driver.report(&queue).fault, None);
}

#[test]
fn code_that_is_not_there_stops_the_queue() {
    let words = [
        set(shader::PGM_LO, &halves(0x6000_0000_1000 >> 8)),
        dispatch([1, 1, 1], GROUPS),
    ];
    let reason = fault(&words.concat());
    assert!(reason.contains("0x600000001000"), "{reason}");
}
