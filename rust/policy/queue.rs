// SPDX-License-Identifier: GPL-2.0-only
//! What is remembered of a queue. Each part keeps its own rules; here is what
//! concerns more than one of them.

pub(crate) mod phase;
pub(crate) mod rating;
pub(crate) mod work;

use crate::parts::table::Slot;
use crate::queue::phase::{Booking, Phase, Stop, Who};
use crate::queue::rating::Rating;
use crate::queue::work::Work;
use crate::settings::{Config, Limits};
use crate::terms::{
    Nanos, Observation, Priority, ProcessId, QueueId, QueueView, Reason, Verdict, Waves,
};

/// How long a stop or start that led to nothing is not tried again; twice as long each time.
/// What kept it from being carried out, a debugger or an eviction, lasts longer than a pass.
pub(crate) const RETRY: Nanos = Nanos::from_millis(10);

/// The longest of these pauses: something that holds so long is no concern of the next pass.
const RETRY_MOST: Nanos = RETRY.times(64);

/// What is remembered of one queue, or a free place for one.
pub type QueueSlot = Slot<Queue>;

/// What is remembered of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Queue {
    pub(crate) id: QueueId,
    pub(crate) process: ProcessId,
    /// Where its process is in this pass, and probably in the next one.
    pub(crate) process_at: usize,
    /// The pass in which it was last seen.
    pub(crate) pass: u32,
    pub(crate) rating: Rating,
    pub(crate) work: Work,
    pub(crate) phase: Phase,
    /// Before this time it may not be stopped for a queue of this level or a lower one.
    immune: (Nanos, Priority),
    /// How long it will be immune once it is seen to run, and up to which level.
    earned: (Nanos, Priority),
    /// When a stop or start that led to nothing may be tried again, and how many there were.
    pub(crate) retry_at: Nanos,
    retries: u32,
    /// Its waves were counted in this pass, and it had none.
    counted_none: bool,
    /// Since when its process has announced a request that it may be for.
    pub(crate) announced: Option<Nanos>,
    /// For tables: since when the verdict on it has been what it is, how often and for how
    /// long it was stopped, and how long it was seen running.
    since: Nanos,
    stops: u64,
    stopped: Nanos,
    pub(crate) ran: Nanos,
}

impl Queue {
    /// A queue that was not there in the pass before this one.
    pub(crate) fn new(now: Nanos, pass: u32, seen: &Observation) -> Queue {
        Queue {
            id: seen.queue,
            pass: pass.wrapping_sub(1),
            work: Work::new(now, seen),
            since: now,
            ..Queue::default()
        }
    }

    /// It, at this place, as somebody for whom others may be stopped.
    pub(crate) fn who(&self, at: usize) -> Who {
        Who {
            queue: self.id,
            process: self.process,
            level: self.rating.level,
            at,
            process_at: self.process_at,
        }
    }

    /// Takes in whose it is and what it is worth in this pass.
    pub(crate) fn meet(&mut self, pass: u32, config: &Config, seen: &Observation) {
        self.pass = pass;
        self.process = seen.process;
        self.announced = None;
        self.rating = Rating::new(config, seen);
        self.counted_none = seen.waves == Waves::Known(0);
    }

    /// Its process is at this place. Without an account of its process it may not
    /// take part.
    pub(crate) fn join(&mut self, process_at: usize) {
        self.process_at = process_at;
        self.rating.contends &= process_at != usize::MAX;
    }

    /// It is idle, was so in the last pass, and nothing has changed.
    pub(crate) fn stays_idle(&self, seen: &Observation) -> bool {
        self.phase == Phase::Free && self.work.still_idle(seen)
    }

    /// Takes in what is seen; `asked` says that waves were to be counted. Returns whether
    /// something other than the policy started it, and whether it makes progress.
    pub(crate) fn take_in(&mut self, now: Nanos, seen: &Observation, asked: bool) -> (bool, bool) {
        let before = self.verdict(now);
        let booking = self.phase.follow(seen.state);
        let progress = self.work.take_in(now, seen, asked);
        match booking {
            Booking::Nothing => {}
            Booking::PutOff => self.put_off(now),
            Booking::Runs => self.run(now),
            Booking::Healed(since) => {
                self.book_stop(now, since);
                self.run(now);
            }
            Booking::TakenOver(since) => self.book_stop(now, since),
        }
        if self.verdict(now) != before {
            self.since = now;
        }
        (matches!(booking, Booking::Healed(_)), progress)
    }

    /// It runs again from now on.
    fn run(&mut self, now: Nanos) {
        (self.retry_at, self.retries) = (Nanos::ZERO, 0);
        let (length, level) = core::mem::take(&mut self.earned);
        self.immune = (now.after(length), level);
        // It has waited for nothing so far: it could not run.
        self.work.waits_since = self.work.waits_since.map(|_| now);
    }

    /// Books a stop that ends now.
    fn book_stop(&mut self, now: Nanos, since: Nanos) {
        self.stopped = self.stopped.after(now.since(since));
    }

    /// What was decided led to nothing, or may: it is not tried again for a while.
    fn put_off(&mut self, now: Nanos) {
        self.retry_at = now.after(RETRY.doubled(self.retries, RETRY_MOST));
        self.retries = self.retries.saturating_add(1);
    }

    /// Its waves were counted in this pass and it had none, while nothing more important
    /// than this level had any: its last launch is over.
    pub(crate) fn settle_count(&mut self, now: Nanos, busiest: Option<Priority>) {
        let alone = busiest.is_none_or(|busiest| busiest <= self.rating.level);
        if self.counted_none && alone {
            self.work.finish(now);
        }
    }

