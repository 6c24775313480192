// SPDX-License-Identifier: GPL-2.0-only
//! A virtual GPU, as QEMU meets it: its page, and the timer that stands at its next event.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void, CString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::socket::{getpeername, UnixAddr};
use vgpu_server::guest_time::{GuestTime, NEVER};

use crate::access::Access;
use crate::emulator::{self, Timer};
use crate::{holds, main_loop, turns};

pub struct Gpu {
    /// QEMU's name for the device, which is that of the GPU's socket.
    id: CString,
    time: GuestTime,
    timer: Timer,
    ended: AtomicBool,
}

static GPUS: Mutex<BTreeMap<PathBuf, &'static Gpu>> = Mutex::new(BTreeMap::new());

fn gpus() -> MutexGuard<'static, BTreeMap<PathBuf, &'static Gpu>> {
    GPUS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All GPUs that QEMU has met.
pub fn all() -> Vec<&'static Gpu> {
    gpus().values().copied().collect()
}

/// The GPU at the other end of a socket, if one is there.
pub fn at(socket: c_int) -> Option<&'static Gpu> {
    let peer = getpeername::<UnixAddr>(socket).ok()?;
    let path = GuestTime::beside(peer.path()?);
    let mut gpus = gpus();
    if let Some(gpu) = gpus.get(&path) {
        return Some(gpu);
    }
    let gpu = Gpu::meet(&path)?;
    gpus.insert(path, gpu);
    drop(gpus);
    turns::are_short();
    holds::begin();
    Some(gpu)
}

impl Gpu {
    fn meet(page: &Path) -> Option<&'static Gpu> {
        let time = GuestTime::open(page).ok()?;
        let id = CString::new(page.file_stem()?.as_encoded_bytes()).ok()?;
        // The timer has its GPU, and the GPU its timer: one of them is there first.
        let place = Box::leak(Box::<Gpu>::new_uninit());
        let timer = Timer::new(due, place.as_mut_ptr().cast());
        Some(place.write(Gpu {
            id,
            time,
            timer,
            ended: AtomicBool::new(false),
        }))
    }

    /// The guest, or QEMU itself, is about to access the GPU.
    pub fn before_access(&self, access: Access) {
        if let Some(processor) = emulator::processor() {
            processor.waits(access.takes());
            turns::are_short();
        }
        self.time.set_now(emulator::now());
    }

    /// The GPU has answered, and may have something else to do next.
    pub fn after_answer(&self) {
        self.set_timer();
    }

    /// Tells the GPU what time it is, and learns what it has to do next.
    pub fn meanwhile(&self, now: u64) {
        self.time.set_now(now);
        self.set_timer();
    }

    /// Whether it has something to do before it is accessed again.
    pub fn is_busy(&self) -> bool {
        self.next().is_some()
    }

    fn next(&self) -> Option<u64> {
        let next = self.time.next();
        (next != NEVER && !self.ended.load(Ordering::Relaxed)).then_some(next)
    }

    fn set_timer(&self) {
        if let Some(next) = self.next() {
            // An interrupt up to which it has gone on unseen is due when the guest is there.
            let reached = self.time.now();
            let ahead = next < reached && reached > emulator::now();
            self.timer.set(if ahead { reached } else { next });
        }
    }

    /// An event of the GPU is due, or it has an interrupt.
    fn due(&self) {
        let now = emulator::now();
        self.time.set_now(now);
        if self.time.next() <= now && self.time.catch_up(until_seen(now)).is_err() {
            self.ended.store(true, Ordering::Relaxed);
            return;
        }
        if self.time.now() <= now && self.time.take_raised() {
            // SAFETY: QEMU calls timers with its lock held.
            unsafe { emulator::interrupt(&self.id) };
            turns::are_short();
        }
        self.set_timer();
    }
}

/// Until when nobody sees what a GPU does, from now on: where all processors are idle, until
/// the next timer of QEMU's. So the guest's clock need not stop at each of its events, of
/// which there may be a million in a second.
fn until_seen(now: u64) -> u64 {
    if !main_loop::finds_processors_idle() {
        return now;
    }
    // That of the GPU itself is not set, since it is due.
    emulator::next_timer().map_or(now, |left| now.saturating_add(left))
}

/// What QEMU's timer calls.
unsafe extern "C" fn due(gpu: *mut c_void) {
    // SAFETY: The argument is a GPU's place, which is never freed; the timer is set first
    // by a GPU that is in it.
    unsafe { &*gpu.cast::<Gpu>() }.due();
}
