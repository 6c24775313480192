// SPDX-License-Identifier: GPL-2.0-only
//! Machine code that is preempted: the driver's own trap handler saves and restores its
//! waves.

use crate::layout::descriptor as mqd;
use crate::terms::{Config, Faults, Product, Spoil, Timing};
use crate::testing::driver::{Driver, TestQueue, USER};
use crate::testing::machine::{
    arguments, slow, Launch, COMPILED, HANDLERS, INSTRUCTION, NEWER_HANDLERS, WRITTEN,
};

/// What `state` is: two waves, and where the save area has what of the first.
const ITEMS: usize = 128;
/// Instructions before `full`.
const UNTIL_FULL: u64 = 160;
const WAVE: u64 = 48 * 256 + 640;
const SCALARS: u64 = 48 * 256;
const HARDWARE: u64 = SCALARS + 112 * 4;
const PC: u64 = HARDWARE + 4;
const EXEC: u64 = HARDWARE + 12;
const SHARE: u64 = HARDWARE + 128;

fn slow_on(xcc_count: u32) -> Config {
    Config {
        xcc_count,
        cu_per_shader_engine: 1,
        ..slow()
    }
}

fn driver(config: Config, handler: &[u8]) -> (Driver, TestQueue) {
    let mut driver = Driver::new(config);
    let process = driver.process_with_handler(0x8001, handler);
    let queue = driver.queue(process, 1);
    driver.map(&[queue]);
    (driver, queue)
}

/// A dispatch of `state` that has begun.
struct Begun {
    driver: Driver,
    queue: TestQueue,
    signal: u64,
    sums: u64,
    /// Where in the process the code is from which on it sums up.
    full: u64,
}

impl Begun {
    fn new(handler: &[u8]) -> Begun {
        Begun::on(Product::default(), handler)
    }

    fn on(product: Product, handler: &[u8]) -> Begun {
        let config = Config {
            product,
            ..slow_on(1)
        };
        let (mut driver, queue) = driver(config, handler);
        let sums = driver.buffer(&[0; ITEMS]);
        let launch = Launch {
            object: &WRITTEN,
            kernel: "state",
            items: ITEMS as u16,
            groups: 1,
            arguments: (USER + sums).to_le_bytes().to_vec(),
        };
        let code = driver.next_code();
        let signal = driver.launch(&queue, &launch);
        driver.run_until(1_000_000, |d| d.report(&queue).workgroups_resident == 1);
        Begun {
            driver,
            queue,
            signal,
            sums,
            full: USER + code + WRITTEN.symbol("full"),
        }
    }

    fn is_done(&self) -> bool {
        self.driver.is_signalled(self.signal)
    }

    /// Where the save area has the state of a wave.
    fn area(&self, wave: u64) -> u64 {
        let stack = u64::from(self.driver.mqd(&self.queue, 0, mqd::CNTL_STACK_SIZE));
        // The first wave has the local memory.
        let share = if wave == 0 { 0 } else { 512 };
        self.queue.area + stack + wave * WAVE + share
    }

    fn saved(&self, wave: u64, at: u64) -> u32 {
        self.driver.get32(self.area(wave) + at)
    }

    /// Executes an instruction and takes the waves off.
    fn step(&mut self) {
        self.driver.run(INSTRUCTION);
        self.driver.unmap_all();
    }

    /// Takes the waves off where all their state is set.
    fn fill(&mut self) {
        self.fill_and_execute(0);
    }

    /// The same, so many instructions of four bytes later.
    fn fill_and_execute(&mut self, more: u64) {
        let executed = UNTIL_FULL + more;
        self.driver.run(executed * INSTRUCTION + INSTRUCTION / 2);
        self.driver.unmap_all();
        for wave in [0, 1] {
            let pc = u64::from(self.saved(wave, PC));
            assert_eq!(pc, (self.full + 4 * more) & 0xffff_ffff, "wave {wave}");
        }
    }

    /// Lets it run to its end. Returns the sums.
    fn finish(mut self) -> Vec<u32> {
        self.driver.map(&[self.queue]);
        self.driver.await_signal(self.signal);
        assert_eq!(self.driver.report(&self.queue).fault, None);
        self.driver.words(self.sums, ITEMS)
    }
}

/// The sums of an undisturbed run.
fn undisturbed() -> Vec<u32> {
    let sums = Begun::new(&HANDLERS[0]).finish();
    // Neighbours differ, and so do the waves.
    assert!(sums.windows(2).all(|two| two[0] != two[1]), "{sums:x?}");
    sums
}

