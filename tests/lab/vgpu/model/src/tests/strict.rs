// SPDX-License-Identifier: GPL-2.0-only
//! Strict mode: what the driver does not have forgotten is found, however it asks.

use crate::layout::pm4::opcode;
use crate::registers::table::gc;
use crate::registers::xcc_base;
use crate::terms::Config;
use crate::testing::driver::{packet, Driver, TestQueue, Work, USER};

const PAGE: u64 = 4096;
const PASID: u32 = 0x8001;

/// A queue that runs the same dispatch again and again.
struct Again {
    driver: Driver,
    queue: TestQueue,
    packet: [u32; 16],
    /// The page that moves, as the process sees it.
    page: u64,
    workgroups: u64,
}

impl Again {
    /// What moves is the page of its code and arguments.
    fn new(dies: u32) -> Again {
        Again::with(dies, 1, |words, _| words)
    }

    /// What moves is the page in which the workgroups count, of which each die has some.
    fn counting(dies: u32) -> Again {
        Again::with(dies, 8, |_, counters| counters)
    }

    fn with(dies: u32, workgroups: u32, moved: fn(u64, u64) -> u64) -> Again {
        let mut driver = Driver::new(Config {
            xcc_count: dies,
            cu_per_shader_engine: 1,
            ..Config::default()
        });
        let process = driver.process(PASID);
        let queue = driver.queue(process, 1);
        let work = Work {
            workgroups,
            ..Work::default()
        };
        let (packet, dispatch) = driver.prepare(work);
        let code = u64::from(packet[8]) | (u64::from(packet[9]) << 32);
        let page = moved(code, USER + dispatch.counters);
        assert_eq!(page % PAGE, 0);
        driver.device.set_strict(true);
        driver.map(&[queue]);
        let mut again = Again {
            driver,
            queue,
            packet,
            page,
            workgroups: workgroups.into(),
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
        let all = before + self.workgroups;
        self.driver.run_until(10_000_000, |driver| {
            driver.report(&queue).workgroups_done == all
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

    /// Moves the page, does this, and says how often the next dispatch finds it moved.
    #[track_caller]
    fn found(&mut self, what: impl FnOnce(&mut Again)) -> u64 {
        let before = self.stale();
        self.move_page();
        what(self);
        self.dispatch();
        let found = self.stale() - before;
        // Nothing is left for a second one.
        self.dispatch();
        assert_eq!(self.stale() - before, found);
        found
    }

    /// The same of a page that one die uses.
    #[track_caller]
    fn finds(&mut self, what: impl FnOnce(&mut Again)) -> bool {
        let found = self.found(what);
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

/// The page in which workgroups count, which waves of all dies write.
#[test]
fn every_die_has_to_be_told() {
    let mut again = Again::counting(2);
    let vmid = again.vmid();
    assert_eq!(again.found(|_| ()), 2, "a die each");
    assert_eq!(again.found(|again| again.by_packet(0, PASID)), 1);
    assert_eq!(again.found(|again| again.by_register(1, vmid)), 1);
    let by_packets = again.found(|again| {
        again.by_packet(0, PASID);
        again.by_packet(1, PASID);
    });
    assert_eq!(by_packets, 0);
    let by_registers = again.found(|again| {
        again.by_register(0, vmid);
        again.by_register(1, vmid);
    });
    assert_eq!(by_registers, 0);
}

#[test]
fn a_die_that_was_told_goes_on_while_another_is_not() {
    let mut again = Again::new(2);
    // The first die reads packets.
    assert!(!again.finds(|again| again.by_packet(0, PASID)));
    assert!(again.finds(|again| again.by_packet(1, PASID)));
}

#[test]
fn nothing_is_kept_of_processes_that_are_gone() {
    let mut again = Again::new(1);
    let kept = |again: &Again| again.driver.device.cached();
    assert!(kept(&again) > 0);
    for process in 0..20 {
        let other = again.driver.process(PASID + 1 + process);
        let queue = again.driver.queue(other, 1);
        again.driver.unmap_all();
        assert_eq!(kept(&again), 0);
        again.driver.map(&[queue]);
        again.queue = queue;
        again.dispatch();
    }
    assert_eq!(again.stale(), 0);
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
