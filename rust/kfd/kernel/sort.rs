// SPDX-License-Identifier: GPL-2.0-only

//! Sorting in place, without an allocation. That of `core` ends in functions of which
//! the kernel's check of object files does not know that they never return, and takes
//! much of a kernel's stack.

#![forbid(unsafe_code)]

/// Sorts by a key; what has the same key comes in any order.
pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    for root in (0..items.len() / 2).rev() {
        sift_down(items, root, &key);
    }
    for end in (1..items.len()).rev() {
        items.swap(0, end);
        if let Some(heap) = items.get_mut(..end) {
            sift_down(heap, 0, &key);
        }
    }
}

/// Has an item sink until none below it is greater.
fn sift_down<T, K: Ord>(heap: &mut [T], mut root: usize, key: &impl Fn(&T) -> K) {
    let key_at = |heap: &[T], at: usize| heap.get(at).map(key);
    loop {
        let (left, right) = (2 * root + 1, 2 * root + 2);
        let greater = if key_at(heap, right) > key_at(heap, left) {
            right
        } else {
            left
        };
        if key_at(heap, greater) <= key_at(heap, root) {
            return;
        }
        heap.swap(root, greater);
        root = greater;
    }
}
