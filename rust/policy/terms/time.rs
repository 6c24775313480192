// SPDX-License-Identifier: GPL-2.0-only
//! Points in time and durations, in nanoseconds, with arithmetic that cannot
//! overflow. The policy reads no clock: every time is handed in.

/// Nanoseconds since the module was loaded, or a number of nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The start of time, and the empty duration.
    pub const ZERO: Nanos = Nanos(0);
    /// A time that never comes.
    pub const NEVER: Nanos = Nanos(u64::MAX);
    /// One second.
    pub const SECOND: Nanos = Nanos(1_000_000_000);

    /// A duration in microseconds.
    #[expect(clippy::as_conversions, reason = "`From` is not const")]
    pub const fn from_micros(micros: u32) -> Nanos {
        Nanos(micros as u64).times(1_000)
    }

    /// A duration in milliseconds.
    pub const fn from_millis(millis: u32) -> Nanos {
        Nanos::from_micros(millis).times(1_000)
    }

    /// This time plus a duration; a sum that overflows never comes.
    #[must_use]
    pub const fn after(self, duration: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(duration.0))
    }

    /// The duration since an earlier time, zero if that time is later.
    #[must_use]
    pub const fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// The duration taken a number of times.
    #[must_use]
    pub const fn times(self, factor: u64) -> Nanos {
        Nanos(self.0.saturating_mul(factor))
    }

    /// The duration doubled a number of times, at most `limit`.
    #[must_use]
    pub fn doubled(self, times: u32, limit: Nanos) -> Nanos {
        let factor = 1u64.checked_shl(times).unwrap_or(u64::MAX);
        self.times(factor).min(limit)
    }
}
