// SPDX-License-Identifier: GPL-2.0-only
//! Registers, doorbells, memory and time in any order, as a driver that has gone
//! mad would use them.

use vgpu_model::testing::driver::{packet, TestQueue, Work};
use vgpu_model::{Config, DoorbellWidth, Faults, Fence, Spoil, Vram};

use super::scene::{Scene, LONG};
use crate::input::Input;

/// The most operations of an input.
const MOST: usize = 64;
/// Pages that dispatches and runlists may take of guest memory.
const MOST_WORK: usize = 24;

pub fn operations(input: &[u8]) {
    let mut scene = Scene::new();
    let mut input = Input::new(input);
    let mut work = 0;
    for _ in 0..MOST {
        if input.is_empty() {
            break;
        }
        let which = input.u8() % 16;
        if matches!(which, 8 | 9) {
            work += 1;
            if work > MOST_WORK {
                continue;
            }
        }
        operate(&mut scene, which, &mut input);
    }
    scene.close();
}

fn operate(scene: &mut Scene, which: u8, input: &mut Input<'_>) {
    let bytes = scene.driver.device.config().register_bytes();
    let queue = scene.queues[input.below(scene.queues.len())];
    match which {
        0 => scene.run(u64::from(input.u16()) * 64),
        1 => {
            let offset = u64::from(input.u32()) % bytes;
            let value = input.u32();
            scene.driver.device.register_write(offset, value);
        }
        2 => {
            let offset = u64::from(input.u32()) % (2 * bytes);
            scene.driver.device.register_read(offset);
        }
        3 => slot_register(scene, input),
        4 => {
            let offset = u64::from(input.u32()) % (2 * Config::DOORBELL_BYTES);
            let width = match input.u8() % 2 {
                0 => DoorbellWidth::Dword,
                _ => DoorbellWidth::Qword,
            };
            scene
                .driver
                .device
                .doorbell_write(offset, input.u64(), width);
        }
        5 => {
            let value = input.u64();
            scene.driver.put64(queue.write, value);
            scene
                .driver
                .device
                .doorbell_write(queue.doorbell, value, DoorbellWidth::Qword);
        }
        6 => {
            let (dword, value) = (u64::from(input.u16()) % 1024, input.u32());
            scene.driver.set_mqd(&queue, 0, dword, value);
        }
        7 => saved_state(scene, &queue, input),
        8 => {
            scene.driver.dispatch(&queue, some_work(input));
        }
        9 => {
            let queues = scene.queues;
            let count = 1 + input.below(queues.len());
            scene
                .driver
                .run_list_of(&queues[..count], u32::from(input.u8() % 16));
        }
        10 => scene
            .driver
            .unmap(input.u32() & 0x33, u32::from(input.u8() % 8), input.u32()),
        11 => scene.driver.query(),
        12 => {
            let count = usize::from(input.u8() % 24);
            let body: Vec<u32> = (0..=count).map(|_| input.u32()).collect();
            scene.driver.submit(&packet(input.u32() & 0xff, &body));
        }
        13 => scene.driver.device.set_faults(some_faults(&queue, input)),
        14 => {
            let at = u64::from(input.u32()) % (scene.driver.vram.size() - 8);
            scene.driver.vram.write(at, &input.u64().to_le_bytes());
        }
        _ => {
            scene.driver.device.reset();
            scene.run(LONG / 100);
        }
    }
}

/// A register of a queue's slot, which a selector chooses.
fn slot_register(scene: &mut Scene, input: &mut Input<'_>) {
    let selector = u32::from(input.u8());
    let slot = [selector & 3, (selector >> 2) & 3, (selector >> 4) & 7];
    let index = u32::from(input.u8());
    scene.driver.write_slot(slot, index, input.u32());
}

/// What was saved of a queue, or will be.
fn saved_state(scene: &mut Scene, queue: &TestQueue, input: &mut Input<'_>) {
    let bytes = scene.driver.area_bytes() - 8;
    // Most of what is in it is at its beginning.
    let at = match input.u8() % 4 {
        0 => u64::from(input.u32()) % bytes,
        _ => u64::from(input.u16()) % bytes,
    };
    scene.driver.put64((queue.area + at) & !3, input.u64());
}

fn some_work(input: &mut Input<'_>) -> Work {
    let (workgroups, items, cost) = (input.u8(), input.u16(), input.u16());
    Work {
        workgroups: u32::from(workgroups) + 1,
        items,
        cost: u64::from(cost) * 16,
        // A little more than there is, too.
        demand: u64::from(cost) % 1002,
        vgprs: u32::from(input.u8() % 64 + 1) * 8,
        lds: input.u32() % (96 << 10),
        barrier: input.u8() % 2 == 0,
    }
}

fn some_faults(queue: &TestQueue, input: &mut Input<'_>) -> Faults {
    let bits = input.u8();
    let some = |bit: u8| {
        let set = bits & (1 << bit) != 0;
        set.then_some(queue.doorbell).into_iter().collect()
    };
    Faults {
        unyielding: some(0),
        endless: some(1),
        corrupt_saves: some(2),
        fence: match (bits >> 3) % 4 {
            0 => Fence::Never,
            1 => Fence::Late(u64::from(input.u16()) * 64),
            _ => Fence::OnTime,
        },
        hung: bits & 0xe0 == 0xe0,
        bus_lost: bits & 0xe0 == 0xc0,
        interrupts_lost: bits & 0xe0 == 0xa0,
        spoiled_waves: (bits & 0xe0 == 0x20).then_some(Spoil::ProgramCounter),
        ..more_faults(queue, input.u8())
    }
}

fn more_faults(queue: &TestQueue, bits: u8) -> Faults {
    let set = |bit: u8| bits & (1 << bit) != 0;
    Faults {
        packets_in_halves: set(3),
        interrupts_repeated: set(0),
        interrupts_spurious: set(1),
        interrupts_overflow: set(2),
        doorbells_lost: set(3),
        read_pointers_stuck: set(4),
        copies_slow: set(5),
        copies_hung: set(6),
        faulting: set(7).then_some(queue.doorbell).into_iter().collect(),
        ..Faults::default()
    }
}
