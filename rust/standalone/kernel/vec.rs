// SPDX-License-Identifier: GPL-2.0-only

//! Lists that grow, if there is memory.

use crate::{
    alloc::{give, take, AllocError, Allocator, Flags, KVmalloc, Kmalloc},
    error::{code::EINVAL, Error},
};
use core::{
    alloc::Layout,
    marker::PhantomData,
    mem::ManuallyDrop,
    ops::{Deref, DerefMut},
    ptr::NonNull,
};

/// A list in memory of one piece.
pub type KVec<T> = Vec<T, Kmalloc>;
/// A list of any size.
pub type KVVec<T> = Vec<T, KVmalloc>;

/// A list.
///
/// # Invariants
///
/// `start` is to memory for `room` elements (as many as one likes, if they need none),
/// taken from `A` for their layout, of which the first `length` are values; all of it
/// belongs to this alone.
pub struct Vec<T, A: Allocator> {
    start: NonNull<T>,
    room: usize,
    length: usize,
    _owned: PhantomData<(T, A)>,
}

/// There is no room for a value, which is in here.
#[derive(Debug, PartialEq, Eq)]
pub struct PushError<T>(pub T);

/// There is no such element.
#[derive(Debug, PartialEq, Eq)]
pub struct RemoveError;

impl<T> From<PushError<T>> for Error {
    fn from(_: PushError<T>) -> Self {
        EINVAL
    }
}

impl From<RemoveError> for Error {
    fn from(_: RemoveError) -> Self {
        EINVAL
    }
}

// What it points to does not move with it.
impl<T, A: Allocator> Unpin for Vec<T, A> {}

// SAFETY: By the type's invariant the elements belong to this, and go where it goes.
unsafe impl<T: Send, A: Allocator> Send for Vec<T, A> {}
// SAFETY: A reference to this gives references to the elements, and nothing else.
unsafe impl<T: Sync, A: Allocator> Sync for Vec<T, A> {}

fn layout<T>(room: usize) -> Result<Layout, AllocError> {
    Layout::array::<T>(room).or(Err(AllocError))
}

impl<T, A: Allocator> Vec<T, A> {
    /// An empty list without memory.
    pub const fn new() -> Self {
        // INVARIANT: No room needs no memory.
        Self {
            start: NonNull::dangling(),
            room: 0,
            length: 0,
            _owned: PhantomData,
        }
    }

    /// An empty list with room.
    pub fn with_capacity(room: usize, flags: Flags) -> Result<Self, AllocError> {
        let mut list = Self::new();
        list.reserve(room, flags)?;
        Ok(list)
    }

    /// A list of equal elements.
    pub fn from_elem(value: T, count: usize, flags: Flags) -> Result<Self, AllocError>
    where
        T: Clone,
    {
        let mut list = Self::with_capacity(count, flags)?;
        for _ in 0..count {
            list.push(value.clone(), flags)?;
        }
        Ok(list)
    }

    /// For how many elements there is room.
    pub fn capacity(&self) -> usize {
        if size_of::<T>() == 0 {
            return usize::MAX;
        }
        self.room
    }

    /// Makes room for more elements, and for twice as many as before if that is not
    /// enough. Without memory everything stays as it is.
    pub fn reserve(&mut self, more: usize, _flags: Flags) -> Result<(), AllocError> {
        let wanted = self.length.checked_add(more).ok_or(AllocError)?;
        if wanted <= self.capacity() {
            return Ok(());
        }
        let room = wanted.max(self.room.saturating_mul(2));
        let (old, new) = (layout::<T>(self.room)?, layout::<T>(room)?);
        let start = take::<A>(new)?.cast::<T>();
        // SAFETY: By the type's invariant so many elements are at the old place; the new one
        // is larger and another. The old one is not used any more, and was taken so.
        unsafe {
            start.copy_from_nonoverlapping(self.start, self.length);
            give(self.start.cast(), old);
        }
        // INVARIANT: The elements have moved there.
        self.start = start;
        self.room = room;
        Ok(())
    }

    /// Adds an element.
    pub fn push(&mut self, value: T, flags: Flags) -> Result<(), AllocError> {
        self.reserve(1, flags)?;
        self.push_within_capacity(value).or(Err(AllocError))
    }

    /// Adds an element if there is room for it.
    pub fn push_within_capacity(&mut self, value: T) -> Result<(), PushError<T>> {
        self.insert_within_capacity(self.length, value)
    }

