// SPDX-License-Identifier: GPL-2.0-only
//! How long something usually lasts: the launches of a queue, the pauses of a level.
//!
//! As the kernel's TEO governor does for idle states, lengths are counted in buckets,
//! the older the less. Four buckets make an octave, from 4 us to a quarter of a second,
//! so that a length is known to an eighth of itself; what is longer counts as the longest.

use crate::terms::Nanos;

/// How many octaves there are, of four buckets each.
const OCTAVES: usize = 16;

/// The weight of a new length. It leaves room for as many as a bucket can hold at once.
const UNIT: u16 = 512;

/// The first bucket begins at four of these, of 1,024 ns each, so that no division is needed.
const GRAIN: u32 = 10;

/// Something that is older than what this share of its lengths were is beyond what is known.
const RARE: i64 = 64;

/// How often a length is sampled within a bucket, since a start is as long as some are wide.
const POINTS: [i64; 3] = [1, 3, 5];

/// What a microsecond of waiting costs, in microseconds of those that are stopped. Between
/// 1 and 16 the results are alike.
const DEARNESS: i64 = 4;

/// Lengths; each new one takes one of 2 to the power of `DECAY` of the weight of all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Lengths<const DECAY: u32> {
    weights: [[u16; 4]; OCTAVES],
    /// The buckets that have a weight.
    used: u64,
    total: i64,
}

/// The buckets of a set, the shortest first.
fn each(mut set: u64) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let bucket = set.trailing_zeros();
        set &= set.wrapping_sub(1);
        (bucket < u64::BITS).then_some(bucket)
    })
}

/// The bucket of a length.
fn bucket(length: Nanos) -> u32 {
    let grains = (length.0 >> GRAIN).max(4);
    let octave = 61u32.saturating_sub(grains.leading_zeros());
    let quarter = u32::try_from((grains >> octave) & 3).unwrap_or(0);
    let bucket = octave.saturating_mul(4).saturating_add(quarter);
    bucket.min(u64::BITS.saturating_sub(1))
}

/// Where a bucket begins.
fn low(bucket: u32) -> i64 {
    let quarters = i64::from(bucket & 3).saturating_add(4);
    let octave = (bucket / 4).saturating_add(GRAIN);
    quarters.checked_shl(octave).unwrap_or(i64::MAX)
}

fn unsigned(time: i64) -> u64 {
    u64::try_from(time).unwrap_or(0)
}

fn signed(time: Nanos) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX)
}

