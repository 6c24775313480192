// SPDX-License-Identifier: GPL-2.0-only

//! The backend for the hardware scheduler.
//!
//! The driver offers no way to take a single queue off the hardware. It can take
//! all off, under the queue manager's lock, and put back those that it has
//! flagged as active. Between the two we change the flags. The flag alone says
//! that a queue is stopped by us; every event of the driver's own, an eviction,
//! a debugger, a change of the queue, computes it anew from other fields, and so
//! sets the queue running again: nothing can be left stopped by a race.
//!
//! The lists are walked over once before, while the queues are off the hardware, and
//! after, and what is guaranteed is this:
//!
//! - Queues are not taken off the hardware for nothing, or for what could not be done:
//!   the first walk says whether anything is due and whether the counters fit
//!   (`Failure::Misfit`).
//! - Nothing is stopped where anything does not fit. The lock was released in
//!   between, so that the second walk counts anew and only notes what is due. It is
//!   edited when the walk has ended and fits, still under the same lock, under which
//!   nobody else changes a flag or a counter (`Failure::Inexact` if it does not fit).
//! - Starting everything needs less: what we have stopped is not to stay so because of
//!   somebody else's queue or a counter (`Census::may_start`).
//! - The counters fit after the edit as they did before. What they have to be follows from that walk and
//!   from the edits, and they are read and compared before the queues are put back.
//!   The flags were written together with the counters, by the one function that does
//!   both. The third walk, which looks at what stopped queues have saved, counts the
//!   flags once more.
//!
//! The queues are taken off by the driver's own function, or with `transaction=direct` by
//! an unmapping of our own. Where that meets anything but the usual, the driver's own
//! follows at once, which takes off what is still on and recovers as it always does.

#![forbid(unsafe_code)]

use crate::{
    act::{
        descriptor::found,
        failure::Failure,
        transaction::{report_misfit, Done, HandedOver, Orders, Timing, Transacted, Wanted},
    },
    driver::{
        census::Census,
        direct::NotUnmapped,
        driver::Driver,
        node::Node,
        queue::Format,
        unmapped::{Functions, Unmapped},
    },
    kernel::{
        clock,
        preemption::{without_preemption, Preferred},
    },
};
use gpreempt_policy::TransactionKind;
use kernel::prelude::*;

/// The backend, with the two functions of the driver that it needs.
pub struct Hws(Functions);

/// For how long a walk other tasks are kept from the processor, in queues and processes:
/// for a quarter of a millisecond. A longer walk, which takes somebody who has as many
/// queues created, is made as the thread's weight allows.
const MOST_WITHOUT_PREEMPTION: u32 = 1024;

/// Of how many queues that a transaction has stopped it is asked what was saved of them. A
/// descriptor may be in video memory, where each of some twenty words takes a microsecond.
const MOST_ASKED: u32 = 16;

/// What an edit has come to.
struct Edited {
    /// What fits together now.
    census: Census,
    /// That is as much as has to.
    exact: bool,
    /// At which point that was found.
    when: &'static str,
    /// There was not room for all that is due.
    more: bool,
}

impl Hws {
    /// Finds the functions, unless somebody has them already.
    pub fn bind(driver: &Driver) -> Result<Self> {
        Functions::bind(driver).map(Self)
    }

    /// Whether the driver has what an unmapping of our own needs.
    pub fn has_direct(&self) -> bool {
        self.0.has_direct()
    }

    /// Stops and starts queues in one transaction, or in several where there is not
    /// room for all of them.
    pub fn transact(
        &self,
        node: &Node<'_>,
        kind: TransactionKind,
        orders: &mut Orders<'_>,
    ) -> Transacted {
        Timing::of_all(|| self.once(node, kind, orders))
    }

