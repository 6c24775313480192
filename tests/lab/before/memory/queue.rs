// SPDX-License-Identifier: GPL-2.0-only
//! What is remembered of a queue. Each part keeps its own rules; here is what
//! concerns more than one of them.

use crate::memory::account::Account;
use crate::memory::figures::Figures;
use crate::memory::patience::Patience;
use crate::memory::phase::Before;
use crate::memory::phase::Booking;
use crate::memory::phase::Phase;
use crate::memory::phase::Start;
use crate::memory::plan::QueuePlan;
use crate::memory::rating::Rating;
use crate::memory::retry::Retry;
use crate::memory::stop::Immunity;
use crate::memory::stop::Stop;
use crate::memory::table::Record;
use crate::memory::table::Slot;
use crate::memory::tenure::Tenure;
use crate::memory::work::Work;
use crate::settings::config::Config;
use crate::settings::limits::Limits;
use crate::terms::decision::Reason;
use crate::terms::observation::Observation;
use crate::terms::observation::ProcessId;
use crate::terms::observation::QueueId;
use crate::terms::observation::QueueState;
use crate::terms::priority::Priority;
use crate::terms::time::Nanos;
use crate::terms::view::QueueView;
use crate::terms::view::Verdict;

/// What is remembered of one queue, or a free place for one.
pub type QueueSlot = Slot<Queue>;

/// What is remembered of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Queue {
    id: QueueId,
    process: ProcessId,
    /// Where its process is in this pass, and probably in the next one.
    process_at: usize,
    /// The pass in which it was last seen.
    pass: u32,
    rating: Rating,
    work: Work,
    phase: Phase,
    tenure: Tenure,
    patience: Patience,
    retry: Retry,
    account: Account,
    figures: Figures,
    plan: QueuePlan,
}

impl Record for Queue {
    fn key(&self) -> u64 {
        self.id.0
    }
}

impl Queue {
    /// A queue that was not there in the pass before this one.
    pub(crate) fn new(now: Nanos, pass: u32, virtual_floor: Nanos, seen: &Observation) -> Queue {
        Queue {
            id: seen.queue,
            pass: pass.wrapping_sub(1),
            work: Work::new(now, seen),
            account: Account::new(now, virtual_floor),
            figures: Figures::new(now),
            ..Queue::default()
        }
    }

    #[inline]
    pub(crate) fn id(&self) -> QueueId {
        self.id
    }

    #[inline]
    pub(crate) fn process(&self) -> ProcessId {
        self.process
    }

    #[inline]
    pub(crate) fn process_at(&self) -> usize {
        self.process_at
    }

    /// The priority that counts.
    #[inline]
    pub(crate) fn effective(&self) -> Priority {
        self.rating.effective()
    }

    /// It takes part.
    #[inline]
    pub(crate) fn contends(&self) -> bool {
        self.rating.contends()
    }

    #[inline]
    pub(crate) fn rating(&self) -> &Rating {
        &self.rating
    }

    #[inline]
    pub(crate) fn work(&self) -> &Work {
        &self.work
    }

    #[inline]
    pub(crate) fn phase(&self) -> &Phase {
        &self.phase
    }

    pub(crate) fn tenure(&self) -> &Tenure {
        &self.tenure
    }

    pub(crate) fn patience(&self) -> &Patience {
        &self.patience
    }

    pub(crate) fn retry_at(&self) -> Nanos {
        self.retry.at()
    }

    #[inline]
    pub(crate) fn account(&self) -> &Account {
        &self.account
    }

    pub(crate) fn account_mut(&mut self) -> &mut Account {
        &mut self.account
    }

    pub(crate) fn plan(&self) -> &QueuePlan {
        &self.plan
    }

    pub(crate) fn plan_mut(&mut self) -> &mut QueuePlan {
        &mut self.plan
    }

    /// It was seen in this pass.
    #[inline]
    pub(crate) fn was_seen_in(&self, pass: u32) -> bool {
        self.pass == pass
    }

    /// Takes in whose it is and what it is worth in this pass.
    #[inline]
    pub(crate) fn meet(&mut self, pass: u32, config: &Config<'_>, seen: &Observation) {
        self.pass = pass;
        self.process = seen.process;
        self.rating.update(config, seen);
    }

    /// Its process is at this place. Without an account of its process it may not
    /// take part.
    #[inline]
    pub(crate) fn join(&mut self, process_at: usize) {
        self.process_at = process_at;
        if process_at == usize::MAX {
            self.rating.exclude();
        }
    }

