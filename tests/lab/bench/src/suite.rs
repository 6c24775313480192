// SPDX-License-Identifier: GPL-2.0-only
//! The simulator's workloads as loads for the virtual GPU.
//!
//! Who submits what and when, and what each request launches, is defined once, in the
//! simulator. A kernel of many rounds of workgroups has fewer and longer ones here, as
//! each is an event.

use gpreempt_simulator::gpu::{Gpu, Nanos, FULL_DEMAND, SLOTS_PER_CU};
use gpreempt_simulator::kernel::Kernel;
use gpreempt_simulator::services::alone;
use gpreempt_simulator::workload::{phases, Arrivals, Client, Source, Workload, SECOND};
use gpu_workload::spec::{Arrival, Cost, KernelSpec, QueueSpec, RunSpec, Step};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::load::{heavy, run};

/// When the urgent clients begin: the others are in full swing by then, and a
/// scheduler in user space has found the queues.
pub const WARM_UP: Nanos = 40_000_000;
/// Most workgroups of one kernel: beyond that a kernel only has more rounds.
const MOST_ROUNDS: u64 = 8;
/// The registers of a compute unit's four SIMDs, for one lane.
const VECTOR_REGISTERS: u64 = 4 * 512;
const WAVES_OF_A_WORKGROUP: u64 = 4;
/// The throughput of a compute unit, as the virtual GPU counts it.
const UNIT: u64 = 1000;

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

/// A kernel of the simulator's, as a request launches it.
fn step(kernel: &Kernel, gpu: &Gpu) -> Step {
    let per_unit = SLOTS_PER_CU / kernel.slots;
    let resident = gpu.compute_units * per_unit;
    let all = u64::from(kernel.workgroups);
    let workgroups = all.min(MOST_ROUNDS * resident);
    let registers = VECTOR_REGISTERS / (per_unit * WAVES_OF_A_WORKGROUP);
    Step {
        dispatches: 1,
        workgroups: workgroups as u32,
        // Those that are left out have their time in the others.
        cost_ns: Cost::Nanoseconds((kernel.time * all).div_ceil(workgroups)),
        demand: (kernel.demand * UNIT / FULL_DEMAND) as u32,
        kernel: KernelSpec {
            vector_registers: registers.min(512) as u32,
            ..KernelSpec::default()
        },
    }
}

/// What a request launches, with equal kernels in a row as one step.
fn steps(program: &[Kernel], gpu: &Gpu) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for kernel in program {
        let next = step(kernel, gpu);
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

/// The run of a workload whose urgent clients send requests for so long.
pub fn spec(workload: &Workload, gpu: &Gpu, duration: Nanos, seed: u64) -> RunSpec {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let phases = phases(workload, gpu, &mut random);
    // The last request of each urgent client has the others' work beside it.
    let end = WARM_UP + phases.iter().max().copied().unwrap_or(0) + duration;
    let queues = (0_u64..)
        .zip(&workload.clients)
        .zip(phases)
        .map(|((index, client), phase)| {
            // Random numbers of its own, or all clients would arrive together.
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(1 + index);
            queue(client, gpu, [phase, end], duration, random)
        })
        .collect();
    RunSpec {
        seed,
        samples: true,
        ..run(queues)
    }
}

fn queue(
    client: &Client,
    gpu: &Gpu,
    [phase, end]: [Nanos; 2],
    duration: Nanos,
    random: ChaCha8Rng,
) -> QueueSpec {
    let program = client.model.program(gpu);
    let dispatches = program.len() as u32;
    let mut then = steps(&program, gpu);
    let first = then.remove(0);
    let arrival = if client.urgent() {
        open(&client.arrivals, duration, random)
    } else {
        closed(&client.arrivals, alone(gpu, &program))
    };
    let (start_ns, duration_ns) = if client.urgent() {
        (WARM_UP + phase, duration)
    } else {
        (0, end)
    };
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
        arrival,
        hint: false,
        preparation_ns: if client.urgent() {
            client.preparation
        } else {
            0
        },
        start_ns,
        duration_ns: Some(duration_ns),
        ..heavy(duration)
    }
}

