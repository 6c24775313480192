// SPDX-License-Identifier: GPL-2.0-only
//! The engines that the scheduler and the packet processors work with.

use crate::bus::Buses;
use crate::compute::Compute;
use crate::host::Host;
use crate::queue::Queues;
use crate::terms::GpuNanos;

/// Each engine keeps its fields to itself. Whatever concerns several of them
/// borrows this and calls their methods in turn.
#[derive(Clone)]
pub struct Engines {
    pub bus: Buses,
    /// Of a virtual function.
    pub host: Host,
    /// Rings and doorbells.
    pub queues: Queues,
    pub compute: Compute,
    pub channel: SaveChannel,
}

impl Engines {
    pub fn new(mut bus: Buses) -> Engines {
        Engines {
            host: Host::new(&mut bus),
            compute: Compute::new(&bus.config),
            bus,
            queues: Queues::default(),
            channel: SaveChannel::default(),
        }
    }

    /// Drops all work.
    pub fn reset(&mut self) {
        self.bus.reset();
        self.host.reset();
        self.queues.reset(&mut self.bus);
        self.compute = Compute::new(&self.bus.config);
        let now = self.bus.now();
        for die in 0..self.bus.config.xcc_count {
            self.bus.accounts.units_changed(now, die, 0);
        }
        self.channel = SaveChannel { free: now };
    }

    pub fn launch_all(&mut self) {
        self.compute.launch_all(&mut self.bus, &mut self.queues);
    }
}

/// The memory channel that all saves and restores share.
#[derive(Clone, Default)]
pub struct SaveChannel {
    free: GpuNanos,
}

impl SaveChannel {
    /// When a transfer of this many bytes ends that may begin at `from`.
    pub fn transfer(&mut self, bus: &Buses, from: GpuNanos, bytes: u64) -> GpuNanos {
        let start = from.max(self.free);
        let fixed = bus.config.timing.save_fixed;
        let end = start.after(bus.config.save_time(bytes).0 - fixed);
        self.free = end;
        end.after(fixed)
    }
}
