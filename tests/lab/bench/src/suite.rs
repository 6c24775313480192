// SPDX-License-Identifier: GPL-2.0-only
//! The simulator's workloads as loads for the virtual GPU.
//!
//! Who submits what and when, and what each request launches, is defined once, in the
//! simulator. A kernel of many rounds of workgroups has fewer and longer ones here, as
//! each is an event.

use gpreempt_simulator::gpu::{Gpu, Nanos, FULL_DEMAND, SLOTS_PER_CU};
use gpreempt_simulator::kernel::{Kernel, Program};
use gpreempt_simulator::workload::{phases, Arrivals, Client, Source, Workload};
use gpu_workload::spec::{Arrival, Cost, KernelSpec, QueueSpec, RunSpec, Step};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vgpu_model::Timing;

use crate::load::{heavy, run};

/// When the urgent clients begin: the others are in full swing by then, and a
/// scheduler in user space has found the queues.
pub const WARM_UP: Nanos = 40_000_000;
/// For so long after the last urgent client has ended there is other work beside what
/// it has begun.
const TAIL: Nanos = 20_000_000;
/// Most workgroups of one kernel: beyond that a kernel only has more rounds.
const MOST_ROUNDS: u64 = 8;
/// The registers of a compute unit's four SIMDs, for one lane.
const VECTOR_REGISTERS: u64 = 4 * 512;
const WAVES_OF_A_WORKGROUP: u64 = 4;
/// The throughput of a compute unit, as the virtual GPU counts it.
const UNIT: u64 = 1000;

/// The loads: those of the simulator's tables, and one of six tenants whose kernels leave
/// room for an urgent one bit by bit. Theirs are all alike here, and ends of workgroups
/// closer together than in the simulator.
pub fn names() -> impl Iterator<Item = &'static str> {
    Workload::names().iter().copied().chain(["H19"])
}

/// The node of the simulator that a GPU with so many units stands for: a
/// partition, or a whole GPU.
pub fn node(compute_units: u32) -> Gpu {
    let part = Gpu::mi300x_cpx();
    let like = if u64::from(compute_units) > 2 * part.compute_units {
        Gpu::mi300x_spx()
    } else {
        part
    };
    Gpu {
        compute_units: compute_units.into(),
        ..like
    }
}

/// The times of the virtual GPU's firmware for the loads. Between two kernels of a
/// request there is what the simulator has there: a load is hundreds of kernels, and its
/// queues would be shorter otherwise.
pub fn timing() -> Timing {
    Timing {
        aql_packet: Gpu::mi300x_spx().packet_processing,
        ..Timing::default()
    }
}

/// A kernel of the simulator's as a request launches it here: in fewer and longer
/// workgroups where there are many, all of them alike.
fn launched(kernel: &Kernel, gpu: &Gpu) -> Kernel {
    let resident = gpu.compute_units * (SLOTS_PER_CU / kernel.slots);
    let all = u64::from(kernel.workgroups);
    let workgroups = all.min(MOST_ROUNDS * resident);
    Kernel {
        workgroups: workgroups as u32,
        // Those that are left out have their time in the others.
        time: (kernel.time * all).div_ceil(workgroups),
        demand: kernel.demand * UNIT / FULL_DEMAND * FULL_DEMAND / UNIT,
        spread: 0,
        // They are few enough to end whenever they do.
        grain: 0,
        ..kernel.clone()
    }
}

/// What a client's requests launch here, unless that was said of it. Of the programs that
/// the simulator chooses from it is the first, each time.
fn program(client: &Client, gpu: &Gpu) -> Program {
    let said = client.instead.iter().flatten().next();
    said.cloned().unwrap_or_else(|| {
        let programs = client.programs(gpu);
        programs[0].iter().map(|k| launched(k, gpu)).collect()
    })
}

/// The workload with requests that launch in the simulator what they launch here.
pub fn as_launched(workload: &Workload, gpu: &Gpu) -> Workload {
    let mut workload = workload.clone();
    for client in &mut workload.clients {
        client.instead = Some(vec![program(client, gpu)]);
    }
    workload
}

/// A kernel as the run of a load says it.
fn step(kernel: &Kernel) -> Step {
    let per_unit = SLOTS_PER_CU / kernel.slots;
    let registers = VECTOR_REGISTERS / (per_unit * WAVES_OF_A_WORKGROUP);
    Step {
        dispatches: 1,
        workgroups: kernel.workgroups,
        cost_ns: Cost::Nanoseconds(kernel.time),
        demand: (kernel.demand * UNIT / FULL_DEMAND) as u32,
        kernel: KernelSpec {
            vector_registers: registers.min(512) as u32,
            ..KernelSpec::default()
        },
    }
}

/// A program with equal kernels in a row as one step.
fn steps(program: &[Kernel]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for kernel in program {
        let next = step(kernel);
        match steps.last_mut() {
            Some(last)
                if (Step {
                    dispatches: 1,
                    ..last.clone()
                }) == next =>
            {
                last.dispatches += 1
            }
            _ => steps.push(next),
        }
    }
    steps
}

