// SPDX-License-Identifier: GPL-2.0-only
//! The properties, checked on every step by books that are kept independently of
//! the policy's. All properties are checked from the same books, so they stand in
//! one file, however long.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use gpreempt_policy::{
    Action, Arming, Config, Decision, FailureKind, Head, Mode, Nanos, Number, Observation, Outcome,
    PolicyKind, Priority, ProcessId, QueueId, QueueState, QueueView, Reason, Report, RuleEffect,
    Step, Verdict, Waves,
};

/// What the books say of a queue.
#[derive(Clone, Copy, Debug)]
struct Ledger {
    /// The last observation.
    seen: Observation,
    /// A stop was decided: when, and whether it is real.
    stopped: Option<(Nanos, bool)>,
    /// A real start was decided and the queue not seen to run since.
    starting: bool,
    /// When its turn last came round.
    turn: Option<Nanos>,
    /// When it was last seen active after it had not been.
    resumed: Option<Nanos>,
    /// Since when, and for how many looks, it has had something to run.
    pending: bool,
    pending_since: Nanos,
    pending_steps: u32,
    /// It has a packet to run.
    runnable: bool,
    /// Its read pointer moved since it was met.
    moved: bool,
    /// It is immune until then once it runs.
    immune: Nanos,
    immunity: Nanos,
    /// What its stops led to since it last showed life.
    vain: Vain,
}

/// Stops in a row that are known to have found no waves.
#[derive(Clone, Copy, Debug, Default)]
struct Vain {
    /// The stop that lasts is one.
    found_nothing: bool,
    /// It had no backlog when it was stopped, so that it may have nothing to save.
    idle: bool,
    stops: u32,
    alone_until: Nanos,
}

/// The books of a node, and what they have counted.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    now: Nanos,
    queues: BTreeMap<QueueId, Ledger>,
    orphans: BTreeSet<QueueId>,
    /// When stops of a pair of processes may be decided again.
    cooling: BTreeMap<(ProcessId, ProcessId), Nanos>,
    /// When the last transaction was decided.
    last_transaction: Option<Nanos>,
    /// The second of the ceiling, and the stops in it.
    second: Nanos,
    stops: u32,
    /// When something was really stopped for each process, from look to look.
    held: BTreeMap<ProcessId, VecDeque<(Nanos, Nanos)>>,
    /// How much of it each process could cause in a second at the last step.
    allowed: BTreeMap<ProcessId, Nanos>,
    /// The processes that something is really stopped for since the last step.
    holders: BTreeSet<ProcessId>,
    /// Nothing may be sent before this time.
    silent_until: Nanos,
    /// The configuration of the last step.
    made_for: Option<(Mode, PolicyKind)>,
    /// When anything at all last changed, and the first step after that.
    still_since: Nanos,
    before: Vec<Observation>,
    numbers: Option<Config<'static>>,
    /// How often each reason was given.
    pub reasons: BTreeMap<&'static str, u64>,
    /// How often each reason was given in which circumstances.
    pub circumstances: BTreeMap<String, u64>,
    /// How many steps were watched.
    pub steps: u64,
    /// What each process last wrote as a hint, when that was found changed, and when
    /// the process was last seen.
    hints: BTreeMap<ProcessId, (u32, Option<Nanos>, Nanos)>,
    /// The processes of the last step.
    present: BTreeSet<ProcessId>,
    /// Stops for queues that had only been announced.
    pub prepared: u64,
    /// How often a queue was started and is left alone from then on.
    pub left_alone: u64,
    /// All that was decided and shown, if it is written down.
    written: Option<DefaultHasher>,
}

/// What the books know of a step.
struct Context<'a> {
    config: &'a Config<'static>,
    now: Nanos,
}

