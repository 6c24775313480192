// SPDX-License-Identifier: GPL-2.0-only

//! One node: the order of a pass over it. Each part of a pass is in a file of its
//! own, with what has to be remembered for it.

pub(crate) mod comm;
mod crowding;
pub(crate) mod histogram;
pub(crate) mod look;
pub(crate) mod memory;
pub(crate) mod node_check;
pub(crate) mod node_ref;
mod observation;
mod outcome;
pub(crate) mod places;
pub(crate) mod policy;
pub(crate) mod record;
pub(crate) mod roster;
pub(crate) mod start_all;
mod storage;
mod tracing;
pub(crate) mod transaction;
pub(crate) mod unanswered;
mod unwritten;

use crate::node::{
    crowding::Crowding, look::Look, memory::Memory, node_check::NodeCheck, node_ref::NodeRef,
    observation::observe, record::wide, roster::Queue, start_all::StartAllCause, tracing::Tracer,
    transaction::Transactions,
};
use gpreempt_policy::{Arming, Config, Mode, Nanos, QueueId, QueueView, Step, RETRY_FIRST};
use kernel::prelude::*;
use kfd::{
    act::failure::Failure,
    driver::{check::Refusal, gpu::Away, hardware::HardwareSource},
    kernel::{clock, thread::Running},
    look::survey::QueueSeen,
    operator::rules::Rules,
};

/// A node and everything that is remembered of it. The memory is allocated when
/// the node is first seen; a pass allocates nothing.
pub(crate) struct NodeState {
    /// Its number in the GPU.
    pub(crate) index: usize,
    pub(crate) check: NodeCheck,
    pub(crate) look: Look,
    pub(crate) memory: Memory,
    pub(crate) transactions: Transactions,
    /// What the last pass came to.
    pub(crate) last: Step,
    /// The queue that waited in the last pass.
    waiting: Option<QueueId>,
    crowding: Crowding,
    /// The log says already that the node is disarmed.
    said_disarmed: bool,
    /// When queues that are out of view may be started again.
    next_start_beyond: Nanos,
    /// Before this time nobody looks again, so that looking leaves a processor to others.
    pub(crate) rest_until: Nanos,
}

impl NodeState {
    pub(crate) fn new(index: usize) -> Result<Self> {
        Ok(Self {
            index,
            check: NodeCheck::new(),
            look: Look::new()?,
            memory: Memory::new()?,
            transactions: Transactions::new()?,
            last: Step::default(),
            waiting: None,
            crowding: Crowding::default(),
            said_disarmed: false,
            next_start_beyond: Nanos::ZERO,
            rest_until: Nanos::ZERO,
        })
    }

