// SPDX-License-Identifier: GPL-2.0-only
//! Page tables with any entries, under queues that use them.

use vgpu_model::testing::driver::Work;
use vgpu_model::Vram;

use super::scene::{Scene, LONG};
use crate::input::Input;

/// Entries are written into the tables of the first process, which lie one behind the
/// other, while its queues work; then they leave and come back.
pub fn entries(input: &[u8]) {
    let mut scene = Scene::new();
    let mut input = Input::new(input);
    let root = scene.processes[0].root & !0xfff;
    let queue = scene.queues[0];
    while !input.is_empty() {
        let page = input.below(8) as u64;
        let entry = u64::from(input.u16()) % 512;
        let value = match input.u8() % 4 {
            // To a page table, or to the page itself.
            0 => root + u64::from(input.u8() % 8) * 4096 + u64::from(input.u8()),
            // Something like what is there.
            1 => {
                let mut old = [0; 8];
                scene
                    .driver
                    .vram
                    .read(root + page * 4096 + entry * 8, &mut old);
                u64::from_le_bytes(old) ^ (1 << (input.u8() % 64))
            }
            _ => input.u64(),
        };
        let at = root + page * 4096 + entry * 8;
        scene.driver.vram.write(at, &value.to_le_bytes());
        scene.run(u64::from(input.u8()) * 256);
    }
    let work = Work {
        workgroups: 3,
        cost: 50_000,
        ..Work::default()
    };
    scene.driver.dispatch(&queue, work);
    scene.run(30_000);
    scene.driver.unmap(0, 3, 0);
    scene.run(LONG);
    let queues = scene.queues;
    scene.driver.run_list(&queues);
    scene.close();
}
