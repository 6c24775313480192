// SPDX-License-Identifier: GPL-2.0-only
//! What the model remembers of a node, kept independently of the policy's own memory, and
//! only as far as the properties need it.

use std::collections::{BTreeMap, BTreeSet};

use gpreempt_policy::{
    Config, FailureKind, Head, Nanos, Observation, Outcome, Priority, ProcessId, QueueId,
    QueueState, Report, TenantId, Waves,
};

/// What the books say of a queue.
#[derive(Clone, Copy, Debug)]
pub struct Ledger {
    /// The last observation; what could not be told is as it was.
    pub seen: Observation,
    /// A stop was decided: when, and whether it is real.
    pub stopped: Option<(Nanos, bool)>,
    /// The lowest level that it was stopped for since.
    pub stopped_for: Priority,
    /// A real start was decided and the queue not seen to run since.
    pub starting: bool,
    /// Since when, and for how many looks, its head has been one that nothing takes.
    pub waits: Option<(Nanos, u32)>,
    /// It has a packet to run.
    runnable: bool,
    /// Its last launch was once counted to have fewer waves than its grid.
    pub lacks_room: bool,
    /// It is immune until then, against levels up to this one.
    pub immune: (Nanos, Priority),
    /// What it earned by a stop that has not ended yet.
    pub immunity: Nanos,
}

/// What the books say of a process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    /// Since when something has been stopped for it without a break.
    pub holding: Option<Nanos>,
    /// When anything at all of it last changed, or it had waves.
    pub alive: Nanos,
    /// Nothing may be stopped for it before this time.
    pub cool_until: Nanos,
    /// What it last wrote as a hint, and when that was found changed.
    hint: u32,
    told: Option<Nanos>,
    /// When it was last seen.
    met: Nanos,
}

/// What the books say of a tenant: the second of its budget, and what is spent of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Purse {
    pub second: Nanos,
    pub spent: Nanos,
    /// Something is stopped for it since the last pass.
    pub holds: bool,
}

/// What the books know of a step.
pub struct Context<'a> {
    pub config: &'a Config,
    pub now: Nanos,
}

impl Context<'_> {
    /// The priority that counts, worked out independently.
    pub fn effective(&self, seen: &Observation) -> Priority {
        let Config {
            user_priority,
            highest_rule,
            ..
        } = self.config;
        let own = || user_priority.effective(seen.kfd, *highest_rule);
        seen.rule.and_then(|rule| rule.priority).unwrap_or_else(own)
    }

    /// How much stopped time its tenant may cause in a second for it; a second is no limit.
    pub fn stop_budget(&self, seen: &Observation) -> Nanos {
        let rule = seen.rule;
        if let Some(budget) = rule.and_then(|rule| rule.stop_budget) {
            budget
        } else if rule.is_some_and(|rule| rule.priority.is_some()) {
            // It is no claim of the process's.
            Nanos::SECOND
        } else {
            Nanos::from_millis(self.config.numbers.stop_budget_ms)
        }
    }

    /// Neither exempt nor the runtime's own queue.
    pub fn contends(&self, seen: &Observation) -> bool {
        let rule = seen.rule;
        let exempt = rule.is_some_and(|rule| rule.exempt);
        let ranked = rule.is_some_and(|rule| rule.priority.is_some());
        !exempt && (!seen.internal || ranked)
    }

    pub fn timeslice(&self, seen: &Observation) -> Nanos {
        let of_rule = seen.rule.and_then(|rule| rule.timeslice);
        of_rule.unwrap_or_else(|| self.config.timeslice(self.effective(seen)))
    }
}

impl Ledger {
    fn new(seen: &Observation) -> Ledger {
        Ledger {
            seen: *seen,
            stopped: None,
            stopped_for: Priority::HIGHEST,
            starting: false,
            waits: None,
            runnable: false,
            lacks_room: false,
            immune: (Nanos::ZERO, Priority::LOWEST),
            immunity: Nanos::ZERO,
        }
    }

