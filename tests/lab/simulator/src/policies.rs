// SPDX-License-Identifier: GPL-2.0-only

//! The policies that are compared, by name.

use crate::baselines::{ResetAndResubmit, UserPoller};
use crate::controller::{Controller, NoPreemption, PipeClasses};
use crate::gpu::{Gpu, Nanos};
use crate::monitor::{Monitor, Priorities, Sampler};
use crate::reference::{Foresight, Plan, Promise, Reference};
use crate::simulation::{self, RunResult};
use crate::summary::Summary;
use crate::workload::Workload;
use anyhow::{bail, Context, Result};
use gpreempt_policy::Config;

#[derive(Clone, Debug)]
pub enum Policy {
    /// The urgent clients without the others, and nobody watching.
    Alone,
    None,
    Classes,
    Module {
        name: String,
        config: Box<Config>,
        sampler: Sampler,
        priorities: Priorities,
        /// Urgent clients tell of their requests when they begin to prepare them.
        hints: bool,
    },
    /// In user space, with this interval.
    UserPoller(Nanos),
    Reset,
    /// What a scheduler is compared with.
    Reference(Foresight),
}

impl Policy {
    /// Those of the documented tables.
    pub const NAMES: [&'static str; 9] = [
        "none",
        "classes",
        "user-1ms",
        "reset",
        "strict",
        "strict-memory",
        "hints",
        "reactive",
        "clairvoyant",
    ];
    /// Those that only a judgement needs.
    pub const OTHERS: [&'static str; 2] = ["user-100us", "blind"];

    /// A policy by name; `settings` are parameters of the module in the words of its
    /// files, `sampler`, and `priorities=rules` or `claimed`.  `strict-memory` is strict with
    /// `sampler=memory`, and `hints` with clients that tell of their requests.
    pub fn by_name(name: &str, settings: &[(String, String)]) -> Result<Self> {
        match name {
            "alone" => return Ok(Self::Alone),
            "none" => return Ok(Self::None),
            "classes" => return Ok(Self::Classes),
            "user-1ms" => return Ok(Self::UserPoller(1_000_000)),
            "user-100us" => return Ok(Self::UserPoller(100_000)),
            "reset" => return Ok(Self::Reset),
            "blind" => return Ok(Self::Reference(Foresight::Blind)),
            "reactive" => return Ok(Self::Reference(Foresight::Reactive)),
            "clairvoyant" => return Ok(Self::Reference(Foresight::Clairvoyant)),
            "strict" | "strict-memory" | "hints" => {}
            _ => bail!(
                "there is no policy '{name}': give alone or one of {}, {}",
                Self::NAMES.join(", "),
                Self::OTHERS.join(", ")
            ),
        };
        let mut config = Config::new();
        let mut sampler = match name {
            "strict-memory" => Sampler::Memory,
            _ => Sampler::Auto,
        };
        let mut priorities = Priorities::Rules;
        for (key, value) in settings {
            match (key.as_str(), value.as_str()) {
                ("sampler", "auto") => sampler = Sampler::Auto,
                ("sampler", "memory") => sampler = Sampler::Memory,
                ("priorities", "rules") => priorities = Priorities::Rules,
                ("priorities", "claimed") => priorities = Priorities::Claimed,
                ("priorities", _) => bail!("priorities={value}: give rules or claimed"),
                ("sampler", _) => bail!("sampler={value}: give auto or memory"),
                _ => {
                    if let Err(error) = config.set_text(key, value) {
                        bail!("{key}={value}: {error}");
                    }
                }
            }
        }
        Ok(Self::Module {
            name: name.into(),
            config: Box::new(config),
            sampler,
            priorities,
            hints: name == "hints",
        })
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Alone => "alone",
            Self::None => "none",
            Self::Classes => "classes",
            Self::Module { name, .. } => name,
            Self::UserPoller(1_000_000) => "user-1ms",
            Self::UserPoller(_) => "user-100us",
            Self::Reset => "reset",
            Self::Reference(foresight) => foresight.name(),
        }
    }

    /// What this policy runs of a workload.
    fn shape(&self, workload: &Workload) -> Workload {
        match self {
            Self::Alone => workload.alone(),
            _ => workload.clone(),
        }
    }

    /// One run; of a reference the one that stops nobody.
    pub fn run(
        &self,
        gpu: &Gpu,
        workload: &Workload,
        seed: u64,
        warm_up: Nanos,
        duration: Nanos,
    ) -> RunResult {
        let mut controller = self.controller(Plan::LetBe);
        let shape = self.shape(workload);
        simulation::run(gpu, &shape, &mut *controller, seed, warm_up, duration)
    }

