// SPDX-License-Identifier: GPL-2.0-only
//! Queues that are unmapped with work in flight, and come back, in one file because
//! each way to leave a slot and to fail at it is a test of its own.

use proptest::prelude::*;

use crate::layout::descriptor as mqd;
use crate::registers::table::gc;
use crate::terms::{Config, Faults, Fence, HiqAction, Moment, ReadPointer, TimelineChange};
use crate::testing::driver::{Driver, Work};

fn config() -> Config {
    Config {
        cu_per_shader_engine: 1,
        ..Config::default()
    }
}

const LONG: Work = Work {
    workgroups: 64,
    items: 256,
    cost: 5_000_000,
    demand: 0,
    vgprs: 64,
    lds: 4096,
    barrier: true,
};

#[test]
fn waves_are_saved_to_memory_and_go_on() {
    for xcc_count in [1, 2] {
        let mut driver = Driver::new(Config {
            xcc_count,
            ..config()
        });
        let process = driver.process(0x8001);
        let queue = driver.queue(process, 1);
        driver.map(&[queue]);
        let dispatch = driver.dispatch(&queue, LONG);
        driver.run(1_000_000);
        let resident = driver.report(&queue).workgroups_resident;
        assert_eq!(resident, 32 * u64::from(xcc_count));
        driver.unmap_all();
        let report = driver.report(&queue);
        assert_eq!(
            (report.workgroups_resident, report.workgroups_saved),
            (0, resident)
        );
        assert_eq!(report.mapped, None);
        let bytes = resident * LONG.footprint().saved_bytes();
        assert_eq!((report.saves, report.bytes_saved), (1, bytes));
        for die in 0..xcc_count {
            let size = driver.mqd(&queue, die, mqd::CNTL_STACK_SIZE);
            let used = size - driver.mqd(&queue, die, mqd::CNTL_STACK_OFFSET);
            assert!(used >= 32 * 4 * 8, "an entry for each wave: {used}");
            let state = driver.mqd(&queue, die, mqd::WG_STATE_OFFSET) - size;
            assert_eq!(u64::from(state), bytes / u64::from(xcc_count));
            assert_eq!(driver.mqd(&queue, die, mqd::HQD_ACTIVE), 0);
        }
        driver.run(50_000_000);
        assert_eq!(
            driver.counts(&dispatch).iter().sum::<u32>(),
            0,
            "nothing runs meanwhile"
        );
        driver.map(&[queue]);
        let mapped = driver.now();
        driver.finish(&dispatch);
        // The first half had used up a fifth of its time; then comes the rest.
        let rounds = 64u64.div_ceil(resident);
        let rest = driver.now().since(mapped);
        let expected = rounds * LONG.cost - 1_000_000;
        assert!(
            rest.abs_diff(expected) < 200_000,
            "{rest} instead of {expected}"
        );
        let report = driver.report(&queue);
        assert_eq!((report.restores, report.bytes_restored), (1, bytes));
        assert!(report.saved_time >= 50_000_000);
        driver.unmap_all();
        assert_eq!(
            driver.mqd(&queue, 0, mqd::CNTL_STACK_OFFSET),
            driver.mqd(&queue, 0, mqd::CNTL_STACK_SIZE),
            "an idle queue leaves an empty control stack"
        );
    }
}

#[test]
fn only_memory_brings_the_waves_back() {
    // A queue's whole memory is moved to another device.
    let mut driver = Driver::new(config());
    let process = driver.process(1);
    let queue = driver.queue(process, 1);
    driver.map(&[queue]);
    let dispatch = driver.dispatch(&queue, LONG);
    driver.run(1_000_000);
    driver.unmap_all();
    driver.device.reset();
    driver.restart();
    driver.map(&[queue]);
    driver.finish(&dispatch);
    assert_eq!(driver.device.state().resets, 1);
}