    /// Its launch may be in the way, or it has something to launch.
    pub fn has_any(&self) -> bool {
        self.seen.backlog.unwrap_or(0) > 0 || self.seen.progress > 0
    }

    /// Books whether the queue has a packet to run. What it has is not over with a packet
    /// that is being taken.
    fn follow_head(&mut self, seen: &Observation, moved: bool, idle: bool) {
        let stands = !moved && self.seen.head == Head::Invalid;
        self.runnable = match seen.head {
            _ if idle => false,
            Head::Runnable | Head::Unknown => true,
            Head::Invalid if stands => false,
            Head::Invalid => self.runnable,
            Head::Barrier => false,
        };
    }

    /// Takes in what is seen.
    fn take_in(&mut self, now: Nanos, queue: &Observation) {
        let before = self.seen;
        let moved = before.progress != queue.progress;
        let backlog = queue.backlog.or(before.backlog);
        self.follow_head(queue, moved, backlog.unwrap_or(0) == 0);
        let state = match queue.state {
            QueueState::Unknown => before.state,
            state => state,
        };
        let active = state == QueueState::Active;
        let waits = active && self.runnable && queue.backlog.is_some();
        let resumed = active && (before.state != QueueState::Active || self.starting);
        self.waits = match self.waits {
            _ if !waits => None,
            Some((since, looks)) if !moved && !resumed => Some((since, looks + 1)),
            _ => Some((now, 0)),
        };
        self.lacks_room &= !moved;
        if let (true, Waves::Known(waves @ 1..)) = (active, queue.waves) {
            self.lacks_room |= queue.grid.is_some_and(|grid| waves < grid);
        }
        let dry = matches!(self.stopped, Some((_, false)));
        match queue.state {
            QueueState::Active => {
                if resumed && !dry {
                    self.immune = (now.after(self.immunity), self.stopped_for);
                    self.immunity = Nanos::ZERO;
                }
                if !dry {
                    self.stopped = None;
                }
                self.starting = false;
            }
            QueueState::Held => {
                self.stopped = None;
                self.starting = false;
            }
            QueueState::StoppedByUs | QueueState::Unknown => {}
        }
        self.seen = Observation {
            state,
            backlog,
            ..*queue
        };
    }
}

/// All that the books know.
#[derive(Clone, Debug, Default)]
pub struct Books {
    pub queues: BTreeMap<QueueId, Ledger>,
    pub processes: BTreeMap<ProcessId, Account>,
    pub tenants: BTreeMap<TenantId, Purse>,
    /// Queues that are stopped, and nobody remembers why.
    pub orphans: BTreeSet<QueueId>,
    /// Nothing may be sent before this time.
    pub silent_until: Nanos,
    present: BTreeSet<ProcessId>,
}

impl Books {
    /// Books the time since the last step.
    pub fn spend(&mut self, elapsed: Nanos) {
        for purse in self.tenants.values_mut() {
            if std::mem::take(&mut purse.holds) {
                purse.spent = purse.spent.after(elapsed);
            }
        }
    }

    /// Something is stopped for a tenant that has to pay for it.
    pub fn hold(&mut self, now: Nanos, tenant: TenantId) {
        let purse = self.tenants.entry(tenant).or_default();
        if now.since(purse.second) >= Nanos::SECOND {
            *purse = Purse {
                second: now,
                ..Purse::default()
            };
        }
        purse.holds = true;
    }

    /// What a tenant has spent of the present second.
    pub fn spent(&self, now: Nanos, tenant: TenantId) -> Nanos {
        let purse = self.tenants.get(&tenant);
        let lasts = |purse: &&Purse| now.since(purse.second) < Nanos::SECOND;
        purse.filter(lasts).map_or(Nanos::ZERO, |purse| purse.spent)
    }

