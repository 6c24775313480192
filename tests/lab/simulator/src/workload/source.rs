// SPDX-License-Identifier: GPL-2.0-only

//! When the requests of one client come.

use super::{Arrivals, HEAVY_TAIL, SECOND};
use crate::gpu::Nanos;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Uniform delay of a timer that a client or a kernel thread sleeps on: the
/// default timer slack of Linux.
const CLIENT_TIMER_SLACK: Nanos = 50_000;

/// Arrival times of one client.
#[derive(Clone, Debug)]
pub struct Source {
    arrivals: Arrivals,
    tick: f64,
    burst_end: f64,
    random: ChaCha8Rng,
}

impl Source {
    pub fn new(arrivals: Arrivals, phase: Nanos, random: ChaCha8Rng) -> Self {
        Self {
            arrivals,
            tick: phase as f64,
            burst_end: 0.0,
            random,
        }
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        let uniform: f64 = self.random.random();
        -mean * (1.0 - uniform).ln()
    }

    fn lomax(&mut self, mean: f64) -> f64 {
        let uniform: f64 = self.random.random();
        mean * (HEAVY_TAIL - 1.0) * ((1.0 - uniform).powf(-1.0 / HEAVY_TAIL) - 1.0)
    }

    /// The next arrival; `None` when it follows the end of the last request.
    pub fn next_arrival(&mut self) -> Option<Nanos> {
        let at = match self.arrivals {
            Arrivals::Periodic { hertz } => {
                let at = self.tick;
                self.tick += SECOND as f64 / hertz;
                at + self.random.random_range(0..=CLIENT_TIMER_SLACK) as f64
            }
            Arrivals::Poisson { hertz } => {
                self.tick += self.exponential(SECOND as f64 / hertz);
                self.tick
            }
            Arrivals::HeavyTailed { hertz } => {
                self.tick += self.lomax(SECOND as f64 / hertz);
                self.tick
            }
            Arrivals::Continuous | Arrivals::Loop { .. } => return None,
            Arrivals::Bursts {
                hertz,
                burst,
                pause,
            } => {
                self.tick += self.exponential(SECOND as f64 / hertz);
                while self.tick > self.burst_end {
                    let start = self.burst_end + self.exponential(pause as f64);
                    self.burst_end = start + self.exponential(burst as f64);
                    self.tick = start + self.exponential(SECOND as f64 / hertz);
                }
                self.tick
            }
        };
        Some(at.round() as Nanos)
    }
}

impl Source {
    /// When the request comes that follows one that was done at a time, if one does.
    pub fn arrival_after(&mut self, done: Nanos) -> Option<Nanos> {
        let pauses = match self.arrivals {
            Arrivals::Continuous => return Some(done),
            Arrivals::Loop { pauses } => pauses,
            _ => return None,
        };
        let all: u32 = pauses.iter().map(|pause| pause.weight).sum();
        let mut left = self.random.random_range(0..all);
        let chosen = pauses.iter().find(|pause| {
            let found = left < pause.weight;
            left = left.saturating_sub(pause.weight);
            found
        })?;
        Some(done + self.random.random_range(chosen.least..=chosen.most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn count(arrivals: Arrivals, span: Nanos) -> usize {
        let mut source = Source::new(arrivals, 0, ChaCha8Rng::seed_from_u64(7));
        std::iter::from_fn(|| source.next_arrival())
            .take_while(|&at| at < span)
            .count()
    }

    #[test]
    fn rates_are_met() {
        let span = 100 * SECOND;
        assert_eq!(count(Arrivals::Periodic { hertz: 100.0 }, span), 10_000);
        let poisson = count(Arrivals::Poisson { hertz: 100.0 }, span);
        assert!((9_700..10_300).contains(&poisson), "{poisson}");
        let heavy = count(Arrivals::HeavyTailed { hertz: 100.0 }, span);
        assert!((8_000..12_000).contains(&heavy), "{heavy}");
        // A quarter of the time at 60 Hz.
        let bursts = count(
            Arrivals::Bursts {
                hertz: 60.0,
                burst: 100_000_000,
                pause: 300_000_000,
            },
            span,
        );
        assert!((1_200..1_800).contains(&bursts), "{bursts}");
    }

    #[test]
    fn heavy_tailed_gaps_are_mostly_short_and_a_few_are_long() {
        let arrivals = Arrivals::HeavyTailed { hertz: 100.0 };
        let mut source = Source::new(arrivals, 0, ChaCha8Rng::seed_from_u64(7));
        let times: Vec<Nanos> = (0..10_000)
            .map(|_| source.next_arrival().unwrap())
            .collect();
        let gaps: Vec<Nanos> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = SECOND / 100;
        let short = gaps.iter().filter(|&&gap| gap < mean / 2).count();
        assert!((6_200..6_800).contains(&short), "{short}");
        // Of exponential gaps, not one in 10,000 would be ten times the mean.
        let long = gaps.iter().filter(|&&gap| gap > 10 * mean).count();
        assert!((50..150).contains(&long), "{long}");
    }
}
