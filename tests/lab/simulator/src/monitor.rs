// SPDX-License-Identifier: GPL-2.0-only

//! The module's monitor thread: samples as the module does, calls the very
//! `step` that runs in the kernel, and carries out its decisions.

use crate::controller::{Act, Controller, Look, Next, QueueInfo};
use crate::engine::{Engine, QueueIndex};
use crate::gpu::{Nanos, TransactionCost};
use gpreempt_policy as policy;
use policy::{
    Action, Config, Decision, Head, Mode, Observation, Outcome, Parts, Priority, ProcessId,
    QueueId, QueueState, Report, RuleEffect, Scheduler, Storage, Waves,
};

/// Both pointers of a queue out of cold lines, and the step's work for it.
const MEMORY_SAMPLE: Nanos = 125;

/// Shader engines of an XCC, each asked for its waves.
const SHADER_ENGINES: u64 = 4;

/// How queues are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampler {
    /// Pointers only.
    Memory,
    /// Pointers, and the wave counts of the first XCC when the policy asks.
    Auto,
}

/// Where the urgent clients have their priority from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priorities {
    /// An operator's rules: HIP creates every stream at normal priority.
    Rules,
    /// Their own word, as KFD's interface allows.
    Claimed,
}

#[derive(Debug)]
struct OwnedStorage {
    queues: Vec<policy::QueueSlot>,
    processes: Vec<policy::ProcessSlot>,
    tenants: Vec<policy::TenantSlot>,
    levels: Vec<policy::LevelSlot>,
}

impl Storage for OwnedStorage {
    fn parts(&mut self) -> Parts<'_> {
        Parts {
            queues: &mut self.queues,
            processes: &mut self.processes,
            tenants: &mut self.tenants,
            levels: &mut self.levels,
        }
    }
}

