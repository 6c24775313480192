// SPDX-License-Identifier: GPL-2.0-only
//! Queues that run work to its end.

use crate::terms::{Config, GpuNanos, QueueKind, ReadPointer};
use crate::testing::driver::{Driver, Work, USER};

fn config() -> Config {
    Config {
        cu_per_shader_engine: 2,
        ..Config::default()
    }
}

#[test]
fn a_dispatch_counts_each_workgroup_once_and_signals() {
    for xcc_count in [1, 2, 8] {
        let shape = Config {
            xcc_count,
            cu_per_shader_engine: 1,
            ..Config::default()
        };
        let mut driver = Driver::new(shape);
        let process = driver.process(0x8001);
        let queue = driver.queue(process, 1);
        driver.map(&[queue]);
        let work = Work {
            workgroups: 1000,
            items: 256,
            cost: 20_000,
            ..Work::default()
        };
        let dispatch = driver.dispatch(&queue, work);
        driver.finish(&dispatch);
        assert_eq!(driver.get64(queue.read), 1);
        let report = driver.report(&queue);
        assert_eq!(report.kind, QueueKind::Aql);
        assert_eq!(report.workgroups_done, 1000);
        assert_eq!((report.dispatches_started, report.dispatches_done), (1, 1));
        // 1000 workgroups of 4 waves, 32 waves on each of 4 units of a die.
        let rounds = 1000u64.div_ceil(32 * u64::from(xcc_count));
        assert_eq!(report.running_time, rounds * 20_000, "{xcc_count} dies");
        let start = driver.get64(dispatch.signal + 32);
        let end = driver.get64(dispatch.signal + 40);
        assert_eq!(end - start, report.running_time / 10);
    }
}

#[test]
fn nothing_happens_before_time_passes() {
    let mut driver = Driver::new(config());
    let process = driver.process(1);
    let queue = driver.queue(process, 1);
    driver.map(&[queue]);
    let dispatch = driver.dispatch(&queue, Work::default());
    assert_eq!(driver.get64(queue.read), 0);
    assert_eq!(driver.counts(&dispatch), [0]);
    assert!(driver.device.next_event().is_some());
    driver.device.advance_to(GpuNanos(0));
    assert_eq!(driver.counts(&dispatch), [0], "time does not run backwards");
    driver.finish(&dispatch);
    driver.run(1_000_000);
    assert_eq!(
        driver.device.next_event(),
        None,
        "an idle GPU has no events"
    );
}

#[test]
fn the_read_pointer_moves_when_the_configuration_says() {
    // Workgroups that fill the GPU twice.
    let work = Work {
        workgroups: 2 * 8 * 32,
        cost: 1_000_000,
        ..Work::default()
    };
    for (mode, fetched, half, launched) in [
        (ReadPointer::Fetch, 1, 1, 1),
        (ReadPointer::Launch, 0, 0, 1),
        (ReadPointer::Completion, 0, 0, 0),
    ] {
        let mut driver = Driver::new(Config {
            read_pointer: mode,
            ..config()
        });
        let process = driver.process(1);
        let queue = driver.queue(process, 1);
        driver.map(&[queue]);
        let dispatch = driver.dispatch(&queue, work);
        driver.run(10_000);
        assert_eq!(driver.get64(queue.read), fetched, "{mode:?}");
        driver.run(900_000);
        assert_eq!(driver.get64(queue.read), half, "{mode:?}");
        driver.run(500_000);
        assert_eq!(driver.get64(queue.read), launched, "{mode:?}");
        driver.finish(&dispatch);
        assert_eq!(driver.get64(queue.read), 1, "{mode:?}");
    }
}

#[test]
fn packets_without_the_barrier_bit_overlap() {
    for (barrier, duration) in [(true, 200_000), (false, 100_000)] {
        let mut driver = Driver::new(config());
        let process = driver.process(1);
        let queue = driver.queue(process, 1);
        driver.map(&[queue]);
        let work = Work {
            cost: 100_000,
            barrier,
            ..Work::default()
        };
        let first = driver.dispatch(&queue, work);
        let second = driver.dispatch(&queue, work);
        driver.finish(&first);
        driver.finish(&second);
        let start = driver.get64(first.signal + 32);
        let end = driver.get64(second.signal + 40);
        let slack = 10_000;
        let took = (end - start) * 10;
        assert!(
            (duration..duration + slack).contains(&took),
            "{barrier}: {took}"
        );
    }
}

