// SPDX-License-Identifier: GPL-2.0-only
//! Strict mode: what the driver does not have forgotten is found, however it asks.

use crate::layout::pm4::opcode;
use crate::registers::table::gc;
use crate::registers::xcc_base;
use crate::terms::Config;
use crate::testing::driver::{packet, Driver, TestQueue, Work};

const PAGE: u64 = 4096;
const PASID: u32 = 0x8001;

/// A queue that runs the same dispatch again and again.
struct Again {
    driver: Driver,
    queue: TestQueue,
    packet: [u32; 16],
    /// The page of its code and arguments, as the process sees it.
    page: u64,
}

impl Again {
    fn new(dies: u32) -> Again {
        let mut driver = Driver::new(Config {
            xcc_count: dies,
            cu_per_shader_engine: 1,
            ..Config::default()
        });
        let process = driver.process(PASID);
        let queue = driver.queue(process, 1);
        let (packet, _) = driver.prepare(Work::default());
        let page = u64::from(packet[8]) | (u64::from(packet[9]) << 32);
        assert_eq!(page % PAGE, 0);
        driver.device.set_strict(true);
        driver.map(&[queue]);
        let mut again = Again {
            driver,
            queue,
            packet,
            page,
        };
        again.dispatch();
        assert_eq!(again.stale(), 0);
        again
    }

    fn dispatch(&mut self) {
        let before = self.driver.report(&self.queue).workgroups_done;
        self.driver.put_packet(&self.queue, &self.packet);
        self.driver.ring(&self.queue);
        let queue = self.queue;
        self.driver.run_until(10_000_000, |driver| {
            driver.report(&queue).workgroups_done > before
        });
    }

    /// Moves the page, as the driver does it by its tables.
    fn move_page(&mut self) {
        let to = self.driver.guest(PAGE);
        let process = self.queue.process;
        let entry = self.driver.set_entry(&process, self.page, 0);
        let from = entry & 0xffff_ffff_f000;
        for at in (0..PAGE).step_by(4) {
            let value = self.driver.get32(from + at);
            self.driver.put32(to + at, value);
        }
        let moved = to | (entry & !0xffff_ffff_f000);
        self.driver.set_entry(&process, self.page, moved);
    }

    /// How many accesses have met an old translation.
    fn stale(&self) -> u64 {
        self.driver.device.stale().unwrap().accesses
    }

    /// Moves the page, does this, and says whether the next dispatch finds it moved.
    #[track_caller]
    fn finds(&mut self, what: impl FnOnce(&mut Again)) -> bool {
        let before = self.stale();
        self.move_page();
        what(self);
        self.dispatch();
        let found = self.stale() - before;
        // Nothing is left for a second one.
        self.dispatch();
        assert_eq!(self.stale() - before, found);
        assert!(found <= 1, "{:?}", self.driver.device.stale());
        found == 1
    }

    fn vmid(&self) -> u32 {
        self.driver.report(&self.queue).mapped.unwrap().vmid
    }

    fn by_register(&mut self, die: u32, vmid: u32) {
        let register = xcc_base(die) + gc::VM_INVALIDATE_ENG17_REQ;
        self.driver.write_reg(register, 1 << vmid);
    }

    fn by_packet(&mut self, die: u32, pasid: u32) {
        let words = packet(opcode::INVALIDATE_TLBS, &[1 | (pasid << 5)]);
        self.driver.privileged(die, &words);
        self.driver.run(100_000);
    }
}

#[test]
fn a_page_that_was_moved_without_a_flush_is_found() {
    let mut again = Again::new(1);
    assert!(again.finds(|_| ()));
    let report = again.driver.device.stale().unwrap();
    let first = &report.first[0];
    assert_eq!(
        (first.address & !(PAGE - 1), first.write),
        (again.page, false)
    );
    assert_ne!(first.cached, first.now);
    assert!(first.cached.starts_with("guest memory 0x"), "{first:?}");
}

#[test]
fn each_kind_of_flush_is_one_for_its_process_alone() {
    let mut again = Again::new(1);
    let vmid = again.vmid();
    assert!(!again.finds(|again| again.by_register(0, vmid)));
    assert!(again.finds(|again| again.by_register(0, vmid + 1)));
    assert!(!again.finds(|again| again.by_packet(0, PASID)));
    assert!(again.finds(|again| again.by_packet(0, PASID + 1)));
    assert!(!again.finds(|again| {
        let words = packet(opcode::INVALIDATE_TLBS, &[1 | (PASID << 5)]);
        again.driver.submit(&words);
        again.driver.run(100_000);
    }));
}

#[test]
fn a_process_that_is_given_an_address_space_begins_anew() {
    let mut again = Again::new(1);
    assert!(!again.finds(|again| {
        again.driver.unmap_all();
        again.driver.map(&[again.queue]);
    }));
}

#[test]
fn every_die_has_to_be_told() {
    let mut again = Again::new(2);
    let vmid = again.vmid();
    assert!(again.finds(|again| again.by_packet(0, PASID)));
    assert!(again.finds(|again| again.by_register(1, vmid)));
    assert!(!again.finds(|again| {
        again.by_packet(0, PASID);
        again.by_packet(1, PASID);
    }));
    assert!(!again.finds(|again| {
        again.by_register(0, vmid);
        again.by_register(1, vmid);
    }));
}

#[test]
fn a_process_with_the_page_table_of_another_begins_anew() {
    let mut again = Again::new(1);
    again.move_page();
    let mut other = again.queue.process;
    other.pasid = PASID + 1;
    let queue = again.driver.queue(other, 1);
    again.driver.unmap_all();
    again.driver.map(&[queue]);
    again.queue = queue;
    again.dispatch();
    assert_eq!(again.stale(), 0);
}

#[test]
fn user_queues_flush_nothing_and_nothing_is_kept_without_strict_mode() {
    let mut again = Again::new(1);
    let mine = again.driver.pm4_queue(again.queue.process);
    again.driver.map(&[again.queue, mine]);
    again.dispatch();
    assert!(again.finds(|again| {
        let words = packet(opcode::INVALIDATE_TLBS, &[1 | (PASID << 5)]);
        again.driver.submit_pm4(&mine, &words);
        again.driver.run(1_000_000);
    }));
    assert!(again.driver.report(&mine).fault.is_some());
    again.driver.device.set_strict(false);
    assert_eq!(again.driver.device.stale(), None);
    again.move_page();
    again.dispatch();
    again.driver.device.set_strict(true);
    again.dispatch();
    assert_eq!(again.stale(), 0);
}
