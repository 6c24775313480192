// SPDX-License-Identifier: GPL-2.0-only

//! The transactions on a node: decisions made into requests, what became of these,
//! and what a failed transaction leaves behind.

use crate::node::{
    memory::Memory,
    node_ref::NodeRef,
    record::Counters,
    roster::Roster,
    unanswered::Unanswered,
    unwritten::{Found, Unwritten},
};
use gpreempt_policy::{Nanos, QUEUE_SLOTS, RETRY_LONGEST};
use kernel::prelude::*;
use kfd::{
    act::{
        failure::Failure,
        transaction::{report_misfit, HandedOver, Orders, Requests, Transacted},
    },
    kernel::clock,
    look::survey::Survey,
};

/// The transactions on a node.
pub(crate) struct Transactions {
    pub(crate) requests: Requests,
    /// A transaction of ours has left the queues off the hardware.
    pub(crate) off_hardware: bool,
    /// Why the last transaction that failed did so, until an operator arms the node.
    pub(crate) last_failure: Option<Failure>,
    /// The log says already that the driver's lists do not fit together.
    said_misfit: bool,
    /// The log says already that an unmapping of our own was left to the driver's.
    said_handed_over: bool,
    /// How long the last transaction took.
    took: Option<Nanos>,
    /// How long was waited for packets that are being written.
    unwritten: Unwritten,
    /// Until then every unmapping is the driver's.
    driver_until: Nanos,
    /// Whether the firmware would answer.
    pub(crate) unanswered: Unanswered,
}

