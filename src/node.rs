// SPDX-License-Identifier: GPL-2.0

//! One node: from what is seen of its queues to what is done with them.

use crate::record::Counters;
use crate::record::Event;
use crate::record::Events;
use crate::record::Fate;
use crate::record::Latencies;
use crate::roster::Matcher;
use crate::roster::Queue;
use crate::roster::Roster;
use crate::storage::room;
use crate::storage::Slots;
use gpreempt_policy::Action;
use gpreempt_policy::Config;
use gpreempt_policy::Decision;
use gpreempt_policy::Mode;
use gpreempt_policy::Nanos;
use gpreempt_policy::Number;
use gpreempt_policy::Observation;
use gpreempt_policy::Outcome;
use gpreempt_policy::QueueId;
use gpreempt_policy::QueueState;
use gpreempt_policy::QueueView;
use gpreempt_policy::Reason;
use gpreempt_policy::Report;
use gpreempt_policy::Scheduler;
use gpreempt_policy::Step;
use gpreempt_policy::Waves;
use gpreempt_policy::QUEUE_SLOTS;
use kernel::prelude::*;
use kfd::backend::Backend;
use kfd::check::Refusal;
use kfd::clock;
use kfd::gpu::Away;
use kfd::gpu::Present;
use kfd::queue::Activity;
use kfd::sample::Occupancy;
use kfd::settings::SamplerKind;
use kfd::survey::QueueSeen;
use kfd::survey::Survey;
use kfd::survey::WaveSource;
use kfd::thread::Running;
use kfd::trace;
use kfd::transaction::Done;
use kfd::transaction::Failure;
use kfd::transaction::Request;
use kfd::transaction::Timing;