#[test]
fn a_spoiled_save_area_stops_the_queue() {
    type Spoil = fn(&mut Driver, &crate::testing::driver::TestQueue);
    let cases: [(&str, Spoil); 3] = [
        ("checksum", |driver, queue| {
            let size = u64::from(driver.mqd(queue, 0, mqd::CNTL_STACK_SIZE));
            let at = queue.area + size + 24;
            let word = driver.get32(at);
            driver.put32(at, word ^ 1);
        }),
        ("mark", |driver, queue| {
            let size = u64::from(driver.mqd(queue, 0, mqd::CNTL_STACK_SIZE));
            driver.put64(queue.area + size, 0);
        }),
        ("control stack", |driver, queue| {
            let offset = driver.mqd(queue, 0, mqd::CNTL_STACK_OFFSET);
            let dword = (mqd::CONTROL_STACK + u64::from(offset)) / 4 + 20;
            let word = driver.mqd(queue, 0, dword);
            driver.set_mqd(queue, 0, dword, word ^ 0x100);
        }),
    ];
    for (expected, spoil) in cases {
        let mut driver = Driver::new(config());
        let process = driver.process(1);
        let queue = driver.queue(process, 1);
        driver.map(&[queue]);
        let dispatch = driver.dispatch(&queue, LONG);
        driver.run(1_000_000);
        driver.unmap_all();
        spoil(&mut driver, &queue);
        let counts = driver.counts(&dispatch);
        // Mapped again it does not begin anew, and the driver is told again.
        for _ in 0..2 {
            let interrupts = driver.device.state().interrupts;
            driver.map(&[queue]);
            driver.run(100_000_000);
            let fault = driver.report(&queue).fault.expect(expected);
            assert!(fault.contains(expected), "{fault}");
            assert_eq!(driver.device.state().interrupts, interrupts + 1);
            driver.unmap_all();
        }
        assert_eq!(driver.counts(&dispatch), counts);
    }
}

#[test]
fn each_filter_takes_the_queues_it_names() {
    let mut driver = Driver::new(config());
    let first = driver.process(1);
    let second = driver.process(2);
    let a = driver.queue(first, 1);
    let mut b = driver.queue(first, 1);
    b.is_static = true;
    let c = driver.queue(second, 1);
    let mapped = |driver: &Driver| [a, b, c].map(|q| driver.report(&q).mapped.is_some());
    let cases = [
        (0, c.doorbell as u32, [true, true, false]),
        (1, 1, [false, false, true]),
        (3, 0, [false, true, false]),
        (2, 0, [false, false, false]),
    ];
    for (filter, value, expected) in cases {
        driver.map(&[a, b, c]);
        assert_eq!(mapped(&driver), [true; 3]);
        driver.unmap(0, filter, value);
        driver.run_until(10_000_000, |driver| driver.fence_is_written());
        assert_eq!(mapped(&driver), expected, "filter {filter}");
        driver.unmap(0, 2, 0);
        driver.run_until(10_000_000, |driver| driver.fence_is_written());
    }
}

#[test]
fn the_fence_comes_after_the_save() {
    let mut driver = Driver::new(config());
    let process = driver.process(1);
    let queue = driver.queue(process, 1);
    driver.map(&[queue]);
    driver.dispatch(&queue, LONG);
    driver.run(1_000_000);
    driver.unmap(0, 3, 0);
    driver.run_until(10_000_000, |driver| driver.report(&queue).saves == 1);
    assert!(!driver.fence_is_written(), "the save has only begun");
    assert!(driver.report(&queue).mapped.is_some());
    driver.run_until(10_000_000, |driver| driver.fence_is_written());
    assert_eq!(driver.report(&queue).mapped, None);
    let log = driver.device.hiq_log(0);
    let unmap = log
        .iter()
        .find(|r| matches!(r.action, HiqAction::Unmap { .. }))
        .unwrap();
    let query = log
        .iter()
        .find(|r| matches!(r.action, HiqAction::QueryStatus { .. }))
        .unwrap();
    assert!(unmap.completed.unwrap() <= query.fetched);
    // Grace, then the transfer and its fixed part.
    let bytes = driver.report(&queue).bytes_saved;
    let took = unmap.completed.unwrap().since(unmap.fetched);
    let grace = 0x40 * 476;
    let timing = &driver.device.config().timing;
    assert_eq!(
        took,
        grace + timing.unmap_queue + driver.device.config().save_time(bytes).0
    );
}

#[test]
fn waves_that_end_in_the_grace_time_are_not_saved() {
    let mut driver = Driver::new(config());
    let process = driver.process(1);
    let queue = driver.queue(process, 1);
    driver.map(&[queue]);
    let work = Work {
        workgroups: 8,
        cost: 100_000,
        ..Work::default()
    };
    let dispatch = driver.dispatch(&queue, work);
    driver.run(90_000);
    driver.unmap_all();
    let report = driver.report(&queue);
    assert_eq!((report.saves, report.workgroups_done), (0, 8));
    assert!(driver.is_done(&dispatch));
    // Without a grace time they are.
    driver.write_reg(gc::CP_IQ_WAIT_TIME2, 0);
    driver.map(&[queue]);
    driver.dispatch(&queue, work);
    driver.run(90_000);
    driver.unmap_all();
    assert_eq!(driver.report(&queue).saves, 1);
}

