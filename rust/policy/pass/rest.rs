// SPDX-License-Identifier: GPL-2.0-only
//! The rest after a look, which keeps looking from taking a processor for itself.
//!
//! It is as long as the look was. A look that was long because its thread had to wait
//! for a lock or for the processor must not make the policy late, so that the rest is
//! also bounded by the interval at which the node should be looked at, and ends where
//! a stop reaches one of its own bounds.

use crate::settings::{Config, Limits};
use crate::terms::{Nanos, Step};

/// The most intervals between two looks that a rest takes.
const INTERVALS: u64 = 10;

impl Step {
    /// Before which time nobody is to look again, after a look that took so long and
    /// has led to this step now.
    pub fn rest_until(&self, now: Nanos, took: Nanos, config: &Config) -> Nanos {
        let pressing = self.stopped > 0
            || self.waiting > 0
            || self.inversion.is_some()
            || self.bound.is_some();
        let limits = Limits::new(config);
        let interval = if pressing { limits.poll } else { limits.idle };
        let end = now.after(took.min(interval.times(INTERVALS)));
        self.bound.map_or(end, |bound| end.min(bound))
    }
}
