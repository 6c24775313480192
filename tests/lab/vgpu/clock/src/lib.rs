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
//!
//! QEMU is the distribution's. What is used of it are functions that it exports for its
//! own modules ([`emulator`]).

mod access;
mod emulator;
mod gpu;
mod turns;

use std::ffi::c_int;
use std::sync::OnceLock;

use nix::libc::{msghdr, ssize_t};

type SendMessage = unsafe extern "C" fn(c_int, *const msghdr, c_int) -> ssize_t;
type ReceiveMessage = unsafe extern "C" fn(c_int, *mut msghdr, c_int) -> ssize_t;

/// Stands before the C library's function, with which QEMU sends an access to the GPU.
///
/// # Safety
///
/// As the C library's, to which the message is passed on.
#[no_mangle]
pub unsafe extern "C" fn sendmsg(socket: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    static NEXT: OnceLock<SendMessage> = OnceLock::new();
    // SAFETY: The C library's function has this type.
    let next = NEXT.get_or_init(|| unsafe { emulator::next(c"sendmsg") });
    if let Some(gpu) = gpu::at(socket) {
        // SAFETY: The caller's message is as the C library wants it.
        gpu.before_access(unsafe { access::of(message) });
    }
    // SAFETY: As the caller says.
    unsafe { next(socket, message, flags) }
}

/// Stands before the C library's function, with which QEMU receives the GPU's answer.
///
/// # Safety
///
/// As the C library's, to which it is passed on.
#[no_mangle]
pub unsafe extern "C" fn recvmsg(socket: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    static NEXT: OnceLock<ReceiveMessage> = OnceLock::new();
    // SAFETY: The C library's function has this type.
    let next = NEXT.get_or_init(|| unsafe { emulator::next(c"recvmsg") });
    // SAFETY: As the caller says.
    let received = unsafe { next(socket, message, flags) };
    if received > 0 {
        if let Some(gpu) = gpu::at(socket) {
            gpu.after_answer();
        }
    }
    received
}
