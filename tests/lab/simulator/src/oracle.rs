// SPDX-License-Identifier: GPL-2.0-only

//! What a scheduler could reach that pays for the same transactions and keeps the
//! same promise to the lower queues, but sees everything at once and knows when
//! urgent requests will come.
//!
//! Two of them: the reactive oracle acts while an urgent request waits and never
//! before its doorbell, and knows when the next one will ring; the clairvoyant
//! oracle may also stop the lower queues so early that they are off the compute
//! units when it rings. Each has a few plans, and the plan that serves a load best
//! is chosen in hindsight, which no scheduler can do: what is behind an oracle is
//! behind for a reason, and what is level with it is as good as can be.

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
    /// Stop the lower queues for urgent requests.
    Stop(Manner),
}

/// How lower queues are stopped, and when they are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// Before the doorbell, rather than at it.
    pub ahead: bool,
    /// Also those that have no work by then, but may get some before the urgent
    /// request is done.
    pub idle_too: bool,
    /// They are started in every pause that leaves them at least this long, and
    /// otherwise only when the promise to them falls due.
    pub pause: Nanos,
}

impl Foresight {
    pub fn name(self) -> &'static str {
        match self {
            Self::Reactive => "reactive",
            Self::Clairvoyant => "clairvoyant",
        }
    }

    /// The plans among which hindsight chooses. Who knows the future may also do what
    /// one does who does not.
    pub fn plans(self) -> Vec<Plan> {
        // Shorter pauses than the first are not worth two transactions.
        const PAUSES: [Nanos; 2] = [50_000, 1_000_000];
        let stop = |ahead: bool, idle_too: bool, pause: Nanos| {
            Plan::Stop(Manner {
                ahead,
                idle_too,
                pause,
            })
        };
        let mut plans = vec![Plan::LetBe];
        plans.extend(PAUSES.map(|pause| stop(false, false, pause)));
        if self == Self::Clairvoyant {
            plans.extend(PAUSES.map(|pause| stop(true, false, pause)));
            plans.extend(PAUSES.map(|pause| stop(true, true, pause)));
            plans.push(stop(true, true, Nanos::MAX));
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
    plan: Plan,
    promise: Promise,
    doorbells: Vec<Nanos>,
    account: Account,
    stopped: bool,
}

impl Oracle {
    pub fn new(plan: Plan, promise: Promise) -> Self {
        Self {
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

    /// When lower queues that run have to be stopped for the next doorbell: at it, or
    /// early enough that they are off when it rings, however much there is to save.
    fn end_of_pause(&self, engine: &Engine, manner: Manner) -> Nanos {
        let doorbell = self.next_doorbell(engine.now());
        if !manner.ahead {
            return doorbell;
        }
        let cost = TransactionCost::new(engine.gpu(), engine.gpu().state_bytes(), 0);
        doorbell.saturating_sub(cost.command + cost.standstill())
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
    fn running(&self, engine: &Engine, lower: &Lower, manner: Manner) -> Next {
        let now = engine.now();
        if !lower.busy && !manner.idle_too {
            return Next::Told;
        }
        let wanted = match lower.urgent_waits {
            true => now,
            false if manner.ahead => self.end_of_pause(engine, manner),
            false => return Next::Told,
        };
        Next::At(wanted.max(self.protected_until(now)))
    }

    /// While the lower queues are stopped: when to start them, or now.
    fn waiting(&self, engine: &Engine, lower: &Lower, manner: Manner) -> Next {
        let now = engine.now();
        if !lower.busy {
            return Next::Told;
        }
        if lower.urgent_waits {
            return Next::At(self.due());
        }
        let start = TransactionCost::new(engine.gpu(), 0, engine.gpu().state_bytes());
        let begin = now + start.command + start.standstill();
        let left = self.end_of_pause(engine, manner).saturating_sub(begin);
        if left >= manner.pause {
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
        let Plan::Stop(manner) = self.plan else {
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
            true => self.waiting(engine, &lower, manner),
            false => self.running(engine, &lower, manner),
        };
        if !matches!(next, Next::At(at) if at <= now) {
            return Look {
                next,
                ..Look::default()
            };
        }
        let (stop, start) = match self.stopped {
            true => (Vec::new(), lower.queues),
            false => (lower.queues, Vec::new()),
        };
        if !self.stopped {
            self.account.stop(now, self.promise.least);
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
