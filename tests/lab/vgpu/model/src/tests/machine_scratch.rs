// SPDX-License-Identifier: GPL-2.0-only
//! Dispatches whose items have scratch: who gives it, which part a wave has, and that the
//! part stays the wave's when it is taken off.

use crate::layout::aql::{inactive, owner as field};
use crate::layout::descriptor as mqd;
use crate::terms::{Config, Timing};
use crate::testing::driver::{Driver, TestQueue, USER};
use crate::testing::machine::{arguments, Launch, HANDLERS, UNOPTIMIZED};

const COUNT: u32 = 1900;
const GROUPS: u32 = COUNT.div_ceil(256);
const ITEM: u32 = 512;
const WAVE: u32 = ITEM * 64;
const SCRATCH_WAVE: u32 = 1 << 15;

fn driver(xcc_count: u32, instruction: u64) -> (Driver, TestQueue) {
    let mut driver = Driver::new(Config {
        xcc_count,
        cu_per_shader_engine: 1,
        wave_quantum: 16,
        timing: Timing {
            instruction,
            ..Timing::default()
        },
        ..Config::default()
    });
    let process = driver.process_with_handler(0x8001, &HANDLERS[0]);
    let queue = driver.queue(process, 1);
    let signal = driver.signal();
    // The value of a signal is what has to be done.
    driver.put64(signal + 8, 0);
    driver.put64(owner(&queue) + field::INACTIVE_SIGNAL, USER + signal);
    driver.map(&[queue]);
    (driver, queue)
}

fn owner(queue: &TestQueue) -> u64 {
    queue.read - 128
}

/// What the owner's signal says.
fn asked(driver: &Driver, queue: &TestQueue) -> u64 {
    driver.get64(driver.get64(owner(queue) + field::INACTIVE_SIGNAL) - USER + 8)
}

/// Gives a queue scratch for so many waves of each die, and lets it go on.
fn give(driver: &mut Driver, queue: &TestQueue, waves: u32) -> u64 {
    let dies = u64::from(driver.device.config().xcc_count);
    let die_bytes = u64::from(waves * WAVE);
    let memory = driver.guest(die_bytes * dies);
    let at = owner(queue);
    driver.put32(at + field::RING_SIZE, waves | ((WAVE / 1024) << 12));
    driver.put64(at + field::LOCATION, USER + memory);
    driver.put64(at + field::DIE_BYTES, die_bytes);
    driver.put32(at + field::ITEM_BYTES, ITEM);
    let signal = driver.get64(at + field::INACTIVE_SIGNAL) - USER;
    driver.put64(signal + 8, 0);
    memory
}

fn numbers(factor: u32) -> Vec<u32> {
    (0..COUNT).map(|n| n.wrapping_mul(factor) >> 5).collect()
}

/// A dispatch of `scratch`. Returns its signal and its results.
fn launch(driver: &mut Driver, queue: &TestQueue) -> (u64, u64) {
    let a = driver.buffer(&numbers(2_654_435_761));
    let b = driver.buffer(&numbers(0x9e37_79b9));
    let to = driver.buffer(&vec![0; COUNT as usize]);
    let launch = Launch {
        object: &UNOPTIMIZED,
        kernel: "scratch",
        items: 256,
        groups: GROUPS,
        arguments: arguments([a, b, to], COUNT),
    };
    (driver.launch(queue, &launch), to)
}

fn expected() -> Vec<u32> {
    let (a, b) = (numbers(2_654_435_761), numbers(0x9e37_79b9));
    (0..COUNT as usize)
        .map(|at| {
            let mut own: Vec<u32> = (0..37).map(|of| of * at as u32).collect();
            own[a[at] as usize % 37] += 5;
            own[b[at] as usize % 37] ^= 9;
            let of = |value: u32| own[value as usize % 37];
            of(a[at] + b[at]) + of(a[at]) + of(b[at])
        })
        .collect()
}

#[test]
fn a_dispatch_that_wants_scratch_waits_until_its_owner_gives_it() {
    for xcc_count in [1, 8] {
        let (mut driver, queue) = driver(xcc_count, 20);
        let interrupts = driver.device.state().interrupts;
        let (signal, to) = launch(&mut driver, &queue);
        driver.run(1_000_000);
        assert_eq!(asked(&driver, &queue), inactive::WANTS_SCRATCH);
        assert_eq!(driver.report(&queue).dispatches_done, 0);
        // Nobody waits for the signal by an interrupt here.
        assert_eq!(driver.device.state().interrupts, interrupts);
        // The owner has not answered yet, and is not asked again.
        driver.run(1_000_000);
        assert_eq!(asked(&driver, &queue), inactive::WANTS_SCRATCH);
        let memory = give(&mut driver, &queue, 32);
        driver.await_signal(signal);
        assert_eq!(driver.words(to, COUNT as usize), expected(), "{xcc_count}");
        // Each die has used a part of its own.
        for die in 0..u64::from(xcc_count) {
            let part = memory + die * u64::from(32 * WAVE);
            let used = driver.words(part, WAVE as usize / 4);
            assert!(used.iter().any(|word| *word != 0), "{die}");
        }
        // The next finds enough.
        let (signal, to) = launch(&mut driver, &queue);
        driver.await_signal(signal);
        assert_eq!(driver.words(to, COUNT as usize), expected());
        assert_eq!(asked(&driver, &queue), 0);
    }
}

