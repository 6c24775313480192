// SPDX-License-Identifier: GPL-2.0-only
//! What is remembered of a queue, and how its phase follows what is seen.
//!
//! ```text
//!            decide                 seen stopped
//!   Free ------------> Stopping ------------------> Stopped
//!    ^  ^                 | seen active                | decide
//!    |  +-----------------+                            v
//!    +------------------------------------------- Starting
//!         seen active (also from Stopped: healed by a foreign event)
//! ```
//! A queue that others hold is `Held` until it is seen active again. What is
//! seen wins over what was decided: an outcome may be lost, and the driver
//! starts a stopped queue by itself after an eviction.

use crate::memory::table::Record;
use crate::memory::table::Slot;
use crate::terms::decision::Reason;
use crate::terms::observation::Head;
use crate::terms::observation::ProcessId;
use crate::terms::observation::QueueId;
use crate::terms::observation::QueueState;
use crate::terms::observation::Waves;
use crate::terms::priority::Priority;
use crate::terms::rule::Reservation;
use crate::terms::time::Nanos;
use crate::terms::view::QueueView;
use crate::terms::view::Verdict;

/// What is remembered of one queue, or a free place for one.
pub type QueueSlot = Slot<Queue>;

/// Where a queue is between running and stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// It runs if it has something to run.
    #[default]
    Free,
    /// A stop was decided and not seen yet.
    Stopping,
    /// It is stopped, or would be in `mode=enforce`.
    Stopped,
    /// A start was decided and not seen yet.
    Starting,
    /// Somebody else keeps it from running.
    Held,
}

/// What a queue was stopped for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Stop {
    /// When it was decided.
    pub(crate) since: Nanos,
    /// Why.
    pub(crate) reason: Reason,
    /// The queue it is stopped for at present.
    pub(crate) beneficiary: Option<QueueId>,
    /// The process of that queue.
    pub(crate) process: ProcessId,
    /// When somebody last wanted it to be stopped.
    pub(crate) wanted: Nanos,
    /// How many queues as important as the beneficiary were disturbed.
    pub(crate) disturbed: u32,
    /// Nothing was touched: `mode=observe`.
    pub(crate) dry: bool,
    /// It had nothing to do and was stopped along with its process.
    pub(crate) along: bool,
    /// Why it was started again, while that has not been seen yet.
    pub(crate) started_for: Reason,
}

/// The books that an algorithm keeps of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Account {
    /// `fair`: the weighted time that the queue has had.
    pub(crate) virtual_time: Nanos,
    /// `deadline`: the end of the present period.
    pub(crate) deadline: Nanos,
    /// `deadline`: what is left of the budget in it.
    pub(crate) left: Nanos,
    /// `strict` and `deadline`: since when the queue has had its turn.
    pub(crate) turn: Nanos,
}

