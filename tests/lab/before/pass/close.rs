// SPDX-License-Identifier: GPL-2.0-only
//! The end of a pass: what it amounts to, and when to look again.

use crate::memory::pace::Pace;
use crate::pass::pass::Pass;
use crate::settings::choices::Mode;
use crate::terms::decision::Arming;
use crate::terms::time::Nanos;

impl Pass<'_, '_> {
    /// Sums up the pass and says when to look again.
    pub(crate) fn close(&mut self) {
        // Counted last: what is stopped in this pass goes into the same
        // transaction.
        if self.starts {
            self.thrash.started(self.now);
        }
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
        let contested = self.presence.contested(self.algorithm);
        let watch = self.stopped > 0 || self.step.stopped > 0;
        if watch || self.presence.presses(self.algorithm) {
            self.pace.see_urgent(self.now);
        }
        self.step.ask_waves = self.presence.unclear(self.algorithm);
        self.step.next_look = self.next_look(contested, watch);
        self.step.bound = Some(self.bound).filter(|&bound| bound != Nanos::NEVER);
    }

    fn next_look(&self, contested: bool, watch: bool) -> Option<Nanos> {
        if self.out.truncated() {
            return Some(self.now);
        }
        // What is stopped stays so while the queue that it is stopped for has much to
        // run: there is nothing to react to soon.
        let lively = self.pace.is_lively(self.now, &self.limits);
        let haste = lively && !self.presence.lasts(self.algorithm);
        let alert = Pace::interval(&self.limits, self.queues.len(), haste);
        let alert = self.now.after(alert);
        match self.arming {
            Arming::Silent(until) => return Some(until),
            Arming::BackingOff(until) if !watch => return Some(until),
            Arming::Disarmed if !watch => return None,
            Arming::BackingOff(_) | Arming::Disarmed | Arming::Armed => {}
        }
        if watch || (self.config.mode != Mode::Off && (contested || self.step.stalled > 0)) {
            let ripe = if contested { self.ripe } else { Nanos::NEVER };
            return Some(alert.min(self.due).min(ripe));
        }
        let any = self.queues.len() > 0 || self.step.untracked > 0;
        let interested = self.config.mode != Mode::Off && any;
        interested.then(|| self.now.after(self.limits.idle_poll))
    }
}
