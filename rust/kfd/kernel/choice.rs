// SPDX-License-Identifier: GPL-2.0-only

//! What an operator chooses by a word.

#![forbid(unsafe_code)]

/// An enumeration with a word for each of its values, in one table.
macro_rules! choice {
    ($(#[$about:meta])* pub enum $kind:ident {
        $($(#[$meaning:meta])* $value:ident $word:literal,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $kind {
            $($(#[$meaning])* $value,)*
        }

        impl $kind {
            /// The one that a word names.
            pub fn named(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$value),)*
                    _ => None,
                }
            }

            /// The word for it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)*
                }
            }
        }
    };
}
pub(crate) use choice;
