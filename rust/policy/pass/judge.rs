// SPDX-License-Identifier: GPL-2.0-only
//! Whether a queue runs, waits or has nothing to do.
//!
//! On the hardware the read pointer is expected to move when a packet is
//! launched, not when it completes. So equal pointers do not mean idle, and
//! different ones do not mean that there is anything to run: the head may be a
//! barrier, or a slot that is reserved and not written yet.
//!
//! A queue that has had a packet to run for the grace waits, even when its read
//! pointer moves: whoever runs below it slows it down, and small kernels slip
//! through between two looks. Whether it makes any progress at all matters to
//! those that watch a stop, and to tables.
//!
//! A launch whose waves were never seen is the hard case. It waits for compute
//! units, or it was finished between two looks. It counts as waiting; when the
//! queues below are stopped and still no waves appear, it was finished, and the
//! next such launch of this queue must last twice as long to count.

use crate::memory::queue::Phase;
use crate::memory::queue::Queue;
use crate::settings::limits::Limits;
use crate::terms::observation::Head;
use crate::terms::observation::Observation;
use crate::terms::observation::QueueState;
use crate::terms::observation::Waves;
use crate::terms::time::Nanos;

/// How many passes make a pending queue wait, beside the grace.
const PASSES: u32 = 2;

/// How many looks in a row may pass before the waves of a launch are counted.
const UNSURE_LOOKS: u32 = 2;

/// The shortest time between two looks while a queue becomes one that waits.
const STEP_MIN: Nanos = Nanos::from_micros(20);

/// How often the grace of a doubtful launch is doubled at most.
const DOUBTS_MAX: u32 = 6;

impl Queue {
    /// It is idle, was so in the last pass, and nothing has changed.
    #[inline]
    pub(crate) fn still_idle(&self, seen: &Observation) -> bool {
        self.rests
            && seen.progress == self.progress
            && seen.backlog == Some(0)
            && seen.state == QueueState::Active
            && !matches!(seen.waves, Waves::Known(1..))
    }

    /// Judges the queue by what is seen of it in this pass.
    ///
    /// What is not known in this pass is taken to be as it was; only time spent
    /// in ignorance does not count as waiting.
    pub(crate) fn judge(&mut self, now: Nanos, limits: &Limits, seen: &Observation) {
        let moved = seen.progress != self.progress;
        let waves = match seen.waves {
            Waves::Known(count) => count,
            Waves::Unknown => 0,
        };
        self.progress = seen.progress;
        self.waves = seen.waves;
        self.head = seen.head;
        if moved {
            self.launched = true;
            self.waves_seen = false;
            self.moved = now;
        }
        if waves > 0 {
            self.launched = true;
            self.waves_seen = true;
        }
        if moved || waves > 0 {
            self.alive = now;
        }

        let known = seen.backlog.is_some();
        self.backlog = seen.backlog.unwrap_or(self.backlog);
        let runnable = self.backlog > 0 && matches!(self.head, Head::Runnable | Head::Unknown);
        self.doubtful = false;
        if self.backlog == 0 && seen.waves == Waves::Known(0) {
            if self.waves_seen || now.since(self.moved) >= limits.no_progress {
                self.launched = false;
            }
            self.doubtful = self.launched;
        }

        let was_pending = self.pending;
        self.pending = self.active && (runnable || self.doubtful);
        if !self.pending || !was_pending || (moved && self.doubtful) {
            self.begin_pending(now);
        } else if known {
            self.pending_passes = self.pending_passes.saturating_add(1);
        }
        let grace = if self.doubtful {
            limits.grace.doubled(self.doubts, limits.no_progress)
        } else {
            limits.grace
        };
        self.ripe = self.pending_since.after(grace);
        self.waiting = self.pending
            && self.phase == Phase::Free
            && self.pending_passes >= PASSES
            && now >= self.ripe;
        self.stalled = self.waiting && !moved && now.since(self.moved) >= grace;
        let was_busy = self.busy;
        self.busy = self.active
            && (self.backlog > 0 || waves > 0 || (self.launched && seen.waves == Waves::Unknown));
        if !was_busy {
            self.busy_since = now;
        }
        self.wants = self.active && (self.pending || waves > 0);
        let unsure = self.launched && self.backlog == 0 && seen.waves == Waves::Unknown;
        self.unsure_looks = match unsure {
            true if !moved => self.unsure_looks.saturating_add(1),
            true => 1,
            false => 0,
        };
        if (moved || waves > 0) && !self.doubtful {
            self.doubts = 0;
        }
    }

    /// The doubtful launch was finished.
    pub(crate) fn settle_doubt(&mut self, now: Nanos) {
        self.launched = false;
        self.doubtful = false;
        self.pending = false;
        self.wants = false;
        self.doubts = self.doubts.saturating_add(1).min(DOUBTS_MAX);
        self.begin_pending(now);
    }

    /// Its last launch may run, and its waves have not been counted yet: they are
    /// asked for after the second look at it.
    pub(crate) fn is_uncounted(&self) -> bool {
        (1..=UNSURE_LOOKS).contains(&self.unsure_looks)
    }

    /// It was seen to run, or nothing spoke against it.
    pub(crate) fn runs(&self, now: Nanos, limits: &Limits) -> bool {
        let stands = self.waves == Waves::Unknown && self.stalled;
        self.phase == Phase::Free && self.may_occupy(now, limits) && !stands
    }

    /// When to look again in order to know in time whether it waits.
    pub(crate) fn next_judgement(&self, now: Nanos) -> Option<Nanos> {
        let missing = u64::from(PASSES.saturating_sub(self.pending_passes));
        let awaited = self.pending && !self.waiting && self.phase == Phase::Free;
        let step = self
            .ripe
            .since(now)
            .0
            .checked_div(missing.max(1))
            .unwrap_or(0);
        awaited.then(|| now.after(Nanos(step).max(STEP_MIN)))
    }

    /// Its pointers show that it has work on the compute units.
    pub(crate) fn surely_runs(&self, now: Nanos, limits: &Limits) -> bool {
        self.busy && self.backlog > 0 && now.since(self.moved) < limits.grace
    }

    /// It may have waves on the compute units now.
    pub(crate) fn may_occupy(&self, now: Nanos, limits: &Limits) -> bool {
        match self.waves {
            Waves::Known(0) => now.since(self.moved) <= limits.grace,
            Waves::Known(_) => true,
            Waves::Unknown => self.busy,
        }
    }

    /// All that it has is a head that waits for something else, and no waves.
    pub(crate) fn is_blocked(&self) -> bool {
        matches!(self.head, Head::Barrier | Head::Invalid)
            && self.backlog > 0
            && self.waves == Waves::Known(0)
    }
}
