// SPDX-License-Identifier: GPL-2.0-only
//! What the nodes did between looks: rates, and how long preemption took.

use std::collections::VecDeque;
use std::time::Duration;

use gpreempt_operator::host::tables::{Histogram, Node, NodeLatencies};

/// How far back the picture goes.
pub const MEMORY: Duration = Duration::from_secs(180);

/// The counters of a node at one look.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    stops: u64,
    failures: u64,
    /// The number and the sum of the parts of a preemption.
    parts: [(u64, u64); 4],
}

impl Counters {
    fn of(node: &Node, latencies: Option<&NodeLatencies>) -> Counters {
        let pair = |histogram: &Histogram| (histogram.count, histogram.sum_ns);
        Counters {
            stops: node.stops,
            failures: node.failures,
            parts: latencies.map_or([(0, 0); 4], |all| {
                [&all.detection, &all.unmap, &all.edit, &all.map].map(pair)
            }),
        }
    }

    /// What was added, or none where the module has been loaded again.
    fn since(&self, earlier: &Counters) -> Option<Counters> {
        let mut parts = [(0, 0); 4];
        for (at, part) in parts.iter_mut().enumerate() {
            let (own, other) = (self.parts[at], earlier.parts[at]);
            *part = (own.0.checked_sub(other.0)?, own.1.checked_sub(other.1)?);
        }
        Some(Counters {
            stops: self.stops.checked_sub(earlier.stops)?,
            failures: self.failures.checked_sub(earlier.failures)?,
            parts,
        })
    }

    /// The mean time from the beginning of an inversion until the queues are mapped
    /// again, where there was one.
    fn preemption(&self) -> Option<u64> {
        let [detection, ..] = self.parts;
        if detection.0 == 0 {
            return None;
        }
        let means = self
            .parts
            .iter()
            .map(|(count, sum)| sum.checked_div(*count).unwrap_or(0));
        Some(means.fold(0, u64::saturating_add))
    }
}

/// What is remembered of a node.
#[derive(Clone, Debug, Default)]
pub struct History {
    last: Option<Counters>,
    pub stops_per_s: f64,
    pub failures_per_s: f64,
    /// When preemptions were seen, and how long they took in the mean.
    preemptions: VecDeque<(Duration, u64)>,
}

impl History {
    /// Takes in a look at a time, so long after the one before.
    pub fn take(
        &mut self,
        now: Duration,
        whole: Duration,
        node: &Node,
        latencies: Option<&NodeLatencies>,
    ) {
        let counters = Counters::of(node, latencies);
        let last = self.last.replace(counters);
        let new = last.and_then(|last| counters.since(&last));
        let per_second = |number: u64| match whole.as_secs_f64() {
            nothing if nothing <= 0.0 => 0.0,
            seconds => number as f64 / seconds,
        };
        let new = new.unwrap_or_default();
        self.stops_per_s = per_second(new.stops);
        self.failures_per_s = per_second(new.failures);
        self.preemptions
            .extend(new.preemption().map(|took| (now, took)));
        while let Some((then, _)) = self.preemptions.front() {
            if now.saturating_sub(*then) < MEMORY {
                break;
            }
            self.preemptions.pop_front();
        }
    }

    /// What the last preemptions took.
    pub fn last(&self) -> Option<u64> {
        self.preemptions.back().map(|(_, took)| *took)
    }

    /// The most that any took.
    pub fn most(&self) -> Option<u64> {
        self.preemptions.iter().map(|(_, took)| *took).max()
    }

    /// The longest in each of so many equal parts of the time, the latest last.
    pub fn line(&self, now: Duration, parts: usize) -> Vec<Option<u64>> {
        let mut line = vec![None; parts];
        for (then, took) in &self.preemptions {
            let ago = now.saturating_sub(*then).as_secs_f64() / MEMORY.as_secs_f64();
            let back = (ago * parts as f64) as usize;
            let place = parts.checked_sub(back + 1).and_then(|at| line.get_mut(at));
            if let Some(place) = place {
                *place = (*place).max(Some(*took));
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::tests::{latencies, node};

    const SECOND: Duration = Duration::from_secs(1);

    fn history(looks: &[(u64, u64, u64)]) -> History {
        let mut history = History::default();
        for (at, (stops, count, sum)) in looks.iter().enumerate() {
            let mut node = node();
            (node.stops, node.failures) = (*stops, stops / 2);
            history.take(
                SECOND * at as u32,
                SECOND,
                &node,
                Some(&latencies(*count, *sum)),
            );
        }
        history
    }

    #[test]
    fn rates_are_of_the_last_look_alone() {
        let history = history(&[(100, 0, 0), (104, 0, 0), (106, 0, 0)]);
        assert_eq!((history.stops_per_s, history.failures_per_s), (2.0, 1.0));
        assert_eq!(history.last(), None);
    }

    #[test]
    fn a_preemption_is_the_sum_of_the_means_of_its_parts() {
        let history = history(&[(0, 2, 1000), (0, 4, 5000)]);
        assert_eq!(history.last(), Some(4 * 2000));
        let none = History::default();
        assert_eq!(none.line(SECOND, 3), [None, None, None]);
        assert!(none.line(SECOND, 0).is_empty());
    }

    #[test]
    fn a_module_that_was_loaded_again_begins_anew() {
        let history = history(&[(100, 9, 9000), (1, 1, 500), (2, 2, 1500)]);
        assert_eq!((history.stops_per_s, history.last()), (1.0, Some(4000)));
        assert_eq!(history.most(), Some(4000));
    }

    #[test]
    fn the_line_has_the_latest_last_and_forgets() {
        let mut history = History::default();
        let mut count = 0;
        for (second, took) in [(0, 10), (1, 10), (90, 30), (178, 20), (179, 5)] {
            count += 1;
            let sum = history.last.map_or(0, |last| last.parts[0].1) + took;
            let now = SECOND * second;
            history.take(now, SECOND, &node(), Some(&latencies(count, sum)));
        }
        let now = SECOND * 179;
        assert_eq!(history.line(now, 3), [Some(40), Some(120), Some(80)]);
        assert_eq!(history.line(now, 1), [Some(120)]);
        history.take(SECOND * 400, SECOND, &node(), Some(&latencies(count, 75)));
        assert_eq!(history.most(), None, "they are long past");
    }
}
