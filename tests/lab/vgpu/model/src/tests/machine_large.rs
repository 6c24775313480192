// SPDX-License-Identifier: GPL-2.0-only
//! The 160 KiB of local memory that a unit of GFX 9.5.0 has, saved and restored by the trap
//! handler that the driver has for it.

use crate::terms::{Config, Product};
use crate::testing::driver::{Driver, TestQueue, USER};
use crate::testing::machine::{slow, Launch, HANDLERS, INSTRUCTION, NEWER_HANDLERS, WRITTEN};

const BYTES: u32 = 160 << 10;
const ITEMS: u32 = 64;
/// What the kernel multiplies places in local memory by, and sums before it adds to them.
const FACTOR: u32 = 0x9e37_79b1;
const SUM: u32 = 31;

fn driver(product: Product, handler: &[u8]) -> (Driver, TestQueue) {
    let mut driver = Driver::new(Config {
        product,
        cu_per_shader_engine: 1,
        ..slow()
    });
    let process = driver.process_with_handler(0x8001, handler);
    let queue = driver.queue(process, 1);
    driver.map(&[queue]);
    (driver, queue)
}

/// A wave that fills all local memory, and then sums it up. Returns its signal, and where
/// the sums will be.
fn launch(driver: &mut Driver, queue: &TestQueue) -> (u64, u64) {
    let to = driver.buffer(&[0; ITEMS as usize]);
    let launch = Launch {
        object: &WRITTEN,
        kernel: "large",
        items: ITEMS as u16,
        groups: 1,
        arguments: (USER + to).to_le_bytes().to_vec(),
    };
    (driver.launch(queue, &launch), to)
}

fn expected() -> Vec<u32> {
    let sum = |item: u32| {
        let places = (item * 4..BYTES).step_by(4 * ITEMS as usize);
        places.fold(0u32, |sum, place| {
            sum.wrapping_mul(SUM)
                .wrapping_add(place.wrapping_mul(FACTOR))
        })
    };
    (0..ITEMS).map(sum).collect()
}

/// Takes the wave off again and again. Returns the sums, and how often it was saved.
fn interrupted(driver: &mut Driver, queue: &TestQueue) -> (Vec<u32>, u64) {
    const BETWEEN: u64 = 211;
    let (signal, to) = launch(driver, queue);
    loop {
        driver.run(BETWEEN * INSTRUCTION);
        driver.unmap_all();
        if driver.is_signalled(signal) {
            break;
        }
        driver.map(&[*queue]);
    }
    let report = driver.report(queue);
    assert_eq!(report.fault, None);
    (driver.words(to, ITEMS as usize), report.saves)
}

#[test]
fn all_local_memory_is_saved_and_restored() {
    for handler in NEWER_HANDLERS.iter() {
        let (mut driver, queue) = driver(Product::Mi350x, handler);
        let (sums, saves) = interrupted(&mut driver, &queue);
        assert_eq!(sums, expected());
        assert!(saves > 30, "{saves}");
        let bytes = driver.report(&queue).bytes_saved;
        assert!(bytes > saves * u64::from(BYTES), "{bytes} in {saves}");
    }
}

/// The handler of GFX 9.4.3 sees only so many bits of the size, so that the test above
/// shows what the other one is for.
#[test]
fn an_older_handler_loses_some_of_it() {
    let (mut driver, queue) = driver(Product::Mi350x, &HANDLERS[0]);
    let (sums, _) = interrupted(&mut driver, &queue);
    assert_ne!(sums, expected());
}

#[test]
fn other_units_have_less() {
    let (mut driver, queue) = driver(Product::Mi300x, &HANDLERS[0]);
    launch(&mut driver, &queue);
    driver.run(1_000_000);
    let fault = driver.report(&queue).fault.unwrap_or_default();
    let words = "a workgroup wants 163840 bytes of local memory, a compute unit has 65536";
    assert!(fault.contains(words), "{fault}");
}
