// SPDX-License-Identifier: GPL-2.0-only
//! The properties, checked on every step by books that are kept independently of
//! the policy's, in one file because all are checked from the same step.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use gpreempt_policy::{
    Action, Arming, Config, Decision, Head, Mode, Nanos, Observation, Outcome, ProcessId, QueueId,
    QueueState, QueueView, Reason, Report, Step, Verdict,
};

use crate::books::{Books, Context, Ledger};

/// How long at least nothing is stopped for a process that made no progress.
const COOL: Nanos = Nanos::from_millis(10);

/// One pass, as it is seen from outside.
pub struct Look<'a> {
    pub now: Nanos,
    pub config: &'a Config,
    pub seen: &'a [Observation],
    pub outcomes: &'a [Outcome],
    pub step: &'a Step,
    pub made: &'a [Decision],
    pub views: &'a [QueueView],
    /// How many decisions the output takes, and for how many queues there is room.
    pub output: usize,
    pub room: usize,
}

/// What was decided in the last step, to see whether it lasts where nothing changes.
#[derive(Clone, Debug)]
struct Last {
    config: Config,
    seen: Vec<Observation>,
    stops: Vec<Decision>,
}

/// The watch over a node, and what it has counted.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    now: Nanos,
    books: Books,
    /// The mode of the last step, and whether a change of it is still being carried out.
    mode: Option<Mode>,
    releasing: bool,
    last: Option<Last>,
    /// How often each reason was given.
    pub reasons: BTreeMap<&'static str, u64>,
    /// How often each reason was given in which circumstances.
    pub circumstances: BTreeMap<String, u64>,
    /// How many steps were watched.
    pub steps: u64,
    /// Stops for queues that had only been announced.
    pub prepared: u64,
    /// Stops for queues whose launch was not placed wholly.
    pub squeezed: u64,
    /// Steps after a stop in which nothing had changed.
    pub lasting: u64,
    /// Processes that were blamed for making no progress.
    pub blamed: u64,
    /// All that was decided and shown, if it is written down.
    written: Option<DefaultHasher>,
}

/// Fails with a property's name unless it holds.
macro_rules! hold {
    ($condition:expr, $($what:tt)+) => {
        if !$condition {
            return Err(format!($($what)+));
        }
    };
}