/// The run of a workload whose urgent clients send requests for so long. What arrives
/// when is what the simulator has with this seed, after a warm-up of this length.
pub fn spec(workload: &Workload, gpu: &Gpu, duration: Nanos, seed: u64) -> RunSpec {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let phases = phases(workload, gpu, &mut random);
    let queues = workload
        .clients
        .iter()
        .zip(phases)
        .map(|(client, phase)| {
            // Random numbers of its own, or all clients would arrive together.
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(client.stream);
            let source = Source::new(client.arrivals.clone(), phase, random);
            queue(client, gpu, source, duration)
        })
        .collect();
    RunSpec {
        seed,
        samples: true,
        ..run(queues)
    }
}

fn queue(client: &Client, gpu: &Gpu, source: Source, duration: Nanos) -> QueueSpec {
    let program = program(client, gpu);
    let dispatches = program.len() as u32;
    let mut then = steps(&program);
    let first = then.remove(0);
    let (start, lasts) = if client.urgent() {
        (WARM_UP, duration)
    } else {
        (0, WARM_UP + duration + TAIL)
    };
    let endless = client.arrivals == Arrivals::Continuous;
    QueueSpec {
        name: client.name.clone(),
        group: client.name.clone(),
        priority: client.priority.into(),
        // Room for several requests, so that an open loop can fall behind.
        ring_packets: (4 * (dispatches + 2)).next_power_of_two().max(128),
        workgroups: first.workgroups,
        workgroup_size: 64 * WAVES_OF_A_WORKGROUP as u16,
        cost_ns: first.cost_ns,
        demand: first.demand,
        kernel: first.kernel,
        dispatches_per_request: first.dispatches,
        then,
        arrival: if endless {
            // It has its next kernel in the ring already.
            Arrival::ClosedLoop {
                depth: 2,
                think_ns: 0,
            }
        } else {
            Arrival::Trace {
                times_ns: times(source, start, lasts),
            }
        },
        // A best-effort client does not pile up work, and so it does in the simulator.
        one_at_a_time: !client.urgent() && !endless,
        hint: false,
        preparation_ns: if endless { 0 } else { client.preparation },
        batched: true,
        unwritten_guest_ns: 0,
        real_time: client.urgent(),
        start_ns: start,
        duration_ns: Some(lasts),
        ..heavy(duration)
    }
}

