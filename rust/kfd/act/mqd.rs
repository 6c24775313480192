// SPDX-License-Identifier: GPL-2.0-only

//! The backend for `amdgpu.sched_policy=2`, where the driver itself puts queues
//! into the hardware: each queue by itself, the others undisturbed.
//!
//! A look disturbs no queue, so one walk under one lock finds what is to be done and
//! whether everything fits, and the queues are moved when it is over.
//!
//! Experimental, as that mode of the driver is. That a queue on several XCCs may
//! be taken off one XCC after the other is an assumption.

#![forbid(unsafe_code)]

use crate::{
    act::{
        failure::Failure,
        transaction::{may_look, report_misfit, Done, Orders, Timing, Transacted},
    },
    driver::node::Node,
    kernel::clock,
};
use gpreempt_policy::{Action, Nanos};
use kernel::prelude::*;

/// Stops and starts queues, again if there was not room for all of them.
pub(crate) fn transact(node: &Node<'_>, orders: &mut Orders<'_>) -> Transacted {
    Timing::of_all(|| once(node, orders))
}

/// Stops and starts as many queues as there is room for.
fn once(node: &Node<'_>, orders: &mut Orders<'_>) -> Result<Option<(Timing, bool)>, Failure> {
    let ready = may_look(node)?;
    let begin = clock::now();
    let mut locked = node.lock();
    let edit = clock::now();
    let Orders { wanted, room, .. } = orders;
    // Without the hardware scheduler the driver gives GWS to no queue.
    let due = locked.find(room, |queue| {
        wanted.due(queue).filter(|_| !queue.uncounted_gws)
    });
    if due.is_empty() && due.census().is_whole() && !wanted.always() {
        return Ok(None);
    }
    ready?;
    let before = *due.census();
    let mut census = before;
    if !wanted.can_be_done(&before) {
        return Err(Failure::Misfit);
    }
    let more = due.more();
    let mut failure = None;
    for queue in due.into_queues() {
        // After a failure nothing more is stopped; what can be started is.
        if failure.is_some() && queue.action() == Action::Stop {
            continue;
        }
        let facts = *queue.facts();
        match queue.carry_out(&mut census) {
            Ok(()) => wanted.note(&facts, Done::Yes),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    locked.compare(&mut census);
    drop(locked);
    let map = clock::now();
    if !census.is_as_good_as(&before) {
        report_misfit(node.gpu(), node.index(), &census, "after an edit");
        return Err(Failure::Inexact);
    }
    match failure {
        Some(error) => Err(Failure::of_driver(node, error, Failure::Single)),
        None => Ok(Some((
            Timing {
                unmap: edit.since(begin),
                edit: map.since(edit),
                map: Nanos::ZERO,
            },
            more,
        ))),
    }
}
