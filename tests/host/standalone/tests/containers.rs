// SPDX-License-Identifier: GPL-2.0-only
//! Lists, boxes and counted references: growth, failure, and who is dropped when.

use std::cell::Cell;
use std::pin::Pin;

use kernel::alloc::AllocError;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex};
use kernel::vec::{PushError, RemoveError};
use standalone::{largest, pieces, with_pieces_left, Dropped};

fn list(values: &[i32]) -> KVec<i32> {
    let mut list = KVec::new();
    list.extend_from_slice(values, GFP_KERNEL).unwrap();
    list
}

#[test]
fn a_list_grows_by_doubling_and_keeps_its_elements() {
    let mut list = KVVec::new();
    assert_eq!((list.capacity(), pieces()), (0, 0));
    for value in 0..1000_u64 {
        list.push(value, GFP_KERNEL).unwrap();
        assert_eq!(pieces(), 1, "the old memory is given back");
    }
    assert!(list.iter().copied().eq(0..1000));
    assert_eq!(list.capacity(), 1024);
    drop(list);
    assert_eq!(pieces(), 0);
}

#[test]
fn room_is_made_for_what_is_asked() {
    let mut list = KVec::<u16>::with_capacity(3, GFP_KERNEL).unwrap();
    assert_eq!((list.len(), list.capacity(), largest()), (0, 3, 6));
    list.reserve(3, GFP_KERNEL).unwrap();
    assert_eq!(list.capacity(), 3, "there is enough");
    list.reserve(100, GFP_KERNEL).unwrap();
    assert_eq!(list.capacity(), 100);
    assert_eq!(list.reserve(usize::MAX, GFP_KERNEL), Err(AllocError));
    assert_eq!(list.reserve(usize::MAX / 2, GFP_KERNEL), Err(AllocError));
    assert_eq!(list.capacity(), 100);
}

#[test]
fn a_list_without_memory_stays_as_it_was() {
    let mut list = list(&[1, 2]);
    with_pieces_left(0, || {
        assert_eq!(list.push(3, GFP_KERNEL), Err(AllocError));
        assert_eq!(list.extend_from_slice(&[3, 4], GFP_KERNEL), Err(AllocError));
        assert_eq!(KVec::from_elem(0, 4, GFP_KERNEL).err(), Some(AllocError));
        assert_eq!(
            KVec::<i32>::with_capacity(1, GFP_KERNEL).err(),
            Some(AllocError)
        );
        assert_eq!(KVec::<i32>::with_capacity(0, GFP_KERNEL).err(), None);
    });
    assert_eq!(*list, [1, 2]);
}

#[test]
fn nothing_is_put_where_there_is_no_room() {
    let mut list = KVec::with_capacity(2, GFP_KERNEL).unwrap();
    assert_eq!(list.insert_within_capacity(1, 7), Err(PushError(7)));
    assert_eq!(list.push_within_capacity(1), Ok(()));
    assert_eq!(list.insert_within_capacity(0, 0), Ok(()));
    assert_eq!(list.push_within_capacity(2), Err(PushError(2)));
    assert_eq!(list.insert_within_capacity(0, 2), Err(PushError(2)));
    assert_eq!(*list, [0, 1]);
}

#[test]
fn elements_are_put_and_taken_in_between() {
    let mut list = list(&[1, 2, 4]);
    list.reserve(1, GFP_KERNEL).unwrap();
    list.insert_within_capacity(2, 3).unwrap();
    assert_eq!(*list, [1, 2, 3, 4]);
    assert_eq!(list.remove(4), Err(RemoveError));
    assert_eq!(list.remove(0), Ok(1));
    assert_eq!(list.remove(2), Ok(4));
    assert_eq!(list.pop(), Some(3));
    assert_eq!(list.pop(), Some(2));
    assert_eq!((list.pop(), list.remove(0)), (None, Err(RemoveError)));
}

