// SPDX-License-Identifier: GPL-2.0-only
//! Summary of a set of times.

use serde::{Deserialize, Serialize};

/// Nanoseconds. Percentiles are by nearest rank, so each is a time that occurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub count: usize,
    pub min: u64,
    pub mean: u64,
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub p999: u64,
    pub max: u64,
}

/// None for an empty set.
pub fn summary(times: &[u64]) -> Option<Summary> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let (&min, &max) = (sorted.first()?, sorted.last()?);
    let sum: u128 = sorted.iter().map(|&time| u128::from(time)).sum();
    Some(Summary {
        count: sorted.len(),
        min,
        mean: (sum / sorted.len() as u128) as u64,
        p50: nearest_rank(&sorted, 500)?,
        p90: nearest_rank(&sorted, 900)?,
        p99: nearest_rank(&sorted, 990)?,
        p999: nearest_rank(&sorted, 999)?,
        max,
    })
}

/// The smallest time that at least `permille` of all do not exceed, if there are any.
pub fn nearest_rank<T: Copy>(sorted: &[T], permille: usize) -> Option<T> {
    let rank = (sorted.len() * permille).div_ceil(1000).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_summary() {
        assert_eq!(summary(&[]), None);
    }

    #[test]
    fn one_time_is_every_percentile() {
        let one = summary(&[42]).unwrap();
        assert_eq!(
            (one.min, one.p50, one.p999, one.max, one.mean),
            (42, 42, 42, 42, 42)
        );
    }

    #[test]
    fn ranks_are_exact_whatever_the_order() {
        let times: Vec<u64> = (1..=1000).rev().collect();
        let all = summary(&times).unwrap();
        assert_eq!((all.p50, all.p90, all.p99, all.p999), (500, 900, 990, 999));
        assert_eq!(
            (all.min, all.max, all.mean, all.count),
            (1, 1000, 500, 1000)
        );
    }

    #[test]
    fn a_high_percentile_of_few_times_is_the_largest() {
        let few = summary(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).unwrap();
        assert_eq!((few.p50, few.p99, few.p999), (5, 10, 10));
        assert_eq!(summary(&[1, 2]).unwrap().p50, 1);
    }

    #[test]
    fn the_mean_does_not_overflow() {
        assert_eq!(summary(&[u64::MAX, u64::MAX]).unwrap().mean, u64::MAX);
    }
}