    /// The word for whether the node may be acted upon.
    pub(crate) fn state(&self) -> &'static str {
        if self.refusal().is_some() {
            return "refused";
        }
        if self.transactions.unanswered.is_so() {
            return "silent";
        }
        match self.memory.policy.scheduler.arming() {
            Arming::Armed => "armed",
            Arming::BackingOff(_) => "backing-off",
            Arming::Silent(_) => "silent",
            Arming::Disarmed => "disarmed",
        }
    }

    /// Why the node is left alone, if its check has failed.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.check.refusal()
    }

    /// Calls a function for each queue that the policy knows, in the order in which
    /// they were first seen.
    pub(crate) fn each_queue(&mut self, mut f: impl FnMut(&QueueView, &Queue, &QueueSeen)) {
        let seen = self.look.survey.queues();
        let Memory { roster, policy, .. } = &mut self.memory;
        for (at, queue) in roster.by_age() {
            // Where a look has ended early, the queues are not those taken in last.
            let is = |seen: &&QueueSeen| seen.facts.key == queue.key;
            let expected = seen.get(at).filter(is);
            let seen = expected.or_else(|| seen.iter().find(is));
            if let (Some(view), Some(seen)) = (policy.scheduler.queue(queue.id), seen) {
                f(&view, queue, seen);
            }
        }
    }

    /// Whether a queue does not run because of us.
    pub(crate) fn keeps_any_stopped(&self) -> bool {
        self.transactions.may_be_off() || self.memory.roster.any_stopped()
    }

    /// One pass. Returns when to look again, or `None`: only when woken.
    pub(crate) fn pass(
        &mut self,
        at: NodeRef<'_>,
        config: &Config,
        rules: &Rules,
        thread: &mut Running,
    ) -> Option<Nanos> {
        let begin = clock::now();
        let soon = || Some(begin.after(Nanos::from_micros(config.numbers.poll_interval_us)));
        let later = || Some(begin.after(RETRY_FIRST));
        let Ok(hardware) = self.look_at(at) else {
            self.memory.record.counters.missed.add(1);
            return later();
        };
        if self.refusal().is_some() {
            return None;
        }
        if self.transactions.unanswered.lasts(at) {
            return later();
        }
        let surveyed = clock::now();
        let put_back = self.transactions.put_back(at, &mut self.memory);
        if put_back.is_err() {
            return later();
        }
        let counters = &mut self.memory.record.counters;
        if !self.transactions.fits(at, &self.look.survey, counters) {
            self.start_what_is_stopped(at);
            return later();
        }
        self.count_gws(at, config.mode, begin);
        if self.start_beyond(at, begin) {
            // What was seen is out of date now.
            return soon();
        }
        // What is changed in between is no part of the look, however long it waits.
        let changing = clock::now().since(surveyed);
        let (ask_waves, waits) = (self.last.ask_waves, self.last.waiting > 0);
        self.look
            .sample(at.gpu, config.sampler, ask_waves, waits, hardware, thread);
        let Memory { roster, policy, .. } = &mut self.memory;
        roster.take(&self.look.survey, rules.generation(), |process| {
            rules.find(process, at.name())
        });
        observe(&self.look.survey, roster, &mut policy.observations);
        let looked = clock::now();
        let took = looked.since(self.look.survey.began()).since(changing);
        let step = policy.step(looked, config);
        self.rest_until = step.rest_until(looked, took, config);

        self.account(&step);
        self.crowding.say(at, &self.look.survey, looked);
        self.say_disarmed(at, &step);
        self.note_inversion(&step);
        self.carry_out(at, config.mode, looked, thread);
        self.last = step;
        let latencies = &mut self.memory.record.latencies;
        latencies.look.add(looked.since(begin));
        latencies.pass.add(clock::now().since(begin));
        // While anything is stopped, look again even where there is nothing
        // to see or to decide.
        let beyond = self.look.survey.counted().stopped_beyond > 0;
        let unfinished = self.keeps_any_stopped() || beyond;
        step.next_look.or_else(|| unfinished.then(later).flatten())
    }

    /// Has the driver count what it has left out to count because of a stop of ours.
    /// Nothing is touched where nothing is stopped. A failure counts like that of a
    /// decision, with growing pauses, and the pass goes on.
    fn count_gws(&mut self, at: NodeRef<'_>, mode: Mode, now: Nanos) {
        if mode != Mode::Enforce || !self.memory.policy.scheduler.may_retry(now) {
            return;
        }
        let survey = &self.look.survey;
        let result = self.transactions.count_gws(at, survey, &mut self.memory);
        if let Err(failure) = result {
            transaction::say_failure(at, failure);
            self.memory.policy.failed(failure);
        }
    }

    /// Starts everything while the driver's lists do not fit together: nobody decides then
    /// when a stop has to end. What of it cannot be done is said already. The mode does not
    /// matter: a stop is left of one that was in force before.
    fn start_what_is_stopped(&mut self, at: NodeRef<'_>) {
        match self.transactions.start_all(at, &mut self.memory) {
            Ok(()) => self.memory.roster.forget_stops(),
            Err(Failure::Misfit) => {}
            Err(failure) => transaction::say_failure(at, failure),
        }
    }

    /// Reads the node's queues, and checks the node if it has to be checked.
    fn look_at<'g>(&mut self, at: NodeRef<'g>) -> Result<Option<HardwareSource<'g>>, Away> {
        at.gpu.usable()?;
        at.with(|node| {
            if self.check.is_other(node) {
                self.memory.roster.clear();
                self.transactions.forget_hardware();
            }
            self.check.check(at, node);
            match self.refusal() {
                Some(_) => None,
                None => {
                    if node.is_halted() == Ok(true) {
                        self.memory.policy.scheduler.excuse();
                    }
                    self.look.survey.take(node, self.memory.roster.known());
                    node.hardware_source(at.gpu)
                }
            }
        })
    }

    /// Arms the node, and has it checked again if it was refused.
    pub(crate) fn rearm(&mut self) {
        self.memory.policy.scheduler.rearm();
        self.said_disarmed = false;
        self.transactions.forget_failure();
        self.check.ask_again();
    }

    /// Has the decisions carried out, and keeps what became of them.
    fn carry_out(&mut self, at: NodeRef<'_>, mode: Mode, now: Nanos, thread: &mut Running) {
        let any_unwritten = || self.look.survey.any_unwritten(thread);
        let result = self
            .transactions
            .carry_out(at, &mut self.memory, any_unwritten);
        if let Err(failure) = result {
            transaction::say_failure(at, failure);
        }
        let tracer = self.tracer();
        let failure = result.err();
        outcome::keep(
            &mut self.memory,
            &self.transactions,
            failure,
            tracer,
            mode,
            now,
        );
    }

    fn tracer(&self) -> Tracer {
        Tracer {
            gpu_id: self.check.gpu_id,
            index: self.index,
        }
    }

    /// Counts what a pass came to.
    fn account(&mut self, step: &Step) {
        let counters = &mut self.memory.record.counters;
        counters.passes.add(1);
        counters.healed.add(wide(step.healed));
        counters.count_hints(&step.hints);
        let beyond = u64::from(self.look.survey.counted().beyond);
        counters.exempt = wide(step.untracked).saturating_add(beyond);
    }

    /// Says once that the node was disarmed.
    fn say_disarmed(&mut self, at: NodeRef<'_>, step: &Step) {
        if step.arming != Arming::Disarmed || self.said_disarmed {
            return;
        }
        self.said_disarmed = true;
        pr_err!(
            "{}: disarmed: too many transactions failed, the last because {}; everything is started, and nothing is stopped until 'armed' is written to the node's state\n",
            at,
            self.transactions.last_failure.map_or("?", Failure::why)
        );
    }

    /// Counts an inversion when it begins, and tells it to the tracepoint.
    fn note_inversion(&mut self, step: &Step) {
        let waiting = step.inversion.map(|inversion| inversion.waiting);
        let begins = waiting != self.waiting;
        self.waiting = waiting;
        let Some(inversion) = step.inversion.filter(|_| begins) else {
            return;
        };
        let tracer = self.tracer();
        let memory = &mut self.memory;
        memory.record.counters.inversions.add(1);
        if let Some(queue) = memory.roster.find(inversion.waiting) {
            tracer.inversion(&inversion, queue, memory.policy.effective(queue));
        }
    }

    /// Starts every queue of the node that is stopped. `Err`: some may still be,
    /// and nothing but another try will start them.
    pub(crate) fn start_all(
        &mut self,
        at: NodeRef<'_>,
        cause: StartAllCause,
    ) -> Result<(), Failure> {
        if !self.check.is_granted() && !self.keeps_any_stopped() {
            return Ok(());
        }
        let (transactions, memory) = (&mut self.transactions, &mut self.memory);
        start_all::start_all(at, transactions, memory, cause)
    }

    /// Looks at a node that may never have been looked at, and starts every queue
    /// that is stopped.
    pub(crate) fn look_and_start_all(&mut self, at: NodeRef<'_>) -> Result<(), Failure> {
        self.look_at(at).map_err(Failure::Away)?;
        self.start_all(at, StartAllCause::Settings)
    }

    /// Starts the stopped queues among those that there is no room to see. Returns
    /// whether it did.
    fn start_beyond(&mut self, at: NodeRef<'_>, now: Nanos) -> bool {
        if self.look.survey.counted().stopped_beyond == 0 || now < self.next_start_beyond {
            return false;
        }
        self.next_start_beyond = now.after(RETRY_FIRST);
        let survey = &self.look.survey;
        let (transactions, memory) = (&mut self.transactions, &mut self.memory);
        let result = start_all::start_beyond(at, transactions, survey, memory);
        if let Err(failure) = result {
            transaction::say_failure(at, failure);
        }
        result.is_ok()
    }

    /// Names what could not be started before the module lets go of the node.
    pub(crate) fn give_up(&self, at: NodeRef<'_>, failure: Failure) {
        start_all::give_up(at, &self.memory.roster, failure);
    }

    /// Forgets the queues, none of which is stopped: nobody looks any more.
    pub(crate) fn rest(&mut self) {
        self.look.survey.clear();
        self.memory.roster.clear();
        self.memory.policy.rest();
        self.last = Step::default();
    }

    /// Forgets the GPU: the driver has let go of it.
    pub(crate) fn forget(&mut self) {
        self.rest();
        self.transactions.forget_hardware();
        self.check.ask_again();
    }
}
