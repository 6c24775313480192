// SPDX-License-Identifier: GPL-2.0-only
//! What is remembered of a queue. Each part keeps its own rules; here is what
//! concerns more than one of them.

use crate::parts::backoff::Backoff;
use crate::parts::table::Record;
use crate::parts::table::Slot;
use crate::queue::figures::Figures;
use crate::queue::phase::Before;
use crate::queue::phase::Booking;
use crate::queue::phase::Phase;
use crate::queue::phase::Start;
use crate::queue::rating::Rating;
use crate::queue::stop::Beneficiary;
use crate::queue::stop::Immunity;
use crate::queue::stop::Stop;
use crate::queue::work::Work;
use crate::settings::config::Config;
use crate::settings::limits::Limits;
use crate::terms::decision::Reason;
use crate::terms::observation::Observation;
use crate::terms::observation::ProcessId;
use crate::terms::observation::QueueId;
use crate::terms::observation::Waves;
use crate::terms::priority::Priority;
use crate::terms::time::Nanos;
use crate::terms::view::QueueView;
use crate::terms::view::Verdict;

/// How long a stop or start that led to nothing is not tried again; twice as long each time.
pub(crate) const RETRY: Nanos = Nanos::from_millis(10);

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
    /// It may not be stopped before this time by those against whom its immunity counts.
    immune_until: Nanos,
    immunity: Immunity,
    backoff: Backoff,
    figures: Figures,
    /// Its waves were counted in this pass, and it had none.
    counted_none: bool,
    /// Since when its process has announced a request that it may be for.
    announced: Option<Nanos>,
}

impl Record for Queue {
    fn key(&self) -> u64 {
        self.id.0
    }
}