#[test]
fn reset_waves_are_lost() {
    let mut driver = Driver::new(config());
    let process = driver.process(1);
    let queue = driver.queue(process, 1);
    driver.map(&[queue]);
    let dispatch = driver.dispatch(
        &queue,
        Work {
            workgroups: 32,
            ..LONG
        },
    );
    driver.run(1_000_000);
    driver.unmap(1, 2, 0);
    driver.run_until(10_000_000, |driver| driver.fence_is_written());
    let report = driver.report(&queue);
    assert_eq!(
        (report.saves, report.workgroups_saved, report.mapped),
        (0, 0, None)
    );
    driver.map(&[queue]);
    driver.run(50_000_000);
    assert!(!driver.is_done(&dispatch));
}

#[test]
fn a_doorbell_of_an_unmapped_queue_is_seen_when_it_is_mapped() {
    let mut driver = Driver::new(config());
    let process = driver.process(1);
    let queue = driver.queue(process, 1);
    driver.map(&[queue]);
    driver.unmap_all();
    let dispatch = driver.dispatch(&queue, Work::default());
    driver.run(10_000_000);
    assert!(!driver.is_done(&dispatch));
    driver.map(&[queue]);
    driver.finish(&dispatch);
}

#[test]
fn more_queues_than_slots_take_turns() {
    let mut driver = Driver::new(Config {
        cu_per_shader_engine: 1,
        ..Config::default()
    });
    let mut queues = Vec::new();
    for pasid in 1..=2 {
        let process = driver.process(pasid);
        queues.extend((0..15).map(|_| driver.queue(process, 1)));
    }
    driver.map(&queues);
    let mapped = |report: &&crate::terms::QueueReport| report.mapped.is_some();
    assert_eq!(driver.device.queues().iter().filter(mapped).count(), 24);
    let work = Work {
        workgroups: 40,
        cost: 3_000_000,
        ..Work::default()
    };
    let dispatches: Vec<_> = queues
        .iter()
        .map(|queue| driver.dispatch(queue, work))
        .collect();
    for dispatch in &dispatches {
        driver.finish(dispatch);
    }
    assert!(driver
        .device
        .timeline(0)
        .iter()
        .any(|r| r.change == TimelineChange::Unmapped));
}

#[test]
fn more_processes_than_address_spaces_take_turns() {
    let mut driver = Driver::new(config());
    let queues: Vec<_> = (1..=16)
        .map(|pasid| {
            let process = driver.process(pasid);
            driver.queue(process, 1)
        })
        .collect();
    driver.map(&queues);
    let vmids: std::collections::BTreeSet<u32> = driver
        .device
        .queues()
        .iter()
        .filter_map(|r| r.mapped)
        .map(|place| place.vmid)
        .collect();
    assert_eq!(vmids, (3..16).collect());
    let work = Work {
        workgroups: 4,
        cost: 100_000,
        ..Work::default()
    };
    let dispatches: Vec<_> = queues
        .iter()
        .map(|queue| driver.dispatch(queue, work))
        .collect();
    for dispatch in &dispatches {
        driver.finish(dispatch);
    }
}

#[test]
fn waves_without_room_are_not_saved_again() {
    let mut driver = Driver::new(config());
    let process = driver.process(1);
    let low = driver.queue(process, 0);
    let high = driver.queue(process, 2);
    for queue in [low, high] {
        driver.map(&[queue]);
        driver.dispatch(&queue, LONG);
        driver.run(1_000_000);
        driver.unmap_all();
    }
    driver.map(&[high, low]);
    driver.run(100_000);
    driver.unmap_all();
    assert_eq!(driver.report(&low).saves, 1);
    let of = driver.report(&low).queue;
    let timeline = driver.device.timeline(0);
    let times = |change: fn(&TimelineChange) -> bool| {
        let of_low = timeline.iter().filter(|record| record.queue == of);
        of_low.filter(|record| change(&record.change)).count()
    };
    let begins = times(|change| matches!(change, TimelineChange::SaveBegins { .. }));
    let ends = times(|change| matches!(change, TimelineChange::SaveEnds));
    assert_eq!((begins, ends), (1, 1));
}