    /// Takes in what is seen.
    pub fn take_in(&mut self, now: Nanos, config: &Config, seen: &[Observation]) {
        let names: BTreeSet<QueueId> = seen.iter().map(|queue| queue.queue).collect();
        self.queues.retain(|id, _| names.contains(id));
        self.orphans.retain(|id| names.contains(id));
        self.forget(now, config, seen);
        for queue in seen {
            let account = self.processes.entry(queue.process).or_default();
            let entry = self.queues.entry(queue.queue);
            let entry = entry.or_insert_with(|| {
                account.alive = now;
                Ledger::new(queue)
            });
            let changed = Observation {
                state: entry.seen.state,
                ..*queue
            } != entry.seen;
            let runs = matches!(queue.waves, Waves::Known(1..));
            // A queue that only went along without a count has not done anything.
            if changed || runs || queue.state == QueueState::Held {
                account.alive = now;
            }
            if entry.seen.progress != queue.progress || (runs && queue.state == QueueState::Active)
            {
                account.cool_until = Nanos::ZERO;
            }
            entry.take_in(now, queue);
            if matches!(queue.state, QueueState::Active | QueueState::Held) {
                self.orphans.remove(&queue.queue);
            }
        }
    }

    /// Takes in hints, and forgets processes that have gone.
    fn forget(&mut self, now: Nanos, config: &Config, seen: &[Observation]) {
        // A process that has gone may come back before its hint is over.
        let limit = Nanos::from_micros(config.numbers.hint_limit_us);
        let present: BTreeSet<ProcessId> = seen.iter().map(|queue| queue.process).collect();
        let kept = |id: &ProcessId, one: &mut Account| {
            present.contains(id) || now.since(one.met) <= limit || now < one.cool_until
        };
        self.processes.retain(kept);
        let mut back: BTreeSet<ProcessId> = present.difference(&self.present).copied().collect();
        self.present = present;
        for queue in seen {
            let number = queue.hint.unwrap_or(0);
            let new = Account {
                hint: number,
                ..Account::default()
            };
            let known = self.processes.entry(queue.process).or_insert(new);
            known.met = now;
            // What it wrote before it went may be forgotten.
            if back.remove(&queue.process) {
                known.hint = number;
                known.alive = now;
            }
            if queue.hint.is_some() && known.hint != number {
                known.hint = number;
                known.told = Some(now);
                known.alive = now;
            }
        }
    }

    /// Whether a queue without work may be taken to wait, because its process has said
    /// that it prepares a request.
    pub fn is_announced(&self, context: &Context<'_>, queue: &Observation) -> bool {
        let limit = Nanos::from_micros(context.config.numbers.hint_limit_us);
        let told = self.processes.get(&queue.process).and_then(|one| one.told);
        // Of a queue that could never be read nothing is known that speaks against it.
        let idle = queue.backlog.unwrap_or(0) == 0;
        idle && told.is_some_and(|told| context.now.since(told) < limit)
    }

    /// Takes in reports. Says whether everything must be started now.
    pub fn hear(&mut self, outcomes: &[Outcome], now: Nanos) -> bool {
        for outcome in outcomes {
            // A stop that was refused did not happen.
            let refused = match outcome.report {
                Report::Done => false,
                Report::NothingToDo => true,
                Report::Failed(kind) => kind == FailureKind::Passing,
            };
            if let (true, Some(entry)) = (refused, self.queues.get_mut(&outcome.queue)) {
                if !entry.starting && entry.seen.state != QueueState::StoppedByUs {
                    entry.stopped = None;
                }
            }
        }
        let kind = outcomes.iter().find_map(|outcome| match outcome.report {
            Report::Failed(kind) => Some(kind).filter(|&of| of != FailureKind::Passing),
            Report::Done | Report::NothingToDo => None,
        });
        let Some(kind) = kind else {
            return false;
        };
        if kind == FailureKind::Broken {
            return true;
        }
        self.silent_until = now.after(gpreempt_policy::RETRY_FIRST);
        for (id, queue) in &mut self.queues {
            if queue.stopped.is_some_and(|(_, real)| real) || queue.starting {
                queue.stopped = None;
                queue.starting = false;
                queue.immunity = Nanos::ZERO;
                if queue.seen.state == QueueState::StoppedByUs {
                    self.orphans.insert(*id);
                }
            }
        }
        false
    }
}
