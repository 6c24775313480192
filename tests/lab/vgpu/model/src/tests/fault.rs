// SPDX-License-Identifier: GPL-2.0-only
//! Faults on demand of interrupts, doorbells, pointers, memory and copies.

use crate::registers::table::ih;
use crate::terms::{Config, Faults};
use crate::testing::driver::{halves, Driver, TestQueue, Work, GART};

fn driver() -> (Driver, TestQueue) {
    let mut driver = Driver::new(Config {
        cu_per_shader_engine: 1,
        ..Config::default()
    });
    let process = driver.process(1);
    let queue = driver.queue(process, 1);
    driver.map(&[queue]);
    (driver, queue)
}

/// Entries that the interrupt ring takes for one interrupt.
fn entries(faults: Faults) -> u64 {
    let (mut driver, queue) = driver();
    let before = driver.device.state().interrupts;
    interrupt(&mut driver, &queue, faults);
    let written = driver.read_reg(ih::IH_RB_WPTR) / 32;
    let entries = driver.device.state().interrupts - before;
    assert_eq!(u64::from(written), entries);
    // The fault in memory, and the interrupt if it is another than usual.
    let other = u64::from(entries != 1);
    assert_eq!(driver.device.state().struck, 1 + other);
    entries
}

/// Has one interrupt be due.
fn interrupt(driver: &mut Driver, queue: &TestQueue, faults: Faults) {
    let faulting = [queue.doorbell].into();
    driver.device.set_faults(Faults { faulting, ..faults });
    driver.run(1_000_000);
    assert!(driver.report(queue).fault.is_some());
}

#[test]
fn interrupts_come_twice_or_with_others_that_say_nothing() {
    assert_eq!(entries(Faults::default()), 1);
    let repeated = Faults {
        interrupts_repeated: true,
        ..Faults::default()
    };
    assert_eq!(entries(repeated.clone()), 2);
    let spurious = Faults {
        interrupts_spurious: true,
        ..Faults::default()
    };
    assert_eq!(entries(spurious), 2);
    let both = Faults {
        interrupts_spurious: true,
        ..repeated
    };
    assert_eq!(entries(both), 3);
}

#[test]
fn a_ring_without_room_says_so_until_it_is_told_to_forget() {
    const OVERFLOW: u32 = 1;
    let (mut driver, queue) = driver();
    let other = driver.queue(queue.process, 1);
    driver.map(&[queue, other]);
    let overflow = Faults {
        interrupts_overflow: true,
        ..Faults::default()
    };
    interrupt(&mut driver, &queue, overflow);
    assert_eq!(driver.read_reg(ih::IH_RB_WPTR), OVERFLOW);
    assert_eq!(driver.device.state().interrupts, 0);
    let control = driver.read_reg(ih::IH_RB_CNTL);
    driver.write_reg(ih::IH_RB_CNTL, control | (1 << 31));
    interrupt(&mut driver, &other, Faults::default());
    assert_eq!(driver.read_reg(ih::IH_RB_WPTR), 32);
    assert_eq!(driver.device.state().interrupts, 1);
}

#[test]
fn work_whose_doorbell_was_lost_is_found_at_the_next_mapping() {
    let (mut driver, queue) = driver();
    driver.device.set_faults(Faults {
        doorbells_lost: true,
        ..Faults::default()
    });
    let dispatch = driver.dispatch(&queue, Work::default());
    driver.run(10_000_000);
    assert!(!driver.is_done(&dispatch));
    assert_eq!(driver.device.state().struck, 1);
    driver.device.set_faults(Faults::default());
    driver.run(10_000_000);
    assert!(!driver.is_done(&dispatch), "it is not rung again");
    driver.unmap_all();
    driver.map(&[queue]);
    driver.finish(&dispatch);
}

#[test]
fn read_pointers_that_are_stuck_are_right_again_after_the_next_packet() {
    let (mut driver, queue) = driver();
    driver.device.set_faults(Faults {
        read_pointers_stuck: true,
        ..Faults::default()
    });
    let dispatch = driver.dispatch(&queue, Work::default());
    driver.finish(&dispatch);
    driver.run(1_000_000);
    assert_eq!(driver.get64(queue.read), 0);
    assert_eq!(driver.device.state().struck, 1);
    assert_eq!(driver.report(&queue).read_pointer, 1);
    driver.device.set_faults(Faults::default());
    let dispatch = driver.dispatch(&queue, Work::default());
    driver.finish(&dispatch);
    driver.run(1_000_000);
    assert_eq!(driver.get64(queue.read), 2);
}

