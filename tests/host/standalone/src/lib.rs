// SPDX-License-Identifier: GPL-2.0-only

//! The C half of a standalone build as tests have it: each thread has memory of its own,
//! which is counted and can run out, and a log that can be read.

use std::alloc::{alloc, dealloc, Layout};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{c_int, c_void, CStr};

use kernel::bindings::{gp_rt_key, gp_rt_mutex, seq_file};

thread_local! {
    static PIECES: RefCell<HashMap<usize, Layout>> = RefCell::default();
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    static LOG: RefCell<Vec<String>> = RefCell::default();
}

/// How many pieces of memory this thread has taken and not given back.
pub fn pieces() -> usize {
    PIECES.with_borrow(HashMap::len)
}

/// The largest piece that this thread has.
pub fn largest() -> usize {
    PIECES.with_borrow(|all| all.values().map(Layout::size).max().unwrap_or(0))
}

/// Calls a function while only so many pieces are left to be had.
pub fn with_pieces_left<R>(left: usize, f: impl FnOnce() -> R) -> R {
    LEFT.set(Some(left));
    let result = f();
    LEFT.set(None);
    result
}

/// What this thread has written to the log since it was last asked.
pub fn log() -> Vec<String> {
    LOG.take()
}

#[no_mangle]
extern "C" fn gp_rt_alloc(size: usize, _contiguous: bool) -> *mut c_void {
    assert_ne!(size, 0, "memory without a size");
    match LEFT.get() {
        Some(0) => return std::ptr::null_mut(),
        left => LEFT.set(left.map(|left| left - 1)),
    }
    // As kmalloc() aligns: what is a power of two to that, and everything else to 8.
    let align = if size.is_power_of_two() {
        size.max(8)
    } else {
        8
    };
    let layout = Layout::from_size_align(size, align).unwrap();
    // SAFETY: The size is not zero.
    let memory = unsafe { alloc(layout) };
    // What is not written must not look as if it were.
    // SAFETY: So much has just been taken.
    unsafe { memory.write_bytes(0xa5, size) };
    PIECES.with_borrow_mut(|all| all.insert(memory.addr(), layout));
    memory.cast()
}

#[no_mangle]
extern "C" fn gp_rt_free(memory: *mut c_void) {
    let layout = PIECES.with_borrow_mut(|all| all.remove(&memory.addr()));
    let layout = layout.expect("memory that this thread does not have");
    // SAFETY: It was taken for this layout and not freed since.
    unsafe { dealloc(memory.cast(), layout) }
}

#[no_mangle]
unsafe extern "C" fn gp_rt_print(level: u8, text: *const u8, length: usize) {
    // SAFETY: The caller has so many bytes.
    let text = unsafe { std::slice::from_raw_parts(text, length) };
    let text = format!("{} {}", char::from(level), String::from_utf8_lossy(text));
    LOG.with_borrow_mut(|log| log.push(text));
}

/// A file is a string here.
#[no_mangle]
unsafe extern "C" fn gp_rt_seq_write(file: *mut seq_file, text: *const u8, length: usize) {
    // SAFETY: The caller has so many bytes, and the test gave a string for a file.
    unsafe {
        let text = std::slice::from_raw_parts(text, length);
        (*file.cast::<String>()).push_str(std::str::from_utf8(text).unwrap());
    }
}

/// Where a mutex has its state: 1 when it is held. What is behind it is the name's address.
fn state(mutex: *mut gp_rt_mutex) -> *mut u64 {
    mutex.cast()
}

#[no_mangle]
unsafe extern "C" fn gp_rt_mutex_init(
    mutex: *mut gp_rt_mutex,
    name: *const u8,
    key: *mut gp_rt_key,
) {
    assert!(!key.is_null());
    // SAFETY: The caller has room for a mutex, and the name is a text.
    unsafe {
        assert!(!CStr::from_ptr(name.cast()).is_empty());
        mutex
            .cast::<u8>()
            .write_bytes(0xff, size_of::<gp_rt_mutex>());
        state(mutex).write(0);
    }
}

#[no_mangle]
unsafe extern "C" fn gp_rt_mutex_lock(mutex: *mut gp_rt_mutex) {
    // SAFETY: The mutex was initialised; tests use each in one thread.
    unsafe {
        assert_eq!(state(mutex).read(), 0, "the mutex is held already");
        state(mutex).write(1);
    }
}

#[no_mangle]
unsafe extern "C" fn gp_rt_mutex_unlock(mutex: *mut gp_rt_mutex) {
    // SAFETY: The mutex was initialised; tests use each in one thread.
    unsafe {
        assert_eq!(state(mutex).read(), 1, "the mutex is not held");
        state(mutex).write(0);
    }
}

#[no_mangle]
extern "C" fn gp_rt_sleep(us: u64) {
    LOG.with_borrow_mut(|log| log.push(format!("sleeps {us} us")));
}

#[no_mangle]
extern "C" fn gp_rt_bug() {
    panic!("BUG()");
}

/// Something whose end is counted.
pub struct Dropped<'a>(pub &'a Cell<usize>, pub c_int);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}
