// SPDX-License-Identifier: GPL-2.0-only
//! What an algorithm charges a queue for.

use crate::terms::rule::Reservation;
use crate::terms::time::Nanos;

/// The account of one queue. Each algorithm uses the part that it needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Account {
    /// `fair`: the weighted time that the queue has had.
    virtual_time: Nanos,
    /// `deadline`: the end of the present period.
    deadline: Nanos,
    /// `deadline`: what is left of the budget in it.
    left: Nanos,
    /// `deadline`: for which reservation the period was begun.
    promised: Option<Reservation>,
    /// `strict` and `deadline`: since when the queue has had its turn.
    turn: Nanos,
}

impl Account {
    /// The account of a queue that is seen for the first time.
    pub(crate) fn new(now: Nanos, virtual_time: Nanos) -> Account {
        Account {
            virtual_time,
            turn: now,
            ..Account::default()
        }
    }

    pub(crate) fn virtual_time(&self) -> Nanos {
        self.virtual_time
    }

    pub(crate) fn deadline(&self) -> Nanos {
        self.deadline
    }

    pub(crate) fn left(&self) -> Nanos {
        self.left
    }

    pub(crate) fn turn(&self) -> Nanos {
        self.turn
    }

    pub(crate) fn begin_turn(&mut self, now: Nanos) {
        self.turn = now;
    }

    /// Adds weighted time that the queue has had.
    pub(crate) fn advance(&mut self, gained: Nanos) {
        self.virtual_time = self.virtual_time.after(gained);
    }

    /// The queue has had no less than the others.
    pub(crate) fn catch_up(&mut self, floor: Nanos) {
        self.virtual_time = self.virtual_time.max(floor);
    }

    /// Takes in what is promised to it. What was not promised before has no period yet.
    pub(crate) fn promise(&mut self, now: Nanos, promised: Option<Reservation>) {
        if self.promised != promised {
            self.promised = promised;
            if let Some(reserved) = promised {
                self.begin_period(now, reserved);
            }
        }
    }

    /// A period begins, with the whole budget left in it.
    pub(crate) fn begin_period(&mut self, start: Nanos, reserved: Reservation) {
        self.deadline = start.after(reserved.period);
        self.left = reserved.budget;
    }

    /// Takes from the budget.
    pub(crate) fn spend(&mut self, ran: Nanos) {
        self.left = self.left.since(ran);
    }
}
