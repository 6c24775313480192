// SPDX-License-Identifier: GPL-2.0-only

//! Starting queues without the policy: everything, because the module lets go of a
//! node or the backend changes, or what has gone out of view.
//!
//! Neither order names a queue that is to be started, so that a queue which is
//! forgotten here does not stay stopped. Not to start everything is a failure unless
//! nothing can be stopped any more: nobody looks again after a node is let go of.

use crate::node::{memory::Memory, node_ref::NodeRef, roster::Roster, transaction::Transactions};
use kernel::prelude::*;
use kfd::{act::failure::Failure, driver::gpu::Away, look::survey::Survey};

/// Why everything is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartAllCause {
    /// Other settings are to be in force, or none.
    Settings,
    /// The module lets go of the node.
    LettingGo,
    /// The system is about to sleep.
    Sleep,
}

/// Starts every queue of the node that is stopped. `Err`: some may still be, and
/// nothing but another try will start them.
pub(crate) fn start_all(
    at: NodeRef<'_>,
    transactions: &mut Transactions,
    memory: &mut Memory,
    cause: StartAllCause,
) -> Result<(), Failure> {
    let only_firmware = !transactions.off_hardware;
    let back = match cause {
        // Whatever is to run, the driver puts on the hardware when the system wakes.
        StartAllCause::Sleep if only_firmware => Ok(()),
        _ => transactions.put_back(at, memory),
    };
    let result = match back {
        // By this nothing is left stopped: one try was made, if firmware may be asked.
        Err(_) if cause == StartAllCause::LettingGo && only_firmware => {
            transactions.start_all(at, memory)
        }
        back => back.and_then(|()| transactions.start_all(at, memory)),
    };
    match result {
        Err(failure) if !ends_all_stops(at, failure) => {
            if matches!(failure, Failure::Misfit | Failure::Inexact) {
                transactions.say_inexact(at);
            }
            Err(failure)
        }
        _ => {
            transactions.forget_misfit();
            memory.roster.forget_stops();
            Ok(())
        }
    }
}

/// Whether nothing is stopped after a failure, because the driver makes everything
/// run that should.
///
/// A reset and a suspend evict every queue, and which of them run afterwards the driver
/// computes from fields that we never write.
fn ends_all_stops(at: NodeRef<'_>, failure: Failure) -> bool {
    match failure {
        Failure::Away(Away::NoKfd | Away::NoAccess) => true,
        Failure::Away(Away::Reset) | Failure::Reset(_) => at.gpu.usable().is_err(),
        _ => false,
    }
}

/// Starts every queue of the node that is stopped and out of view. What is in view stays
/// as the policy wants it, so that nobody has other users' queues started by pushing one
/// out of view.
pub(crate) fn start_beyond(
    at: NodeRef<'_>,
    transactions: &mut Transactions,
    survey: &Survey,
    memory: &mut Memory,
) -> Result<(), Failure> {
    match transactions.start_beyond(at, survey, memory) {
        Err(failure) if !ends_all_stops(at, failure) => Err(failure),
        _ => Ok(()),
    }
}

/// Names what could not be started before the module lets go of the node.
pub(crate) fn give_up(at: NodeRef<'_>, roster: &Roster, failure: Failure) {
    pr_err!(
        "{}: stopped queues are left: {} (errno {}); load the module again with this backend, which starts them\n",
        at,
        failure.why(),
        failure.errno()
    );
    for queue in roster.queues().iter().filter(|queue| queue.is_stopped()) {
        pr_err!(
            "{}: left stopped: queue {} of process {}\n",
            at,
            queue.key.id(),
            queue.pid
        );
    }
}