    /// Takes in what is seen if it is idle, was so in the last pass, and nothing
    /// has changed.
    #[inline]
    pub(crate) fn stays_idle(&mut self, seen: &Observation) -> bool {
        let idle = self.work.still_idle(seen);
        if idle {
            self.work.stay_idle(seen);
        }
        idle
    }

    /// Takes in what is seen. `true`: something other than the policy
    /// started it.
    pub(crate) fn take_in(
        &mut self,
        now: Nanos,
        config: &Config<'_>,
        limits: &Limits,
        seen: &Observation,
    ) -> bool {
        self.rating.update_timeslice(config, seen);
        let before = self.verdict();
        let booking = self.phase.follow(seen.state);
        if seen.state == QueueState::StoppedByUs {
            self.patience.see_stopped(seen.waves);
        }
        self.book(now, limits, booking);
        self.work.take_in(now, limits, seen, self.phase.is_free());
        if self.work.alive() == now {
            self.patience.see_life();
        }
        if self.verdict() != before {
            self.figures.changed(now);
        }
        matches!(booking, Booking::Healed(..))
    }

    /// Books what a change of the phase has brought.
    fn book(&mut self, now: Nanos, limits: &Limits, booking: Booking) {
        match booking {
            Booking::Nothing => {}
            Booking::PutOff => self.put_stop_off(now, limits.retry),
            Booking::Confirmed => self.retry.succeeded(),
            Booking::Started(immunity) => self.run(now, limits, immunity),
            Booking::Resumed(immunity) => {
                self.account.begin_turn(now);
                self.run(now, limits, immunity);
            }
            Booking::Healed(since, immunity) => {
                self.figures.book_stop(now, since);
                self.account.begin_turn(now);
                self.run(now, limits, immunity);
            }
            Booking::TakenOver(since) => self.figures.book_stop(now, since),
        }
    }

    /// It runs again from now on.
    fn run(&mut self, now: Nanos, limits: &Limits, immunity: Immunity) {
        self.retry.forget();
        self.patience.resume(now, limits);
        self.tenure.begin(now, immunity);
        self.work.begin_grace(now);
    }

    /// It was seen to run in the last pass and is offered to the hardware in this
    /// one.
    pub(crate) fn book_run(&mut self, ran: Nanos) {
        self.figures.book_run(ran);
    }

    /// It is stopped from now on, as far as the policy is concerned.
    pub(crate) fn begin_stop(&mut self, stop: Stop) {
        self.phase = if stop.is_dry() {
            Phase::Stopped(stop)
        } else {
            self.patience
                .begin_stop(self.work.waves(), self.work.backlog() > 0);
            Phase::Stopping(stop)
        };
        self.work.disturb();
        self.figures.count_stop();
        self.figures.changed(stop.since());
    }

    /// The stop was not carried out, since nothing had to or could be done.
    pub(crate) fn refuse_stop(&mut self, now: Nanos, retry: Nanos) {
        if matches!(self.phase, Phase::Stopping(_)) {
            self.phase = Phase::Free;
            self.put_stop_off(now, retry);
        }
    }

    /// A stop was not carried out and is not tried again for a while.
    fn put_stop_off(&mut self, now: Nanos, retry: Nanos) {
        self.patience.forget_stop();
        self.retry.put_off(now, retry);
    }

    /// A start is decided; it is tried again after a while.
    pub(crate) fn begin_start(&mut self, now: Nanos, limits: &Limits, reason: Reason) {
        let mut stop = match self.phase {
            Phase::Starting(start) => *start.stop(),
            Phase::Stopped(stop) => {
                self.end_stop(now, Some(stop.since()));
                stop
            }
            Phase::Orphan(before) => {
                let since = match before {
                    Before::Stopped(stop) => Some(stop.since()),
                    Before::Free | Before::Starting(_) | Before::Held(_) => None,
                };
                self.end_stop(now, since);
                Stop::found(now)
            }
            // There is nothing to start.
            Phase::Free | Phase::Stopping(_) | Phase::Held(_) => return,
        };
        if reason == Reason::Bound {
            stop.earn(Immunity(self.rating.timeslice().max(limits.min_run)));
        }
        let tried_before = self.phase.is_starting();
        self.phase = Phase::Starting(Start::new(stop, reason));
        if !tried_before {
            self.figures.changed(now);
        }
        self.retry.put_off(now, limits.retry);
    }

    /// A stop that has lasted since this time is over, and its turn begins.
    fn end_stop(&mut self, now: Nanos, since: Option<Nanos>) {
        if let Some(since) = since {
            self.figures.book_stop(now, since);
        }
        self.account.begin_turn(now);
        self.retry.succeeded();
    }

