// SPDX-License-Identifier: GPL-2.0-only

//! What a scheduler is compared with: references that pay for the same transactions and
//! keep the same promise to the lower queues, but see everything at once, without a look
//! and without its cost, and may know when requests will come.
//!
//! Three of them. *Blind* acts at each doorbell and at each end of a request, and knows
//! nothing else: what nobody can pass who has no foresight and does what it does. The
//! *reactive* reference also knows the next doorbell, and the *clairvoyant* one may act
//! before it. These two have some plans each, and the plan that serves a load best is
//! chosen in hindsight, which no scheduler can do.
//!
//! They are no bound. A scheduler that does something else than any of the plans may be
//! better on some load; where that happens, what it does is a plan that is missing here.

use crate::controller::{Act, Controller, Doorbell, Look, Next, QueueInfo};
use crate::engine::{Engine, QueueIndex};
use crate::gpu::{Gpu, Nanos, TransactionCost};
use std::fmt;

/// How far a reference sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foresight {
    /// It is told of each doorbell when it rings.
    Blind,
    /// It acts when a doorbell rings, and knows the next one.
    Reactive,
    /// It also acts before one rings.
    Clairvoyant,
}

/// What a reference may do on a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Leave everything to the hardware's classes.
    LetBe,
    /// Stop the lower queues for those above.
    Stop(Manner),
}

/// How lower queues are stopped, and when they are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// Before the doorbell, rather than at it.
    pub ahead: bool,
    /// Also those that have no work by then, but may get some before the request above
    /// is done.
    pub idle_too: bool,
    /// They are started in every pause that leaves them at least this long, and
    /// otherwise only when the promise to them falls due: `HOLD` means never before.
    pub pause: Nanos,
    /// They are stopped only if one above has no room, and what they run would last for
    /// so many transactions.
    pub worth: u32,
}

/// No pause is long enough.
pub const HOLD: Nanos = Nanos::MAX;

impl Manner {
    /// At the doorbell, all that have work, for as long as anything above has.
    pub const AT_ONCE: Self = Self {
        ahead: false,
        idle_too: false,
        pause: 0,
        worth: 0,
    };
}

impl fmt::Display for Plan {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let Self::Stop(manner) = self else {
            return out.write_str("let be");
        };
        match manner.pause {
            HOLD => out.write_str("hold")?,
            pause => write!(out, "pauses of {} us", pause / 1_000)?,
        }
        if manner.ahead {
            out.write_str(", ahead")?;
        }
        if manner.idle_too {
            out.write_str(", idle too")?;
        }
        match manner.worth {
            0 => Ok(()),
            times => write!(out, ", worth {times}"),
        }
    }
}

impl Foresight {
    pub fn name(self) -> &'static str {
        match self {
            Self::Blind => "blind",
            Self::Reactive => "reactive",
            Self::Clairvoyant => "clairvoyant",
        }
    }

    /// The plans among which hindsight chooses. Who knows more may also do what one does
    /// who knows less.
    pub fn plans(self) -> Vec<Plan> {
        // Shorter pauses than the first are not worth two transactions.
        const PAUSES: [Nanos; 3] = [50_000, 1_000_000, HOLD];
        // Less than two of them does hardly more than none.
        const WORTH: u32 = 2;
        let mut plans = vec![Plan::Stop(Manner::AT_ONCE)];
        if self == Self::Blind {
            return plans;
        }
        plans.push(Plan::LetBe);
        let mut add = |ahead, idle_too, pause, worth| {
            plans.push(Plan::Stop(Manner {
                ahead,
                idle_too,
                pause,
                worth,
            }));
        };
        for pause in PAUSES {
            add(false, false, pause, 0);
            if pause < HOLD {
                add(false, false, pause, WORTH);
            }
        }
        if self == Self::Clairvoyant {
            for pause in PAUSES {
                add(true, false, pause, 0);
                add(true, true, pause, 0);
            }
        }
        plans
    }
}

/// The promise to the lower queues: while they have work, they run for `least` in
/// any `bound`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    pub bound: Nanos,
    pub least: Nanos,
}

impl Promise {
    /// What the module promises by default.
    pub const USUAL: Self = Self {
        bound: 100_000_000,
        least: 200_000,
    };
}

/// What the queues of one level have got of the promise.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// When the promise was last kept in full, or there was nothing to keep.
    kept: Nanos,
    /// How long they have run since.
    ran: Nanos,
    /// Since when they run.
    running_since: Option<Nanos>,
}

impl Account {
    fn ran_by(&self, now: Nanos) -> Nanos {
        let running = self.running_since.map_or(0, |since| now - since);
        self.ran + running
    }