/// How often starting everything is tried when the module lets go of a node.
const RELEASE_TRIES: u32 = 5;

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
    roster: Roster,
    seen: KVVec<Observation>,
    decisions: KVVec<Decision>,
    outcomes: KVVec<Outcome>,
    requests: KVVec<Request>,
    last: Step,
    /// The queue that waited at the last look.
    waiting: Option<QueueId>,
    /// What did not fit at the last look was said.
    said_misfit: bool,
    said_exempt: bool,
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
            roster: Roster::new()?,
            seen: room(QUEUE_SLOTS)?,
            decisions: KVVec::from_elem(Decision::NONE, QUEUE_SLOTS, GFP_KERNEL)?,
            outcomes: room(QUEUE_SLOTS)?,
            requests: room(QUEUE_SLOTS)?,
            last: Step::default(),
            waiting: None,
            said_misfit: false,
            said_exempt: false,
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

    pub(crate) fn survey(&self) -> &Survey {
        &self.survey
    }

    pub(crate) fn scheduler(&mut self) -> &mut Scheduler<Slots> {
        &mut self.scheduler
    }

    /// Calls a function for each queue that the policy knows.
    pub(crate) fn each_queue(&mut self, mut f: impl FnMut(&QueueView, &Queue, &QueueSeen)) {
        for view in self.scheduler.queues() {
            let at = self
                .roster
                .queues()
                .iter()
                .position(|queue| queue.id == view.queue);
            let queue = at.and_then(|at| self.roster.queues().get(at));
            let seen = at.and_then(|at| self.survey.queues().get(at));
            if let (Some(queue), Some(seen)) = (queue, seen) {
                f(&view, queue, seen);
            }
        }
    }

    /// Whether any queue is stopped by us.
    pub(crate) fn any_stopped(&self) -> bool {
        self.roster.any_stopped()
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
        let waves = match self.look(gpu, backend) {
            Ok(waves) => waves,
            Err(Away::Busy) => return soon(),
            Err(_) => {
                self.counters.missed = self.counters.missed.saturating_add(1);
                return later();
            }
        };
        if self.refusal().is_some() {
            return None;
        }
        if !self.survey.census().fits() {
            self.say_misfit(gpu);
            return later();
        }
        self.said_misfit = false;
        self.sample(gpu, sampler, waves, thread);
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
        self.trace_inversion(config, &step);
        self.carry_out(gpu, backend, config, &step, looked);
        self.last = step;
        self.latencies.pass.add(clock::now().since(begin));
        step.next_look
    }

    /// Reads the node's queues, and checks the node the first time.
    fn look(
        &mut self,
        gpu: &Present<'_>,
        backend: &Backend<'_>,
    ) -> Result<Option<WaveSource>, Away> {
        gpu.usable()?;
        let nodes = gpu.nodes()?;
        let node = nodes.node(self.index)?;
        if self.check.is_none() {
            self.gpu_id = node.gpu_id();
            let result = kfd::check::check(&node).and_then(|()| backend.check(&node));
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
        Ok(node.wave_source())
    }

    /// Arms the node, and has it checked again if it was refused.
    pub(crate) fn rearm(&mut self) {
        self.scheduler.rearm();
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
        waves: Option<WaveSource>,
        thread: &Running,
    ) {
        self.survey.read_pointers(thread);
        let asked = match sampler {
            SamplerKind::Memory => false,
            SamplerKind::Auto => self.last.ask_waves,
            SamplerKind::Mmio => true,
        };
        if let (true, Some(source)) = (asked, waves) {
            self.survey.count_waves(gpu, &mut self.occupancy, source);
        }
    }

    /// Puts what was seen into the policy's terms.
    fn observe(&mut self, backend: &Backend<'_>) {
        self.seen.clear();
        let queues = self.survey.queues().iter();
        for (seen, queue) in queues.zip(self.roster.queues_mut()) {
            let state = match seen.facts.activity {
                Activity::Active => QueueState::Active,
                _ if backend.stopped_by_us(&seen.facts) => QueueState::StoppedByUs,
                Activity::Stopped | Activity::Held => QueueState::Held,
            };
            queue.stopped = state == QueueState::StoppedByUs;
            queue.stopped_idle &= queue.stopped;
            let observation = Observation {
                queue: queue.id,
                process: queue.process,
                kfd: seen.facts.priority,
                rule: queue.rule,
                backlog: seen.sample.backlog(&seen.facts),
                progress: queue.progress,
                waves: match queue.stopped {
                    false => seen.sample.waves,
                    true if queue.stopped_idle => Waves::Known(0),
                    true => Waves::Unknown,
                },
                head: seen.sample.head,
                state,
                internal: seen.internal,
                protected: seen.facts.protected,
            };
            // There is as much room as in the survey.
            let _ = self.seen.push_within_capacity(observation);
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

    /// Says once that the driver's lists do not fit together.
    fn say_misfit(&mut self, gpu: &Present<'_>) {
        if self.said_misfit {
            return;
        }
        self.said_misfit = true;
        self.counters.failures = self.counters.failures.saturating_add(1);
        for fault in self.survey.census().faults() {
            pr_err!(
                "{} node {}: nothing is done: {}\n",
                gpu.device().name().to_str().unwrap_or("?"),
                self.index,
                fault
            );
        }
    }

    /// Tells an inversion when it begins.
    fn trace_inversion(&mut self, config: &Config<'_>, step: &Step) {
        let waiting = step.inversion.map(|inversion| inversion.waiting);
        let begins = waiting != self.waiting;
        self.waiting = waiting;
        let Some(inversion) = step.inversion.filter(|_| begins) else {
            return;
        };
        self.counters.inversions = self.counters.inversions.saturating_add(1);
        if let Some(queue) = self.roster.find(inversion.waiting) {
            let event = self.trace_event(config, queue, Reason::Inversion, inversion.age);
            trace::tell(trace::Point::Inversion, &event);
        }
    }

    /// The event of a tracepoint.
    fn trace_event(
        &self,
        config: &Config<'_>,
        queue: &Queue,
        reason: Reason,
        age: Nanos,
    ) -> trace::Event {
        trace::Event {
            gpu_id: self.gpu_id,
            node: u32::try_from(self.index).unwrap_or(0),
            pid: queue.pid,
            queue_id: queue.key.id(),
            prio: u32::from(queue.priority.level()),
            eff_prio: u32::from(effective(config, queue)),
            reason: trace::word(reason),
            age_ns: age.0,
        }
    }

    /// Has the decisions carried out that are to be, and keeps all of them.
    fn carry_out(
        &mut self,
        gpu: &Present<'_>,
        backend: &mut Backend<'_>,
        config: &Config<'_>,
        step: &Step,
        now: Nanos,
    ) {
        self.outcomes.clear();
        self.requests.clear();
        for decision in self.decisions.iter().take(step.decisions) {
            if let Some(queue) = self.roster.find(decision.queue).filter(|_| decision.apply) {
                let request = Request::new(queue.key, decision.action);
                let _ = self.requests.push_within_capacity(request);
            }
        }
        let result = if self.requests.is_empty() {
            Ok(Timing::default())
        } else {
            self.transact(gpu, backend)
        };
        self.keep_decisions(config, step, now, result.err());
    }

    /// Carries the requests out, and remembers what is stopped.
    fn transact(
        &mut self,
        gpu: &Present<'_>,
        backend: &mut Backend<'_>,
    ) -> Result<Timing, Failure> {
        let result = match gpu.nodes() {
            Ok(nodes) => match nodes.node(self.index) {
                Ok(node) => backend.transact(&node, &mut self.requests),
                Err(away) => Err(Failure::Away(away)),
            },
            Err(away) => Err(Failure::Away(away)),
        };
        // Also after a failure: what was edited before it stays.
        for request in self.requests.iter() {
            let queue = self
                .roster
                .queues_mut()
                .iter_mut()
                .find(|queue| queue.key == request.key);
            if let Some(queue) = queue.filter(|_| request.done != Done::Nothing) {
                queue.stopped = request.action == Action::Stop;
                queue.stopped_idle = request.done == Done::StoppedIdle;
            }
        }
        self.counters.transactions = self.counters.transactions.saturating_add(1);
        match result {
            Ok(timing) => {
                if timing.total() > Nanos::ZERO {
                    self.scheduler.transaction_took(timing.total());
                    self.latencies.unmap.add(timing.unmap);
                    self.latencies.edit.add(timing.edit);
                    self.latencies.map.add(timing.map);
                }
            }
            Err(Failure::Away(Away::Busy)) => {}
            Err(failure) => {
                self.counters.failures = self.counters.failures.saturating_add(1);
                pr_warn!(
                    "{} node {}: {} (errno {})\n",
                    gpu.device().name().to_str().unwrap_or("?"),
                    self.index,
                    failure.why(),
                    failure.errno()
                );
            }
        }
        result
    }

    /// Keeps the decisions, tells them, and notes what became of them.
    fn keep_decisions(
        &mut self,
        config: &Config<'_>,
        step: &Step,
        now: Nanos,
        failure: Option<Failure>,
    ) {
        for at in 0..step.decisions {
            let Some(decision) = self.decisions.get(at).copied() else {
                return;
            };
            let Some(queue) = self.roster.find(decision.queue).copied() else {
                continue;
            };
            let fate = self.fate(&decision, &queue, failure);
            self.note(&decision, fate);
            self.tell(config, &decision, &queue, fate);
            let beneficiary = decision
                .beneficiary
                .and_then(|id| self.roster.find(id))
                .map(|queue| (queue.pid, queue.key.id()));
            self.events.add(Event {
                number: 0,
                time: now,
                pid: queue.pid,
                queue_id: queue.key.id(),
                priority: queue.priority.level(),
                effective: effective(config, &queue),
                action: decision.action,
                reason: decision.reason,
                age: decision.age,
                fate,
                beneficiary,
            });
        }
    }

    /// What became of a decision.
    fn fate(&self, decision: &Decision, queue: &Queue, failure: Option<Failure>) -> Fate {
        if !decision.apply {
            return Fate::Observed;
        }
        if let Some(failure) = failure {
            return Fate::Failed(failure.errno());
        }
        let carried_out = self
            .requests
            .iter()
            .any(|request| request.key == queue.key && request.done != Done::Nothing);
        if carried_out {
            Fate::Done
        } else {
            Fate::Nothing
        }
    }

    /// Counts what became of a decision, and has the policy hear of it.
    fn note(&mut self, decision: &Decision, fate: Fate) {
        let report = match fate {
            Fate::Observed => {
                self.counters.observed = self.counters.observed.saturating_add(1);
                return;
            }
            Fate::Done => Report::Done,
            Fate::Nothing => Report::NothingToDo,
            // Somebody is opening or dividing the GPU just now, which is no
            // failure: the next look decides anew.
            Fate::Failed(errno) if errno == busy() => Report::NothingToDo,
            Fate::Failed(errno) => Report::Failed(errno),
        };
        if fate == Fate::Done {
            match decision.action {
                Action::Stop => {
                    self.counters.stops = self.counters.stops.saturating_add(1);
                    self.latencies.detection.add(decision.age);
                }
                Action::Start => {
                    self.counters.starts = self.counters.starts.saturating_add(1);
                    self.latencies.stopped.add(decision.age);
                }
            }
        }
        let _ = self.outcomes.push_within_capacity(Outcome {
            queue: decision.queue,
            report,
        });
    }

    /// Tells a decision to the tracepoints.
    fn tell(&self, config: &Config<'_>, decision: &Decision, queue: &Queue, fate: Fate) {
        let event = self.trace_event(config, queue, decision.reason, decision.age);
        let point = match decision.action {
            Action::Stop => trace::Point::Stop,
            Action::Start => trace::Point::Start,
        };
        if matches!(fate, Fate::Done) || config.mode == Mode::Observe {
            trace::tell(point, &event);
        }
        if matches!(decision.reason, Reason::Failure | Reason::NoProgress) {
            trace::tell(trace::Point::Fallback, &event);
        }
    }

    /// Starts everything that is stopped, without the policy: the mode is being
    /// left, or the GPU, or the module.
    pub(crate) fn release(&mut self, gpu: &Present<'_>, backend: &mut Backend<'_>) {
        for _ in 0..RELEASE_TRIES {
            self.requests.clear();
            for queue in self.roster.queues().iter().filter(|queue| queue.stopped) {
                let request = Request::new(queue.key, Action::Start);
                let _ = self.requests.push_within_capacity(request);
            }
            if self.requests.is_empty() {
                return;
            }
            let result = self.transact(gpu, backend);
            let started = self
                .requests
                .iter()
                .filter(|request| request.done != Done::Nothing)
                .count();
            self.counters.starts = self
                .counters
                .starts
                .saturating_add(u64::try_from(started).unwrap_or(0));
            match result {
                // What was not started did not need it any more.
                Ok(_) => return self.forget_stopped(),
                Err(Failure::Away(Away::Busy)) => {
                    kernel::time::delay::fsleep(kernel::time::Delta::from_millis(10))
                }
                // The driver rebuilds the queues itself.
                Err(Failure::Away(_) | Failure::Unmap(_)) => return self.forget_stopped(),
                Err(_) => {}
            }
        }
    }

    fn forget_stopped(&mut self) {
        for queue in self.roster.queues_mut() {
            queue.stopped = false;
            queue.stopped_idle = false;
        }
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
        self.check = None;
    }
}

/// The priority that counts for a queue.
pub(crate) fn effective(config: &Config<'_>, queue: &Queue) -> u8 {
    queue
        .rule
        .and_then(|id| config.rule(id))
        .and_then(|rule| rule.priority)
        .unwrap_or(config.user_priority.judge(queue.priority))
        .level()
}

/// The positive errno of something that is in use.
fn busy() -> u32 {
    EBUSY.to_errno().unsigned_abs()
}