#[test]
fn what_is_kept_stays_in_its_order() {
    let mut list = list(&[1, 2, 3, 4, 5, 6]);
    list.retain(|value| {
        *value *= 10;
        *value % 20 == 0
    });
    assert_eq!(*list, [20, 40, 60]);
    list.retain(|_| true);
    assert_eq!(*list, [20, 40, 60]);
    list.retain(|_| false);
    assert!(list.is_empty());
}

#[test]
fn each_element_is_dropped_once() {
    let dropped = Cell::new(0);
    let fill = || {
        let mut list = KVec::new();
        for number in 0..5 {
            assert!(list.push(Dropped(&dropped, number), GFP_KERNEL).is_ok());
        }
        list
    };
    let mut list = fill();
    assert_eq!(dropped.get(), 0, "growing drops nothing");
    list.retain(|element| element.1 % 2 == 0);
    assert_eq!(dropped.take(), 2);
    list.truncate(2);
    assert_eq!(dropped.take(), 1);
    drop(list.remove(0));
    assert_eq!(dropped.take(), 1);
    drop(list);
    assert_eq!(dropped.take(), 1);

    let mut elements = fill().into_iter();
    assert_eq!(elements.next().map(|element| element.1), Some(0));
    assert_eq!(dropped.take(), 1);
    drop(elements);
    assert_eq!(dropped.take(), 4, "those that nobody has taken out");

    let mut full = KVec::with_capacity(0, GFP_KERNEL).unwrap();
    assert!(full.push_within_capacity(Dropped(&dropped, 0)).is_err());
    assert_eq!(dropped.take(), 1, "the value comes back");
    assert_eq!(pieces(), 0);
}

#[test]
fn elements_without_size_need_no_memory() {
    let mut list = KVec::new();
    with_pieces_left(0, || {
        for _ in 0..100 {
            list.push((), GFP_KERNEL).unwrap();
        }
    });
    assert_eq!((list.len(), pieces()), (100, 0));
    assert_eq!(list.into_iter().count(), 100);
}

#[test]
fn memory_is_aligned_as_its_type_needs() {
    #[repr(align(64))]
    struct Wide(u8);
    let mut list = KVec::new();
    for value in 0..9 {
        assert!(list.push(Wide(value), GFP_KERNEL).is_ok());
    }
    assert_eq!(list.as_ptr().addr() % 64, 0);
    assert!(list.iter().map(|wide| wide.0).eq(0..9));
    let boxed = KBox::new(Wide(3), GFP_KERNEL).unwrap();
    assert_eq!(std::ptr::from_ref(&*boxed).addr() % 64, 0);

    #[repr(align(8192))]
    struct TooWide(#[allow(dead_code)] u8);
    assert!(KBox::new(TooWide(0), GFP_KERNEL).is_err());
}

#[test]
fn a_box_drops_its_value_and_gives_its_memory_back() {
    let dropped = Cell::new(0);
    let mut boxed = KBox::new(Dropped(&dropped, 1), GFP_KERNEL).unwrap();
    boxed.1 = 2;
    assert_eq!((boxed.1, pieces()), (2, 1));
    drop(boxed);
    assert_eq!((dropped.take(), pieces()), (1, 0));
    let refused = with_pieces_left(0, || KBox::new(Dropped(&dropped, 1), GFP_KERNEL));
    assert!(refused.is_err());
    assert_eq!((dropped.take(), pieces()), (1, 0), "the value is not lost");
}

#[test]
fn the_last_reference_drops_the_value() {
    let dropped = Cell::new(0);
    let first = Arc::new(Dropped(&dropped, 7), GFP_KERNEL).unwrap();
    let second = first.clone();
    let third = second.clone();
    assert_eq!(pieces(), 1);
    drop(first);
    drop(third);
    assert_eq!((dropped.get(), second.1), (0, 7));
    drop(second);
    assert_eq!((dropped.get(), pieces()), (1, 0));
}

#[test]
fn references_of_several_threads_are_counted() {
    static DROPPED: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    struct Counts;
    impl Drop for Counts {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let first = Arc::new(Counts, GFP_KERNEL).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let own = first.clone();
            scope.spawn(move || {
                for _ in 0..10_000 {
                    drop(own.clone());
                }
            });
        }
    });
    // The test's memory belongs to this thread, whose reference is the last one.
    assert_eq!(DROPPED.load(std::sync::atomic::Ordering::Relaxed), 0);
    drop(first);
    assert_eq!(DROPPED.load(std::sync::atomic::Ordering::Relaxed), 1);
}

