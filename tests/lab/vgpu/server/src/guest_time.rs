// SPDX-License-Identifier: GPL-2.0-only
//! The page of memory through which QEMU and the GPU share the guest's clock.
//!
//! QEMU says in it what time it is whenever the guest accesses the GPU. The GPU says
//! when its next event is due; then QEMU has it come to the present and waits until it
//! is there. So the guest never sees the GPU late or early, whichever of the two
//! processes the host lets wait. While all of the guest's processors are idle nobody sees
//! it, and QEMU lets it go ahead, up to an interrupt or to when the guest wakes by itself.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::libc;
use nix::sys::memfd::{memfd_create, MFdFlags};

use crate::memory::Mapping;

/// A time that does not come.
pub const NEVER: u64 = u64::MAX;

const BYTES: u64 = 4096;
/// How often a side looks again before it sleeps: an answer mostly comes sooner than
/// the host would wake it.
const LOOKS: u32 = 200;
/// How long a side sleeps before it finds out whether the other is still there.
const PATIENCE_S: libc::time_t = 1;

/// What both sides see. Times are nanoseconds of the guest.
#[repr(C)]
struct Shared {
    now: AtomicU64,
    next: AtomicU64,
    /// Up to here the GPU may go on by itself from where it is asked to come.
    until: AtomicU64,
    /// Interrupts that the guest has not been given yet.
    raised: AtomicU32,
    /// Counts how often QEMU asked the GPU to come to the present.
    asked: AtomicU32,
    /// The last of them that the GPU has done.
    answered: AtomicU32,
}

/// The GPU has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended;

/// One side's view of the page.
///
/// # Invariants
///
/// The page is at least as large as `Shared`.
pub struct GuestTime {
    page: Mapping,
    /// On the GPU's side: it has the page's file locked for as long as it lives.
    _lives: Option<Flock<File>>,
    /// On QEMU's side: where to see whether it does.
    path: Option<PathBuf>,
}

impl GuestTime {
    /// Where the page of the GPU is that listens at a socket.
    pub fn beside(socket: &Path) -> PathBuf {
        socket.with_extension("clock")
    }

    /// The GPU's side, with a new page.
    pub fn create(path: &Path) -> io::Result<GuestTime> {
        let _ = std::fs::remove_file(path);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.set_len(BYTES)?;
        let page = Mapping::new(&file, 0, BYTES)?;
        let lock =
            Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno)?;
        Ok(GuestTime::of_gpu(page, Some(lock)))
    }

    /// For a GPU without a guest: time stands still.
    pub fn without_guest() -> io::Result<GuestTime> {
        let file = File::from(memfd_create(c"clock", MFdFlags::MFD_CLOEXEC)?);
        file.set_len(BYTES)?;
        Ok(GuestTime::of_gpu(Mapping::new(&file, 0, BYTES)?, None))
    }

    fn of_gpu(page: Mapping, lock: Option<Flock<File>>) -> GuestTime {
        let time = GuestTime {
            page,
            _lives: lock,
            path: None,
        };
        time.set_next(NEVER);
        time
    }

    /// QEMU's side.
    pub fn open(path: &Path) -> io::Result<GuestTime> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        Ok(GuestTime {
            page: Mapping::new(&file, 0, BYTES)?,
            _lives: None,
            path: Some(path.into()),
        })
    }

    fn shared(&self) -> &Shared {
        // SAFETY: By the type invariant, and the page lives as long as `self`; any bytes are a
        // valid `Shared`, and a page is aligned well enough.
        unsafe { self.page.start().cast().as_ref() }
    }

    pub fn now(&self) -> u64 {
        self.shared().now.load(Ordering::SeqCst)
    }

    /// Says what time it is. Time does not go back.
    pub fn set_now(&self, now: u64) {
        self.shared().now.fetch_max(now, Ordering::SeqCst);
    }

    /// When QEMU has to see to the GPU next; at once, if there is an interrupt.
    pub fn next(&self) -> u64 {
        match self.is_raised() {
            true => 0,
            false => self.shared().next.load(Ordering::SeqCst),
        }
    }

    fn is_raised(&self) -> bool {
        self.shared().raised.load(Ordering::SeqCst) > 0
    }

    pub fn set_next(&self, next: u64) {
        self.shared().next.store(next, Ordering::SeqCst);
    }

    pub fn raise(&self) {
        self.shared().raised.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether there was an interrupt, which is the caller's from here on.
    pub fn take_raised(&self) -> bool {
        self.shared().raised.swap(0, Ordering::SeqCst) > 0
    }

    /// Has the GPU come to the present, and waits until it is there. It may then have gone
    /// on to the last event before `until`, or to its next interrupt.
    pub fn catch_up(&self, until: u64) -> Result<(), Ended> {
        let shared = self.shared();
        shared.until.store(until, Ordering::SeqCst);
        let ask = shared.asked.fetch_add(1, Ordering::SeqCst).wrapping_add(1);
        wake(&shared.asked);
        loop {
            let answered = shared.answered.load(Ordering::SeqCst);
            if answered == ask {
                return Ok(());
            }
            if !changes(&shared.answered, answered) && self.gpu_has_ended() {
                return Err(Ended);
            }
        }
    }

    fn gpu_has_ended(&self) -> bool {
        let Some(path) = &self.path else {
            return false;
        };
        let Ok(file) = File::open(path) else {
            return true;
        };
        !matches!(
            Flock::lock(file, FlockArg::LockSharedNonblock),
            Err((_, Errno::EWOULDBLOCK))
        )
    }

    /// The GPU's side: waits until it is asked once more than so often.
    pub fn wait_for_ask(&self, last: u32) -> u32 {
        let asked = &self.shared().asked;
        loop {
            let ask = asked.load(Ordering::SeqCst);
            if ask != last {
                return ask;
            }
            changes(asked, ask);
        }
    }

    /// The GPU's side: comes to its next event, where it may.
    pub fn goes_on(&self) -> bool {
        let next = self.next();
        let goes_on = !self.is_raised() && next < self.shared().until.load(Ordering::SeqCst);
        if goes_on {
            self.set_now(next);
        }
        goes_on
    }

    /// The GPU's side: it is where it was asked to come.
    pub fn answer(&self, ask: u32) {
        self.shared().answered.store(ask, Ordering::SeqCst);
        wake(&self.shared().answered);
    }
}

