// SPDX-License-Identifier: GPL-2.0-only
//! The one source of chance: the same seed gives the same numbers on every machine.
#![forbid(unsafe_code)]

/// SplitMix64: small, and good enough to choose by.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A stream of its own for each combination of these numbers.
    pub fn new(seed: u64, more: &[u64]) -> Random {
        let mut random = Random(seed);
        for number in more {
            random.0 = random.number() ^ number.wrapping_mul(0xd6e8_feb8_6659_fd93);
        }
        random
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound
    }

    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of them; `None` of none.
    pub fn of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        if all.is_empty() {
            return None;
        }
        Some(all[self.below(all.len() as u64) as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_its_seed_s_and_no_other_s() {
        let first = |seed, more: &[u64]| Random::new(seed, more).number();
        assert_eq!(first(1, &[2, 3]), first(1, &[2, 3]));
        assert_ne!(first(1, &[2, 3]), first(1, &[3, 2]));
        assert_ne!(first(1, &[2, 3]), first(2, &[2, 3]));
        assert_ne!(first(1, &[]), first(1, &[0]));
    }

    #[test]
    fn a_choice_is_within_its_bounds() {
        let mut random = Random::new(7, &[]);
        let mut seen = [0; 3];
        for _ in 0..300 {
            seen[random.below(3) as usize] += 1;
        }
        assert!(seen.iter().all(|&times| times > 50), "{seen:?}");
        assert_eq!(random.of::<u8>(&[]), None);
        assert_eq!(random.of(&[9]), Some(9));
    }
}