#[test]
fn a_queue_that_does_not_yield_is_named() {
    let mut driver = Driver::new(config());
    let process = driver.process(1);
    let queue = driver.queue(process, 1);
    let other = driver.queue(process, 1);
    driver.map(&[queue, other]);
    driver.dispatch(&queue, LONG);
    driver.run(1_000_000);
    let unyielding = [queue.doorbell].into();
    driver.device.set_faults(Faults {
        unyielding,
        ..Faults::default()
    });
    driver.unmap(0, 3, 0);
    driver.run(100_000_000);
    assert!(!driver.fence_is_written(), "the limit has not passed");
    driver.run(100_000_000);
    assert!(driver.fence_is_written());
    let at = driver.scheduler_descriptors[0] + mqd::QUEUE_DOORBELL_ID * 4;
    assert_eq!(u64::from(driver.get32(at)) * 4, queue.doorbell);
    let place = driver.report(&queue).mapped.unwrap();
    assert_eq!(driver.report(&other).mapped, None);
    // The driver then resets its slot.
    driver.select(0, 1, place.pipe, place.queue);
    assert_eq!(driver.read_reg(gc::CP_HQD_ACTIVE) & 1, 1);
    driver.write_reg(gc::SPI_COMPUTE_QUEUE_RESET, 1);
    driver.run(100_000);
    assert_eq!(driver.read_reg(gc::CP_HQD_ACTIVE) & 1, 0);
    assert_eq!(driver.report(&queue).mapped, None);
}

#[test]
fn a_queue_may_yield_late() {
    let mut driver = Driver::new(config());
    let process = driver.process(1);
    let queue = driver.queue(process, 1);
    driver.map(&[queue]);
    let dispatch = driver.dispatch(&queue, LONG);
    driver.run(1_000_000);
    let unyielding = [queue.doorbell].into();
    driver.device.set_faults(Faults {
        unyielding,
        ..Faults::default()
    });
    driver.unmap(0, 3, 0);
    driver.run(3_000_000);
    assert!(!driver.fence_is_written());
    driver.device.set_faults(Faults::default());
    driver.run_until(10_000_000, |driver| driver.fence_is_written());
    driver.map(&[queue]);
    driver.finish(&dispatch);
}

#[test]
fn fences_come_late_or_never() {
    let mut driver = Driver::new(config());
    driver.device.set_faults(Faults {
        fence: Fence::Late(5_000_000),
        ..Faults::default()
    });
    driver.query();
    driver.run(4_900_000);
    assert!(!driver.fence_is_written());
    driver.run(200_000);
    assert!(driver.fence_is_written());
    driver.device.set_faults(Faults {
        fence: Fence::Never,
        ..Faults::default()
    });
    driver.query();
    driver.run(1_000_000_000);
    assert!(!driver.fence_is_written());
}

#[test]
fn endless_waves_end_when_the_fault_is_lifted() {
    let mut driver = Driver::new(config());
    let process = driver.process(1);
    let queue = driver.queue(process, 1);
    driver.map(&[queue]);
    let dispatch = driver.dispatch(&queue, LONG);
    let endless = [queue.doorbell].into();
    driver.device.set_faults(Faults {
        endless,
        ..Faults::default()
    });
    driver.run(100_000_000);
    assert_eq!(driver.report(&queue).workgroups_done, 0);
    driver.unmap_all();
    driver.map(&[queue]);
    driver.run(100_000_000);
    assert_eq!(
        driver.report(&queue).workgroups_done,
        0,
        "also after a restore"
    );
    driver.device.set_faults(Faults::default());
    driver.finish(&dispatch);
}

