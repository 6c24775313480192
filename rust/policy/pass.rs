// SPDX-License-Identifier: GPL-2.0-only
//! What one pass works with, and the order in which it goes.

pub(crate) mod close;
pub(crate) mod gather;
pub(crate) mod hints;
pub(crate) mod ingest;
pub(crate) mod node;
pub(crate) mod start;
pub(crate) mod stop;
pub(crate) mod turns;

use crate::level::Level;
use crate::parts::table::Table;
use crate::pass::node::Node;
use crate::process::tenant::Tenant;
use crate::process::Process;
use crate::queue::Queue;
use crate::settings::{Config, Limits, Mode};
use crate::terms::{
    Arming, Decision, Nanos, Observation, Outcome, Priority, QueueId, Step, LEVELS,
};

/// What one pass works with.
pub(crate) struct Pass<'p> {
    pub(crate) now: Nanos,
    /// The time since the last pass.
    pub(crate) elapsed: Nanos,
    pub(crate) config: &'p Config,
    pub(crate) limits: Limits,
    pub(crate) node: &'p mut Node,
    pub(crate) queues: Table<'p, Queue>,
    pub(crate) processes: Table<'p, Process>,
    pub(crate) tenants: Table<'p, Tenant>,
    pub(crate) levels: &'p mut [Level; LEVELS],
    pub(crate) out: &'p mut [Decision],
    pub(crate) step: Step,
    pub(crate) tally: Tally,
}

/// What has been found so far in a pass.
#[derive(Default)]
pub(crate) struct Tally {
    /// The waves of this look were asked for, and some were counted.
    pub(crate) asked: bool,
    pub(crate) counted: bool,
    /// The highest level of a queue that has waves.
    pub(crate) busiest: Option<Priority>,
    /// The lowest and the highest level at which a queue may have something, and those of
    /// the queues that take part.
    pub(crate) lowest: Priority,
    pub(crate) highest: Priority,
    pub(crate) floor: Priority,
    pub(crate) ceiling: Priority,
    /// A hint counts.
    pub(crate) hinted: bool,
    /// A queue runs that may not be stopped yet because it was stopped so long.
    pub(crate) immune: bool,
    /// Queues stopped or to be started, dry ones too.
    pub(crate) stopped: usize,
    /// The level for which queues are stopped in this pass.
    pub(crate) stops_for: Option<Priority>,
    /// The earliest time at which something is due, and when a stop next reaches one of its
    /// bounds.
    pub(crate) due: Nanos,
    pub(crate) bound: Nanos,
}

impl Pass<'_> {
    /// The whole pass.
    pub(crate) fn run(mut self, seen: &[Observation], outcomes: &[Outcome]) -> Step {
        self.forget_those_gone();
        for level in self.levels.iter_mut() {
            level.begin_pass(self.elapsed, &self.limits);
        }
        self.hear(outcomes);
        self.step.arming = self.node.recovery.arming(self.now);
        self.tally.asked = core::mem::take(&mut self.node.questions.asks);
        self.ingest(seen);
        self.follow_hints();
        if !matches!(self.step.arming, Arming::Silent(_)) {
            self.gather();
            self.find_turns();
            if self.may_stop() {
                self.choose_stop();
            }
            if self.tally.stopped > 0 {
                self.start_queues();
            }
            if self.may_stop() {
                self.stop_queues();
            }
        }
        self.close();
        self.step
    }

    fn may_stop(&self) -> bool {
        self.config.mode != Mode::Off && self.step.arming == Arming::Armed && !self.node.releasing
    }

    /// Look again at this time at the latest.
    pub(crate) fn look_at(&mut self, time: Nanos) {
        self.tally.due = self.tally.due.min(time);
    }

    /// A stop reaches a bound at this time: look again then, even if that is before
    /// the end of a rest. What is past cannot be kept, and would end every rest.
    pub(crate) fn keep_bound(&mut self, bound: Nanos) {
        self.look_at(bound);
        if bound > self.now {
            self.tally.bound = self.tally.bound.min(bound);
        }
    }

    pub(crate) fn level(&mut self, level: Priority) -> &mut Level {
        let [lowest, above @ ..] = &mut *self.levels;
        let at = level.index().checked_sub(1);
        at.and_then(|at| above.get_mut(at)).unwrap_or(lowest)
    }

    /// The levels above one, the highest first.
    pub(crate) fn levels_above(level: Priority) -> impl Iterator<Item = Priority> {
        Priority::all().rev().take_while(move |one| *one > level)
    }

    /// How much longer queues may be stopped for the process at a place.
    pub(crate) fn budget_left(&self, process_at: usize) -> Nanos {
        let process = self.processes.get(process_at);
        let both = process.zip(process.and_then(|one| self.tenants.get(one.tenant_at)));
        let budget = |one: &Process| one.stop_budget.unwrap_or(self.limits.budget);
        both.map_or(Nanos::ZERO, |(one, its)| its.left(self.now, budget(one)))
    }

    /// Nothing is stopped for the process at a place at present: it made no progress.
    pub(crate) fn is_cooling(&self, process_at: usize) -> bool {
        let process = self.processes.get(process_at);
        process.is_some_and(|one| one.is_cooling(self.now))
    }

    /// Something is stopped for the process at a place. `None`: there is none.
    pub(crate) fn hold(&mut self, process_at: usize) -> Option<()> {
        let (now, left) = (self.now, self.budget_left(process_at));
        let process = self.processes.get_mut(process_at)?;
        process.hold(now);
        // What a rule allows without a limit is not the tenant's to pay.
        if left < Nanos::NEVER {
            self.tenants.get_mut(process.tenant_at)?.hold(now);
            self.keep_bound(now.after(left));
        }
        Some(())
    }

    /// Makes a decision. `None`: there is no room for it, and it is not made.
    pub(crate) fn push(&mut self, decision: Decision) -> Option<()> {
        let place = self.out.get_mut(self.step.decisions);
        self.step.truncated |= place.is_none();
        *place? = decision;
        self.step.decisions = self.step.decisions.saturating_add(1);
        if decision.apply {
            // A transaction that does both is the dearer one.
            self.node.cost.last = Some(decision.action);
        }
        Some(())
    }

    /// Whether there is a decision about the queue.
    pub(crate) fn is_decided(&self, queue: QueueId) -> bool {
        let made = self.out.get(..self.step.decisions).unwrap_or_default();
        made.iter().any(|decision| decision.queue == queue)
    }
}
