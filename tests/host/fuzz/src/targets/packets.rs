// SPDX-License-Identifier: GPL-2.0-only
//! Packets in the rings of programs and of the driver.

use vgpu_model::DoorbellWidth;

use super::scene::{Scene, LONG};
use crate::input::Input;

/// Dwords of a program's ring of one page.
const RING: u64 = 1024;
/// The word of a descriptor that says that packets are AQL.
const AQL_CONTROL: u64 = 181;

/// Any packets in an AQL queue.
pub fn aql(input: &[u8]) {
    let mut scene = Scene::new();
    let queue = scene.queues[0];
    let mut input = Input::new(input);
    let pause = u64::from(input.u16()) * 16;
    for packet in input.words().chunks(16) {
        let mut words = [0; 16];
        words[..packet.len()].copy_from_slice(packet);
        if scene.driver.get64(queue.write) == queue.packets {
            break;
        }
        scene.driver.put_packet(&queue, &words);
        scene.driver.ring(&queue);
        scene.run(pause);
    }
    unmap_and_map(scene);
}

/// Any words in a program's queue of PM4 packets.
pub fn pm4(input: &[u8]) {
    let mut scene = Scene::new();
    let queue = scene.queues[1];
    scene.driver.unmap_all();
    scene.driver.set_mqd(&queue, 0, AQL_CONTROL, 0);
    let queues = scene.queues;
    scene.driver.map(&queues);
    let mut input = Input::new(input);
    let split = usize::from(input.u8());
    let words = input.words();
    let (first, second) = words.split_at(split.min(words.len()));
    let mut write = 0;
    for part in [first, second] {
        for word in part {
            scene.driver.put32(queue.ring + write % RING * 4, *word);
            write += 1;
        }
        scene.driver.put64(queue.write, write);
        let device = &mut scene.driver.device;
        device.doorbell_write(queue.doorbell, write, DoorbellWidth::Qword);
        scene.run(100_000);
    }
    unmap_and_map(scene);
}

/// Any words in the ring of the scheduler's firmware.
pub fn scheduler(input: &[u8]) {
    let mut scene = Scene::new();
    let mut input = Input::new(input);
    let pause = u64::from(input.u16()) * 16;
    let count = input.below(64);
    let words = input.words();
    let (first, second) = words.split_at(count.min(words.len()));
    scene.driver.submit(first);
    scene.run(pause);
    scene.driver.submit(second);
    scene.close();
}

/// Any words in the ring of an engine for copies.
pub fn sdma(input: &[u8]) {
    let mut scene = Scene::new();
    let mut words = Input::new(input).words();
    words.truncate(1023);
    scene.driver.copies(&words);
    scene.close();
}

/// Whatever its packets were, a queue leaves and comes back.
fn unmap_and_map(mut scene: Scene) {
    scene.run(LONG);
    scene.driver.unmap(0, 3, 0);
    scene.run(LONG);
    let queues = scene.queues;
    scene.driver.run_list(&queues);
    scene.close();
}
