// SPDX-License-Identifier: GPL-2.0-only
//! The 16 priority levels of a queue, and how far a program's own choice counts.

/// The number of priority levels.
pub const LEVELS: usize = 16;

/// A queue's priority as KFD has it: 0 is the lowest, 15 the highest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u8);

impl Priority {
    /// The lowest level.
    pub const LOWEST: Priority = Priority(0);
    /// What ROCm gives a queue that asked for nothing.
    pub const NORMAL: Priority = Priority(7);
    /// The highest level, a level like the others.
    pub const HIGHEST: Priority = Priority(15);

    /// The priority of a level, if there is such a level.
    pub const fn new(level: u32) -> Option<Priority> {
        // The bound is the number of levels; the truncation loses nothing.
        if level < 16 {
            #[expect(clippy::as_conversions, reason = "below 16")]
            Some(Priority(level as u8))
        } else {
            None
        }
    }

    /// Every priority, the lowest first.
    pub fn all() -> impl DoubleEndedIterator<Item = Priority> {
        (Priority::LOWEST.0..=Priority::HIGHEST.0).map(Priority)
    }

    /// The level, 0 to 15.
    pub const fn level(self) -> u8 {
        self.0
    }

    /// The level as an index into a table with one entry a level.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// How far a priority that a program gave to its own queue counts.
///
/// Any process may create a queue of priority 15, so a priority is a request. A
/// rule is written by root and is never capped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UserPriority {
    /// It counts as given until a rule gives a level above the normal one; from then on it
    /// counts up to the normal level, so that rules outrank claims.
    #[default]
    Auto,
    /// It counts as given.
    Honour,
    /// It counts up to this level.
    Cap(Priority),
    /// It does not count: every queue without a rule is at the normal level.
    Ignore,
}

impl UserPriority {
    /// The level that a queue without a rule has, if its program asked for this one.
    /// `highest` is the highest level that a rule gives.
    pub fn effective(self, requested: Priority, highest: Option<Priority>) -> Priority {
        match self {
            UserPriority::Auto if highest > Some(Priority::NORMAL) => {
                requested.min(Priority::NORMAL)
            }
            UserPriority::Auto | UserPriority::Honour => requested,
            UserPriority::Cap(cap) => requested.min(cap),
            UserPriority::Ignore => Priority::NORMAL,
        }
    }
}
