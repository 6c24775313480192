// SPDX-License-Identifier: GPL-2.0-only
//! What transactions cost, as it was measured.

use crate::terms::{Action, Nanos};

/// What a transaction is taken to cost before one was measured.
const FIRST: Nanos = Nanos::from_micros(100);

/// One that took longer was held up by something else, and counts as this.
const LONGEST: Nanos = Nanos::from_millis(10);

/// What transactions that stop queues cost, and those that start some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cost {
    pub(crate) stop: Nanos,
    pub(crate) start: Nanos,
    /// What the last transaction did, as far as it was not heard what it took.
    pub(crate) last: Option<Action>,
}

impl Default for Cost {
    fn default() -> Cost {
        Cost {
            stop: FIRST,
            start: FIRST,
            last: None,
        }
    }
}

impl Cost {
    /// The last transaction took so long: a quarter of what is known from now on.
    pub(crate) fn took(&mut self, took: Nanos) {
        let known = match self.last.take() {
            Some(Action::Stop) => &mut self.stop,
            Some(Action::Start) => &mut self.start,
            None => return,
        };
        let sum = known.times(3).after(took.min(LONGEST));
        *known = Nanos(sum.0 / 4);
    }

    /// What it costs to stop queues and to start them again.
    pub(crate) fn round_trip(&self) -> Nanos {
        self.stop.after(self.start)
    }
}
