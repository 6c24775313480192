// SPDX-License-Identifier: GPL-2.0-only

//! Says in the log whose queues are left alone for want of room, once for each
//! change of these processes.

use crate::node::{comm::Comm, node_ref::NodeRef};
use gpreempt_policy::{Nanos, QUEUE_SLOTS};
use kernel::{fmt, prelude::*};
use kfd::look::survey::Survey;

/// The least time between two lines, because programs can bring changes about.
const DISTANCE: Nanos = Nanos(10 * Nanos::SECOND.0);

/// How many processes are named in a line.
const NAMED: usize = 4;

/// What the log says of a node.
#[derive(Default)]
pub(crate) struct Crowding {
    /// Stands for the processes that were named last; 0 for none.
    said: u64,
    /// When the next line may come.
    next: Nanos,
}

impl Crowding {
    /// Says whose queues are not in view, if that has changed.
    pub(crate) fn say(&mut self, at: NodeRef<'_>, survey: &Survey, now: Nanos) {
        if self.said == 0 && survey.counted().beyond == 0 {
            return;
        }
        let processes = stand_in(survey);
        if processes == self.said || now < self.next {
            return;
        }
        self.said = processes;
        self.next = now.after(DISTANCE);
        if processes == 0 {
            pr_info!("{}: there is room for all queues again\n", at);
            return;
        }
        pr_warn!(
            "{}: there are more than {} queues; left alone are {}\n",
            at,
            QUEUE_SLOTS,
            Names(survey)
        );
    }
}

/// A number that changes with the processes of which not all queues are in view.
fn stand_in(survey: &Survey) -> u64 {
    if survey.counted().beyond == 0 {
        return 0;
    }
    let mix = |sum: u64, pid: i32| {
        let sum = sum ^ u64::from(pid.unsigned_abs());
        sum.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    };
    survey.left_out().map(|one| one.pid).fold(1, mix) | 1
}

/// The processes of which not all queues are in view, the first of them by name.
struct Names<'a>(&'a Survey);

impl fmt::Display for Names<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut others = self.0.counted().beyond;
        for (at, one) in self.0.left_out().take(NAMED).enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            out.write_fmt(fmt!(
                "{}{} of {} queues of {} ({})",
                comma,
                one.left_out,
                one.queues,
                Comm(&one.comm),
                one.pid
            ))?;
            others = others.saturating_sub(one.left_out);
        }
        match others {
            0 => Ok(()),
            _ => out.write_fmt(fmt!(" and {} of others", others)),
        }
    }
}
