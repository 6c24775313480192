// SPDX-License-Identifier: GPL-2.0-only
//! What the benchmark runs.

use gpreempt_simulator::gpu::{Gpu, Nanos};
use gpreempt_simulator::loads;
use gpreempt_simulator::workload::Workload;
use gpu_workload::spec::RunSpec;

use crate::contender::{Backend, Contender, STRICT};
use crate::part::Part;
use crate::suite;

/// A load, and the contenders that take turns with it.
#[derive(Clone, Debug)]
pub struct Experiment {
    pub part: Part,
    pub load: String,
    /// What a sweep varies.
    pub x: Option<f64>,
    /// What is measured.
    pub spec: RunSpec,
    /// What runs meanwhile on the GPU's other nodes.
    pub beside: Vec<RunSpec>,
    pub contenders: Vec<Contender>,
    /// Settings of the module other than the defaults, as on hardware.
    pub settings: Vec<(&'static str, u32)>,
}

/// How much is run.
#[derive(Clone, Debug)]
pub struct Extent {
    /// For how much GPU time urgent requests arrive in a run, at least.
    pub duration: Nanos,
    /// How many urgent requests arrive in a run of a load, by their mean rate.
    pub requests: u32,
    /// Names of loads; all when there are none.
    pub loads: Vec<String>,
    /// The same of contenders.
    pub contenders: Vec<Contender>,
    /// Every other point of a sweep only.
    pub coarse: bool,
    /// The seed of the arrivals.
    pub seed: u64,
}

impl Extent {
    fn wants(&self, load: &str) -> bool {
        self.loads.is_empty() || self.loads.iter().any(|name| name == load)
    }

    fn duration(&self, part: Part, workload: &Workload) -> Nanos {
        let least = match part {
            Part::Loads => workload.long_enough_for(self.requests.into()),
            _ => 0,
        };
        self.duration.max(least)
    }

    fn points<T: Copy>(&self, all: &[T]) -> Vec<T> {
        let step = if self.coarse { 2 } else { 1 };
        all.iter().copied().step_by(step).collect()
    }