impl Watch {
    /// A queue is found stopped for no reason.
    pub fn orphaned(&mut self, queue: QueueId) {
        self.books.orphans.insert(queue);
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
    pub fn check(&mut self, look: &Look<'_>) -> Result<(), String> {
        self.steps += 1;
        if let Some(written) = &mut self.written {
            (look.step, look.made, look.views).hash(written);
        }
        let now = look.now.max(self.now);
        let elapsed = now.since(std::mem::replace(&mut self.now, now));
        let context = Context {
            config: look.config,
            now,
        };
        let (step, made) = (look.step, look.made);
        let seen = first_of_each(look.seen);
        let untracked = seen.len() > look.room || step.untracked > 0;
        self.books.spend(elapsed);
        self.books.take_in(now, look.config, &seen);
        let failed = self.books.hear(look.outcomes, now);

        self.check_shape(look, now)?;
        self.releasing |= self.mode.is_some_and(|last| last != look.config.mode);
        self.mode = Some(look.config.mode);
        for decision in made {
            self.count(&context, step, decision, untracked);
            match decision.action {
                Action::Start => self.check_start(&context, decision)?,
                Action::Stop => {
                    hold!(!self.releasing, "a stop before all run: {decision:?}");
                    let armed = step.arming == Arming::Armed;
                    hold!(armed, "a stop while not armed: {decision:?}");
                    self.check_stop(&context, decision)?;
                }
            }
        }
        let silent = matches!(step.arming, Arming::Silent(_));
        if !step.truncated && !untracked && !silent {
            self.check_lasting(look, &seen, untracked)?;
            self.check_bounds(&context, &seen, step, failed)?;
        }
        self.check_sleep(&seen, step, made)?;
        self.check_holders(&context, look.views, made, step.truncated || silent)?;
        let lasts = !step.truncated && !untracked;
        self.last = Some(Last {
            config: *look.config,
            seen,
            stops: made
                .iter()
                .filter(|made| made.action == Action::Stop && lasts)
                .copied()
                .collect(),
        });
        // Of a queue without a place nothing is remembered, here neither.
        let placed: BTreeSet<QueueId> = look.views.iter().map(|view| view.queue).collect();
        self.books.queues.retain(|id, _| placed.contains(id));
        let mut views = look.views.iter();
        let any = views.any(|view| view.verdict == Verdict::Stopped);
        self.releasing &= any || self.books.queues.values().any(|queue| queue.starting);
        Ok(())
    }

    fn count(&mut self, context: &Context<'_>, step: &Step, made: &Decision, untracked: bool) {
        *self.reasons.entry(made.reason.name()).or_default() += 1;
        let circumstance = format!(
            "{:?} {:?} {:?} {:?} {untracked}",
            made.reason,
            context.config.mode,
            context.config.user_priority,
            std::mem::discriminant(&step.arming),
        );
        *self.circumstances.entry(circumstance).or_default() += 1;
    }

    /// The form of a step.
    fn check_shape(&self, look: &Look<'_>, now: Nanos) -> Result<(), String> {
        let made = look.made;
        hold!(made.len() <= look.output, "more decisions than places");
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
        if let Some(next) = look.step.next_look {
            hold!(next >= now, "it would look in the past");
        }
        let silent = now < self.books.silent_until || matches!(look.step.arming, Arming::Silent(_));
        hold!(
            !silent || made.is_empty(),
            "a decision during a reset: {made:?}"
        );
        Ok(())
    }

    /// A start is for a queue that is stopped, and says why rightly.
    fn check_start(&mut self, context: &Context<'_>, made: &Decision) -> Result<(), String> {
        let Context { config, now } = *context;
        let orphan = self.books.orphans.contains(&made.queue);
        let max_stop = Nanos::from_millis(config.numbers.max_stop_ms);
        let Some(entry) = self.books.queues.get_mut(&made.queue) else {
            return Err(format!("a start of an unknown queue: {made:?}"));
        };
        hold!(
            entry.stopped.is_some()
                || entry.starting
                || orphan
                || entry.seen.state == QueueState::StoppedByUs,
            "a start of a running queue: {made:?}"
        );
        match made.reason {
            Reason::Bound => {
                let slice = context.timeslice(&entry.seen);
                entry.immunity = slice.max(Nanos::from_micros(config.numbers.min_run_us));
            }
            Reason::Orphan => entry.immunity = Nanos::ZERO,
            _ => {}
        }
        if let Some((since, real)) = entry.stopped {
            if !orphan {
                hold!(made.apply == real, "a dry start of a real stop: {made:?}");
            }
            if made.reason == Reason::Bound {
                let stopped = now.since(since);
                // Beside rules a claim holds for half of it.
                let raises = config.highest_rule.is_some();
                let half = raises && stopped.times(2).after(Nanos(1)) >= max_stop;
                hold!(
                    stopped >= max_stop || half,
                    "the bound came early: {made:?}"
                );
                if !real {
                    entry.immune = (now.after(entry.immunity), entry.stopped_for);
                    entry.immunity = Nanos::ZERO;
                }
            }
        }
        entry.stopped = None;
        entry.starting = made.apply;
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
            .books
            .queues
            .get(&made.queue)
            .ok_or(format!("a stop of an unknown queue: {made:?}"))?;
        let beneficiary = *made
            .beneficiary
            .and_then(|id| self.books.queues.get(&id))
            .ok_or(format!("a stop for no known queue: {made:?}"))?;
        check_right(context, made, &victim, &beneficiary)?;
        let own = self.books.processes.get(&beneficiary.seen.process);
        let cooling = own.is_some_and(|own| now < own.cool_until);
        hold!(
            !cooling,
            "a stop for a process that made no progress: {made:?}"
        );
        if made.reason == Reason::Inversion {
            self.check_wait(context, made, &beneficiary)?;
        }
        if let Some(entry) = self.books.queues.get_mut(&made.queue) {
            entry.stopped = Some((now, made.apply));
            entry.stopped_for = context.effective(&beneficiary.seen);
        }
        Ok(())
    }

    /// Whoever has others stopped waits, in one of three ways.
    fn check_wait(
        &mut self,
        context: &Context<'_>,
        made: &Decision,
        beneficiary: &Ledger,
    ) -> Result<(), String> {
        hold!(
            beneficiary.seen.state == QueueState::Active && beneficiary.stopped.is_none(),
            "a stop for an inactive queue: {made:?}"
        );
        let grace = Nanos::from_micros(context.config.numbers.grace_us);
        let waits = beneficiary
            .waits
            .is_some_and(|(since, looks)| looks > 0 && context.now.since(since) >= grace);
        let announced = self.books.is_announced(context, &beneficiary.seen);
        let squeezed = beneficiary.lacks_room;
        self.prepared += u64::from(!waits && !squeezed && announced);
        self.squeezed += u64::from(!waits && squeezed);
        hold!(
            waits || announced || squeezed,
            "a stop for one that does not wait: {made:?} {beneficiary:?}"
        );
        Ok(())
    }

    /// Where nothing has changed, a stop lasts.
    fn check_lasting(
        &mut self,
        look: &Look<'_>,
        seen: &[Observation],
        untracked: bool,
    ) -> Result<(), String> {
        let Some(last) = &self.last else {
            return Ok(());
        };
        let done = look.outcomes.iter().all(|one| one.report == Report::Done);
        let stopped = |id| last.stops.iter().any(|stop: &Decision| stop.queue == id);
        let same = |(before, after): (&Observation, &Observation)| {
            let went = stopped(before.queue) && after.state == QueueState::StoppedByUs;
            let state = if went { before.state } else { after.state };
            before.head != Head::Invalid && *before == Observation { state, ..*after }
        };
        let unchanged = done
            && !untracked
            && last.config == *look.config
            && last.seen.len() == seen.len()
            && last.seen.iter().zip(seen).all(same);
        if !unchanged || look.step.arming != Arming::Armed {
            return Ok(());
        }
        for stop in &last.stops {
            self.lasting += 1;
            let start = look.made.iter().find(|made| made.queue == stop.queue);
            let excused = start.is_none_or(|start| {
                let ends = [
                    Reason::Bound,
                    Reason::Budget,
                    Reason::NoProgress,
                    Reason::Turn,
                ];
                // A hint is over with its time, be anything changed or not.
                let hinted = last.seen.iter().any(|queue| queue.hint.is_some());
                ends.contains(&start.reason) || hinted
            });
            let of = |one: &&Observation| Some(one.queue) == stop.beneficiary;
            let beneficiary = seen.iter().find(of);
            hold!(
                excused,
                "{start:?} ended {stop:?} though nothing has changed: {beneficiary:?}"
            );
        }
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
        for queue in seen {
            let Some(entry) = self.books.queues.get(&queue.queue) else {
                continue;
            };
            let Some((since, real)) = entry.stopped else {
                continue;
            };
            let bound = since.after(Nanos::from_millis(config.numbers.max_stop_ms));
            hold!(now < bound, "stopped beyond its bound: {queue:?}");
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
            hold!(
                context.contends(queue),
                "one that takes no part stays stopped: {queue:?}"
            );
        }
        Ok(())
    }

    /// It does not sleep, nor does it count nothing, while something is stopped.
    fn check_sleep(
        &self,
        seen: &[Observation],
        step: &Step,
        made: &[Decision],
    ) -> Result<(), String> {
        if step.next_look.is_none() {
            hold!(step.stopped == 0, "it sleeps while queues are stopped");
        }
        if step.stopped == 0 {
            let starts = |queue: &Observation| made.iter().any(|made| made.queue == queue.queue);
            let mut left = seen.iter();
            let left = left.find(|one| one.state == QueueState::StoppedByUs && !starts(one));
            hold!(left.is_none(), "uncounted: {left:?}");
        }
        Ok(())
    }

    /// Whoever has something stopped for it has budget left, and makes progress.
    fn check_holders(
        &mut self,
        context: &Context<'_>,
        views: &[QueueView],
        made: &[Decision],
        excused: bool,
    ) -> Result<(), String> {
        let Context { config, now } = *context;
        let patience = Nanos::from_millis(config.numbers.noprogress_ms);
        let immune = |queue: &Ledger| now <= queue.immune.0 || queue.immunity > Nanos::ZERO;
        let dry = config.mode != Mode::Enforce;
        if dry || excused || self.books.queues.values().any(immune) {
            // Nobody waits for what is not really stopped; and while a queue has its time
            // against all others, progress is not expected.
            for account in self.books.processes.values_mut() {
                account.alive = account.alive.max(now);
            }
        }
        // Whether something has been stopped for them since before this step.
        let mut holders: BTreeMap<ProcessId, bool> = BTreeMap::new();
        for view in views.iter().filter(|view| view.verdict == Verdict::Stopped) {
            let of = view.beneficiary.and_then(|id| self.books.queues.get(&id));
            let Some(of) = of.copied() else {
                continue;
            };
            let process = of.seen.process;
            let known = self.books.queues.get_mut(&view.queue);
            if let Some((since, held)) = known.and_then(|held| Some((held.stopped?.0, held))) {
                let level = context.effective(&of.seen);
                held.stopped_for = held.stopped_for.min(level);
                hold!(
                    held.seen.process != process,
                    "{view:?} is stopped for its own process"
                );
                *holders.entry(process).or_default() |= since < now;
            } else {
                continue;
            }
            let budget = context.stop_budget(&of.seen);
            if budget < Nanos::SECOND {
                let spent = self.books.spent(now, of.seen.tenant);
                hold!(
                    excused || spent < budget,
                    "{view:?}: its tenant has spent {spent:?} of {budget:?}"
                );
                // What there was no room to start is nobody's to pay.
                if !excused {
                    self.books.hold(now, of.seen.tenant);
                }
            }
        }
        let blamed = made.iter().any(|made| made.reason == Reason::NoProgress);
        for (process, account) in &mut self.books.processes {
            let Some(&lasts) = holders.get(process) else {
                // It ends holding just when its patience ends: it is blamed.
                let since = account.holding.take();
                let stuck = since.map(|since| since.max(account.alive).after(patience));
                if blamed && stuck.is_some_and(|end| now >= end) {
                    self.blamed += 1;
                    account.cool_until = now.after(COOL);
                }
                continue;
            };
            let since = *account.holding.get_or_insert(now);
            let end = since.max(account.alive).after(patience);
            hold!(
                excused || !lasts || now < end,
                "{process:?} makes no progress, and queues stay stopped for it"
            );
        }
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
    let high = context.effective(&beneficiary.seen);
    let low = context.effective(&victim.seen);
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
        victim.seen.process != beneficiary.seen.process,
        "a stop for its own process: {made:?}"
    );
    hold!(
        context.contends(&beneficiary.seen) && context.contends(&victim.seen),
        "a stop of or for a queue that takes no part: {made:?}"
    );
    hold!(
        victim.has_any(),
        "a stop of a queue that never had anything: {made:?}"
    );
    let (until, level) = victim.immune;
    hold!(
        context.now >= until || high > level,
        "a stop of an immune queue: {made:?}"
    );
    let right = match made.reason {
        Reason::Inversion => high > low,
        Reason::Rotation => high == low && context.timeslice(&victim.seen) > Nanos::ZERO,
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