/// What is remembered of one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Queue {
    pub(crate) id: QueueId,
    pub(crate) process: ProcessId,
    /// Where its process is in this pass.
    pub(crate) process_at: usize,
    /// The pass in which it was last seen.
    pub(crate) pass: u32,

    // What it is worth.
    pub(crate) effective: Priority,
    /// An operator's rule says so; otherwise it is the program's claim.
    pub(crate) granted: bool,
    /// It takes part.
    pub(crate) contends: bool,
    /// The driver side would refuse to stop it.
    pub(crate) protected: bool,
    pub(crate) timeslice: Nanos,
    pub(crate) reservation: Option<Reservation>,

    // What was seen of it last.
    pub(crate) active: bool,
    pub(crate) backlog: u32,
    pub(crate) head: Head,
    pub(crate) progress: u64,
    pub(crate) waves: Waves,

    // What follows from it: see judge.rs.
    /// It has launched something since it was last known to be idle.
    pub(crate) launched: bool,
    /// Waves were seen since the read pointer last moved.
    pub(crate) waves_seen: bool,
    /// It has something that wants compute units and does not get them.
    pub(crate) pending: bool,
    /// All that it has is a launch that showed no waves: it may wait for
    /// compute units, or be finished.
    pub(crate) doubtful: bool,
    /// How often in a row such a launch turned out to be finished.
    pub(crate) doubts: u32,
    /// Passes since it became pending.
    pub(crate) pending_passes: u32,
    /// Looks in a row in which its last launch may run and no waves were counted.
    pub(crate) unsure_looks: u32,
    /// Since when it has been pending without a break.
    pub(crate) pending_since: Nanos,
    /// When it will have been pending for the grace.
    pub(crate) ripe: Nanos,
    /// When it was last seen alive: the read pointer moved, or it had waves.
    pub(crate) alive: Nanos,
    /// When the read pointer last moved.
    pub(crate) moved: Nanos,
    /// It has work on the compute units, or may have.
    pub(crate) busy: bool,
    /// Since when.
    pub(crate) busy_since: Nanos,
    /// It waits: it has been pending for the grace, progress or not.
    pub(crate) waiting: bool,
    /// It waits and makes no progress at all.
    pub(crate) stalled: bool,
    /// It wants the GPU, waiting or not.
    pub(crate) wants: bool,
    /// It has nothing to do and nothing was done to it.
    pub(crate) rests: bool,

    // What was done to it.
    pub(crate) phase: Phase,
    pub(crate) stop: Stop,
    /// When it was last seen to run again after somebody kept it from it.
    pub(crate) started: Option<Nanos>,
    /// Nobody may have it stopped before this time.
    pub(crate) immune: Nanos,
    /// How long it will be immune once it is seen to be started.
    pub(crate) immunity: Nanos,
    /// A stop or a start that led to nothing is not tried again before this.
    pub(crate) retry_at: Nanos,
    /// How often in a row that happened.
    pub(crate) retries: u32,
    pub(crate) account: Account,

    // What this pass has decided about it.
    /// It is stopped and nobody remembers why.
    pub(crate) orphan: bool,
    /// Why it is to be started.
    pub(crate) release: Option<Reason>,
    /// Why, and for the queue at which place, it is to be stopped.
    pub(crate) claim: Option<(Reason, usize)>,
    /// Another one was stopped for it.
    pub(crate) favoured: bool,

    // For tables.
    pub(crate) since: Nanos,
    pub(crate) stops: u64,
    pub(crate) stopped: Nanos,
    pub(crate) ran: Nanos,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            id: QueueId(0),
            process: ProcessId(0),
            process_at: 0,
            pass: 0,
            effective: Priority::NORMAL,
            granted: false,
            contends: false,
            protected: false,
            timeslice: Nanos::ZERO,
            reservation: None,
            active: false,
            backlog: 0,
            head: Head::Unknown,
            progress: 0,
            waves: Waves::Unknown,
            launched: false,
            waves_seen: false,
            pending: false,
            doubtful: false,
            doubts: 0,
            pending_passes: 0,
            unsure_looks: 0,
            pending_since: Nanos::ZERO,
            ripe: Nanos::ZERO,
            alive: Nanos::ZERO,
            moved: Nanos::ZERO,
            busy: false,
            busy_since: Nanos::ZERO,
            waiting: false,
            stalled: false,
            wants: false,
            rests: false,
            phase: Phase::Free,
            stop: Stop::default(),
            started: None,
            immune: Nanos::ZERO,
            immunity: Nanos::ZERO,
            retry_at: Nanos::ZERO,
            retries: 0,
            account: Account::default(),
            orphan: false,
            release: None,
            claim: None,
            favoured: false,
            since: Nanos::ZERO,
            stops: 0,
            stopped: Nanos::ZERO,
            ran: Nanos::ZERO,
        }
    }
}

impl Record for Queue {
    fn key(&self) -> u64 {
        self.id.0
    }
}

/// What a change of phase amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing to speak of.
    None,
    /// Something else than us started a queue that we had stopped.
    Healed,
    /// It is stopped and nobody remembers why.
    Orphan,
}

impl Queue {
    /// Stopped by us, or on its way there or back.
    pub(crate) fn is_ours(&self) -> bool {
        match self.phase {
            Phase::Free | Phase::Held => false,
            Phase::Stopping => true,
            Phase::Stopped | Phase::Starting => !self.stop.dry,
        }
    }

