// SPDX-License-Identifier: GPL-2.0-only
//! What a life's calls returned, in a page that outlives it: also one that is killed
//! leaves what it had come to.
#![allow(unsafe_code)]

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU16, Ordering};

use anyhow::{Context, Result};
use nix::sys::mman::{mmap_anonymous, MapFlags, ProtFlags};

const ENTRIES: usize = 2047;
/// Set in the count when the rest depends on others.
const CLOSED: u16 = 1 << 15;

/// A page of numbers: how many there are, and they themselves.
#[derive(Clone, Copy)]
pub struct Transcript {
    page: &'static [AtomicU16; ENTRIES + 1],
}

impl Transcript {
    pub fn new() -> Result<Transcript> {
        let length = NonZeroUsize::new(size_of::<[AtomicU16; ENTRIES + 1]>()).context("no page")?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: new memory, at an address that the kernel chooses.
        let page = unsafe { mmap_anonymous(None, length, access, MapFlags::MAP_SHARED) }?;
        // SAFETY: the page has that many bytes, any of which are a number, is aligned as
        // a page is, and is never unmapped; who else has it uses it in the same way.
        let page = unsafe { page.cast().as_ref() };
        Ok(Transcript { page })
    }

    /// Notes a result that the life's own doing decides.
    pub fn note(&self, result: u16) {
        let count = self.page[0].load(Ordering::Acquire);
        if count & CLOSED == 0 && usize::from(count) < ENTRIES {
            self.page[usize::from(count) + 1].store(result, Ordering::Release);
            self.page[0].store(count + 1, Ordering::Release);
        }
    }

    /// From here on, what happens depends on others.
    pub fn close(&self) {
        self.page[0].fetch_or(CLOSED, Ordering::AcqRel);
    }

    pub fn read(&self) -> Vec<u16> {
        let count = self.page[0].load(Ordering::Acquire) & !CLOSED;
        self.page[1..=usize::from(count)]
            .iter()
            .map(|entry| entry.load(Ordering::Acquire))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_read_until_others_decide() {
        let transcript = Transcript::new().unwrap();
        assert_eq!(transcript.read(), []);
        transcript.note(0);
        transcript.note(22);
        transcript.close();
        transcript.note(9);
        assert_eq!(transcript.read(), [0, 22]);
        assert_eq!(Transcript::new().unwrap().read(), []);
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let transcript = Transcript::new().unwrap();
        for _ in 0..=ENTRIES {
            transcript.note(1);
        }
        assert_eq!(transcript.read().len(), ENTRIES);
    }
}
