// SPDX-License-Identifier: GPL-2.0-only
//! When the requests of an open loop arrive.

use std::iter::Peekable;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp};

use crate::spec::Arrival;

/// Arrival times in GPU nanoseconds from the queue's start. A closed loop has
/// none: its requests arrive when earlier ones are done.
pub enum Times<'a> {
    Closed,
    Fixed {
        period_ns: u64,
        next: u64,
    },
    Poisson {
        gaps: Exp<f64>,
        random: Box<ChaCha8Rng>,
        now: f64,
    },
    Trace(std::slice::Iter<'a, u64>),
}

impl<'a> Times<'a> {
    /// The same seed and queue name always give the same times.
    pub fn new(arrival: &'a Arrival, seed: u64, queue: &str) -> Self {
        match arrival {
            Arrival::ClosedLoop { .. } => Self::Closed,
            Arrival::FixedRate { period_ns } => Self::Fixed {
                period_ns: *period_ns,
                next: 0,
            },
            Arrival::Poisson { mean_ns } => Self::Poisson {
                gaps: Exp::new(1.0 / *mean_ns as f64).expect("the mean was checked to be positive"),
                random: Box::new(ChaCha8Rng::seed_from_u64(seed ^ name_hash(queue))),
                now: 0.0,
            },
            Arrival::Trace { times_ns } => Self::Trace(times_ns.iter()),
        }
    }
}

impl Iterator for Times<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        match self {
            Self::Closed => None,
            Self::Fixed { period_ns, next } => {
                let time = *next;
                *next += *period_ns;
                Some(time)
            }
            Self::Poisson { gaps, random, now } => {
                *now += gaps.sample(random);
                Some(*now as u64)
            }
            Self::Trace(times) => times.next().copied(),
        }
    }
}

/// Leaves out what arrives until then: a client that has one request at a time, and is
/// free again at that moment, has kept the one that it begins now.
pub fn forget(times: &mut Peekable<Times>, until: u64) {
    while times.next_if(|&time| time <= until).is_some() {}
}

/// FNV-1a: queues of one run must not arrive in lockstep, and the standard
/// library's hash may change between releases.
fn name_hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_rate_starts_at_once_and_keeps_its_period() {
        let arrival = Arrival::FixedRate { period_ns: 250 };
        let times: Vec<u64> = Times::new(&arrival, 0, "q").take(4).collect();
        assert_eq!(times, [0, 250, 500, 750]);
    }

    #[test]
    fn a_trace_ends() {
        let arrival = Arrival::Trace {
            times_ns: vec![5, 5, 9],
        };
        assert_eq!(Times::new(&arrival, 0, "q").collect::<Vec<_>>(), [5, 5, 9]);
    }

    #[test]
    fn a_closed_loop_has_no_times() {
        let arrival = Arrival::ClosedLoop {
            depth: 1,
            think_ns: 0,
        };
        assert_eq!(Times::new(&arrival, 0, "q").next(), None);
    }

    /// When a client begins its requests that has one at a time, each of which takes so
    /// long.
    fn begins(arrival: &Arrival, lasts: u64, count: usize) -> Vec<u64> {
        let mut times = Times::new(arrival, 0, "q").peekable();
        let (mut free, mut begins) = (0, Vec::new());
        while begins.len() < count {
            let Some(time) = times.next() else { break };
            let begin = free.max(time);
            forget(&mut times, begin);
            begins.push(begin);
            free = begin + lasts;
        }
        begins
    }

    #[test]
    fn a_client_that_is_done_in_time_keeps_its_period() {
        let arrival = Arrival::FixedRate { period_ns: 100 };
        assert_eq!(begins(&arrival, 40, 4), [0, 100, 200, 300]);
        assert_eq!(begins(&arrival, 100, 4), [0, 100, 200, 300]);
    }

    #[test]
    fn a_client_whose_requests_take_longer_than_its_period_is_always_busy() {
        let arrival = Arrival::FixedRate { period_ns: 100 };
        assert_eq!(begins(&arrival, 130, 5), [0, 130, 260, 390, 520]);
        assert_eq!(begins(&arrival, 350, 4), [0, 350, 700, 1050]);
    }

    #[test]
    fn of_what_arrives_during_a_request_one_is_kept() {
        let arrival = Arrival::Trace {
            times_ns: vec![0, 10, 20, 90, 400, 410, 900],
        };
        // The three until 90 are one; the next comes to a client that waits.
        assert_eq!(begins(&arrival, 100, 9), [0, 100, 400, 500, 900]);
    }

    #[test]
    fn poisson_repeats_with_its_seed_and_differs_by_queue() {
        let arrival = Arrival::Poisson { mean_ns: 1000 };
        let times = |seed, name| {
            Times::new(&arrival, seed, name)
                .take(50)
                .collect::<Vec<_>>()
        };
        assert_eq!(times(1, "a"), times(1, "a"));
        assert_ne!(times(1, "a"), times(2, "a"));
        assert_ne!(times(1, "a"), times(1, "b"));
        assert!(times(1, "a").is_sorted());
    }

    #[test]
    fn poisson_has_its_mean_and_spread() {
        let arrival = Arrival::Poisson { mean_ns: 10_000 };
        let times: Vec<u64> = Times::new(&arrival, 7, "q").take(20_000).collect();
        let gaps: Vec<f64> = times
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64)
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // Five standard errors of a sample of this size.
        assert!((mean - 10_000.0).abs() < 400.0, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.1, "{variance}");
    }
}
