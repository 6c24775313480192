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

#[cfg(test)]
mod tests {
    use super::*;

    /// A spell from one time to another, looked at once in between.
    fn spell(spell: &mut Spell, from: u64, to: u64) {
        spell.follow(Nanos(from), false, true, true);
        spell.follow(Nanos(to - 1), true, true, true);
        spell.follow(Nanos(to), true, false, true);
    }

    #[test]
    fn a_short_one_counts_at_once_and_a_long_one_little_by_little() {
        let mut seen = Spell::default();
        assert!(!seen.is_within(Nanos::NEVER, false), "nothing is known yet");
        spell(&mut seen, 1_000, 1_800);
        assert!(seen.is_within(Nanos(800), false) && !seen.is_within(Nanos(799), false));
        spell(&mut seen, 5_000, 5_100);
        assert!(seen.is_within(Nanos(100), false));
        spell(&mut seen, 9_000, 9_900);
        assert!(seen.is_within(Nanos(200), false) && !seen.is_within(Nanos(199), false));
    }

    #[test]
    fn one_in_which_it_was_kept_from_running_lasted_at_least_until_then() {
        let mut seen = Spell::default();
        seen.follow(Nanos(1_000), false, true, true);
        seen.follow(Nanos(1_100), true, false, false);
        assert!(seen.is_cut());
        seen.follow(Nanos(2_000), false, true, true);
        assert!(seen.is_cut());
        seen.follow(Nanos(2_010), true, false, true);
        assert!(!seen.is_cut());
        // It had lasted for so long when it was cut.
        assert!(seen.is_within(Nanos(100), false) && !seen.is_within(Nanos(99), false));
        spell(&mut seen, 3_000, 3_060);
        assert!(seen.is_within(Nanos(60), false) && !seen.is_within(Nanos(59), false));
    }
}