impl Context<'_> {
    /// The priority that counts, worked out independently.
    fn effective(&self, seen: &Observation) -> Priority {
        self.granted(seen)
            .unwrap_or_else(|| self.config.user_priority.effective(seen.kfd))
    }

    /// The priority that a rule gives it.
    fn granted(&self, seen: &Observation) -> Option<Priority> {
        let id = seen.rule?;
        let rule = self.config.rules.iter().find(|rule| rule.id == id)?;
        rule.priority
    }

    /// How much stopped time a process may cause in a second for a queue of it.
    fn stop_budget(&self, seen: &Observation) -> Nanos {
        let of_it = |rule: &&RuleEffect| Some(rule.id) == seen.rule;
        let rule = self.config.rules.iter().find(of_it);
        if let Some(budget) = rule.and_then(|rule| rule.stop_budget) {
            budget
        } else if rule.is_some_and(|rule| rule.priority.is_some()) {
            // It is no claim of the process's.
            Nanos::SECOND
        } else {
            self.config.duration(Number::StopBudget)
        }
    }

    /// Neither exempt nor the runtime's own queue.
    fn contends(&self, seen: &Observation) -> bool {
        let rule = seen.rule.and_then(|id| {
            let rules = self.config.rules.iter();
            rules.copied().find(|rule| rule.id == id)
        });
        let exempt = rule.is_some_and(|rule| rule.exempt);
        let ranked = rule.is_some_and(|rule| rule.priority.is_some());
        !exempt && (!seen.internal || ranked)
    }

    fn timeslice(&self, seen: &Observation) -> Nanos {
        let rule = seen.rule.and_then(|id| {
            let rules = self.config.rules.iter();
            rules.copied().find(|rule| rule.id == id)
        });
        rule.and_then(|rule| rule.timeslice)
            .unwrap_or_else(|| self.config.timeslice(self.effective(seen)))
    }
}

/// How many stops in vain a queue is not left alone for.
const FREE_STOPS: u32 = 7;

/// Fails with a property's name unless it holds.
macro_rules! hold {
    ($condition:expr, $($what:tt)+) => {
        if !$condition {
            return Err(format!($($what)+));
        }
    };
}

impl Ledger {
    /// Books whether the queue has a packet to run. What it has is not over with a packet
    /// that is being taken.
    fn follow_head(&mut self, seen: &Observation, moved: bool, idle: bool) -> bool {
        let stands = !moved && self.seen.head == Head::Invalid;
        self.runnable = match seen.head {
            _ if idle => false,
            Head::Runnable | Head::Unknown => true,
            Head::Invalid if stands => false,
            Head::Invalid => self.runnable,
            Head::Barrier => false,
        };
        self.runnable
    }

    /// Books what a stop led to. `true`: the queue runs again and is left alone.
    fn follow_vain_stops(
        &mut self,
        context: &Context<'_>,
        seen: &Observation,
        moved: bool,
    ) -> bool {
        let none = seen.waves == Waves::Known(0);
        if moved || matches!(seen.waves, Waves::Known(1..)) {
            self.vain = Vain::default();
            return false;
        }
        if seen.state == QueueState::StoppedByUs {
            self.vain.found_nothing |= none && !self.vain.idle;
        }
        let runs = seen.state == QueueState::Active;
        let was_kept = self.starting || self.seen.state != QueueState::Active;
        let real = matches!(self.stopped, Some((_, true)));
        if matches!(self.stopped, Some((_, false))) {
            return false;
        }
        if runs && real && !was_kept {
            // The stop was not carried out.
            self.vain.found_nothing = false;
        }
        if !runs || !(was_kept || real) || !std::mem::take(&mut self.vain.found_nothing) {
            return false;
        }
        self.vain.stops += 1;
        if self.vain.stops <= FREE_STOPS {
            return false;
        }
        let pause = context.config.duration(Number::CoolDown);
        let doubled = pause.doubled(
            self.vain.stops - FREE_STOPS - 1,
            context.config.duration(Number::CoolDownMax),
        );
        self.vain.alone_until = context.now.after(doubled);
        true
    }
}

impl Watch {
    /// A queue is found stopped for no reason.
    pub fn orphaned(&mut self, queue: QueueId) {
        self.orphans.insert(queue);
    }

    /// From now on all is written down that is decided and shown.
    pub fn write_down(&mut self) {
        self.written = Some(DefaultHasher::new());
    }

    /// A number for all that was written down.
    pub fn written(&self) -> u64 {
        self.written.as_ref().map_or(0, Hasher::finish)
    }

