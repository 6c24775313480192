// SPDX-License-Identifier: GPL-2.0-only
//! A small virtual GPU with two processes and three queues on the hardware, for
//! targets that disturb it. What they have in common is that afterwards nothing
//! has panicked, time still passes, and the device can still say how it is.

use vgpu_model::testing::driver::{Driver, TestProcess, TestQueue, Work};
use vgpu_model::{Config, Timing};

/// Guest memory. Each queue has room for its waves in it, of four units.
const GUEST: u64 = 12 << 20;
/// The longest that is waited for anything, in nanoseconds.
pub const LONG: u64 = 2_000_000;
/// How many events of the GPU may come to pass in that time: one each nanosecond, as the
/// words of a long buffer are executed.
const MOST_EVENTS: u64 = LONG;

/// What a wave takes to execute an instruction of machine code: so long that it executes
/// no more than a hundred while anything is waited for. Any packet may be a dispatch whose
/// waves never end, as many as there is room for.
const INSTRUCTION: u64 = LONG / 100;
/// So many instructions of one wave come before others have their turn.
const TURN: u32 = 16;
/// A handler that does not end is given up soon.
const HANDLER_TURNS: u64 = 200;
/// What any packet takes: so long that a thousand of them are read while anything is waited
/// for. Any of them may lead to a buffer of a million words.
const PACKET: u64 = LONG / 1_000;
/// What is asked for again and again is asked for a hundred times while anything is waited
/// for.
const AGAIN: u64 = LONG / 100;
/// The scheduler's patience with a queue that does not leave ends in that time, too. It is
/// forty of these, as the driver in miniature has it.
const PATIENCE: u64 = LONG / 100;

thread_local! {
    /// Making a scene takes longer than most inputs.
    static KEPT: Scene = Scene::make();
}

/// There is one at a time in a thread, as all have the same memory.
pub struct Scene {
    pub driver: Driver,
    pub processes: [TestProcess; 2],
    pub queues: [TestQueue; 3],
}

impl Scene {
    /// As it is before any input: everything is mapped, and one queue has work.
    pub fn new() -> Scene {
        KEPT.with(|kept| Scene {
            driver: kept.driver.again(),
            ..*kept
        })
    }

    fn make() -> Scene {
        let config = Config {
            cu_per_shader_engine: 1,
            log_capacity: 64,
            wave_quantum: TURN,
            handler_turns: HANDLER_TURNS,
            timing: Timing {
                instruction: INSTRUCTION,
                packet: PACKET,
                aql_packet: PACKET,
                poll: AGAIN,
                retry: AGAIN,
                unmap_latency_unit: PATIENCE,
                process_quantum_unit: LONG / 10,
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
        driver.keep();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TARGETS;
    use vgpu_model::{Bus, Vram};

    /// Everything that can be seen of a scene from outside, memory among it.
    fn seen(scene: &Scene) -> (String, Vec<u8>, Vec<u8>) {
        let driver = &scene.driver;
        let device = &mut driver.device.clone();
        let text = format!(
            "{:#?}\n{:#?}\n{:#?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}",
            device.state(),
            device.queues(),
            device.registers(),
            device.hiq_log(0),
            device.timeline(0),
            device.units(),
            device.stops(),
            device.faults(),
            device.config(),
        );
        let mut guest = vec![0; GUEST as usize];
        driver.bus.read(0, &mut guest).unwrap();
        let mut video = vec![0; driver.vram.size() as usize];
        driver.vram.read(0, &mut video);
        (text, guest, video)
    }

    #[track_caller]
    fn same(one: &Scene, other: &Scene) {
        let (one, other) = (seen(one), seen(other));
        assert_eq!(one.0, other.0);
        assert!(one.1 == other.1, "guest memory differs");
        assert!(one.2 == other.2, "video memory differs");
    }

    /// What happens to a scene in most of its parts.
    fn disturb(scene: &mut Scene) {
        scene.run(50_000);
        scene.driver.unmap(0, 3, 0);
        scene.run(LONG);
        let work = Work {
            workgroups: 9,
            cost: 1_000,
            ..Work::default()
        };
        let queues = scene.queues;
        scene.driver.dispatch(&queues[0], work);
        scene.driver.run_list(&queues);
        scene.run(LONG);
    }

    #[test]
    fn a_scene_is_as_one_that_is_made_anew_whatever_came_before() {
        let users = TARGETS
            .iter()
            .filter(|target| target.files.contains(&"scene.rs"));
        for target in users {
            for input in crate::corpus::inputs_of(target.name).unwrap() {
                (target.run)(&input);
            }
        }
        let (mut again, mut made) = (Scene::new(), Scene::make());
        same(&again, &made);
        disturb(&mut again);
        disturb(&mut made);
        same(&again, &made);
    }

    #[test]
    fn a_scene_shows_that_it_was_disturbed() {
        let before = seen(&Scene::new());
        let mut scene = Scene::new();
        disturb(&mut scene);
        let after = seen(&scene);
        assert_ne!(before.0, after.0);
        assert!(before.1 != after.1 && before.2 != after.2);
    }
}
