// SPDX-License-Identifier: GPL-2.0-only
//! A log that keeps its last records.

use std::collections::VecDeque;

/// The most recent records. Each has a number that is never reused.
#[derive(Clone)]
pub struct Log<T> {
    records: VecDeque<T>,
    first: u64,
    capacity: usize,
}

impl<T: Clone> Log<T> {
    pub fn new(capacity: usize) -> Log<T> {
        Log {
            records: VecDeque::new(),
            first: 0,
            capacity,
        }
    }

    pub fn next(&self) -> u64 {
        self.first + self.records.len() as u64
    }

    pub fn push(&mut self, record: T) {
        if self.records.len() == self.capacity {
            self.records.pop_front();
            self.first += 1;
        }
        self.records.push_back(record);
    }

    pub fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        self.records
            .get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    pub fn since(&self, number: u64) -> Vec<T> {
        let skip = number.saturating_sub(self.first);
        self.records.iter().skip(skip as usize).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_drops_the_oldest_and_keeps_its_numbers() {
        let mut log = Log::new(3);
        for value in 0..5 {
            assert_eq!(log.next(), value);
            log.push(value);
        }
        assert_eq!(log.since(0), [2, 3, 4]);
        assert_eq!(log.since(4), [4]);
        assert_eq!(log.since(9), [] as [u64; 0]);
        assert_eq!(log.get_mut(1), None);
        assert_eq!(log.get_mut(3), Some(&mut 3));
    }
}