    fn stop(&mut self, now: Nanos, least: Nanos) {
        self.ran = self.ran_by(now);
        self.running_since = None;
        if self.ran >= least {
            self.kept = now;
            self.ran = 0;
        }
    }
}

/// The levels of priority.
const LEVELS: usize = 16;
/// Who waits to see whether a stop becomes worth it looks again after so long.
const AGAIN: Nanos = 10_000;

#[derive(Debug)]
pub struct Reference {
    foresight: Foresight,
    plan: Plan,
    promise: Promise,
    /// Those that it knows, the first one first.
    doorbells: Vec<Doorbell>,
    accounts: [Account; LEVELS],
}

impl Reference {
    pub fn new(foresight: Foresight, plan: Plan, promise: Promise) -> Self {
        Self {
            foresight,
            plan,
            promise,
            doorbells: Vec::new(),
            accounts: Default::default(),
        }
    }

    /// The first doorbell above a level that has not rung yet.
    fn next_doorbell(&self, now: Nanos, level: usize) -> Nanos {
        let rung = self.doorbells.partition_point(|bell| bell.at <= now);
        let above = |bell: &&Doorbell| usize::from(bell.priority) > level;
        let next = self.doorbells[rung..].iter().find(above);
        next.map_or(Nanos::MAX, |bell| bell.at)
    }

    /// When queues of a level that run have to be stopped for the next doorbell above
    /// it: at it, or early enough that they are off when it rings, however much there is
    /// to save.
    fn end_of_pause(&self, engine: &Engine, level: usize, manner: Manner) -> Nanos {
        let doorbell = self.next_doorbell(engine.now(), level);
        if !manner.ahead {
            return doorbell;
        }
        doorbell.saturating_sub(whole(engine.gpu(), true))
    }

    /// When the promise to the stopped queues of a level falls due.
    fn due(&self, level: usize) -> Nanos {
        self.accounts[level].kept + self.promise.bound
    }

    /// Until when queues that run have to be left alone.
    fn protected_until(&self, level: usize, now: Nanos) -> Nanos {
        if now < self.due(level) {
            return now;
        }
        let ran = self.accounts[level].ran_by(now);
        now + self.promise.least.saturating_sub(ran)
    }

    /// While the queues of a level run: when to stop them, or now.
    fn stop_at(
        &self,
        engine: &Engine,
        level: &Level,
        above: Above,
        manner: Manner,
    ) -> Option<Nanos> {
        let now = engine.now();
        if !level.busy && !manner.idle_too {
            return None;
        }
        let wanted = if above.busy {
            let lasts = Nanos::from(manner.worth) * whole(engine.gpu(), true);
            match manner.worth == 0 || above.waits && level.rest >= lasts {
                true => now,
                false => return Some(now + AGAIN),
            }
        } else if manner.ahead {
            match self.end_of_pause(engine, level.number, manner) {
                Nanos::MAX => return None,
                end => end,
            }
        } else {
            return None;
        };
        Some(wanted.max(self.protected_until(level.number, now)))
    }

    /// While the queues of a level are stopped: when to start them, or now.
    fn start_at(&self, engine: &Engine, level: &Level, above: Above, manner: Manner) -> Nanos {
        let now = engine.now();
        if !above.busy {
            let begin = now + whole(engine.gpu(), false);
            let end = self.end_of_pause(engine, level.number, manner);
            if manner.pause < HOLD && end.saturating_sub(begin) >= manner.pause {
                return now;
            }
        }
        self.due(level.number)
    }

    /// Keeps the accounts up to date with what runs.
    fn note(&mut self, levels: &[Level], now: Nanos) {
        for level in levels {
            let account = &mut self.accounts[level.number];
            if !level.stopped {
                account.running_since.get_or_insert(now);
            } else if !level.busy {
                // Nothing is owed to queues without work.
                account.kept = now;
            }
        }
    }

    /// When to stop a level that runs or to start one that is stopped, for each below the
    /// most important one, the highest first.
    fn verdicts(&self, engine: &Engine, levels: &[Level], manner: Manner) -> Vec<Verdict> {
        let mut above = Above::default();
        let mut verdicts = Vec::new();
        for (index, level) in levels.iter().enumerate().rev() {
            if index + 1 < levels.len() {
                let at = match level.stopped {
                    true => Some(self.start_at(engine, level, above, manner)),
                    false => self.stop_at(engine, level, above, manner),
                };
                let at = at.unwrap_or(Nanos::MAX);
                verdicts.push(Verdict { index, at, above });
            }
            above.add(level);
        }
        verdicts
    }
}

/// What is to be done with a level, and when.
struct Verdict {
    index: usize,
    at: Nanos,
    above: Above,
}

