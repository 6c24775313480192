// SPDX-License-Identifier: GPL-2.0-only

//! What the engine must get right for any result to mean something.

use gpreempt_simulator::engine::{Engine, QueueIndex};
use gpreempt_simulator::gpu::{
    Gpu, Nanos, TransactionCost, FULL_DEMAND, SLOTS_PER_CU, STATE_BYTES_PER_CU,
};
use gpreempt_simulator::kernel::{Kernel, PipeClass, Program};
use gpreempt_simulator::services::{alone, Model};

/// A node of `units` compute units without delays of its own.
fn node(units: u64) -> Gpu {
    Gpu {
        compute_units: units,
        packet_processing: 0,
        ..Gpu::mi300x_cpx()
    }
}

/// A kernel whose workgroups each fill one compute unit for `time`.
fn whole_units(workgroups: u32, time: Nanos) -> Kernel {
    Kernel {
        workgroups,
        slots: SLOTS_PER_CU,
        demand: FULL_DEMAND,
        time,
        spread: 0,
        waves: 32,
        state_bytes: STATE_BYTES_PER_CU,
        grain: 0,
    }
}

fn program(kernels: &[Kernel]) -> Program {
    kernels.into()
}

fn run_until(engine: &mut Engine, end: Nanos) {
    while let Some(next) = engine.next_event().filter(|&next| next <= end) {
        engine.advance(next);
    }
    engine.advance(end);
}

fn run_idle(engine: &mut Engine) {
    while (0..engine.queue_count()).any(|q| engine.busy(q)) {
        let next = engine.next_event().expect("work is left");
        engine.advance(next);
    }
}

fn ends(engine: &mut Engine) -> Vec<(QueueIndex, u64, Nanos)> {
    engine
        .take_completions()
        .into_iter()
        .map(|c| (c.queue, c.request, c.at))
        .collect()
}

#[test]
fn rounds_of_workgroups_follow_each_other() {
    let mut engine = Engine::new(node(4));
    let queue = engine.add_queue(PipeClass::Low);
    engine.submit(queue, 1, &program(&[whole_units(10, 1_000)]));
    run_idle(&mut engine);
    // 10 workgroups on 4 units: 4, 4, 2.
    assert_eq!(ends(&mut engine), [(queue, 1, 3_000)]);
    assert_eq!(engine.workgroups_done(queue), 10);
}

#[test]
fn requests_of_a_queue_end_in_order() {
    let mut engine = Engine::new(node(4));
    let queue = engine.add_queue(PipeClass::Low);
    for request in 1..=50 {
        let time = 1_000 + (request * 7_919) % 5_000;
        engine.submit(queue, request, &program(&[whole_units(3, time)]));
    }
    run_idle(&mut engine);
    let order: Vec<u64> = ends(&mut engine).iter().map(|e| e.1).collect();
    assert_eq!(order, (1..=50).collect::<Vec<_>>());
}

#[test]
fn a_higher_class_gets_the_free_units_first_but_evicts_nobody() {
    let mut engine = Engine::new(node(4));
    let low = engine.add_queue(PipeClass::Low);
    let high = engine.add_queue(PipeClass::High);
    engine.submit(low, 1, &program(&[whole_units(12, 1_000)]));
    run_until(&mut engine, 500);
    engine.submit(high, 2, &program(&[whole_units(4, 1_000)]));
    run_idle(&mut engine);
    // The resident low workgroups end at 1,000; then the high kernel has all
    // four units until 2,000, and the other eight low ones take two rounds.
    assert_eq!(ends(&mut engine), [(high, 2, 2_000), (low, 1, 4_000)]);
}

#[test]
fn queues_of_one_class_share_the_free_units() {
    let mut engine = Engine::new(node(4));
    let first = engine.add_queue(PipeClass::Low);
    let second = engine.add_queue(PipeClass::Low);
    let blocker = engine.add_queue(PipeClass::High);
    engine.submit(blocker, 9, &program(&[whole_units(4, 1_000)]));
    run_until(&mut engine, 1);
    engine.submit(first, 1, &program(&[whole_units(8, 1_000)]));
    engine.submit(second, 2, &program(&[whole_units(8, 1_000)]));
    run_idle(&mut engine);
    assert_eq!(
        ends(&mut engine),
        [(blocker, 9, 1_000), (first, 1, 5_000), (second, 2, 5_000)]
    );
}