/// How often each reason was given, by the order of `Reason::ALL`.
pub type Reasons = Vec<(&'static str, u64)>;

#[derive(Debug)]
pub struct Monitor {
    scheduler: Scheduler<OwnedStorage>,
    config: Config,
    sampler: Sampler,
    priorities: Priorities,
    /// What each process has written for hints, if they write at all.
    hints: Option<Vec<u32>>,
    ask_waves: bool,
    seen: Vec<Observation>,
    out: Vec<Decision>,
    outcomes: Vec<Outcome>,
    reasons: Vec<u64>,
}

impl Monitor {
    pub fn new(config: Config, sampler: Sampler, priorities: Priorities) -> Self {
        let mut config = config;
        config.mode = Mode::Enforce;
        Self {
            scheduler: Scheduler::new(OwnedStorage {
                queues: vec![Default::default(); policy::QUEUE_SLOTS],
                processes: vec![Default::default(); policy::QUEUE_SLOTS],
                tenants: vec![Default::default(); policy::QUEUE_SLOTS],
                levels: vec![Default::default(); policy::LEVELS],
            }),
            config,
            sampler,
            priorities,
            hints: None,
            ask_waves: false,
            seen: Vec::new(),
            out: Vec::new(),
            outcomes: Vec::new(),
            reasons: vec![0; policy::Reason::ALL.len()],
        }
    }

    /// The same, with processes that give hints.
    pub fn with_hints(self) -> Self {
        Self {
            hints: Some(Vec::new()),
            ..self
        }
    }

    /// The decisions that were carried out, by reason.
    pub fn reasons(&self) -> Reasons {
        policy::Reason::ALL
            .iter()
            .zip(&self.reasons)
            .map(|(reason, count)| (reason.name(), *count))
            .collect()
    }

    fn observe(&mut self, engine: &Engine, queues: &[QueueInfo]) {
        self.seen.clear();
        for (queue, info) in queues.iter().enumerate() {
            let view = engine.view(queue);
            let ruled = info.ruled && self.priorities == Priorities::Rules;
            self.seen.push(Observation {
                kfd: if ruled { Priority::NORMAL } else { level(info) },
                rule: ruled.then(|| RuleEffect {
                    priority: Some(level(info)),
                    ..RuleEffect::default()
                }),
                backlog: Some(u32::try_from(view.backlog()).unwrap_or(u32::MAX)),
                progress: view.read,
                waves: if !view.active {
                    // The transaction looked at the saved state.
                    Waves::Known(view.saved_waves)
                } else if self.ask_waves && self.sampler == Sampler::Auto {
                    Waves::Known(view.waves)
                } else {
                    Waves::Unknown
                },
                grid: (view.grid > 0).then_some(view.grid),
                head: if view.backlog() > 0 {
                    Head::Runnable
                } else {
                    Head::Unknown
                },
                hint: self
                    .hints
                    .as_ref()
                    .map(|hints| hints.get(queue).copied().unwrap_or(0)),
                state: if view.active {
                    QueueState::Active
                } else {
                    QueueState::StoppedByUs
                },
                ..Observation::new(QueueId(queue as u64), ProcessId(info.process))
            });
        }
    }

    /// Time to take the sample that `observe` took.
    fn sample_cost(&self, engine: &Engine) -> Nanos {
        let queues = self.seen.len() as Nanos;
        let mut cost = queues * MEMORY_SAMPLE;
        if self.ask_waves && self.sampler == Sampler::Auto {
            let occupied = (0..self.seen.len())
                .filter(|&q| engine.view(q).waves > 0)
                .count() as u64;
            // The status of each engine, and for each occupied slot an index
            // write, its count and its doorbell.
            let accesses = SHADER_ENGINES * (1 + 3 * occupied);
            cost += accesses * engine.gpu().register_read;
        }
        cost
    }
}

fn level(info: &QueueInfo) -> Priority {
    Priority::new(u32::from(info.priority)).expect("a priority of KFD")
}

impl Controller for Monitor {
    fn look(&mut self, engine: &Engine, queues: &[QueueInfo]) -> Look {
        self.observe(engine, queues);
        let rules = self.seen.iter().filter_map(|seen| seen.rule?.priority);
        self.config.highest_rule = rules.max();
        let cost = self.sample_cost(engine);
        self.out.resize(self.seen.len(), Decision::default());
        let now = policy::Nanos(engine.now() + cost);
        let step =
            self.scheduler
                .step(now, &self.config, &self.seen, &self.outcomes, &mut self.out);
        self.ask_waves = step.ask_waves;
        self.outcomes.clear();
        let mut stop: Vec<QueueIndex> = Vec::new();
        let mut start: Vec<QueueIndex> = Vec::new();
        for decision in self.out[..step.decisions].iter().filter(|d| d.apply) {
            let queue = decision.queue.0 as QueueIndex;
            match decision.action {
                Action::Stop => stop.push(queue),
                Action::Start => start.push(queue),
            }
            let reason = policy::Reason::ALL
                .iter()
                .position(|r| *r == decision.reason)
                .expect("every reason is listed");
            self.reasons[reason] += 1;
            self.outcomes.push(Outcome {
                queue: decision.queue,
                report: Report::Done,
            });
        }
        let mut acts = Vec::new();
        if !stop.is_empty() || !start.is_empty() {
            acts.push(Act::Transaction {
                lead: 0,
                stop,
                start,
            });
        }
        Look {
            cost,
            acts,
            next: step.next_look.map_or(Next::Told, |at| Next::At(at.0)),
        }
    }

    fn prepares(&mut self, queue: QueueIndex) {
        if let Some(hints) = &mut self.hints {
            hints.resize(hints.len().max(queue + 1), 0);
            hints[queue] += 1;
        }
    }

    fn transaction_done(&mut self, _now: Nanos, cost: &TransactionCost) {
        self.scheduler
            .transaction_took(policy::Nanos(cost.command + cost.standstill()));
    }
}
