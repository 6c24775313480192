// SPDX-License-Identifier: GPL-2.0-only

//! One GPU: its nodes, and what holds for all of them.

use crate::node::NodeEngine;
use crate::shared::Shared;
use gpreempt_policy::Config;
use gpreempt_policy::Mode;
use gpreempt_policy::Nanos;
use gpreempt_policy::Number;
use gpreempt_policy::RuleEffect;
use kernel::prelude::*;
use kernel::sync::Arc;
use kernel::time::delay::fsleep;
use kernel::time::Delta;
use kfd::act::backend::Backend;
use kfd::act::backend::Debts;
use kfd::act::transaction::Failure;
use kfd::driver::gpu::Away;
use kfd::driver::gpu::Gpu;
use kfd::driver::gpu::Keeper;
use kfd::driver::gpu::Present;
use kfd::kernel::clock;
use kfd::kernel::thread::Running;
use kfd::operator::rules::MOST_RULES;
use kfd::operator::settings;
use kfd::operator::settings::Settings;

/// How long letting go of a GPU is tried. What may be in the way takes less: a halt
/// for debugfs or for another partition.
const RELEASE_PATIENCE: Nanos = Nanos::SECOND.times(5);

/// The pause between two tries.
const RELEASE_PAUSE_MS: i64 = 20;

/// A GPU and everything that is remembered of it.
pub(crate) struct Engine {
    shared: Arc<Shared>,
    nodes: KVec<NodeEngine>,
    /// The process backend's evictions, one list for each node.
    debts: KVec<Debts>,
    /// The settings of the last pass.
    settings: Settings,
    /// In mode off: everything was seen to run.
    rested: bool,
    /// That the settings are not taken over yet was said.
    said_kept: bool,
    /// What the rules do, as of a generation of them.
    effects: KVec<RuleEffect>,
    generation: u32,
}

impl Engine {
    pub(crate) fn new(shared: Arc<Shared>) -> Result<Self> {
        Ok(Self {
            shared,
            nodes: KVec::with_capacity(kfd::driver::gpu::MAX_NODES, GFP_KERNEL)?,
            debts: KVec::with_capacity(kfd::driver::gpu::MAX_NODES, GFP_KERNEL)?,
            settings: settings::current(),
            rested: false,
            said_kept: false,
            effects: KVec::with_capacity(MOST_RULES, GFP_KERNEL)?,
            generation: 0,
        })
    }

