// SPDX-License-Identifier: GPL-2.0-only
//! All scenarios, by what they are about.

mod allocations;
mod background;
mod burst;
pub mod clients;
mod clock;
mod contention;
mod contexts;
mod crowd;
mod debugging;
mod dependency;
mod direct;
mod disturbance;
mod documents;
mod endurance;
mod failure;
mod fairness;
mod faults;
mod guide;
mod half_written;
mod hints;
mod hotplug;
mod isolation;
mod levels;
mod machine_code;
mod many_gpus;
mod matrix;
mod no_scheduler;
mod nuisance;
mod operator;
mod pairs;
mod partitions;
mod passes;
mod places;
mod pm4;
mod preemption;
mod probe;
mod products;
mod reclaim;
mod recovery;
mod refusal;
mod repetition;
mod requests;
mod rules;
mod save;
mod selftest;
mod shared;
mod short_memory;
mod sleep;
mod stolen;
mod storm;
pub mod tinygrad;
mod trace;
pub mod tutorial;
mod two_gpus;
mod user_scheduler;
mod virtual_function;
mod work;

use crate::scenario::Scenario;

/// Every scenario of every suite.
pub fn all() -> impl Iterator<Item = &'static Scenario> {
    [
        probe::SCENARIOS,
        work::SCENARIOS,
        background::SCENARIOS,
        save::SCENARIOS,
        short_memory::SCENARIOS,
        sleep::SCENARIOS,
        shared::SCENARIOS,
        stolen::SCENARIOS,
        requests::SCENARIOS,
        clock::SCENARIOS,
        user_scheduler::SCENARIOS,
        trace::SCENARIOS,
        faults::SCENARIOS,
        reclaim::SCENARIOS,
        recovery::SCENARIOS,
        no_scheduler::SCENARIOS,
        nuisance::SCENARIOS,
        half_written::SCENARIOS,
        hints::SCENARIOS,
        hotplug::SCENARIOS,
        preemption::SCENARIOS,
        passes::SCENARIOS,
        repetition::SCENARIOS,
        isolation::SCENARIOS,
        levels::SCENARIOS,
        rules::SCENARIOS,
        fairness::SCENARIOS,
        dependency::SCENARIOS,
        refusal::SCENARIOS,
        documents::SCENARIOS,
        operator::SCENARIOS,
        guide::SCENARIOS,
        tutorial::SCENARIOS,
        selftest::SCENARIOS,
        disturbance::SCENARIOS,
        debugging::SCENARIOS,
        places::SCENARIOS,
        failure::SCENARIOS,
        direct::SCENARIOS,
        pairs::SCENARIOS,
        crowd::SCENARIOS,
        pm4::SCENARIOS,
        machine_code::SCENARIOS,
        clients::SCENARIOS,
        tinygrad::SCENARIOS,
        contexts::SCENARIOS,
        two_gpus::SCENARIOS,
        many_gpus::SCENARIOS,
        partitions::SCENARIOS,
        virtual_function::SCENARIOS,
        products::SCENARIOS,
        matrix::SCENARIOS,
        allocations::SCENARIOS,
        storm::SCENARIOS,
        endurance::SCENARIOS,
    ]
    .into_iter()
    .flatten()
}