    /// One transaction. Returns also whether there was not room for all.
    fn once(
        &self,
        node: &Node<'_>,
        kind: TransactionKind,
        orders: &mut Orders<'_>,
    ) -> Result<Option<(Timing, bool)>, Failure> {
        // A transaction disturbs every queue of the node: look first whether
        // there is anything to do, and whether it could be done.
        match orders.wanted.due_on(node)? {
            None => return Ok(None),
            Some(census) if orders.wanted.can_be_done(&census) => {}
            Some(_) => return Err(Failure::Misfit),
        }
        let _preferred = Preferred::raise();
        let begin = clock::now();
        let mut unmapped = match kind {
            TransactionKind::Driver => self.unmap(node)?,
            TransactionKind::Direct => self.unmap_directly(node, &mut orders.handed_over)?,
        };
        let edit = clock::now();
        // Asked under the lock, under which nothing is added to the lists.
        let edited = match unmapped.budget() {
            ..=MOST_WITHOUT_PREEMPTION => without_preemption(|| change(&mut unmapped, orders)),
            _ => change(&mut unmapped, orders),
        };
        let map = clock::now();
        let mapped = unmapped.map();
        let end = clock::now();
        if !edited.exact {
            report_misfit(node.gpu(), node.index(), &edited.census, edited.when);
        }
        if mapped != 0 {
            let failure = Failure::of_driver(node, mapped, Failure::Map);
            self.map_again(node).map_err(|again| match again {
                // That is to be known, so that nobody waits for the same again.
                again if again.is_unanswered() => again,
                _ => failure,
            })?;
        }
        if !edited.exact {
            return Err(Failure::Inexact);
        }
        note_idle(node, &mut orders.wanted)?;
        let timing = Timing {
            unmap: edit.since(begin),
            edit: map.since(edit),
            map: end.since(map),
        };
        Ok(Some((timing, edited.more)))
    }

    /// Takes all queues off the hardware.
    fn unmap<'a>(&'a self, node: &'a Node<'a>) -> Result<Unmapped<'a>, Failure> {
        let unmapped = self.0.unmap(node);
        unmapped.map_err(|error| Failure::of_driver(node, error, Failure::Unmap))
    }

    /// The same by an unmapping of our own, or else by the driver's.
    fn unmap_directly<'a>(
        &'a self,
        node: &'a Node<'a>,
        handed_over: &mut HandedOver,
    ) -> Result<Unmapped<'a>, Failure> {
        let given_up = match self.0.unmap_directly(node) {
            Ok(unmapped) => return Ok(unmapped),
            Err(NotUnmapped::Away(away)) => return Err(Failure::Away(away)),
            Err(NotUnmapped::GivenUp(given_up)) => given_up,
        };
        handed_over.note(given_up.why);
        self.unmap(node).map_err(|failure| match failure {
            // The queues may be off the hardware, and a reset need not follow.
            Failure::Unmap(errno) if given_up.sent && !failure.is_unanswered() => {
                Failure::Map(errno)
            }
            failure => failure,
        })
    }

    /// After putting the queues back has failed, none of the node's runs: tries once
    /// more, unless the driver resets the GPU, which puts them back.
    fn map_again(&self, node: &Node<'_>) -> Result<(), Failure> {
        node.ready().map_err(Failure::Away)?;
        match self.unmap(node)?.map() {
            0 => Ok(()),
            error => Err(Failure::of_driver(node, error, Failure::Map)),
        }
    }
}

/// Makes the changes, if everything fits. No allocation, nothing that sleeps or panics
/// (preemption may be disabled),
/// and one look at each queue: nothing runs on the GPU until it is over.
fn change(unmapped: &mut Unmapped<'_>, orders: &mut Orders<'_>) -> Edited {
    let Orders { wanted, room, .. } = orders;
    let due = unmapped.find(room, |queue| wanted.due(queue));
    let before = *due.census();
    let mut census = before;
    if !wanted.can_be_done(&before) {
        return Edited {
            census,
            exact: false,
            when: "before an edit",
            more: false,
        };
    }
    let more = due.more();
    if due.starts_any() {
        due.locked().expect_oversubscription();
    }
    due.carry_out(&mut census, |queue| wanted.note(queue, Done::Yes));
    unmapped.compare(&mut census);
    Edited {
        census,
        exact: census.is_as_good_as(&before),
        when: "after an edit",
        more,
    }
}

/// Notes which of the queues that were stopped had no waves to save, of some of them.
/// Descriptors are slow to read, so that it is asked when the others run again; but the lock
/// is held, for which everybody waits who has queues.
fn note_idle(node: &Node<'_>, wanted: &mut Wanted<'_>) -> Result<(), Failure> {
    if !wanted.stopped_any() {
        return Ok(());
    }
    let mut left = MOST_ASKED;
    let census = node.lock().walk(|_, queue| {
        let asked = wanted.that_stopped(queue).filter(|_| left > 0);
        if let Some(request) = asked {
            request.done = found(queue, node);
            left = left.saturating_sub(u32::from(queue.format == Format::Aql));
        }
    });
    if census.fits() {
        return Ok(());
    }
    report_misfit(node.gpu(), node.index(), &census, "after an edit");
    Err(Failure::Inexact)
}
