// SPDX-License-Identifier: GPL-2.0-only

//! Things of which there is room for one: whoever has the owner's token is the only one.

#![forbid(unsafe_code)]

use kernel::{
    prelude::*,
    sync::atomic::{Atomic, Full, Release},
};

/// Says that somebody owns a thing, and frees it when dropped.
///
/// # Invariants
///
/// The flag is set, and nobody else has a token of it.
pub(crate) struct Owner(&'static Atomic<bool>);

impl Owner {
    /// The token of a thing whose flag says whether anybody owns it, unless somebody does.
    pub(crate) fn of(owned: &'static Atomic<bool>) -> Result<Self> {
        let free = owned.cmpxchg(false, true, Full).is_ok();
        // INVARIANT: The flag was not set, and is now.
        free.then(|| Self(owned)).ok_or(EBUSY)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.store(false, Release);
    }
}