#[test]
fn a_fault_in_memory_stops_a_queue_that_is_mapped_or_will_be() {
    for is_mapped in [true, false] {
        let (mut driver, queue) = driver();
        let other = driver.queue(queue.process, 1);
        driver.map(&[queue, other]);
        if !is_mapped {
            driver.unmap_all();
        }
        let raised = driver.device.state().interrupts;
        driver.device.set_faults(Faults {
            faulting: [queue.doorbell].into(),
            ..Faults::default()
        });
        driver.run(1_000_000);
        let fault = driver.report(&queue).fault;
        assert_eq!(fault.is_some(), is_mapped, "{fault:?}");
        if !is_mapped {
            driver.map(&[queue, other]);
            driver.run(1_000_000);
        }
        let fault = driver.report(&queue).fault.unwrap();
        assert!(fault.contains("a fault on demand"), "{fault}");
        assert_eq!(driver.device.state().interrupts, raised + 1);
        let dispatch = driver.dispatch(&other, Work::default());
        driver.finish(&dispatch);
    }
}

/// Fences on a kernel's ring for copies.
struct Fences(u64);

impl Fences {
    const COUNT: u64 = 4;

    fn submit(driver: &mut Driver) -> Fences {
        let place = driver.guest(4096);
        let mut words = Vec::new();
        for index in 0..Fences::COUNT {
            let [low, high] = halves(GART + place + index * 8);
            words.extend([5, low, high, 1]);
        }
        driver.copies(&words);
        Fences(place)
    }

    fn written(&self, driver: &Driver) -> usize {
        let written = |index: &u64| driver.get32(self.0 + index * 8) == 1;
        (0..Fences::COUNT).filter(written).count()
    }
}

#[test]
fn copies_are_slow_on_demand() {
    let (mut driver, _) = driver();
    driver.device.set_faults(Faults {
        copies_slow: true,
        ..Faults::default()
    });
    let fences = Fences::submit(&mut driver);
    driver.run(150_000);
    let written = fences.written(&driver);
    assert!((1..4).contains(&written), "{written} are written");
    driver.run(10_000_000);
    assert_eq!(fences.written(&driver), 4);
}

#[test]
fn engines_for_copies_hang_until_the_fault_is_lifted() {
    let (mut driver, queue) = driver();
    driver.device.set_faults(Faults {
        copies_hung: true,
        ..Faults::default()
    });
    let fences = Fences::submit(&mut driver);
    driver.run(100_000_000);
    assert_eq!(fences.written(&driver), 0);
    assert!(driver.device.state().struck > 0);
    // Waves have nothing to do with it.
    let dispatch = driver.dispatch(&queue, Work::default());
    driver.finish(&dispatch);
    driver.device.set_faults(Faults::default());
    driver.run(1_000_000);
    assert_eq!(fences.written(&driver), 4);
}

/// A queue that is mapped while its write pointer is past a packet which is written later,
/// over the one of an earlier round of the ring. Returns how often the counters of the
/// earlier one and the later one have been raised by both, and how often the fault struck.
fn published_late(in_halves: bool, is_mapped_between: bool) -> (u32, u32, u64) {
    let (mut driver, queue) = driver();
    let (old, earlier) = driver.prepare(Work::default());
    for _ in 0..queue.packets {
        driver.put_packet(&queue, &old);
        driver.ring(&queue);
        driver.run(1_000_000);
    }
    let (new, later) = driver.prepare(Work::default());
    driver.device.set_faults(Faults {
        packets_in_halves: in_halves,
        ..Faults::default()
    });
    driver.put64(queue.write, queue.packets + 1);
    if is_mapped_between {
        driver.unmap_all();
        driver.map(&[queue]);
        driver.run(100_000);
    }
    let times = |driver: &Driver| {
        let count = |dispatch| driver.counts(dispatch)[0];
        (count(&earlier) - queue.packets as u32, count(&later))
    };
    assert_eq!(times(&driver), (0, 0), "nothing runs that is not published");
    driver.put64(queue.write, queue.packets);
    driver.put_packet(&queue, &new);
    driver.ring(&queue);
    driver.run(1_000_000);
    let (earlier, later) = times(&driver);
    (earlier, later, driver.device.state().struck)
}

#[test]
fn a_packet_that_is_published_between_two_reads_has_the_second_half_of_an_earlier_one() {
    assert_eq!(published_late(true, true), (1, 0, 1));
    // What is read once when the doorbell has rung is read whole.
    assert_eq!(published_late(true, false), (0, 1, 0));
    assert_eq!(published_late(false, true), (0, 1, 0));
}

#[test]
fn half_a_packet_is_not_kept_for_another_one() {
    let (mut driver, queue) = driver();
    let (words, _) = driver.prepare(Work::default());
    driver.put_packet(&queue, &words);
    driver.put32(queue.ring, 1);
    driver.device.set_faults(Faults {
        packets_in_halves: true,
        ..Faults::default()
    });
    driver.unmap_all();
    driver.map(&[queue]);
    driver.run(100_000);
    driver.unmap_all();
    driver.put32(queue.ring, words[0]);
    driver.map(&[queue]);
    driver.run(1_000_000);
    assert_eq!(driver.device.state().struck, 0);
}