impl Transactions {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            requests: Requests::new(QUEUE_SLOTS)?,
            off_hardware: false,
            last_failure: None,
            said_misfit: false,
            said_handed_over: false,
            took: None,
            unwritten: Unwritten::default(),
            driver_until: Nanos::ZERO,
            unanswered: Unanswered::default(),
        })
    }

    /// Whether the queues are off the hardware because of us, or may be.
    pub(crate) fn may_be_off(&self) -> bool {
        self.off_hardware || self.unanswered.may_be_off()
    }

    /// Forgets why a transaction failed: an operator has armed the node.
    pub(crate) fn forget_failure(&mut self) {
        self.last_failure = None;
        self.unanswered.end_pause();
    }

    /// Forgets what was left off the hardware: the driver has let go of it.
    pub(crate) fn forget_hardware(&mut self) {
        self.off_hardware = false;
        self.unanswered = Unanswered::default();
    }

    /// Carries out the decisions that are more than observed, when no program is writing
    /// packets or none is waited for any more. What became of each decision,
    /// [`Requests::done`] tells, also after a failure: edits made before it stay.
    pub(crate) fn carry_out(
        &mut self,
        at: NodeRef<'_>,
        memory: &mut Memory,
        any_unwritten: impl FnMut() -> bool,
    ) -> Result<(), Failure> {
        let Memory { policy, roster, .. } = memory;
        let asked = policy.decisions().iter().filter(|made| made.apply);
        self.requests.fill(asked.filter_map(|decision| {
            let queue = roster.find(decision.queue)?;
            Some((queue.key, decision.action))
        }));
        if self.requests.is_empty() {
            return Ok(());
        }
        let counters = &mut memory.record.counters;
        match self.unwritten.wait(self.took, any_unwritten) {
            Found::Written => {}
            Found::WaitedFor => counters.waited_for.add(1),
            Found::Unwritten => counters.unwritten.add(1),
        }
        self.transact(at, memory, |requests, _| requests.each())
    }

    /// Sends orders, and books what became of them.
    fn transact(
        &mut self,
        at: NodeRef<'_>,
        memory: &mut Memory,
        orders: impl for<'r> FnOnce(&'r mut Requests, &Roster) -> Orders<'r>,
    ) -> Result<(), Failure> {
        let backend = match clock::now() < self.driver_until {
            true => at.backend.by_driver(),
            false => at.backend,
        };
        let at = NodeRef { backend, ..at };
        let mut orders = orders(&mut self.requests, &memory.roster);
        let result = self.unanswered.send(at, &mut orders);
        let (started, handed_over) = (orders.started(), orders.handed_over());
        memory.record.counters.starts.add(started);
        memory.record.counters.handed_over.add(handed_over.times);
        self.heed_handed_over(at, handed_over);
        self.book(result, memory)
    }

    /// After an unmapping of our own was left to the driver's, so are all for a while:
    /// each try costs the driver's own time limit, with nothing on the GPU.
    fn heed_handed_over(&mut self, at: NodeRef<'_>, handed_over: HandedOver) {
        let Some(why) = handed_over.why else {
            return;
        };
        self.driver_until = clock::now().after(RETRY_LONGEST);
        if !self.said_handed_over {
            self.said_handed_over = true;
            pr_warn!(
                "{}: transaction=direct: {}: the driver's own unmapping followed, and is used for a while; this is said once\n",
                at,
                why.why()
            );
        }
    }

    /// Starts every queue of the node that is stopped, remembered or not, in one
    /// transaction. See [`Requests::start_all`].
    pub(crate) fn start_all(
        &mut self,
        at: NodeRef<'_>,
        memory: &mut Memory,
    ) -> Result<(), Failure> {
        self.transact(at, memory, |requests, roster| {
            requests.start_all(roster.stopped())
        })
    }

    /// Starts every queue of the node that is stopped and was not in view at the last
    /// look.
    pub(crate) fn start_beyond(
        &mut self,
        at: NodeRef<'_>,
        survey: &Survey,
        memory: &mut Memory,
    ) -> Result<(), Failure> {
        let in_view = survey.queues().iter().map(|seen| seen.facts.key);
        self.transact(at, memory, |requests, _| requests.start_beyond(in_view))
    }

    /// Puts what should run back on the hardware, if a transaction may have left it off.
    /// Otherwise nothing would but the next change that the driver makes itself.
    pub(crate) fn put_back(&mut self, at: NodeRef<'_>, memory: &mut Memory) -> Result<(), Failure> {
        if !self.may_be_off() {
            return Ok(());
        }
        let result = self.transact(at, memory, |requests, _| requests.put_back());
        if !self.may_be_off() {
            pr_info!("{}: the queues are back on the GPU\n", at);
        }
        result
    }

    /// Has the driver count queues that were given GWS while they were stopped. It has
    /// set them running, and they are not stopped again.
    pub(crate) fn count_gws(
        &mut self,
        at: NodeRef<'_>,
        survey: &Survey,
        memory: &mut Memory,
    ) -> Result<(), Failure> {
        if !survey.counted().uncounted_gws {
            return Ok(());
        }
        self.transact(at, memory, |requests, _| requests.count_gws())
    }

    /// Books a transaction and how long it took, if there was one.
    fn book(&mut self, result: Transacted, memory: &mut Memory) -> Result<(), Failure> {
        let counters = &mut memory.record.counters;
        match result {
            Ok(None) => return Ok(()),
            Ok(Some(timing)) => {
                self.off_hardware = false;
                let took = timing.total();
                memory.policy.scheduler.transaction_took(took);
                self.took = Some(took);
                let latencies = &mut memory.record.latencies;
                latencies.unmap.add(timing.unmap);
                latencies.edit.add(timing.edit);
                latencies.map.add(timing.map);
            }
            Err(failure) => {
                self.off_hardware = match failure {
                    Failure::Map(_) => true,
                    Failure::Inexact => false,
                    _ => self.off_hardware && !failure.is_rebuilt(),
                };
                // A misfit comes up at every try for as long as it lasts.
                let known = failure == Failure::Misfit && self.said_misfit;
                if !failure.is_passing() && failure != Failure::Unanswered && !known {
                    counters.failures.add(1);
                    self.last_failure = Some(failure);
                }
            }
        }
        if result.map_or_else(Failure::was_sent, |_| true) {
            counters.transactions.add(1);
        }
        result.map(|_| ())
    }

    /// Whether the driver's lists fit together. What does not is said once, and
    /// counts as one failure: nothing is stopped then.
    pub(crate) fn fits(
        &mut self,
        at: NodeRef<'_>,
        survey: &Survey,
        counters: &mut Counters,
    ) -> bool {
        let fits = survey.census().fits();
        if !fits && !self.said_misfit {
            counters.failures.add(1);
            report_misfit(at.gpu, at.index, survey.census(), "nothing is stopped");
        }
        self.said_misfit = !fits;
        fits
    }

    /// Notes that the driver's lists fit together.
    pub(crate) fn forget_misfit(&mut self) {
        self.said_misfit = false;
    }

    /// Looks at the driver's lists and says once what does not fit: whoever has to
    /// start everything tries again soon, and for as long as that lasts.
    pub(crate) fn say_inexact(&mut self, at: NodeRef<'_>) {
        if self.said_misfit {
            return;
        }
        let _ = at.with(|node| {
            let census = node.lock().census();
            self.said_misfit = !census.fits();
            report_misfit(at.gpu, at.index, &census, "nothing is started");
        });
    }
}

/// Says in the log why a transaction failed, unless that passes by itself or is said
/// already.
pub(crate) fn say_failure(at: NodeRef<'_>, failure: Failure) {
    if !failure.is_passing() && failure != Failure::Unanswered {
        pr_warn!("{}: {} (errno {})\n", at, failure.why(), failure.errno());
    }
}