    /// Checks a step.
    ///
    /// # Errors
    ///
    /// The property that does not hold.
    #[allow(clippy::too_many_arguments)]
    pub fn check(
        &mut self,
        now: Nanos,
        config: &Config<'static>,
        seen: &[Observation],
        outcomes: &[Outcome],
        step: &Step,
        made: &[Decision],
        views: &[QueueView],
        output: usize,
        room: usize,
    ) -> Result<(), String> {
        self.steps += 1;
        if let Some(written) = &mut self.written {
            (step, made, views).hash(written);
        }
        let now = now.max(self.now);
        let last = std::mem::replace(&mut self.now, now);
        let context = Context { config, now };
        let seen = first_of_each(seen);
        let untracked = seen.len().saturating_sub(room) > 0 || step.untracked > 0;
        self.spend(last, now);
        self.forget_stops_in_vain(outcomes);
        self.take_in(&context, &seen);
        self.take_in_hints(config, &seen, now);
        let failed = self.hear(config, outcomes, now);
        self.note_stillness(config, &seen, now);

        self.check_shape(step, made, output, now)?;
        if matches!(step.arming, Arming::Silent(_)) {
            hold!(made.is_empty(), "a decision during a reset: {made:?}");
        }
        let changed = self
            .made_for
            .is_some_and(|last| last != (config.mode, config.policy));
        self.made_for = Some((config.mode, config.policy));
        let (stopped, started) = self.check_decisions(&context, step, made, changed, untracked)?;
        if stopped {
            self.check_pace(config, now)?;
        }
        if stopped || started {
            self.last_transaction = Some(now);
        }
        if !step.truncated && !untracked && !matches!(step.arming, Arming::Silent(_)) {
            self.check_bounds(&context, &seen, step, failed)?;
        }
        if step.next_look.is_none() {
            hold!(step.stopped == 0, "it sleeps while queues are stopped");
        }
        if step.stopped == 0 {
            let left = seen
                .iter()
                .find(|queue| queue.state == QueueState::StoppedByUs && !started);
            hold!(left.is_none(), "uncounted: {left:?}");
        }
        self.check_budgets(&context, views, step)?;
        // Of a queue without a place nothing is remembered, here neither.
        let placed: BTreeSet<QueueId> = views.iter().map(|view| view.queue).collect();
        self.queues.retain(|id, _| placed.contains(id));
        Ok(())
    }

    /// Checks each decision. Says whether there are stops, and starts to carry
    /// out.
    fn check_decisions(
        &mut self,
        context: &Context<'_>,
        step: &Step,
        made: &[Decision],
        changed: bool,
        untracked: bool,
    ) -> Result<(bool, bool), String> {
        let config = context.config;
        let mut stopped = false;
        let mut started = false;
        for decision in made {
            *self.reasons.entry(decision.reason.name()).or_default() += 1;
            let circumstance = format!(
                "{:?} {:?} {:?} {} {:?} {}",
                decision.reason,
                config.mode,
                config.policy,
                config.same_process,
                std::mem::discriminant(&step.arming),
                untracked,
            );
            *self.circumstances.entry(circumstance).or_default() += 1;
            match decision.action {
                Action::Start => {
                    self.check_start(context, decision)?;
                    started |= decision.apply;
                }
                Action::Stop => {
                    hold!(!changed, "a stop in the step of a change: {decision:?}");
                    hold!(
                        step.arming == Arming::Armed,
                        "a stop while not armed: {decision:?}"
                    );
                    self.check_stop(context, decision)?;
                    stopped = true;
                }
            }
        }
        Ok((stopped, started))
    }

    /// Books the time that each process has caused since the last step.
    fn spend(&mut self, last: Nanos, now: Nanos) {
        for process in &self.holders {
            self.held
                .entry(*process)
                .or_default()
                .push_back((last, now));
        }
        for held in self.held.values_mut() {
            while held
                .front()
                .is_some_and(|(_, end)| now.since(*end) > Nanos::SECOND)
            {
                held.pop_front();
            }
        }
    }

    /// A stop that was refused, or that a reset has ended, was not in vain.
    fn forget_stops_in_vain(&mut self, outcomes: &[Outcome]) {
        for outcome in outcomes {
            let rebuilt = match outcome.report {
                Report::Done => continue,
                Report::NothingToDo => false,
                Report::Failed(failed) => failed.kind == FailureKind::Rebuilt,
            };
            for (id, entry) in &mut self.queues {
                if rebuilt || *id == outcome.queue {
                    entry.vain.found_nothing = false;
                }
            }
        }
    }

