// SPDX-License-Identifier: GPL-2.0-only
//! Accesses that find no memory, of processes that have them tried again (XNACK).

use crate::layout::descriptor::sdma as mqd;
use crate::layout::pm4::opcode;
use crate::memory::FB_BASE;
use crate::terms::{Config, Timing};
use crate::testing::driver::{
    halves, packet, Driver, TestDispatch, TestProcess, TestQueue, Work, USER,
};
use crate::testing::machine::{slow, Launch, HANDLERS, INSTRUCTION, WRITTEN};

const PAGE: u64 = 4096;
/// Of the second word that an interrupt has of a fault: a write, and one that is tried
/// again.
const WRITES: u32 = 1 << 5;
const RETRIES: u32 = 1 << 7;
/// What the driver puts where there will be no memory.
const FINAL: u64 = (1 << 4) | (1 << 54) | (1 << 56);

fn driver(retries: bool) -> (Driver, TestProcess) {
    let mut driver = Driver::new(Config {
        cu_per_shader_engine: 1,
        ..slow()
    });
    let process = TestProcess {
        retries,
        ..driver.process_with_handler(0x8001, &HANDLERS[0])
    };
    (driver, process)
}

/// Two pages, the second of which the process does not find, and the entry it had.
fn half(driver: &mut Driver, process: &TestProcess, entry: u64) -> (u64, u64) {
    let pages = driver.guest(2 * PAGE);
    let was = driver.set_entry(process, USER + pages + PAGE, entry);
    (pages, was)
}

/// The last interrupt's address and flags, if it is one of a fault.
fn told(driver: &mut Driver) -> (u64, u32) {
    let words = driver.last_interrupt();
    let page = u64::from(words[4]) | (u64::from(words[5] & 0xf) << 32);
    (page << 12, words[5] & (WRITES | RETRIES))
}

/// A wave adds to words of two pages, half of them in the second, which has this entry.
struct Adding {
    driver: Driver,
    queue: TestQueue,
    signal: u64,
    /// Where the words are, and the second page's proper entry.
    to: u64,
    was: u64,
}

impl Adding {
    fn begin(retries: bool, entry: u64) -> Adding {
        let (mut driver, process) = driver(retries);
        let (pages, was) = half(&mut driver, &process, entry);
        let queue = driver.queue(process, 1);
        driver.map(&[queue]);
        let to = pages + PAGE - 32 * 4;
        let launch = Launch {
            object: &WRITTEN,
            kernel: "adds",
            items: 64,
            groups: 1,
            arguments: (USER + to).to_le_bytes().to_vec(),
        };
        let signal = driver.launch(&queue, &launch);
        driver.run(20 * INSTRUCTION);
        Adding {
            driver,
            queue,
            signal,
            to,
            was,
        }
    }

    fn second(&self) -> u64 {
        USER + self.to + 32 * 4
    }

    fn put_entry(&mut self, entry: u64) {
        let (at, process) = (self.second(), self.queue.process);
        self.driver.set_entry(&process, at, entry);
    }

    fn words(&self) -> Vec<u32> {
        self.driver.words(self.to, 64)
    }
}

#[test]
fn waves_go_on_when_the_memory_is_there_and_have_added_once() {
    for preempted in [false, true] {
        let mut adding = Adding::begin(true, 0);
        let second = adding.second();
        assert_eq!(told(&mut adding.driver), (second, WRITES | RETRIES));
        assert_eq!(adding.words(), [0; 64], "all or none");
        assert_eq!(adding.driver.report(&adding.queue).fault, None);
        if preempted {
            adding.driver.unmap_all();
            adding.driver.map(&[adding.queue]);
            adding.driver.run(2 * INSTRUCTION);
            assert_eq!(adding.words(), [0; 64]);
        }
        adding.put_entry(adding.was);
        adding.driver.await_signal(adding.signal);
        assert_eq!(adding.words(), [1; 64], "{preempted}");
        let report = adding.driver.report(&adding.queue);
        assert_eq!((report.saves > 0, report.fault), (preempted, None));
    }
}

#[test]
fn the_driver_is_told_once_in_a_while() {
    let mut adding = Adding::begin(true, 0);
    let before = adding.driver.device.state().interrupts;
    let pause = Timing::default().retry;
    adding.driver.run(100 * pause);
    assert_eq!(adding.driver.device.state().interrupts, before + 10);
}

#[test]
fn what_the_driver_gives_up_stops_the_queue() {
    let mut adding = Adding::begin(true, 0);
    adding.put_entry(FINAL);
    adding.driver.run(INSTRUCTION);
    let second = adding.second();
    assert_eq!(told(&mut adding.driver), (second, WRITES));
    let fault = adding.driver.report(&adding.queue).fault.unwrap();
    assert!(fault.contains("Final"), "{fault}");
    // It stays stopped, whatever becomes of the page.
    adding.put_entry(adding.was);
    adding.driver.run(20 * INSTRUCTION);
    assert_eq!(adding.words(), [0; 64]);
}

#[test]
fn a_process_that_has_not_asked_for_it_is_stopped_at_once() {
    let mut adding = Adding::begin(false, 0);
    let second = adding.second();
    assert_eq!(told(&mut adding.driver), (second, WRITES));
    assert!(adding.driver.report(&adding.queue).fault.is_some());
}

