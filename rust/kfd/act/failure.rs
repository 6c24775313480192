// SPDX-License-Identifier: GPL-2.0-only

//! Why a transaction failed, and what that means: the one place where it is judged.

#![forbid(unsafe_code)]

use crate::{
    driver::{
        gpu::Away,
        node::{Node, SchedPolicy},
    },
    kernel::compat::ETIME,
};
use gpreempt_policy::FailureKind;
use kernel::prelude::*;

/// Why a transaction failed. Nothing was changed unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The GPU cannot be used now.
    Away(Away),
    /// The driver refused to take the queues off, with this positive errno. The
    /// lock was not taken.
    Unmap(u32),
    /// The driver's counters do not fit its queues, and nothing was sent.
    Misfit,
    /// The driver's counters did not fit its queues when these were off the hardware,
    /// so that nothing was edited, or did not any more after an edit.
    Inexact,
    /// The edit was made, and putting the queues back failed with this errno.
    Map(u32),
    /// One of the queues could not be taken off or put back by itself, with this
    /// positive errno; others could.
    Single(u32),
    /// The driver refused with this positive errno because it resets the GPU.
    Reset(u32),
    /// The firmware has not answered a while ago, and the GPU was not reset since:
    /// nothing was sent.
    Unanswered,
}

impl Failure {
    /// An error of the driver's on a node. `otherwise` makes a failure of its
    /// positive errno where nothing else is known about it.
    ///
    /// The driver says EIO when the reset's semaphore cannot be had at once, and for
    /// a hardware queue while it resets the GPU. A reset says so before it takes the
    /// semaphore; else debugfs holds it, or a fatal error was found that a reset has
    /// yet to answer. Without the hardware scheduler every operation takes one queue
    /// after the other and goes on after an error.
    pub fn of_driver(node: &Node<'_>, error: i32, otherwise: impl FnOnce(u32) -> Self) -> Self {
        let errno = error.unsigned_abs();
        if error == EIO.to_errno() && node.gpu().usable() == Err(Away::Reset) {
            Failure::Reset(errno)
        } else if node.sched_policy() == Some(SchedPolicy::NoHws) {
            Failure::Single(errno)
        } else {
            otherwise(errno)
        }
    }

    /// What it means: the one place where a failure is judged.
    pub fn kind(self) -> FailureKind {
        match self {
            // For debugfs or another partition, and for milliseconds.
            Failure::Away(Away::Halted) => FailureKind::Passing,
            _ if self.is_rebuilt() => FailureKind::Rebuilt,
            // The scheduler has not taken the queues off within the driver's time limit,
            // for which the driver has asked for a reset: unmap_queues_cpsch().
            Failure::Unmap(ETIME) => FailureKind::Rebuilt,
            // The policy is to be as silent, and to start then what is still stopped.
            Failure::Unanswered => FailureKind::Rebuilt,
            // Putting queues back is not waited for, so that no time limit of it can end
            // in a reset; nor does any of a single hardware queue's.
            Failure::Unmap(_) | Failure::Map(_) | Failure::Single(_) => FailureKind::Broken,
            // Nothing changes that is known.
            Failure::Away(_) | Failure::Reset(_) | Failure::Misfit | Failure::Inexact => {
                FailureKind::Broken
            }
        }
    }

    /// Whether the driver puts everything on the hardware again by itself.
    pub fn is_rebuilt(self) -> bool {
        // A reset and a suspend evict every queue, and which of them run afterwards the
        // driver computes from fields that we never write. A device that goes, and KFD
        // that is not set up, have no queues.
        matches!(
            self,
            Failure::Away(Away::Reset | Away::NoAccess | Away::NoKfd) | Failure::Reset(_)
        )
    }

    /// Whether the firmware has not answered within the driver's time limit.
    pub fn is_unanswered(self) -> bool {
        matches!(self, Failure::Unmap(ETIME))
    }

    /// The positive errno that tables and the log show.
    pub fn errno(self) -> u32 {
        let error = match self {
            Failure::Unmap(errno)
            | Failure::Map(errno)
            | Failure::Single(errno)
            | Failure::Reset(errno) => return errno,
            Failure::Unanswered => return ETIME,
            Failure::Away(Away::Reset) => EIO,
            Failure::Away(Away::NoAccess | Away::NoKfd) => ENODEV,
            Failure::Away(Away::Halted) => EBUSY,
            Failure::Away(Away::Misfit) | Failure::Misfit | Failure::Inexact => EINVAL,
        };
        error.to_errno().unsigned_abs()
    }

    /// Words for the log.
    pub fn why(self) -> &'static str {
        match self {
            Failure::Away(Away::Reset) | Failure::Reset(_) => "the GPU is being reset",
            Failure::Away(Away::NoAccess) => "the GPU is suspended or being removed",
            Failure::Away(Away::NoKfd) => "KFD is not set up",
            Failure::Away(Away::Halted) => "the hardware scheduler is halted",
            Failure::Away(Away::Misfit) => "the driver's structures do not fit together",
            Failure::Unmap(_) => "the queues could not be taken off the GPU",
            Failure::Misfit | Failure::Inexact => "the driver's counters do not fit its queues",
            Failure::Map(_) => "the queues could not be put back on the GPU",
            Failure::Single(_) => "a queue could not be taken off the GPU or put back",
            Failure::Unanswered => "the firmware does not answer, and the GPU was not reset",
        }
    }

    /// Whether it passes by itself and soon, so that it is no failure of anything.
    pub fn is_passing(self) -> bool {
        self.kind() == FailureKind::Passing
    }

    /// Whether anything was sent to the hardware, or at least tried to be.
    pub fn was_sent(self) -> bool {
        !matches!(
            self,
            Failure::Away(_) | Failure::Misfit | Failure::Unanswered
        )
    }
}
