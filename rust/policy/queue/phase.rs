// SPDX-License-Identifier: GPL-2.0-only
//! Where a queue is between running and stopped, and how that follows what is
//! seen. `docs/policy.md` has the transitions as a table, which the test below
//! walks.
//!
//! What is seen takes precedence over what was decided: an outcome may be lost, and the
//! driver starts a stopped queue by itself after an eviction.

use crate::terms::{Nanos, Priority, ProcessId, QueueId, QueueState, Reason};

/// A queue that wants something, and for which others may be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Who {
    pub(crate) queue: QueueId,
    pub(crate) process: ProcessId,
    pub(crate) level: Priority,
    /// Where it and its process are in the pass that found it.
    pub(crate) at: usize,
    pub(crate) process_at: usize,
}

/// What a queue was stopped for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Stop {
    /// When it was decided.
    pub(crate) since: Nanos,
    pub(crate) reason: Reason,
    /// For whom it lasts at present; nobody where it was found and is not remembered.
    pub(crate) beneficiary: Option<Who>,
    /// Nothing was touched: `mode=observe`.
    pub(crate) dry: bool,
}

/// Where a queue is between running and stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// It runs if it has something to run.
    #[default]
    Free,
    /// A stop was decided and has not been seen yet.
    Stopping(Stop),
    /// It is stopped, or would be in `mode=enforce`.
    Stopped(Stop),
    /// The start that ends a stop was decided, for this reason, and has not been seen yet.
    Starting(Stop, Reason),
    /// Something other than the policy keeps it from running.
    Held,
    /// It is inactive because of a decision of ours that is not remembered.
    Orphan,
}

/// What has to be booked when a phase has followed what is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Booking {
    Nothing,
    /// The stop was not carried out. Trying again at once would pay a
    /// transaction a pass.
    PutOff,
    /// It runs again.
    Runs,
    /// It runs though no start was decided, and was stopped since this time.
    Healed(Nanos),
    /// Something other than the policy holds it, which was stopped since this
    /// time.
    TakenOver(Nanos),
}

impl Phase {
    /// Stopped by us, or on its way there or back.
    pub(crate) fn is_ours(&self) -> bool {
        self.stop().is_some_and(|stop| !stop.dry)
    }

    /// The stop that lasts, in `mode=observe` too.
    pub(crate) fn lasting_stop(&self) -> Option<&Stop> {
        match self {
            Phase::Stopping(stop) | Phase::Stopped(stop) => Some(stop),
            _ => None,
        }
    }

    /// The stop that lasts, or that a start is to end.
    pub(crate) fn stop(&self) -> Option<&Stop> {
        match self {
            Phase::Starting(stop, _) => Some(stop),
            _ => self.lasting_stop(),
        }
    }

    /// Follows what is seen of the queue's state, and says what to book. Where its state
    /// could not be told, what was decided is taken to have happened.
    pub(crate) fn follow(&mut self, seen: QueueState) -> Booking {
        use Booking::{Healed, Nothing, PutOff, Runs, TakenOver};
        use QueueState::{Active, Held, StoppedByUs, Unknown};
        let (phase, booking) = match (*self, seen) {
            (Phase::Stopping(stop), Unknown | StoppedByUs) => (Phase::Stopped(stop), Nothing),
            (same, Unknown) => (same, Nothing),
            (Phase::Free, Active) => (Phase::Free, Nothing),
            (Phase::Stopped(stop), Active) if stop.dry => (*self, Nothing),
            (Phase::Stopped(stop), Active) => (Phase::Free, Healed(stop.since)),
            (Phase::Stopping(_), Active) => (Phase::Free, PutOff),
            (_, Active) => (Phase::Free, Runs),
            (same, StoppedByUs) if same.is_ours() => (same, Nothing),
            (_, StoppedByUs) => (Phase::Orphan, Nothing),
            (Phase::Stopped(stop), Held) => (Phase::Held, TakenOver(stop.since)),
            (_, Held) => (Phase::Held, Nothing),
        };
        *self = phase;
        booking
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The document that has the table of transitions.
    const DOCUMENT: &str = include_str!("../../../docs/policy.md");
    const HEAD: &str = "| phase | unknown | active | stopped by us | held |";
    const SEEN: [QueueState; 4] = [
        QueueState::Unknown,
        QueueState::Active,
        QueueState::StoppedByUs,
        QueueState::Held,
    ];
    const SINCE: Nanos = Nanos(5);

    /// Every phase with its name in the table.
    fn phases() -> [(&'static str, Phase); 8] {
        let stop = |dry| Stop {
            since: SINCE,
            dry,
            ..Stop::default()
        };
        [
            ("free", Phase::Free),
            ("stopping", Phase::Stopping(stop(false))),
            ("stopped", Phase::Stopped(stop(false))),
            ("stopped, observe", Phase::Stopped(stop(true))),
            ("starting", Phase::Starting(stop(false), Reason::Bound)),
            (
                "starting, observe",
                Phase::Starting(stop(true), Reason::Bound),
            ),
            ("held", Phase::Held),
            ("orphan", Phase::Orphan),
        ]
    }

    /// What the table says of a transition.
    fn cell(before: Phase, after: Phase, booking: Booking) -> String {
        let mut all = phases().into_iter();
        let (name, _) = all.find(|(_, phase)| *phase == after).unwrap();
        let booked = match booking {
            Booking::Nothing if before == after => return "stays".to_owned(),
            Booking::Nothing => return name.to_owned(),
            Booking::PutOff => "put off",
            Booking::Runs => "runs",
            Booking::Healed(SINCE) => "healed",
            Booking::TakenOver(SINCE) => "taken over",
            other => panic!("{other:?}"),
        };
        format!("{name}: *{booked}*")
    }

    #[test]
    fn the_table_in_the_document_is_what_happens() {
        let table = DOCUMENT.split_once(HEAD).expect("the table").1;
        let mut rows = table.lines().skip(2);
        for (name, phase) in phases() {
            let mut row = format!("| {name} |");
            for seen in SEEN {
                let mut after = phase;
                let booking = after.follow(seen);
                row.push_str(&format!(" {} |", cell(phase, after, booking)));
            }
            assert_eq!(rows.next(), Some(row.as_str()));
        }
        assert!(!rows.next().unwrap_or_default().starts_with('|'));
    }
}
