// SPDX-License-Identifier: GPL-2.0-only
//! How many instructions of compiled kernels the model executes a second, with page tables,
//! workgroups and barriers: by itself, and together with a second model in another thread.
//! Seconds are those of a host processor, so that others who use the host count for little.
//! To be run in the project's root, with optimization; the figures are those of the
//! machine it runs on.

use vgpu_model::testing::driver::Driver;
use vgpu_model::testing::machine::{arguments, Launch, COMPILED};
use vgpu_model::Config;

/// Enough for the packets and codes of all launches.
const MEMORY: u64 = 512 << 20;
const ITEMS: u16 = 256;
const GROUPS: u32 = 64;
const COUNT: u32 = GROUPS * ITEMS as u32;
/// Products of squares with so many rows, a tile of 16 by 16 for each workgroup.
const ROWS: u32 = 64;
const TILES: u32 = ROWS * ROWS / 256;
const ENOUGH: u64 = 300_000;

/// Each with its workgroups, the items of one, and the number that is its last argument.
const KERNELS: [(&str, u32, u16, u32); 8] = [
    ("add", GROUPS, ITEMS, COUNT),
    ("divide_double", GROUPS, ITEMS, COUNT),
    ("reduce", GROUPS, ITEMS, COUNT),
    ("prefix", GROUPS, ITEMS, COUNT),
    ("histogram", 4, ITEMS, COUNT),
    ("scan", GROUPS, ITEMS, COUNT),
    ("product", TILES, ITEMS, ROWS),
    ("product_halves", TILES, 64, 1024),
];

/// Seconds for which this thread was executed by a processor.
fn seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("a Linux host");
    let nanos = text.split(' ').next().map(str::parse::<f64>);
    nanos.expect("a number").expect("a number") / 1e9
}

/// How many instructions a second one model executes.
fn rate((kernel, groups, items, number): (&'static str, u32, u16, u32)) -> f64 {
    let mut driver = Driver::with_guest(Config::default(), MEMORY);
    let process = driver.process(0x8001);
    let queue = driver.queue(process, 1);
    driver.map(&[queue]);
    // Numbers that are also doubles, of two words each.
    // No half of a word is a half that is no number.
    let upper = |at: u32| (f64::from(at + 1).to_bits() >> 32) as u32 & 0xffff_8000;
    let words = |at: u32| [at, upper(at)];
    let numbers: Vec<u32> = (0..COUNT).flat_map(words).collect();
    let buffers = [0; 3].map(|_| driver.buffer(&numbers));
    let mut launch = || {
        let launch = Launch {
            object: &COMPILED,
            kernel,
            items,
            groups,
            arguments: arguments(buffers, number),
        };
        let signal = driver.launch(&queue, &launch);
        driver.await_signal(signal);
        driver.device.instructions()
    };
    let before = launch();
    let start = seconds();
    let mut executed = 0;
    while executed < ENOUGH {
        executed = launch() - before;
    }
    executed as f64 / (seconds() - start)
}

fn main() {
    println!("| kernel | one model | two models |\n|---|--:|--:|");
    for case in KERNELS {
        let alone = rate(case);
        let other = std::thread::spawn(move || rate(case));
        let together = rate(case) + other.join().expect("the other model");
        println!("| `{}` | {alone:.0} | {together:.0} |", case.0);
    }
}
