// SPDX-License-Identifier: GPL-2.0-only
//! The thread that advances GPU time, and the clock it follows.
//!
//! An emulated CPU is far slower than a real one and the model is not, so GPU
//! time passes more slowly than the guest's: `dilation` guest nanoseconds for
//! each of its own. That keeps their ratio plausible.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use vgpu_model::{Device, GpuNanos};

/// Converts the host's monotonic time into GPU time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    dilation: u32,
}

impl Clock {
    pub fn new(dilation: u32) -> Clock {
        Clock {
            start: Instant::now(),
            dilation: dilation.max(1),
        }
    }

    pub fn now(&self) -> GpuNanos {
        let host = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        GpuNanos(host / u64::from(self.dilation))
    }

    pub fn dilation(&self) -> u32 {
        self.dilation
    }

    /// How long the host has to wait until this GPU time.
    fn until(&self, at: GpuNanos) -> Duration {
        let nanos = at.since(self.now()).saturating_mul(self.dilation.into());
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
        thread::spawn(move || runner.run());
        gpu
    }

    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Accesses the model as it is at this moment, and wakes its thread in case
    /// the access gave it something to do.
    pub fn access<R>(&self, access: impl FnOnce(&mut Device) -> R) -> R {
        let mut device = self.lock();
        device.advance_to(self.clock.now());
        let result = access(&mut device);
        drop(device);
        self.changed.notify_one();
        result
    }

    fn run(&self) {
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
        let clock = Clock {
            start: Instant::now() - Duration::from_millis(320),
            dilation: 32,
        };
        let now = clock.now().0;
        assert!(now >= 10_000_000, "{now}");
        let wait = clock.until(GpuNanos(now + 1_000_000_000));
        assert!(wait > Duration::from_secs(31) && wait <= Duration::from_secs(32));
        assert_eq!(clock.until(GpuNanos(0)), Duration::ZERO);
    }
}
