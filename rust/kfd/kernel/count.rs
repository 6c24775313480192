// SPDX-License-Identifier: GPL-2.0-only

//! Counts of what is dear, for the tests that say how often it may be done. A module that
//! is not built for tests counts nothing.

#![forbid(unsafe_code)]

#[cfg(CONFIG_KUNIT)]
use kernel::sync::atomic::{Atomic, Relaxed};

/// How often something was done.
pub struct Count {
    #[cfg(CONFIG_KUNIT)]
    times: Atomic<u32>,
}

impl Count {
    pub(crate) const fn new() -> Self {
        Self {
            #[cfg(CONFIG_KUNIT)]
            times: Atomic::new(0),
        }
    }

    /// It is done once more.
    #[inline]
    pub(crate) fn add(&self) {
        #[cfg(CONFIG_KUNIT)]
        self.times.fetch_add(1, Relaxed);
    }

    /// How often it was done so far.
    #[cfg(CONFIG_KUNIT)]
    pub fn so_far(&self) -> u32 {
        self.times.load(Relaxed)
    }
}
