// SPDX-License-Identifier: GPL-2.0-only
//! How long a queue has work at a time.
//!
//! Of a queue whose work is over in the time that a transaction takes, nothing is gained
//! by stopping it, nor by stopping others for it: the hardware has room again sooner.
//!
//! The end of a launch is seen only where its waves are counted, which is seldom, so that
//! a spell is measured too long and hardly ever too short. Therefore a short one counts at
//! once, and a long one little by little.

use crate::terms::time::Nanos;

/// What is remembered of the spells of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Spell {
    /// When the present one began.
    since: Nanos,
    /// The queue was kept from running in it.
    cut: bool,
    /// How long one lasts.
    typical: Option<Nanos>,
}

impl Spell {
    /// When the present one began, or the last one.
    pub(crate) fn since(&self) -> Nanos {
        self.since
    }

    /// Takes in whether there was work at the last look and is now, on a queue that may
    /// run or is kept from it.
    pub(crate) fn follow(&mut self, now: Nanos, was_busy: bool, is_busy: bool, may_run: bool) {
        if !may_run {
            if was_busy && !self.cut {
                self.outlast(now);
            }
            self.cut = true;
        } else if was_busy && !is_busy {
            self.end(now);
        }
        if !was_busy {
            self.since = now;
        }
        // Its next one is whole.
        if may_run && !is_busy {
            self.cut = false;
        }
    }

    /// One that is cut short would have lasted longer.
    fn outlast(&mut self, now: Nanos) {
        let lasted = now.since(self.since);
        self.typical = self.typical.max(Some(lasted));
    }

    fn end(&mut self, now: Nanos) {
        if self.cut {
            return;
        }
        let lasted = now.since(self.since);
        self.typical = Some(match self.typical {
            Some(typical) if lasted > typical => typical.after(Nanos(lasted.since(typical).0 >> 3)),
            _ => lasted,
        });
    }

    /// Whether spells are known to last no longer than this, or, with `or_new`, not known
    /// to last longer.
    pub(crate) fn is_within(&self, most: Nanos, or_new: bool) -> bool {
        self.typical.map_or(or_new, |typical| typical <= most)
    }

    /// The queue was kept from running in the present one.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }
}
