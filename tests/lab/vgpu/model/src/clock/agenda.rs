// SPDX-License-Identifier: GPL-2.0-only
//! Events in order of GPU time; those due at the same time keep the order in
//! which they were scheduled.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::terms::GpuNanos;

#[derive(Clone)]
pub struct Agenda<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    sequence: u64,
}

#[derive(Clone)]
struct Entry<E> {
    at: GpuNanos,
    sequence: u64,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}

impl<E> Agenda<E> {
    pub fn new() -> Self {
        Agenda {
            heap: BinaryHeap::new(),
            sequence: 0,
        }
    }

    pub fn push(&mut self, at: GpuNanos, event: E) {
        if at == GpuNanos::NEVER {
            return;
        }
        self.heap.push(Reverse(Entry {
            at,
            sequence: self.sequence,
            event,
        }));
        self.sequence += 1;
    }

    pub fn next(&self) -> Option<GpuNanos> {
        self.heap.peek().map(|entry| entry.0.at)
    }

    /// The next event that is due by `now`.
    pub fn pop(&mut self, now: GpuNanos) -> Option<(GpuNanos, E)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|entry| (entry.0.at, entry.0.event))
    }

    pub fn clear(&mut self) {
        self.heap.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_orders_and_equal_times_keep_their_order() {
        let mut queue = Agenda::new();
        for (at, event) in [(5, 'c'), (3, 'a'), (5, 'd'), (3, 'b')] {
            queue.push(GpuNanos(at), event);
        }
        assert_eq!(queue.pop(GpuNanos(2)), None);
        assert_eq!(queue.next(), Some(GpuNanos(3)));
        let order: String = std::iter::from_fn(|| queue.pop(GpuNanos(9)))
            .map(|e| e.1)
            .collect();
        assert_eq!(order, "abcd");
    }

    #[test]
    fn never_is_not_stored() {
        let mut queue = Agenda::new();
        queue.push(GpuNanos::NEVER, ());
        assert_eq!(queue.next(), None);
    }
}