#[test]
fn a_barrier_packet_waits_for_its_signals() {
    for (kind, all) in [(3, true), (5, false)] {
        let mut driver = Driver::new(config());
        let process = driver.process(1);
        let queue = driver.queue(process, 1);
        driver.map(&[queue]);
        let dependencies = [driver.signal(), driver.signal()];
        let done = driver.signal();
        let mut words = [0; 16];
        words[0] = kind | (1 << 8);
        for (index, signal) in dependencies.iter().enumerate() {
            words[2 + index * 2] = (USER + signal) as u32;
            words[3 + index * 2] = ((USER + signal) >> 32) as u32;
        }
        words[14] = (USER + done) as u32;
        words[15] = ((USER + done) >> 32) as u32;
        driver.put_packet(&queue, &words);
        driver.ring(&queue);
        let dispatch = driver.dispatch(&queue, Work::default());
        driver.run(100_000);
        assert_eq!((driver.get64(done + 8), driver.get64(queue.read)), (1, 0));
        driver.put64(dependencies[0] + 8, 0);
        driver.run(100_000);
        assert_eq!(driver.get64(done + 8) == 0, !all);
        driver.put64(dependencies[1] + 8, 0);
        driver.finish(&dispatch);
        assert_eq!(driver.get64(done + 8), 0);
    }
}

#[test]
fn a_barrier_packet_has_the_time_at_which_it_was_complete() {
    let mut driver = Driver::new(config());
    let process = driver.process(1);
    let queue = driver.queue(process, 1);
    driver.map(&[queue]);
    let first = driver.dispatch(&queue, Work::default());
    let done = driver.signal();
    let mut words = [0; 16];
    words[0] = 3 | (1 << 8);
    words[14] = (USER + done) as u32;
    words[15] = ((USER + done) >> 32) as u32;
    driver.put_packet(&queue, &words);
    driver.ring(&queue);
    let second = driver.dispatch(&queue, Work::default());
    driver.finish(&second);
    let times = |signal| [driver.get64(signal + 32), driver.get64(signal + 40)];
    let [[_, before], [start, end], [after, _]] = [first.signal, done, second.signal].map(times);
    assert_eq!(start, end);
    assert!(
        before <= start && end <= after && before > 0,
        "{before} {start} {after}"
    );
}

#[test]
fn a_reserved_packet_holds_the_queue_until_its_doorbell() {
    let mut driver = Driver::new(config());
    let process = driver.process(1);
    let queue = driver.queue(process, 1);
    driver.map(&[queue]);
    let (words, dispatch) = driver.prepare(Work::default());
    let mut reserved = words;
    reserved[0] = 1;
    driver.put_packet(&queue, &reserved);
    driver.ring(&queue);
    driver.run(100_000);
    assert_eq!(driver.get64(queue.read), 0);
    driver.put32(queue.ring, words[0]);
    driver.ring(&queue);
    driver.finish(&dispatch);
}

#[test]
fn what_cannot_run_stops_its_queue_and_says_why() {
    type Spoil = fn(&mut Driver, &mut [u32; 16]);
    let cases: [(&str, Spoil); 8] = [
        ("unknown instruction [ff, ff, ff, ff", |driver, words| {
            let object = (u64::from(words[8]) | (u64::from(words[9]) << 32)) - USER;
            driver.put32(object + 128, u32::MAX);
        }),
        ("unknown AQL packet", |_, words| words[0] = 77),
        ("fits on no compute unit", |driver, words| {
            let object = (u64::from(words[8]) | (u64::from(words[9]) << 32)) - USER;
            driver.put32(object + 48, 63);
            words[1] = 1024 | (1 << 16);
        }),
        ("local memory", |_, words| words[7] = 65 << 10),
        ("grid", |_, words| words[3] = 0),
        ("items, at most 1024", |_, words| {
            (words[1], words[2]) = (u32::MAX, 0xffff);
        }),
        ("more than can be counted", |_, words| {
            (words[1], words[2]) = (1 | (1 << 16), 1);
            words[3..6].fill(u32::MAX);
        }),
        ("NotMapped", |_, words| words[9] = 0x7fff),
    ];
    for (expected, spoil) in cases {
        let mut driver = Driver::new(config());
        let process = driver.process(1);
        let queue = driver.queue(process, 1);
        let other = driver.queue(process, 1);
        driver.map(&[queue, other]);
        let (mut words, _) = driver.prepare(Work::default());
        spoil(&mut driver, &mut words);
        driver.put_packet(&queue, &words);
        driver.ring(&queue);
        driver.run(100_000);
        let fault = driver.report(&queue).fault.expect(expected);
        assert!(fault.contains(expected), "{fault}");
        // Other queues continue.
        let fine = driver.dispatch(&other, Work::default());
        driver.finish(&fine);
        assert_eq!(driver.report(&other).fault, None);
    }
}

