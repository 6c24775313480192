// SPDX-License-Identifier: GPL-2.0-only
//! Code that is other code than what was executed at its address before.

use crate::terms::{Bus, Config};
use crate::testing::driver::{halves, Driver, TestProcess, TestQueue, USER};
use crate::testing::machine::{slow, Launch, WRITTEN};

const PAGE: u64 = 4096;
/// What makes an entry of a page of guest memory that can be read and written.
const GUEST: u64 = 0x61 | 2;
/// `v_mov_b32 v2` of the constant zero; the next ones are one more each.
const MOVE: u32 = 0x7e04_0280;

fn launch(kernel: &'static str, to: u64) -> Launch<'static> {
    Launch {
        object: &WRITTEN,
        kernel,
        items: 64,
        groups: 1,
        arguments: (USER + to).to_le_bytes().to_vec(),
    }
}

fn driver(config: Config) -> (Driver, TestProcess, TestQueue) {
    let mut driver = Driver::new(config);
    let process = driver.process(0x8001);
    let queue = driver.queue(process, 1);
    driver.map(&[queue]);
    (driver, process, queue)
}

/// Dispatches on a queue what the first packet of another did.
fn repeat(driver: &mut Driver, first: &TestQueue, queue: &TestQueue) -> u64 {
    let mut words: [u32; 16] = driver.words(first.ring, 16).try_into().unwrap();
    // The GPU has marked the packet as one that was read.
    words[0] = 2 | (1 << 8) | (1 << 16);
    let signal = driver.signal();
    [words[14], words[15]] = halves(USER + signal);
    driver.put_packet(queue, &words);
    driver.ring(queue);
    signal
}

#[test]
fn a_wave_executes_what_it_has_written_when_it_says_so() {
    let (mut driver, _, queue) = driver(Config::default());
    let to = driver.buffer(&[0]);
    let signal = driver.launch(&queue, &launch("changes", to));
    driver.await_signal(signal);
    assert_eq!(driver.words(to, 1), [2]);
}

#[test]
fn code_that_is_loaded_anew_at_an_address_is_what_is_executed() {
    let (mut driver, _, queue) = driver(Config::default());
    let to = driver.buffer(&[0]);
    let code = driver.next_code();
    let mut signal = driver.launch(&queue, &launch("constant", to));
    let mut expected = 1;
    for number in [7, 9, 1, 7] {
        driver.await_signal(signal);
        assert_eq!(driver.words(to, 1), [expected]);
        let at = code + WRITTEN.symbol("number");
        driver
            .bus
            .write(at, &(MOVE + number).to_le_bytes())
            .unwrap();
        expected = number;
        signal = repeat(&mut driver, &queue, &queue);
    }
}

/// A page that a process has at the address of another page, with the same bytes.
fn own_page(driver: &mut Driver, process: &TestProcess, page: u64) -> u64 {
    let own = driver.guest(PAGE);
    let words = driver.words(page, PAGE as usize / 4);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    driver.bus.write(own, &bytes).unwrap();
    driver.set_entry(process, USER + page, own | GUEST);
    own
}

#[test]
fn processes_have_code_of_their_own_at_the_same_address() {
    let (mut driver, _, first) = driver(slow());
    let places = [0; 2].map(|_| driver.buffer(&[0]));
    let code = driver.next_code();
    let signal = driver.launch(&first, &launch("constant", places[0]));
    driver.await_signal(signal);
    let at = code + WRITTEN.symbol("number");
    let object = code + (WRITTEN.text.len() as u64).next_multiple_of(PAGE);

    let other = driver.process(0x8002);
    let second = driver.queue(other, 1);
    driver.map(&[first, second]);
    let own = own_page(&mut driver, &other, at / PAGE * PAGE) + at % PAGE;
    driver.bus.write(own, &(MOVE + 7).to_le_bytes()).unwrap();
    let arguments = own_page(&mut driver, &other, object) + 256;
    let to = (USER + places[1]).to_le_bytes();
    driver.bus.write(arguments, &to).unwrap();
    // Instruction by instruction in turn.
    for _ in 0..2 {
        places.map(|place| driver.put32(place, 0));
        let signals = [&first, &second].map(|queue| repeat(&mut driver, &first, queue));
        signals.map(|signal| driver.await_signal(signal));
        assert_eq!(places.map(|place| driver.words(place, 1)[0]), [1, 7]);
    }
}
