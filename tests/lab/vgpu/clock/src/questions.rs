// SPDX-License-Identifier: GPL-2.0-only
//! What the runner asks the agent in the guest, handed over at times of the guest's clock.
//!
//! By itself QEMU gives the guest what comes in over a socket as soon as the host lets it,
//! which is at another time of the guest in each run. Here the guest stands still from the
//! moment in which it has answered everything that it was asked until it is asked something
//! else: the runner takes its time, and the guest none. What follows from the same
//! questions is then the same in each run.
//!
//! A question that comes while another is not answered yet is handed over when it comes.

use std::ffi::{c_int, c_void, CStr};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::libc::{self, msghdr, ssize_t};
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::socket::{getsockname, recv, MsgFlags, UnixAddr};

use crate::emulator::{self, Chardev, Timer};
use crate::main_loop;

/// The socket over which the runner talks to the agent, of which this module is to take
/// care.
const SOCKET: &str = "GUEST_CLOCK_AGENT";
/// QEMU's name for it.
const CHARDEV: &CStr = c"agent";
/// The access with which the guest answers is over when the next question is handed over.
const SOON_NS: u64 = 1_000;
/// When there is no room in the guest for the rest of a question, it is tried again.
const LATER_NS: u64 = 10_000;

static PATH: LazyLock<Option<PathBuf>> =
    LazyLock::new(|| std::env::var_os(SOCKET).map(PathBuf::from));
static TALK: Mutex<Talk> = Mutex::new(Talk::NEW);
static ASKED: Condvar = Condvar::new();
static TIMER: LazyLock<Timer> = LazyLock::new(|| Timer::new(hand_over, std::ptr::null_mut()));

struct Talk {
    socket: Option<c_int>,
    /// What came in and has not been handed over.
    waiting: Vec<u8>,
    /// How many questions the guest has not answered.
    open: usize,
    /// The guest has begun, and QEMU's main loop has nothing to do with that any more.
    begun: bool,
    /// The guest stands still.
    still: bool,
    /// Nobody asks any more.
    over: bool,
}

fn talk() -> MutexGuard<'static, Talk> {
    TALK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a socket is the agent's.
pub fn is_agent(socket: c_int) -> bool {
    are_kept() && talk().socket == Some(socket)
}

/// Whether questions are kept until the guest's clock says so.
pub fn are_kept() -> bool {
    PATH.is_some()
}

/// Whether the guest waits for a question.
pub fn guest_stands_still() -> bool {
    talk().still
}

/// QEMU has a new connection. If it is the runner's to the agent, what has come over it is
/// handed over when the guest begins.
pub fn connected(socket: c_int) {
    let Some(path) = PATH.as_deref() else {
        return;
    };
    let own = getsockname::<UnixAddr>(socket).ok();
    if own.is_some_and(|own| own.path() == Some(path)) {
        talk().socket = Some(socket);
        emulator::stop_host_timers();
        TIMER.set(0);
    }
}

/// QEMU has received something over the agent's socket, which is kept back. Returns what
/// QEMU is told.
///
/// # Safety
///
/// The message is one into which the C library's `recvmsg` has put so many bytes.
pub unsafe fn received(message: *mut msghdr, bytes: ssize_t) -> ssize_t {
    let mut talk = talk();
    let Ok(bytes @ 1..) = usize::try_from(bytes) else {
        talk.over |= bytes == 0;
        ASKED.notify_all();
        return bytes;
    };
    // SAFETY: As the caller says.
    let parts = unsafe { parts(message) };
    talk.take(parts, bytes);
    if !talk.still {
        TIMER.set(emulator::now());
    }
    drop(talk);
    ASKED.notify_all();
    // SAFETY: The calling thread's own.
    unsafe { *libc::__errno_location() = libc::EAGAIN };
    -1
}

/// The guest answers over the agent's socket. If that is the last answer, it stands still
/// until there is another question.
///
/// # Safety
///
/// The message is as the C library's `sendmsg` wants it, which `send` calls with it.
pub unsafe fn answer(socket: c_int, message: *const msghdr, send: impl Fn() -> ssize_t) -> ssize_t {
    // SAFETY: As the caller says.
    let answers = |bytes| lines(unsafe { parts(message) }, bytes);
    let all = answers(usize::MAX);
    let may_wait = all > 0 && emulator::processor().is_some();
    // Whoever asks may have read the answer before it is known here that it was sent.
    let mut talk = talk();
    talk.still = may_wait && talk.open <= all;
    drop(talk);
    let sent = sent_at_once(socket, send);
    talk = self::talk();
    let answered = usize::try_from(sent).map_or(0, answers);
    talk.open = talk.open.saturating_sub(answered);
    if !talk.still || answered < all {
        talk.still = false;
        return sent;
    }
    // It may have been kept from something until now.
    emulator::wake_main_loop();
    emulator::without_lock(|| {
        let idle = |talk: &mut Talk| talk.open == 0 && !talk.over;
        let woken = ASKED.wait_while(talk, idle);
        woken.unwrap_or_else(PoisonError::into_inner).still = false;
        main_loop::no_longer_commanded();
        main_loop::wait_until_it_sleeps();
    });
    TIMER.set(emulator::now() + SOON_NS);
    sent
}