#[test]
fn an_urgent_class_launches_first_but_evicts_nothing() {
    let mut driver = Driver::new(config());
    let process = driver.process(1);
    let low = driver.queue(process, 0);
    let high = driver.queue(process, 2);
    driver.map(&[low, high]);
    // The low queue fills the GPU three times over.
    let cost = 1_000_000;
    let bulk = driver.dispatch(
        &low,
        Work {
            workgroups: 3 * 8 * 32,
            cost,
            ..Work::default()
        },
    );
    driver.run(cost / 2);
    let urgent = driver.dispatch(
        &high,
        Work {
            workgroups: 4,
            cost: 1_000,
            ..Work::default()
        },
    );
    driver.run(cost / 4);
    assert!(!driver.is_done(&urgent), "resident work is not evicted");
    driver.run(cost / 2);
    assert!(driver.is_done(&urgent), "the next free units are its own");
    assert!(driver.counts(&bulk).iter().sum::<u32>() < 3 * 8 * 32);
    driver.finish(&bulk);
}

#[test]
fn what_asks_for_more_than_the_units_have_takes_longer() {
    // One unit in each of four engines; so many workgroups of such a demand beside it.
    for (others, demand, time) in [
        (0, 1000, 100_000),
        (4, 0, 100_000),
        (4, 500, 100_000),
        (4, 1000, 200_000),
        (8, 1000, 300_000),
    ] {
        let mut driver = Driver::new(Config {
            cu_per_shader_engine: 1,
            ..Config::default()
        });
        let process = driver.process(1);
        let (own, other) = (driver.queue(process, 1), driver.queue(process, 1));
        driver.map(&[own, other]);
        if others > 0 {
            let beside = Work {
                workgroups: others,
                cost: 100_000_000,
                demand,
                ..Work::default()
            };
            driver.dispatch(&other, beside);
            driver.run(50_000);
        }
        let work = Work {
            workgroups: 4,
            cost: 100_000,
            demand: demand.max(500),
            ..Work::default()
        };
        let dispatch = driver.dispatch(&own, work);
        driver.finish(&dispatch);
        assert_eq!(
            driver.report(&own).running_time,
            time,
            "{others} of {demand}"
        );
    }
}

#[test]
fn a_saved_workgroup_has_the_work_left_that_it_has_not_done() {
    let mut driver = Driver::new(Config {
        cu_per_shader_engine: 1,
        ..Config::default()
    });
    let process = driver.process(1);
    let (own, other) = (driver.queue(process, 1), driver.queue(process, 1));
    driver.map(&[own, other]);
    let work = Work {
        workgroups: 4,
        cost: 10_000_000,
        demand: 1000,
        ..Work::default()
    };
    let dispatches = [driver.dispatch(&own, work), driver.dispatch(&other, work)];
    // Each gets half of the units; alone, all of them.
    driver.run(8_000_000);
    driver.unmap_all();
    driver.map(&[own]);
    driver.run(5_900_000);
    assert!(!driver.is_done(&dispatches[0]));
    driver.run(200_000);
    assert!(driver.is_done(&dispatches[0]));
    driver.map(&[own, other]);
    driver.finish(&dispatches[1]);
    for dispatch in &dispatches {
        assert_eq!(driver.counts(dispatch), [1; 4]);
    }
}

