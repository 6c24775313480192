// SPDX-License-Identifier: GPL-2.0-only
//! Processors that the host takes from the guest for a while, as it does where guests want
//! more of them than there are.
//!
//! One at a time stands still, wherever it is, while the clock and the others go on. Which
//! one, when and for how long follows from the seed. Each is written to QEMU's log.

use std::ffi::c_void;
use std::sync::{LazyLock, Mutex, Once, PoisonError};

use crate::emulator::{self, Processor, Timer};
use crate::random::{self, Random};

/// For how many microseconds a processor is held at most. Without it none is.
const LONGEST: &str = "GUEST_CLOCK_HOLDS_US";
/// Between two there is at most so many times as long.
const APART: u64 = 4;

struct Holds {
    longest: u64,
    random: Random,
    held: Option<Processor>,
}

static HOLDS: LazyLock<Option<Mutex<Holds>>> = LazyLock::new(|| {
    let longest: u64 = std::env::var(LONGEST).ok()?.parse().ok()?;
    Some(Mutex::new(Holds {
        longest: longest.max(1) * 1_000,
        random: Random(random::seed().unwrap_or(1)),
        held: None,
    }))
});
static TIMER: LazyLock<Timer> = LazyLock::new(|| Timer::new(is_due, std::ptr::null_mut()));

/// The guest has a GPU: from the first one on.
pub fn begin() {
    static BEGIN: Once = Once::new();
    if HOLDS.is_some() {
        BEGIN.call_once(|| TIMER.set(emulator::now()));
    }
}

/// What QEMU's timer calls.
unsafe extern "C" fn is_due(_: *mut c_void) {
    if let Some(holds) = &*HOLDS {
        let now = emulator::now();
        let next = holds
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .step(now);
        TIMER.set(next);
    }
}

impl Holds {
    /// A processor that is held goes on, or one that goes on is held; until when.
    fn step(&mut self, now: u64) -> u64 {
        if let Some(processor) = self.held.take() {
            // SAFETY: QEMU calls timers with its lock held.
            unsafe { processor.go_on() };
            return now + self.random.below(APART * self.longest);
        }
        let all: Vec<Processor> = emulator::processors().collect();
        let number = self.random.below(all.len() as u64);
        let nanos = 1 + self.random.below(self.longest);
        eprintln!("guest clock: processor {number} is held at {now} for {nanos} ns");
        let processor = all.into_iter().nth(number as usize);
        // SAFETY: As above.
        self.held = processor.inspect(|processor| unsafe { processor.hold() });
        now + nanos
    }
}
