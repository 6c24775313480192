// SPDX-License-Identifier: GPL-2.0-only
//! Hints: an idle queue whose process prepares a request is taken to wait, so that
//! what it may preempt is stopped before the request comes.
//!
//! Everything else is as for a queue that waits: who may be stopped for it, what it may
//! cost, the bounds and the budget. So a hint gives no process anything that work
//! would not give it.

use crate::pass::Pass;
use crate::terms::{Nanos, Observation};

impl Pass<'_> {
    /// Takes in what the process of a queue has written.
    pub(crate) fn hear_hint(&mut self, process_at: usize, seen: &Observation) {
        let (now, counts) = (self.now, &mut self.step.hints);
        if let (Some(number), Some(process)) = (seen.hint, self.processes.get_mut(process_at)) {
            process.hint.see(now, self.limits.hint, number, counts);
            self.tally.hinted |= process.hint.since().is_some();
        }
    }

    /// Ends the hints whose request has come or whose time is over, and has the idle
    /// queues of the other processes wait. Costs walks, so only while a hint counts.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn follow_hints(&mut self) {
        if !self.tally.hinted {
            return;
        }
        for queue in self.queues.iter() {
            let Some(process) = self.processes.get_mut(queue.process_at) else {
                continue;
            };
            let since = process.hint.since().unwrap_or(Nanos::NEVER);
            let work = &queue.work;
            let launched = work.moved >= since && work.moved > Nanos::ZERO;
            let asked = work.waits_since.is_some_and(|at| at >= since);
            if launched || work.has_any() {
                process.hint.see_life();
            }
            if queue.rating.contends && (launched || asked) {
                process.hint.meet();
            }
        }
        let (now, limit, counts) = (self.now, self.limits.hint, &mut self.step.hints);
        for process in self.processes.iter_mut() {
            process.hint.expire(now, limit, counts);
        }
        for at in 0..self.queues.len() {
            self.prepare(at);
        }
    }

    /// Has the queue at a place wait if it is idle and its process has announced a
    /// request.
    fn prepare(&mut self, at: usize) -> Option<()> {
        let queue = self.queues.get_mut(at)?;
        let prepares = queue.rating.contends && queue.runs() && !queue.work.has_any();
        let process_at = queue.process_at;
        let process = self.processes.get(process_at).filter(|_| prepares);
        let since = process?.hint.since()?;
        queue.announced = Some(since);
        if self.budget_left(process_at) == Nanos::ZERO {
            self.book_hint(process_at, false);
        }
        self.look_at(since.after(self.limits.hint));
        Some(())
    }

    /// Books that something is stopped for the hint of the process at a place, or cannot be.
    pub(crate) fn book_hint(&mut self, process_at: usize, paid: bool) {
        if let Some(process) = self.processes.get_mut(process_at) {
            process.hint.serve(paid, &mut self.step.hints);
        }
    }
}
