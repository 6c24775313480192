// SPDX-License-Identifier: GPL-2.0-only
//! One pass over the queues of a node, from what is seen to what is done.

use crate::parts::table::Table;
use crate::pass::cost::Cost;
use crate::pass::output::Output;
use crate::pass::pass::Pass;
use crate::pass::questions::Questions;
use crate::pass::storage::LevelSlot;
use crate::pass::storage::Parts;
use crate::process::process::Process;
use crate::process::recovery::Fallback;
use crate::process::recovery::Recovery;
use crate::process::recovery::RETRY_LONGEST;
use crate::process::tenant::Tenant;
use crate::queue::queue::Queue;
use crate::settings::choices::Mode;
use crate::settings::config::Config;
use crate::settings::limits::Limits;
use crate::terms::decision::Arming;
use crate::terms::decision::Decision;
use crate::terms::decision::Outcome;
use crate::terms::decision::Report;
use crate::terms::decision::Step;
use crate::terms::observation::Observation;
use crate::terms::observation::QueueId;
use crate::terms::time::Nanos;
use crate::terms::view::QueueView;

/// What is remembered of a node beside its queues.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    /// The time of the last pass.
    last: Option<Nanos>,
    /// The number of the last pass; it may wrap.
    pass: u32,
    /// How many queues, processes and tenants the storage holds.
    queues: usize,
    processes: usize,
    tenants: usize,
    cost: Cost,
    questions: Questions,
    recovery: Recovery,
    /// The mode of the last pass.
    mode: Option<Mode>,
    /// Everything is to be started before anything else.
    releasing: bool,
}

impl Node {
    pub(crate) const fn new() -> Node {
        Node {
            last: None,
            pass: 0,
            queues: 0,
            processes: 0,
            tenants: 0,
            cost: Cost::new(),
            questions: Questions::new(),
            recovery: Recovery::new(),
            mode: None,
            releasing: false,
        }
    }

    pub(crate) fn transaction_took(&mut self, took: Nanos) {
        self.cost.took(took);
    }

    pub(crate) fn rearm(&mut self) {
        self.recovery.rearm();
    }

    pub(crate) fn arming(&self) -> Arming {
        self.recovery.arming(self.now())
    }

    pub(crate) fn may_retry(&self, now: Nanos) -> bool {
        self.recovery.may_retry(now)
    }

    /// The time of the last pass.
    fn now(&self) -> Nanos {
        self.last.unwrap_or(Nanos::ZERO)
    }

    pub(crate) fn view(&self, parts: Parts<'_>, id: QueueId) -> Option<QueueView> {
        let queues = Table::new(parts.queues, self.queues);
        let at = queues.find(id.0, usize::MAX)?;
        queues.get(at).map(|queue| queue.view(self.now()))
    }

    pub(crate) fn views<'p>(&self, parts: Parts<'p>) -> impl Iterator<Item = QueueView> + 'p {
        let queues = Table::new(parts.queues, self.queues);
        let now = self.now();
        (0..queues.len()).filter_map(move |at| queues.get(at).map(|queue| queue.view(now)))
    }

    /// One pass.
    pub(crate) fn step(
        &mut self,
        parts: Parts<'_>,
        now: Nanos,
        config: &Config<'_>,
        seen: &[Observation],
        outcomes: &[Outcome],
        out: &mut [Decision],
    ) -> Step {
        let now = now.max(self.last.unwrap_or(now));
        let elapsed = now.since(self.last.unwrap_or(now));
        self.last = Some(now);
        self.pass = self.pass.wrapping_add(1);
        let limits = Limits::new(config);

        let mut queues = Table::new(parts.queues, self.queues);
        let mut processes = Table::new(parts.processes, self.processes);
        let mut tenants = Table::new(parts.tenants, self.tenants);
        self.forget_those_gone(now, elapsed, &mut processes, &mut tenants);
        for LevelSlot(level) in parts.levels.iter_mut() {
            level.begin_pass(elapsed, &limits);
        }
        self.hear(now, config, &mut queues, outcomes);
        // A change of mode starts everything first.
        self.releasing |= self.mode.is_some_and(|last| last != config.mode);
        self.mode = Some(config.mode);

        let mut pass = Pass::new(
            now,
            config,
            limits,
            (queues, processes, tenants),
            parts.levels,
            Output::new(out),
        );
        pass.arming = self.recovery.arming(now);
        pass.may_retry = self.recovery.may_retry(now);
        pass.releasing = self.releasing;
        pass.cost = self.cost;
        pass.questions = self.questions;
        let step = pass.run(self.pass, elapsed, seen);

        self.queues = pass.queues.len();
        self.processes = pass.processes.len();
        self.tenants = pass.tenants.len();
        self.cost = pass.cost;
        self.questions = pass.questions;
        // What changed the mode waits until nothing is stopped.
        self.releasing = pass.releasing && pass.stopped > 0;
        step
    }

    /// Begins the pass of those for whom something may be stopped, and forgets those that
    /// have gone and have nothing to answer for.
    fn forget_those_gone(
        &self,
        now: Nanos,
        elapsed: Nanos,
        processes: &mut Table<'_, Process>,
        tenants: &mut Table<'_, Tenant>,
    ) {
        let last = self.pass.wrapping_sub(1);
        let mut gone = false;
        for process in processes.iter_mut() {
            process.begin_pass();
            gone |= !process.was_seen_in(last);
        }
        if gone {
            // Those that are there need the room more than a memory of false hints.
            let crowded = processes.is_half_full();
            processes.retain(|one| one.was_seen_in(last) || one.matters(now, !crowded));
        }
        let mut gone = false;
        for tenant in tenants.iter_mut() {
            tenant.begin_pass(elapsed);
            gone |= !tenant.was_seen_in(last);
        }
        if gone {
            tenants.retain(|one| one.was_seen_in(last) || one.matters(now));
        }
    }

    /// Takes in what became of the decisions of the last pass.
    fn hear(
        &mut self,
        now: Nanos,
        config: &Config<'_>,
        queues: &mut Table<'_, Queue>,
        outcomes: &[Outcome],
    ) {
        let mut fallback = None;
        let mut hint = 0;
        for outcome in outcomes {
            // The failure of a transaction counts, whatever has become of its
            // queues.
            let after = Fallback::after(outcome.report);
            fallback = fallback.or(after);
            let Some(at) = queues.find(outcome.queue.0, hint) else {
                continue;
            };
            hint = at.saturating_add(1);
            if outcome.report != Report::Done && after.is_none() {
                if let Some(queue) = queues.get_mut(at) {
                    queue.refuse_stop(now);
                }
            }
        }
        let Some(fallback) = fallback else {
            return;
        };
        self.recovery.failed(now, config, fallback);
        let wait = match self.recovery.arming(now) {
            Arming::BackingOff(until) | Arming::Silent(until) => until,
            Arming::Armed | Arming::Disarmed => now.after(RETRY_LONGEST),
        };
        for queue in queues.iter_mut().filter(|queue| queue.phase().is_ours()) {
            match fallback {
                Fallback::Forget => queue.forget_stop(now),
                Fallback::StartAll => queue.postpone_start(wait),
            }
        }
    }
}