/// A unit becomes free each 250 ns, and who has just had one is not the next to get one.
#[test]
fn queues_of_one_class_take_turns_where_units_become_free_one_by_one() {
    let mut engine = Engine::new(node(4));
    let queues: Vec<QueueIndex> = (0..3).map(|_| engine.add_queue(PipeClass::Low)).collect();
    for (step, _) in (1..).zip(0..4) {
        let blocker = engine.add_queue(PipeClass::High);
        engine.submit(blocker, 0, &program(&[whole_units(1, 250 * step)]));
    }
    for &queue in &queues {
        engine.submit(queue, queue as u64, &program(&[whole_units(40, 1_000)]));
    }
    for time in 1..=10 {
        run_until(&mut engine, 3_000 * time);
        let done = queues.iter().map(|&queue| engine.workgroups_done(queue));
        let (least, most) = (done.clone().min(), done.clone().max());
        let served: Vec<u64> = done.collect();
        assert!(most <= least.map(|least| least + 1), "{time}: {served:?}");
    }
    run_idle(&mut engine);
    assert!(queues
        .iter()
        .all(|&queue| engine.workgroups_done(queue) == 40));
}

#[test]
fn residents_that_ask_for_too_much_slow_down_alike() {
    let half_slots = Kernel {
        slots: SLOTS_PER_CU / 2,
        ..whole_units(8, 1_000)
    };
    let mut engine = Engine::new(node(4));
    let queue = engine.add_queue(PipeClass::Low);
    // 8 resident workgroups that each ask for a whole unit, on 4 units.
    engine.submit(queue, 1, &program(&[half_slots]));
    run_idle(&mut engine);
    assert_eq!(ends(&mut engine), [(queue, 1, 2_000)]);
}

#[test]
fn a_stop_and_a_start_cost_what_the_bytes_say_and_lose_nothing() {
    let gpu = node(38);
    let mut engine = Engine::new(gpu.clone());
    let queue = engine.add_queue(PipeClass::Low);
    engine.submit(queue, 1, &program(&[whole_units(38, 100_000)]));
    run_until(&mut engine, 40_000);
    engine.begin_transaction(vec![queue], vec![]);
    let stop = TransactionCost::new(&gpu, gpu.state_bytes(), 0);
    let stop_end = 40_000 + stop.command + stop.standstill();
    run_until(&mut engine, stop_end);
    assert_eq!(engine.take_finished_transaction(), Some(stop));
    assert!(!engine.view(queue).active);
    assert_eq!(engine.view(queue).saved_waves, 38 * 32);
    run_until(&mut engine, stop_end + 1_000_000);
    assert_eq!(engine.workgroups_done(queue), 0, "a stopped queue runs");
    let restart = engine.now();
    engine.begin_transaction(vec![], vec![queue]);
    run_idle(&mut engine);
    let start = TransactionCost::new(&gpu, 0, gpu.state_bytes());
    assert_eq!(engine.take_finished_transaction(), Some(start));
    // It ran for 40 us and for the command's time before the stop.
    let done_before = 40_000 + stop.command;
    let end = restart + start.command + start.standstill() + 100_000 - done_before;
    assert_eq!(ends(&mut engine), [(queue, 1, end)]);
    assert_eq!(engine.workgroups_done(queue), 38);
    // 35 us of bytes and 5 us fixed, each way.
    assert_eq!(stop.save, 40_007);
    assert_eq!(start.restore, stop.save);
}

#[test]
fn a_transaction_disturbs_every_busy_queue_of_the_node() {
    let gpu = node(4);
    let mut engine = Engine::new(gpu.clone());
    let victim = engine.add_queue(PipeClass::Low);
    let other = engine.add_queue(PipeClass::Low);
    engine.submit(victim, 1, &program(&[whole_units(2, 100_000)]));
    engine.submit(other, 2, &program(&[whole_units(2, 100_000)]));
    run_until(&mut engine, 10_000);
    engine.begin_transaction(vec![victim], vec![]);
    run_until(&mut engine, 1_000_000);
    let cost = engine.take_finished_transaction().unwrap();
    assert_eq!(cost.save, gpu.transfer(4 * STATE_BYTES_PER_CU));
    assert_eq!(cost.restore, gpu.transfer(2 * STATE_BYTES_PER_CU));
    assert_eq!(ends(&mut engine), [(other, 2, 100_000 + cost.standstill())]);
}

#[test]
fn a_queue_that_is_stopped_while_it_has_nothing_takes_its_work_later() {
    let mut engine = Engine::new(node(4));
    let queue = engine.add_queue(PipeClass::Low);
    engine.begin_transaction(vec![queue], vec![]);
    run_until(&mut engine, 500_000);
    engine.submit(queue, 1, &program(&[whole_units(1, 1_000)]));
    run_until(&mut engine, 1_000_000);
    assert!(ends(&mut engine).is_empty());
    engine.begin_transaction(vec![], vec![queue]);
    run_idle(&mut engine);
    assert_eq!(ends(&mut engine).len(), 1);
}