#[test]
fn scratch_for_one_dispatch_is_given_back_before_the_next_has_any() {
    let (mut driver, queue) = driver(1, 500);
    let at = owner(&queue);
    let signal = driver.get64(at + field::INACTIVE_SIGNAL) - USER;
    give(&mut driver, &queue, 16);
    driver.put32(at + field::PROPERTIES, field::SCRATCH_ONCE);
    let (first, to) = launch(&mut driver, &queue);
    let (second, to_second) = launch(&mut driver, &queue);
    // The queue knows after it was taken off, too.
    driver.run(100_000);
    driver.unmap_all();
    driver.map(&[queue]);
    driver.await_signal(first);
    assert_eq!(driver.words(to, COUNT as usize), expected());
    driver.run(1_000_000);
    assert_eq!(asked(&driver, &queue), inactive::RETURNS_SCRATCH);
    let started = |driver: &Driver| driver.report(&queue).dispatches_started;
    assert_eq!(started(&driver), 1);
    // The owner takes it back, and is asked for more.
    driver.put32(at + field::ITEM_BYTES, 0);
    driver.put64(signal + 8, 0);
    driver.put32(at + field::PROPERTIES, 0);
    driver.run(1_000_000);
    assert_eq!(asked(&driver, &queue), inactive::WANTS_SCRATCH);
    give(&mut driver, &queue, 32);
    driver.await_signal(second);
    assert_eq!(driver.words(to_second, COUNT as usize), expected());
    // That stays the queue's.
    driver.run(1_000_000);
    assert_eq!((asked(&driver, &queue), started(&driver)), (0, 2));
}

#[test]
fn waves_keep_their_scratch_when_they_are_taken_off() {
    for xcc_count in [1, 8] {
        let (mut driver, queue) = driver(xcc_count, 500);
        // One workgroup of four waves on each shader engine.
        give(&mut driver, &queue, 16);
        let (signal, to) = launch(&mut driver, &queue);
        let mut random = 99_u64;
        while !driver.is_signalled(signal) {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            driver.run(10_000 + (random >> 33) % 100_000);
            driver.unmap_all();
            driver.map(&[queue]);
        }
        let report = driver.report(&queue);
        assert_eq!(report.fault, None);
        assert!(report.saves > 9, "{}", report.saves);
        assert_eq!(driver.words(to, COUNT as usize), expected(), "{xcc_count}");
    }
}

#[test]
fn the_control_stack_says_which_part_each_wave_has() {
    let (mut driver, queue) = driver(1, 10_000);
    give(&mut driver, &queue, 16);
    launch(&mut driver, &queue);
    driver.run(1_000_000);
    // No more than one workgroup on each engine has scratch.
    assert_eq!(driver.report(&queue).workgroups_resident, 4);
    driver.unmap_all();
    let end = driver.mqd(&queue, 0, mqd::CNTL_STACK_SIZE);
    let mut found: Vec<u32> = (1..=16)
        .map(|back| driver.get_stack(&queue, end - back * 4) & 0xffff)
        .collect();
    found.sort_unstable();
    let engines = (0..4).flat_map(|engine| (0..4).map(move |slot| (engine << 11) | slot));
    assert_eq!(
        found,
        engines.map(|seat| SCRATCH_WAVE | seat).collect::<Vec<_>>()
    );
}

#[test]
fn scratch_that_no_workgroup_fits_into_stops_the_queue() {
    let (mut driver, queue) = driver(1, 20);
    give(&mut driver, &queue, 12);
    launch(&mut driver, &queue);
    driver.run(1_000_000);
    let fault = driver.report(&queue).fault.unwrap();
    assert!(
        fault.contains("a workgroup of 4 waves wants scratch"),
        "{fault}"
    );
}

#[test]
fn without_anybody_to_ask_the_queue_stops() {
    let (mut driver, queue) = driver(1, 20);
    driver.put64(owner(&queue) + field::INACTIVE_SIGNAL, 0);
    launch(&mut driver, &queue);
    driver.run(1_000_000);
    let fault = driver.report(&queue).fault.unwrap();
    assert!(fault.contains("nobody can be asked for it"), "{fault}");
}