impl<const DECAY: u32> Lengths<DECAY> {
    /// The buckets in use: the weight of each, where it begins, and where it ends.
    fn buckets(&self) -> impl Iterator<Item = (i64, i64, i64)> + '_ {
        each(self.used).map(|bucket| {
            let at = usize::try_from(bucket).unwrap_or(usize::MAX);
            let weight = self.weights.as_flattened().get(at).copied().unwrap_or(0);
            let end = low(bucket.saturating_add(1));
            (i64::from(weight), low(bucket), end)
        })
    }

    /// Adds a length.
    pub(crate) fn add(&mut self, length: Nanos) {
        let new = bucket(length);
        self.used |= 1u64.checked_shl(new).unwrap_or(0);
        self.total = 0;
        for bucket in each(self.used) {
            let at = usize::try_from(bucket).unwrap_or(usize::MAX);
            let Some(weight) = self.weights.as_flattened_mut().get_mut(at) else {
                continue;
            };
            // Rounded up, so that what is long past is forgotten wholly.
            let lost = weight.checked_shr(DECAY).unwrap_or(0).max(1);
            *weight = weight.saturating_sub(lost);
            if bucket == new {
                *weight = weight.saturating_add(UNIT);
            }
            if *weight == 0 {
                self.used &= !(1u64.checked_shl(bucket).unwrap_or(0));
            }
            self.total = self.total.saturating_add(i64::from(*weight));
        }
    }

    /// Adds a length of which only the bounds are known: the one between them that is
    /// nearest to what is usual.
    pub(crate) fn add_between(&mut self, least: Option<Nanos>, most: Nanos) {
        let least = least.unwrap_or(Nanos::ZERO);
        let guess = match least {
            Nanos::ZERO => Nanos(most.0 / 2),
            least => least.after(Nanos(least.0 / 2)),
        };
        let usual = self.mean().unwrap_or(guess);
        self.add(usual.max(least).min(most.max(least)));
    }

    /// The weight of the lengths beyond an age, and the mean of what is left of them then.
    fn beyond(&self, age: Nanos) -> (i64, Nanos) {
        let (age, mut beyond, mut sum) = (signed(age), 0i64, 0i64);
        for (weight, low, high) in self.buckets().filter(|(_, _, high)| *high > age) {
            let from = low.max(age);
            let share = match from == low {
                true => weight,
                false => {
                    let left = weight.saturating_mul(high.saturating_sub(from));
                    left.checked_div(high.saturating_sub(low)).unwrap_or(0)
                }
            };
            let middle = (high.saturating_add(from) / 2).saturating_sub(age);
            beyond = beyond.saturating_add(share);
            sum = sum.saturating_add(share.saturating_mul(middle));
        }
        let mean = sum.checked_div(beyond).unwrap_or(0);
        (beyond, Nanos(unsigned(mean)))
    }

    /// The mean length, if any is known.
    pub(crate) fn mean(&self) -> Option<Nanos> {
        (self.total > 0).then(|| self.beyond(Nanos::ZERO).1)
    }

    /// How much longer something of this age is to be feared to last: what is usual, but
    /// no less than an eighth of its age, since no estimate is better; and as long again if
    /// it is older than what it usually is.
    pub(crate) fn rest(&self, age: Nanos) -> Nanos {
        let (weight, left) = self.beyond(age);
        match weight.saturating_mul(RARE) <= self.total {
            true => age.max(left),
            false => left.max(Nanos(age.0 / 8)),
        }
    }

    /// Whether most that get to an age go on beyond it.
    pub(crate) fn likely_beyond(&self, age: Nanos) -> bool {
        self.total > 0 && self.beyond(age).0.saturating_mul(2) >= self.total
    }

    /// For how long to keep others stopped once nobody wants them stopped: as in ski
    /// rental, for as long as it most likely takes until somebody does again, if that is
    /// soon, and not at all otherwise. Their start takes `start`.
    pub(crate) fn hold(&self, start: Nanos) -> Nanos {
        if self.total == 0 {
            return start;
        }
        let (mut best, mut most) = (0, self.gain(0, start));
        for (_, _, high) in self.buckets() {
            let gain = self.gain(high, start);
            if gain > most {
                (best, most) = (high, gain);
            }
        }
        Nanos(unsigned(best))
    }

    /// What a start after so long gains: the time that others run until somebody wants
    /// them stopped, less what somebody loses who does while they are being started.
    fn gain(&self, hold: i64, start: Nanos) -> i64 {
        let begin = hold.saturating_add(signed(start));
        let mut sum = 0i64;
        for (weight, low, high) in self.buckets().filter(|(_, _, high)| *high > hold) {
            for point in POINTS {
                let part = high.saturating_sub(low).saturating_mul(point) / 6;
                let pause = low.saturating_add(part);
                if pause >= hold {
                    let left = pause.saturating_sub(begin);
                    let gain = left.min(left.saturating_mul(DEARNESS));
                    sum = sum.saturating_add(gain.saturating_mul(weight));
                }
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;

    fn of(lengths: &[u64]) -> Lengths<4> {
        let mut known = Lengths::default();
        for &length in lengths {
            known.add(Nanos(length * US));
        }
        known
    }

    #[test]
    fn buckets_are_a_quarter_of_an_octave_and_have_no_holes() {
        assert_eq!((bucket(Nanos::ZERO), low(0)), (0, 4_096));
        for bucket_at in 0..63 {
            assert_eq!(bucket(Nanos(unsigned(low(bucket_at)))), bucket_at);
            assert_eq!(bucket(Nanos(unsigned(low(bucket_at + 1)) - 1)), bucket_at);
            let (low, high) = (low(bucket_at), low(bucket_at + 1));
            assert!(high * 4 <= low * 5 && high > low, "{bucket_at}");
        }
        assert_eq!(bucket(Nanos::NEVER), 63);
        assert!(unsigned(low(63)) > 200_000 * US);
    }

    #[test]
    fn what_is_usual_is_known_to_an_eighth() {
        for usual in [5, 17, 130, 2_000, 90_000] {
            let known = of(&[usual; 8]);
            let mean = known.mean().unwrap().0;
            assert!(
                mean.abs_diff(usual * US) * 8 <= usual * US,
                "{usual}: {mean}"
            );
            assert!(known.likely_beyond(Nanos(usual * US / 2)));
            assert!(!known.likely_beyond(Nanos(usual * US * 2)));
            // Older than ever before: as long again.
            assert_eq!(known.rest(Nanos(usual * US * 3)), Nanos(usual * US * 3));
            // Near its usual length it is not nearly over.
            assert!(known.rest(Nanos(usual * US)).0 >= usual * US / 8);
        }
        assert_eq!(of(&[]).mean(), None);
        assert_eq!(of(&[]).rest(Nanos(7)), Nanos(7));
        assert!(!of(&[]).likely_beyond(Nanos::ZERO));
    }

    #[test]
    fn of_the_lengths_of_a_bucket_those_beyond_an_age_count() {
        let known = of(&[1_000; 8]);
        let bucket = bucket(Nanos(1_000 * US));
        let (low, high) = (unsigned(low(bucket)), unsigned(low(bucket + 1)));
        let (early, late) = (low + (high - low) / 4, low + (high - low) * 3 / 4);
        assert!(known.likely_beyond(Nanos(early)));
        assert!(!known.likely_beyond(Nanos(late)));
        // Half of them are enough.
        let middle = low + (high - low) / 2;
        assert!(of(&[1_000]).likely_beyond(Nanos(middle)));
        assert!(!of(&[1_000]).likely_beyond(Nanos(middle + 1_024)));
    }

    #[test]
    fn what_is_long_past_is_forgotten_wholly() {
        let mut known = of(&[100; 20]);
        for _ in 0..200 {
            known.add(Nanos(3_000 * US));
        }
        assert_eq!(known.used.count_ones(), 1);
        assert_eq!(
            known.total,
            i64::from(known.weights.as_flattened().iter().sum::<u16>())
        );
        // The weight is bounded, however many there are.
        assert!(known.total <= i64::from(UNIT) << 4);
        let mut slow = Lengths::<6>::default();
        for _ in 0..1_000 {
            slow.add(Nanos(3_000 * US));
        }
        assert!(slow.total < i64::from(u16::MAX));
    }

    #[test]
    fn no_length_makes_it_overflow() {
        let mut known = Lengths::<6>::default();
        for _ in 0..300 {
            known.add(Nanos::NEVER);
        }
        known.add_between(Some(Nanos::NEVER), Nanos::ZERO);
        let _ = (
            known.mean(),
            known.rest(Nanos::NEVER),
            known.hold(Nanos::NEVER),
        );
    }
}
