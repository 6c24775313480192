// SPDX-License-Identifier: GPL-2.0-only
//! Hints: an idle queue whose process prepares a request is taken to wait, so that
//! what it may preempt is stopped before the request comes.
//!
//! Everything else is as for a queue that waits: who may be stopped for it, what it may
//! cost, the bounds and the budget. So a hint gives no process anything that work
//! would not give it.

use crate::pass::pass::Pass;
use crate::process::hint::News;
use crate::terms::observation::Observation;
use crate::terms::time::Nanos;

impl Pass<'_, '_> {
    /// Takes in what the process of a queue has written.
    pub(crate) fn hear_hint(&mut self, process_at: usize, seen: &Observation) {
        let (Some(number), Some(process)) = (seen.hint, self.processes.get_mut(process_at)) else {
            return;
        };
        let news = process.hint_mut().see(self.now, &self.limits, number);
        self.hinted |= process.hint().since().is_some();
        let counts = &mut self.step.hints;
        match news {
            None => return,
            Some(News::Begun) => process.excuse(self.now),
            Some(News::Ignored) => counts.ignored = counts.ignored.saturating_add(1),
            Some(News::Stale) => counts.expired = counts.expired.saturating_add(1),
        }
        counts.seen = counts.seen.saturating_add(1);
    }

    /// Ends the hints whose request has come or whose time is over, and has the idle
    /// queues of the other processes wait. Costs walks, so only while a hint counts.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn follow_hints(&mut self) {
        if !self.hinted {
            return;
        }
        for queue in self.queues.iter() {
            let Some(process) = self.processes.get_mut(queue.process_at()) else {
                continue;
            };
            let Some(since) = process.hint().since() else {
                continue;
            };
            let launched = queue.work().moved() >= since && queue.work().moved() > Nanos::ZERO;
            let asked = queue.work().waits_since().is_some_and(|at| at >= since);
            if launched || queue.work().has_any() {
                process.hint_mut().see_life();
            }
            if queue.contends() && (launched || asked) {
                process.hint_mut().meet();
            }
        }
        for process in self.processes.iter_mut() {
            if process.hint_mut().expire(self.now, &self.limits) {
                self.step.hints.expired = self.step.hints.expired.saturating_add(1);
            }
        }
        for at in 0..self.queues.len() {
            self.prepare(at);
        }
    }

    /// Has the queue at a place wait if it is idle and its process has announced a
    /// request.
    fn prepare(&mut self, at: usize) {
        let Some(queue) = self.queues.get_mut(at) else {
            return;
        };
        let prepares = queue.contends() && queue.is_at_rest();
        let process_at = queue.process_at();
        let process = self.processes.get(process_at);
        let since = process.and_then(|process| process.hint().since());
        let Some(since) = since.filter(|_| prepares) else {
            return;
        };
        queue.announce(since);
        self.lowest = self.lowest.min(queue.effective());
        self.highest = self.highest.max(queue.effective());
        if self.budget_left(process_at) == Nanos::ZERO {
            let process = self.processes.get_mut(process_at);
            if process.is_some_and(|process| process.hint_mut().go_broke()) {
                self.step.hints.over_budget = self.step.hints.over_budget.saturating_add(1);
            }
        }
        self.look_at(since.after(self.limits.hint));
    }

    /// Books that something is stopped for the queue at a place, which may only have
    /// been announced.
    pub(crate) fn book_preparation(&mut self, at: usize) {
        let Some(queue) = self.queues.get(at).filter(|one| one.announced().is_some()) else {
            return;
        };
        if let Some(process) = self.processes.get_mut(queue.process_at()) {
            if process.hint_mut().honour() {
                self.step.hints.honoured = self.step.hints.honoured.saturating_add(1);
            }
        }
    }
}