    /// Books which hints were found changed.
    fn take_in_hints(&mut self, config: &Config<'static>, seen: &[Observation], now: Nanos) {
        // A process that has gone may come back before its hint is over.
        let limit = config.duration(Number::HintLimit);
        self.hints.retain(|_, (_, _, met)| now.since(*met) <= limit);
        let present: BTreeSet<ProcessId> = seen.iter().map(|queue| queue.process).collect();
        let mut back: BTreeSet<ProcessId> = present.difference(&self.present).copied().collect();
        self.present = present;
        for queue in seen {
            let number = queue.hint.unwrap_or(0);
            let known = self
                .hints
                .entry(queue.process)
                .or_insert((number, None, now));
            known.2 = now;
            // What it wrote before it went may be forgotten.
            if back.remove(&queue.process) {
                known.0 = number;
            }
            if queue.hint.is_some() && known.0 != number {
                *known = (number, Some(now), now);
            }
        }
    }

    /// Whether a queue without work may be taken to wait, because its process has said
    /// that it prepares a request.
    fn is_announced(&self, context: &Context<'_>, queue: &Observation) -> bool {
        let limit = context.config.duration(Number::HintLimit);
        let told = self.hints.get(&queue.process).and_then(|hint| hint.1);
        // Of a queue that could never be read nothing is known that speaks against it.
        let idle = queue.backlog.unwrap_or(0) == 0;
        idle && told.is_some_and(|told| context.now.since(told) < limit)
    }

    /// Takes in what is seen.
    fn take_in(&mut self, context: &Context<'_>, seen: &[Observation]) {
        let now = context.now;
        let names: BTreeSet<QueueId> = seen.iter().map(|queue| queue.queue).collect();
        self.queues.retain(|id, _| names.contains(id));
        self.orphans.retain(|id| names.contains(id));
        for queue in seen {
            let entry = self.queues.entry(queue.queue).or_insert(Ledger {
                seen: *queue,
                stopped: None,
                starting: false,
                turn: None,
                resumed: None,
                pending: false,
                pending_since: now,
                pending_steps: 0,
                runnable: false,
                moved: false,
                immune: Nanos::ZERO,
                immunity: Nanos::ZERO,
                vain: Vain::default(),
            });
            let before = entry.seen;
            let moved = before.progress != queue.progress;
            entry.moved |= moved;
            self.left_alone += u64::from(entry.follow_vain_stops(context, queue, moved));
            let backlog = queue.backlog.or(before.backlog);
            let idle = backlog.unwrap_or(0) == 0;
            let runnable = entry.follow_head(queue, moved, idle);
            let launched = entry.moved && idle && queue.waves == Waves::Known(0);
            let pending = queue.state == QueueState::Active && (runnable || launched);
            if !pending || !entry.pending || (moved && launched) {
                entry.pending_steps = 0;
                entry.pending_since = now;
            } else {
                entry.pending_steps += 1;
            }
            entry.pending = pending;
            match queue.state {
                QueueState::Active => {
                    let dry = matches!(entry.stopped, Some((_, false)));
                    let resumed =
                        matches!(before.state, QueueState::StoppedByUs | QueueState::Held)
                            || entry.starting;
                    if resumed && !dry {
                        entry.resumed = Some(now);
                        entry.immune = now.after(entry.immunity);
                        entry.immunity = Nanos::ZERO;
                    }
                    if !dry {
                        entry.stopped = None;
                    }
                    entry.starting = false;
                    self.orphans.remove(&queue.queue);
                }
                QueueState::Held => {
                    entry.stopped = None;
                    entry.starting = false;
                    self.orphans.remove(&queue.queue);
                }
                QueueState::StoppedByUs | QueueState::Unknown => {}
            }
            let state = match queue.state {
                // What could not be told is taken to be as it was.
                QueueState::Unknown => before.state,
                state => state,
            };
            entry.seen = Observation {
                state,
                backlog,
                ..*queue
            };
        }
    }