impl Queue {
    /// A queue that was not there in the pass before this one.
    pub(crate) fn new(now: Nanos, pass: u32, seen: &Observation) -> Queue {
        Queue {
            id: seen.queue,
            pass: pass.wrapping_sub(1),
            work: Work::new(now, seen),
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

    pub(crate) fn work_mut(&mut self) -> &mut Work {
        &mut self.work
    }

    #[inline]
    pub(crate) fn phase(&self) -> &Phase {
        &self.phase
    }

    /// When a stop or start that led to nothing may be tried again.
    pub(crate) fn retry_at(&self) -> Nanos {
        self.backoff.at()
    }

    /// It, as somebody for whom others are stopped.
    pub(crate) fn as_beneficiary(&self) -> Beneficiary {
        Beneficiary {
            queue: self.id,
            process: self.process,
            level: self.effective(),
        }
    }

    /// It was seen in this pass.
    #[inline]
    pub(crate) fn was_seen_in(&self, pass: u32) -> bool {
        self.pass == pass
    }

    /// Takes in whose it is and what it is worth in this pass.
    #[inline]
    pub(crate) fn meet(
        &mut self,
        pass: u32,
        config: &Config<'_>,
        limits: &Limits,
        seen: &Observation,
    ) {
        self.pass = pass;
        self.process = seen.process;
        self.announced = None;
        self.rating.update(config, limits, seen);
        self.counted_none = seen.waves == Waves::Known(0);
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

    /// It is idle, was so in the last pass, and nothing has changed.
    #[inline]
    pub(crate) fn stays_idle(&self, seen: &Observation) -> bool {
        self.phase.is_free() && self.work.still_idle(seen)
    }

    /// Takes in what is seen; `asked` says that waves were to be counted. Returns whether
    /// something other than the policy started it, and whether it makes progress.
    pub(crate) fn take_in(
        &mut self,
        now: Nanos,
        config: &Config<'_>,
        seen: &Observation,
        asked: bool,
    ) -> (bool, bool) {
        self.rating.update_timeslice(config, seen);
        let before = self.verdict(now);
        let booking = self.phase.follow(seen.state);
        let progress = self.work.take_in(now, seen, asked);
        self.book(now, booking);
        if self.verdict(now) != before {
            self.figures.changed(now);
        }
        (matches!(booking, Booking::Healed(..)), progress)
    }

    /// Books what a change of the phase has brought.
    fn book(&mut self, now: Nanos, booking: Booking) {
        match booking {
            Booking::Nothing => {}
            Booking::PutOff => self.backoff.put_off(now, RETRY),
            Booking::Confirmed => self.backoff.succeeded(),
            Booking::Started(immunity) | Booking::Resumed(immunity) => self.run(now, immunity),
            Booking::Healed(since, immunity) => {
                self.figures.book_stop(now, since);
                self.run(now, immunity);
            }
            Booking::TakenOver(since) => self.figures.book_stop(now, since),
        }
    }

    /// It runs again from now on.
    fn run(&mut self, now: Nanos, immunity: Immunity) {
        self.backoff.forget();
        self.immunity = immunity;
        self.immune_until = immunity.until(now);
        self.work.begin_grace(now);
    }

    /// Its waves were counted in this pass and it had none, while nothing more important
    /// than this level had any: its last launch is over.
    pub(crate) fn settle_count(&mut self, now: Nanos, busiest: Option<Priority>) {
        let alone = busiest.is_none_or(|busiest| busiest <= self.effective());
        if self.counted_none && alone {
            self.work.finish(now);
        }
    }

    /// It may not be stopped for a queue of this level, since its stop ended at its bound.
    pub(crate) fn is_immune(&self, now: Nanos, level: Priority) -> bool {
        now < self.immune_until && self.immunity.counts_against(level)
    }

    /// It may not be stopped for some queues yet.
    pub(crate) fn is_immune_at_all(&self, now: Nanos) -> bool {
        now < self.immune_until
    }

    /// It may be stopped for a queue of this level, if that is of another process.
    pub(crate) fn is_stoppable(&self, now: Nanos, level: Priority) -> bool {
        self.contends()
            && !self.rating.is_protected()
            && self.phase.is_free()
            && self.work.is_active()
            && now >= self.backoff.at()
            && !self.is_immune(now, level)
    }

    /// It was seen to run in the last pass and is offered to the hardware in this
    /// one.
    pub(crate) fn book_run(&mut self, ran: Nanos) {
        self.figures.book_run(ran);
    }

    /// It is stopped from now on, as far as the policy is concerned.
    pub(crate) fn begin_stop(&mut self, stop: Stop) {
        self.phase = match stop.is_dry() {
            true => Phase::Stopped(stop),
            false => Phase::Stopping(stop),
        };
        self.figures.count_stop();
        self.figures.changed(stop.since());
    }

    /// The stop was not carried out, since nothing had to or could be done.
    pub(crate) fn refuse_stop(&mut self, now: Nanos) {
        if matches!(self.phase, Phase::Stopping(_)) {
            self.phase = Phase::Free;
            self.backoff.put_off(now, RETRY);
        }
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
            stop.earn(self.rating.timeslice().max(limits.min_run));
        }
        let tried_before = self.phase.is_starting();
        self.phase = Phase::Starting(Start::new(stop, reason));
        if !tried_before {
            self.figures.changed(now);
        }
        self.backoff.put_off(now, RETRY);
    }

    /// A stop that has lasted since this time is over.
    fn end_stop(&mut self, now: Nanos, since: Option<Nanos>) {
        if let Some(since) = since {
            self.figures.book_stop(now, since);
        }
        self.backoff.succeeded();
    }

    /// A start that failed is not tried again before this time.
    pub(crate) fn postpone_start(&mut self, until: Nanos) {
        if matches!(self.phase, Phase::Starting(_)) {
            self.backoff.wait_until(until);
        }
    }

    /// Forgets that we stopped it.
    pub(crate) fn forget_stop(&mut self, now: Nanos) {
        if let Phase::Stopped(stop) = self.phase {
            self.figures.book_stop(now, stop.since());
        }
        self.phase = Phase::Free;
    }

    /// It stays stopped for this one, or the end of its stop is put down to it.
    pub(crate) fn serve(&mut self, beneficiary: Beneficiary) {
        if let Some(stop) = self.phase.stop_mut() {
            stop.serve(beneficiary);
        }
    }

    /// Its process has announced a request since this time, and it is idle.
    pub(crate) fn announce(&mut self, since: Nanos) {
        self.announced = Some(since);
    }

    /// Since when its process has announced a request that it may be for.
    #[inline]
    pub(crate) fn announced(&self) -> Option<Nanos> {
        self.announced
    }

    /// It has nothing to do, and would run if it had.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.phase.is_free() && self.work.is_active() && !self.work.has_any()
    }

    /// It wants the GPU, or would if we had not stopped it. `ending`: a last launch whose
    /// end was not seen counts.
    pub(crate) fn wants(&self, now: Nanos, ending: bool) -> bool {
        let offered = self.work.is_active() || self.is_stopped();
        let ending = ending && self.work.is_active();
        offered && (self.announced.is_some() || self.work.wants(now, ending))
    }

    /// It runs if it has something to run, and something of it may be on the GPU.
    pub(crate) fn is_busy(&self, now: Nanos) -> bool {
        self.phase.is_free() && self.work.is_active() && self.work.works(now)
    }

    /// Since when it has waited for the compute units for longer than the grace.
    pub(crate) fn waits(&self, now: Nanos, limits: &Limits) -> Option<Nanos> {
        if let Some(since) = self.announced {
            return Some(since);
        }
        if !self.phase.is_free() || !self.work.is_active() {
            return None;
        }
        match self.work.waits_since() {
            Some(since) if now.since(since) >= limits.grace && since < now => Some(since),
            _ if self.work.lacks_room() => Some(self.work.moved()),
            _ => None,
        }
    }

    /// When it will have waited for the grace, if it has not yet.
    pub(crate) fn settles_at(&self, now: Nanos, limits: &Limits) -> Option<Nanos> {
        let since = self.work.waits_since()?;
        let settles = since.after(limits.grace);
        let runs = self.phase.is_free() && self.work.is_active();
        (runs && (settles > now || since == now)).then_some(settles)
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
    pub(crate) fn verdict(&self, now: Nanos) -> Verdict {
        match self.phase {
            Phase::Stopping(_) | Phase::Stopped(_) | Phase::Orphan(Before::Stopped(_)) => {
                Verdict::Stopped
            }
            Phase::Starting(_) | Phase::Orphan(Before::Starting(_)) => Verdict::Starting,
            Phase::Held(_) | Phase::Orphan(Before::Held(_)) => Verdict::Held,
            Phase::Free | Phase::Orphan(Before::Free) => {
                let waits = self.work.waits_since().is_some_and(|since| since < now);
                if waits && !self.work.works_beside_waiting(now) {
                    Verdict::Stalled
                } else if self.work.works(now) {
                    Verdict::Running
                } else {
                    Verdict::Idle
                }
            }
        }
    }

    /// The queue for a table to read.
    pub(crate) fn view(&self, now: Nanos) -> QueueView {
        let beneficiary = self.phase.lasting_stop().and_then(Stop::beneficiary);
        QueueView {
            queue: self.id,
            process: self.process,
            effective: self.rating.effective(),
            contends: self.rating.contends(),
            verdict: self.verdict(now),
            since: self.figures.since(),
            beneficiary: beneficiary.map(|beneficiary| beneficiary.queue),
            stops: self.figures.stops(),
            stopped: self.figures.stopped(),
            ran: self.figures.ran(),
        }
    }
}

#[cfg(test)]
mod tests;