#[test]
fn nothing_asks_for_more_than_a_unit() {
    let mut driver = Driver::new(config());
    let process = driver.process(1);
    let queue = driver.queue(process, 1);
    driver.map(&[queue]);
    let work = Work {
        demand: 1001,
        ..Work::default()
    };
    driver.dispatch(&queue, work);
    driver.run(1_000_000);
    let fault = driver.report(&queue).fault.unwrap_or_default();
    assert!(fault.contains("1001 thousandths"), "{fault}");
}

#[test]
fn a_mask_keeps_a_queue_to_its_units() {
    let mut driver = Driver::new(config());
    let process = driver.process(1);
    let queue = driver.queue(process, 1);
    // One unit of the second engine.
    for (dword, mask) in crate::layout::descriptor::STATIC_THREAD_MGMT
        .into_iter()
        .zip([0, 2, 0, 0])
    {
        driver.set_mqd(&queue, 0, dword, mask);
    }
    driver.map(&[queue]);
    let dispatch = driver.dispatch(
        &queue,
        Work {
            workgroups: 64,
            cost: 100_000,
            ..Work::default()
        },
    );
    driver.run(50_000);
    let occupancy = driver.device.state().occupancy;
    assert_eq!((occupancy[0].units_busy, occupancy[0].waves), (1, 32));
    driver.finish(&dispatch);
    // The second half took the places of the first at once.
    let units: Vec<_> = driver
        .device
        .units()
        .iter()
        .map(|r| (r.xcc, r.busy))
        .collect();
    assert_eq!(units, [(0, 1), (0, 0)]);
}

#[test]
fn registers_show_waves_by_slot_and_engine() {
    use crate::registers::table::gc;
    let mut driver = Driver::new(config());
    let process = driver.process(1);
    let queue = driver.queue(process, 1);
    driver.map(&[queue]);
    let place = driver.report(&queue).mapped.unwrap();
    driver.dispatch(
        &queue,
        Work {
            workgroups: 12,
            cost: 100_000,
            ..Work::default()
        },
    );
    driver.run(50_000);
    let mut total = 0;
    for engine in 0..4 {
        driver.write_reg(gc::GRBM_GFX_INDEX, engine << 16);
        driver.select(0, 1, place.pipe, 0);
        let status = driver.read_reg(gc::SPI_CSQ_WF_ACTIVE_STATUS);
        assert_eq!(status, 1 << (place.pipe * 8 + place.queue));
        total += driver.read_reg(gc::SPI_CSQ_WF_ACTIVE_COUNT_0 + place.queue);
    }
    assert_eq!(total, 12);
    driver.select(0, 1, place.pipe, place.queue);
    assert_eq!(driver.read_reg(gc::CP_HQD_ACTIVE) & 1, 1);
    assert_eq!(driver.read_reg(gc::CP_HQD_PQ_RPTR), 1 << 4);
    assert_eq!(driver.read_reg(gc::CP_HQD_PQ_WPTR_LO), 1 << 4);
    assert_eq!(
        driver.read_reg(gc::CP_HQD_PQ_DOORBELL_CONTROL) & 0x0fff_fffc,
        queue.doorbell as u32
    );
}

/// Units become free one by one, and a lower class waits for them, too.
#[test]
fn queues_of_one_class_take_turns_whoever_else_waits() {
    for (equals, lower) in [(2, 0), (2, 1), (3, 1), (3, 2), (4, 2)] {
        let mut driver = Driver::new(config());
        let queues: Vec<_> = (0..equals + lower)
            .map(|index| {
                let process = driver.process(1 + index);
                driver.queue(process, u32::from(index < equals))
            })
            .collect();
        driver.map(&queues);
        for queue in &queues {
            // One on each of the 8 units, for many rounds.
            let work = Work {
                workgroups: 1_000,
                items: 256,
                cost: 10_000,
                vgprs: 512,
                ..Work::default()
            };
            driver.dispatch(queue, work);
        }
        driver.run(1_000_000);
        let done = queues.iter().map(|queue| driver.report(queue));
        let done: Vec<u64> = done.map(|report| report.workgroups_done).collect();
        let (equal, below) = done.split_at(equals as usize);
        let (least, most) = (equal.iter().min(), equal.iter().max());
        assert!(*most.unwrap() - *least.unwrap() <= 8, "{done:?}");
        assert!(below.iter().all(|count| *count <= 8), "{done:?}");
        assert!(done.iter().sum::<u64>() > 700, "{done:?}");
    }
}