    /// Takes in reports. Says whether everything must be started now.
    fn hear(&mut self, config: &Config<'static>, outcomes: &[Outcome], now: Nanos) -> bool {
        for outcome in outcomes {
            // A stop that was refused did not happen.
            let refused = match outcome.report {
                Report::Done => false,
                Report::NothingToDo => true,
                Report::Failed(failed) => failed.kind == FailureKind::Passing,
            };
            if let (true, Some(entry)) = (refused, self.queues.get_mut(&outcome.queue)) {
                if !entry.starting && entry.seen.state != QueueState::StoppedByUs {
                    entry.stopped = None;
                }
            }
        }
        let kind = outcomes.iter().find_map(|outcome| match outcome.report {
            Report::Failed(failed) => Some(failed.kind).filter(|&of| of != FailureKind::Passing),
            Report::Done | Report::NothingToDo => None,
        });
        let Some(kind) = kind else {
            return false;
        };
        if kind == FailureKind::Rebuilt {
            let pause = config.duration(Number::Retry);
            self.silent_until = now.after(pause.min(config.duration(Number::RetryMax)));
            for (id, queue) in &mut self.queues {
                if queue.stopped.is_some_and(|(_, real)| real) || queue.starting {
                    queue.stopped = None;
                    queue.starting = false;
                    queue.immunity = Nanos::ZERO;
                    queue.resumed = None;
                    if queue.seen.state == QueueState::StoppedByUs {
                        self.orphans.insert(*id);
                    }
                }
            }
            false
        } else {
            true
        }
    }

    /// Notes since when nothing at all has changed.
    fn note_stillness(&mut self, config: &Config<'static>, seen: &[Observation], now: Nanos) {
        let same = self.numbers == Some(*config)
            && self.before.len() == seen.len()
            && self.before.iter().zip(seen).all(|(a, b)| a == b)
            && seen
                .iter()
                .all(|queue| !matches!(queue.waves, Waves::Known(1..)));
        if !same {
            self.still_since = now;
        }
        self.numbers = Some(*config);
        self.before = seen.to_vec();
    }

    /// The form of a step.
    fn check_shape(
        &self,
        step: &Step,
        made: &[Decision],
        output: usize,
        now: Nanos,
    ) -> Result<(), String> {
        hold!(made.len() <= output, "more decisions than places");
        let names: BTreeSet<QueueId> = made.iter().map(|made| made.queue).collect();
        hold!(
            names.len() == made.len(),
            "two decisions on a queue: {made:?}"
        );
        let first_stop = made.iter().position(|made| made.action == Action::Stop);
        let last_start = made.iter().rposition(|made| made.action == Action::Start);
        if let (Some(stop), Some(start)) = (first_stop, last_start) {
            hold!(start < stop, "a stop before a start: {made:?}");
        }
        if let Some(next) = step.next_look {
            hold!(next >= now, "it would look in the past");
        }
        if now < self.silent_until {
            hold!(made.is_empty(), "a decision during a reset: {made:?}");
        }
        Ok(())
    }

    /// A start is for a queue that is stopped, and says why rightly.
    fn check_start(&mut self, context: &Context<'_>, made: &Decision) -> Result<(), String> {
        let Context { config, now } = *context;
        let Some(entry) = self.queues.get_mut(&made.queue) else {
            return Err(format!("a start of an unknown queue: {made:?}"));
        };
        let orphan = self.orphans.contains(&made.queue);
        let known = entry.stopped.is_some() || entry.starting || orphan;
        hold!(
            known || entry.seen.state == QueueState::StoppedByUs,
            "a start of a running queue: {made:?}"
        );
        if made.reason == Reason::Bound {
            let slice = context.timeslice(&entry.seen);
            entry.immunity = slice.max(config.duration(Number::MinRun));
        }
        if let Some((since, real)) = entry.stopped {
            if !orphan {
                hold!(made.apply == real, "a dry start of a real stop: {made:?}");
            }
            if made.reason == Reason::Bound {
                hold!(
                    now.since(since) >= config.duration(Number::MaxStop),
                    "the bound came early: {made:?}"
                );
                if !real {
                    entry.immune = now.after(entry.immunity);
                    entry.immunity = Nanos::ZERO;
                }
            }
            if !real {
                entry.resumed = Some(now);
            }
        }
        // A start that is tried again does not blame the pair again.
        let first = entry.stopped.is_some();
        if made.reason == Reason::NoProgress && made.apply && first {
            let victim = entry.seen.process;
            let beneficiary = made.beneficiary.and_then(|id| self.queues.get(&id));
            if let Some(beneficiary) = beneficiary {
                let until = now.after(
                    config
                        .duration(Number::CoolDown)
                        .min(config.duration(Number::CoolDownMax)),
                );
                self.cooling
                    .insert((beneficiary.seen.process, victim), until);
            }
        }
        if let Some(entry) = self.queues.get_mut(&made.queue) {
            entry.stopped = None;
            entry.starting = made.apply;
            entry.turn = (made.reason == Reason::Turn).then_some(now);
        }
        Ok(())
    }

