// SPDX-License-Identifier: GPL-2.0-only
//! What an operator chooses by a word.

/// How much the policy may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Start everything and do nothing.
    Off,
    /// Decide, but have nothing carried out.
    #[default]
    Observe,
    /// Decide and have it carried out.
    Enforce,
}

impl Mode {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Off => "off",
            Mode::Observe => "observe",
            Mode::Enforce => "enforce",
        }
    }
}

/// Which queue may preempt which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PolicyKind {
    /// A waiting queue may preempt lower ones.
    #[default]
    Strict,
    /// A waiting queue may preempt those that got ahead of their share.
    Fair,
    /// As strict; within a level the earlier deadline may preempt the later
    /// ones.
    Deadline,
}

impl PolicyKind {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            PolicyKind::Strict => "strict",
            PolicyKind::Fair => "fair",
            PolicyKind::Deadline => "deadline",
        }
    }
}

/// What the backend can stop by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Granularity {
    /// One queue.
    #[default]
    Queue,
    /// Only all queues of a process together.
    Process,
}