#[test]
fn nothing_is_lost_when_waves_are_taken_off_after_every_instruction() {
    let expected = undisturbed();
    let older = HANDLERS.iter().map(|handler| (Product::Mi300x, handler));
    let newer = NEWER_HANDLERS
        .iter()
        .map(|handler| (Product::Mi350x, handler));
    for (product, handler) in older.chain(newer) {
        let mut begun = Begun::on(product, handler);
        let mut saves = 0;
        loop {
            begun.step();
            if begun.is_done() {
                break;
            }
            saves += 1;
            begun.driver.map(&[begun.queue]);
        }
        assert!(saves > 400, "{saves}");
        assert_eq!(begun.driver.report(&begun.queue).saves, saves);
        assert_eq!(begun.finish(), expected);
    }
}

#[test]
fn the_save_area_is_what_the_handler_wrote() {
    let mut begun = Begun::new(&HANDLERS[0]);
    begun.fill();
    for at in 6..102 {
        assert_eq!(
            begun.saved(0, SCALARS + at * 4),
            0x1000 + at as u32,
            "s{at}"
        );
    }
    assert_eq!(begun.saved(0, HARDWARE), 0x1014, "M0");
    assert_eq!(begun.saved(0, EXEC), 0x0f0f_1234);
    assert_eq!(begun.saved(0, EXEC + 4), 0x7654_f0f0);
    assert_eq!(begun.saved(1, EXEC), 0x0f0f_1234);
    for lane in 0..64 {
        let vector = |register: u64| begun.saved(1, register * 256 + lane * 4);
        assert_eq!(vector(9), 0x2009 + 64 + lane as u32, "lane {lane}");
        // Accumulation registers are behind the 32 others.
        assert_eq!(vector(32 + 3), 0x200b + 64 + lane as u32, "lane {lane}");
    }
    for item in 0..ITEMS as u64 {
        assert_eq!(begun.saved(0, SHARE + item * 4), 0x2009 + item as u32);
    }
    // The debugger finds a state and two waves, the last one first.
    let stack = begun.driver.mqd(&begun.queue, 0, mqd::CNTL_STACK_SIZE);
    let words: Vec<u32> = (1..4)
        .rev()
        .map(|back| begun.driver.get_stack(&begun.queue, stack - back * 4))
        .collect();
    let state = (1 << 31) | 5 | (7 << 6) | (1 << 9) | (7 << 24);
    assert_eq!(words, [state, 1 << 16, 1 << 17]);
    let end = begun.driver.mqd(&begun.queue, 0, mqd::WG_STATE_OFFSET);
    assert_eq!(u64::from(end - stack), 2 * WAVE + 512);
}

/// Lets the waves go on as they are not where all their state is set.
fn with_spoiled_waves(spoil: Option<Spoil>) -> Vec<u32> {
    let mut begun = Begun::new(&HANDLERS[0]);
    // The next instruction changes the sums of all items.
    begun.fill_and_execute(2);
    begun.driver.device.set_faults(Faults {
        spoiled_waves: spoil,
        ..Faults::default()
    });
    begun.finish()
}

#[test]
fn each_way_to_spoil_waves_is_noticed_in_all_items() {
    let expected = undisturbed();
    assert_eq!(with_spoiled_waves(None), expected);
    for spoil in [
        Spoil::Scalar(101),
        Spoil::Vector(20),
        Spoil::Exec,
        Spoil::Share,
        Spoil::ProgramCounter,
    ] {
        let sums = with_spoiled_waves(Some(spoil));
        let same = (0..ITEMS).filter(|at| sums[*at] == expected[*at]);
        assert_eq!(same.count(), 0, "{spoil:?}");
    }
}

/// Changes the save area and lets the waves go on.
fn with_spoiled_area(spoil: impl Fn(&Driver, u64)) -> Vec<u32> {
    let mut begun = Begun::new(&HANDLERS[0]);
    begun.fill();
    spoil(&begun.driver, begun.area(0));
    begun.finish()
}

#[test]
fn a_register_that_is_not_restored_is_noticed() {
    let expected = undisturbed();
    for at in [
        SCALARS + 50 * 4,
        SCALARS + 106 * 4,
        20 * 256,
        40 * 256,
        HARDWARE,
    ] {
        let sums = with_spoiled_area(|driver, area| driver.put32(area + at, 0x5eed));
        assert_ne!(sums, expected, "{at:#x}");
    }
}

