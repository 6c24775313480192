// SPDX-License-Identifier: GPL-2.0-only
//! The proof that each workgroup ran exactly once: its own word in memory.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};

/// What a set of counters says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Workgroups that finished.
    pub executed: u64,
    /// Executions that are missing.
    pub lost: u64,
    /// Executions beyond those asked for.
    pub repeated: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.executed += other.executed;
        self.lost += other.lost;
        self.repeated += other.repeated;
    }
}

/// Compares counters with how often each workgroup must have run at least and
/// may have run at most.
pub fn tally(counters: &[AtomicU32], least: u32, most: u32) -> Tally {
    let mut tally = Tally::default();
    for counter in counters {
        let count = counter.load(Ordering::Acquire);
        tally.executed += u64::from(count);
        tally.lost += u64::from(least.saturating_sub(count));
        tally.repeated += u64::from(count.saturating_sub(most));
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(values: &[u32]) -> Vec<AtomicU32> {
        values.iter().map(|&value| AtomicU32::new(value)).collect()
    }

    #[test]
    fn exact_counts_are_clean() {
        let tally = tally(&counters(&[3, 3, 3]), 3, 3);
        assert_eq!(
            tally,
            Tally {
                executed: 9,
                lost: 0,
                repeated: 0
            }
        );
    }

    #[test]
    fn a_loss_and_a_repetition_do_not_cancel() {
        let tally = tally(&counters(&[2, 4, 3]), 3, 3);
        assert_eq!(
            tally,
            Tally {
                executed: 9,
                lost: 1,
                repeated: 1
            }
        );
    }

    #[test]
    fn abandoned_work_may_or_may_not_have_run() {
        let clean = tally(&counters(&[3, 4]), 3, 4);
        assert_eq!((clean.lost, clean.repeated), (0, 0));
        let bad = tally(&counters(&[2, 6]), 3, 4);
        assert_eq!((bad.lost, bad.repeated), (1, 2));
    }
}