#[test]
fn packets_of_the_command_processor_are_tried_again() {
    let (mut driver, process) = driver(true);
    let (pages, was) = half(&mut driver, &process, 0);
    let queue = driver.pm4_queue(process);
    driver.map(&[queue]);
    let write = |at: u64, value: u32| {
        let [low, high] = halves(USER + at);
        packet(opcode::WRITE_DATA, &[5 << 8, low, high, value])
    };
    let words = [write(pages + PAGE, 5), write(pages, 6)].concat();
    driver.submit_pm4(&queue, &words);
    driver.run(1_000_000);
    assert_eq!(
        told(&mut driver),
        (USER + pages + PAGE, WRITES | RETRIES),
        "of the first packet"
    );
    assert_eq!(driver.words(pages, 1), [0], "the second packet waits");
    driver.set_entry(&process, USER + pages + PAGE, was);
    driver.run(1_000_000);
    assert_eq!(driver.words(pages, 1), [6]);
    assert_eq!(driver.words(pages + PAGE, 1), [5]);
    assert_eq!(driver.report(&queue).fault, None);
}

/// A queue that was mapped with a packet in it while its process did not find the page of
/// its pointers, and the entry that the page had.
fn without_pointers(retries: bool) -> (Driver, TestQueue, TestDispatch, u64) {
    let (mut driver, process) = driver(retries);
    let queue = driver.queue(process, 1);
    let was = driver.set_entry(&process, USER + queue.write, 0);
    let (words, dispatch) = driver.prepare(Work::default());
    driver.put_packet(&queue, &words);
    driver.map(&[queue]);
    driver.run(1_000_000);
    let page = (USER + queue.write) & !(PAGE - 1);
    let expected = if retries { RETRIES } else { 0 };
    assert_eq!(told(&mut driver), (page, expected));
    (driver, queue, dispatch, was)
}

#[test]
fn a_write_pointer_is_read_again() {
    let (mut driver, queue, dispatch, was) = without_pointers(true);
    assert_eq!(driver.report(&queue).fault, None);
    driver.set_entry(&queue.process, USER + queue.write, was);
    driver.finish(&dispatch);
}

#[test]
fn a_write_pointer_that_cannot_be_read_stops_the_queue() {
    let (mut driver, queue, dispatch, was) = without_pointers(false);
    let fault = driver.report(&queue).fault.unwrap();
    assert!(fault.starts_with("write pointer: "), "{fault}");
    driver.set_entry(&queue.process, USER + queue.write, was);
    driver.ring(&queue);
    driver.run(1_000_000);
    assert!(!driver.is_done(&dispatch), "it stays stopped");
}

#[test]
fn a_doorbell_says_what_could_not_be_read() {
    let (mut driver, queue, dispatch, _) = without_pointers(true);
    driver.ring(&queue);
    driver.run_until(1_000_000, |driver| driver.is_done(&dispatch));
}

#[test]
fn copies_are_tried_again() {
    const COPY: u32 = 1;
    const DOORBELL: u64 = 0x5000;
    let (mut driver, process) = driver(true);
    let (pages, was) = half(&mut driver, &process, 0);
    let from = driver.buffer(&(1..=64).collect::<Vec<u32>>());
    let [ring, pointers] = [driver.guest(PAGE), driver.guest(PAGE)];
    // A queue of copies has a descriptor of its own kind.
    let queue = driver.queue(process, 1);
    for (dword, value) in [
        (mqd::RB_CNTL, 1 | (10 << 1)),
        (mqd::RB_BASE, ((USER + ring) >> 8) as u32),
        (mqd::RB_BASE + 1, ((USER + ring) >> 40) as u32),
        (mqd::RB_RPTR, 0),
        (mqd::RB_RPTR + 1, 0),
        (mqd::RB_RPTR_ADDR_LO, (USER + pointers) as u32),
        (mqd::RB_RPTR_ADDR_HI, ((USER + pointers) >> 32) as u32),
        (mqd::DOORBELL_OFFSET, DOORBELL as u32),
        (mqd::UTILIZATION, 0),
        (mqd::UTILIZATION + 1, 0),
    ] {
        driver.set_mqd(&queue, 0, dword, value);
    }
    let to = pages + PAGE - 32 * 4;
    let copy = [
        [COPY, 64 * 4 - 1, 0].as_slice(),
        &halves(USER + from),
        &halves(USER + to),
    ]
    .concat();
    for (at, word) in (0..).zip(&copy) {
        driver.put32(ring + at * 4, *word);
    }
    driver.put64(pointers + 8, copy.len() as u64 * 4);
    // The list of the process, with this queue on the first engine instead of another.
    let mut words = driver.runlist(&[queue]);
    words.truncate(words.len() - 7);
    let [low, high] = halves(FB_BASE + queue.descriptor);
    let [write_low, write_high] = halves(USER + pointers + 8);
    let body = [2 << 26, DOORBELL as u32, low, high, write_low, write_high];
    words.extend(packet(opcode::MAP_QUEUES, &body));
    driver.run_list_in(&words, 0);
    driver.run(1_000_000);
    assert_eq!(told(&mut driver), (USER + pages + PAGE, WRITES | RETRIES));
    driver.set_entry(&process, USER + pages + PAGE, was);
    driver.run(1_000_000);
    assert_eq!(driver.words(to, 64), (1..=64).collect::<Vec<u32>>());
}