    /// Follows what is seen of the queue's state.
    pub(crate) fn follow(&mut self, now: Nanos, state: QueueState, retry: Nanos) -> Change {
        self.active = state == QueueState::Active;
        match (self.phase, state) {
            // Not told: what was decided is taken to have happened.
            (Phase::Stopping, QueueState::Unknown) => self.phase = Phase::Stopped,
            (_, QueueState::Unknown) => {}
            // It was found stopped and has come to run without us.
            (Phase::Free, QueueState::Active) if self.orphan => self.begin_run(now),
            (Phase::Free, QueueState::Active) => {}
            (Phase::Stopped, QueueState::Active) if self.stop.dry => {}
            (Phase::Stopping, QueueState::Active) => {
                // Not carried out, and nobody said why. Trying again at once
                // would pay a transaction a pass.
                self.phase = Phase::Free;
                self.put_off(now, retry);
            }
            (Phase::Stopped, QueueState::Active) => {
                self.close_stop(now);
                self.begin_run(now);
                return Change::Healed;
            }
            (Phase::Starting | Phase::Held, QueueState::Active) => self.begin_run(now),
            (Phase::Stopping, QueueState::StoppedByUs) => {
                self.phase = Phase::Stopped;
                self.retries = 0;
            }
            (Phase::Stopped | Phase::Starting, QueueState::StoppedByUs) if !self.stop.dry => {}
            (_, QueueState::StoppedByUs) => return Change::Orphan,
            (Phase::Held, QueueState::Held) => {}
            (Phase::Stopped, QueueState::Held) => {
                self.close_stop(now);
                self.phase = Phase::Held;
            }
            (Phase::Free | Phase::Stopping | Phase::Starting, QueueState::Held) => {
                self.phase = Phase::Held;
            }
        }
        Change::None
    }

    /// The queue is stopped from now on, as far as the policy is concerned.
    pub(crate) fn begin_stop(&mut self, stop: Stop) {
        self.rests = false;
        self.phase = if stop.dry {
            Phase::Stopped
        } else {
            Phase::Stopping
        };
        self.stop = stop;
        self.stops = self.stops.saturating_add(1);
    }

    /// A start was decided; it is tried again after a while.
    pub(crate) fn begin_start(&mut self, now: Nanos, retry: Nanos) {
        self.rests = false;
        if self.phase != Phase::Starting {
            self.close_stop(now);
            self.account.turn = now;
            self.retries = 0;
        }
        self.phase = Phase::Starting;
        self.put_off(now, retry);
    }

    /// The queue runs again.
    fn begin_run(&mut self, now: Nanos) {
        if self.phase != Phase::Starting {
            self.account.turn = now;
        }
        self.phase = Phase::Free;
        self.retries = 0;
        self.retry_at = Nanos::ZERO;
        self.started = Some(now);
        self.immune = now.after(self.immunity);
        self.immunity = Nanos::ZERO;
        self.begin_pending(now);
    }

    /// Nothing is tried with the queue for a growing while.
    pub(crate) fn put_off(&mut self, now: Nanos, retry: Nanos) {
        self.retry_at = now.after(retry.doubled(self.retries, retry.times(64)));
        self.retries = self.retries.saturating_add(1);
    }

    /// Forgets that the queue was stopped.
    pub(crate) fn forget_stop(&mut self, now: Nanos) {
        if self.phase == Phase::Stopped {
            self.close_stop(now);
        }
        self.phase = Phase::Free;
        self.immunity = Nanos::ZERO;
    }

    /// Books the time that it was stopped.
    fn close_stop(&mut self, now: Nanos) {
        self.stopped = self.stopped.after(now.since(self.stop.since));
    }

    /// It is pending from now on, if at all.
    pub(crate) fn begin_pending(&mut self, now: Nanos) {
        self.pending_passes = 0;
        self.pending_since = now;
        self.waiting = false;
        self.stalled = false;
    }

    /// What the policy makes of it.
    pub(crate) fn verdict(&self) -> Verdict {
        match self.phase {
            Phase::Stopping | Phase::Stopped => Verdict::Stopped,
            Phase::Starting => Verdict::Starting,
            Phase::Held => Verdict::Held,
            Phase::Free if self.stalled => Verdict::Stalled,
            Phase::Free if self.busy => Verdict::Running,
            Phase::Free => Verdict::Idle,
        }
    }

    /// The queue for a table to read.
    pub(crate) fn view(&self) -> QueueView {
        let verdict = self.verdict();
        QueueView {
            queue: self.id,
            process: self.process,
            effective: self.effective,
            contends: self.contends,
            verdict,
            since: self.since,
            beneficiary: match verdict {
                Verdict::Stopped => self.stop.beneficiary,
                _ => None,
            },
            stops: self.stops,
            stopped: self.stopped,
            ran: self.ran,
        }
    }
}
