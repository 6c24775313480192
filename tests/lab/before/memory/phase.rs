// SPDX-License-Identifier: GPL-2.0-only
//! Where a queue is between running and stopped, and how that follows what is
//! seen. `docs/policy.md` has the transitions as a table, which the test below
//! walks.
//!
//! What is seen takes precedence over what was decided: an outcome may be lost, and the
//! driver starts a stopped queue by itself after an eviction.

use crate::memory::stop::Immunity;
use crate::memory::stop::Stop;
use crate::terms::decision::Reason;
use crate::terms::observation::QueueState;
use crate::terms::time::Nanos;

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
    /// A start was decided and has not been seen yet.
    Starting(Start),
    /// Something other than the policy keeps it from running.
    Held(Immunity),
    /// It is inactive because of a decision of ours that is not remembered.
    Orphan(Before),
}

/// A start that was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Start {
    stop: Stop,
    reason: Reason,
}

impl Start {
    /// The end of a stop.
    pub(crate) fn new(stop: Stop, reason: Reason) -> Start {
        Start { stop, reason }
    }

    /// The stop that it ends.
    #[inline]
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    pub(crate) fn reason(&self) -> Reason {
        self.reason
    }
}

/// What an orphan was taken for before it was found stopped. This counts again
/// when its state cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Before {
    Free,
    /// Stopped in `mode=observe`, where nothing is touched.
    Stopped(Stop),
    /// Started in `mode=observe`.
    Starting(Start),
    Held(Immunity),
}

impl From<Before> for Phase {
    fn from(before: Before) -> Phase {
        match before {
            Before::Free => Phase::Free,
            Before::Stopped(stop) => Phase::Stopped(stop),
            Before::Starting(start) => Phase::Starting(start),
            Before::Held(immunity) => Phase::Held(immunity),
        }
    }
}

/// What has to be booked when a phase has followed what is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Booking {
    Nothing,
    /// The stop was not carried out. Trying again at once would pay a
    /// transaction a pass.
    PutOff,
    /// The stop was carried out.
    Confirmed,
    /// It runs after a start.
    Started(Immunity),
    /// It runs, and no start of ours was awaited: its turn begins now.
    Resumed(Immunity),
    /// As `Resumed`, and it was stopped since this time.
    Healed(Nanos, Immunity),
    /// Something other than the policy holds it, which was stopped since this
    /// time.
    TakenOver(Nanos),
}

impl Phase {
    #[inline]
    pub(crate) fn is_free(&self) -> bool {
        matches!(self, Phase::Free)
    }

    pub(crate) fn is_orphan(&self) -> bool {
        matches!(self, Phase::Orphan(_))
    }

    /// A start was decided and has not been seen yet, in `mode=observe` too.
    pub(crate) fn is_starting(&self) -> bool {
        matches!(
            self,
            Phase::Starting(_) | Phase::Orphan(Before::Starting(_))
        )
    }

    /// Stopped by us, or on its way there or back.
    #[inline]
    pub(crate) fn is_ours(&self) -> bool {
        match self {
            Phase::Free | Phase::Held(_) | Phase::Orphan(_) => false,
            Phase::Stopping(_) => true,
            Phase::Stopped(stop) => !stop.is_dry(),
            Phase::Starting(start) => !start.stop.is_dry(),
        }
    }

    /// The stop that lasts, in `mode=observe` too.
    #[inline]
    pub(crate) fn lasting_stop(&self) -> Option<&Stop> {
        match self {
            Phase::Stopping(stop) | Phase::Stopped(stop) => Some(stop),
            Phase::Orphan(Before::Stopped(stop)) => Some(stop),
            _ => None,
        }
    }

    /// The stop that lasts, or that a start is to end.
    #[inline]
    pub(crate) fn stop(&self) -> Option<&Stop> {
        match self {
            Phase::Starting(start) | Phase::Orphan(Before::Starting(start)) => Some(&start.stop),
            _ => self.lasting_stop(),
        }
    }