    fn contenders(&self, all: &[Contender]) -> Vec<Contender> {
        all.iter()
            .copied()
            .filter(|contender| self.contenders.is_empty() || self.contenders.contains(contender))
            .collect()
    }
}

/// On every load.
const ALWAYS: [Contender; 8] = [
    Contender::Alone,
    Contender::Nobody,
    Contender::Classes,
    Contender::Poller,
    Contender::Claimed,
    STRICT,
    Contender::Direct,
    Contender::Hints,
];
/// Besides, on those loads that tell them apart.
const SOMETIMES: [Contender; 2] = [Contender::Quanta, Contender::Reset];
const TELLING: [&str; 3] = ["A", "D", "L"];
const THREE: [Contender; 3] = [Contender::Alone, Contender::Classes, STRICT];
/// Where a transaction's time depends on what the driver reads in it.
const BOTH_WAYS: [Contender; 4] = [
    Contender::Alone,
    Contender::Classes,
    STRICT,
    Contender::Direct,
];
/// Where the time to prepare a request is varied, of which a hint makes use.
const FOUR: [Contender; 4] = [
    Contender::Alone,
    Contender::Classes,
    STRICT,
    Contender::Hints,
];

/// The experiments of a part, for a GPU with so many units.
pub fn experiments(part: Part, units: u32, extent: &Extent) -> Vec<Experiment> {
    let gpu = suite::node(units);
    let of = |workload: &Workload, x, contenders: &[Contender]| {
        let spec = suite::spec(workload, &gpu, extent.duration(part, workload), extent.seed);
        let mut contenders = extent.contenders(contenders);
        contenders.retain(|contender| contender.means_something(&spec));
        Experiment {
            part,
            load: workload.name.clone(),
            x,
            spec,
            beside: Vec::new(),
            contenders,
            settings: Vec::new(),
        }
    };
    let named = |name: &str| loads::by_name(name).expect("a name of the simulator's");
    match part {
        Part::Loads => suite::names()
            .filter(|name| extent.wants(name))
            .map(|name| {
                let mut contenders = ALWAYS.to_vec();
                if TELLING.contains(&name) {
                    contenders.extend(SOMETIMES);
                }
                of(&named(name), None, &contenders)
            })
            .collect(),
        Part::Preparation => extent
            .points(&[0, 25, 50, 100, 150, 200])
            .into_iter()
            .map(|micros| {
                let workload = Workload::preparation(micros * 1_000);
                of(&workload, Some(micros as f64), &FOUR)
            })
            .collect(),
        Part::Rate => extent
            .points(&[100.0, 150.0, 200.0])
            .into_iter()
            .map(|hertz| of(&Workload::rate(hertz), Some(hertz), &THREE))
            .collect(),
        Part::Poll => extent
            .points(&[20, 50, 100, 200, 500])
            .into_iter()
            .map(|micros| Experiment {
                load: format!("L, poll {micros} us"),
                settings: vec![("poll_interval_us", micros)],
                ..of(&named("L"), Some(micros.into()), &[STRICT])
            })
            .collect(),
        Part::State => extent
            .points(&[8, 16, 32, 64])
            .into_iter()
            .map(|registers| {
                let spec = state(&gpu, registers, extent);
                Experiment {
                    load: format!("L, {registers} registers"),
                    spec,
                    ..of(&named("L"), Some(registers.into()), &[STRICT])
                }
            })
            .collect(),
        Part::Queues => extent
            .points(&[2, 8, 32, 64, 128])
            .into_iter()
            .map(|queues: u32| {
                let mut experiment = of(
                    &Workload::many(queues as usize),
                    Some(queues.into()),
                    &[Contender::Classes, STRICT],
                );
                few_processes(&mut experiment.spec);
                experiment
            })
            .collect(),
        Part::Dies => ["A", "L"]
            .iter()
            .filter(|name| extent.wants(name))
            .map(|name| of(&named(name), None, &BOTH_WAYS))
            .collect(),
        Part::Partitions => ["TOKEN"]
            .iter()
            .filter(|name| extent.wants(name))
            .flat_map(|name| {
                extent
                    .points(&[1, 8])
                    .into_iter()
                    .map(move |all| (name, all))
            })
            .map(|(name, all): (_, u32)| {
                let workload = named(name);
                Experiment {
                    load: format!("{name} on {all}"),
                    beside: (1..all)
                        .map(|other| elsewhere(&workload, &gpu, other, extent))
                        .collect(),
                    ..of(&workload, Some(all.into()), &BOTH_WAYS)
                }
            })
            .collect(),
        Part::Mqd => ["A", "L"]
            .iter()
            .filter(|name| extent.wants(name))
            .map(|name| {
                let mqd = Contender::Module(Backend::Mqd);
                of(
                    &named(name),
                    None,
                    &[Contender::Alone, Contender::Classes, mqd],
                )
            })
            .collect(),
    }
}

/// The long kernels with so many registers, eight workgroups a unit.
fn state(gpu: &Gpu, registers: u32, extent: &Extent) -> RunSpec {
    const WORKGROUPS_OF_A_UNIT: u64 = 8;
    let workload = Workload::by_name("L").expect("a name of the simulator's");
    let mut spec = suite::spec(&workload, gpu, extent.duration, extent.seed);
    for queue in &mut spec.queues {
        if queue.priority == 0 {
            queue.kernel.vector_registers = registers;
            queue.workgroups = (gpu.compute_units * WORKGROUPS_OF_A_UNIT) as u32;
        }
    }
    spec
}

/// A load with other arrivals on another node, which lasts until it is stopped.
fn elsewhere(workload: &Workload, gpu: &Gpu, node: u32, extent: &Extent) -> RunSpec {
    const LONGER_THAN_ANY: Nanos = 120_000_000_000;
    RunSpec {
        gpu: node as usize,
        ..suite::spec(
            workload,
            gpu,
            LONGER_THAN_ANY,
            extent.seed + u64::from(node),
        )
    }
}

/// A process for each queue would take more memory than the guest has.
fn few_processes(spec: &mut RunSpec) {
    for queue in &mut spec.queues {
        let urgent = queue.priority > 0;
        queue.group = if urgent { "urgent" } else { "others" }.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::Place;
    use std::collections::{BTreeMap, BTreeSet};

    fn extent() -> Extent {
        Extent {
            duration: 200_000_000,
            requests: 35,
            loads: Vec::new(),
            contenders: Vec::new(),
            coarse: false,
            seed: 1,
        }
    }

    #[test]
    fn every_experiment_is_a_legal_run_with_a_name_of_its_own() {
        let mut names = BTreeSet::new();
        for part in Part::ALL {
            for experiment in experiments(part, 40, &extent()) {
                let text = serde_json::to_string(&experiment.spec).unwrap();
                RunSpec::parse(&text).unwrap_or_else(|e| panic!("{}: {e:#}", experiment.load));
                assert!(!experiment.contenders.is_empty());
                assert!(names.insert((part, experiment.load)), "twice");
            }
        }
    }

    #[test]
    fn a_sweep_says_what_it_varies() {
        for part in Part::ALL {
            let all = experiments(part, 40, &extent());
            let sweeps = matches!(
                part,
                Part::Preparation
                    | Part::Rate
                    | Part::Poll
                    | Part::State
                    | Part::Queues
                    | Part::Partitions
            );
            assert!(all.iter().all(|one| one.x.is_some() == sweeps), "{part:?}");
        }
    }

    #[test]
    fn less_can_be_asked_for() {
        let less = Extent {
            loads: vec!["L".into()],
            contenders: vec![Contender::Alone],
            coarse: true,
            ..extent()
        };
        let loads = experiments(Part::Loads, 40, &less);
        assert_eq!(loads.len(), 1);
        assert_eq!(loads[0].contenders, [Contender::Alone]);
        let all = experiments(Part::Poll, 40, &extent()).len();
        let coarse = Extent {
            coarse: true,
            ..extent()
        };
        assert!(experiments(Part::Poll, 40, &coarse).len() < all);
    }

    #[test]
    fn mqd_runs_only_without_the_scheduler() {
        for part in Part::ALL {
            for experiment in experiments(part, 40, &extent()) {
                for contender in experiment.contenders {
                    let mqd = matches!(contender, Contender::Module(Backend::Mqd));
                    let hws = matches!(contender, Contender::Module(Backend::Hws));
                    let without = part.place() == Place::NoScheduler;
                    assert!(!mqd || without, "{part:?} {contender:?}");
                    assert!(!hws || !without, "{part:?} {contender:?}");
                }
            }
        }
    }

    #[test]
    fn hints_are_given_wherever_there_is_time_before_the_doorbell() {
        for experiment in experiments(Part::Loads, 40, &extent()) {
            let hints = experiment.contenders.contains(&Contender::Hints);
            // Its client has nothing to prepare.
            assert_eq!(hints, experiment.load != "H19", "{}", experiment.load);
        }
        for experiment in experiments(Part::Preparation, 40, &extent()) {
            let hints = experiment.contenders.contains(&Contender::Hints);
            assert_eq!(hints, experiment.x > Some(0.0), "{}", experiment.load);
            assert!(experiment.contenders.len() >= THREE.len());
        }
    }

    #[test]
    fn each_partition_has_a_load_of_its_own() {
        let all = experiments(Part::Partitions, 8, &extent());
        let nodes = |experiment: &Experiment| {
            let beside = experiment.beside.iter().map(|spec| (spec.gpu, spec.seed));
            beside.collect::<BTreeSet<_>>()
        };
        for experiment in &all {
            assert_eq!(experiment.spec.gpu, 0, "{}", experiment.load);
            let beside = nodes(experiment).len() as f64;
            assert_eq!(experiment.x, Some(1.0 + beside), "{}", experiment.load);
        }
        assert_eq!(nodes(&all[1]).first(), Some(&(1, 2)));
    }

    #[test]
    fn more_registers_are_more_state() {
        let bytes = |registers| {
            let spec = state(&suite::node(40), registers, &extent());
            spec.queues
                .iter()
                .find(|queue| queue.priority == 0)
                .map(|queue| u64::from(queue.workgroups) * u64::from(queue.kernel.vector_registers))
        };
        assert!(bytes(8) < bytes(16) && bytes(16) < bytes(64));
    }

    #[test]
    fn another_seed_is_another_time_of_arrival() {
        let times = |seed| {
            let all = experiments(Part::Loads, 40, &Extent { seed, ..extent() });
            serde_json::to_value(&all[0].spec.queues[0].arrival).unwrap()
        };
        assert_eq!(times(1), times(1));
        assert_ne!(times(1), times(2));
    }

    /// By the very times at which they will arrive.
    #[test]
    fn three_runs_of_a_load_have_so_many_urgent_requests_that_their_p99_is_not_the_longest() {
        use gpu_workload::arrival::Times;
        let mut requests: BTreeMap<String, usize> = BTreeMap::new();
        for seed in 1..=3 {
            let extent = Extent { seed, ..extent() };
            for experiment in experiments(Part::Loads, 40, &extent) {
                let spec = &experiment.spec;
                let urgent = spec.queues.iter().filter(|queue| queue.priority > 0);
                let arrive = urgent.map(|queue| {
                    let times = Times::new(&queue.arrival, spec.seed, &queue.name);
                    let end = queue.duration_ns.unwrap_or(0);
                    times.take_while(|&at| at < end).count()
                });
                *requests.entry(experiment.load).or_default() += arrive.sum::<usize>();
            }
        }
        // Its requests come in bursts, of which so short runs have few; the tables have the number.
        assert!(requests.remove("REAL").is_some());
        assert!(requests.values().all(|&all| all > 100), "{requests:?}");
        let short = Extent {
            requests: 0,
            ..extent()
        };
        let duration = |extent: &Extent| {
            let all = experiments(Part::Loads, 40, extent);
            all[0].spec.queues[0].duration_ns
        };
        assert!(duration(&short) < duration(&extent()));
    }
}
