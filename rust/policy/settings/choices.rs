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
    /// The mode of a word.
    pub fn named(word: &str) -> Option<Mode> {
        let mut all = [Mode::Off, Mode::Observe, Mode::Enforce].into_iter();
        all.find(|mode| mode.name() == word)
    }

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Off => "off",
            Mode::Observe => "observe",
            Mode::Enforce => "enforce",
        }
    }
}