/// Urgent requests arrive whether or not the last one is done.
fn open(arrivals: &Arrivals, duration: Nanos, random: ChaCha8Rng) -> Arrival {
    let period = |hertz: f64| (SECOND as f64 / hertz) as u64;
    match arrivals {
        Arrivals::Periodic { hertz } => Arrival::FixedRate {
            period_ns: period(*hertz),
        },
        Arrivals::Poisson { hertz } => Arrival::Poisson {
            mean_ns: period(*hertz),
        },
        Arrivals::Continuous => Arrival::ClosedLoop {
            depth: 1,
            think_ns: 0,
        },
        Arrivals::HeavyTailed { .. } | Arrivals::Bursts { .. } => {
            let mut source = Source::new(arrivals.clone(), 0, random);
            let times_ns = std::iter::from_fn(|| source.next_arrival())
                .take_while(|&at| at < duration)
                .collect();
            Arrival::Trace { times_ns }
        }
    }
}

/// A best-effort client has one request at a time, so that it cannot pile up
/// work that the end of the run would have to wait for. Undisturbed it keeps
/// its rate.
fn closed(arrivals: &Arrivals, time: Nanos) -> Arrival {
    let think_ns = match arrivals {
        Arrivals::Periodic { hertz }
        | Arrivals::Poisson { hertz }
        | Arrivals::HeavyTailed { hertz }
        | Arrivals::Bursts { hertz, .. } => ((SECOND as f64 / hertz) as u64).saturating_sub(time),
        Arrivals::Continuous => 0,
    };
    Arrival::ClosedLoop {
        // Work without a pause has its next kernel in the ring already.
        depth: if think_ns == 0 { 2 } else { 1 },
        think_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpreempt_simulator::services::Model;

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
                let got = sums(steps(&program, &gpu).iter().map(|step| {
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
                let step = step(kernel, &gpu);
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
        let [token] = &steps(&program, &gpu)[..] else {
            panic!("not one step");
        };
        assert_eq!(token.dispatches, 24);
        let kernels: Vec<Kernel> =
            [&program[..], &Model::Small.program(&gpu), &program[..1]].concat();
        let dispatches: Vec<u32> = steps(&kernels, &gpu).iter().map(|s| s.dispatches).collect();
        assert_eq!(dispatches, [24, 1, 1]);
    }

    #[test]
    fn every_workload_is_a_legal_run() {
        let gpu = node(UNITS);
        for name in Workload::names() {
            let workload = Workload::by_name(name).unwrap();
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

    #[test]
    fn bursts_become_a_trace_that_ends_with_the_run() {
        let bursts = Arrivals::Bursts {
            hertz: 60.0,
            burst: 100_000_000,
            pause: 300_000_000,
        };
        let random = ChaCha8Rng::seed_from_u64(3);
        let Arrival::Trace { times_ns } = open(&bursts, 3 * SECOND, random) else {
            panic!("not a trace");
        };
        assert!(!times_ns.is_empty() && times_ns.is_sorted());
        assert!(times_ns.iter().all(|&time| time < 3 * SECOND));
    }

    /// With one seed for all, the five clients of a load would ring as one.
    #[test]
    fn no_two_clients_arrive_at_the_same_times() {
        for name in ["REAL", "MIX"] {
            let workload = Workload::by_name(name).unwrap();
            let run = spec(&workload, &node(UNITS), SECOND, 1);
            let mut traces: Vec<_> = run
                .queues
                .iter()
                .filter_map(|queue| match &queue.arrival {
                    Arrival::Trace { times_ns } => Some(times_ns.clone()),
                    _ => None,
                })
                .collect();
            assert_eq!(traces.len(), 5, "{name}");
            traces.sort();
            traces.dedup();
            assert_eq!(traces.len(), 5, "{name}");
        }
    }

    #[test]
    fn a_best_effort_client_keeps_its_rate_when_nothing_disturbs_it() {
        let periodic = Arrivals::Periodic { hertz: 100.0 };
        let think = |time| match closed(&periodic, time) {
            Arrival::ClosedLoop { think_ns, .. } => think_ns,
            _ => panic!("not a closed loop"),
        };
        assert_eq!(think(4_000_000), 6_000_000);
        assert_eq!(think(12_000_000), 0);
    }
}
