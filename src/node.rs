// SPDX-License-Identifier: GPL-2.0-only

//! One node: what is remembered of it, and one pass over it. The parts of a pass
//! that are more than a call are in files of their own.

pub(crate) mod histogram;
mod observation;
mod outcome;
pub(crate) mod record;
mod release;
pub(crate) mod roster;
pub(crate) mod storage;
mod tracing;
mod transaction;

use tracing::effective;

use crate::node::record::Counters;
use crate::node::record::Events;
use crate::node::record::Latencies;
use crate::node::roster::Matcher;
use crate::node::roster::Queue;
use crate::node::roster::Roster;
use crate::node::storage::room;
use crate::node::storage::Slots;
use gpreempt_policy::Arming;
use gpreempt_policy::Config;
use gpreempt_policy::Decision;
use gpreempt_policy::Nanos;
use gpreempt_policy::Number;
use gpreempt_policy::Observation;
use gpreempt_policy::Outcome;
use gpreempt_policy::QueueId;
use gpreempt_policy::QueueView;
use gpreempt_policy::Scheduler;
use gpreempt_policy::Step;
use gpreempt_policy::QUEUE_SLOTS;
use kernel::prelude::*;
use kfd::act::backend::Backend;
use kfd::act::transaction::report_misfit;
use kfd::act::transaction::Failure;
use kfd::act::transaction::Requests;
use kfd::driver::check::Refusal;
use kfd::driver::gpu::Away;
use kfd::driver::gpu::Present;
use kfd::driver::hardware::HardwareSource;
use kfd::kernel::clock;
use kfd::kernel::thread::Running;
use kfd::look::hardware::Occupancy;
use kfd::look::registers::Registers;
use kfd::look::sampler::SamplerKind;
use kfd::look::survey::QueueSeen;
use kfd::look::survey::Survey;

/// A node and everything that is remembered of it. The memory is allocated when
/// the node is first seen; a pass allocates nothing.
pub(crate) struct NodeEngine {
    index: usize,
    gpu_id: u32,
    /// What the check of the node said, once it was made.
    check: Option<Result<(), Refusal>>,
    scheduler: Scheduler<Slots>,
    survey: Survey,
    occupancy: Occupancy,
    registers: Registers,
    roster: Roster,
    seen: KVVec<Observation>,
    decisions: KVVec<Decision>,
    outcomes: KVVec<Outcome>,
    requests: Requests,
    last: Step,
    /// The queue that waited at the last look.
    waiting: Option<QueueId>,
    /// What did not fit at the last look was said.
    said_misfit: bool,
    said_exempt: bool,
    said_disarmed: bool,
    /// A transaction of ours has left the queues off the hardware.
    off_hardware: bool,
    /// Why the last transaction that failed did so, until the node is armed by hand.
    last_failure: Option<Failure>,
    /// When queues that are out of view may be started again.
    next_start_beyond: Nanos,
    pub(crate) counters: Counters,
    pub(crate) events: Events,
    pub(crate) latencies: KBox<Latencies>,
}

impl NodeEngine {
    pub(crate) fn new(index: usize) -> Result<Self> {
        Ok(Self {
            index,
            gpu_id: 0,
            check: None,
            scheduler: Scheduler::new(Slots::new()?),
            survey: Survey::new()?,
            occupancy: Occupancy::new()?,
            registers: Registers::new()?,
            roster: Roster::new()?,
            seen: room(QUEUE_SLOTS)?,
            decisions: KVVec::from_elem(Decision::NONE, QUEUE_SLOTS, GFP_KERNEL)?,
            outcomes: room(QUEUE_SLOTS)?,
            requests: Requests::new(QUEUE_SLOTS)?,
            last: Step::default(),
            waiting: None,
            said_misfit: false,
            said_exempt: false,
            said_disarmed: false,
            off_hardware: false,
            last_failure: None,
            next_start_beyond: Nanos::ZERO,
            counters: Counters::default(),
            events: Events::new()?,
            latencies: KBox::new(Latencies::new(), GFP_KERNEL)?,
        })
    }

