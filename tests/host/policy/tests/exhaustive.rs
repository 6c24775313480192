// SPDX-License-Identifier: GPL-2.0-only
//! Every sequence of events up to a length, with three queues at three levels,
//! from nothing, from an inversion, from a stop, and from one that others may join. Sequences that lead to the
//! same state are followed once.
//!
//! `GP_DEPTH` says how long; the report says how many states were visited.

use std::collections::{BTreeMap, HashMap};

use gpreempt_host_tests::world::{Small, World};

/// A walk through everything that can happen.
#[derive(Default)]
struct Walk {
    events: Vec<Small>,
    /// How far each state was followed from there on.
    visited: HashMap<u64, u32>,
    steps: u64,
    sequences: u64,
    reasons: BTreeMap<&'static str, u64>,
    path: Vec<Small>,
}

impl Walk {
    fn follow(&mut self, world: &World, depth: u32) {
        if depth == 0 {
            self.sequences += 1;
            match world.clone().end() {
                Ok(watch) => {
                    for (reason, count) in watch.reasons {
                        *self.reasons.entry(reason).or_default() += count;
                    }
                }
                Err(what) => panic!("after {:?}, letting go: {what}", self.path),
            }
            return;
        }
        for event in self.events.clone() {
            self.path.push(event);
            self.steps += 1;
            let mut world = world.clone();
            if let Err(what) = world.small_step(event) {
                panic!("after {:?}: {what}", self.path);
            }
            let followed = self.visited.entry(world.key()).or_insert(0);
            if *followed < depth {
                *followed = depth;
                self.follow(&world, depth - 1);
            }
            self.path.pop();
        }
    }
}

#[test]
fn every_short_sequence_keeps_the_properties() {
    let wanted = std::env::var("GP_DEPTH").ok();
    let depth: u32 = wanted.map_or(4, |text| {
        text.parse().expect("GP_DEPTH must be a number of events")
    });
    let mut walk = Walk {
        events: Small::all(),
        ..Walk::default()
    };
    // The lowest runs and the highest waits; three looks later the lowest is
    // stopped, and the highest runs; and then the one between them runs as well.
    let way = [
        Small::Runs(1),
        Small::Starves(3),
        Small::Nothing,
        Small::Nothing,
        Small::Runs(3),
        Small::Runs(2),
        Small::Nothing,
    ];
    for taken in [0, 3, 5, 7] {
        let mut world = World::small();
        for &event in way.iter().take(taken) {
            world.small_step(event).expect("the way there is sound");
        }
        walk.path.clear();
        walk.follow(&world, depth);
    }
    println!(
        "{} states visited by {} steps; {} sequences of {depth} events end differently; decisions in those: {:?}",
        walk.visited.len(),
        walk.steps,
        walk.sequences,
        walk.reasons
    );
    for reason in [
        "inversion",
        "calm",
        "bound",
        "no-progress",
        "budget",
        "failure",
        "release",
    ] {
        assert!(
            walk.reasons.contains_key(reason),
            "no sequence leads to {reason}"
        );
    }
}
