// SPDX-License-Identifier: GPL-2.0-only
// What the policy decides, case by case, at the boundaries of every rule. It is
// one file, however long, because the kernel's tests include it as text.
//
// Poll interval 100 us, so looks 20 us apart while it matters; grace 10 us, longest stop
// 100 ms, no progress 20 ms, half of a second for claims; a transaction is taken to cost
// 100 us, so that a wait of 280 us pays for a stop.

use Action::{Start, Stop};
use Line::{Idles, Look, Queue, Quiet, Runs, Starves, Times};

/// Queue 2 wants something for a moment, long after the last time, so that nothing is held
/// for it in a pause.
const FAR_APART: &[Line] = &[
    Starves(2),
    Look(1, &[]),
    Idles(2),
    Look(1, &[]),
    Look(20_000, &[]),
];

/// Every case.
pub const CASES: &[Case] = &[
    Case {
        name: "a waiting queue has the running one below it stopped when the grace is over",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Quiet(10),
            Starves(2),
            Look(9, &[]),
            Look(9, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "what is stopped for a tenant without budget is started for that reason",
        scene: &[
            Line::Config(|config| {
                let _ = config.set(Number::StopBudget, 5);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Times(4, FAR_APART),
            Runs(1),
            Quiet(10),
            Starves(2),
            Quiet(1),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Quiet(49),
            Look(100, &[(Start, 1, Reason::Budget)]),
        ],
    },
    Case {
        name: "the step tells when a stop reaches the first of its bounds",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Quiet(10),
            Starves(2),
            Quiet(1),
            Line::Step("there is no stop", |step| step.bound.is_none()),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Line::Step("the longest stop", |step| {
                step.bound == Some(Nanos(10_001_200_000 + 100_000_000))
            }),
            Look(100, &[]),
            Line::Step("no progress", |step| {
                step.bound == Some(Nanos(10_001_200_000 + 20_000_000))
            }),
            Line::Config(|config| {
                let _ = config.set(Number::NoProgress, 60_000);
            }),
            Look(100, &[]),
            Line::Step("the longest stop once more", |step| {
                step.bound == Some(Nanos(10_001_200_000 + 100_000_000))
            }),
            Line::Config(|config| {
                let _ = config.set(Number::StopBudget, 5);
            }),
            Look(100, &[]),
            Line::Step("the budget", |step| {
                step.bound == Some(Nanos(10_001_200_000 + 5_000_000))
            }),
        ],
    },
];