#[test]
fn swapped_halves_of_exec_are_noticed() {
    let sums = with_spoiled_area(|driver, area| {
        let exec = driver.get64(area + EXEC);
        driver.put64(area + EXEC, exec.rotate_left(32));
    });
    assert_ne!(sums, undisturbed());
}

#[test]
fn local_memory_that_is_shifted_is_noticed() {
    let sums = with_spoiled_area(|driver, area| {
        let words = driver.words(area + SHARE, ITEMS);
        for (at, word) in (1..ITEMS as u64).zip(words) {
            driver.put32(area + SHARE + at * 4, word);
        }
    });
    assert_ne!(sums, undisturbed());
}

#[test]
fn a_program_counter_off_by_an_instruction_is_noticed() {
    let sums = with_spoiled_area(|driver, area| {
        // Behind the nop is an addition.
        let pc = driver.get32(area + PC);
        driver.put32(area + PC, pc + 8);
    });
    assert_ne!(sums, undisturbed());
}

#[test]
fn a_wave_whose_neighbour_has_ended_is_saved_alone() {
    let (mut driver, queue) = driver(slow_on(1), &HANDLERS[0]);
    let count = driver.buffer(&[0]);
    let launch = Launch {
        object: &WRITTEN,
        kernel: "counts",
        items: 128,
        groups: 1,
        arguments: (USER + count).to_le_bytes().to_vec(),
    };
    let signal = driver.launch(&queue, &launch);
    let mut sizes = Vec::new();
    loop {
        driver.run(INSTRUCTION);
        driver.unmap_all();
        if driver.is_signalled(signal) {
            break;
        }
        let start = driver.mqd(&queue, 0, mqd::CNTL_STACK_SIZE);
        let end = driver.mqd(&queue, 0, mqd::WG_STATE_OFFSET);
        sizes.push(u64::from(end - start) / WAVE);
        driver.map(&[queue]);
    }
    sizes.dedup();
    assert_eq!(sizes, [2, 1]);
    assert_eq!(driver.get32(count), 20 * 64);
}

#[test]
fn compiled_kernels_survive_preemption_at_any_moment() {
    const COUNT: u32 = 3000;
    for xcc_count in [1, 8] {
        let config = Config {
            xcc_count,
            cu_per_shader_engine: 1,
            wave_quantum: 3,
            timing: Timing {
                instruction: 2_000,
                ..Timing::default()
            },
            ..Config::default()
        };
        let (mut driver, queue) = driver(config, &HANDLERS[0]);
        let numbers: Vec<u32> = (0..COUNT).map(|n| n.wrapping_mul(2_654_435_761)).collect();
        let a = driver.buffer(&numbers);
        let sum = driver.buffer(&[0]);
        let launch = Launch {
            object: &COMPILED,
            kernel: "reduce",
            items: 256,
            groups: COUNT.div_ceil(256),
            arguments: arguments([a, a, sum], COUNT),
        };
        let mut random = 12345_u64;
        let mut saves = 0;
        for _ in 0..3 {
            driver.put32(sum, 0);
            let signal = driver.launch(&queue, &launch);
            while !driver.is_signalled(signal) {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                driver.run(5_000 + (random >> 33) % 50_000);
                driver.unmap_all();
                driver.map(&[queue]);
            }
            let expected = numbers.iter().fold(0, |sum: u32, n| sum.wrapping_add(*n));
            assert_eq!(driver.get32(sum), expected, "{xcc_count}");
            saves = driver.report(&queue).saves;
        }
        assert!(saves > 10, "{saves}");
        assert_eq!(driver.report(&queue).fault, None);
    }
}

#[test]
fn a_queue_without_a_handler_stops_when_its_waves_are_to_be_saved() {
    for handler in [&[][..], &[0xff; 64][..]] {
        let (mut driver, mut queue) = driver(slow_on(1), handler);
        if handler.is_empty() {
            queue.process.handler = 0;
            driver.unmap_all();
            driver.map(&[queue]);
        }
        driver.launch(&queue, &Launch::forever());
        driver.run(1_000_000);
        driver.unmap_all();
        let fault = driver.report(&queue).fault.unwrap();
        assert!(
            fault.contains("saving waves: the trap handler: "),
            "{fault}"
        );
    }
}
