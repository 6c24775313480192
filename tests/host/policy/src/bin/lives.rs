// SPDX-License-Identifier: GPL-2.0-only
//! Lives through random lives and prints one line for each: a number into which all
//! goes that was decided and shown, or the property that did not hold:
//! `lives COUNT`. The lives are the same in every run, so that two policies that
//! print the same have done the same.

use gpreempt_host_tests::random::Random;
use gpreempt_host_tests::watch::Watch;
use gpreempt_host_tests::world::{Small, World};

/// How many bytes move a life; about three of them make a step.
const BYTES: usize = 1_200;

/// How many events a life in the small world has.
const EVENTS: usize = 400;

fn live(kind: usize, random: &mut Random) -> Result<Watch, String> {
    let mut world = match kind {
        0 | 1 => World::default(),
        _ => World::small(),
    };
    world.watch.write_down();
    if kind < 2 {
        return world.live(&random.bytes(BYTES));
    }
    let all = Small::all();
    for _ in 0..EVENTS {
        world.small_step(all[random.below(all.len())])?;
    }
    world.end()
}

fn main() {
    let count = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let count: usize = count.expect("usage: lives COUNT");
    let mut random = Random::new(1);
    for number in 0..count {
        match live(number % 4, &mut random) {
            Ok(watch) => println!("{:016x}", watch.written()),
            Err(what) => println!("broken: {}", what.lines().next().unwrap_or_default()),
        }
    }
}