/// The arrivals of so long a time from a moment on, counted from there.
fn times(mut source: Source, start: Nanos, lasts: Nanos) -> Vec<u64> {
    std::iter::from_fn(|| source.next_arrival())
        .filter_map(|at| at.checked_sub(start))
        .take_while(|&at| at < lasts)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpreempt_simulator::controller::NoPreemption;
    use gpreempt_simulator::loads;
    use gpreempt_simulator::services::Model;
    use gpreempt_simulator::simulation;
    use gpreempt_simulator::workload::SECOND;

    const UNITS: u32 = 40;

    /// Of a request: its dispatches, and what its workgroups take of the slots and of the
    /// throughput of all units.
    fn sums(program: impl Iterator<Item = (u64, u64, u64, u64, u64)>) -> [f64; 4] {
        let mut sums = [0.0; 4];
        for (dispatches, workgroups, time, slots, demand) in program {
            let work = (dispatches * workgroups * time) as f64;
            sums[0] += dispatches as f64;
            sums[1] += work;
            sums[2] += work * slots as f64;
            sums[3] += work * demand as f64;
        }
        sums
    }

    #[test]
    fn a_request_takes_of_the_gpu_what_the_model_does() {
        for units in [UNITS, 304] {
            let gpu = node(units);
            for model in Model::ALL {
                let program = model.program(&gpu);
                let wanted = sums(program.iter().map(|kernel| {
                    let demand = kernel.demand * UNIT / FULL_DEMAND;
                    let workgroups = kernel.workgroups.into();
                    (1, workgroups, kernel.time, kernel.slots, demand)
                }));
                let program: Vec<Kernel> = program.iter().map(|k| launched(k, &gpu)).collect();
                let got = sums(steps(&program).iter().map(|step| {
                    let registers = u64::from(step.kernel.vector_registers);
                    let slots = SLOTS_PER_CU * registers * WAVES_OF_A_WORKGROUP / VECTOR_REGISTERS;
                    let numbers = [step.dispatches, step.workgroups, step.demand].map(u64::from);
                    let time = step.cost_ns.nanoseconds();
                    (numbers[0], numbers[1], time, slots, numbers[2])
                }));
                for (got, wanted) in got.iter().zip(wanted) {
                    let name = model.name();
                    assert!(
                        (got / wanted - 1.0).abs() < 0.01,
                        "{name}: {got} for {wanted}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_kernel_has_few_rounds() {
        let gpu = node(UNITS);
        for model in Model::ALL {
            for kernel in model.program(&gpu).iter() {
                let rounds = |workgroups| {
                    u64::from(workgroups) * kernel.slots / (gpu.compute_units * SLOTS_PER_CU)
                };
                let step = launched(kernel, &gpu);
                assert!(rounds(step.workgroups) <= MOST_ROUNDS, "{}", model.name());
                if rounds(kernel.workgroups) < MOST_ROUNDS {
                    assert_eq!(step.workgroups, kernel.workgroups, "{}", model.name());
                }
            }
        }
    }

    #[test]
    fn equal_kernels_in_a_row_are_one_step() {
        let gpu = node(UNITS);
        let program = Model::Token.program(&gpu);
        let [token] = &steps(&program)[..] else {
            panic!("not one step");
        };
        assert_eq!(token.dispatches, 24);
        let kernels: Vec<Kernel> =
            [&program[..], &Model::Small.program(&gpu), &program[..1]].concat();
        let dispatches: Vec<u32> = steps(&kernels).iter().map(|s| s.dispatches).collect();
        assert_eq!(dispatches, [24, 1, 1]);
    }

    #[test]
    fn every_workload_is_a_legal_run() {
        let gpu = node(UNITS);
        for name in names() {
            let workload = loads::by_name(name).unwrap();
            let run = spec(&workload, &gpu, 300_000_000, 1);
            let text = serde_json::to_string(&run).unwrap();
            let read = RunSpec::parse(&text).unwrap_or_else(|error| panic!("{name}: {error:#}"));
            assert_eq!(read.queues.len(), workload.clients.len());
            for (queue, client) in read.queues.iter().zip(&workload.clients) {
                assert_eq!(queue.start_ns >= WARM_UP, client.urgent(), "{name}");
                assert!(queue.priority == u32::from(client.priority));
                let ends = |queue: &QueueSpec| queue.start_ns + queue.duration_ns.unwrap();
                let last = read.queues.iter().map(ends).max().unwrap();
                assert!(client.urgent() || ends(queue) == last, "{name}");
            }
        }
    }

    fn trace(queue: &QueueSpec) -> &[u64] {
        match &queue.arrival {
            Arrival::Trace { times_ns } => times_ns,
            _ => panic!("{} has no times", queue.name),
        }
    }

    #[test]
    fn what_arrives_is_what_the_simulator_has() {
        let (gpu, duration) = (node(UNITS), SECOND);
        for name in ["D", "E", "REAL"] {
            let workload = Workload::by_name(name).unwrap();
            let run = spec(&workload, &gpu, duration, 3);
            let alone = workload.alone();
            let simulated = simulation::run(&gpu, &alone, &mut NoPreemption, 3, WARM_UP, duration);
            let urgent = run.queues.iter().filter(|queue| queue.start_ns > 0);
            for (queue, client) in urgent.zip(&simulated.clients) {
                assert_eq!(queue.name, client.name);
                let times = trace(queue);
                assert!(
                    times.is_sorted() && times.last() < Some(&duration),
                    "{name}"
                );
                // One or two are not done, or not even submitted, when the simulator ends.
                let arrived = times.len() as u64;
                assert!(
                    (client.completed..=client.completed + 2).contains(&arrived),
                    "{name}, {}: {arrived} for {}",
                    client.name,
                    client.completed
                );
            }
        }
    }

    /// With one seed for all, the five clients of a load would ring as one.
    #[test]
    fn no_two_clients_arrive_at_the_same_times() {
        for name in ["REAL", "MIX"] {
            let workload = Workload::by_name(name).unwrap();
            let run = spec(&workload, &node(UNITS), SECOND, 1);
            let mut traces: Vec<_> = run.queues.iter().map(trace).collect();
            traces.sort();
            traces.dedup();
            assert_eq!(traces.len(), 10, "{name}");
        }
    }

    #[test]
    fn a_best_effort_client_has_one_request_at_a_time_and_keeps_its_rate() {
        let of = |name: &str| {
            let workload = Workload::by_name(name).unwrap();
            let run = spec(&workload, &node(UNITS), SECOND, 1);
            let others = run.queues.into_iter().filter(|queue| queue.start_ns == 0);
            others.collect::<Vec<QueueSpec>>()
        };
        for queue in of("D") {
            assert!(queue.one_at_a_time && queue.preparation_ns == 200_000);
            let times = trace(&queue);
            assert!((102..=106).contains(&times.len()), "{}", times.len());
            // By the clock, however long its requests take.
            for (index, at) in (0..).zip(times) {
                let late = (at - times[0]).abs_diff(10_000_000 * index);
                assert!(late <= 50_000, "{}: {late}", queue.name);
            }
        }
        for queue in of("L") {
            let endless = Arrival::ClosedLoop {
                depth: 2,
                think_ns: 0,
            };
            assert_eq!(queue.arrival, endless);
            assert!(!queue.one_at_a_time && queue.preparation_ns == 0);
        }
    }
}
