// SPDX-License-Identifier: GPL-2.0-only
//! Bytes that can be returned to what they were, at the cost of what was written since.

use std::collections::BTreeMap;
use std::ops::Range;

const PAGE: usize = 4096;

/// A whole number of pages.
pub struct Bytes {
    all: Vec<u8>,
    kept: Option<Kept>,
    changes: u64,
}

struct Kept {
    /// Pages that were not zero when they were kept.
    pages: BTreeMap<usize, Box<[u8]>>,
    /// Pages that were written since, each once, and whether a page is one of them.
    written: Vec<usize>,
    is_written: Vec<bool>,
}

impl Bytes {
    pub fn new(count: usize) -> Bytes {
        Bytes {
            all: vec![0; count.next_multiple_of(PAGE)],
            kept: None,
            changes: 0,
        }
    }

    pub fn all(&self) -> &[u8] {
        &self.all
    }

    /// How often bytes were given out to be written.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Those of a range that is there, to be written.
    pub fn change(&mut self, range: Range<usize>) -> &mut [u8] {
        self.changes += 1;
        if let Some(kept) = &mut self.kept {
            for page in range.start / PAGE..range.end.div_ceil(PAGE) {
                if !kept.is_written[page] {
                    kept.is_written[page] = true;
                    kept.written.push(page);
                }
            }
        }
        &mut self.all[range]
    }

    pub fn keep(&mut self) {
        let pages = self.all.chunks(PAGE).enumerate();
        self.kept = Some(Kept {
            pages: pages
                .filter(|(_, page)| page.iter().any(|byte| *byte != 0))
                .map(|(number, page)| (number, page.into()))
                .collect(),
            written: Vec::new(),
            is_written: vec![false; self.all.len() / PAGE],
        });
    }

    /// Returns all bytes to what they were when they were kept, if they were.
    pub fn restore(&mut self) {
        let Some(kept) = &mut self.kept else { return };
        for page in kept.written.drain(..) {
            kept.is_written[page] = false;
            let bytes = &mut self.all[page * PAGE..(page + 1) * PAGE];
            match kept.pages.get(&page) {
                Some(before) => bytes.copy_from_slice(before),
                None => bytes.fill(0),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_that_was_written_is_returned() {
        let mut bytes = Bytes::new(4 * PAGE);
        bytes.change(10..20).fill(1);
        bytes.change(2 * PAGE - 1..2 * PAGE + 1).fill(2);
        bytes.keep();
        let before = bytes.all().to_vec();
        // Within a page, over a border, up to one, all of them, and none.
        for range in [
            5..15,
            PAGE - 1..PAGE + 1,
            PAGE..2 * PAGE,
            0..4 * PAGE,
            PAGE..PAGE,
        ] {
            for _ in 0..2 {
                bytes.change(range.clone()).fill(7);
                bytes.restore();
                assert!(bytes.all() == before, "{range:?}");
            }
        }
    }

    #[test]
    fn what_was_kept_last_counts() {
        let mut bytes = Bytes::new(PAGE);
        bytes.change(0..1).fill(1);
        bytes.restore();
        assert_eq!(bytes.all()[0], 1, "nothing was kept");
        bytes.keep();
        bytes.change(0..1).fill(2);
        bytes.keep();
        bytes.change(0..1).fill(3);
        bytes.restore();
        assert_eq!(bytes.all()[0], 2);
    }
}
