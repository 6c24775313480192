// SPDX-License-Identifier: GPL-2.0-only

//! Spans of time.

/// A span, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delta(i64);

impl Delta {
    /// So many microseconds.
    pub const fn from_micros(us: i64) -> Self {
        Self(us.saturating_mul(1_000))
    }

    /// So many milliseconds.
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// In microseconds, and not less.
    fn as_micros_ceil(self) -> u64 {
        u64::try_from(self.0).map_or(0, |ns| ns.div_ceil(1_000))
    }
}

/// Waiting.
pub mod delay {
    use super::Delta;
    use crate::bindings;

    /// Sleeps for a time, or a little longer.
    pub fn fsleep(delta: Delta) {
        // SAFETY: It asks for no more than to be called where sleeping is allowed, as the
        // kernel's own function of this name does.
        unsafe { bindings::gp_rt_sleep(delta.as_micros_ceil()) }
    }
}
