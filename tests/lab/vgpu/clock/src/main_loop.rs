// SPDX-License-Identifier: GPL-2.0-only
//! Keeps QEMU's main loop from its turn while the guest's processors execute.
//!
//! Both the main loop and the thread of the processors call timers that are due, and the
//! processors go on in another way after the one than after the other. Which of them comes
//! first would be up to the host. The main loop is woken whenever a timer was called, and
//! has nothing to do then. Here it sleeps on, until all processors are idle, the guest
//! stands still, or there is something else for it than being woken.

use std::ffi::c_int;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use nix::libc::{nfds_t, pollfd, sigset_t, timespec};

use crate::{emulator, questions};

/// By these the main loop is woken: QEMU makes them first of all, and for good.
static WAKERS: [AtomicI32; 4] = [const { AtomicI32::new(-1) }; 4];

/// Whether the main loop is in its poll, and stays there while processors execute.
static SLEEPS: Mutex<bool> = Mutex::new(false);
static CHANGED: Condvar = Condvar::new();
/// How much the guest had executed when the main loop left its poll and found all of its
/// processors idle; otherwise more than it can.
static IDLE_AT: AtomicU64 = AtomicU64::new(u64::MAX);
static COMMANDED: AtomicBool = AtomicBool::new(false);

pub type Poll =
    unsafe extern "C" fn(*mut pollfd, nfds_t, *const timespec, *const sigset_t) -> c_int;

/// QEMU has made an event.
pub fn made(event: c_int) {
    let free = |waker: &&AtomicI32| {
        let exchanged = waker.compare_exchange(-1, event, Ordering::SeqCst, Ordering::SeqCst);
        exchanged.is_ok()
    };
    WAKERS.iter().find(free);
}

/// What the main loop polls for, once there is something.
///
/// # Safety
///
/// As the C library's `ppoll`, which is `next`, with these arguments.
pub unsafe fn poll(
    next: Poll,
    files: *mut pollfd,
    count: nfds_t,
    patience: *const timespec,
    signals: *const sigset_t,
) -> c_int {
    let poll = |patience: *const timespec| {
        // SAFETY: As the caller says.
        unsafe { next(files, count, patience, signals) }
    };
    if !questions::are_kept() || !is_main_loop() {
        return poll(patience);
    }
    sleeps(true);
    let mut ready = poll(patience);
    while processors_execute() {
        // SAFETY: As the caller says; the call has written to them.
        let files =
            unsafe { std::slice::from_raw_parts(files, usize::try_from(count).unwrap_or(0)) };
        if !files.iter().all(is_quiet) {
            break;
        }
        // That they have become idle may be what it was woken for, and has just forgotten.
        if !processors_execute() {
            break;
        }
        ready = poll(std::ptr::null());
    }
    sleeps(false);
    let idle = !is_held_up() && emulator::is_idle();
    let at = idle.then(emulator::instructions).unwrap_or(u64::MAX);
    IDLE_AT.store(at, Ordering::SeqCst);
    ready
}

/// Whether all processors have been idle since the main loop left its poll, and have nothing
/// to do now. The calling thread has QEMU's big lock.
pub fn finds_processors_idle() -> bool {
    is_main_loop()
        && IDLE_AT.load(Ordering::SeqCst) == emulator::instructions()
        && !emulator::has_interrupt()
}

/// QEMU has a command, which is the main loop's to carry out.
pub fn commanded() {
    COMMANDED.store(true, Ordering::SeqCst);
}

/// All commands have been carried out.
pub fn no_longer_commanded() {
    COMMANDED.store(false, Ordering::SeqCst);
}

fn sleeps(sleeps: bool) {
    *SLEEPS.lock().unwrap_or_else(PoisonError::into_inner) = sleeps;
    CHANGED.notify_all();
}

/// Waits until the main loop sleeps. The caller has nothing that it needs.
pub fn wait_until_it_sleeps() {
    let sleeps = SLEEPS.lock().unwrap_or_else(PoisonError::into_inner);
    drop(CHANGED.wait_while(sleeps, |sleeps| !*sleeps));
}

/// Only the main loop polls in the thread that began.
fn is_main_loop() -> bool {
    nix::unistd::gettid() == nix::unistd::getpid()
}

fn processors_execute() -> bool {
    !is_held_up() && !emulator::is_idle()
}

/// Whether the guest stands still, or somebody has a command for QEMU.
fn is_held_up() -> bool {
    COMMANDED.load(Ordering::SeqCst) || questions::guest_stands_still()
}

/// Whether nothing has happened to a file, but that it was to wake the main loop, which is
/// forgotten.
fn is_quiet(file: &pollfd) -> bool {
    if file.revents == 0 {
        return true;
    }
    let is_waker = WAKERS
        .iter()
        .any(|waker| waker.load(Ordering::SeqCst) == file.fd);
    if is_waker {
        // SAFETY: It is one of QEMU's, and open.
        let event = unsafe { BorrowedFd::borrow_raw(file.fd) };
        let _ = nix::unistd::read(event, &mut [0; 8]);
    }
    is_waker
}
