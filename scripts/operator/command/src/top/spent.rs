// SPDX-License-Identifier: GPL-2.0-only
//! How queues have spent the time of late.
//!
//! The module counts how long a queue was seen running, and, when a stop ends, how long
//! that was. A stop that goes on is in no counter yet, so what it takes is added here,
//! and taken off again when the counter has it. Of what is left it is known only at each
//! look whether the queue waits.

use std::collections::{BTreeMap, VecDeque};

use gpreempt_operator::host::tables::Queue;

/// How many looks the picture is made of.
const LOOKS: usize = 5;

/// What a time was spent with, in nanoseconds; what is left of `whole` was idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub whole: u64,
    pub running: u64,
    pub waiting: u64,
    pub stopped: u64,
}

impl Spent {
    pub fn add(&mut self, more: Spent) {
        self.whole = self.whole.saturating_add(more.whole);
        self.running = self.running.saturating_add(more.running);
        self.waiting = self.waiting.saturating_add(more.waiting);
        self.stopped = self.stopped.saturating_add(more.stopped);
    }

    /// How many of so many places each takes, in the order running, waiting, stopped.
    /// What took any time has a place, as long as there are enough.
    pub fn places(&self, all: usize) -> [usize; 3] {
        let parts = [self.running, self.waiting, self.stopped];
        let share = |part: u64| part as f64 * all as f64 / self.whole.max(1) as f64;
        let mut places = parts.map(|part| match part {
            0 => 0,
            part => (share(part).round() as usize).clamp(1, all.max(1)),
        });
        while places.iter().sum::<usize>() > all {
            let Some(longest) = places.iter_mut().max() else {
                break;
            };
            *longest -= 1;
        }
        places
    }

    /// Whole hundredths that a part took.
    pub fn percent(&self, part: u64) -> u64 {
        (u128::from(part) * 100 / u128::from(self.whole.max(1))) as u64
    }
}

/// A queue, as it is known for as long as it lives.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub gpu: String,
    pub node: u64,
    pub pid: i64,
    pub queue: u64,
}

impl Key {
    pub fn of(queue: &Queue) -> Key {
        Key {
            gpu: queue.gpu.clone(),
            node: queue.node,
            pid: queue.pid,
            queue: queue.queue,
        }
    }
}

/// What is remembered of a queue.
#[derive(Clone, Debug)]
struct Account {
    run_ns: u64,
    stopped_ns: u64,
    stops: u64,
    /// What the stop that goes on has been given.
    open: u64,
    of_late: VecDeque<Spent>,
}

impl Account {
    fn new(queue: &Queue) -> Account {
        Account {
            run_ns: queue.run_ns,
            stopped_ns: queue.stopped_ns,
            stops: queue.stops,
            open: 0,
            of_late: VecDeque::new(),
        }
    }

    /// Takes in the next look at the same queue, or none where it is another queue of
    /// the same number.
    fn next(&mut self, queue: &Queue, whole: u64) -> Option<()> {
        let ran = queue.run_ns.checked_sub(self.run_ns)?.min(whole);
        let booked = queue.stopped_ns.checked_sub(self.stopped_ns)?;
        let new_stops = queue.stops.checked_sub(self.stops)?;
        let is_stopped = queue.state == "stopped";
        let left = whole - ran;
        let ended = booked > 0 || new_stops > 0 || !is_stopped;
        let mut stopped = booked.saturating_sub(self.open).min(left);
        if ended {
            self.open = 0;
        }
        if is_stopped {
            let more = left - stopped;
            self.open = self.open.saturating_add(more);
            stopped = left;
        }
        let rest = left - stopped;
        let waiting = if queue.state == "waiting" { rest } else { 0 };
        self.of_late.push_back(Spent {
            whole,
            running: ran,
            waiting,
            stopped,
        });
        if self.of_late.len() > LOOKS {
            self.of_late.pop_front();
        }
        self.run_ns = queue.run_ns;
        self.stopped_ns = queue.stopped_ns;
        self.stops = queue.stops;
        Some(())
    }
}

/// What is remembered of all queues.
#[derive(Clone, Debug, Default)]
pub struct Accounts(BTreeMap<Key, Account>);

