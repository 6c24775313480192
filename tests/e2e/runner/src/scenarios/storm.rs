// SPDX-License-Identifier: GPL-2.0-only
//! The storm that is asked for, and a short one.

use anyhow::{ensure, Result};

use super::endurance::add;
use crate::guest::Guest;
use crate::scenario::{Needs, Scenario, Suite};
use crate::storm::{compare, run, Outcome, Plan};

/// A small GPU, so that video memory runs out; and a guest of its own, which keeps what
/// the processes have done to it.
const STORMY: Needs = Needs {
    small: true,
    spoils: true,
    ..Needs::ANY
};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::Storm,
        name: "a storm",
        needs: STORMY,
        run: asked_for,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a short storm, with the module as without",
        needs: Needs {
            one_die: true,
            once: true,
            ..STORMY
        },
        run: |guest| both(guest, 2, 4, 12),
    },
];

fn asked_for(guest: &mut Guest) -> Result<()> {
    let plan = guest.storm;
    // What is watched is watched in one storm.
    if plan.with_module && !plan.coverage {
        return both(guest, plan.seed, (plan.seconds / 8).min(60), plan.seconds);
    }
    let outcome = run(guest, plan)?;
    say(plan.seed, &outcome);
    let kind = match plan.with_module {
        true => "storm",
        false => "storm without the module",
    };
    add(guest, kind, plan.seconds)
}

/// The same storm without the module, for some time, and with it.
fn both(guest: &mut Guest, seed: u64, alone: u64, seconds: u64) -> Result<()> {
    let plan = Plan {
        seed,
        seconds: alone,
        with_module: false,
        coverage: false,
    };
    let before = run(guest, plan)?;
    let with = run(
        guest,
        Plan {
            seconds,
            with_module: true,
            ..plan
        },
    )?;
    let same = compare(&before.lives, &with.lives)?;
    ensure!(same > 0, "no life was lived twice");
    say(seed, &with);
    println!("        {same} results are the same without the module");
    add(guest, "storm", seconds)
}

fn say(seed: u64, outcome: &Outcome) {
    let Outcome {
        lives,
        loads,
        stops,
        workgroups,
        coverage,
    } = outcome;
    let calls: usize = lives.values().map(Vec::len).sum();
    println!(
        "        seed {seed}: {} processes, {calls} results, {loads} times loaded, {stops} stops, \
         {workgroups} workgroups",
        lives.len()
    );
    if let Some(coverage) = coverage {
        println!(
            "        {} of {} functions of KFD were called, and not: {}",
            coverage.called,
            coverage.all,
            coverage.never.join(" ")
        );
    }
}