    /// A stop is for a waiting queue that has a right to it.
    fn check_stop(&mut self, context: &Context<'_>, made: &Decision) -> Result<(), String> {
        let Context { config, now } = *context;
        match config.mode {
            Mode::Off => return Err(format!("a stop in mode off: {made:?}")),
            Mode::Observe => hold!(!made.apply, "a real stop in mode observe"),
            Mode::Enforce => hold!(made.apply, "a dry stop in mode enforce"),
        }
        let victim = *self
            .queues
            .get(&made.queue)
            .ok_or(format!("a stop of an unknown queue: {made:?}"))?;
        let beneficiary = *made
            .beneficiary
            .and_then(|id| self.queues.get(&id))
            .ok_or(format!("a stop for no known queue: {made:?}"))?;
        hold!(
            victim.stopped.is_none() && !victim.starting,
            "a stop of a stopped queue: {made:?}"
        );
        hold!(
            victim.seen.state == QueueState::Active,
            "a stop of an inactive queue: {made:?}"
        );
        hold!(
            !victim.seen.protected,
            "a stop of a protected queue: {made:?}"
        );
        hold!(
            config.same_process || victim.seen.process != beneficiary.seen.process,
            "a stop for its own process: {made:?}"
        );
        hold!(
            context.contends(&beneficiary.seen),
            "a stop for a queue that takes no part: {made:?}"
        );
        let pair = (beneficiary.seen.process, victim.seen.process);
        let until = self.cooling.get(&pair).copied().unwrap_or(Nanos::ZERO);
        hold!(now >= until, "a stop of a pair that cools down: {made:?}");

        check_right(context, made, &victim, &beneficiary)?;

        // A turn that comes round in this very step begins with a start.
        if beneficiary.turn != Some(now) {
            hold!(
                beneficiary.seen.state == QueueState::Active,
                "a stop for an inactive queue: {made:?}"
            );
            if beneficiary.stopped.is_none() && made.reason != Reason::Rotation {
                let waited = now.since(beneficiary.pending_since);
                let waits =
                    beneficiary.pending_steps >= 1 && waited >= config.duration(Number::Grace);
                let announced = self.is_announced(context, &beneficiary.seen);
                self.prepared += u64::from(!waits && announced);
                hold!(
                    waits || announced,
                    "a stop within the grace: {made:?} {beneficiary:?}"
                );
            }
        }
        hold!(
            now >= victim.vain.alone_until,
            "a stop of a queue that is left alone: {made:?} {victim:?}"
        );
        if let Some(entry) = self.queues.get_mut(&made.queue) {
            entry.stopped = Some((now, made.apply));
            if made.apply {
                entry.vain.idle = entry.seen.backlog.unwrap_or(0) == 0;
                entry.vain.found_nothing = !entry.vain.idle && entry.seen.waves == Waves::Known(0);
            }
        }
        Ok(())
    }

    /// Stops keep their distance from transactions, and their number.
    fn check_pace(&mut self, config: &Config<'static>, now: Nanos) -> Result<(), String> {
        if let Some(last) = self.last_transaction {
            hold!(
                now.since(last) >= config.duration(Number::MinInterval),
                "a stop too soon after the transaction of {last:?}"
            );
        }
        if now.since(self.second) >= Nanos::SECOND {
            self.second = now;
            self.stops = 0;
        }
        self.stops += 1;
        hold!(
            self.stops <= config.get(Number::MaxSwitches),
            "too many stops in a second"
        );
        Ok(())
    }

