// SPDX-License-Identifier: GPL-2.0-only
//! One pass over the queues of a node, from what is seen to what is done.

use crate::algorithm::algorithm::Context;
use crate::algorithm::policies;
use crate::memory::cooldown::Pairs;
use crate::memory::gaps::Gaps;
use crate::memory::pace::Pace;
use crate::memory::queue::Queue;
use crate::memory::recovery::Fallback;
use crate::memory::recovery::Recovery;
use crate::memory::storage::Parts;
use crate::memory::table::Table;
use crate::memory::thrash::Thrash;
use crate::pass::last_launches::LastLaunches;
use crate::pass::output::Output;
use crate::pass::pass::Pass;
use crate::pass::presence::Presence;
use crate::pass::rivals::Rivals;
use crate::settings::choices::Granularity;
use crate::settings::choices::Mode;
use crate::settings::choices::PolicyKind;
use crate::settings::config::Config;
use crate::settings::limits::Limits;
use crate::settings::parameter::Number;
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
    /// How many queues and processes the storage holds.
    queues: usize,
    processes: usize,
    /// When the last pair of processes has cooled down.
    cooled: Nanos,
    virtual_floor: Nanos,
    thrash: Thrash,
    pace: Pace,
    gaps: Gaps,
    recovery: Recovery,
    /// What the last pass was made for.
    made_for: Option<(Mode, PolicyKind, Granularity)>,
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
            cooled: Nanos::ZERO,
            virtual_floor: Nanos::ZERO,
            thrash: Thrash::new(),
            pace: Pace::new(),
            gaps: Gaps::new(),
            recovery: Recovery::new(),
            made_for: None,
            releasing: false,
        }
    }

    pub(crate) fn transaction_took(&mut self, took: Nanos) {
        self.thrash.took(took);
    }

    pub(crate) fn rearm(&mut self) {
        self.recovery.rearm();
    }

    pub(crate) fn arming(&self) -> Arming {
        self.recovery.arming(self.last.unwrap_or(Nanos::ZERO))
    }

    pub(crate) fn may_retry(&self, now: Nanos) -> bool {
        self.recovery.may_retry(now)
    }

    pub(crate) fn view(&self, parts: Parts<'_>, id: QueueId) -> Option<QueueView> {
        let queues = Table::new(parts.queues, self.queues);
        let at = queues.find(id.0, usize::MAX)?;
        queues.get(at).map(Queue::view)
    }

    pub(crate) fn views<'p>(&self, parts: Parts<'p>) -> impl Iterator<Item = QueueView> + 'p {
        let queues = Table::new(parts.queues, self.queues);
        (0..queues.len()).filter_map(move |at| queues.get(at).map(Queue::view))
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
        let pass_number = self.pass;
        let limits = Limits::new(config);

        let mut queues = Table::new(parts.queues, self.queues);
        let mut processes = Table::new(parts.processes, self.processes);
        let last_pass = pass_number.wrapping_sub(1);
        let mut gone = false;
        for process in processes.iter_mut() {
            process.begin_pass(elapsed);
            gone |= !process.was_seen_in(last_pass);
        }
        if gone {
            // Those that are there need the room more than a memory of false hints.
            let crowded = processes.is_half_full();
            processes
                .retain(|process| process.was_seen_in(last_pass) || process.matters(now, !crowded));
        }
        self.hear(now, config, &limits, &mut queues, outcomes);
        self.notice_change(config);

        let mut pass = Pass {
            now,
            config,
            limits,
            algorithm: policies::of(config.policy),
            context: Context {
                now,
                virtual_floor: self.virtual_floor,
                fair_slice: config.duration(Number::FairSlice),
            },
            arming: self.recovery.arming(now),
            may_retry: self.recovery.may_retry(now),
            releasing: self.releasing,
            queues,
            processes,
            pairs: Pairs::new(parts.pairs, &mut self.cooled),
            thrash: &mut self.thrash,
            pace: &mut self.pace,
            gaps: &mut self.gaps,
            out: Output::new(out),
            step: Step::default(),
            starts: false,
            presence: Presence::default(),
            wanting: Rivals::default(),
            waiting: Rivals::default(),
            last_launches: LastLaunches::default(),
            gap: None,
            ripe: Nanos::NEVER,
            hinted: false,
            stopped: 0,
            least: Nanos::NEVER,
            immune: false,
            due: Nanos::NEVER,
            bound: Nanos::NEVER,
        };
        pass.ingest(pass_number, elapsed, seen);
        pass.follow_hints();
        pass.decide();
        pass.close();

        self.queues = pass.queues.len();
        self.processes = pass.processes.len();
        self.virtual_floor = pass.context.virtual_floor;
        // What changed the configuration waits until nothing is stopped.
        self.releasing = pass.releasing && pass.stopped > 0;
        pass.step
    }

    /// Takes in what became of the decisions of the last pass.
    fn hear(
        &mut self,
        now: Nanos,
        config: &Config<'_>,
        limits: &Limits,
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
                    queue.refuse_stop(now, limits.retry);
                }
            }
        }
        let Some(fallback) = fallback else {
            return;
        };
        self.recovery.failed(now, config, fallback);
        let wait = match self.recovery.arming(now) {
            Arming::BackingOff(until) | Arming::Silent(until) => until,
            Arming::Armed | Arming::Disarmed => now.after(limits.retry_max),
        };
        for queue in queues.iter_mut().filter(|queue| queue.phase().is_ours()) {
            match fallback {
                Fallback::Forget => queue.forget_stop(now),
                Fallback::StartAll => queue.postpone_start(wait),
            }
        }
    }

    /// A change of mode, policy or backend starts everything first.
    fn notice_change(&mut self, config: &Config<'_>) {
        let made_for = (config.mode, config.policy, config.granularity);
        if self.made_for.is_some_and(|last| last != made_for) {
            self.releasing = true;
        }
        self.made_for = Some(made_for);
    }
}
