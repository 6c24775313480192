// SPDX-License-Identifier: GPL-2.0-only
//! GPU time and guest time, related by reading both at intervals.

use anyhow::{ensure, Result};
use nix::time::{clock_gettime, ClockId};
use serde::{Deserialize, Serialize};

use crate::kfd::ioctl::Kfd;

const READINGS: u32 = 4;

/// The clock that the driver reads next to the GPU's.
pub fn guest_now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC_RAW).expect("the raw clock always exists");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

/// A moment by both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    pub guest_ns: u64,
    pub gpu_ns: u64,
}

/// The GPU's time at a moment of the guest's, on the line through the moments
/// around it. Needs two of them at different times.
pub fn gpu_at(moments: &[Moment], guest_ns: u64) -> Option<u64> {
    let after = moments.partition_point(|moment| moment.guest_ns <= guest_ns);
    let second = after.clamp(1, moments.len().checked_sub(1)?.max(1));
    let (a, b) = (moments.get(second - 1)?, moments.get(second)?);
    let run = i128::from(b.guest_ns) - i128::from(a.guest_ns);
    let rise = i128::from(b.gpu_ns) - i128::from(a.gpu_ns);
    if run <= 0 {
        return None;
    }
    let offset = i128::from(guest_ns) - i128::from(a.guest_ns);
    u64::try_from(i128::from(a.gpu_ns) + offset * rise / run).ok()
}

/// Pairs of readings, in order of time.
pub struct Correlation {
    samples: Vec<Moment>,
    gpu_id: u32,
    ticks_per_second: u64,
    uncertainty_ns: u64,
}

impl Correlation {
    pub fn new(gpu_id: u32, ticks_per_second: u64) -> Result<Self> {
        ensure!(
            ticks_per_second > 0,
            "the GPU says that its clock does not tick"
        );
        Ok(Self {
            samples: Vec::new(),
            gpu_id,
            ticks_per_second,
            uncertainty_ns: 0,
        })
    }

    /// Reads both clocks once more.
    pub fn sample(&mut self, kfd: &Kfd) -> Result<()> {
        // Another program may run in the middle of a reading: the shortest counts.
        let mut readings = Vec::new();
        for _ in 0..READINGS {
            let before = guest_now_ns();
            let counters = kfd.clock_counters(self.gpu_id)?;
            readings.push((
                counters.raw_ns.saturating_sub(before),
                before,
                counters.gpu_ticks,
            ));
        }
        let (span, before, gpu_ticks) = readings
            .into_iter()
            .min()
            .expect("there is at least one reading");
        self.uncertainty_ns = self.uncertainty_ns.max(span / 2);
        // The GPU's clock was read between our look and the driver's: take the middle.
        self.push(before + span / 2, gpu_ticks);
        Ok(())
    }

    fn push(&mut self, guest_ns: u64, gpu_ticks: u64) {
        let gpu_ns = self.gpu_ns(gpu_ticks);
        self.samples.push(Moment { guest_ns, gpu_ns });
    }

    /// GPU clock ticks as nanoseconds.
    pub fn gpu_ns(&self, ticks: u64) -> u64 {
        (u128::from(ticks) * 1_000_000_000 / u128::from(self.ticks_per_second)) as u64
    }

    /// The GPU's time at a moment of the guest's.
    pub fn gpu_at(&self, guest_ns: u64) -> Option<u64> {
        gpu_at(&self.samples, guest_ns)
    }

    /// The moments at which both clocks were read.
    pub fn moments(&self) -> &[Moment] {
        &self.samples
    }

    /// Guest nanoseconds for one GPU nanosecond, over all samples.
    pub fn dilation(&self) -> Option<f64> {
        let (first, last) = (self.samples.first()?, self.samples.last()?);
        let gpu = last.gpu_ns.checked_sub(first.gpu_ns)?;
        (gpu > 0).then(|| (last.guest_ns - first.guest_ns) as f64 / gpu as f64)
    }

    /// Half the longest span of guest time in which a reading took place.
    pub fn uncertainty_ns(&self) -> u64 {
        self.uncertainty_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 MHz, as on the hardware: one tick is 10 ns.
    fn correlation(samples: &[(u64, u64)]) -> Correlation {
        let mut correlation = Correlation::new(1, 100_000_000).unwrap();
        for &(guest_ns, ticks) in samples {
            correlation.push(guest_ns, ticks);
        }
        correlation
    }

    #[test]
    fn times_lie_on_the_line_between_samples() {
        let clock = correlation(&[(1000, 10), (33_000, 110), (97_000, 210)]);
        assert_eq!(clock.gpu_at(1000), Some(100));
        assert_eq!(clock.gpu_at(17_000), Some(600));
        assert_eq!(clock.gpu_at(33_000), Some(1100));
        assert_eq!(clock.gpu_at(65_000), Some(1600));
    }

    #[test]
    fn times_outside_follow_the_nearest_line() {
        let clock = correlation(&[(32_000, 100), (64_000, 200)]);
        assert_eq!(clock.gpu_at(96_000), Some(3000));
        assert_eq!(clock.gpu_at(0), Some(0));
    }

    #[test]
    fn too_few_samples_say_nothing() {
        assert_eq!(correlation(&[]).gpu_at(5), None);
        assert_eq!(correlation(&[(1, 1)]).gpu_at(5), None);
        assert_eq!(correlation(&[(1, 1), (1, 2)]).gpu_at(5), None);
        assert_eq!(correlation(&[(1, 1)]).dilation(), None);
    }

    #[test]
    fn dilation_is_guest_over_gpu() {
        assert_eq!(correlation(&[(0, 0), (32_000, 100)]).dilation(), Some(32.0));
    }

    #[test]
    fn ticks_do_not_overflow() {
        assert_eq!(correlation(&[]).gpu_ns(u64::MAX / 10), u64::MAX / 10 * 10);
    }

    #[test]
    fn a_clock_that_stands_still_is_refused() {
        assert!(Correlation::new(1, 0).is_err());
    }
}
