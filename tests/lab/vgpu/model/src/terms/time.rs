// SPDX-License-Identifier: GPL-2.0-only
//! GPU time. It never runs backwards and knows nothing of the host's clock.

use serde::{Deserialize, Serialize};

/// Nanoseconds of GPU time since the device was made.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct GpuNanos(pub u64);

impl GpuNanos {
    /// A time that never comes.
    pub const NEVER: GpuNanos = GpuNanos(u64::MAX);

    /// The reference clock that time stamps and signals carry: 100 MHz.
    pub fn ticks(self) -> u64 {
        self.0 / 10
    }

    /// This time plus a duration; a sum that overflows never comes.
    pub fn after(self, nanos: u64) -> GpuNanos {
        GpuNanos(self.0.saturating_add(nanos))
    }

    /// Nanoseconds since an earlier time, 0 if it is later.
    pub fn since(self, earlier: GpuNanos) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_stays_never() {
        assert_eq!(GpuNanos(5).after(u64::MAX), GpuNanos::NEVER);
        assert_eq!(GpuNanos::NEVER.after(1), GpuNanos::NEVER);
    }

    #[test]
    fn a_tick_is_ten_nanoseconds() {
        assert_eq!(GpuNanos(1_000_000_000).ticks(), 100_000_000);
        assert_eq!(GpuNanos(9).ticks(), 0);
    }

    #[test]
    fn since_does_not_wrap() {
        assert_eq!(GpuNanos(3).since(GpuNanos(9)), 0);
    }
}
