// SPDX-License-Identifier: GPL-2.0-only

//! Durations counted by order of magnitude.

use gpreempt_policy::Nanos;

/// How many orders of magnitude there are. Each is a power of two, in nanoseconds.
pub(crate) const BUCKETS: usize = 40;

/// How many durations there were of each order of magnitude.
#[derive(Clone, Copy)]
pub(crate) struct Histogram {
    counts: [u64; BUCKETS],
    pub(crate) count: u64,
    pub(crate) sum: u64,
    pub(crate) longest: u64,
}

impl Histogram {
    pub(crate) const fn new() -> Self {
        Self {
            counts: [0; BUCKETS],
            count: 0,
            sum: 0,
            longest: 0,
        }
    }

    /// Counts a duration. The last bucket takes all that are longer.
    pub(crate) fn add(&mut self, duration: Nanos) {
        let order = duration.0.checked_ilog2().unwrap_or(0);
        let bucket = usize::try_from(order).unwrap_or(BUCKETS).min(BUCKETS - 1);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count = count.saturating_add(1);
        }
        self.count = self.count.saturating_add(1);
        self.sum = self.sum.saturating_add(duration.0);
        self.longest = self.longest.max(duration.0);
    }

    /// The buckets that hold anything: the shortest duration of each, and how many
    /// there were.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, &count)| count > 0)
            .map(|(order, &count)| (1 << order, count))
    }
}
