// SPDX-License-Identifier: GPL-2.0-only
//! Waves at barriers, in a second trap handler, and with few registers, saved and restored
//! by the driver's own handler.

use crate::layout::descriptor as mqd;
use crate::terms::Config;
use crate::testing::driver::{Driver, TestQueue, USER};
use crate::testing::machine::{slow, Launch, HANDLERS, INSTRUCTION, WRITTEN};

fn driver() -> (Driver, TestQueue) {
    driver_with(&HANDLERS[0])
}

fn driver_with(handler: &[u8]) -> (Driver, TestQueue) {
    let mut driver = Driver::new(Config {
        cu_per_shader_engine: 1,
        ..slow()
    });
    let process = driver.process_with_handler(0x8001, handler);
    let queue = driver.queue(process, 1);
    driver.map(&[queue]);
    (driver, queue)
}

/// A workgroup that stores words for its items. Returns its signal, and where the
/// process sees the code.
fn launch(driver: &mut Driver, queue: &TestQueue, kernel: &str, items: u16, to: u64) -> (u64, u64) {
    let code = USER + driver.next_code();
    let launch = Launch {
        object: &WRITTEN,
        kernel,
        items,
        groups: 1,
        arguments: (USER + to).to_le_bytes().to_vec(),
    };
    (driver.launch(queue, &launch), code)
}

/// Takes the queue off after every instruction until the signal is there. Returns how
/// often that was.
fn interrupt_all(driver: &mut Driver, queue: &TestQueue, signal: u64) -> u64 {
    for saves in 0..1000 {
        driver.run(INSTRUCTION);
        driver.unmap_all();
        if driver.is_signalled(signal) {
            return saves;
        }
        driver.map(&[*queue]);
    }
    panic!("it does not end: {:?}", driver.report(queue));
}

#[test]
fn a_wave_that_waits_at_a_barrier_comes_there_again() {
    let (mut driver, queue) = driver();
    let to = driver.buffer(&[0xffff; 128]);
    let (signal, code) = launch(&mut driver, &queue, "waits", 128, to);
    let saves = interrupt_all(&mut driver, &queue, signal);
    assert!(saves > 80, "{saves}");
    let words = driver.words(to, 128);
    assert_eq!(words[..64], [210; 64]);
    assert_eq!(words[64..], [0; 64]);
    // Most of the time a wave waited, and all that is said of waves is where they were.
    let stops = driver.device.stops();
    assert_eq!(stops.len(), 1);
    let barrier = code + WRITTEN.symbol("there");
    let at_barrier = stops[0].addresses.iter().find(|(at, _)| *at == barrier);
    assert!(
        at_barrier.is_some_and(|(_, waves)| *waves > 70),
        "{stops:?}"
    );
    let all: u64 = stops[0].addresses.iter().map(|(_, waves)| waves).sum();
    assert!(all <= 2 * saves && all > saves, "{all} of {saves}");
}

#[test]
fn a_second_handler_answers_traps_while_its_wave_is_saved() {
    for interrupted in [false, true] {
        let (mut driver, queue) = driver();
        let own = driver.buffer(&[0x1000]);
        let to = driver.buffer(&[0; 64]);
        let (signal, code) = launch(&mut driver, &queue, "traps", 64, to);
        let memory = queue.process.handler_memory - USER;
        driver.put64(memory, code + WRITTEN.symbol("second"));
        driver.put64(memory + 8, USER + own);
        if interrupted {
            interrupt_all(&mut driver, &queue, signal);
        } else {
            driver.await_signal(signal);
        }
        assert_eq!(driver.words(to, 64), [0x1003; 64], "{interrupted}");
    }
}

#[test]
fn without_a_second_handler_a_trap_is_passed_over() {
    let (mut driver, queue) = driver();
    let to = driver.buffer(&[0xffff; 64]);
    let (signal, _) = launch(&mut driver, &queue, "traps", 64, to);
    driver.await_signal(signal);
    assert_eq!(driver.words(to, 64), [0; 64]);
}

fn four_of_each() -> Vec<u32> {
    (0..64)
        .flat_map(|item| (1..5).map(move |at| 0x100 * at + item))
        .collect()
}

/// AMD's handler saves accumulation registers right behind the others, and loads them from
/// four registers further on if there are only four others.
#[test]
fn beside_four_registers_the_handler_loses_accumulation_registers() {
    let expected = four_of_each();
    let (mut driver, queue) = driver();
    let to = driver.buffer(&[0; 256]);
    let (signal, _) = launch(&mut driver, &queue, "few", 64, to);
    driver.await_signal(signal);
    assert_eq!(driver.words(to, 256), expected, "undisturbed");

    for handler in HANDLERS.iter() {
        let (mut driver, queue) = driver_with(handler);
        let to = driver.buffer(&[0; 256]);
        let (signal, _) = launch(&mut driver, &queue, "few", 64, to);
        driver.run(11 * INSTRUCTION);
        driver.unmap_all();
        let area = queue.area + u64::from(driver.mqd(&queue, 0, mqd::CNTL_STACK_SIZE));
        let saved = driver.words(area + 4 * 256, 4 * 64);
        let by_item = |at: usize| saved[at % 4 * 64 + at / 4];
        assert_eq!(
            (0..256).map(by_item).collect::<Vec<u32>>(),
            expected,
            "saved"
        );
        // Behind all vector registers are the scalar ones.
        let behind = driver.words(area + 8 * 256, 4 * 64);
        driver.map(&[queue]);
        driver.await_signal(signal);
        let found = driver.words(to, 256);
        let by_item = |at: usize| behind[at % 4 * 64 + at / 4];
        assert_eq!(
            found,
            (0..256).map(by_item).collect::<Vec<u32>>(),
            "restored"
        );
    }
}

#[test]
fn waves_that_wait_for_a_semaphore_are_saved_and_go_on_waiting() {
    const GROUPS: u32 = 40;
    let (mut driver, queue) = driver();
    let to = driver.buffer(&[0]);
    let mut launch = Launch {
        object: &WRITTEN,
        kernel: "turns",
        items: 1,
        groups: GROUPS,
        arguments: (USER + to).to_le_bytes().to_vec(),
    };
    // Until somebody opens it nobody passes.
    let signal = driver.launch(&queue, &launch);
    driver.run(10 * INSTRUCTION);
    assert_eq!(driver.words(to, 1), [0]);
    assert_eq!(
        driver.report(&queue).workgroups_resident,
        u64::from(GROUPS),
        "all wait"
    );
    let other = driver.queue(queue.process, 1);
    driver.map(&[queue, other]);
    launch.kernel = "one_at_a_time";
    launch.groups = 1;
    let opened = driver.launch(&other, &launch);
    driver.await_signal(opened);
    for _ in 0..1000 {
        driver.run(3 * INSTRUCTION);
        driver.unmap_all();
        if driver.is_signalled(signal) {
            break;
        }
        driver.map(&[queue]);
    }
    assert!(driver.is_signalled(signal), "{:?}", driver.report(&queue));
    assert!(driver.report(&queue).saves > 10);
    // Two at a time would have lost sums.
    assert_eq!(driver.words(to, 1), [GROUPS]);
}