    /// A controller of this policy, with a plan if it is a reference.
    fn controller(&self, plan: Plan) -> Box<dyn Controller> {
        match self {
            Self::Reference(foresight) => {
                Box::new(Reference::new(*foresight, plan, Promise::USUAL))
            }
            Self::Alone | Self::None => Box::new(NoPreemption),
            Self::Classes => Box::new(PipeClasses),
            Self::Module {
                config,
                sampler,
                priorities,
                hints,
                ..
            } => {
                let monitor = Monitor::new(**config, *sampler, *priorities);
                Box::new(if *hints {
                    monitor.with_hints()
                } else {
                    monitor
                })
            }
            Self::UserPoller(interval) => Box::new(UserPoller {
                interval: *interval,
            }),
            Self::Reset => Box::new(ResetAndResubmit::new()),
        }
    }
}

/// `key=value`.
pub fn setting(text: &str) -> Result<(String, String)> {
    let (key, value) = text
        .split_once('=')
        .with_context(|| format!("'{text}': give NAME=VALUE"))?;
    Ok((key.into(), value.into()))
}

/// How often a workload is run, and how long at least.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub seeds: u64,
    pub warm_up: Nanos,
    pub duration: Nanos,
}

impl Effort {
    pub fn new(seeds: u64, seconds: f64) -> Self {
        Self {
            seeds,
            warm_up: 100_000_000,
            duration: (seconds * 1e9) as Nanos,
        }
    }

    /// Long enough for the p99 of a workload.
    pub fn enough_for(self, workload: &Workload) -> Self {
        let each = workload.long_enough().div_ceil(self.seeds.max(1));
        Self {
            duration: self.duration.max(each),
            ..self
        }
    }
}

/// Runs one workload under one policy for all seeds.
pub fn measure(gpu: &Gpu, workload: &Workload, policy: &Policy, effort: Effort) -> Summary {
    let summaries = runs_by_plan(gpu, workload, policy, effort)
        .into_iter()
        .map(|(_, runs)| Summary::of(&workload.name, policy.name(), &gpu.name, &runs));
    best(summaries.collect()).expect("there is at least one plan")
}

/// The runs of a policy, one for each seed, and those of a reference for each of its plans.
pub fn runs_by_plan(
    gpu: &Gpu,
    workload: &Workload,
    policy: &Policy,
    effort: Effort,
) -> Vec<(Plan, Vec<RunResult>)> {
    let shape = policy.shape(workload);
    let plans = match policy {
        Policy::Reference(foresight) => foresight.plans(),
        _ => vec![Plan::LetBe],
    };
    let of_plan = |plan| runs(gpu, &shape, effort, &|| policy.controller(plan));
    plans
        .into_iter()
        .map(|plan| (plan, of_plan(plan)))
        .collect()
}

/// In hindsight the best of some plans: of those whose p99 is within a thousandth
/// of the smallest, the one that leaves the best-effort clients most.
fn best(summaries: Vec<Summary>) -> Option<Summary> {
    let p99 = |summary: &Summary| summary.urgent.p99_us;
    let smallest = summaries.iter().map(p99).min_by(f64::total_cmp)?;
    let level = summaries
        .into_iter()
        .filter(|summary| p99(summary) <= smallest * 1.001);
    level.max_by(|one, other| {
        one.best_effort_per_second
            .total_cmp(&other.best_effort_per_second)
    })
}

/// One run for each seed.
fn runs(
    gpu: &Gpu,
    workload: &Workload,
    effort: Effort,
    controller: &(dyn Fn() -> Box<dyn Controller> + Sync),
) -> Vec<RunResult> {
    let run = &|seed| {
        let mut controller = controller();
        let Effort {
            warm_up, duration, ..
        } = effort;
        simulation::run(gpu, workload, &mut *controller, seed, warm_up, duration)
    };
    // Seeds do not depend on each other, so each may have a processor.
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=effort.seeds)
            .map(|seed| scope.spawn(move || run(seed)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a run does not panic"))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_and_values_are_refused_with_what_to_do() {
        let message = |name: &str, settings: &[(&str, &str)]| {
            let settings: Vec<_> = settings
                .iter()
                .map(|(k, v)| (k.to_string(), v.to_string()))
                .collect();
            Policy::by_name(name, &settings).unwrap_err().to_string()
        };
        assert!(message("strickt", &[]).contains("one of none, classes"));
        assert!(message("strict", &[("poll_interval_us", "1")]).contains("from"));
        assert!(message("strict", &[("nonsense", "1")]).contains("nonsense=1"));
        assert!(message("strict", &[("sampler", "mmio")]).contains("auto or memory"));
        assert!(setting("no equals sign").is_err());
    }
}
