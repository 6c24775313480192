// SPDX-License-Identifier: GPL-2.0-only

//! Where the fields of the driver's structures are: what the rows of the table have come to
//! for the driver that is loaded.
//!
//! It is written once, before anything of the driver is touched, and never changes: the
//! module keeps the driver loaded. So whoever asks reads one word of memory.

#![forbid(unsafe_code)]

pub(crate) use super::fields::*;
use super::resolve::Finding;
use core::ops::Add;
use kernel::sync::atomic::{Atomic, Relaxed};

/// What stands for a field that the driver does not have, and for all before the layout is
/// known. No structure is as large, so that what is read there is nothing.
const ABSENT: u64 = u64::MAX;

/// By the numbers of the rows.
static LAYOUT: [Atomic<u64>; ROWS.len()] = [const { Atomic::new(ABSENT) }; ROWS.len()];
/// Whether the layout is known.
static KNOWN: Atomic<u32> = Atomic::new(0);

/// Takes what the rows have come to for the driver that is loaded, unless it is known.
pub(super) fn learn(findings: &[Finding]) {
    if KNOWN.xchg(1, Relaxed) != 0 {
        return;
    }
    for (place, finding) in LAYOUT.iter().zip(findings) {
        let found = finding.get().and_then(|found| u64::try_from(found).ok());
        place.store(found.unwrap_or(ABSENT), Relaxed);
    }
}

/// Whether the layout is known, for tests, which look at one driver many times.
#[cfg(CONFIG_KUNIT)]
pub(super) fn is_known() -> bool {
    KNOWN.load(Relaxed) != 0
}

/// Calls a function as if the driver did not have a field, for tests.
#[cfg(CONFIG_KUNIT)]
pub(super) fn without<R>(field: OptionalOffset, f: impl FnOnce() -> R) -> R {
    let exchange = |with| LAYOUT.get(field.0).map(|place| place.xchg(with, Relaxed));
    let before = exchange(ABSENT);
    let result = f();
    before.and_then(exchange);
    result
}

#[inline]
fn get(number: usize) -> u64 {
    LAYOUT
        .get(number)
        .map_or(ABSENT, |place| place.load(Relaxed))
}

/// A place in a structure.
pub(crate) trait Place: Copy {
    /// How many bytes behind the structure's beginning it is.
    fn offset(self) -> usize;
}

impl Place for usize {
    #[inline]
    fn offset(self) -> usize {
        self
    }
}

impl Place for Offset {
    #[inline]
    fn offset(self) -> usize {
        get(self.0) as usize
    }
}

impl OptionalOffset {
    /// The place, if the driver has the field.
    #[inline]
    pub(crate) fn get(self) -> Option<usize> {
        match get(self.0) {
            ABSENT => None,
            at => usize::try_from(at).ok(),
        }
    }
}

impl Offset {
    /// The same, for those who look at either sort.
    pub(crate) const fn optional(self) -> OptionalOffset {
        OptionalOffset(self.0)
    }
}

impl Amount {
    /// The number; all ones if it is not known.
    #[inline]
    pub(crate) fn get(self) -> u64 {
        get(self.0)
    }
}

/// A field within a field.
#[derive(Clone, Copy)]
pub(crate) struct Within<Inner>(Offset, Inner);

impl Add for Offset {
    type Output = Within<Offset>;

    #[inline]
    fn add(self, inner: Offset) -> Within<Offset> {
        Within(self, inner)
    }
}

/// An element of an array, by its distance from the first.
impl Add<usize> for Offset {
    type Output = Within<usize>;

    #[inline]
    fn add(self, inner: usize) -> Within<usize> {
        Within(self, inner)
    }
}

impl<Inner: Place> Place for Within<Inner> {
    #[inline]
    fn offset(self) -> usize {
        self.0.offset().wrapping_add(self.1.offset())
    }
}