    /// Puts an element before that of a number, if there is room for it.
    pub fn insert_within_capacity(&mut self, at: usize, value: T) -> Result<(), PushError<T>> {
        if at > self.length || self.length >= self.capacity() {
            return Err(PushError(value));
        }
        // SAFETY: By the type's invariant there is room for one more element than there are,
        // and `at` is no further than their end. Those behind it move up.
        // INVARIANT: There is one more now.
        unsafe {
            let place = self.start.add(at);
            place.copy_to(place.add(1), self.length - at);
            place.write(value);
        }
        self.length += 1;
        Ok(())
    }

    /// Takes an element out; those behind it move down.
    pub fn remove(&mut self, at: usize) -> Result<T, RemoveError> {
        if at >= self.length {
            return Err(RemoveError);
        }
        // INVARIANT: The last place is not one of a value any more.
        self.length -= 1;
        // SAFETY: By the type's invariant there was a value in the place, which is moved
        // out, and so many behind it, which fill the place.
        Ok(unsafe {
            let place = self.start.add(at);
            let value = place.read();
            place.copy_from(place.add(1), self.length - at);
            value
        })
    }

    /// Takes the last element out.
    pub fn pop(&mut self) -> Option<T> {
        let last = self.length.checked_sub(1)?;
        self.remove(last).ok()
    }

    /// Keeps so many elements at most.
    pub fn truncate(&mut self, length: usize) {
        while self.length > length {
            drop(self.pop());
        }
    }

    /// Drops all elements, and keeps the room.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Keeps the elements for which a function says so, in their order.
    pub fn retain(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        let mut kept = 0;
        for at in 0..self.length {
            let Some(element) = self.get_mut(at) else {
                break;
            };
            if keep(element) {
                self.swap(kept, at);
                kept += 1;
            }
        }
        self.truncate(kept);
    }

    /// Adds copies of elements: all or none.
    pub fn extend_from_slice(&mut self, more: &[T], flags: Flags) -> Result<(), AllocError>
    where
        T: Clone,
    {
        self.reserve(more.len(), flags)?;
        for value in more {
            self.push(value.clone(), flags)?;
        }
        Ok(())
    }
}

impl<T, A: Allocator> Default for Vec<T, A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, A: Allocator> Deref for Vec<T, A> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: By the type's invariant so many values are there, lent as this is.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl<T, A: Allocator> DerefMut for Vec<T, A> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: By the type's invariant so many values are there, which are this one's.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl<T, A: Allocator> Drop for Vec<T, A> {
    fn drop(&mut self) {
        self.clear();
        if let Ok(layout) = layout::<T>(self.room) {
            // SAFETY: By the type's invariant it was taken for this layout, and nothing is
            // in it any more.
            unsafe { give(self.start.cast(), layout) }
        }
    }
}

impl<T: core::fmt::Debug, A: Allocator> core::fmt::Debug for Vec<T, A> {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        (**self).fmt(out)
    }
}

impl<'a, T, A: Allocator> IntoIterator for &'a Vec<T, A> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T, A: Allocator> IntoIterator for &'a mut Vec<T, A> {
    type Item = &'a mut T;
    type IntoIter = core::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

/// The elements of a list that is used up.
///
/// # Invariants
///
/// The first `at` elements of `list` have been moved out, the others are values.
pub struct IntoIter<T, A: Allocator> {
    list: ManuallyDrop<Vec<T, A>>,
    at: usize,
}

impl<T, A: Allocator> IntoIterator for Vec<T, A> {
    type Item = T;
    type IntoIter = IntoIter<T, A>;

    fn into_iter(self) -> IntoIter<T, A> {
        // INVARIANT: None has been moved out.
        IntoIter {
            list: ManuallyDrop::new(self),
            at: 0,
        }
    }
}

impl<T, A: Allocator> Iterator for IntoIter<T, A> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        if self.at >= self.list.length {
            return None;
        }
        // SAFETY: By the type's invariant there is a value, which is moved out.
        // INVARIANT: It counts as moved out from now on.
        let value = unsafe { self.list.start.add(self.at).read() };
        self.at += 1;
        Some(value)
    }
}

impl<T, A: Allocator> Drop for IntoIter<T, A> {
    fn drop(&mut self) {
        self.by_ref().for_each(drop);
        // INVARIANT (of the list): All elements have been moved out.
        self.list.length = 0;
        // SAFETY: Nobody uses the list after this.
        unsafe { ManuallyDrop::drop(&mut self.list) }
    }
}
