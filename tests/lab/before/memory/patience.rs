// SPDX-License-Identifier: GPL-2.0-only
//! Queues that do nothing between a start and the next stop, such as one with an
//! illegal packet at its head, on which the hardware gives up at each start.
//!
//! To stop such a queue gains nothing. After a few stops in a row it is left alone,
//! for longer each time. A kernel that runs for seconds does not move the read
//! pointer either, but it has waves: a stop counts only where it is known that the
//! queue had none, and a wave or a moved pointer ends everything at once. What was
//! saved decides; waves that were counted before the stop need not be all. A queue
//! without a backlog was stopped along with others, which says nothing about it.

use crate::settings::limits::Limits;
use crate::terms::observation::Waves;
use crate::terms::time::Nanos;

/// How many stops in a row cost nothing: beside long kernels a sound queue may get
/// no compute unit for a while.
const FREE: u32 = 7;

/// What the stops of one queue have led to since it last showed life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Patience {
    /// It is known that the stop that lasts found no waves.
    empty: bool,
    /// There was nothing to do when that stop was decided.
    idle: bool,
    /// How many such stops there were in a row.
    times: u32,
    /// It is left alone until then.
    until: Nanos,
}

impl Patience {
    /// It is left alone.
    #[inline]
    pub(crate) fn is_alone(&self, now: Nanos) -> bool {
        now < self.until
    }

    /// A stop is decided of a queue with these waves, and with a backlog or without.
    pub(crate) fn begin_stop(&mut self, waves: Waves, backlog: bool) {
        self.idle = !backlog;
        self.empty = backlog && waves == Waves::Known(0);
    }

    /// It is stopped with these waves saved.
    pub(crate) fn see_stopped(&mut self, saved: Waves) {
        match saved {
            Waves::Known(0) => self.empty = !self.idle,
            Waves::Known(_) => self.see_life(),
            Waves::Unknown => {}
        }
    }

    /// The stop was not carried out.
    pub(crate) fn forget_stop(&mut self) {
        self.empty = false;
    }

    /// It runs again.
    pub(crate) fn resume(&mut self, now: Nanos, limits: &Limits) {
        if !core::mem::take(&mut self.empty) {
            return;
        }
        if let Some(paid) = self.times.checked_sub(FREE) {
            let pause = limits.cool_down.doubled(paid, limits.cool_down_max);
            self.until = now.after(pause);
        }
        self.times = self.times.saturating_add(1);
    }

    /// Its read pointer moved, or it has waves, be they saved.
    #[inline]
    pub(crate) fn see_life(&mut self) {
        *self = Patience::default();
    }
}
