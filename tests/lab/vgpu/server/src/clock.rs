// SPDX-License-Identifier: GPL-2.0-only
//! The model as its users share it, the thread that advances it, and the clock that it
//! follows.
//!
//! An emulated processor is slower than a real one and the model is not, so GPU time
//! passes more slowly than the guest's. That keeps their ratio plausible.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use vgpu_model::{Device, GpuNanos};

use crate::guest_time::{GuestTime, NEVER};

/// Nanoseconds of the host for one of the GPU's, where both follow the host's clock: what
/// QEMU makes of an access to a register, 30 us, is 1 us for the GPU.
pub const HOST_DILATION: u32 = 32;
/// The same where guest and GPU share the guest's clock, by which an instruction takes a
/// nanosecond: a host of these GPUs executes several at a time.
pub const GUEST_DILATION: u32 = 8;

/// Where GPU time comes from.
#[derive(Clone)]
pub enum Clock {
    /// The host's monotonic time.
    Host { start: Instant, dilation: u32 },
    /// The guest's, which QEMU tells.
    Guest(Arc<GuestTime>),
}

impl Clock {
    pub fn of_host(dilation: u32) -> Clock {
        Clock::Host {
            start: Instant::now(),
            dilation: dilation.max(1),
        }
    }

    pub fn now(&self) -> GpuNanos {
        let nanos = match self {
            Clock::Host { start, .. } => {
                u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
            }
            Clock::Guest(time) => time.now(),
        };
        GpuNanos(nanos / u64::from(self.dilation()))
    }

    pub fn dilation(&self) -> u32 {
        match self {
            Clock::Host { dilation, .. } => *dilation,
            Clock::Guest(_) => GUEST_DILATION,
        }
    }

    /// How long the host has to wait until this GPU time.
    fn until(&self, at: GpuNanos) -> Duration {
        let nanos = at.since(self.now()).saturating_mul(self.dilation().into());
        Duration::from_nanos(nanos)
    }
}

/// The model, shared by the threads that access it.
pub struct Gpu {
    device: Mutex<Device>,
    changed: Condvar,
    clock: Clock,
}

impl Gpu {
    /// Starts the thread that runs the model; it ends with the process.
    pub fn start(device: Device, clock: Clock) -> Arc<Gpu> {
        let gpu = Arc::new(Gpu {
            device: Mutex::new(device),
            changed: Condvar::new(),
            clock,
        });
        let runner = Arc::clone(&gpu);
        thread::spawn(move || match &runner.clock {
            Clock::Host { .. } => runner.follow_host(),
            Clock::Guest(time) => runner.follow_guest(time),
        });
        gpu
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Accesses the model as it is at this moment, and wakes its thread in case
    /// the access gave it something to do.
    pub fn access<R>(&self, access: impl FnOnce(&mut Device) -> R) -> R {
        let mut device = self.lock();
        device.advance_to(self.clock.now());
        let result = access(&mut device);
        if let Clock::Guest(time) = &self.clock {
            let next = device.next_event().filter(|&at| at != GpuNanos::NEVER);
            time.set_next(next.map_or(NEVER, |at| at.0.saturating_mul(GUEST_DILATION.into())));
        }
        drop(device);
        self.changed.notify_one();
        result
    }

    fn follow_host(&self) {
        let mut device = self.lock();
        loop {
            device.advance_to(self.clock.now());
            device = match device.next_event().filter(|&at| at != GpuNanos::NEVER) {
                None => self
                    .changed
                    .wait(device)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(at) => {
                    let (device, _) = self
                        .changed
                        .wait_timeout(device, self.clock.until(at))
                        .unwrap_or_else(PoisonError::into_inner);
                    device
                }
            };
        }
    }

    fn follow_guest(&self, time: &GuestTime) {
        let mut ask = 0;
        loop {
            ask = time.wait_for_ask(ask);
            self.access(|_| ());
            while time.goes_on() {
                self.access(|_| ());
            }
            time.answer(ask);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Device> {
        // A panic is a bug in the model, and the test that provoked it must see
        // it: the device ends instead of continuing in a wrong state.
        self.device.lock().unwrap_or_else(|_| {
            eprintln!("vgpu: the model has panicked; the device ends");
            std::process::exit(3);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpu_time_is_diluted() {
        let clock = Clock::Host {
            start: Instant::now() - Duration::from_millis(320),
            dilation: 32,
        };
        let now = clock.now().0;
        assert!(now >= 10_000_000, "{now}");
        let wait = clock.until(GpuNanos(now + 1_000_000_000));
        assert!(wait > Duration::from_secs(31) && wait <= Duration::from_secs(32));
        assert_eq!(clock.until(GpuNanos(0)), Duration::ZERO);
    }

    #[test]
    fn the_guests_time_is_diluted_and_stands_still_until_it_is_told() {
        let time = Arc::new(GuestTime::without_guest().unwrap());
        let clock = Clock::Guest(Arc::clone(&time));
        assert_eq!(clock.now(), GpuNanos(0));
        time.set_now(1_000);
        assert_eq!(clock.now(), GpuNanos(1_000 / u64::from(GUEST_DILATION)));
    }
}