#[test]
fn a_kill_loses_the_work_and_runs_it_again() {
    let mut engine = Engine::new(node(4));
    let queue = engine.add_queue(PipeClass::Low);
    engine.submit(queue, 1, &program(&[whole_units(8, 1_000)]));
    run_until(&mut engine, 1_500);
    assert_eq!(engine.workgroups_done(queue), 4);
    engine.kill(queue);
    run_until(&mut engine, 3_000);
    engine.revive(queue);
    run_idle(&mut engine);
    assert_eq!(ends(&mut engine), [(queue, 1, 5_000)]);
    assert_eq!(engine.workgroups_lost(queue), 8);
    assert_eq!(engine.workgroups_done(queue), 8);
}

#[test]
fn restored_waves_wait_for_room() {
    let gpu = node(4);
    let mut engine = Engine::new(gpu.clone());
    let first = engine.add_queue(PipeClass::Low);
    let second = engine.add_queue(PipeClass::High);
    engine.submit(first, 1, &program(&[whole_units(4, 1_000_000)]));
    run_until(&mut engine, 10_000);
    engine.begin_transaction(vec![first], vec![]);
    run_until(&mut engine, 200_000);
    engine.submit(second, 2, &program(&[whole_units(4, 1_000_000)]));
    run_until(&mut engine, 300_000);
    engine.begin_transaction(vec![], vec![first]);
    run_idle(&mut engine);
    // Both have four saved workgroups, there is room for four: the higher
    // class comes first.
    let order: Vec<u64> = ends(&mut engine).iter().map(|e| e.1).collect();
    assert_eq!(order, [2, 1]);
}

/// Random stops, starts and submissions: the engine itself asserts, for each
/// kernel, that every workgroup was done exactly once.
#[test]
fn every_workgroup_is_done_exactly_once_under_random_preemption() {
    use rand::{Rng, SeedableRng};
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(42);
    for round in 0..20 {
        let mut engine = Engine::new(Gpu {
            hqds: 3,
            quantum: 50_000,
            ..Gpu::mi300x_cpx()
        });
        let queues = 2 + round % 4;
        let mut expected = vec![0_u64; queues];
        let mut stopped = vec![false; queues];
        let mut submitted = 0_u64;
        for queue in 0..queues {
            engine.add_queue(PipeClass::ALL[queue % 3]);
        }
        for _ in 0..300 {
            let pause = random.random_range(1..60_000);
            let until = engine.now() + pause;
            run_until(&mut engine, until);
            let queue = random.random_range(0..queues);
            match random.random_range(0..3) {
                0 if !engine.in_transaction() => {
                    stopped[queue] = !stopped[queue];
                    let (stop, start) = if stopped[queue] {
                        (vec![queue], vec![])
                    } else {
                        (vec![], vec![queue])
                    };
                    engine.begin_transaction(stop, start);
                }
                _ => {
                    let kernels: Vec<Kernel> = (0..random.random_range(1..4))
                        .map(|_| Kernel {
                            workgroups: random.random_range(1..200),
                            slots: SLOTS_PER_CU / random.random_range(1..9),
                            demand: random.random_range(1..=FULL_DEMAND),
                            grain: if random.random_bool(0.5) {
                                1_000_000
                            } else {
                                0
                            },
                            ..whole_units(1, random.random_range(1..40_000))
                        })
                        .collect();
                    expected[queue] += kernels.iter().map(|k| u64::from(k.workgroups)).sum::<u64>();
                    submitted += 1;
                    engine.submit(queue, submitted, &program(&kernels));
                }
            }
        }
        let until = engine.now() + 1_000_000;
        run_until(&mut engine, until);
        engine.begin_transaction(vec![], (0..queues).collect());
        run_idle(&mut engine);
        for (queue, &count) in expected.iter().enumerate() {
            assert_eq!(engine.workgroups_done(queue), count, "round {round}");
            assert_eq!(engine.view(queue).backlog(), 0);
        }
        let mut done: Vec<u64> = ends(&mut engine).iter().map(|e| e.1).collect();
        done.sort_unstable();
        assert_eq!(done, (1..=submitted).collect::<Vec<_>>());
    }
}