    /// It may not be stopped yet for a queue of this level, since its stop ended at its bound.
    pub(crate) fn is_immune(&self, now: Nanos, level: Priority) -> bool {
        now < self.immune.0 && level <= self.immune.1
    }

    /// It may be stopped for a queue of this level, if that is of another process.
    pub(crate) fn is_stoppable(&self, now: Nanos, level: Priority) -> bool {
        self.rating.contends
            && !self.rating.protected
            && self.runs()
            && now >= self.retry_at
            && !self.is_immune(now, level)
    }

    /// It is stopped from now on, as far as the policy is concerned.
    pub(crate) fn begin_stop(&mut self, stop: Stop) {
        self.phase = match stop.dry {
            true => Phase::Stopped(stop),
            false => Phase::Stopping(stop),
        };
        self.stops = self.stops.saturating_add(1);
        self.since = stop.since;
    }

    /// What was decided was not carried out, since nothing had to be done, or could be. What
    /// passes by itself is tried again soon, however often it comes: whoever halts KFD again
    /// and again is not to find the starts of others further and further apart.
    pub(crate) fn refuse(&mut self, now: Nanos, passes: bool) {
        self.retries = if passes { 0 } else { self.retries };
        if matches!(self.phase, Phase::Stopping(_)) {
            self.phase = Phase::Free;
            self.put_off(now);
        }
    }

    /// The stop that a start ends; that of an orphan is not remembered.
    pub(crate) fn stop_to_end(&self, since: Nanos) -> Stop {
        self.phase.stop().copied().unwrap_or(Stop {
            since,
            ..Stop::default()
        })
    }

    /// A start is decided; it is tried again after a while.
    pub(crate) fn begin_start(&mut self, now: Nanos, limits: &Limits, reason: Reason) {
        let stop = self.stop_to_end(now);
        if !matches!(self.phase, Phase::Starting(..)) {
            self.book_stop(now, stop.since);
            (self.since, self.retries) = (now, 0);
        }
        if reason == Reason::Bound {
            // It is left to run for a while by all up to the level that it was stopped for.
            let level = stop.beneficiary.map(|beneficiary| beneficiary.level);
            let length = self.rating.timeslice.max(limits.min_run);
            self.earned = (length, level.unwrap_or(Priority::HIGHEST));
        }
        self.phase = Phase::Starting(stop, reason);
        self.put_off(now);
    }

    /// Forgets that we stopped it.
    pub(crate) fn forget_stop(&mut self, now: Nanos) {
        if let Phase::Stopped(stop) = self.phase {
            self.book_stop(now, stop.since);
        }
        self.phase = Phase::Free;
        self.earned = Default::default();
    }

    /// It runs if it has something to run.
    pub(crate) fn runs(&self) -> bool {
        self.phase == Phase::Free && self.work.active
    }

    /// It wants the GPU, or would if we had not stopped it. `ending`: a last launch whose
    /// end was not seen counts.
    pub(crate) fn wants(&self, now: Nanos, ending: bool) -> bool {
        let ending = ending && self.work.active;
        (self.work.active || self.is_stopped())
            && (self.announced.is_some() || self.work.wants(now, ending))
    }

    /// It runs, and something of it may be on the GPU.
    pub(crate) fn is_busy(&self, now: Nanos) -> bool {
        self.runs() && self.work.works(now)
    }

    /// Since when it has waited for the compute units for longer than the grace.
    pub(crate) fn waits(&self, now: Nanos, limits: &Limits) -> Option<Nanos> {
        if self.announced.is_some() || !self.runs() {
            return self.announced;
        }
        match self.work.waits_since {
            Some(since) if now.since(since) >= limits.grace && since < now => Some(since),
            _ if self.work.lacks_room => Some(self.work.moved),
            _ => None,
        }
    }

    /// When it will have waited for the grace, if it has not yet.
    pub(crate) fn settles_at(&self, now: Nanos, limits: &Limits) -> Option<Nanos> {
        let since = self.work.waits_since.filter(|_| self.runs())?;
        let settles = since.after(limits.grace);
        (settles > now || since == now).then_some(settles)
    }

    /// We stopped it and have to start it, or it was found stopped.
    pub(crate) fn is_really_stopped(&self) -> bool {
        self.phase.is_ours() || self.phase == Phase::Orphan
    }

    /// A start will have to be decided or is awaited, be it in `mode=observe`.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_really_stopped() || matches!(self.phase, Phase::Stopped(_))
    }

    /// What the policy makes of it.
    pub(crate) fn verdict(&self, now: Nanos) -> Verdict {
        match self.phase {
            Phase::Stopping(_) | Phase::Stopped(_) | Phase::Orphan => Verdict::Stopped,
            Phase::Starting(..) => Verdict::Starting,
            Phase::Held => Verdict::Held,
            Phase::Free => {
                let waits = self.work.waits_since.is_some_and(|since| since < now);
                if waits && !self.work.works_beside_waiting(now) {
                    Verdict::Waiting
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
        let beneficiary = self.phase.lasting_stop().and_then(|stop| stop.beneficiary);
        QueueView {
            queue: self.id,
            process: self.process,
            effective: self.rating.level,
            contends: self.rating.contends,
            verdict: self.verdict(now),
            since: self.since,
            beneficiary: beneficiary.map(|beneficiary| beneficiary.queue),
            stops: self.stops,
            stopped: self.stopped,
            ran: self.ran,
        }
    }
}

#[cfg(test)]
mod tests;
