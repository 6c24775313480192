// SPDX-License-Identifier: GPL-2.0-only

//! Packets that their program has not written yet, though its write pointer is past them.
//!
//! A runtime takes places in a ring for many packets at once and fills them afterwards. By the
//! doorbell, firmware hears of them when they are there. But whenever it maps a queue, it reads
//! the write pointer, and then comes to a packet that may be written while it is read. Some
//! hosts give it such a packet in two halves, one of which is older.
//!
//! Each transaction maps all queues. So it is waited before one while a queue has such a packet,
//! for a few times as long as a transaction takes, and for a small part of all time: there may
//! be somebody who never writes it, and nobody is to hold up the others.
//!
//! Of 400 transactions for a queue whose packets are written 5 ms after its write pointer has
//! moved, 67 were sent with such a packet left, and 9 with the wait; a virtual GPU executed 7 and
//! none by halves. What a program begins while a transaction is under way meets it all the same,
//! as it does when the driver maps the queue.

use gpreempt_policy::Nanos;
use kernel::time::{delay::fsleep, Delta};
use kfd::kernel::clock;

/// For how long it is waited before there was a transaction, and at most.
const FIRST_WAIT: Nanos = Nanos::from_micros(1_000);
const LONGEST_WAIT: Nanos = Nanos::from_micros(20_000);

/// It is waited for as long as so many transactions take.
const TRANSACTIONS: u64 = 4;

/// Of all time, it is waited for one part in so many.
const PART: u64 = 16;

/// How often it is looked meanwhile.
const LOOK_US: i64 = 50;

/// How it was before a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// All packets are written.
    Written,
    /// They are since it was waited for them.
    WaitedFor,
    /// One is not, and no more is waited.
    Unwritten,
}

/// How much has been waited.
#[derive(Default)]
pub(crate) struct Unwritten {
    /// What was waited, less what has been given back since.
    waited: Nanos,
    /// Until when that is counted.
    counted: Nanos,
}

impl Unwritten {
    /// Waits before a transaction, of which the last one took so long, while there is any
    /// packet that is not written.
    pub(crate) fn wait(&mut self, took: Option<Nanos>, mut any: impl FnMut() -> bool) -> Found {
        if !any() {
            return Found::Written;
        }
        let begin = clock::now();
        let longest = self.may_wait(begin, took);
        loop {
            let waited = clock::now().since(begin);
            if waited >= longest {
                self.note(waited);
                return Found::Unwritten;
            }
            fsleep(Delta::from_micros(LOOK_US));
            if !any() {
                self.note(clock::now().since(begin));
                return Found::WaitedFor;
            }
        }
    }

    /// For how long it may be waited.
    pub(crate) fn may_wait(&mut self, now: Nanos, took: Option<Nanos>) -> Nanos {
        let back = Nanos(now.since(self.counted).0 / PART);
        self.waited = self.waited.since(back);
        self.counted = now;
        took.map_or(FIRST_WAIT, |took| took.times(TRANSACTIONS))
            .min(LONGEST_WAIT)
            .since(self.waited)
    }

    /// So long was waited.
    pub(crate) fn note(&mut self, time: Nanos) {
        self.waited = self.waited.after(time).min(LONGEST_WAIT);
        self.counted = self.counted.after(time);
    }
}
