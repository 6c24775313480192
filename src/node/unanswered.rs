// SPDX-License-Identifier: GPL-2.0-only

//! Firmware that has not answered: whoever asks again waits for as long under the
//! driver's lock, with every program on the GPU behind it.
//!
//! So nothing is sent for a pause, which doubles each time. It ends early when the
//! driver has reset the GPU, when the system has slept, or when an operator says so.
//! Firmware may also answer again with none of these, once a queue that would not yield
//! has ended, and nobody tells us: only another try does.
//!
//! Then it may also carry out what it was asked for, and take all queues off the hardware.
//! To the driver they are on it still, so that it puts them back with the next change of
//! its own, which may never come: the next try does.

use crate::node::node_ref::NodeRef;
use gpreempt_policy::{Nanos, RETRY_LONGEST};
use kernel::prelude::*;
use kfd::{
    act::{
        failure::Failure,
        transaction::{Orders, Transacted},
    },
    kernel::clock,
};

/// The longest pause.
const LONGEST_PAUSE: Nanos = Nanos::SECOND.times(300);

/// Whether the firmware has not answered, and for how long it is left alone.
#[derive(Default)]
pub(crate) struct Unanswered {
    /// How often in a row it has not answered.
    times: u32,
    /// How often the node had been reset before it was last asked.
    resets: Option<u32>,
    /// When it was last found not to answer.
    noted: Nanos,
    /// Nothing is sent before this time.
    until: Nanos,
    /// It was asked to take the queues off, and may have done so or do so yet. The GPU was
    /// not reset since.
    may_be_off: bool,
}

impl Unanswered {
    /// Whether nothing is to be sent. Forgets what a reset has ended.
    pub(crate) fn lasts(&mut self, at: NodeRef<'_>) -> bool {
        if self.is_open() && self.was_reset(at) {
            *self = Self::default();
        }
        self.is_so()
    }

    /// Whether the node was reset since it was last asked, as far as it says.
    fn was_reset(&self, at: NodeRef<'_>) -> bool {
        let resets = at.with(|node| node.resets()).ok().flatten();
        let before = self.resets;
        before.is_some_and(|before| resets.is_some_and(|resets| resets != before))
    }

    /// Whether there is anything that a reset ends.
    fn is_open(&self) -> bool {
        self.times > 0 || self.may_be_off
    }

    /// Whether the queues may be off the hardware, as far as was last seen.
    pub(crate) fn may_be_off(&self) -> bool {
        self.may_be_off
    }

    /// Ends the pause: firmware may answer again.
    pub(crate) fn end_pause(&mut self) {
        *self = Self {
            resets: self.resets,
            may_be_off: self.may_be_off,
            ..Self::default()
        };
    }

    /// Whether nothing is to be sent, as far as was last seen.
    pub(crate) fn is_so(&self) -> bool {
        clock::now() < self.until
    }

    fn note(&mut self, at: NodeRef<'_>, resets: Option<u32>) {
        let pause = RETRY_LONGEST.doubled(self.times, LONGEST_PAUSE);
        if self.times == 0 {
            pr_err!(
                "{}: the firmware does not answer: nothing is sent for a while, each time for longer, unless the GPU is reset, which the driver does not do by itself with amdgpu.gpu_recovery=0, or 'armed' is written to the node's state\n",
                at
            );
        }
        self.times = self.times.saturating_add(1);
        self.resets = resets;
        self.noted = clock::now();
        self.until = self.noted.after(pause);
    }

    /// Asks nothing more, if firmware was asked since a time and has not answered:
    /// somebody waits for the end of it.
    pub(crate) fn rest_if_asked_since(&mut self, since: Nanos) {
        if self.times > 0 && self.noted >= since {
            self.until = Nanos::NEVER;
        }
    }

    /// Has orders carried out, unless nobody may answer and there is anything to do.
    pub(crate) fn send(&mut self, at: NodeRef<'_>, orders: &mut Orders<'_>) -> Transacted {
        if self.lasts(at) {
            let due = at.with(|node| orders.has_to_do(node));
            return match due.map_err(Failure::Away)?? {
                true => Err(Failure::Unanswered),
                false => Ok(None),
            };
        }
        let asked = at.with(|node| {
            // Before, because the reset may be over by the time that the failure is known.
            let resets = node.resets();
            (resets, at.backend.transact(node, orders))
        });
        let (resets, result) = asked.map_err(Failure::Away)?;
        match result {
            Ok(Some(_)) => *self = Self::default(),
            Err(failure) if failure.is_unanswered() => {
                self.note(at, resets);
                self.may_be_off |= at.backend.puts_back();
            }
            _ => {}
        }
        result
    }
}
