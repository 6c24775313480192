// SPDX-License-Identifier: GPL-2.0-only

//! What a scheduler could reach that pays for the same transactions and keeps the
//! same promise to the lower queues, but sees at once and knows what will come.
//!
//! Two of them: the reactive oracle acts at a doorbell and never before it, and
//! knows when the next one will ring; the clairvoyant oracle also stops the lower
//! queues so early that they are off the compute units when it rings. Each has a few
//! plans, and the plan that serves a load best is chosen in hindsight, which no
//! scheduler can do: what is behind an oracle is behind for a reason, and what is
//! level with it cannot be improved.

use crate::controller::{Act, Controller, Look, Next, QueueInfo};
use crate::engine::{Engine, QueueIndex};
use crate::gpu::{Nanos, TransactionCost};

/// How far an oracle sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foresight {
    /// It acts when a doorbell rings, and knows the next one.
    Reactive,
    /// It also acts before one rings.
    Clairvoyant,
}

/// What an oracle may do on a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Leave everything to the hardware's classes.
    LetBe,
    /// Stop the lower queues, and start them in every pause that leaves them at least
    /// this long.
    Pauses(Nanos),
}

impl Foresight {
    pub fn name(self) -> &'static str {
        match self {
            Self::Reactive => "reactive",
            Self::Clairvoyant => "clairvoyant",
        }
    }

    /// The plans among which hindsight chooses.
    pub fn plans(self) -> &'static [Plan] {
        &[
            Plan::LetBe,
            Plan::Pauses(1_000),
            Plan::Pauses(300_000),
            Plan::Pauses(1_000_000),
        ]
    }
}

/// The promise to the lower queues: while they have work, they run for `least` in
/// any `bound`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    pub bound: Nanos,
    pub least: Nanos,
}

/// What the lower queues have got of the promise.
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

#[derive(Debug)]
pub struct Oracle {
    foresight: Foresight,
    plan: Plan,
    promise: Promise,
    doorbells: Vec<Nanos>,
    account: Account,
    stopped: bool,
}

impl Oracle {
    pub fn new(foresight: Foresight, plan: Plan, promise: Promise) -> Self {
        Self {
            foresight,
            plan,
            promise,
            doorbells: Vec::new(),
            account: Account::default(),
            stopped: false,
        }
    }

    /// The first doorbell that has not rung yet.
    fn next_doorbell(&self, now: Nanos) -> Nanos {
        let rung = self.doorbells.partition_point(|&at| at <= now);
        self.doorbells.get(rung).copied().unwrap_or(Nanos::MAX)
    }

    /// When to begin to stop what runs, so that it is off when the next doorbell
    /// rings, however much there is to save by then.
    fn ahead(&self, engine: &Engine) -> Nanos {
        let cost = TransactionCost::new(engine.gpu(), engine.gpu().state_bytes(), 0);
        self.next_doorbell(engine.now())
            .saturating_sub(cost.command + cost.standstill())
    }

    /// When the promise to the stopped queues falls due.
    fn due(&self) -> Nanos {
        self.account.kept + self.promise.bound
    }

    /// Until when queues that run have to be left alone.
    fn protected_until(&self, now: Nanos) -> Nanos {
        if now < self.due() {
            return now;
        }
        now + self.promise.least.saturating_sub(self.account.ran_by(now))
    }

    /// While the lower queues run: when to stop them, or now.
    fn running(&self, engine: &Engine, lower: &Lower) -> Next {
        let now = engine.now();
        let protected = self.protected_until(now);
        let wanted = match (self.foresight, lower.urgent_waits) {
            (_, true) if lower.busy => now,
            (Foresight::Clairvoyant, false) => self.ahead(engine),
            _ => return Next::Told,
        };
        Next::At(wanted.max(protected))
    }

    /// While the lower queues are stopped: when to start them, or now.
    fn waiting(&self, engine: &Engine, lower: &Lower, pause: Nanos) -> Next {
        let now = engine.now();
        if !lower.busy {
            return Next::Told;
        }
        if lower.urgent_waits {
            return Next::At(self.due());
        }
        let start = TransactionCost::new(engine.gpu(), 0, engine.gpu().state_bytes());
        let end = match self.foresight {
            Foresight::Reactive => self.next_doorbell(now),
            Foresight::Clairvoyant => self.ahead(engine),
        };
        let left = end.saturating_sub(now + start.command + start.standstill());
        if left >= pause {
            return Next::At(now);
        }
        Next::At(self.due())
    }
}

/// What an oracle sees of the queues.
struct Lower {
    queues: Vec<QueueIndex>,
    /// One of them has work.
    busy: bool,
    /// An urgent client waits for a request.
    urgent_waits: bool,
}

impl Lower {
    fn see(engine: &Engine, queues: &[QueueInfo]) -> Self {
        let (urgent, lower): (Vec<_>, Vec<_>) = (0..queues.len()).partition(|&q| queues[q].urgent);
        Self {
            busy: lower.iter().any(|&q| engine.busy(q)),
            urgent_waits: urgent.iter().any(|&q| engine.busy(q)),
            queues: lower,
        }
    }
}

impl Controller for Oracle {
    fn foretell(&mut self, doorbells: Vec<Nanos>) {
        self.doorbells = doorbells;
    }

    fn is_punctual(&self) -> bool {
        true
    }

    fn told(&mut self, now: Nanos, _queue: QueueIndex) -> Option<Nanos> {
        (self.plan != Plan::LetBe).then_some(now)
    }

    fn look(&mut self, engine: &Engine, queues: &[QueueInfo]) -> Look {
        let Plan::Pauses(pause) = self.plan else {
            return Look::default();
        };
        let now = engine.now();
        let lower = Lower::see(engine, queues);
        if !self.stopped {
            self.account.running_since.get_or_insert(now);
        } else if !lower.busy {
            // Nothing is owed to queues without work.
            self.account.kept = now;
        }
        let next = match self.stopped {
            true => self.waiting(engine, &lower, pause),
            false => self.running(engine, &lower),
        };
        if !matches!(next, Next::At(at) if at <= now) {
            return Look {
                next,
                ..Look::default()
            };
        }
        let (mut stop, mut start) = (Vec::new(), Vec::new());
        if self.stopped {
            start = lower.queues;
        } else {
            self.account.stop(now, self.promise.least);
            stop = lower.queues;
        }
        self.stopped = !self.stopped;
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
