// SPDX-License-Identifier: GPL-2.0-only
//! What one pass works with.

use crate::algorithm::algorithm::Algorithm;
use crate::algorithm::algorithm::Context;
use crate::memory::cooldown::Pairs;
use crate::memory::gaps::Gaps;
use crate::memory::pace::Pace;
use crate::memory::process::Process;
use crate::memory::queue::Queue;
use crate::memory::table::Table;
use crate::memory::thrash::Thrash;
use crate::pass::last_launches::LastLaunches;
use crate::pass::output::Output;
use crate::pass::presence::Presence;
use crate::pass::rivals::Rival;
use crate::pass::rivals::Rivals;
use crate::settings::config::Config;
use crate::settings::limits::Limits;
use crate::terms::decision::Action;
use crate::terms::decision::Arming;
use crate::terms::decision::Decision;
use crate::terms::decision::Step;
use crate::terms::time::Nanos;

/// What one pass works with.
pub(crate) struct Pass<'p, 'c> {
    pub(crate) now: Nanos,
    pub(crate) config: &'p Config<'c>,
    pub(crate) limits: Limits,
    pub(crate) algorithm: &'static dyn Algorithm,
    pub(crate) context: Context,
    pub(crate) arming: Arming,
    /// The pause after the last failure is over.
    pub(crate) may_retry: bool,
    /// Everything is started first: something fundamental has changed.
    pub(crate) releasing: bool,
    pub(crate) queues: Table<'p, Queue>,
    pub(crate) processes: Table<'p, Process>,
    pub(crate) pairs: Pairs<'p>,
    pub(crate) thrash: &'p mut Thrash,
    pub(crate) pace: &'p mut Pace,
    pub(crate) gaps: &'p mut Gaps,
    pub(crate) out: Output<'p>,
    pub(crate) step: Step,
    /// A queue is really started in this pass.
    pub(crate) starts: bool,
    pub(crate) presence: Presence,
    /// Queues that want the GPU.
    pub(crate) wanting: Rivals,
    /// Queues that wait for it.
    pub(crate) waiting: Rivals,
    pub(crate) last_launches: LastLaunches,
    /// For how long no queue had wanted what was stopped when one did again.
    pub(crate) gap: Option<Nanos>,
    /// When a queue may have come to wait.
    pub(crate) ripe: Nanos,
    /// A hint counts.
    pub(crate) hinted: bool,
    /// Queues stopped or to be started, dry ones too.
    pub(crate) stopped: usize,
    /// The least virtual time of a queue that wants the GPU.
    pub(crate) least: Nanos,
    /// A queue runs that may not be stopped yet because it was stopped so long.
    pub(crate) immune: bool,
    /// The earliest time at which something is due.
    pub(crate) due: Nanos,
    /// The earliest time to come at which a stop reaches one of its bounds.
    pub(crate) bound: Nanos,
}

impl Pass<'_, '_> {
    /// Look again at this time at the latest.
    pub(crate) fn look_at(&mut self, time: Nanos) {
        self.due = self.due.min(time);
    }

    /// A stop reaches a bound at this time: look again then, even if that is before
    /// the end of a rest. What is past cannot be kept, and would end every rest.
    pub(crate) fn keep_bound(&mut self, bound: Nanos) {
        self.look_at(bound);
        if bound > self.now {
            self.bound = self.bound.min(bound);
        }
    }

    /// Finds the queues that matter. Costs a walk, so only when something waits
    /// or is stopped.
    pub(crate) fn gather(&mut self) {
        for at in 0..self.queues.len() {
            let Some(queue) = self.queues.get(at) else {
                break;
            };
            if !queue.contends() {
                continue;
            }
            if queue.tenure().is_immune(self.now) && queue.work().is_busy() {
                self.immune = true;
            }
            if !queue.wants() {
                continue;
            }
            let waits = queue.waits();
            let rank = self.algorithm.rank(queue);
            let rival = Rival::new(queue, at, rank, &self.limits);
            self.wanting.offer(rival);
            if waits && self.budget_left(&rival) > Nanos::ZERO {
                self.waiting.offer(rival);
            }
        }
    }

    /// How much longer queues may be stopped for this one's process.
    pub(crate) fn budget_left(&self, rival: &Rival) -> Nanos {
        match self.processes.get(rival.process_at) {
            Some(process) => process.budget_left(self.now, self.limits.budget),
            None => Nanos::ZERO,
        }
    }

    /// Books that something is stopped for this one's process.
    pub(crate) fn hold(&mut self, process_at: usize) {
        let now = self.now;
        if let Some(process) = self.processes.get_mut(process_at) {
            process.hold(now);
        }
    }

    /// Makes a decision. `false`: there is no room for it.
    pub(crate) fn push(&mut self, decision: Decision) -> bool {
        let made = self.out.push(decision);
        self.starts |= made && decision.apply && decision.action == Action::Start;
        made
    }
}
