// SPDX-License-Identifier: GPL-2.0-only
//! The end of a pass: what it amounts to, and when to look again.

use crate::pass::pass::Pass;
use crate::pass::stop::EXPECT;
use crate::queue::queue::Queue;
use crate::settings::choices::Mode;
use crate::terms::decision::Arming;
use crate::terms::priority::Priority;
use crate::terms::time::Nanos;

/// How much of an interval between looks each queue takes at least, so that looking at
/// hundreds of queues leaves its thread time to rest.
const EACH: Nanos = Nanos(500);

impl Pass<'_, '_> {
    /// Sums up the pass and says when to look again.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn close(&mut self) {
        // Counted last: what is stopped in this pass goes into the same
        // transaction.
        let mut ours = 0usize;
        if self.stopped > 0 || self.out.len() > 0 {
            self.stopped = 0;
            for queue in self.queues.iter() {
                ours = ours.saturating_add(usize::from(queue.is_really_stopped()));
                self.stopped = self.stopped.saturating_add(usize::from(queue.is_stopped()));
            }
        }
        let orphans = self.step.stopped;
        self.step.stopped = ours.saturating_add(orphans);
        self.step.decisions = self.out.len();
        self.step.truncated = self.out.truncated();
        self.step.arming = self.arming;
        let watch = self.stopped > 0 || self.step.stopped > 0;
        let contested = self.is_contested();
        self.ask(watch, contested);
        self.step.ask_waves = self.questions.asks();
        self.step.next_look = self.next_look(watch, contested);
        self.step.bound = Some(self.bound).filter(|&bound| bound != Nanos::NEVER);
    }

    /// Something that works may be inverted by what somebody above wants.
    fn is_contested(&self) -> bool {
        self.lowest < self.highest_expected()
    }

    /// The highest level at which something is wanted, or soon may be.
    fn highest_expected(&self) -> Priority {
        let lively = Self::levels_above(self.lowest).find(|&level| {
            let level = self.level(level);
            level.is_some_and(|level| level.is_lively(self.now, EXPECT))
        });
        self.highest.max(lively.unwrap_or(Priority::LOWEST))
    }

    /// Whether waves are counted in the next look.
    fn ask(&mut self, watch: bool, contested: bool) {
        let now = self.now;
        if watch && self.stops_for.is_none() {
            // Is the request over?
            let ending = |queue: &Queue| queue.contends() && queue.work().may_be_ending();
            if self.queues.iter().any(ending) {
                self.questions.suspect();
            }
        } else if contested && !self.questions.asks() {
            let doubtful = |queue: &Queue| queue.contends() && queue.work().is_doubtful(now);
            if self.queues.iter().any(doubtful) {
                self.questions.check(now, &self.limits);
            }
        }
    }

    fn next_look(&self, watch: bool, contested: bool) -> Option<Nanos> {
        if self.out.truncated() {
            return Some(self.now);
        }
        match self.arming {
            Arming::Silent(until) => return Some(until),
            Arming::BackingOff(until) if !watch => return Some(until),
            Arming::Disarmed if !watch => return None,
            Arming::BackingOff(_) | Arming::Disarmed | Arming::Armed => {}
        }
        let interested = self.config.mode != Mode::Off;
        let any = self.queues.len() > 0 || self.step.untracked > 0;
        let wait = if watch || (interested && contested) {
            self.limits.alert
        } else if interested && self.step.running > 0 && self.lowest < self.highest {
            self.limits.poll
        } else if interested && any {
            self.limits.idle
        } else {
            return None;
        };
        let queues = u64::try_from(self.queues.len()).unwrap_or(0);
        let interval = wait.max(EACH.times(queues));
        let early = self.due.min(self.settles);
        let early = early.max(self.now.after(Nanos(1)));
        Some(self.now.after(interval).min(early))
    }
}