/// Sends when there is room in the socket, for which the guest waits. QEMU would otherwise
/// send the rest of a long answer when the host lets it.
fn sent_at_once(socket: c_int, send: impl Fn() -> ssize_t) -> ssize_t {
    loop {
        let sent = send();
        if sent >= 0 || Errno::last() != Errno::EAGAIN {
            return sent;
        }
        // SAFETY: It is the agent's, and open.
        let socket = unsafe { BorrowedFd::borrow_raw(socket) };
        let mut room = [PollFd::new(socket, PollFlags::POLLOUT)];
        let _ = poll(&mut room, PollTimeout::NONE);
    }
}

/// What QEMU's timer calls.
unsafe extern "C" fn hand_over(_: *mut c_void) {
    let mut talk = talk();
    let Some(agent) = Chardev::of(CHARDEV) else {
        return;
    };
    talk.look();
    if !talk.begun && emulator::processor().is_some() {
        talk.begun = true;
        drop(talk);
        main_loop::no_longer_commanded();
        emulator::no_interrupts_by_rcu();
        emulator::without_lock(main_loop::wait_until_it_sleeps);
        talk = self::talk();
    }
    let whole = talk.whole();
    let question: Vec<u8> = talk.waiting.drain(..whole.min(agent.room())).collect();
    let left = question.len() < whole;
    // What the guest does with it may come back here.
    drop(talk);
    if !question.is_empty() {
        agent.write(&question);
    }
    if left {
        TIMER.set(emulator::now() + LATER_NS);
    }
}

impl Talk {
    const NEW: Talk = Talk {
        socket: None,
        waiting: Vec::new(),
        open: 0,
        begun: false,
        still: false,
        over: false,
    };

    fn take<'a>(&mut self, parts: impl Iterator<Item = &'a [u8]>, bytes: usize) {
        let before = self.waiting.len();
        self.waiting.extend(parts.flatten().take(bytes));
        let new = self.waiting.iter().skip(before);
        self.open += new.filter(|&&byte| byte == b'\n').count();
    }

    /// Takes what QEMU has not looked for yet.
    fn look(&mut self) {
        let mut bytes = [0; 4096];
        while let Some(socket) = self.socket {
            let Ok(read @ 1..) = recv(socket, &mut bytes, MsgFlags::MSG_DONTWAIT) else {
                return;
            };
            self.take([&bytes[..]].into_iter(), read);
        }
    }

    /// How much of what waits are whole questions.
    fn whole(&self) -> usize {
        let end = self.waiting.iter().rposition(|&byte| byte == b'\n');
        end.map_or(0, |end| end + 1)
    }
}

fn lines<'a>(parts: impl Iterator<Item = &'a [u8]>, bytes: usize) -> usize {
    let sent = parts.flatten().take(bytes);
    sent.filter(|&&byte| byte == b'\n').count()
}

/// The parts of a message.
///
/// # Safety
///
/// The message is as the C library wants it, and its parts have been written.
unsafe fn parts<'a>(message: *const msghdr) -> impl Iterator<Item = &'a [u8]> {
    // SAFETY: As the caller says.
    let parts = unsafe { std::slice::from_raw_parts((*message).msg_iov, (*message).msg_iovlen) };
    // SAFETY: As the caller says; the bytes are read before the caller returns.
    let part = |part: &libc::iovec| unsafe {
        std::slice::from_raw_parts(part.iov_base.cast::<u8>().cast_const(), part.iov_len)
    };
    parts.iter().map(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_handed_over_when_it_is_whole() {
        let mut talk = Talk::NEW;
        talk.take([&b"one\ntw"[..]].into_iter(), 6);
        assert_eq!((talk.open, talk.whole()), (1, 4));
        talk.waiting.drain(..4);
        assert_eq!(talk.whole(), 0);
        talk.take([&b"o"[..], &b"\nmore"[..]].into_iter(), 2);
        assert_eq!((talk.open, talk.whole()), (2, 4));
    }

    #[test]
    fn only_what_was_sent_is_counted() {
        let parts = || [&b"a\nb"[..], &b"\n\n"[..]].into_iter();
        assert_eq!(lines(parts(), 0), 0);
        assert_eq!(lines(parts(), 4), 2);
        assert_eq!(lines(parts(), 5), 3);
    }
}