    pub(crate) fn nodes(&mut self) -> &mut [NodeEngine] {
        &mut self.nodes
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// One pass over all nodes. Returns when to look again, if not only when
    /// woken.
    pub(crate) fn pass(&mut self, gpu: &Present<'_>, thread: &Running) -> Option<Nanos> {
        let mut settings = settings::current();
        if self.shared.is_asleep() {
            settings.policy.mode = Mode::Off;
        }
        if settings.backend != self.settings.backend || settings.sampler != self.settings.sampler {
            if let Err(failure) = self.start_all(gpu) {
                return Some(self.keep_backend(gpu, failure));
            }
            self.said_kept = false;
            for node in self.nodes.iter_mut() {
                node.recheck();
            }
        }
        self.settings = settings;
        let off = settings.policy.mode == Mode::Off;
        if off && self.rested {
            return None;
        }
        self.rested = false;
        let retry = clock::now().after(settings.policy.duration(Number::Retry));
        let Ok(count) = gpu.nodes().map(|nodes| nodes.count()) else {
            return Some(retry);
        };
        if self.prepare(count).is_err() {
            return Some(retry);
        }
        if off && !self.unsettled() {
            return self.come_to_rest(gpu).err().map(|_| retry);
        }
        let rules = self.shared.rules();
        if rules.generation() != self.generation {
            self.generation = rules.copy_effects(&mut self.effects);
        }
        let mut next: Option<Nanos> = None;
        for (node, debts) in self.nodes.iter_mut().zip(self.debts.iter_mut()) {
            let mut backend = Backend::new(settings.backend, self.shared.hws(), debts);
            let mut config: Config<'_> = settings.policy.with_rules(&self.effects);
            config.granularity = backend.granularity();
            let due = node.pass(gpu, &mut backend, &config, settings.sampler, &rules, thread);
            next = match (next, due) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
        next.or_else(|| self.without_wake())
    }

    /// Starts what nobody here remembers to have stopped, because an earlier load
    /// has left it or there was no room to see it, and then forgets all.
    fn come_to_rest(&mut self, gpu: &Present<'_>) -> Result<(), Failure> {
        let mut result = Ok(());
        for (node, debts) in self.nodes.iter_mut().zip(self.debts.iter_mut()) {
            let mut backend = Backend::new(self.settings.backend, self.shared.hws(), debts);
            result = node.look_and_start_all(gpu, &mut backend).and(result);
        }
        result?;
        for node in self.nodes.iter_mut() {
            node.rest();
        }
        self.rested = true;
        Ok(())
    }

    /// When to look again where the creation of a queue wakes nobody.
    fn without_wake(&self) -> Option<Nanos> {
        let polls = self.settings.policy.mode != Mode::Off && !self.shared.creation_wakes();
        polls.then(|| clock::now().after(self.settings.policy.duration(Number::IdlePollNoWake)))
    }

    /// Has as many nodes as the GPU has now.
    fn prepare(&mut self, count: usize) -> Result {
        while self.nodes.len() > count {
            self.nodes.pop();
            self.debts.pop();
        }
        while self.nodes.len() < count {
            // Both or none: a node without its list would never be looked at.
            let node = NodeEngine::new(self.nodes.len())?;
            let debts = Debts::new()?;
            self.nodes.reserve(1, GFP_KERNEL)?;
            self.debts.reserve(1, GFP_KERNEL)?;
            self.nodes.push(node, GFP_KERNEL)?;
            self.debts.push(debts, GFP_KERNEL)?;
        }
        Ok(())
    }

    /// Starts everything that is stopped. `Err`: something may still be.
    fn start_all(&mut self, gpu: &Present<'_>) -> Result<(), Failure> {
        let mut result = Ok(());
        for (node, debts) in self.nodes.iter_mut().zip(self.debts.iter_mut()) {
            let mut backend = Backend::new(self.settings.backend, self.shared.hws(), debts);
            result = node.start_all(gpu, &mut backend).and(result);
        }
        result
    }

    /// Starts everything that is stopped, because the system is about to sleep. `Err`:
    /// something may still be, which the sleep would cost.
    fn settle(&mut self, gpu: &Present<'_>) -> Result<(), Failure> {
        match self.start_all(gpu) {
            // There is nothing to be saved any more.
            Err(Failure::Away(Away::NoAccess | Away::NoKfd)) => Ok(()),
            result => result,
        }
    }

    /// Whether a queue of the GPU does not run because of us.
    fn unsettled(&self) -> bool {
        self.nodes.iter().any(NodeEngine::unsettled) || !self.debts.iter().all(Debts::is_empty)
    }

    /// What a backend has stopped no other one can start: it stays in force until
    /// all of it runs. Returns when to try again.
    fn keep_backend(&mut self, gpu: &Present<'_>, failure: Failure) -> Nanos {
        if !self.said_kept {
            self.said_kept = true;
            pr_warn!(
                "{}: backend {} and its settings stay in force until what it has stopped is started: {} (errno {})\n",
                gpu.device().name().to_str().unwrap_or("?"),
                self.settings.backend.name(),
                failure.why(),
                failure.errno()
            );
        }
        clock::now().after(self.settings.policy.duration(Number::Retry))
    }

    /// Starts everything that is stopped, and tries for a while: the module lets
    /// go of the GPU.
    fn release(&mut self, gpu: &Present<'_>) {
        let mut said = false;
        try_for_a_while(|last| {
            let mut left = false;
            for (node, debts) in self.nodes.iter_mut().zip(self.debts.iter_mut()) {
                let mut backend = Backend::new(self.settings.backend, self.shared.hws(), debts);
                let Err(failure) = node.start_all(gpu, &mut backend) else {
                    continue;
                };
                left = true;
                if last {
                    node.give_up(gpu, &backend, failure);
                } else if !said && !failure.is_passing() {
                    said = true;
                    node.say_failure(gpu, failure);
                }
            }
            !left
        });
    }
}

/// Starts everything of a GPU that is stopped, because the system is about to sleep.
pub(crate) fn settle(gpu: &Gpu<Engine>) -> Result<(), Failure> {
    gpu.with(|gpu, engine| gpu.map_or(Ok(()), |gpu| engine.settle(gpu)))
}

/// Tries to start everything for a while. The function is told of its last try, and
/// says whether it is done.
pub(crate) fn try_for_a_while(mut done: impl FnMut(bool) -> bool) {
    let until = clock::now().after(RELEASE_PATIENCE);
    loop {
        // All have their last try, however long others took.
        let last = clock::now() >= until;
        if done(last) || last {
            return;
        }
        fsleep(Delta::from_millis(RELEASE_PAUSE_MS));
    }
}

impl Keeper for Engine {
    fn leave(&mut self, gpu: &Present<'_>) {
        self.release(gpu);
        for (node, debts) in self.nodes.iter_mut().zip(self.debts.iter_mut()) {
            node.forget();
            debts.clear();
        }
        self.rested = false;
    }
}