/// Waits until a word is no longer this; `false` when that takes long.
fn changes(word: &AtomicU32, value: u32) -> bool {
    for _ in 0..LOOKS {
        if word.load(Ordering::SeqCst) != value {
            return true;
        }
        std::hint::spin_loop();
    }
    let patience = libc::timespec {
        tv_sec: PATIENCE_S,
        tv_nsec: 0,
    };
    // SAFETY: The word and the time outlive the call, which only reads them.
    let result = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT,
            value,
            &raw const patience,
        )
    };
    result == 0 || Errno::last() != Errno::ETIMEDOUT
}

fn wake(word: &AtomicU32) {
    // SAFETY: The word outlives the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn pair() -> (tempfile::TempDir, GuestTime, GuestTime) {
        let directory = tempfile::tempdir().unwrap();
        let path = GuestTime::beside(&directory.path().join("gpu.socket"));
        let gpu = GuestTime::create(&path).unwrap();
        let emulator = GuestTime::open(&path).unwrap();
        (directory, gpu, emulator)
    }

    #[test]
    fn time_is_the_same_on_both_sides_and_does_not_go_back() {
        let (_directory, gpu, emulator) = pair();
        assert_eq!((emulator.now(), emulator.next()), (0, NEVER));
        emulator.set_now(7);
        emulator.set_now(5);
        assert_eq!(gpu.now(), 7);
        gpu.set_next(9);
        assert_eq!(emulator.next(), 9);
    }

    #[test]
    fn an_interrupt_is_due_at_once_and_given_once() {
        let (_directory, gpu, emulator) = pair();
        gpu.set_next(9);
        gpu.raise();
        gpu.raise();
        assert_eq!(emulator.next(), 0);
        assert!(emulator.take_raised());
        assert_eq!(emulator.next(), 9);
        assert!(!emulator.take_raised());
    }

    #[test]
    fn who_asks_goes_on_when_the_gpu_is_there() {
        let (_directory, gpu, emulator) = pair();
        let gpu = thread::spawn(move || {
            let mut ask = 0;
            let mut seen = Vec::new();
            for _ in 0..3 {
                ask = gpu.wait_for_ask(ask);
                seen.push(gpu.now());
                gpu.set_next(gpu.now() + 10);
                gpu.answer(ask);
            }
            seen
        });
        for now in [1, 11, 21] {
            emulator.set_now(now);
            assert_eq!(emulator.catch_up(now), Ok(()));
            assert_eq!(emulator.next(), now + 10);
        }
        assert_eq!(gpu.join().unwrap(), [1, 11, 21]);
    }

    #[test]
    fn the_gpu_goes_on_to_an_interrupt_or_until_the_guest_wakes() {
        let (_directory, gpu, emulator) = pair();
        let gpu = thread::spawn(move || {
            let mut ask = 0;
            for _ in 0..3 {
                ask = gpu.wait_for_ask(ask);
                loop {
                    // Something every 10, and an interrupt at 40.
                    gpu.set_next(gpu.now() + 10);
                    if gpu.now() == 40 {
                        gpu.raise();
                    }
                    if !gpu.goes_on() {
                        break;
                    }
                }
                gpu.answer(ask);
            }
        });
        emulator.set_now(10);
        assert_eq!(emulator.catch_up(25), Ok(()));
        assert_eq!((emulator.now(), emulator.next()), (20, 30));
        // An event at the time at which the guest wakes is not the GPU's alone.
        emulator.set_now(30);
        assert_eq!(emulator.catch_up(40), Ok(()));
        assert_eq!((emulator.now(), emulator.next()), (30, 40));
        assert_eq!(emulator.catch_up(100), Ok(()));
        assert_eq!((emulator.now(), emulator.next()), (40, 0));
        assert!(emulator.take_raised());
        assert_eq!(emulator.next(), 50);
        gpu.join().unwrap();
    }

    #[test]
    fn nobody_waits_for_a_gpu_that_has_ended() {
        let (_directory, gpu, emulator) = pair();
        drop(gpu);
        assert_eq!(emulator.catch_up(0), Err(Ended));
    }
}
