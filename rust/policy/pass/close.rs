// SPDX-License-Identifier: GPL-2.0-only
//! The end of a pass: what it amounts to, and when to look again.

use crate::pass::stop::EXPECT;
use crate::pass::Pass;
use crate::settings::{Config, Limits, Mode};
use crate::terms::{count, Arming, Nanos, Step};

/// How much of an interval between looks each queue takes at least, so that looking at
/// hundreds of queues leaves its thread time to rest.
const EACH: Nanos = Nanos(500);

/// The most intervals between two looks that a rest takes.
const INTERVALS: u64 = 10;

impl Pass<'_> {
    /// Sums up the pass and says when to look again.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn close(&mut self) {
        // Counted last: what is stopped in this pass goes into the same
        // transaction.
        if self.tally.stopped > 0 || self.step.decisions > 0 {
            self.tally.stopped = 0;
            for queue in self.queues.iter().filter(|queue| queue.is_stopped()) {
                count(&mut self.tally.stopped);
                if queue.is_really_stopped() {
                    count(&mut self.step.stopped);
                }
            }
        }
        let watch = self.tally.stopped > 0 || self.step.stopped > 0;
        let contested = self.is_contested();
        self.ask(watch, contested);
        self.step.ask_waves = self.node.questions.asks;
        self.step.next_look = self.next_look(watch, contested);
        self.step.bound = Some(self.tally.bound).filter(|&bound| bound != Nanos::NEVER);
        // What changed the mode waits until nothing is stopped.
        self.node.releasing &= self.tally.stopped > 0;
        self.node.queues = self.queues.len();
        self.node.processes = self.processes.len();
        self.node.tenants = self.tenants.len();
    }

    /// Something that works may be inverted by what somebody above wants, or soon may.
    fn is_contested(&self) -> bool {
        let lowest = self.tally.lowest;
        let mut above = self.levels.iter().skip(lowest.index().saturating_add(1));
        lowest < self.tally.highest || above.any(|one| one.is_lively(self.now, EXPECT))
    }

    /// Whether waves are counted in the next look.
    fn ask(&mut self, watch: bool, contested: bool) {
        let (now, questions) = (self.now, &mut self.node.questions);
        let mut queues = self.queues.iter().filter(|queue| queue.rating.contends);
        if watch && self.tally.stops_for.is_none() {
            // Is the request over?
            questions.asks |= queues.any(|queue| queue.work.may_be_ending());
            return;
        }
        // Somebody may wait for it soon, or all is over and looks may be seldom.
        let (every, since) = match contested {
            true => (self.limits.poll.times(2), Nanos::ZERO),
            false => (EXPECT, EXPECT),
        };
        if queues.any(|one| one.work.is_doubtful(now) && now.since(one.work.moved) >= since) {
            questions.check(now, every);
        }
    }

    fn next_look(&self, watch: bool, contested: bool) -> Option<Nanos> {
        match self.step.arming {
            _ if self.step.truncated => return Some(self.now),
            Arming::Silent(until) => return Some(until),
            Arming::BackingOff(until) if !watch => return Some(until),
            Arming::Disarmed if !watch => return None,
            Arming::BackingOff(_) | Arming::Disarmed | Arming::Armed => {}
        }
        let interested = self.config.mode != Mode::Off;
        let any = self.queues.len() > 0 || self.step.untracked > 0;
        let below = self.step.running > 0 && self.tally.lowest < self.tally.ceiling;
        let empty = self.tally.highest < self.tally.lowest;
        let mut levels = self.levels.iter();
        let wait = if watch || (interested && contested) {
            self.limits.alert
        } else if interested && below {
            self.limits.poll
        } else if interested && any && empty && !levels.any(|one| one.is_lively(self.now, EXPECT)) {
            self.limits.quiet
        } else if interested && any {
            self.limits.idle
        } else {
            return None;
        };
        let queues = u64::try_from(self.queues.len()).unwrap_or(0);
        let interval = wait.max(EACH.times(queues));
        let early = self.tally.due.max(self.now.after(Nanos(1)));
        Some(self.now.after(interval).min(early))
    }
}

impl Step {
    /// Before which time nobody is to look again, after a look that took so long and
    /// has led to this step now.
    ///
    /// A rest is as long as the look was. A look that was long because its thread had to
    /// wait for a lock or for the processor must not make the policy late, so that the rest
    /// is also bounded by the interval at which the node should be looked at, and ends where
    /// a stop reaches one of its own bounds.
    pub fn rest_until(&self, now: Nanos, took: Nanos, config: &Config) -> Nanos {
        let pressing =
            self.stopped.max(self.waiting) > 0 || self.inversion.is_some() || self.bound.is_some();
        let limits = Limits::new(config);
        let interval = if pressing { limits.poll } else { limits.idle };
        let end = now.after(took.min(interval.times(INTERVALS)));
        self.bound.map_or(end, |bound| end.min(bound))
    }
}
