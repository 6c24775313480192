// SPDX-License-Identifier: GPL-2.0-only
//! What is remembered of a stop for as long as it lasts.

use crate::terms::decision::Reason;
use crate::terms::observation::ProcessId;
use crate::terms::observation::QueueId;
use crate::terms::time::Nanos;

/// How long a queue may not be stopped again once it is seen to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Immunity(pub(crate) Nanos);

/// What a queue was stopped for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Stop {
    /// When it was decided.
    since: Nanos,
    reason: Reason,
    /// The queue it is stopped for at present.
    beneficiary: Option<QueueId>,
    /// The process of that queue.
    process: ProcessId,
    /// When a queue last wanted it to be stopped.
    wanted: Nanos,
    /// None did in the last look.
    calming: bool,
    /// How many queues as important as the beneficiary were disturbed.
    disturbed: u32,
    dry: bool,
    along: bool,
    /// What its end gives the queue.
    immunity: Immunity,
}

impl Stop {
    /// A stop that is decided now.
    pub(crate) fn new(now: Nanos, reason: Reason) -> Stop {
        Stop {
            since: now,
            reason,
            wanted: now,
            ..Stop::default()
        }
    }

    /// A stop that was not remembered and is found now.
    pub(crate) fn found(now: Nanos) -> Stop {
        Stop {
            since: now,
            ..Stop::default()
        }
    }

    /// The stop of a queue that was created while its process was stopped.
    pub(crate) fn inherited(now: Nanos, since: Nanos, immunity: Immunity) -> Stop {
        Stop {
            since,
            wanted: now,
            along: true,
            immunity,
            ..Stop::default()
        }
    }

    /// The same stop for a queue of a process.
    pub(crate) fn on_behalf_of(self, queue: QueueId, process: ProcessId) -> Stop {
        Stop {
            beneficiary: Some(queue),
            process,
            ..self
        }
    }

    /// The same stop, which disturbs so many queues as important as its
    /// beneficiary.
    pub(crate) fn disturbing(self, disturbed: u32) -> Stop {
        Stop { disturbed, ..self }
    }

    /// The same stop, in `mode=observe` or not.
    pub(crate) fn dry(self, dry: bool) -> Stop {
        Stop { dry, ..self }
    }

    /// The same stop, of a queue that had nothing to do or not.
    pub(crate) fn along(self, along: bool) -> Stop {
        Stop { along, ..self }
    }

    #[inline]
    pub(crate) fn since(&self) -> Nanos {
        self.since
    }

    pub(crate) fn reason(&self) -> Reason {
        self.reason
    }

    pub(crate) fn beneficiary(&self) -> Option<QueueId> {
        self.beneficiary
    }

    /// The beneficiary's process.
    pub(crate) fn process(&self) -> ProcessId {
        self.process
    }

    pub(crate) fn wanted(&self) -> Nanos {
        self.wanted
    }

    pub(crate) fn disturbed(&self) -> u32 {
        self.disturbed
    }

    /// Nothing was touched: `mode=observe`.
    #[inline]
    pub(crate) fn is_dry(&self) -> bool {
        self.dry
    }

    /// It had nothing to do and was stopped along with its process.
    #[inline]
    pub(crate) fn is_along(&self) -> bool {
        self.along
    }

    pub(crate) fn immunity(&self) -> Immunity {
        self.immunity
    }

    /// A queue wants it to last. Returns for how long none did, if none did in the last
    /// look.
    pub(crate) fn renew(&mut self, now: Nanos) -> Option<Nanos> {
        let gap = now.since(self.wanted);
        self.wanted = now;
        core::mem::take(&mut self.calming).then_some(gap)
    }

    /// No queue wants it to last.
    pub(crate) fn calm(&mut self) {
        self.calming = true;
    }

    /// It lasts for this queue from now on.
    pub(crate) fn serve(&mut self, queue: QueueId, process: ProcessId) {
        self.beneficiary = Some(queue);
        self.process = process;
    }

    /// Names the queue that its end is put down to.
    pub(crate) fn attribute(&mut self, beneficiary: Option<QueueId>) {
        self.beneficiary = beneficiary;
    }

    /// It ends at its bound, so that the queue is left to run for a while.
    pub(crate) fn earn(&mut self, immunity: Immunity) {
        self.immunity = immunity;
    }
}