    /// A start that failed is not tried again before this time.
    pub(crate) fn postpone_start(&mut self, until: Nanos) {
        if matches!(self.phase, Phase::Starting(_)) {
            self.retry.wait_until(until);
        }
    }

    /// Forgets that we stopped it.
    pub(crate) fn forget_stop(&mut self, now: Nanos) {
        if let Phase::Stopped(stop) = self.phase {
            self.figures.book_stop(now, stop.since());
        }
        self.phase = Phase::Free;
        self.patience.forget_stop();
    }

    /// An orphan whose process is stopped is stopped with it.
    pub(crate) fn adopt(&mut self, now: Nanos, since: Nanos) {
        let immunity = self.phase.immunity();
        self.phase = Phase::Stopped(Stop::inherited(now, since, immunity));
    }

    /// It stays stopped for this queue.
    pub(crate) fn stay_stopped_for(&mut self, queue: QueueId, process: ProcessId) {
        if let Some(stop) = self.phase.stop_mut() {
            stop.serve(queue, process);
        }
    }

    /// A queue surely wants it to stay stopped. Returns for how long none did, if none
    /// did in the last look.
    pub(crate) fn renew_stop(&mut self, now: Nanos) -> Option<Nanos> {
        self.phase.stop_mut()?.renew(now)
    }

    /// No queue wants it to stay stopped.
    pub(crate) fn calm_stop(&mut self) {
        if let Some(stop) = self.phase.stop_mut() {
            stop.calm();
        }
    }

    /// It stays stopped for whichever queue its process does.
    pub(crate) fn follow_process(&mut self, queue: QueueId, process: ProcessId) {
        if let Some(stop) = self.phase.stop_mut() {
            stop.serve(queue, process);
        }
    }

    /// The queue that it is, or was, stopped for.
    pub(crate) fn beneficiary(&self) -> Option<QueueId> {
        self.phase.stop().and_then(Stop::beneficiary)
    }

    /// The end of its stop is put down to this queue.
    pub(crate) fn attribute_stop(&mut self, beneficiary: Option<QueueId>) {
        if let Some(stop) = self.phase.stop_mut() {
            stop.attribute(beneficiary);
        }
    }

    /// Its doubtful launch was finished.
    pub(crate) fn settle_doubt(&mut self, now: Nanos) {
        self.work.settle_doubt(now);
    }

    /// It wants the GPU, or would if we had not stopped it.
    pub(crate) fn matters(&self) -> bool {
        self.work.wants() || self.phase.is_ours()
    }

    /// It was seen to run, or nothing indicates otherwise.
    pub(crate) fn seems_to_run(&self, now: Nanos, limits: &Limits) -> bool {
        matches!(self.phase, Phase::Free | Phase::Orphan(Before::Free))
            && self.work.seems_to_run(now, limits)
    }

    /// We stopped it and have to start it, or it was found stopped.
    #[inline]
    pub(crate) fn is_really_stopped(&self) -> bool {
        self.phase.is_ours() || self.phase.is_orphan()
    }

    /// A start will have to be decided or is awaited, be it in `mode=observe`.
    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_really_stopped() || matches!(self.phase, Phase::Stopped(_))
    }

    /// What the policy makes of it.
    pub(crate) fn verdict(&self) -> Verdict {
        match self.phase {
            Phase::Stopping(_) | Phase::Stopped(_) | Phase::Orphan(Before::Stopped(_)) => {
                Verdict::Stopped
            }
            Phase::Starting(_) | Phase::Orphan(Before::Starting(_)) => Verdict::Starting,
            Phase::Held(_) | Phase::Orphan(Before::Held(_)) => Verdict::Held,
            Phase::Free | Phase::Orphan(Before::Free) => {
                if self.work.is_stalled() {
                    Verdict::Stalled
                } else if self.work.is_busy() {
                    Verdict::Running
                } else {
                    Verdict::Idle
                }
            }
        }
    }

    /// The queue for a table to read.
    pub(crate) fn view(&self) -> QueueView {
        QueueView {
            queue: self.id,
            process: self.process,
            effective: self.rating.effective(),
            contends: self.rating.contends(),
            verdict: self.verdict(),
            since: self.figures.since(),
            beneficiary: self.phase.lasting_stop().and_then(Stop::beneficiary),
            stops: self.figures.stops(),
            stopped: self.figures.stopped(),
            ran: self.figures.ran(),
        }
    }

    /// A queue for tests, with a rating.
    #[cfg(test)]
    pub(crate) fn rated(rating: Rating) -> Queue {
        Queue {
            rating,
            ..Queue::default()
        }
    }
}
