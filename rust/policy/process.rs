// SPDX-License-Identifier: GPL-2.0-only
//! What is remembered of a process.

pub(crate) mod hint;
pub(crate) mod recovery;
pub(crate) mod share;
pub(crate) mod tenant;

use crate::parts::table::Slot;
use crate::process::hint::Hint;
use crate::settings::Limits;
use crate::terms::Nanos;

/// How long nothing is stopped for a process that has made no progress; twice as long each
/// time. Long enough that a victim loses little, short enough that a client that was merely
/// slow loses little.
const COOL_FIRST: Nanos = Nanos::from_millis(10);

/// The longest time for which nothing is stopped for it.
const COOL_LONGEST: Nanos = Nanos::from_millis(1_000);

/// What is remembered of one process, or a free place for one.
pub type ProcessSlot = Slot<Process>;

/// What is remembered of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Process {
    /// The pass in which one of its queues was last seen.
    pub(crate) pass: u32,
    /// Where its tenant is.
    pub(crate) tenant_at: usize,
    /// How much stopped time its tenant may cause by it in a second, where a rule says so.
    pub(crate) stop_budget: Option<Nanos>,
    /// When one of its queues last made progress, or came to want something.
    alive: Nanos,
    /// Since when something has been stopped for it without a break.
    holding: Option<Nanos>,
    /// Something has been stopped for it since the last pass.
    holds: bool,
    /// Nothing is stopped for it before this time.
    cool_until: Nanos,
    /// How often in a row it made no progress.
    blamed: u32,
    /// When its last turn on the GPU began.
    pub(crate) turn: Nanos,
    /// What it says of itself.
    pub(crate) hint: Hint,
}

impl Process {
    /// A pass begins.
    pub(crate) fn begin_pass(&mut self) {
        if !core::mem::take(&mut self.holds) {
            self.holding = None;
        }
    }

    /// Forgetting it would give it a cool-down or, if those count, hints that it has lost.
    pub(crate) fn matters(&self, now: Nanos, hints: bool) -> bool {
        now < self.cool_until || (hints && self.hint.matters(now))
    }

    /// Nothing is stopped for it at present, since it made no progress.
    pub(crate) fn is_cooling(&self, now: Nanos) -> bool {
        now < self.cool_until
    }

    /// Something is stopped for it from now to the next pass.
    pub(crate) fn hold(&mut self, now: Nanos) {
        self.holds = true;
        self.holding.get_or_insert(now);
    }

    /// One of its queues makes progress: whatever was said against it is forgotten.
    pub(crate) fn see_progress(&mut self, now: Nanos) {
        self.alive = now;
        self.blamed = 0;
        self.cool_until = self.cool_until.min(now);
    }

    /// One of its queues came to want something at this time, or progress is not to be
    /// expected until then.
    pub(crate) fn excuse(&mut self, now: Nanos) {
        self.alive = self.alive.max(now);
    }

    /// When it will have made no progress for too long, if something is stopped for it.
    pub(crate) fn stands_still_at(&self, limits: &Limits) -> Option<Nanos> {
        let since = self.holding?.max(self.alive);
        Some(since.after(limits.no_progress))
    }

    /// It makes no progress though others are stopped for it.
    pub(crate) fn blame(&mut self, now: Nanos) {
        self.cool_until = now.after(COOL_FIRST.doubled(self.blamed, COOL_LONGEST));
        self.blamed = self.blamed.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Nanos = Nanos(5_000_000_000);

    #[test]
    fn a_cool_down_doubles_up_to_a_second_and_ends_with_progress() {
        let mut process = Process::default();
        for cool in [10, 20, 40, 80, 160, 320, 640, 1_000, 1_000] {
            process.blame(T);
            let end = T.after(Nanos::from_millis(cool));
            assert!(process.is_cooling(Nanos(end.0 - 1)) && process.matters(T, false));
            assert!(!process.is_cooling(end), "{cool}");
        }
        process.see_progress(T);
        assert!(!process.is_cooling(T) && !process.matters(T, false));
        process.blame(T);
        assert!(!process.is_cooling(T.after(COOL_FIRST)));
    }
}
