// SPDX-License-Identifier: GPL-2.0-only
//! Dispatches of machine code, without preemption.

use crate::memory::{FaultCause, MemoryFault};
use crate::terms::Config;
use crate::testing::driver::{Driver, TestQueue, Work, USER};
use crate::testing::machine::{arguments, Launch, COMPILED, WRITTEN};

fn config(xcc_count: u32) -> Config {
    Config {
        xcc_count,
        cu_per_shader_engine: 1,
        ..Config::default()
    }
}

fn driver(xcc_count: u32) -> (Driver, TestQueue) {
    let mut driver = Driver::new(config(xcc_count));
    let process = driver.process(0x8001);
    let queue = driver.queue(process, 1);
    driver.map(&[queue]);
    (driver, queue)
}

const COUNT: u32 = 1900;

fn compiled(kernel: &str, arguments: Vec<u8>) -> Launch<'_> {
    Launch {
        object: &COMPILED,
        kernel,
        items: 256,
        groups: COUNT.div_ceil(256),
        arguments,
    }
}

#[test]
fn compiled_kernels_run_on_all_dies() {
    for xcc_count in [1, 8] {
        let (mut driver, queue) = driver(xcc_count);
        let numbers: Vec<u32> = (0..COUNT).collect();
        let singles = |factor: f32| numbers.iter().map(move |n| (*n as f32 * factor).to_bits());
        let a = driver.buffer(&singles(0.5).collect::<Vec<_>>());
        let b = driver.buffer(&singles(3.0).collect::<Vec<_>>());
        let sums = driver.buffer(&vec![0; COUNT as usize]);
        let signal = driver.launch(&queue, &compiled("add", arguments([a, b, sums], COUNT)));
        driver.await_signal(signal);
        let expected: Vec<u32> = singles(3.5).collect();
        assert_eq!(driver.words(sums, COUNT as usize), expected, "{xcc_count}");

        // Local memory and barriers.
        let a = driver.buffer(&numbers);
        let sum = driver.buffer(&[0]);
        let signal = driver.launch(&queue, &compiled("reduce", arguments([a, a, sum], COUNT)));
        driver.await_signal(signal);
        assert_eq!(driver.words(sum, 1), [numbers.iter().sum::<u32>()]);
        let report = driver.report(&queue);
        assert_eq!((report.dispatches_done, report.fault), (2, None));
        assert_eq!(report.workgroups_done, 2 * u64::from(COUNT.div_ceil(256)));
    }
}

#[test]
fn countable_work_runs_beside_machine_code() {
    let (mut driver, queue) = driver(1);
    let other = driver.queue(queue.process, 1);
    driver.map(&[queue, other]);
    let a = driver.buffer(&[1; COUNT as usize]);
    let sum = driver.buffer(&[0]);
    let signal = driver.launch(&queue, &compiled("reduce", arguments([a, a, sum], COUNT)));
    let counted = driver.dispatch(&other, Work::default());
    driver.finish(&counted);
    driver.await_signal(signal);
    assert_eq!(driver.words(sum, 1), [COUNT]);
}

/// A dispatch that stops its queue. Returns why, and where the kernel's code is.
fn fault(kernel: &str, arguments: Vec<u8>) -> (String, u64) {
    let (mut driver, queue) = driver(1);
    let other = driver.queue(queue.process, 1);
    driver.map(&[queue, other]);
    let interrupts = driver.device.state().interrupts;
    let launch = Launch {
        object: &WRITTEN,
        kernel,
        items: 64,
        groups: 1,
        arguments,
    };
    let code = USER + driver.next_code() + WRITTEN.symbol(kernel);
    let signal = driver.launch(&queue, &launch);
    driver.run(1_000_000);
    assert!(!driver.is_signalled(signal));
    assert_eq!(driver.device.state().interrupts, interrupts + 1);
    // Other queues go on, and this one can be taken away.
    let fine = driver.dispatch(&other, Work::default());
    driver.finish(&fine);
    let reason = driver.report(&queue).fault.unwrap();
    // The log has it as well.
    let notes = driver.device.state().notes;
    assert!(
        notes.iter().any(|note| note.ends_with(&reason)),
        "{notes:?}"
    );
    driver.unmap_all();
    assert_eq!(driver.report(&queue).mapped, None);
    (reason, code)
}

#[test]
fn memory_that_is_not_there_stops_the_queue() {
    let address = 0x6000_0000_1000_u64;
    let expected = MemoryFault {
        address,
        write: true,
        cause: FaultCause::NotMapped,
    };
    let (reason, _) = fault("store", address.to_le_bytes().to_vec());
    assert_eq!(reason, format!("machine code: {expected}"));
}

#[test]
fn an_unknown_instruction_stops_the_queue_with_its_bytes() {
    let (reason, code) = fault("unknown", vec![0; 8]);
    assert!(reason.contains("[ef, be, ad, de"), "{reason}");
    // It is the kernel's second instruction.
    let address = format!("at {:#x}", code + 4);
    assert!(reason.ends_with(&address), "{reason}, not {address}");
}

#[test]
fn items_find_their_places_in_registers() {
    let (mut driver, queue) = driver(1);
    let to = driver.buffer(&[0; 512]);
    let launch = Launch {
        object: &WRITTEN,
        kernel: "places",
        items: 96,
        groups: 3,
        arguments: (USER + to).to_le_bytes().to_vec(),
    };
    let signal = driver.launch(&queue, &launch);
    driver.await_signal(signal);
    let words = driver.words(to, 3 * 96 + 1);
    for (at, word) in (0..3 * 96).zip(&words) {
        assert_eq!(*word, ((at / 96) << 16) | (at % 96), "{at}");
    }
    assert_eq!(words[3 * 96], 0, "lanes without an item do nothing");
}

#[test]
fn a_wave_that_never_ends_can_be_stopped() {
    let (mut driver, queue) = driver(1);
    let signal = driver.launch(&queue, &Launch::forever());
    driver.run(1_000_000);
    assert_eq!(driver.report(&queue).workgroups_resident, 1);
    // Its waves are reset.
    driver.unmap(1, 3, 0);
    driver.run_until(1_000_000_000, |driver| driver.fence_is_written());
    assert_eq!(driver.report(&queue).workgroups_resident, 0);
    assert!(!driver.is_signalled(signal));
}

#[test]
fn waves_are_told_their_queues_doorbell() {
    let (mut driver, first) = driver(1);
    let queues = [
        first,
        driver.queue(first.process, 1),
        driver.queue(first.process, 1),
    ];
    driver.map(&queues);
    for (number, queue) in (0..).zip(queues) {
        let to = driver.buffer(&[0xffff; 128]);
        let launch = Launch {
            object: &WRITTEN,
            kernel: "doorbell",
            items: 64,
            groups: 1,
            arguments: (USER + to).to_le_bytes().to_vec(),
        };
        let signal = driver.launch(&queue, &launch);
        driver.await_signal(signal);
        // The first one has the doorbell at 0x4000, a multiple of a process's 8 KiB.
        assert_eq!(driver.words(to, 64), [number; 64]);
        assert_eq!(driver.words(to + 256, 64), [0x1234; 64]);
    }
}
