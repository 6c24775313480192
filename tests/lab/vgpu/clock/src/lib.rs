// SPDX-License-Identifier: GPL-2.0-only
//! Has QEMU and the virtual GPU share the guest's clock.
//!
//! With `-icount shift=0,sleep=off`, QEMU's clock goes on by a nanosecond with each
//! instruction of the guest, and jumps to the next timer when all of the guest's
//! processors are idle. The GPU is another process, which knows nothing of that. This
//! library is loaded into QEMU before the C library (`LD_PRELOAD`) and stands between
//! QEMU and the GPU's socket:
//!
//! - Each access of the guest takes the time that it takes over PCIe, and the GPU learns
//!   when it is ([`access`]).
//! - A timer of QEMU's stands at the GPU's next event. QEMU waits there until the GPU has
//!   done it, and then gives the guest the interrupt, if there was one ([`gpu`]).
//! - Another has the guest's processors take turns often enough, and keeps the guest from
//!   running ahead of the host's time while nothing happens ([`turns`]).
//! - The host may take processors from the guest for a while ([`holds`]).
//! - What the runner asks the agent in the guest comes at times of the guest's clock
//!   ([`questions`]).
//! - QEMU's main loop stays out of the way of the guest's processors ([`main_loop`]).
//!
//! QEMU is the distribution's. What is used of it are functions that it exports for its
//! own modules ([`emulator`]).

mod access;
mod emulator;
mod gpu;
mod holds;
mod main_loop;
mod questions;
mod random;
mod turns;

use std::ffi::{c_int, c_uint, c_void};
use std::sync::LazyLock;

use nix::libc::{msghdr, nfds_t, pollfd, sigset_t, sockaddr, socklen_t, ssize_t, timespec};

type Accept = unsafe extern "C" fn(c_int, *mut sockaddr, *mut socklen_t, c_int) -> c_int;
type Eventfd = unsafe extern "C" fn(c_uint, c_int) -> c_int;
type SendMessage = unsafe extern "C" fn(c_int, *const msghdr, c_int) -> ssize_t;
type ReceiveMessage = unsafe extern "C" fn(c_int, *mut msghdr, c_int) -> ssize_t;

/// The C library's function of this name, which has this type.
macro_rules! next {
    ($name:literal, $function:ty) => {{
        // SAFETY: The C library's function has this type.
        static NEXT: LazyLock<$function> = LazyLock::new(|| unsafe { emulator::next($name) });
        *NEXT
    }};
}

/// Stands before the C library's function, with which QEMU takes a connection.
///
/// # Safety
///
/// As the C library's, to which all is passed on.
#[no_mangle]
pub unsafe extern "C" fn accept4(
    socket: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
) -> c_int {
    let next = next!(c"accept4", Accept);
    // SAFETY: As the caller says.
    let connection = unsafe { next(socket, address, length, flags) };
    if connection >= 0 {
        questions::connected(connection);
    }
    connection
}

/// Stands before the C library's function, with which QEMU makes what wakes its threads.
///
/// # Safety
///
/// As the C library's.
#[no_mangle]
pub unsafe extern "C" fn eventfd(value: c_uint, flags: c_int) -> c_int {
    let next = next!(c"eventfd", Eventfd);
    // SAFETY: As the caller says.
    let event = unsafe { next(value, flags) };
    main_loop::made(event);
    event
}

/// Stands before the function with which QEMU has a ring, through which its threads would
/// be woken in a way that cannot be told from all else. They do without.
#[no_mangle]
pub extern "C" fn io_uring_queue_init(
    _entries: c_uint,
    _ring: *mut c_void,
    _flags: c_uint,
) -> c_int {
    -nix::libc::ENOSYS
}

/// Stands before the C library's function, in which QEMU's main loop sleeps.
///
/// # Safety
///
/// As the C library's.
#[no_mangle]
pub unsafe extern "C" fn ppoll(
    files: *mut pollfd,
    count: nfds_t,
    patience: *const timespec,
    signals: *const sigset_t,
) -> c_int {
    let next = next!(c"ppoll", main_loop::Poll);
    // SAFETY: As the caller says.
    unsafe { main_loop::poll(next, files, count, patience, signals) }
}

/// Stands before the C library's function, with which QEMU sends an access to the GPU.
///
/// # Safety
///
/// As the C library's, to which the message is passed on.
#[no_mangle]
pub unsafe extern "C" fn sendmsg(socket: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    let next = next!(c"sendmsg", SendMessage);
    // SAFETY: As the caller says.
    let send = || unsafe { next(socket, message, flags) };
    if let Some(gpu) = gpu::at(socket) {
        // SAFETY: The caller's message is as the C library wants it.
        gpu.before_access(unsafe { access::of(message) });
    } else if questions::is_agent(socket) {
        // SAFETY: As the caller says.
        return unsafe { questions::answer(socket, message, send) };
    }
    send()
}

/// Stands before the C library's function, with which QEMU receives the GPU's answer.
///
/// # Safety
///
/// As the C library's, to which it is passed on.
#[no_mangle]
pub unsafe extern "C" fn recvmsg(socket: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    let next = next!(c"recvmsg", ReceiveMessage);
    // SAFETY: As the caller says.
    let received = unsafe { next(socket, message, flags) };
    if received < 0 {
        return received;
    }
    if let Some(gpu) = gpu::at(socket) {
        gpu.after_answer();
    } else if questions::is_agent(socket) {
        // SAFETY: As the caller says, and so much was received.
        return unsafe { questions::received(message, received) };
    } else {
        main_loop::commanded();
    }
    received
}