    /// Nothing stays stopped too long.
    fn check_bounds(
        &self,
        context: &Context<'_>,
        seen: &[Observation],
        step: &Step,
        failed: bool,
    ) -> Result<(), String> {
        let Context { config, now } = *context;
        let immune = self.queues.values().any(|queue| now < queue.immune);
        for queue in seen {
            let Some(entry) = self.queues.get(&queue.queue) else {
                continue;
            };
            if let Some((since, real)) = entry.stopped {
                let stopped = now.since(since);
                hold!(
                    stopped < config.duration(Number::MaxStop),
                    "stopped beyond its bound: {queue:?}"
                );
                let bound = since.after(config.duration(Number::MaxStop));
                hold!(
                    step.next_look.is_some_and(|next| next <= bound),
                    "it would look after the bound of {queue:?}"
                );
                hold!(
                    step.bound.is_some_and(|first| first <= bound),
                    "it could rest beyond the bound of {queue:?}"
                );
                hold!(!(failed && real), "a failure did not start {queue:?}");
                hold!(config.mode != Mode::Off, "stopped in mode off: {queue:?}");
                let still = now.since(self.still_since.max(since));
                hold!(
                    immune || !real || still < config.duration(Number::NoProgress).times(2),
                    "nothing moves, and it stays stopped: {queue:?}"
                );
            }
        }
        Ok(())
    }

    /// No process causes more stopped time than it may.
    fn check_budgets(
        &mut self,
        context: &Context<'_>,
        views: &[QueueView],
        step: &Step,
    ) -> Result<(), String> {
        let excused = step.truncated || matches!(step.arming, Arming::Silent(_));
        let mut holders = BTreeSet::new();
        for view in views.iter().filter(|view| view.verdict == Verdict::Stopped) {
            let Some(held) = self.queues.get(&view.queue) else {
                continue;
            };
            let beneficiary = view.beneficiary.and_then(|id| self.queues.get(&id));
            if let (Some(beneficiary), Some((_, true))) = (beneficiary, held.stopped) {
                holders.insert(beneficiary.seen.process);
            }
        }
        for process in &holders {
            // Rules here may be about single queues of a process, whose budget is that of
            // any of them.
            let own = |entry: &&Ledger| entry.seen.process == *process;
            let budgets = self.queues.values().filter(own);
            let budget = budgets.map(|entry| context.stop_budget(&entry.seen)).max();
            let budget = budget.unwrap_or(Nanos::ZERO);
            if self.allowed.insert(*process, budget) != Some(budget) {
                // What was caused under another budget says nothing of this one.
                self.held.remove(process);
            }
            // A second of the policy's may begin anywhere, so that two of them
            // reach into any second.
            let allowed = budget.times(2);
            let held = self.held.get(process);
            let times = || {
                held.into_iter()
                    .flatten()
                    .map(|(start, end)| end.since(*start).0)
            };
            let spent: u64 = times().sum();
            // A budget ends at a look, so the last stretch of each may exceed it.
            let longest = Nanos(times().max().unwrap_or(0));
            hold!(
                excused
                    || allowed >= Nanos::SECOND.times(2)
                    || Nanos(spent) <= allowed.after(longest.times(3)),
                "{process:?} has caused {spent} ns of stopped time in a second and goes on"
            );
        }
        self.holders = holders;
        Ok(())
    }
}

/// The stop is of a queue that its beneficiary may preempt now.
fn check_right(
    context: &Context<'_>,
    made: &Decision,
    victim: &Ledger,
    beneficiary: &Ledger,
) -> Result<(), String> {
    let Context { config, now } = *context;
    let high = context.effective(&beneficiary.seen);
    let low = context.effective(&victim.seen);
    hold!(
        context.contends(&victim.seen),
        "a stop of a queue that takes no part: {made:?}"
    );
    hold!(now >= victim.immune, "a stop of an immune queue: {made:?}");
    if let Some(resumed) = victim.resumed {
        hold!(
            now.since(resumed) >= config.duration(Number::MinRun),
            "a stop within the minimum run: {made:?}"
        );
    }
    let right = match made.reason {
        Reason::Inversion => config.policy != PolicyKind::Fair && high > low,
        Reason::Rotation => {
            config.policy != PolicyKind::Fair
                && high == low
                && context.timeslice(&victim.seen) > Nanos::ZERO
        }
        Reason::Share => config.policy == PolicyKind::Fair,
        Reason::Deadline => config.policy == PolicyKind::Deadline && high == low,
        _ => false,
    };
    hold!(right, "a stop without a right to it: {made:?}");
    Ok(())
}

/// The first observation of each queue.
fn first_of_each(seen: &[Observation]) -> Vec<Observation> {
    let mut names = BTreeSet::new();
    seen.iter()
        .filter(|queue| names.insert(queue.queue))
        .copied()
        .collect()
}
