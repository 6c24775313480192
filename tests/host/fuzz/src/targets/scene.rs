// SPDX-License-Identifier: GPL-2.0-only
//! A small virtual GPU with two processes and three queues on the hardware, for
//! targets that disturb it. What they have in common is that afterwards nothing
//! has panicked, time still passes, and the device can still say how it is.

use vgpu_model::testing::driver::{Driver, TestProcess, TestQueue, Work};
use vgpu_model::{Config, Timing};

/// Guest memory. Each queue has room for its waves in it, of four units.
const GUEST: u64 = 12 << 20;
/// The longest that is waited for anything, in nanoseconds.
pub const LONG: u64 = 20_000_000;
/// How many events of the GPU may come to pass in that time: one each nanosecond, as the
/// words of a long buffer are executed.
const MOST_EVENTS: u64 = LONG;

/// What a wave takes to execute an instruction of machine code: so long that it executes
/// a thousand of them while anything is waited for. Any packet may be a dispatch whose
/// waves never end.
pub const INSTRUCTION: u64 = 20_000;
/// A handler that does not end is given up soon.
const HANDLER_TURNS: u64 = 2_000;

pub struct Scene {
    pub driver: Driver,
    pub processes: [TestProcess; 2],
    pub queues: [TestQueue; 3],
}

impl Scene {
    /// Everything is mapped, and one queue has work.
    pub fn new() -> Scene {
        let config = Config {
            cu_per_shader_engine: 1,
            log_capacity: 64,
            wave_quantum: 16,
            handler_turns: HANDLER_TURNS,
            timing: Timing {
                instruction: INSTRUCTION,
                ..Timing::default()
            },
            ..Config::default()
        };
        let mut driver = Driver::with_guest(config, GUEST);
        let processes = [driver.process(40), driver.process(41)];
        let queues = [
            driver.queue(processes[0], 1),
            driver.queue(processes[0], 2),
            driver.queue(processes[1], 0),
        ];
        driver.map(&queues);
        let work = Work {
            workgroups: 4,
            cost: 300_000,
            ..Work::default()
        };
        driver.dispatch(&queues[2], work);
        Scene {
            driver,
            processes,
            queues,
        }
    }

    /// Lets time pass, event by event. Events without end at one time would be a
    /// device that hangs.
    pub fn run(&mut self, nanos: u64) {
        let device = &mut self.driver.device;
        let end = device.now().after(nanos);
        let mut events = 0;
        while let Some(at) = device.next_event().filter(|at| *at <= end) {
            device.advance_to(at);
            events += 1;
            assert!(events < MOST_EVENTS, "it has more to do than time passes");
        }
        device.advance_to(end);
    }

    /// After any input: the device answers, and takes part in a reset.
    pub fn close(mut self) {
        self.run(LONG);
        let device = &mut self.driver.device;
        let _ = (device.state(), device.queues(), device.registers());
        let _ = (device.timeline(0), device.units(), device.hiq_log(0));
        device.reset();
        assert!(device.state().slots.is_empty(), "a reset leaves a queue");
        self.run(LONG);
    }
}