#[pin_data]
struct Pair<'a> {
    first: Dropped<'a>,
    #[pin]
    second: Mutex<Dropped<'a>>,
    third: Dropped<'a>,
}

impl<'a> Pair<'a> {
    fn new(dropped: &'a Cell<usize>, third: Result<i32>) -> impl PinInit<Self, Error> + 'a {
        let first = Dropped(dropped, 1);
        try_pin_init!(Self {
            first,
            second <- kernel::new_mutex!(Dropped(dropped, 2), "pair"),
            third: Dropped(dropped, third?),
        }? Error)
    }
}

#[test]
fn a_structure_is_made_in_place() {
    let dropped = Cell::new(0);
    let pair: Pin<KBox<Pair<'_>>> = KBox::pin_init(Pair::new(&dropped, Ok(3)), GFP_KERNEL).unwrap();
    assert_eq!(
        (pair.first.1, pair.second.lock().1, pair.third.1),
        (1, 2, 3)
    );
    pair.second.lock().1 = 5;
    assert_eq!((pair.second.lock().1, dropped.get()), (5, 0));
    drop(pair);
    assert_eq!((dropped.take(), pieces()), (3, 0));
}

#[test]
fn what_was_made_before_a_failure_is_dropped() {
    let dropped = Cell::new(0);
    let failed = Arc::pin_init(Pair::new(&dropped, Err(EBUSY)), GFP_KERNEL);
    assert_eq!(failed.err(), Some(EBUSY));
    assert_eq!((dropped.take(), pieces()), (2, 0));

    let after = Pair::new(&dropped, Ok(3)).pin_chain(|pair| {
        assert_eq!(pair.third.1, 3);
        Err(ENODEV)
    });
    assert_eq!(KBox::pin_init(after, GFP_KERNEL).err(), Some(ENODEV));
    assert_eq!((dropped.take(), pieces()), (3, 0));

    let without = with_pieces_left(0, || Arc::pin_init(Pair::new(&dropped, Ok(3)), GFP_KERNEL));
    assert_eq!(without.err(), Some(ENOMEM));
    // The initialiser had the first value only.
    assert_eq!(dropped.take(), 1);

    let never = pin_init::pin_init_scope(|| {
        Err::<Pair<'_>, Error>(EIO).map(|_| Pair::new(&dropped, Ok(3)))
    });
    assert_eq!(KBox::pin_init(never, GFP_KERNEL).err(), Some(EIO));
    assert_eq!((dropped.take(), pieces()), (0, 0));
}

#[pin_data(PinnedDrop)]
struct Watch<'a, T: Copy> {
    ended: &'a Cell<Option<T>>,
    value: T,
    this: *const (),
    #[pin]
    _pinned: std::marker::PhantomPinned,
}

impl<'a, T: Copy> Watch<'a, T> {
    fn new(ended: &'a Cell<Option<T>>, value: T) -> impl PinInit<Self> + 'a
    where
        T: 'a,
    {
        pin_init!(&this in Self {
            ended,
            value,
            this: this.as_ptr().cast_const().cast(),
            _pinned: std::marker::PhantomPinned,
        })
    }
}

#[pinned_drop]
impl<T: Copy> PinnedDrop for Watch<'_, T> {
    fn drop(self: Pin<&mut Self>) {
        assert_eq!(self.this, std::ptr::from_ref(&*self).cast());
        self.ended.set(Some(self.value));
    }
}

#[test]
fn a_pinned_value_ends_where_it_was_made() {
    let ended = Cell::new(None);
    let watch = KBox::pin_init(Watch::new(&ended, 9), GFP_KERNEL);
    let watch = watch.unwrap();
    assert_eq!(ended.get(), None);
    drop(watch);
    assert_eq!((ended.get(), pieces()), (Some(9), 0));
}