#[test]
fn more_queues_than_slots_take_turns() {
    let gpu = Gpu {
        hqds: 2,
        quantum: 1_000_000,
        ..node(4)
    };
    let mut engine = Engine::new(gpu);
    let queues: Vec<QueueIndex> = (0..3).map(|_| engine.add_queue(PipeClass::Low)).collect();
    for &queue in &queues {
        engine.submit(queue, queue as u64, &program(&[whole_units(2, 5_000_000)]));
    }
    let seen =
        |engine: &Engine| -> Vec<bool> { queues.iter().map(|&q| engine.view(q).in_hqd).collect() };
    run_until(&mut engine, 500_000);
    assert_eq!(seen(&engine), [true, true, false]);
    run_until(&mut engine, 1_500_000);
    assert!(seen(&engine)[2], "the third queue never came in");
    run_idle(&mut engine);
    assert_eq!(ends(&mut engine).len(), 3);
    assert!(engine.slice_switches >= 2);
}

#[test]
fn the_read_pointer_moves_with_the_first_workgroup_or_the_last() {
    use gpreempt_simulator::gpu::ReadPointer;
    for (mode, early) in [(ReadPointer::Launch, 0), (ReadPointer::Completion, 1)] {
        let mut engine = Engine::new(Gpu {
            read_pointer: mode,
            ..node(4)
        });
        let queue = engine.add_queue(PipeClass::Low);
        engine.submit(queue, 1, &program(&[whole_units(4, 1_000)]));
        run_until(&mut engine, 500);
        assert_eq!(engine.view(queue).backlog(), early);
        run_until(&mut engine, 1_000);
        assert_eq!(engine.view(queue).backlog(), 0);
    }
}

/// M/D/1: the mean wait is rho / (2 (1 - rho)) services.
#[test]
fn poisson_arrivals_wait_as_the_closed_form_says() {
    use gpreempt_simulator::controller::NoPreemption;
    use gpreempt_simulator::workload::{Arrivals, Client, Workload, SECOND, URGENT};
    let gpu = Gpu::mi300x_cpx();
    let service = alone(&gpu, &Model::Small.program(&gpu));
    for load in [0.3, 0.6, 0.8] {
        let workload = Workload::new(
            "M/D/1",
            vec![Client::new(
                "small",
                Model::Small,
                URGENT,
                Arrivals::Poisson {
                    hertz: load * SECOND as f64 / service as f64,
                },
            )],
        );
        let result = gpreempt_simulator::simulation::run(
            &gpu,
            &workload,
            &mut NoPreemption,
            11,
            SECOND,
            60 * SECOND,
        );
        let latencies = &result.clients[0].latencies;
        let mean = latencies.iter().sum::<Nanos>() as f64 / latencies.len() as f64;
        let expected = service as f64 * (1.0 + load / (2.0 * (1.0 - load)));
        let error = (mean / expected - 1.0).abs();
        assert!(
            error < 0.03,
            "load {load}: {mean:.0} ns, {expected:.0} expected"
        );
    }
}

/// What the queues have had of the node is what was used of it, through stops and starts.
#[test]
fn shares_of_the_node_add_up_to_what_was_used() {
    let mut engine = Engine::new(node(4));
    let queues = [PipeClass::Low, PipeClass::High].map(|class| engine.add_queue(class));
    for (request, &queue) in queues.iter().enumerate() {
        let kernels = program(&[whole_units(30, 10_000), whole_units(3, 50_000)]);
        engine.submit(queue, request as u64, &kernels);
    }
    run_until(&mut engine, 25_000);
    engine.begin_transaction(vec![queues[0]], Vec::new());
    run_until(&mut engine, 300_000);
    let ahead = engine.node_time(queues[1], 300_000);
    engine.begin_transaction(Vec::new(), vec![queues[0]]);
    run_until(&mut engine, 350_000);
    let sum: Nanos = queues.iter().map(|&q| engine.node_time(q, 350_000)).sum();
    let used = engine.utilisation() * 350_000.0;
    assert!((sum as f64 - used).abs() < 3.0, "{sum} {used}");
    assert!(ahead > 100_000 && sum > ahead);
    run_idle(&mut engine);
    // 30 workgroups of 10 us on four units, and 3 of 50 us.
    for queue in queues {
        assert!(engine.node_time(queue, engine.now()).abs_diff(112_500) < 3);
    }
}

#[test]
fn a_queue_waits_while_it_lacks_room_and_its_rest_is_what_its_kernel_has_to_do() {
    let mut engine = Engine::new(node(4));
    let queue = engine.add_queue(PipeClass::Low);
    assert_eq!((engine.waits(queue), engine.rest(queue)), (false, 0));
    engine.submit(queue, 1, &program(&[whole_units(6, 10_000)]));
    run_until(&mut engine, 4_000);
    assert!(engine.waits(queue));
    assert_eq!(engine.rest(queue), 6_000 + 10_000);
    run_until(&mut engine, 13_000);
    assert_eq!((engine.waits(queue), engine.rest(queue)), (false, 7_000));
}
