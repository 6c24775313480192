// SPDX-License-Identifier: GPL-2.0-only
//! Turns of the guest's processors, and the pace of an idle guest.
//!
//! QEMU executes one processor after the other, each until half of the time to its next
//! timer has passed. A timer of ours keeps that short while instructions are executed, so
//! that no processor stands still for long by the clock that all of them share. While the
//! guest is idle, the same timer is rare, and there the guest waits for the host's time:
//! its clock would otherwise race through everything that an idle kernel does now and
//! then, and take one of the host's processors for that.

use std::ffi::c_void;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::emulator::{self, Timer};
use crate::gpu;
use crate::random::{self, Random};

/// So long is a turn of two busy processors together: a few microseconds of the GPU.
const SHORT_NS: u64 = 20_000;
/// So often does an idle guest wait for the host's time.
const LONG_NS: u64 = 1_000_000;
/// Whoever sets this wants the guest's time to pass as fast as it can while a GPU works.
const HURRY: &str = "GUEST_CLOCK_HURRIES";

struct Turns {
    /// How long a turn is at the moment.
    length: u64,
    /// When this one began, and what was executed until then.
    began: u64,
    instructions: u64,
    /// When the guest's time and the host's were the same last.
    guest: u64,
    host: Instant,
    /// What the lengths of short turns follow from, where they are not all the same: they
    /// are half as long, or as long again.
    random: Option<Random>,
}

static TURNS: LazyLock<Mutex<Turns>> = LazyLock::new(|| {
    let seed = random::seed();
    Mutex::new(Turns::new(emulator::now(), emulator::instructions(), seed))
});
static TIMER: LazyLock<Timer> = LazyLock::new(|| Timer::new(is_over, std::ptr::null_mut()));
static HURRIES: LazyLock<bool> = LazyLock::new(|| std::env::var_os(HURRY).is_some());

fn turns() -> MutexGuard<'static, Turns> {
    TURNS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something happens in the guest: turns are short from here on.
pub fn are_short() {
    let mut turns = turns();
    if turns.length > 2 * SHORT_NS {
        turns.length = turns.short();
        TIMER.set(turns.next(emulator::now(), emulator::instructions()));
    }
}

/// What QEMU's timer calls.
unsafe extern "C" fn is_over(_: *mut c_void) {
    let now = emulator::now();
    let mut turns = turns();
    let ahead = turns.ahead_of_host(now, Instant::now());
    if let Some(ahead) = ahead {
        let gpus = gpu::all();
        for gpu in &gpus {
            gpu.meanwhile(now);
        }
        if !(*HURRIES && gpus.iter().any(|gpu| gpu.is_busy())) {
            thread::sleep(ahead);
        }
        turns.are_level(now, Instant::now());
    }
    let instructions = emulator::instructions();
    turns.adapt(now, instructions);
    TIMER.set(turns.next(now, instructions));
}

impl Turns {
    fn new(now: u64, instructions: u64, seed: Option<u64>) -> Turns {
        Turns {
            length: LONG_NS,
            began: now,
            instructions,
            guest: now,
            host: Instant::now(),
            random: seed.map(Random),
        }
    }

    /// The length of a short turn.
    fn short(&mut self) -> u64 {
        let random = self.random.as_mut();
        random.map_or(SHORT_NS, |random| SHORT_NS / 2 + random.below(SHORT_NS))
    }

    /// A turn begins; when it is over.
    fn next(&mut self, now: u64, instructions: u64) -> u64 {
        self.began = now;
        self.instructions = instructions;
        now + self.length
    }

    /// Turns get longer while the guest is idle for most of them.
    fn adapt(&mut self, now: u64, instructions: u64) {
        let was_busy = instructions - self.instructions > (now - self.began) / 2;
        self.length = match was_busy {
            true => self.short(),
            false => (self.length * 2).min(LONG_NS),
        };
    }

    /// How far the guest's time has run ahead of the host's, now and then.
    fn ahead_of_host(&self, now: u64, host: Instant) -> Option<Duration> {
        let passed = now - self.guest;
        let ahead = Duration::from_nanos(passed).saturating_sub(host - self.host);
        (passed >= LONG_NS).then_some(ahead.min(Duration::from_nanos(LONG_NS)))
    }

    fn are_level(&mut self, now: u64, host: Instant) {
        self.guest = now;
        self.host = host;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_short_while_the_guest_is_busy_and_grow_while_it_is_idle() {
        let mut turns = Turns::new(0, 0, None);
        turns.length = SHORT_NS;
        let over = turns.next(1_000, 0);
        assert_eq!(over, 1_000 + SHORT_NS);
        turns.adapt(over, SHORT_NS);
        assert_eq!(turns.length, SHORT_NS);
        let mut now = over;
        for _ in 0..10 {
            now = turns.next(now, 0);
            turns.adapt(now, 5);
        }
        assert_eq!(turns.length, LONG_NS);
        now = turns.next(now, 0);
        turns.adapt(now, LONG_NS);
        assert_eq!(turns.length, SHORT_NS);
    }

    #[test]
    fn who_is_ahead_waits_and_who_is_late_does_not() {
        let mut turns = Turns::new(0, 0, None);
        let begin = turns.host;
        assert_eq!(turns.ahead_of_host(LONG_NS - 1, begin), None);
        let ahead = turns.ahead_of_host(LONG_NS, begin + Duration::from_nanos(LONG_NS / 4));
        assert_eq!(ahead, Some(Duration::from_nanos(LONG_NS * 3 / 4)));
        let late = turns.ahead_of_host(LONG_NS, begin + Duration::from_secs(1));
        assert_eq!(late, Some(Duration::ZERO));
        // What it lost to the host it does not catch up with.
        turns.are_level(LONG_NS, begin + Duration::from_secs(1));
        let next = turns.ahead_of_host(2 * LONG_NS, begin + Duration::from_secs(1));
        assert_eq!(next, Some(Duration::from_nanos(LONG_NS)));
    }

    #[test]
    fn a_seed_says_how_long_short_turns_are() {
        let lengths = |seed| {
            let mut turns = Turns::new(0, 0, seed);
            std::array::from_fn::<u64, 50, _>(|_| turns.short())
        };
        assert!(lengths(None).iter().all(|&length| length == SHORT_NS));
        assert_eq!(lengths(Some(1)), lengths(Some(1)));
        assert_ne!(lengths(Some(1)), lengths(Some(2)));
        let bounds = SHORT_NS / 2..SHORT_NS / 2 * 3;
        assert!(lengths(Some(3))
            .iter()
            .all(|length| bounds.contains(length)));
    }
}