    /// KFD's number of the node, once it was seen.
    pub(crate) fn gpu_id(&self) -> u32 {
        self.gpu_id
    }

    /// Its place in the GPU.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// What the last look said.
    pub(crate) fn last(&self) -> &Step {
        &self.last
    }

    /// Why the node is not touched, if it is not.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.check?.err()
    }

    /// Why the last transaction that failed did so.
    pub(crate) fn last_failure(&self) -> Option<Failure> {
        self.last_failure
    }

    pub(crate) fn survey(&self) -> &Survey {
        &self.survey
    }

    pub(crate) fn scheduler(&mut self) -> &mut Scheduler<Slots> {
        &mut self.scheduler
    }

    /// Calls a function for each queue that the policy knows.
    pub(crate) fn each_queue(&mut self, mut f: impl FnMut(&QueueView, &Queue, &QueueSeen)) {
        for view in self.scheduler.queues() {
            let at = self.roster.place(view.queue);
            let queue = at.and_then(|at| self.roster.queues().get(at));
            let seen = at.and_then(|at| self.survey.queues().get(at));
            if let (Some(queue), Some(seen)) = (queue, seen) {
                f(&view, queue, seen);
            }
        }
    }

    /// Whether a queue does not run because of us.
    pub(crate) fn unsettled(&self) -> bool {
        self.off_hardware || self.roster.any_stopped()
    }

    /// One pass. Returns when to look again, if not only when woken.
    pub(crate) fn pass(
        &mut self,
        gpu: &Present<'_>,
        backend: &mut Backend<'_>,
        config: &Config<'_>,
        sampler: SamplerKind,
        rules: &impl Matcher,
        thread: &Running,
    ) -> Option<Nanos> {
        let begin = clock::now();
        let soon = || Some(begin.after(config.duration(Number::PollInterval)));
        let later = || Some(begin.after(config.duration(Number::Retry)));
        let hardware = match self.look(gpu, backend) {
            Ok(hardware) => hardware,
            Err(_) => {
                self.counters.missed = self.counters.missed.saturating_add(1);
                return later();
            }
        };
        if self.refusal().is_some() {
            return None;
        }
        if self.put_back(gpu, backend).is_err() {
            return later();
        }
        if !self.survey.census().fits() {
            self.say_misfit(gpu);
            return later();
        }
        self.said_misfit = false;
        if self.start_beyond(gpu, backend, begin, config.duration(Number::Retry)) {
            // What was seen is of before.
            return soon();
        }
        self.settle(gpu, backend);
        self.sample(gpu, sampler, hardware, thread);
        self.roster.take(&self.survey, rules);
        self.observe(backend);
        let looked = clock::now();
        self.latencies.look.add(looked.since(begin));
        self.counters.passes = self.counters.passes.saturating_add(1);

        let step = self.scheduler.step(
            looked,
            config,
            &self.seen,
            &self.outcomes,
            &mut self.decisions,
        );
        self.account(gpu, &step);
        self.say_disarmed(gpu, &step);
        self.trace_inversion(config, &step);
        self.carry_out(gpu, backend, config, &step, looked);
        self.last = step;
        self.latencies.pass.add(clock::now().since(begin));
        // What is owed or stopped is looked after also while there is nothing to see,
        // or to decide.
        let unfinished = backend.owes() || self.unsettled() || self.survey.stopped_beyond() > 0;
        step.next_look.or_else(|| unfinished.then(later).flatten())
    }

    /// Reads the node's queues, and checks the node the first time.
    fn look(
        &mut self,
        gpu: &Present<'_>,
        backend: &Backend<'_>,
    ) -> Result<Option<HardwareSource>, Away> {
        gpu.usable()?;
        let nodes = gpu.nodes()?;
        let node = nodes.node(self.index)?;
        if self.gpu_id != node.gpu_id() {
            // The GPU is divided in another way, and this is another node.
            self.check = None;
            self.roster.clear();
        }
        if self.check.is_none() {
            self.gpu_id = node.gpu_id();
            let result = kfd::driver::check::check(&node).and_then(|()| backend.check(&node));
            let name = gpu.device().name().to_str().unwrap_or("?");
            match &result {
                Ok(()) => pr_info!(
                    "{} node {} (gpu_id {}): watched, backend {}\n",
                    name,
                    self.index,
                    self.gpu_id,
                    backend.name()
                ),
                Err(refusal) => pr_err!(
                    "{} node {}: left alone: {}\n",
                    name,
                    self.index,
                    refusal.why
                ),
            }
            self.check = Some(result);
        }
        if self.refusal().is_some() {
            return Ok(None);
        }
        self.survey.take(&node);
        Ok(node.hardware_source())
    }

    /// Arms the node, and has it checked again if it was refused.
    pub(crate) fn rearm(&mut self) {
        self.scheduler.rearm();
        self.said_disarmed = false;
        self.last_failure = None;
        self.check = None;
    }

    /// Has the node checked again, because the backend has changed.
    pub(crate) fn recheck(&mut self) {
        self.check = None;
    }

    /// Reads what user memory and the hardware say of the queues.
    fn sample(
        &mut self,
        gpu: &Present<'_>,
        sampler: SamplerKind,
        hardware: Option<HardwareSource>,
        thread: &Running,
    ) {
        if let (SamplerKind::Mmio, Some(source)) = (sampler, hardware) {
            self.survey.read_registers(gpu, &mut self.registers, source);
        }
        self.survey.read_pointers(thread);
        let asked = match sampler {
            SamplerKind::Memory => false,
            SamplerKind::Auto => self.last.ask_waves,
            SamplerKind::Mmio => true,
        };
        if let (true, Some(source)) = (asked, hardware) {
            self.survey.count_waves(gpu, &mut self.occupancy, source);
        }
    }

    /// Counts what a step says.
    fn account(&mut self, gpu: &Present<'_>, step: &Step) {
        let counters = &mut self.counters;
        let add = |counter: &mut u64, more: usize| {
            *counter = counter.saturating_add(u64::try_from(more).unwrap_or(0));
        };
        add(&mut counters.healed, step.healed);
        let beyond = usize::try_from(self.survey.beyond()).unwrap_or(0);
        counters.exempt = u64::try_from(step.untracked.saturating_add(beyond)).unwrap_or(0);
        let queues = u64::try_from(self.seen.len()).unwrap_or(0);
        counters.most_queues = counters.most_queues.max(queues);
        if counters.exempt > 0 && !self.said_exempt {
            self.said_exempt = true;
            pr_warn!(
                "{} node {}: there are more than {} queues; the rest is left alone\n",
                gpu.device().name().to_str().unwrap_or("?"),
                self.index,
                QUEUE_SLOTS
            );
        }
    }

    /// Says once that the node was disarmed.
    fn say_disarmed(&mut self, gpu: &Present<'_>, step: &Step) {
        if step.arming != Arming::Disarmed || self.said_disarmed {
            return;
        }
        self.said_disarmed = true;
        pr_err!(
            "{} node {}: disarmed: too many transactions failed, the last because {}; what is stopped is started, and nothing is stopped until 'armed' is written to the node's state\n",
            gpu.device().name().to_str().unwrap_or("?"),
            self.index,
            self.last_failure.map_or("?", Failure::why)
        );
    }

    /// Says once that the driver's lists do not fit together.
    fn say_misfit(&mut self, gpu: &Present<'_>) {
        if self.said_misfit {
            return;
        }
        self.said_misfit = true;
        self.counters.failures = self.counters.failures.saturating_add(1);
        report_misfit(gpu, self.index, self.survey.census(), "nothing is done");
    }

    /// Forgets the queues, among which none is stopped: nobody looks any more.
    pub(crate) fn rest(&mut self) {
        self.survey.clear();
        self.roster.clear();
        self.seen.clear();
        self.outcomes.clear();
        self.last = Step::default();
    }

    /// Forgets the GPU: the driver has let go of it.
    pub(crate) fn forget(&mut self) {
        self.rest();
        self.off_hardware = false;
        self.check = None;
    }
}