impl Accounts {
    /// Takes in a look, so many nanoseconds after the one before.
    pub fn take(&mut self, queues: &[Queue], whole: u64) {
        let mut before = std::mem::take(&mut self.0);
        for queue in queues {
            let key = Key::of(queue);
            let known = before.remove(&key);
            let known = known.and_then(|mut account| {
                account.next(queue, whole)?;
                Some(account)
            });
            self.0
                .insert(key, known.unwrap_or_else(|| Account::new(queue)));
        }
    }

    /// What a queue has spent its time with, if it was seen twice.
    pub fn of_late(&self, key: &Key) -> Option<Spent> {
        let account = self.0.get(key)?;
        let mut sum = Spent::default();
        for spent in &account.of_late {
            sum.add(*spent);
        }
        (sum.whole > 0).then_some(sum)
    }

    /// How long the stop that goes on has been seen.
    pub fn open(&self, key: &Key) -> u64 {
        self.0.get(key).map_or(0, |account| account.open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::tests::queue;

    /// What a queue spent between two looks a second apart, in milliseconds.
    fn between(looks: &[(&str, u64, u64, u64)]) -> Vec<[u64; 3]> {
        let mut accounts = Accounts::default();
        let mut all = Vec::new();
        for (state, run, stopped, stops) in looks {
            let mut queue = queue(20, "train", 1, state);
            queue.run_ns = run * 1_000_000;
            queue.stopped_ns = stopped * 1_000_000;
            queue.stops = *stops;
            accounts.take(&[queue.clone()], 1_000_000_000);
            let account = &accounts.0[&Key::of(&queue)];
            all.extend(account.of_late.back().map(|spent| {
                assert_eq!(spent.whole, 1_000_000_000);
                [spent.running, spent.waiting, spent.stopped].map(|part| part / 1_000_000)
            }));
        }
        all
    }

    #[test]
    fn a_stop_that_goes_on_counts_and_is_not_counted_twice_when_it_ends() {
        let looks = [
            ("running", 0, 0, 0),
            ("stopped", 300, 0, 1),
            ("stopped", 300, 0, 1),
            ("running", 700, 1_800, 1),
            ("running", 1_700, 1_800, 1),
        ];
        assert_eq!(
            between(&looks),
            [[300, 0, 700], [0, 0, 1000], [400, 0, 100], [1000, 0, 0]]
        );
    }

    #[test]
    fn what_is_left_is_waiting_only_if_the_queue_waits() {
        let looks = [
            ("idle", 0, 0, 0),
            ("waiting", 250, 100, 1),
            ("idle", 250, 100, 1),
            ("held", 250, 100, 1),
        ];
        assert_eq!(
            between(&looks),
            [[250, 650, 100], [0, 0, 0], [0, 0, 0]],
            "idle and held are neither"
        );
    }

    #[test]
    fn another_queue_of_the_same_number_begins_anew() {
        for looks in [
            [("running", 900, 5, 1), ("running", 10, 5, 1)],
            [("running", 900, 5, 1), ("running", 900, 4, 1)],
            [("running", 900, 5, 1), ("running", 900, 5, 0)],
        ] {
            assert!(between(&looks).is_empty());
        }
    }

    #[test]
    fn no_time_is_given_out_that_was_not_there() {
        let looks = [
            ("running", 0, 0, 0),
            ("stopped", 5_000, 7_000, 3),
            ("stopped", 5_000, u64::MAX / 1_000_000, 4),
        ];
        assert_eq!(between(&looks), [[1000, 0, 0], [0, 0, 1000]]);
    }

    #[test]
    fn a_bar_has_a_place_for_whatever_took_time() {
        let spent = |running, waiting, stopped| Spent {
            whole: 1000,
            running,
            waiting,
            stopped,
        };
        assert_eq!(spent(1000, 0, 0).places(10), [10, 0, 0]);
        assert_eq!(spent(1, 998, 1).places(10), [1, 8, 1]);
        assert_eq!(spent(0, 0, 0).places(10), [0, 0, 0]);
        assert_eq!(spent(500, 0, 500).places(1).iter().sum::<usize>(), 1);
        assert_eq!(spent(500, 300, 200).places(0), [0, 0, 0]);
        assert_eq!(Spent::default().places(8), [0, 0, 0]);
        assert_eq!(spent(333, 0, 0).percent(333), 33);
    }
}
