// SPDX-License-Identifier: GPL-2.0-only
//! The properties under random input: arrivals, exits, stalls, lost outcomes,
//! clock jumps and configuration changes.
//!
//! `GP_STEPS` says how many steps to take, and `GP_SEED` where the randomness
//! starts: without it every run is the same, so that a change of the code is
//! what a new failure comes from. A failure is shrunk, and its seed is kept
//! beside this file.

use std::cell::RefCell;
use std::collections::BTreeMap;

use gpreempt_host_tests::world::World;
use gpreempt_policy::Reason;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, FileFailurePersistence, RngAlgorithm, TestRng, TestRunner};

/// How many bytes a life has at most; about three of them make a step.
const BYTES: usize = 1_200;

/// Beside the reasons: what the input has to reach as well.
const REACHED: [&str; 4] = ["announced", "squeezed", "lasting", "blamed"];

/// Seeds of inputs that failed once; they are tried first.
const SEEDS: &str = "tests/properties.seeds";

fn steps() -> u64 {
    let wanted = std::env::var("GP_STEPS").ok();
    wanted.map_or(200_000, |text| {
        text.parse().expect("GP_STEPS must be a number of steps")
    })
}

/// The randomness of a round.
fn randomness(round: u32) -> TestRng {
    let start: u64 =
        std::env::var("GP_SEED").map_or(0, |text| text.parse().expect("GP_SEED must be a number"));
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&start.to_le_bytes());
    seed[8..12].copy_from_slice(&round.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &seed)
}

#[test]
fn properties_hold_over_random_lives() {
    let wanted = steps();
    let counts: RefCell<(u64, BTreeMap<&str, u64>)> = RefCell::default();
    let mut round = 0u32;
    while counts.borrow().0 < wanted {
        let config = Config {
            cases: 256,
            max_shrink_iters: 20_000,
            failure_persistence: Some(Box::new(FileFailurePersistence::Direct(SEEDS))),
            ..Config::default()
        };
        let outcome = TestRunner::new_with_rng(config, randomness(round)).run(
            &vec(any::<u8>(), 0..BYTES),
            |bytes| match World::default().live(&bytes) {
                Ok(watch) => {
                    let mut counts = counts.borrow_mut();
                    counts.0 += watch.steps;
                    let reached = [watch.prepared, watch.squeezed, watch.lasting, watch.blamed];
                    for (what, count) in REACHED.into_iter().zip(reached) {
                        *counts.1.entry(what).or_default() += count;
                    }
                    for (reason, count) in watch.reasons {
                        *counts.1.entry(reason).or_default() += count;
                    }
                    Ok(())
                }
                Err(what) => Err(proptest::test_runner::TestCaseError::fail(what)),
            },
        );
        if let Err(failure) = outcome {
            panic!("round {round}: {failure}");
        }
        round += 1;
    }
    let (steps, reasons) = counts.into_inner();
    println!("{steps} steps; decisions by reason: {reasons:?}");
    for what in REACHED {
        assert!(reasons[what] > 0, "no stop is ever {what}");
    }
    for reason in Reason::ALL {
        assert!(
            reasons.contains_key(reason.name()),
            "no decision was made for {}: the input does not reach it",
            reason.name()
        );
    }
}
