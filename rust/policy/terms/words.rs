// SPDX-License-Identifier: GPL-2.0-only
//! Enumerations of which each value has a word, in one table.

/// Declares an enumeration with the words that settings, traces, tables and JSON use.
#[macro_export]
macro_rules! words {
    ($(#[$about:meta])* pub enum $kind:ident {
        $($(#[$meaning:meta])* $value:ident $word:literal,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $kind {
            $($(#[$meaning])* $value,)*
        }

        impl $kind {
            /// Each of them.
            pub const ALL: &'static [$kind] = &[$($kind::$value,)*];

            /// The word for each.
            pub const WORDS: &'static [&'static str] = &[$($word,)*];

            /// The word for it.
            pub const fn name(self) -> &'static str {
                match self {
                    $($kind::$value => $word,)*
                }
            }

            /// The one that a word names.
            pub fn named(word: &str) -> Option<$kind> {
                let mut all = Self::ALL.iter().copied();
                all.find(|one| one.name() == word)
            }
        }
    };
}
