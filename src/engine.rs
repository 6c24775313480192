// SPDX-License-Identifier: GPL-2.0-only

//! One GPU: its nodes, and what holds for all of them.

use crate::node::site::gpu_name;
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
use kfd::driver::gpu::Gpu;
use kfd::driver::gpu::Keeper;
use kfd::driver::gpu::Present;
use kfd::driver::gpu::MAX_NODES;
use kfd::kernel::clock;
use kfd::kernel::thread::Running;
use kfd::operator::rules::MOST_RULES;
use kfd::operator::settings;
use kfd::operator::settings::Settings;

/// For how long the module tries to start everything before it lets go of a GPU or
/// lets the system sleep. What may be in the way, a halt for debugfs or for another
/// partition, takes less.
const PATIENCE: Nanos = Nanos::SECOND.times(5);

/// The pause between two tries.
const PAUSE_MS: i64 = 20;

/// A GPU and everything that is remembered of it.
pub(crate) struct Engine {
    shared: Arc<Shared>,
    nodes: KVec<Watched>,
    /// The settings of the last pass.
    settings: Settings,
    /// In mode off: nothing is stopped any more, and nobody looks.
    rested: bool,
    /// The log says already that the settings are not taken over yet.
    said_kept: bool,
    /// What the rules do, as of a generation of them.
    effects: KVec<RuleEffect>,
    generation: u32,
}

/// A node, and the process backend's evictions on it.
struct Watched {
    node: NodeEngine,
    debts: Debts,
}

impl Watched {
    fn new(index: usize) -> Result<Self> {
        Ok(Self {
            node: NodeEngine::new(index)?,
            debts: Debts::new()?,
        })
    }

    /// The node with the backend that the settings name.
    fn open<'a>(
        &'a mut self,
        settings: &Settings,
        shared: &'a Shared,
    ) -> (&'a mut NodeEngine, Backend<'a>) {
        let backend = Backend::new(settings.backend, shared.hws(), &mut self.debts);
        (&mut self.node, backend)
    }

    /// Whether a queue of the node does not run because of us.
    fn keeps_any_stopped(&self) -> bool {
        self.node.keeps_any_stopped() || !self.debts.is_empty()
    }
}

impl Engine {
    pub(crate) fn new(shared: Arc<Shared>) -> Result<Self> {
        Ok(Self {
            shared,
            nodes: KVec::with_capacity(MAX_NODES, GFP_KERNEL)?,
            settings: settings::current(),
            rested: false,
            said_kept: false,
            effects: KVec::with_capacity(MOST_RULES, GFP_KERNEL)?,
            generation: 0,
        })
    }

    /// How many nodes the GPU had at the last pass.
    pub(crate) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The node of a number, with the backend in force.
    pub(crate) fn node(&mut self, index: usize) -> Option<(&mut NodeEngine, Backend<'_>)> {
        let watched = self.nodes.get_mut(index)?;
        Some(watched.open(&self.settings, &self.shared))
    }

    /// All nodes, each with the backend in force.
    pub(crate) fn nodes(&mut self) -> impl Iterator<Item = (&mut NodeEngine, Backend<'_>)> {
        let (settings, shared) = (&self.settings, &self.shared);
        let nodes = self.nodes.iter_mut();
        nodes.map(move |watched| watched.open(settings, shared))
    }