#[test]
fn a_hung_gpu_works_again_after_a_reset() {
    let mut driver = Driver::new(config());
    let process = driver.process(1);
    let queue = driver.queue(process, 1);
    driver.map(&[queue]);
    driver.device.set_faults(Faults {
        hung: true,
        ..Faults::default()
    });
    driver.query();
    driver.run(1_000_000_000);
    assert!(!driver.fence_is_written());
    driver.device.reset();
    assert_eq!(driver.device.next_event(), None);
    driver.restart();
    driver.map(&[queue]);
    let dispatch = driver.dispatch(&queue, Work::default());
    driver.finish(&dispatch);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// However often and whenever queues are taken away and brought back, and
    /// in whatever company, each workgroup is counted once.
    #[test]
    fn no_workgroup_is_lost_or_repeated(
        xcc_count in 1u32..4,
        mode in prop::sample::select(vec![
            ReadPointer::Fetch, ReadPointer::Launch, ReadPointer::Completion,
        ]),
        grace in prop::sample::select(vec![0u32, 1, 0x40]),
        works in prop::collection::vec(
            (1u32..150, 1u16..600, 1_000u64..400_000, 1u32..16, 0u32..20_000, any::<bool>()),
            1..10,
        ),
        steps in prop::collection::vec((0u64..300_000, 0u8..8), 1..60),
    ) {
        let config = Config {
            xcc_count,
            cu_per_shader_engine: 1,
            read_pointer: mode,
            ..Config::default()
        };
        let mut driver = Driver::new(config);
        for die in 0..xcc_count {
            let at = crate::registers::xcc_base(die) + gc::CP_IQ_WAIT_TIME2;
            driver.write_reg(at, grace << 8);
        }
        let processes = [driver.process(1), driver.process(2)];
        let queues = [
            driver.queue(processes[0], 0),
            driver.queue(processes[0], 2),
            driver.queue(processes[1], 1),
        ];
        driver.map(&queues);
        let mut works = works.into_iter();
        let mut dispatches = Vec::new();
        for (pause, choice) in steps {
            driver.run(pause);
            if let Some((workgroups, items, cost, vgprs, lds, barrier)) = works.next() {
                let demand = cost % 700;
                let work = Work { workgroups, items, cost, demand, vgprs: vgprs * 8, lds, barrier };
                if work.footprint().fits_at_all() {
                    let queue = &queues[usize::from(choice) % 3];
                    dispatches.push(driver.dispatch(queue, work));
                }
            }
            driver.unmap(0, 3, 0);
            if choice & 1 == 0 {
                // The next runlist may come right behind the fence.
                driver.run_until(1_000_000_000, |driver| driver.fence_is_written());
            }
            let some: Vec<_> = (0..3)
                .filter(|index| (choice >> index) & 1 != 0)
                .map(|index| queues[index])
                .collect();
            driver.run_list(if some.is_empty() { &queues } else { &some });
        }
        driver.unmap_all();
        driver.map(&queues);
        for dispatch in &dispatches {
            driver.finish(dispatch);
        }
        for queue in &queues {
            let report = driver.report(queue);
            prop_assert_eq!(report.fault, None);
            prop_assert_eq!(report.dispatches_started, report.dispatches_done);
        }
    }
}

#[test]
fn faults_begin_within_a_transaction() {
    let lost = Faults {
        interrupts_lost: true,
        ..Faults::default()
    };
    for moment in [Moment::Unmap, Moment::Unmapped, Moment::Map] {
        let mut driver = Driver::new(config());
        let process = driver.process(1);
        let queue = driver.queue(process, 1);
        driver.map(&[queue]);
        driver.device.set_faults_at(moment, lost.clone());
        driver.run(1_000_000);
        assert_eq!(driver.device.faults_began(), None, "{moment:?}: too early");
        driver.unmap(0, 3, 0);
        driver.run(1_000_000);
        let began = driver.device.faults_began().is_some();
        assert_eq!(began, moment != Moment::Map, "{moment:?}");
        driver.map(&[queue]);
        driver.run(1_000_000);
        let began = driver.device.faults_began().unwrap();
        assert_eq!(began.moment, moment);
        assert_eq!(driver.device.faults(), &lost);
        let packet = &driver.device.hiq_log(began.packet)[0];
        let fits = match moment {
            Moment::Unmap => matches!(packet.action, HiqAction::Unmap { .. }),
            Moment::Unmapped => matches!(packet.action, HiqAction::QueryStatus { .. }),
            Moment::Map => matches!(packet.action, HiqAction::RunList { .. }),
        };
        assert!(fits, "{moment:?}: {packet:?}");
    }
}

#[test]
fn faults_that_wait_are_forgotten_with_others() {
    let mut driver = Driver::new(config());
    let process = driver.process(1);
    let queue = driver.queue(process, 1);
    let hung = Faults {
        hung: true,
        ..Faults::default()
    };
    driver.device.set_faults_at(Moment::Map, hung);
    driver.device.set_faults(Faults::default());
    driver.map(&[queue]);
    driver.run(1_000_000);
    assert_eq!(driver.device.faults(), &Faults::default());
    assert_eq!(driver.device.faults_began(), None);
}
