// SPDX-License-Identifier: GPL-2.0-only
//! The simulator's workloads as loads for the virtual GPU.
//!
//! Who submits what and when is defined once, in the simulator. A load's queue
//! has kernels of one shape, so a model's kernels are replaced by as many equal
//! ones that together take the time that the model takes alone, and ask for the
//! throughput that the model's kernels ask for on average.

use gpreempt_simulator::gpu::{Gpu, Nanos, FULL_DEMAND, SLOTS_PER_CU};
use gpreempt_simulator::kernel::Kernel;
use gpreempt_simulator::services::{alone, Model};
use gpreempt_simulator::workload::{phases, Arrivals, Client, Source, Workload, SECOND};
use gpu_workload::spec::{Arrival, Cost, KernelSpec, QueueSpec, RunSpec};
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

/// One kernel that stands for all of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub dispatches: u32,
    pub workgroups: u32,
    /// The time of a workgroup that has the throughput that it asks for.
    pub cost: Nanos,
    /// What it asks for, in thousandths of a unit's.
    pub demand: u32,
    pub per_unit: u64,
}

/// How many times as long as a workgroup's own time a kernel of so many takes alone.
/// Those that do not fit at once follow in rounds.
fn stretch(gpu: &Gpu, workgroups: u64, per_unit: u64, demand: u64) -> f64 {
    let resident = gpu.compute_units * per_unit;
    let rounds = workgroups.div_ceil(resident).max(1);
    let slow = |workgroups: u64| {
        let asked = workgroups * demand;
        (asked as f64 / (gpu.compute_units * UNIT) as f64).max(1.0)
    };
    let last = workgroups - (rounds - 1) * resident;
    (rounds - 1) as f64 * slow(resident) + slow(last)
}

impl Shape {
    pub fn of(model: Model, gpu: &Gpu) -> Shape {
        let program = model.program(gpu);
        let time = alone(gpu, &program);
        let count = program.len() as u64;
        let weight = |kernel: &Kernel| u64::from(kernel.workgroups) * kernel.time;
        let heaviest = program.iter().max_by_key(|kernel| weight(kernel));
        let per_unit = heaviest.map_or(1, |kernel| SLOTS_PER_CU / kernel.slots);
        let resident = gpu.compute_units * per_unit;
        let workgroups = program
            .iter()
            .map(|kernel| u64::from(kernel.workgroups))
            .sum::<u64>()
            / count;
        let workgroups = workgroups.clamp(1, resident * MOST_ROUNDS);
        let work: u64 = program.iter().map(weight).sum();
        let asked: u128 = program
            .iter()
            .map(|kernel| u128::from(weight(kernel)) * u128::from(kernel.demand))
            .sum();
        let mean = asked * u128::from(UNIT) / u128::from(work.max(1) * FULL_DEMAND);
        let demand = mean as u64;
        let stretch = stretch(gpu, workgroups, per_unit, demand);
        Shape {
            dispatches: count as u32,
            workgroups: workgroups as u32,
            cost: ((time / count) as f64 / stretch).max(1.0) as Nanos,
            demand: demand as u32,
            per_unit,
        }
    }

    /// What this takes on an idle GPU, without its packets.
    pub fn time(&self, gpu: &Gpu) -> Nanos {
        let (workgroups, demand) = (self.workgroups.into(), self.demand.into());
        let stretch = stretch(gpu, workgroups, self.per_unit, demand);
        (f64::from(self.dispatches) * stretch * self.cost as f64) as Nanos
    }
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
    let shape = Shape::of(client.model, gpu);
    let registers = VECTOR_REGISTERS / (shape.per_unit * WAVES_OF_A_WORKGROUP);
    let arrival = if client.urgent() {
        open(&client.arrivals, duration, random)
    } else {
        closed(&client.arrivals, shape.time(gpu))
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
        ring_packets: (4 * (shape.dispatches + 2)).next_power_of_two().max(128),
        workgroups: shape.workgroups,
        workgroup_size: 64 * WAVES_OF_A_WORKGROUP as u16,
        cost_ns: Cost::Nanoseconds(shape.cost),
        demand: shape.demand,
        kernel: KernelSpec {
            vector_registers: registers.min(512) as u32,
            ..KernelSpec::default()
        },
        dispatches_per_request: shape.dispatches,
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

    const UNITS: u32 = 40;

    #[test]
    fn one_shape_takes_the_time_of_the_model() {
        let gpu = node(UNITS);
        for model in Model::ALL {
            let shape = Shape::of(model, &gpu);
            let wanted = alone(&gpu, &model.program(&gpu)) as f64;
            let got = shape.time(&gpu) as f64;
            assert!(
                (got / wanted - 1.0).abs() < 0.01,
                "{}: {got} for {wanted}",
                model.name()
            );
        }
    }

    #[test]
    fn as_many_workgroups_fit_a_unit_as_in_the_simulator() {
        let gpu = node(UNITS);
        for model in Model::ALL {
            let per_unit = Shape::of(model, &gpu).per_unit;
            assert!((1..=8).contains(&per_unit), "{}: {per_unit}", model.name());
        }
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
