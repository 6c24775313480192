// SPDX-License-Identifier: GPL-2.0-only
//! Lives through one input with everything printed, to see what a failure is
//! about: `GP_REPLAY='1 2 3' cargo test --test replay -- --nocapture`.

use gpreempt_host_tests::world::World;

#[test]
fn replay() {
    let Ok(text) = std::env::var("GP_REPLAY") else {
        return;
    };
    let bytes: Vec<u8> = text
        .split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect();
    let mut world = World::default();
    world.trace = true;
    if let Err(what) = world.live(&bytes) {
        panic!("{what}");
    }
}