/// Command and standstill of a transaction that saves, or restores, all that fits.
fn whole(gpu: &Gpu, saves: bool) -> Nanos {
    let all = gpu.state_bytes();
    let cost = match saves {
        true => TransactionCost::new(gpu, all, 0),
        false => TransactionCost::new(gpu, 0, all),
    };
    cost.command + cost.standstill()
}

/// What a reference sees of the queues of one level.
struct Level {
    number: usize,
    queues: Vec<QueueIndex>,
    stopped: bool,
    /// One of them has work.
    busy: bool,
    /// One of them has work that has no room or comes after what runs.
    waits: bool,
    /// How long what they run lasts.
    rest: Nanos,
}

impl Level {
    /// Those that there are, the lowest first.
    fn see(engine: &Engine, queues: &[QueueInfo]) -> Vec<Self> {
        let of = |number: usize| {
            let of_level = |q: &QueueIndex| usize::from(queues[*q].priority) == number;
            let queues: Vec<_> = (0..queues.len()).filter(of_level).collect();
            Self {
                number,
                stopped: queues.iter().any(|&q| !engine.view(q).active),
                busy: queues.iter().any(|&q| engine.busy(q)),
                waits: queues.iter().any(|&q| engine.waits(q)),
                rest: queues.iter().map(|&q| engine.rest(q)).max().unwrap_or(0),
                queues,
            }
        };
        let levels = (0..LEVELS).map(of);
        levels.filter(|level| !level.queues.is_empty()).collect()
    }
}

/// What is above a level.
#[derive(Clone, Copy, Default)]
struct Above {
    busy: bool,
    waits: bool,
}

impl Above {
    fn add(&mut self, level: &Level) {
        self.busy |= level.busy;
        self.waits |= level.waits;
    }
}

impl Controller for Reference {
    fn foretell(&mut self, doorbells: Vec<Doorbell>) {
        if self.foresight == Foresight::Blind {
            return;
        }
        for bell in doorbells {
            let place = self.doorbells.partition_point(|known| known.at <= bell.at);
            self.doorbells.insert(place, bell);
        }
    }

    fn is_punctual(&self) -> bool {
        true
    }

    fn told(&mut self, now: Nanos, _queue: QueueIndex) -> Option<Nanos> {
        (self.plan != Plan::LetBe).then_some(now)
    }

    fn look(&mut self, engine: &Engine, queues: &[QueueInfo]) -> Look {
        let Plan::Stop(manner) = self.plan else {
            return Look::default();
        };
        let now = engine.now();
        let levels = Level::see(engine, queues);
        self.note(&levels, now);
        let verdicts = self.verdicts(engine, &levels, manner);
        let of = |verdict: &Verdict| &levels[verdict.index];
        let due = |verdict: &&Verdict| verdict.at <= now;
        let stopped = |verdict: &&Verdict| of(verdict).stopped;
        // One that has no work yet is stopped with one above it that has some.
        let first = verdicts.iter().position(|v| v.at <= now && !of(v).stopped);
        let mut stop = Vec::new();
        for verdict in &verdicts[first.unwrap_or(verdicts.len())..] {
            let level = of(verdict);
            if !level.stopped && self.protected_until(level.number, now) <= now {
                self.accounts[level.number].stop(now, self.promise.least);
                stop.extend(&level.queues);
            }
        }
        // One without work is started with one that has some, and whoever is stopped with
        // one to whom it was promised.
        let mut start: Vec<QueueIndex> = Vec::new();
        if verdicts
            .iter()
            .filter(stopped)
            .filter(due)
            .any(|v| of(v).busy)
        {
            let promised = |v: &Verdict| of(v).busy && v.above.busy;
            let all = verdicts.iter().filter(stopped).filter(due).any(promised);
            let starts = verdicts.iter().filter(stopped);
            let starts = starts.filter(|verdict| all || due(verdict));
            start.extend(starts.flat_map(|verdict| &of(verdict).queues));
        }
        if stop.is_empty() && start.is_empty() {
            // Nothing is to be started that has no work.
            let waiting = verdicts.iter().filter(|v| !of(v).stopped || of(v).busy);
            let next = match waiting.map(|verdict| verdict.at).min() {
                None | Some(Nanos::MAX) => Next::Told,
                Some(at) => Next::At(at),
            };
            return Look {
                next,
                ..Look::default()
            };
        }
        Look {
            cost: 0,
            acts: vec![Act::Transaction {
                lead: 0,
                stop,
                start,
            }],
            // What holds afterwards is seen when the transaction is over.
            next: Next::After(1),
        }
    }
}