    /// The settings of the last pass.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// One pass over all nodes. Returns when to look again, or `None`: only when
    /// woken.
    pub(crate) fn pass(&mut self, gpu: &Present<'_>, thread: &mut Running) -> Option<Nanos> {
        let mut settings = settings::current();
        if self.shared.is_asleep() {
            settings.policy.mode = Mode::Off;
        }
        if settings.backend != self.settings.backend || settings.sampler != self.settings.sampler {
            if let Err(failure) = self.start_all(gpu) {
                return Some(self.keep_backend(gpu, failure));
            }
            self.said_kept = false;
            self.nodes().for_each(|(node, _)| node.recheck());
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
        if off && !self.nodes.iter().any(Watched::keeps_any_stopped) {
            return self.come_to_rest(gpu).err().map(|_| retry);
        }
        self.pass_nodes(gpu, thread).or_else(|| self.without_wake())
    }

    /// One pass over each node. Returns the earliest time to look again.
    fn pass_nodes(&mut self, gpu: &Present<'_>, thread: &mut Running) -> Option<Nanos> {
        let rules = self.shared.rules();
        if rules.generation() != self.generation {
            self.generation = rules.copy_effects(&mut self.effects);
        }
        let mut config: Config<'_> = self.settings.policy.with_rules(&self.effects);
        let sampler = self.settings.sampler;
        let mut next: Option<Nanos> = None;
        for watched in self.nodes.iter_mut() {
            let (node, mut backend) = watched.open(&self.settings, &self.shared);
            config.granularity = backend.granularity();
            let due = node.pass(gpu, &mut backend, &config, sampler, &rules, thread);
            next = match (next, due) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
        next
    }

    /// Starts what nobody here remembers to have stopped, because an earlier load of
    /// the module has left it or there was no room to see it, and then forgets all.
    fn come_to_rest(&mut self, gpu: &Present<'_>) -> Result<(), Failure> {
        let mut result = Ok(());
        for (node, mut backend) in self.nodes() {
            result = node.look_and_start_all(gpu, &mut backend).and(result);
        }
        result?;
        self.nodes().for_each(|(node, _)| node.rest());
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
        }
        while self.nodes.len() < count {
            self.nodes
                .push(Watched::new(self.nodes.len())?, GFP_KERNEL)?;
        }
        Ok(())
    }

    /// Starts everything that is stopped. `Err`: something may still be.
    fn start_all(&mut self, gpu: &Present<'_>) -> Result<(), Failure> {
        let mut result = Ok(());
        for (node, mut backend) in self.nodes() {
            result = node.start_all(gpu, &mut backend).and(result);
        }
        result
    }

    /// What one backend has stopped, no other can start: it stays in force until all
    /// of it runs. Returns when to try again.
    fn keep_backend(&mut self, gpu: &Present<'_>, failure: Failure) -> Nanos {
        if !self.said_kept {
            self.said_kept = true;
            pr_warn!(
                "{}: backend {} stays in force with its settings until all that it stopped is started: {} (errno {})\n",
                gpu_name(gpu.device()),
                self.settings.backend.name(),
                failure.why(),
                failure.errno()
            );
        }
        clock::now().after(self.settings.policy.duration(Number::Retry))
    }

    /// Starts everything that is stopped, trying for a while, because the module lets
    /// go of the GPU. What cannot be started is named in the log.
    fn start_all_or_give_up(&mut self, gpu: &Present<'_>) {
        let mut said = false;
        try_for_a_while(|last| {
            let mut left = false;
            for (node, mut backend) in self.nodes() {
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
pub(crate) fn start_all_for_sleep(gpu: &Gpu<Engine>) -> Result<(), Failure> {
    gpu.with(|gpu, engine| gpu.map_or(Ok(()), |gpu| engine.start_all(gpu)))
}

/// Calls a function until it says that it is done, or until patience ends. It is told
/// which call is the last.
pub(crate) fn try_for_a_while(mut done: impl FnMut(bool) -> bool) {
    let until = clock::now().after(PATIENCE);
    loop {
        // Everyone gets a last try, however long the others took.
        let last = clock::now() >= until;
        if done(last) || last {
            return;
        }
        fsleep(Delta::from_millis(PAUSE_MS));
    }
}

impl Keeper for Engine {
    fn leave(&mut self, gpu: &Present<'_>) {
        self.start_all_or_give_up(gpu);
        for watched in self.nodes.iter_mut() {
            watched.node.forget();
            watched.debts.clear();
        }
        self.rested = false;
    }
}