    /// As [`Phase::stop`].
    pub(crate) fn stop_mut(&mut self) -> Option<&mut Stop> {
        match self {
            Phase::Stopping(stop) | Phase::Stopped(stop) => Some(stop),
            Phase::Orphan(Before::Stopped(stop)) => Some(stop),
            Phase::Starting(start) | Phase::Orphan(Before::Starting(start)) => {
                Some(&mut start.stop)
            }
            Phase::Free | Phase::Held(_) | Phase::Orphan(Before::Free | Before::Held(_)) => None,
        }
    }

    /// How long it will be immune once it is seen to run.
    pub(crate) fn immunity(&self) -> Immunity {
        match self {
            Phase::Held(immunity) | Phase::Orphan(Before::Held(immunity)) => *immunity,
            _ => self.stop().map_or(Immunity::default(), Stop::immunity),
        }
    }

    /// Follows what is seen of the queue's state, and says what to book.
    pub(crate) fn follow(&mut self, seen: QueueState) -> Booking {
        match seen {
            QueueState::Unknown => self.follow_unknown(),
            QueueState::Active => return self.follow_active(),
            QueueState::StoppedByUs => return self.follow_stopped(),
            QueueState::Held => return self.follow_held(),
        }
        Booking::Nothing
    }

    /// Its state could not be told: what was decided is taken to have happened.
    fn follow_unknown(&mut self) {
        match self {
            Phase::Stopping(stop) => *self = Phase::Stopped(*stop),
            Phase::Orphan(before) => *self = Phase::from(*before),
            Phase::Free | Phase::Stopped(_) | Phase::Starting(_) | Phase::Held(_) => {}
        }
    }

    /// The driver offers it to the hardware.
    fn follow_active(&mut self) -> Booking {
        let booking = match self {
            Phase::Free => return Booking::Nothing,
            Phase::Stopped(stop) if stop.is_dry() => return Booking::Nothing,
            Phase::Orphan(Before::Stopped(stop)) => {
                *self = Phase::Stopped(*stop);
                return Booking::Nothing;
            }
            Phase::Stopping(_) => Booking::PutOff,
            Phase::Stopped(stop) => Booking::Healed(stop.since(), stop.immunity()),
            Phase::Starting(start) | Phase::Orphan(Before::Starting(start)) => {
                Booking::Started(start.stop.immunity())
            }
            Phase::Held(immunity) | Phase::Orphan(Before::Held(immunity)) => {
                Booking::Resumed(*immunity)
            }
            Phase::Orphan(Before::Free) => Booking::Resumed(Immunity::default()),
        };
        *self = Phase::Free;
        booking
    }

    /// It is inactive because of a decision of ours.
    fn follow_stopped(&mut self) -> Booking {
        let before = match self {
            Phase::Stopping(stop) => {
                *self = Phase::Stopped(*stop);
                return Booking::Confirmed;
            }
            Phase::Stopped(stop) if !stop.is_dry() => return Booking::Nothing,
            Phase::Starting(start) if !start.stop.is_dry() => return Booking::Nothing,
            Phase::Orphan(_) => return Booking::Nothing,
            Phase::Free => Before::Free,
            Phase::Stopped(stop) => Before::Stopped(*stop),
            Phase::Starting(start) => Before::Starting(*start),
            Phase::Held(immunity) => Before::Held(*immunity),
        };
        *self = Phase::Orphan(before);
        Booking::Nothing
    }

    /// It is inactive for another reason.
    fn follow_held(&mut self) -> Booking {
        let booking = match self {
            Phase::Held(_) => return Booking::Nothing,
            Phase::Stopped(stop) | Phase::Orphan(Before::Stopped(stop)) => {
                Booking::TakenOver(stop.since())
            }
            Phase::Free | Phase::Stopping(_) | Phase::Starting(_) | Phase::Orphan(_) => {
                Booking::Nothing
            }
        };
        *self = Phase::Held(self.immunity());
        booking
    }
}
