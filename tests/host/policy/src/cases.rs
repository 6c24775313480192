// SPDX-License-Identifier: GPL-2.0-only
// What the policy decides, case by case, at the boundaries of every rule. It is
// one file, however long, because the kernel's tests include it as text.
//
// Poll interval 100 us, grace 200 us, minimum run 1 ms, resume delay 300 us,
// longest stop 100 ms, no progress 20 ms, shortest interval 500 us: the scenes
// set what they depend on.

use Action::{Start, Stop};
use Line::{Gone, Idles, Look, Queue, Quiet, Runs, Seen, Starves, Tell, Times};

/// The parameters that the scenes count on.
fn plain(config: &mut Config<'static>) {
    for (number, value) in [
        (Number::PollInterval, 100),
        (Number::IdlePoll, 1_000),
        (Number::Grace, 200),
        (Number::MinRun, 1_000),
        (Number::ResumeDelay, 300),
        (Number::MaxStop, 100),
        (Number::NoProgress, 20),
        (Number::MinInterval, 0),
        (Number::MaxSwitches, 100_000),
        (Number::SwitchCost, 0),
        (Number::CostRatio, 0),
        (Number::StopBudget, 1_000),
        (Number::CoolDown, 100),
        (Number::CoolDownMax, 60_000),
        (Number::Retry, 10),
        (Number::RetryMax, 10_000),
        (Number::DisarmAfter, 5),
        (Number::FairSlice, 2_000),
        (Number::HintLimit, 1_000),
        (Number::Expect, 1_000),
    ] {
        let _ = config.set(number, value);
    }
}

/// What a transaction costs matters.
fn costs_matter(config: &mut Config<'static>) {
    let _ = config.set(Number::CostRatio, 1);
}

/// Its process writes that it prepares a request.
fn hints(seen: &mut Observation) {
    seen.hint = Some(seen.hint.unwrap_or(0).wrapping_add(1));
}

/// It runs, and has nothing more to run.
fn runs_out(seen: &mut Observation) {
    seen.progress += 1;
    seen.waves = Waves::Known(64);
    seen.backlog = Some(0);
}

/// Queue 1 runs below queue 2, which is idle and whose process has never hinted.
const QUIET_BELOW: &[Line] = &[
    Queue(1, 1, 3),
    Queue(2, 2, 9),
    Runs(1),
    Seen(2, hints),
    Quiet(5),
];

/// Queue 1 is stopped for a hint of queue 2, whose request does not come.
const FALSE_HINT: &[Line] = &[
    Seen(2, hints),
    Look(100, &[(Stop, 1, Reason::Inversion)]),
    Quiet(11),
    Look(100, &[(Start, 1, Reason::Calm)]),
    Runs(1),
];

/// Rules that the scenes name by number.
const RULES: &[RuleEffect] = &[
    RuleEffect {
        priority: Priority::new(12),
        ..RuleEffect::new(RuleId(1))
    },
    RuleEffect {
        exempt: true,
        ..RuleEffect::new(RuleId(2))
    },
    RuleEffect {
        reservation: Some(Reservation {
            period: Nanos(10_000_000),
            budget: Nanos(5_000_000),
        }),
        ..RuleEffect::new(RuleId(3))
    },
    RuleEffect {
        reservation: Some(Reservation {
            period: Nanos(50_000_000),
            budget: Nanos(5_000_000),
        }),
        ..RuleEffect::new(RuleId(4))
    },
    RuleEffect {
        timeslice: Some(Nanos(2_000_000)),
        ..RuleEffect::new(RuleId(5))
    },
    RuleEffect {
        priority: Priority::new(12),
        stop_budget: Some(Nanos(30_000_000)),
        ..RuleEffect::new(RuleId(6))
    },
    RuleEffect {
        stop_budget: Some(Nanos(30_000_000)),
        ..RuleEffect::new(RuleId(7))
    },
    RuleEffect {
        stop_budget: Some(Nanos(1_000_000_000)),
        ..RuleEffect::new(RuleId(8))
    },
];

const PLAIN: Line = Line::Config(plain);

/// Queue 2 has two requests that belong together, and then enough. However often that
/// is so, the wait for its next one is the usual one.
const SERVED: &[Line] = &[
    Runs(2),
    Quiet(1),
    Idles(2),
    Quiet(1),
    Runs(2),
    Quiet(1),
    Idles(2),
    Quiet(2),
];

/// Queues 1 and 2 turn out to have work for 200 us at a time.
const BRIEF: &[Line] = &[
    PLAIN,
    Line::Config(costs_matter),
    Queue(1, 1, 3),
    Queue(2, 2, 9),
    Runs(1),
    Quiet(2),
    Idles(1),
    Quiet(1),
    Runs(2),
    Quiet(2),
    Idles(2),
    Quiet(1),
];

/// Queue 2 waits, has queues 1 and 3 stopped, and has enough.
const BOTH_STOPPED: &[Line] = &[
    Starves(2),
    Quiet(2),
    Look(
        100,
        &[(Stop, 1, Reason::Inversion), (Stop, 3, Reason::Inversion)],
    ),
    Times(1, SERVED),
    Look(100, &[(Start, 1, Reason::Calm), (Start, 3, Reason::Calm)]),
];

/// Queue 2 waits, has queue 3 alone stopped, and has enough.
const ONE_STOPPED: &[Line] = &[
    Starves(2),
    Quiet(2),
    Look(100, &[(Stop, 3, Reason::Inversion)]),
    Times(1, SERVED),
    Look(100, &[(Start, 3, Reason::Calm)]),
];

/// Queue 2 has queue 1 stopped, long after its last request, and has enough.
const REQUEST: &[Line] = &[
    Runs(1),
    Quiet(11),
    Starves(2),
    Quiet(2),
    Look(100, &[(Stop, 1, Reason::Inversion)]),
    Runs(2),
    Quiet(1),
    Idles(2),
];

/// What follows where its requests have been close together of late.
const USUAL_START: &[Line] = &[Quiet(2), Look(100, &[(Start, 1, Reason::Calm)])];

/// What follows where they have been far apart.
const EARLY_START: &[Line] = &[Look(19, &[]), Look(1, &[(Start, 1, Reason::Calm)])];

/// Queue 3 is sound. Queue 1 hangs at its next packet, for its minimum run.
const HANGS: &[Line] = &[Runs(3), Starves(1), Quiet(11)];

/// Every case.
pub const CASES: &[Case] = &[
    Case {
        name: "a waiting queue has the running one below it stopped when the grace is over",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Quiet(5),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Line::Step("the inversion is told", |step| {
                step.inversion.is_some_and(|inversion| {
                    inversion.waiting == QueueId(2)
                        && inversion.running == QueueId(1)
                        && inversion.age == Nanos(200_000)
                })
            }),
        ],
    },
    Case {
        name: "the step tells when a stop reaches the first of its bounds",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Quiet(5),
            Starves(2),
            Quiet(2),
            Line::Step("there is no stop", |step| step.bound.is_none()),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Line::Step("the longest stop", |step| {
                step.bound == Some(Nanos(10_000_800_000 + 100_000_000))
            }),
            Look(100, &[]),
            Line::Step("no progress", |step| {
                step.bound == Some(Nanos(10_000_800_000 + 20_000_000))
            }),
            Line::Config(|config| {
                let _ = config.set(Number::NoProgress, 60_000);
            }),
            Look(100, &[]),
            Line::Step("the longest stop once more", |step| {
                step.bound == Some(Nanos(10_000_800_000 + 100_000_000))
            }),
            Line::Config(|config| {
                let _ = config.set(Number::StopBudget, 5);
            }),
            Look(100, &[]),
            Line::Step("the budget", |step| {
                step.bound == Some(Nanos(10_000_800_000 + 5_000_000))
            }),
        ],
    },
    Case {
        name: "the grace is at least two looks",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::Grace, 0);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Look(1_000, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a long grace ends at its time and not before",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::Grace, 1_000);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Look(100, &[]),
            Look(500, &[]),
            Look(499, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a queue that always has more to run waits, however it progresses",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Runs(2),
            Look(100, &[]),
            Runs(2),
            Look(100, &[]),
            Runs(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a gap in the work begins the grace again",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Idles(2),
            Quiet(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a launch without waves begins the grace again with each launch",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Idles(2),
            Quiet(1),
            Seen(2, |seen| seen.progress += 1),
            Quiet(2),
            Seen(2, |seen| seen.progress += 1),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "an inversion is as old as the younger of those who make it",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(2),
            Quiet(20),
            Runs(1),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Line::Step("it has only begun", |step| {
                step.inversion
                    .is_some_and(|inversion| inversion.age == Nanos::ZERO)
            }),
        ],
    },
    Case {
        name: "an equal queue is left alone without a timeslice",
        scene: &[
            PLAIN,
            Queue(1, 1, 9),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(50),
            Line::Step("nothing is inverted", |step| step.inversion.is_none()),
        ],
    },
    Case {
        name: "a higher queue is left alone",
        scene: &[
            PLAIN,
            Queue(1, 1, 9),
            Queue(2, 2, 8),
            Runs(1),
            Starves(2),
            Quiet(50),
        ],
    },
    Case {
        name: "one level is enough, at the bottom",
        scene: &[
            PLAIN,
            Queue(1, 1, 0),
            Queue(2, 2, 1),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "one level is enough, at the top",
        scene: &[
            PLAIN,
            Queue(1, 1, 14),
            Queue(2, 2, 15),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "every running queue below the waiting one is stopped at once, and nothing above",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 4),
            Queue(3, 3, 9),
            Queue(4, 4, 10),
            Queue(5, 5, 9),
            Queue(6, 6, 3),
            Runs(1),
            Runs(2),
            Runs(3),
            Runs(4),
            Seen(4, |seen| seen.backlog = Some(0)),
            Starves(5),
            Quiet(2),
            Look(
                100,
                &[(Stop, 1, Reason::Inversion), (Stop, 2, Reason::Inversion)],
            ),
        ],
    },
    Case {
        name: "idle queues below go along when another one is stopped",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Queue(4, 2, 3),
            Queue(5, 5, 9),
            Quiet(1),
            Runs(3),
            Runs(4),
            Quiet(1),
            Idles(3),
            Idles(4),
            Runs(1),
            Quiet(2),
            Starves(2),
            Quiet(2),
            Look(
                100,
                &[(Stop, 1, Reason::Inversion), (Stop, 3, Reason::Inversion)],
            ),
            Runs(2),
            // Work for it comes meanwhile, and waits.
            Starves(3),
            Quiet(10),
            Idles(2),
            Quiet(2),
            Look(100, &[(Start, 1, Reason::Calm), (Start, 3, Reason::Calm)]),
        ],
    },
    Case {
        name: "a queue goes along for as long as it is expected to have more",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Queue(4, 4, 3),
            Quiet(1),
            Runs(3),
            Quiet(1),
            Idles(3),
            Runs(4),
            Look(1, &[]),
            Idles(4),
            Look(999_699, &[]),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(
                100,
                &[(Stop, 1, Reason::Inversion), (Stop, 4, Reason::Inversion)],
            ),
        ],
    },
    Case {
        name: "a queue that is expected to have more for long goes along for long",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::Expect, 2_000);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Quiet(1),
            Runs(3),
            Quiet(1),
            Idles(3),
            Look(1_500_000, &[]),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(
                100,
                &[(Stop, 1, Reason::Inversion), (Stop, 3, Reason::Inversion)],
            ),
        ],
    },
    Case {
        name: "no queue goes along where none is expected to have more",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::Expect, 0);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Quiet(1),
            Runs(1),
            Runs(3),
            Quiet(1),
            Idles(3),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Line::Step("and it does not look in haste", |step| {
                step.next_look == Some(Nanos(10_000_500_000 + 100_000))
            }),
        ],
    },
    Case {
        name: "idle queues alone are not worth a transaction",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Seen(3, |seen| seen.protected = true),
            Quiet(1),
            Runs(1),
            Runs(3),
            Quiet(1),
            Idles(1),
            Starves(2),
            Quiet(20),
        ],
    },
    Case {
        name: "an idle queue that just started does not go along",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Quiet(1),
            Runs(1),
            Runs(3),
            Quiet(1),
            Times(1, BOTH_STOPPED),
            Gone(1),
            Runs(3),
            Quiet(1),
            Idles(3),
            Queue(4, 4, 3),
            Runs(4),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 4, Reason::Inversion)]),
        ],
    },
    Case {
        name: "an idle equal does not go along when a turn begins",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set_timeslices([500; 16]);
            }),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Queue(3, 3, 7),
            Quiet(1),
            Runs(3),
            Quiet(1),
            Idles(3),
            Runs(1),
            Seen(1, |seen| seen.backlog = Some(0)),
            Look(900, &[]),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Rotation)]),
        ],
    },
    Case {
        name: "a queue that goes along again and again has not been stopped in vain",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Quiet(1),
            Runs(1),
            Quiet(1),
            Idles(1),
            Times(
                20,
                &[
                    Runs(3),
                    Quiet(11),
                    Starves(2),
                    Quiet(2),
                    Look(
                        100,
                        &[(Stop, 1, Reason::Inversion), (Stop, 3, Reason::Inversion)],
                    ),
                    Idles(1),
                    Times(1, SERVED),
                    Look(100, &[(Start, 1, Reason::Calm), (Start, 3, Reason::Calm)]),
                ],
            ),
        ],
    },
    Case {
        name: "a queue of the same process is left alone when others are stopped",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 1, 9),
            Queue(3, 2, 3),
            Runs(1),
            Starves(2),
            Runs(3),
            Quiet(2),
            Look(100, &[(Stop, 3, Reason::Inversion)]),
            Quiet(50),
        ],
    },
    Case {
        name: "a queue of the same process is left alone",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 1, 9),
            Runs(1),
            Starves(2),
            Quiet(50),
        ],
    },
    Case {
        name: "a queue of the same process is stopped where that is asked for",
        scene: &[
            PLAIN,
            Line::Config(|config| config.same_process = true),
            Queue(1, 1, 3),
            Queue(2, 1, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "nobody is stopped for a queue of which nothing can be read",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Seen(2, |seen| {
                seen.backlog = None;
                seen.waves = Waves::Unknown;
            }),
            Quiet(50),
            Seen(2, |seen| seen.waves = Waves::Known(8)),
            Quiet(50),
            Seen(2, |seen| seen.waves = Waves::Known(0)),
            Quiet(50),
        ],
    },
    Case {
        name: "a queue of which nothing can be read is stopped when its waves are counted",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Seen(1, |seen| {
                seen.backlog = None;
                seen.waves = Waves::Unknown;
            }),
            Starves(2),
            Quiet(50),
            Line::Step("one queue waits, for which waves are counted", |step| {
                step.stalled == 1
            }),
            Seen(1, |seen| seen.waves = Waves::Known(8)),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a barrier at the head does not wait for compute units",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Seen(2, |seen| seen.head = Head::Barrier),
            Quiet(50),
            Seen(2, |seen| seen.head = Head::Invalid),
            Quiet(50),
            Seen(2, |seen| seen.head = Head::Unknown),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a packet that is being taken is no end of the work",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            // It is marked, and the read pointer has not been moved yet.
            Seen(2, |seen| seen.head = Head::Invalid),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            // So are the next ones.
            Times(4, &[Seen(2, |seen| seen.progress += 1), Quiet(1)]),
            Seen(2, |seen| seen.head = Head::Runnable),
            Quiet(1),
            // One that stays so is a slot that is reserved.
            Seen(2, |seen| seen.head = Head::Invalid),
            Quiet(2),
            // It is none either where there was nothing to run before.
            Seen(2, |seen| seen.head = Head::Barrier),
            Quiet(1),
            Seen(2, |seen| seen.head = Head::Invalid),
            Look(100, &[(Start, 1, Reason::Calm)]),
        ],
    },
    Case {
        name: "queues that occupy nothing are not worth a transaction",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Starves(1),
            Starves(2),
            Quiet(50),
            Runs(1),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a queue that was at work lately is stopped with its next work, before it has waves",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Quiet(1),
            Runs(1),
            Quiet(1),
            Idles(1),
            Quiet(4),
            Starves(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a lower queue blocked by a barrier is left alone",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 4),
            Starves(1),
            Seen(1, |seen| seen.head = Head::Barrier),
            Runs(3),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 3, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a launch without waves waits, as long as it may not have finished",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Quiet(1),
            Seen(2, |seen| seen.progress += 1),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Quiet(20),
            Idles(2),
            Quiet(2),
            Look(100, &[(Start, 1, Reason::Calm)]),
        ],
    },
    Case {
        name: "requests far apart are waited for less long than those that belong together",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Times(4, &[Times(1, REQUEST), Times(1, USUAL_START)]),
            // After four long gaps the wait is a fifteenth of the usual one.
            Times(2, &[Times(1, REQUEST), Times(1, EARLY_START)]),
            // A gap that even the short wait outlasts tells nothing.
            Times(1, REQUEST),
            Look(10, &[]),
            Starves(2),
            Look(9, &[]),
            Runs(2),
            Quiet(1),
            Idles(2),
            Times(1, EARLY_START),
            // A longer one was between two that belong together.
            Times(1, REQUEST),
            Look(19, &[]),
            Starves(2),
            Look(1, &[]),
            Idles(2),
            Times(1, USUAL_START),
            Times(1, REQUEST),
            Times(1, USUAL_START),
        ],
    },
    Case {
        name: "the next launch of a queue whose last one had finished must last twice as long",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Quiet(1),
            Seen(2, |seen| seen.progress += 1),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Quiet(2),
            Look(100, &[(Start, 1, Reason::Calm)]),
            Runs(1),
            Quiet(20),
            Seen(2, |seen| seen.progress += 1),
            Quiet(4),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a launch without waves keeps others stopped for the grace",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::Grace, 400);
                let _ = config.set(Number::ResumeDelay, 0);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(4),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Seen(2, |seen| {
                seen.progress += 1;
                seen.backlog = Some(0);
            }),
            Quiet(4),
            Look(100, &[(Start, 1, Reason::Calm)]),
        ],
    },
    Case {
        name: "a queue with waves and nothing behind them does not wait",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Runs(2),
            Seen(2, |seen| seen.backlog = Some(0)),
            Quiet(50),
        ],
    },
    Case {
        name: "an old queue seen for the first time has finished what it launched",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Seen(2, |seen| seen.progress = 77),
            Runs(1),
            Quiet(50),
        ],
    },
    Case {
        name: "pointers that cannot be read decide nothing",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Look(100, &[]),
            Seen(2, |seen| seen.backlog = None),
            Quiet(50),
            Seen(2, |seen| seen.backlog = Some(1)),
            Look(100, &[]),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "without wave counts a queue that launched may be running",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Seen(1, |seen| {
                seen.progress = 1;
                seen.waves = Waves::Unknown;
            }),
            Starves(2),
            Seen(2, |seen| seen.waves = Waves::Unknown),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a rule's priority counts",
        scene: &[
            PLAIN,
            Line::Config(|config| *config = config.with_rules(RULES)),
            Queue(1, 1, 9),
            Queue(2, 2, 3),
            Seen(2, |seen| seen.rule = Some(RuleId(1))),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a rule that is not there changes nothing",
        scene: &[
            PLAIN,
            Line::Config(|config| *config = config.with_rules(RULES)),
            Queue(1, 1, 9),
            Queue(2, 2, 3),
            Seen(2, |seen| seen.rule = Some(RuleId(99))),
            Runs(1),
            Starves(2),
            Quiet(20),
        ],
    },
    Case {
        name: "a rule exempts victims and beneficiaries",
        scene: &[
            PLAIN,
            Line::Config(|config| *config = config.with_rules(RULES)),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Seen(1, |seen| seen.rule = Some(RuleId(2))),
            Quiet(20),
            Seen(1, |seen| seen.rule = None),
            Seen(2, |seen| seen.rule = Some(RuleId(2))),
            Quiet(20),
        ],
    },
    Case {
        name: "a queue that becomes exempt is started",
        scene: &[
            PLAIN,
            Line::Config(|config| *config = config.with_rules(RULES)),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Quiet(1),
            Seen(1, |seen| seen.rule = Some(RuleId(2))),
            Look(100, &[(Start, 1, Reason::Exempt)]),
        ],
    },
    Case {
        name: "a cap bounds what a program asks for",
        scene: &[
            PLAIN,
            Line::Config(|config| config.user_priority = UserPriority::Cap(Priority::NORMAL)),
            Queue(1, 1, 7),
            Queue(2, 2, 15),
            Runs(1),
            Starves(2),
            Quiet(20),
            Line::Config(|config| {
                if let Some(cap) = Priority::new(8) {
                    config.user_priority = UserPriority::Cap(cap);
                }
            }),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a program's request can count for nothing, and a rule is never capped",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                *config = config.with_rules(RULES);
                config.user_priority = UserPriority::Ignore;
            }),
            Queue(1, 1, 0),
            Queue(2, 2, 15),
            Runs(1),
            Starves(2),
            Quiet(20),
            Seen(2, |seen| seen.rule = Some(RuleId(1))),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "the runtime's own queue takes part only by a rule",
        scene: &[
            PLAIN,
            Line::Config(|config| *config = config.with_rules(RULES)),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Seen(2, |seen| seen.internal = true),
            Quiet(20),
            Seen(2, |seen| seen.internal = false),
            Seen(1, |seen| seen.internal = true),
            Quiet(20),
            Seen(1, |seen| seen.internal = false),
            Seen(2, |seen| {
                seen.internal = true;
                seen.rule = Some(RuleId(1));
            }),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a protected queue is not stopped",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Seen(1, |seen| seen.protected = true),
            Quiet(20),
            Seen(1, |seen| seen.protected = false),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "calm starts after the resume delay and not before",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Quiet(10),
            Idles(2),
            Look(299, &[]),
            Look(1, &[(Start, 1, Reason::Calm)]),
            Line::Step("the last look was counted", |step| step.stopped == 1),
            Quiet(1),
            Line::Step("nothing is stopped any more", |step| step.stopped == 0),
        ],
    },
    Case {
        name: "a launch whose waves were not counted yet keeps it stopped",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Quiet(10),
            Seen(2, |seen| {
                seen.progress += 1;
                seen.backlog = Some(0);
                seen.waves = Waves::Unknown;
            }),
            Look(1_000, &[]),
            Look(1_000, &[]),
            Seen(2, |seen| seen.waves = Waves::Known(8)),
            Quiet(50),
            Seen(2, |seen| seen.waves = Waves::Unknown),
            Look(1_000, &[]),
            Look(1_000, &[]),
            Look(1_000, &[(Start, 1, Reason::Calm)]),
        ],
    },
    Case {
        name: "a last launch of which no waves are counted is left as much time as those before it took",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Seen(2, |seen| seen.waves = Waves::Unknown),
            Quiet(1),
            // Two launches in 100 us, and then the last two: each took 50.
            Times(
                2,
                &[
                    Seen(2, |seen| {
                        seen.progress += 2;
                        seen.backlog = seen.backlog.map(|left| left - 2);
                    }),
                    Quiet(1),
                ],
            ),
            Quiet(3),
            Look(49, &[]),
            Look(1, &[(Start, 1, Reason::Calm)]),
        ],
    },
    Case {
        name: "the last launch of any queue above keeps others stopped",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 9),
            Runs(1),
            Starves(2),
            Starves(3),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Runs(3),
            Seen(2, |seen| {
                seen.waves = Waves::Unknown;
                seen.backlog = Some(1);
            }),
            Look(200, &[]),
            // One launches its last packet, which takes 200 us as that before it did.
            Seen(2, |seen| {
                seen.progress += 1;
                seen.backlog = Some(0);
            }),
            Look(200, &[]),
            // The other one is done sooner, though it wanted something for longer.
            Idles(3),
            Look(10, &[]),
            Quiet(3),
            Look(189, &[]),
            Look(1, &[(Start, 1, Reason::Calm)]),
        ],
    },
    Case {
        name: "the last launch of a queue that is stopped itself keeps no other one stopped",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 1, 5),
            Queue(3, 3, 9),
            Runs(1),
            Runs(2),
            Seen(2, |seen| seen.waves = Waves::Unknown),
            Quiet(11),
            Starves(3),
            Quiet(1),
            // Its packets take 100 us each, and the last one is launched before the stop.
            Seen(2, |seen| {
                seen.progress += 1;
                seen.backlog = Some(1);
            }),
            Quiet(1),
            Seen(2, |seen| {
                seen.progress += 1;
                seen.backlog = Some(0);
            }),
            Look(
                100,
                &[(Stop, 1, Reason::Inversion), (Stop, 2, Reason::Inversion)],
            ),
            Runs(3),
            Look(10, &[]),
            Idles(3),
            Look(10, &[]),
            Look(289, &[]),
            Look(1, &[(Start, 1, Reason::Calm), (Start, 2, Reason::Calm)]),
        ],
    },
    Case {
        name: "launches of a queue that may not hold it do not put a start off again and again",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 1, 9),
            Queue(3, 3, 9),
            Runs(1),
            Quiet(11),
            Starves(3),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(3),
            Quiet(1),
            Idles(3),
            // It is of the same process, and has a packet between any two looks.
            Seen(2, |seen| seen.waves = Waves::Unknown),
            Times(5, &[Seen(2, |seen| seen.progress += 1), Quiet(1)]),
            Seen(2, |seen| seen.progress += 1),
            Look(99, &[]),
            Look(1, &[(Start, 1, Reason::Calm)]),
        ],
    },
    Case {
        name: "a launch of any queue above is left until its waves are counted",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Times(4, &[Times(1, REQUEST), Times(1, USUAL_START)]),
            Queue(3, 3, 9),
            Times(1, REQUEST),
            // No look has seen its packet wait.
            Seen(3, |seen| {
                seen.progress += 1;
                seen.waves = Waves::Unknown;
            }),
            Look(20, &[]),
            Look(20, &[]),
            Seen(3, |seen| seen.waves = Waves::Known(8)),
            Quiet(2),
            Idles(3),
            Times(1, USUAL_START),
        ],
    },
    Case {
        name: "a gap counts once, however many queues were stopped in it",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::ResumeDelay, 10_000);
            }),
            Queue(1, 1, 3),
            Queue(3, 3, 3),
            Queue(4, 4, 3),
            Queue(5, 5, 3),
            Queue(2, 2, 9),
            Runs(1),
            Runs(3),
            Runs(4),
            Runs(5),
            Starves(2),
            Quiet(2),
            Look(
                100,
                &[
                    (Stop, 1, Reason::Inversion),
                    (Stop, 3, Reason::Inversion),
                    (Stop, 4, Reason::Inversion),
                    (Stop, 5, Reason::Inversion),
                ],
            ),
            Runs(2),
            Quiet(1),
            Idles(2),
            Quiet(1),
            // A long gap by the delay of today, in which they are still stopped.
            Line::Config(|config| {
                let _ = config.set(Number::ResumeDelay, 50);
            }),
            Runs(2),
            Quiet(1),
            // Of one long gap nothing is learned: the usual wait.
            Line::Config(|config| {
                let _ = config.set(Number::ResumeDelay, 1_000);
            }),
            Idles(2),
            Quiet(9),
            Look(
                100,
                &[
                    (Start, 1, Reason::Calm),
                    (Start, 3, Reason::Calm),
                    (Start, 4, Reason::Calm),
                    (Start, 5, Reason::Calm),
                ],
            ),
        ],
    },
    Case {
        name: "without a resume delay a launch is left until its waves are counted",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::ResumeDelay, 0);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Quiet(1),
            Seen(2, |seen| {
                seen.progress += 1;
                seen.backlog = Some(0);
                seen.waves = Waves::Unknown;
            }),
            Quiet(1),
            Seen(2, |seen| seen.waves = Waves::Known(8)),
            Quiet(5),
            Seen(2, |seen| seen.waves = Waves::Known(0)),
            Look(100, &[(Start, 1, Reason::Calm)]),
        ],
    },
    Case {
        name: "a launch without waves is in doubt until the stop of others has taken effect",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::Grace, 20);
                let _ = config.set(Number::ResumeDelay, 0);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Quiet(1),
            Seen(2, |seen| seen.progress += 1),
            Look(20, &[]),
            Look(20, &[(Stop, 1, Reason::Inversion)]),
            Look(49, &[]),
            Look(1, &[(Start, 1, Reason::Calm)]),
        ],
    },
    Case {
        name: "work that comes back within the resume delay keeps it stopped",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Quiet(1),
            Idles(2),
            Quiet(2),
            Runs(2),
            Quiet(1),
            Idles(2),
            Quiet(2),
            Look(100, &[(Start, 1, Reason::Calm)]),
        ],
    },
    Case {
        name: "a start is put down to the queue that kept the stop going last",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 12),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Idles(2),
            Starves(3),
            Quiet(1),
            Line::View(1, "another one now", |view| {
                view.beneficiary == Some(QueueId(3))
            }),
            Idles(3),
            Quiet(2),
            Look(100, &[(Start, 1, Reason::Calm)]),
            Line::Made("the later one", |made| {
                made.iter().all(|made| made.beneficiary == Some(QueueId(3)))
            }),
        ],
    },
    Case {
        name: "the beneficiary's exit is calm",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Gone(2),
            Quiet(2),
            Look(100, &[(Start, 1, Reason::Calm)]),
        ],
    },
    Case {
        name: "a stopped queue that exits is forgotten",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Quiet(1),
            Gone(1),
            Quiet(20),
            Line::Step("nothing is stopped", |step| step.stopped == 0),
        ],
    },
    Case {
        name:
            "the longest stop ends at its bound, and nothing may stop the queue within its minimum",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Look(50_000, &[]),
            Runs(2),
            Look(49_999, &[]),
            Runs(2),
            Look(1, &[(Start, 1, Reason::Bound)]),
            Runs(1),
            Starves(2),
            Look(100, &[]),
            Look(999, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "after the bound a queue runs for its timeslice",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set_timeslices([5_000; 16]);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Look(90_000, &[]),
            Runs(2),
            Look(10_000, &[(Start, 1, Reason::Bound)]),
            Runs(1),
            Starves(2),
            Look(100, &[]),
            Look(4_999, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a queue that just started runs at least its minimum",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Quiet(1),
            Idles(2),
            Quiet(2),
            Look(100, &[(Start, 1, Reason::Calm)]),
            Runs(1),
            Starves(2),
            Look(100, &[]),
            Look(500, &[]),
            Look(499, &[]),
            Line::Step("the inversion is told all the same", |step| {
                step.inversion.is_some()
            }),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a queue that does nothing between its starts is left alone for longer and longer",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Times(8, &[Times(1, HANGS), Times(1, BOTH_STOPPED)]),
            // It is left alone for 100 ms.
            Times(1, HANGS),
            Times(1, ONE_STOPPED),
            Runs(3),
            Look(90_000, &[]),
            Quiet(11),
            Times(1, ONE_STOPPED),
            Runs(3),
            Look(10_000, &[]),
            Quiet(11),
            Times(1, BOTH_STOPPED),
            // It is left alone for 200 ms.
            Runs(3),
            Starves(1),
            Quiet(1),
            Look(190_000, &[]),
            Quiet(11),
            Times(1, ONE_STOPPED),
            Runs(3),
            Look(10_000, &[]),
            Quiet(11),
            Times(1, BOTH_STOPPED),
        ],
    },
    Case {
        name: "a queue that is left alone and shows life is stopped at once",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Times(8, &[Times(1, HANGS), Times(1, BOTH_STOPPED)]),
            Times(1, HANGS),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 3, Reason::Inversion)]),
            Quiet(20),
            // A wave, without which a moved pointer would do.
            Seen(1, |seen| seen.waves = Waves::Known(1)),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Quiet(1),
            Idles(2),
            Quiet(2),
            Look(100, &[(Start, 1, Reason::Calm), (Start, 3, Reason::Calm)]),
            // The row begins again.
            Times(7, &[Times(1, HANGS), Times(1, BOTH_STOPPED)]),
            Times(1, HANGS),
            Times(1, BOTH_STOPPED),
            Times(1, HANGS),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 3, Reason::Inversion)]),
            Seen(1, |seen| {
                seen.waves = Waves::Unknown;
                seen.progress += 1;
            }),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a kernel of seconds is stopped each time, whether its waves are counted or not",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Times(
                20,
                &[
                    Runs(3),
                    Starves(1),
                    Seen(1, |seen| seen.waves = Waves::Known(64)),
                    Quiet(11),
                    Times(1, BOTH_STOPPED),
                ],
            ),
            Times(
                20,
                &[
                    Runs(3),
                    Starves(1),
                    Seen(1, |seen| seen.waves = Waves::Unknown),
                    Quiet(11),
                    Times(1, BOTH_STOPPED),
                ],
            ),
        ],
    },
    Case {
        name: "a queue whose stops save nothing is left alone though its waves are never counted",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Times(
                8,
                &[
                    Runs(3),
                    Starves(1),
                    Seen(1, |seen| seen.waves = Waves::Unknown),
                    Quiet(11),
                    Starves(2),
                    Quiet(2),
                    Look(
                        100,
                        &[(Stop, 1, Reason::Inversion), (Stop, 3, Reason::Inversion)],
                    ),
                    Seen(1, |seen| seen.waves = Waves::Known(0)),
                    Times(1, SERVED),
                    Look(100, &[(Start, 1, Reason::Calm), (Start, 3, Reason::Calm)]),
                ],
            ),
            Runs(3),
            Seen(1, |seen| seen.waves = Waves::Unknown),
            Quiet(11),
            Times(1, ONE_STOPPED),
        ],
    },
    Case {
        name: "a queue whose waves are saved is stopped each time, though none are counted",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Times(
                20,
                &[
                    Times(1, HANGS),
                    Starves(2),
                    Quiet(2),
                    Look(
                        100,
                        &[(Stop, 1, Reason::Inversion), (Stop, 3, Reason::Inversion)],
                    ),
                    // They were where nobody counts: on another XCC.
                    Seen(1, |seen| seen.waves = Waves::Known(1)),
                    Quiet(1),
                    // What cannot be told later does not contradict it.
                    Seen(1, |seen| seen.waves = Waves::Unknown),
                    Times(1, SERVED),
                    Look(100, &[(Start, 1, Reason::Calm), (Start, 3, Reason::Calm)]),
                ],
            ),
        ],
    },
    Case {
        name: "no progress starts everyone, and the pair cools down, twice as long each time",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Runs(1),
            Runs(3),
            Starves(2),
            Quiet(2),
            Look(
                100,
                &[(Stop, 1, Reason::Inversion), (Stop, 3, Reason::Inversion)],
            ),
            Look(19_999, &[]),
            Look(
                1,
                &[
                    (Start, 1, Reason::NoProgress),
                    (Start, 3, Reason::NoProgress),
                ],
            ),
            Runs(1),
            Gone(3),
            Look(100, &[]),
            Look(99_899, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
            Look(20_000, &[(Start, 1, Reason::NoProgress)]),
            Runs(1),
            Look(100, &[]),
            Look(199_899, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a stop that helps forgets that the pair was blamed",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Look(20_000, &[(Start, 1, Reason::NoProgress)]),
            Runs(1),
            Look(100, &[]),
            Look(99_899, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Quiet(1),
            Idles(2),
            Quiet(2),
            Look(100, &[(Start, 1, Reason::Calm)]),
            // The next cool-down is the first one again.
            Runs(1),
            Quiet(11),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Look(20_000, &[(Start, 1, Reason::NoProgress)]),
            Runs(1),
            Look(100, &[]),
            Look(99_899, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "waves are progress enough for the watchdog",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Seen(2, |seen| seen.waves = Waves::Known(1)),
            Look(15_000, &[]),
            Look(15_000, &[]),
            Look(15_000, &[]),
        ],
    },
    Case {
        name: "another pair is not held back by a pair that cools down",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Look(20_000, &[(Start, 1, Reason::NoProgress)]),
            Queue(3, 3, 8),
            Runs(1),
            Starves(3),
            Look(1_000, &[]),
            Look(500, &[]),
            Look(500, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a table reads for which queue one is stopped, how often, and how long in all",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Look(100, &[]),
            Line::View(1, "it has not run before", |view| {
                view.ran == Nanos::ZERO && view.since == Nanos(10_000_100_000)
            }),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Line::Made("a stop is as old as its inversion", |made| {
                made.iter()
                    .all(|made| made.beneficiary == Some(QueueId(2)) && made.age == Nanos(200_000))
            }),
            Line::View(1, "it is stopped from now on", |view| {
                view.verdict == Verdict::Stopped
                    && view.beneficiary == Some(QueueId(2))
                    && view.ran == Nanos(300_000)
                    && view.stops == 1
                    && view.since == Nanos(10_000_400_000)
            }),
            Runs(2),
            Look(1_000, &[]),
            Idles(2),
            Quiet(2),
            Look(100, &[(Start, 1, Reason::Calm)]),
            Line::Made(
                "a start is put down to the beneficiary, and has the stop's age",
                |made| {
                    made.iter().all(|made| {
                        made.beneficiary == Some(QueueId(2)) && made.age == Nanos(1_300_000)
                    })
                },
            ),
            Line::View(1, "it starts from now on", |view| {
                view.verdict == Verdict::Starting
                    && view.stopped == Nanos(1_300_000)
                    && view.since == Nanos(10_001_700_000)
            }),
            Runs(1),
            Quiet(1),
            Line::View(1, "it runs since it was seen to", |view| {
                view.verdict == Verdict::Running && view.since == Nanos(10_001_800_000)
            }),
            Quiet(11),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Look(200, &[]),
            // Something else starts it.
            Seen(1, |seen| seen.state = QueueState::Active),
            Look(300, &[]),
            Line::Step("it is counted as healed", |step| step.healed == 1),
            Line::View(1, "that time counts", |view| {
                view.stops == 2 && view.stopped == Nanos(1_800_000)
            }),
            Look(500, &[]),
            Line::Step("once", |step| step.healed == 0),
            Look(500, &[(Stop, 1, Reason::Inversion)]),
            Look(100, &[]),
            // Something else keeps it from running.
            Seen(1, |seen| seen.state = QueueState::Held),
            Look(700, &[]),
            Line::View(1, "that time counts as well", |view| {
                view.verdict == Verdict::Held && view.stops == 3 && view.stopped == Nanos(2_600_000)
            }),
        ],
    },
    Case {
        name: "a start for no progress is put down to the queue that makes none now",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 12),
            Queue(3, 2, 9),
            Runs(1),
            Quiet(5),
            Starves(2),
            Starves(3),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Quiet(199),
            // The queue that it was stopped for; another one of its process still waits.
            Gone(2),
            Look(100, &[(Start, 1, Reason::NoProgress)]),
            Line::Made("not to the one that has gone", |made| {
                made.iter().all(|made| made.beneficiary == Some(QueueId(3)))
            }),
        ],
    },
    Case {
        name: "a stop begins a queue's turn anew",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set_timeslices([5_000; 16]);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Quiet(60),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Quiet(1),
            Idles(2),
            Quiet(2),
            Look(100, &[(Start, 1, Reason::Calm)]),
            Queue(3, 3, 3),
            Runs(1),
            Starves(3),
            Quiet(49),
            Look(99, &[]),
            Look(1, &[(Stop, 1, Reason::Rotation)]),
        ],
    },
    Case {
        name: "a queue that something else lets run begins its turn anew",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set_timeslices([5_000; 16]);
            }),
            Queue(1, 1, 3),
            Queue(3, 3, 3),
            Runs(1),
            Quiet(60),
            Seen(1, |seen| seen.state = QueueState::Held),
            Quiet(1),
            Seen(1, |seen| seen.state = QueueState::Active),
            Look(100, &[]),
            Starves(3),
            Quiet(49),
            Look(99, &[]),
            Look(1, &[(Stop, 1, Reason::Rotation)]),
        ],
    },
    Case {
        name: "a second of a budget begins with a stop, and the next one is fresh",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::StopBudget, 30);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Look(30_000, &[(Start, 1, Reason::Budget)]),
            Runs(1),
            Runs(2),
            Look(100, &[]),
            Look(969_899, &[]),
            Runs(2),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Look(15_000, &[]),
            Runs(2),
            Look(14_999, &[]),
            Look(1, &[(Start, 1, Reason::Budget)]),
        ],
    },
    Case {
        name: "a process may cause only so much stopped time in a second",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::StopBudget, 30);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Look(15_000, &[]),
            Runs(2),
            Look(14_999, &[]),
            Runs(2),
            Look(1, &[(Start, 1, Reason::Budget)]),
            Runs(1),
            Starves(2),
            Look(1_000, &[]),
            Look(1_000, &[]),
            Look(1_000, &[]),
            Look(966_999, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "the time until calm is certain is stopped time as well",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::StopBudget, 30);
                let _ = config.set(Number::ResumeDelay, 50_000);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Look(10_000, &[]),
            Idles(2),
            Look(100, &[]),
            Look(19_899, &[]),
            Look(1, &[(Start, 1, Reason::Budget)]),
        ],
    },
    Case {
        name: "a process without budget does not free what another one holds",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::StopBudget, 30);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 12),
            Queue(3, 3, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Look(15_000, &[]),
            Runs(2),
            Starves(3),
            Look(14_999, &[]),
            Runs(2),
            Look(1, &[]),
            Runs(2),
            Runs(3),
            Look(15_000, &[]),
            Runs(2),
            Runs(3),
            Look(14_999, &[]),
            Runs(2),
            Runs(3),
            Look(1, &[(Start, 1, Reason::Budget)]),
        ],
    },
    Case {
        name: "a process that has its priority from a rule has no budget",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::StopBudget, 30);
                *config = config.with_rules(RULES);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Seen(2, |seen| seen.rule = Some(RuleId(1))),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Look(15_000, &[]),
            Runs(2),
            Look(15_000, &[]),
            Runs(2),
            Look(15_000, &[]),
            Seen(2, |seen| seen.rule = Some(RuleId(5))),
            Look(1, &[(Start, 1, Reason::Budget)]),
        ],
    },
    Case {
        name: "a rule may give a priority and a budget with it",
        scene: &[
            PLAIN,
            Line::Config(|config| *config = config.with_rules(RULES)),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Seen(2, |seen| seen.rule = Some(RuleId(6))),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Look(15_000, &[]),
            Runs(2),
            Look(14_999, &[]),
            Runs(2),
            Look(1, &[(Start, 1, Reason::Budget)]),
        ],
    },
    Case {
        name: "a rule's budget counts instead of the parameter's, and ends with the rule",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::StopBudget, 60);
                *config = config.with_rules(RULES);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Seen(2, |seen| seen.rule = Some(RuleId(7))),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Look(15_000, &[]),
            Runs(2),
            Look(14_999, &[]),
            Runs(2),
            Look(1, &[(Start, 1, Reason::Budget)]),
            Runs(1),
            Starves(2),
            Look(1_000, &[]),
            Look(1_000, &[]),
            Look(1_000, &[]),
            Seen(2, |seen| seen.rule = None),
            Look(1_000, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Look(15_000, &[]),
            Runs(2),
            Look(14_999, &[]),
            Runs(2),
            Look(1, &[(Start, 1, Reason::Budget)]),
        ],
    },
    Case {
        name: "a rule that comes later counts what was caused before it, and one of a second has no limit",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::StopBudget, 60);
                *config = config.with_rules(RULES);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Look(15_000, &[]),
            Runs(2),
            Seen(2, |seen| seen.rule = Some(RuleId(8))),
            Look(15_000, &[]),
            Runs(2),
            Look(15_000, &[]),
            Runs(2),
            Look(15_000, &[]),
            Runs(2),
            Look(15_000, &[]),
            Runs(2),
            Seen(2, |seen| seen.rule = Some(RuleId(7))),
            Look(1, &[(Start, 1, Reason::Budget)]),
        ],
    },
    Case {
        name: "a hint stops the lower queue before the request comes",
        scene: &[
            PLAIN,
            Times(1, QUIET_BELOW),
            Seen(2, hints),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Line::Step("it is honoured", |step| {
                step.hints.seen == 1 && step.hints.honoured == 1
            }),
            Line::Made("it is for the idle queue, and at once", |made| {
                made.iter()
                    .all(|stop| stop.beneficiary == Some(QueueId(2)) && stop.age == Nanos::ZERO)
            }),
            Quiet(8),
            Starves(2),
            Quiet(2),
            Line::Step("it has not expired", |step| step.hints.expired == 0),
            Runs(2),
            Quiet(20),
            Idles(2),
            Quiet(2),
            Look(100, &[(Start, 1, Reason::Calm)]),
        ],
    },
    Case {
        name: "a hint without a request ends at its limit, and the next one does not count at once",
        scene: &[
            PLAIN,
            Times(1, QUIET_BELOW),
            Seen(2, hints),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            // Many more do not prolong it.
            Times(9, &[Seen(2, hints), Look(100, &[])]),
            Line::Step("it still counts", |step| step.hints.expired == 0),
            Look(100, &[]),
            Line::Step("it has expired", |step| step.hints.expired == 1),
            Quiet(1),
            Look(100, &[(Start, 1, Reason::Calm)]),
            Runs(1),
            Seen(2, hints),
            Look(100, &[]),
            Line::Step("it is ignored", |step| step.hints.ignored == 1),
            Quiet(9),
            Seen(2, hints),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a hint that finds its request lets the next one count at once",
        scene: &[
            PLAIN,
            Times(1, QUIET_BELOW),
            Times(
                3,
                &[
                    Seen(2, hints),
                    Look(100, &[(Stop, 1, Reason::Inversion)]),
                    Runs(2),
                    Quiet(1),
                    Idles(2),
                    Quiet(2),
                    Look(100, &[(Start, 1, Reason::Calm)]),
                    Runs(1),
                    Quiet(11),
                ],
            ),
        ],
    },
    Case {
        name: "a hint is looked for until its limit and no longer",
        scene: &[
            PLAIN,
            Times(1, QUIET_BELOW),
            Line::Config(|config| {
                let _ = config.set(Number::HintLimit, 150);
                // Else looks are made more often than that anyway.
                let _ = config.set(Number::PollInterval, 1_000);
            }),
            Seen(2, hints),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Look(100, &[]),
            Line::Step("the next look is at the limit", |step| {
                step.next_look == Some(Nanos(10_000_600_000 + 150_000))
            }),
            Look(50, &[]),
            Line::Step("it has expired", |step| step.hints.expired == 1),
        ],
    },
    Case {
        name: "hints of a queue that cannot be read do not hold others for longer",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(3, 2, 3),
            Queue(2, 2, 9),
            Runs(1),
            // It stands at a barrier, so that the process does not look idle.
            Starves(3),
            Seen(2, |seen| {
                seen.backlog = None;
                seen.hint = Some(1);
            }),
            Quiet(5),
            Seen(2, hints),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Times(199, &[Seen(2, hints), Quiet(1)]),
            Seen(2, hints),
            Look(100, &[(Start, 1, Reason::NoProgress)]),
        ],
    },
    Case {
        name: "what a process has written before it is first seen is no hint",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Runs(1),
            Quiet(5),
            Queue(2, 2, 9),
            Times(3, &[Seen(2, hints)]),
            Quiet(1),
            Line::Step("there was none", |step| step.hints.seen == 0),
            Quiet(4),
        ],
    },
    Case {
        name: "the first number of a page counts where the process was seen without one",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Quiet(5),
            Seen(2, hints),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a hint that may be older than its limit does not count",
        scene: &[
            PLAIN,
            Times(1, QUIET_BELOW),
            Seen(2, hints),
            Look(1_001, &[]),
            Line::Step("it was seen too late", |step| {
                step.hints.seen == 1 && step.hints.expired == 1
            }),
            Seen(2, hints),
            Look(1_000, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a hint of a process without the right does nothing",
        scene: &[
            PLAIN,
            Times(1, QUIET_BELOW),
            Line::Config(|config| config.user_priority = UserPriority::Ignore),
            Seen(2, hints),
            Quiet(20),
            Line::Step("it is not honoured", |step| step.hints.honoured == 0),
            // A rule gives the right.
            Seen(2, |seen| seen.rule = Some(RuleId(1))),
            Line::Config(|config| config.rules = RULES),
            Quiet(20),
            Seen(2, hints),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a hint stops neither an equal nor a queue of the same process, nor one for an exempt process",
        scene: &[
            PLAIN,
            Queue(1, 1, 9),
            Queue(2, 2, 9),
            Queue(3, 2, 3),
            Seen(1, runs_out),
            Seen(3, runs_out),
            Seen(2, hints),
            Quiet(5),
            Seen(2, hints),
            Quiet(20),
            Seen(1, |seen| seen.kfd = Priority::LOWEST),
            Seen(2, |seen| seen.rule = Some(RuleId(2))),
            Line::Config(|config| config.rules = RULES),
            Seen(2, hints),
            Quiet(20),
        ],
    },
    Case {
        name: "a hint prepares an idle queue beside a busy one, and says nothing of the busy one",
        scene: &[
            PLAIN,
            Times(1, QUIET_BELOW),
            Seen(2, runs_out),
            Quiet(5),
            Seen(2, hints),
            Quiet(5),
            Line::Step("there is none to prepare", |step| step.hints.honoured == 0),
            // That one is over, and the process was doing something.
            Quiet(6),
            Queue(3, 2, 9),
            Seen(3, |seen| seen.hint = Some(2)),
            Quiet(2),
            Seen(2, hints),
            Seen(3, hints),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a hint spends the budget of a priority that no rule gave",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::StopBudget, 2);
                let _ = config.set(Number::HintLimit, 10_000);
            }),
            Times(1, QUIET_BELOW),
            Seen(2, hints),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Look(1_000, &[]),
            Look(999, &[]),
            Look(1, &[(Start, 1, Reason::Budget)]),
            Line::Step("it is told", |step| step.hints.over_budget == 1),
            Runs(1),
            Look(2_000, &[]),
            Line::Step("once", |step| step.hints.over_budget == 0),
            Look(2_000, &[]),
        ],
    },
    Case {
        name: "a hint by a rule's right spends no budget",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::StopBudget, 2);
                let _ = config.set(Number::HintLimit, 10_000);
                config.rules = RULES;
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 0),
            Seen(2, |seen| seen.rule = Some(RuleId(1))),
            Runs(1),
            Seen(2, hints),
            Quiet(5),
            Seen(2, hints),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Look(5_000, &[]),
            Look(4_900, &[]),
            Line::Step("it still counts", |step| step.hints.expired == 0),
        ],
    },
    Case {
        name: "a hint in mode=observe touches nothing",
        scene: &[
            PLAIN,
            Line::Config(|config| config.mode = Mode::Observe),
            Times(1, QUIET_BELOW),
            Seen(2, hints),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Line::Made("it is not applied", |made| made.iter().all(|stop| !stop.apply)),
        ],
    },
    Case {
        name: "a hint of a process that takes its page away ends",
        scene: &[
            PLAIN,
            Times(1, QUIET_BELOW),
            Seen(2, hints),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Seen(2, |seen| seen.hint = None),
            Quiet(2),
            Look(100, &[(Start, 1, Reason::Calm)]),
        ],
    },
    Case {
        name: "a request that comes in time makes the next pause after a false hint the first one again",
        scene: &[
            PLAIN,
            Times(1, QUIET_BELOW),
            Times(1, FALSE_HINT),
            Quiet(11),
            Seen(2, hints),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Quiet(1),
            Idles(2),
            Quiet(2),
            Look(100, &[(Start, 1, Reason::Calm)]),
            Runs(1),
            Quiet(11),
            Times(1, FALSE_HINT),
            Quiet(11),
            Seen(2, hints),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a hint does not prepare a queue whose last launch may still run",
        scene: &[
            PLAIN,
            Times(1, QUIET_BELOW),
            Seen(2, |seen| {
                seen.progress += 1;
                seen.waves = Waves::Unknown;
            }),
            Quiet(5),
            Seen(2, hints),
            Quiet(9),
            Line::Step("it is not honoured", |step| step.hints.honoured == 0),
        ],
    },
    Case {
        name: "a hint of an exempt process does not hasten the looks",
        scene: &[
            PLAIN,
            Line::Config(|config| *config = config.with_rules(RULES)),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Seen(2, |seen| seen.rule = Some(RuleId(2))),
            Seen(1, runs_out),
            Seen(2, hints),
            Quiet(5),
            Seen(2, hints),
            Quiet(1),
            Line::Step("it looks rarely", |step| {
                step.next_look == Some(Nanos(10_000_600_000 + 1_000_000))
            }),
        ],
    },
    Case {
        name: "fair: a hint of a queue that was idle for long gains it no credit",
        scene: &[
            PLAIN,
            Line::Config(|config| config.policy = PolicyKind::Fair),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Queue(3, 3, 7),
            Seen(2, hints),
            Times(50, &[Runs(1), Runs(3), Quiet(1)]),
            Seen(2, hints),
            Times(9, &[Runs(1), Runs(3), Quiet(1)]),
        ],
    },
    Case {
        name: "queues stopped at the same time count once for the budget",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::StopBudget, 30);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Runs(1),
            Runs(3),
            Starves(2),
            Quiet(2),
            Look(
                100,
                &[(Stop, 1, Reason::Inversion), (Stop, 3, Reason::Inversion)],
            ),
            Runs(2),
            Look(29_999, &[]),
            Runs(2),
            Look(1, &[(Start, 1, Reason::Budget), (Start, 3, Reason::Budget)]),
        ],
    },
    Case {
        name: "equal queues take turns where their level has a timeslice",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set_timeslices([2_000; 16]);
            }),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Runs(1),
            Look(100, &[]),
            Look(1_000, &[]),
            Starves(2),
            Look(500, &[]),
            Look(499, &[]),
            Look(1, &[(Stop, 1, Reason::Rotation)]),
            Runs(2),
            Look(1_999, &[]),
            Starves(2),
            Look(1, &[(Start, 1, Reason::Turn), (Stop, 2, Reason::Rotation)]),
            Runs(1),
            Look(100, &[]),
            Look(1_899, &[]),
            Look(1, &[(Start, 2, Reason::Turn), (Stop, 1, Reason::Rotation)]),
        ],
    },
    Case {
        name: "turns that give less than they cost come at a growing distance",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::MinInterval, 1_000);
                let _ = config.set(Number::SwitchCost, 1_500);
                let _ = config.set_timeslices([2_000; 16]);
            }),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Runs(1),
            Starves(2),
            Look(100, &[]),
            Look(1_000, &[]),
            Look(1_000, &[(Stop, 1, Reason::Rotation)]),
            Runs(2),
            Look(1_999, &[]),
            Starves(2),
            Look(1, &[(Start, 1, Reason::Turn), (Stop, 2, Reason::Rotation)]),
            Runs(1),
            Look(100, &[]),
            Look(1_899, &[]),
            Look(1, &[(Start, 2, Reason::Turn)]),
            Starves(2),
            Quiet(20),
            Look(1_999, &[]),
            Look(1, &[(Stop, 1, Reason::Rotation)]),
        ],
    },
    Case {
        name: "a queue that takes turns does so beside two equals that take none",
        scene: &[
            PLAIN,
            Line::Config(|config| *config = config.with_rules(RULES)),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Queue(3, 3, 7),
            Queue(4, 4, 7),
            Seen(3, |seen| seen.rule = Some(RuleId(5))),
            Runs(1),
            Runs(2),
            Runs(3),
            Seen(1, |seen| seen.backlog = Some(0)),
            Seen(2, |seen| seen.backlog = Some(0)),
            Seen(3, |seen| seen.backlog = Some(0)),
            Starves(4),
            Quiet(20),
            Look(100, &[(Stop, 3, Reason::Rotation)]),
        ],
    },
    Case {
        name: "a rule's timeslice counts before the level's",
        scene: &[
            PLAIN,
            Line::Config(|config| *config = config.with_rules(RULES)),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Seen(1, |seen| seen.rule = Some(RuleId(5))),
            Runs(1),
            Look(100, &[]),
            Look(1_500, &[]),
            Starves(2),
            Look(200, &[]),
            Look(200, &[]),
            Look(99, &[]),
            Look(1, &[(Stop, 1, Reason::Rotation)]),
        ],
    },
    Case {
        name: "the next stop keeps its distance from the last transaction",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::MinInterval, 5_000);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Queue(3, 3, 4),
            Runs(3),
            Starves(2),
            Look(100, &[]),
            Look(4_899, &[]),
            Look(1, &[(Stop, 3, Reason::Inversion)]),
        ],
    },
    Case {
        name: "expensive transactions keep a longer distance",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::CostRatio, 10);
            }),
            Tell(|scheduler| scheduler.transaction_took(Nanos(500_000))),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Queue(3, 3, 4),
            Runs(3),
            Look(100, &[]),
            Look(4_899, &[]),
            Look(1, &[(Stop, 3, Reason::Inversion)]),
        ],
    },
    Case {
        name: "so many stops in a second and no more",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::MaxSwitches, 1);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Queue(3, 3, 3),
            Runs(3),
            Runs(2),
            Look(10_000, &[]),
            Idles(2),
            Look(10_000, &[(Start, 1, Reason::Calm)]),
            Runs(1),
            Starves(2),
            Look(1_000, &[]),
            Look(1_000, &[]),
            Look(977_999, &[]),
            Look(
                1,
                &[(Stop, 1, Reason::Inversion), (Stop, 3, Reason::Inversion)],
            ),
        ],
    },
    Case {
        name: "a port that fails gets a pause, and everything is started",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 4),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(3),
            Line::Port(Port::Fails(FailureKind::Broken)),
            Look(100, &[(Stop, 3, Reason::Inversion)]),
            Line::Port(Port::Obeys),
            Look(100, &[(Start, 1, Reason::Failure)]),
            Line::Step("it backs off", |step| {
                matches!(step.arming, gpreempt_policy::Arming::BackingOff(_))
            }),
            Runs(1),
            Starves(2),
            Look(100, &[]),
            Look(9_899, &[]),
            Look(
                1,
                &[(Stop, 1, Reason::Inversion), (Stop, 3, Reason::Inversion)],
            ),
        ],
    },
    Case {
        name: "a start that fails is tried again",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Gone(2),
            Line::Port(Port::Fails(FailureKind::Broken)),
            Look(300, &[(Start, 1, Reason::Calm)]),
            Look(100, &[]),
            Look(9_999, &[]),
            Look(1, &[(Start, 1, Reason::Calm)]),
            Line::Port(Port::Obeys),
            Look(100, &[]),
            Look(19_999, &[]),
            Look(1, &[(Start, 1, Reason::Calm)]),
            Quiet(1),
            Line::Step("it runs", |step| step.stopped == 0),
        ],
    },
    Case {
        name: "a port that fails again and again is disarmed, and armed by an operator",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::DisarmAfter, 2);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Line::Port(Port::Fails(FailureKind::Broken)),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Look(100, &[]),
            Look(9_999, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
            Look(100, &[]),
            Line::Step("it is disarmed", |step| {
                step.arming == gpreempt_policy::Arming::Disarmed && step.next_look.is_none()
            }),
            Line::Port(Port::Obeys),
            Look(60_000_000, &[]),
            Tell(|scheduler| scheduler.rearm()),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a failure that passes by itself is as if there had been nothing to do",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Line::Port(Port::Fails(FailureKind::Passing)),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Line::Port(Port::Obeys),
            Look(100, &[]),
            Line::Step("nothing has failed", |step| {
                step.arming == gpreempt_policy::Arming::Armed && step.stopped == 0
            }),
            Look(9_999, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a reset is met with silence, then whatever is still stopped is started",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 4),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(3),
            Line::Port(Port::Fails(FailureKind::Rebuilt)),
            Look(100, &[(Stop, 3, Reason::Inversion)]),
            Line::Port(Port::Obeys),
            Look(100, &[]),
            Line::Step("it is silent and knows what is stopped", |step| {
                matches!(step.arming, gpreempt_policy::Arming::Silent(_)) && step.stopped == 1
            }),
            Look(9_999, &[]),
            Idles(2),
            Look(1, &[(Start, 1, Reason::Orphan)]),
        ],
    },
    Case {
        name: "a lost report changes nothing where the decision was carried out",
        scene: &[
            PLAIN,
            Line::Port(Port::Mute),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Quiet(10),
            Idles(2),
            Look(300, &[(Start, 1, Reason::Calm)]),
            Quiet(20),
            Line::Step("nothing is stopped", |step| step.stopped == 0),
        ],
    },
    Case {
        name: "a stop that led to nothing is not tried again at once",
        scene: &[
            PLAIN,
            Line::Port(Port::Deaf),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Look(100, &[]),
            Look(9_999, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
            Line::Port(Port::Refuses),
            Look(100, &[]),
            Look(19_999, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a queue found stopped is started",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Quiet(1),
            Seen(1, |seen| seen.state = QueueState::StoppedByUs),
            Look(100, &[(Start, 1, Reason::Orphan)]),
            Quiet(5),
        ],
    },
    Case {
        name: "a queue started by a foreign event runs its minimum before the next stop",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Quiet(3),
            Seen(1, |seen| seen.state = QueueState::Active),
            Runs(1),
            Look(100, &[]),
            Line::Step("it was healed", |step| {
                step.healed == 1 && step.stopped == 0
            }),
            Look(999, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a queue that something else holds is left alone",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Quiet(1),
            Seen(1, |seen| seen.state = QueueState::Held),
            Quiet(50),
            Line::Step("nothing is stopped by us", |step| step.stopped == 0),
        ],
    },
    Case {
        name: "a held queue does not wait for the GPU",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Seen(2, |seen| seen.state = QueueState::Held),
            Quiet(50),
        ],
    },
    Case {
        name: "observe decides and touches nothing",
        scene: &[
            PLAIN,
            Line::Config(|config| config.mode = Mode::Observe),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Line::Step("nothing is stopped", |step| step.stopped == 0),
            Look(30_000, &[]),
            Runs(2),
            Quiet(1),
            Idles(2),
            Look(300, &[(Start, 1, Reason::Calm)]),
        ],
    },
    Case {
        name: "leaving enforce starts everything first",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Quiet(3),
            Line::Config(|config| config.mode = Mode::Observe),
            Look(100, &[(Start, 1, Reason::Release)]),
            Line::Step("it counts until it is seen to run", |step| {
                step.stopped == 1
            }),
        ],
    },
    Case {
        name: "off starts everything and no longer looks",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Quiet(3),
            Line::Config(|config| config.mode = Mode::Off),
            Look(100, &[(Start, 1, Reason::Release)]),
            Quiet(20),
            Line::Step("it sleeps", |step| {
                step.stopped == 0 && step.next_look.is_none()
            }),
        ],
    },
    Case {
        name: "a change of policy starts everything first",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Quiet(3),
            Line::Config(|config| config.policy = PolicyKind::Deadline),
            Look(100, &[(Start, 1, Reason::Release)]),
            Runs(1),
            Look(100, &[]),
            Look(1_000, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "fair: a queue more than a slice ahead is stopped until the other has caught up",
        scene: &[
            PLAIN,
            Line::Config(|config| config.policy = PolicyKind::Fair),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Runs(1),
            Starves(2),
            Look(100, &[]),
            Look(1_000, &[]),
            Look(1_000, &[]),
            Look(1, &[(Stop, 1, Reason::Share)]),
            Runs(2),
            Look(1_000, &[]),
            Seen(2, |seen| seen.progress += 1),
            Look(1_000, &[]),
            Seen(2, |seen| seen.progress += 1),
            Look(1_000, &[]),
            Look(2, &[(Start, 1, Reason::Turn)]),
        ],
    },
    Case {
        name: "fair: equals take turns of a slice at any level",
        scene: &[
            PLAIN,
            Line::Config(|config| config.policy = PolicyKind::Fair),
            Queue(1, 1, 0),
            Queue(2, 2, 0),
            Runs(1),
            Starves(2),
            Look(100, &[]),
            Look(1_000, &[]),
            Look(1_000, &[]),
            Look(1, &[(Stop, 1, Reason::Share)]),
        ],
    },
    Case {
        name: "an inversion passes by itself where neither queue ever has work for long",
        scene: &[
            Times(1, BRIEF),
            Runs(1),
            Starves(2),
            Quiet(10),
            Look(99, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a queue with work for longer than ever before is stopped at once",
        scene: &[
            Times(1, BRIEF),
            Times(11, &[Runs(1), Quiet(1)]),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "deadline: a queue that is pressed for time does not wait for short work to pass",
        scene: &[
            Times(1, BRIEF),
            Line::Config(|config| {
                *config = config.with_rules(RULES);
                config.policy = PolicyKind::Deadline;
                config.user_priority = UserPriority::Ignore;
            }),
            Seen(2, |seen| seen.rule = Some(RuleId(3))),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Deadline)]),
        ],
    },
    Case {
        name: "where costs do not matter, no inversion is left to pass by itself",
        scene: &[
            Times(1, BRIEF),
            PLAIN,
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "one that is never long is stopped for one that may be",
        scene: &[
            PLAIN,
            Line::Config(costs_matter),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Quiet(2),
            Idles(1),
            Quiet(1),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a launch that shows no waves is left for longer beside short launches",
        scene: &[
            Times(1, BRIEF),
            Seen(2, |seen| {
                seen.progress += 1;
                seen.waves = Waves::Known(0);
            }),
            Times(40, &[Seen(1, runs_out), Quiet(1)]),
            Seen(1, runs_out),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a queue that gets more work while it runs is as long at work as before",
        scene: &[
            Times(1, BRIEF),
            Seen(1, runs_out),
            Quiet(1),
            Times(
                6,
                &[
                    Seen(1, |seen| seen.backlog = Some(1)),
                    Quiet(1),
                    Seen(1, runs_out),
                    Quiet(1),
                ],
            ),
            Seen(1, |seen| seen.backlog = Some(1)),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "work that comes while a launch is in doubt is left for as long as any other",
        scene: &[
            Times(1, BRIEF),
            Seen(2, |seen| {
                seen.progress += 1;
                seen.waves = Waves::Known(0);
            }),
            Times(30, &[Seen(1, runs_out), Quiet(1)]),
            Starves(2),
            Times(10, &[Seen(1, runs_out), Quiet(1)]),
            Seen(1, runs_out),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a stop in the middle of its work does not make a queue one of short work",
        scene: &[
            PLAIN,
            Line::Config(costs_matter),
            Line::Config(|config| {
                let _ = config.set(Number::MinRun, 0);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(2),
            Quiet(2),
            Idles(2),
            Quiet(1),
            Runs(1),
            Quiet(11),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Quiet(1),
            Idles(2),
            Quiet(2),
            Look(100, &[(Start, 1, Reason::Calm)]),
            Runs(1),
            Quiet(1),
            Idles(1),
            Quiet(10),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "deadline: equals share the GPU until a deadline presses",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                *config = config.with_rules(RULES);
                config.policy = PolicyKind::Deadline;
            }),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Seen(2, |seen| seen.rule = Some(RuleId(4))),
            Runs(1),
            Look(100, &[]),
            Starves(2),
            Quiet(10),
            Look(24_099, &[]),
            Look(1, &[(Stop, 1, Reason::Deadline)]),
        ],
    },
    Case {
        name: "deadline: a period begins where a reservation comes while there is work",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                *config = config.with_rules(RULES);
                config.policy = PolicyKind::Deadline;
            }),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Runs(1),
            Starves(2),
            Quiet(20),
            Seen(2, |seen| seen.rule = Some(RuleId(4))),
            Quiet(10),
            Look(24_099, &[]),
            Look(1, &[(Stop, 1, Reason::Deadline)]),
        ],
    },
    Case {
        name: "deadline: another reservation has a period of its own",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                *config = config.with_rules(RULES);
                config.policy = PolicyKind::Deadline;
            }),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Seen(2, |seen| seen.rule = Some(RuleId(4))),
            Runs(1),
            Starves(2),
            Quiet(20),
            Seen(2, |seen| seen.rule = Some(RuleId(3))),
            // Its period is a fifth of the one before, and its budget half of that.
            Look(100, &[(Stop, 1, Reason::Deadline)]),
        ],
    },
    Case {
        name: "deadline: a period begins where the policy comes while there is work",
        scene: &[
            PLAIN,
            Line::Config(|config| *config = config.with_rules(RULES)),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Seen(2, |seen| seen.rule = Some(RuleId(4))),
            Runs(1),
            Starves(2),
            Quiet(600),
            Line::Config(|config| config.policy = PolicyKind::Deadline),
            Quiet(10),
            Look(24_099, &[]),
            Look(1, &[(Stop, 1, Reason::Deadline)]),
        ],
    },
    Case {
        name: "deadline: the earlier one comes first within a level",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                *config = config.with_rules(RULES);
                config.policy = PolicyKind::Deadline;
            }),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Seen(1, |seen| seen.rule = Some(RuleId(4))),
            Seen(2, |seen| seen.rule = Some(RuleId(3))),
            Runs(1),
            Look(100, &[]),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Deadline)]),
            Runs(2),
            Quiet(5),
            Idles(2),
            Look(300, &[(Start, 1, Reason::Calm)]),
        ],
    },
    Case {
        name: "deadline: a queue is pressed for time beside two equals that have no deadline",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                *config = config.with_rules(RULES);
                config.policy = PolicyKind::Deadline;
            }),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Queue(3, 3, 7),
            Queue(4, 4, 7),
            Seen(4, |seen| seen.rule = Some(RuleId(3))),
            Runs(1),
            Starves(2),
            Starves(3),
            Quiet(1),
            Starves(4),
            Quiet(2),
            Look(
                100,
                &[
                    (Stop, 1, Reason::Deadline),
                    (Stop, 2, Reason::Deadline),
                    (Stop, 3, Reason::Deadline),
                ],
            ),
        ],
    },
    Case {
        name: "deadline: the later one waits, and a higher level comes first all the same",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                *config = config.with_rules(RULES);
                config.policy = PolicyKind::Deadline;
            }),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Seen(1, |seen| seen.rule = Some(RuleId(3))),
            Seen(2, |seen| seen.rule = Some(RuleId(4))),
            Runs(1),
            Look(100, &[]),
            Starves(2),
            Quiet(20),
            Queue(3, 3, 8),
            Starves(3),
            Quiet(2),
            Look(
                100,
                &[(Stop, 1, Reason::Inversion), (Stop, 2, Reason::Inversion)],
            ),
        ],
    },
    Case {
        name: "a clock that stands still lets no grace run out",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Look(0, &[]),
            Look(0, &[]),
            Look(0, &[]),
            Look(0, &[]),
            Look(199, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a clock that goes back stands still",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Quiet(1),
            Line::Back(5_000),
            Look(0, &[]),
            Line::Step("it looks again after the latest time known", |step| {
                step.next_look == Some(Nanos(10_000_100_000 + 100_000))
            }),
        ],
    },
    Case {
        name: "a clock that jumps far ahead ends every stop",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Look(u32::MAX, &[(Start, 1, Reason::Bound)]),
        ],
    },
    Case {
        name: "a queue named twice is seen once",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(1, 1, 3),
            Quiet(1),
            Line::Step("the second one was ignored", |step| step.duplicates == 1),
        ],
    },
    Case {
        name: "without queues it sleeps",
        scene: &[
            PLAIN,
            Quiet(1),
            Line::Step("it sleeps", |step| step.next_look.is_none()),
        ],
    },
    Case {
        name: "where nothing can be inverted it looks rarely, else often",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Quiet(1),
            Line::Step("no queue is busy", |step| {
                step.next_look == Some(Nanos(10_000_100_000 + 1_000_000))
            }),
            Runs(2),
            Quiet(1),
            Line::Step("only the highest is busy", |step| {
                step.next_look == Some(Nanos(10_000_200_000 + 1_000_000))
            }),
            Runs(1),
            Quiet(1),
            Line::Step("the lower is busy", |step| {
                step.next_look == Some(Nanos(10_000_300_000 + 20_000))
            }),
            Idles(1),
            Runs(2),
            Quiet(1),
            Line::Step("work for the lower would delay one that waits", |step| {
                step.next_look == Some(Nanos(10_000_400_000 + 20_000))
            }),
            Idles(2),
            Quiet(1),
            Line::Step("no queue is busy any more", |step| {
                step.next_look == Some(Nanos(10_000_500_000 + 1_000_000))
            }),
        ],
    },
    Case {
        name: "it looks in haste for as long as an urgent request is expected, while a lower queue runs",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Quiet(2),
            Line::Step("no urgent request has come", |step| {
                step.next_look == Some(Nanos(10_000_200_000 + 100_000))
            }),
            Starves(2),
            Quiet(1),
            Line::Step("one has", |step| {
                step.next_look == Some(Nanos(10_000_300_000 + 20_000))
            }),
            Quiet(1),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Seen(2, |seen| seen.backlog = Some(5)),
            Quiet(1),
            Line::Step("it has much to run", |step| {
                step.next_look == Some(Nanos(10_000_600_000 + 100_000))
            }),
            Seen(2, |seen| {
                seen.backlog = Some(4);
                seen.progress += 1;
            }),
            Quiet(1),
            Line::Step("it may soon be done", |step| {
                step.next_look == Some(Nanos(10_000_700_000 + 20_000))
            }),
            Look(99, &[]),
            Line::Step("its last launch was not long ago", |step| {
                step.next_look == Some(Nanos(10_000_799_000 + 20_000))
            }),
            Look(1, &[]),
            Line::Step("it will not soon be done", |step| {
                step.next_look == Some(Nanos(10_000_800_000 + 100_000))
            }),
            Idles(2),
            Quiet(1),
            Line::Step("it is done", |step| {
                step.next_look == Some(Nanos(10_000_900_000 + 20_000))
            }),
            Look(300, &[(Start, 1, Reason::Calm)]),
            Runs(1),
            Look(100_000, &[]),
            Look(899_999, &[]),
            Line::Step("another one may come", |step| {
                step.next_look == Some(Nanos(11_001_199_000 + 20_000))
            }),
            Look(101, &[]),
            Line::Step("none has come for a second", |step| {
                step.next_look == Some(Nanos(11_001_300_000 + 100_000))
            }),
            Line::Config(|config| {
                let _ = config.set(Number::Expect, 2_000);
            }),
            Look(999_899, &[]),
            Line::Step("one is expected for two", |step| {
                step.next_look == Some(Nanos(12_001_199_000 + 20_000))
            }),
            Look(1, &[]),
            Line::Step("none has come for two", |step| {
                step.next_look == Some(Nanos(12_001_200_000 + 100_000))
            }),
        ],
    },
    Case {
        name: "a queue that may soon wait is looked at in time for its grace",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::Grace, 60);
                let _ = config.set(Number::PollInterval, 500);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Look(1_000, &[]),
            Starves(2),
            Look(100, &[]),
            Line::Step("the end of the grace", |step| {
                step.next_look == Some(Nanos(10_001_100_000 + 60_000))
            }),
            Look(45, &[]),
            Line::Step("the end of it, not sooner than a look pays", |step| {
                step.next_look == Some(Nanos(10_001_145_000 + 20_000))
            }),
            Look(20, &[(Stop, 1, Reason::Inversion)]),
            Line::Step("what came of it", |step| {
                step.next_look == Some(Nanos(10_001_165_000 + 100_000))
            }),
        ],
    },
    Case {
        name: "waves are asked for when nothing below the waiting queue is seen to run",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Quiet(1),
            Runs(1),
            Quiet(2),
            Line::Step("no queue waits", |step| !step.ask_waves),
            Starves(2),
            Seen(2, |seen| seen.waves = Waves::Unknown),
            Quiet(2),
            Line::Step("a backlog below tells enough", |step| !step.ask_waves),
            Seen(1, |seen| {
                seen.backlog = Some(0);
                seen.waves = Waves::Unknown;
            }),
            Idles(2),
            Quiet(3),
            Starves(2),
            Look(1, &[]),
            Line::Step("in time for the second look", |step| step.ask_waves),
            Seen(1, |seen| seen.backlog = Some(1)),
            Look(1, &[]),
            Line::Step("it is not needed any more", |step| !step.ask_waves),
        ],
    },
    Case {
        name: "waves are asked for when a last launch may run or be finished",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Quiet(1),
            Runs(2),
            Seen(2, |seen| {
                seen.backlog = Some(0);
                seen.waves = Waves::Unknown;
            }),
            Quiet(1),
            Line::Step("it was launched just now", |step| !step.ask_waves),
            Quiet(1),
            Line::Step("it may be finished", |step| step.ask_waves),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Quiet(2),
            Line::Step("it has more to run", |step| !step.ask_waves),
            Seen(2, |seen| {
                seen.backlog = Some(0);
                seen.waves = Waves::Unknown;
            }),
            Quiet(1),
            Line::Step("others are stopped for it", |step| step.ask_waves),
        ],
    },
    Case {
        name: "a process that goes and comes back has the budget that it left",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::StopBudget, 30);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Look(30_000, &[(Start, 1, Reason::Budget)]),
            Gone(2),
            Runs(1),
            Quiet(20),
            Queue(3, 2, 9),
            Starves(3),
            Quiet(50),
        ],
    },
    Case {
        name: "after a change of policy queues are stopped as before",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Quiet(5),
            Line::Config(|config| config.policy = PolicyKind::Deadline),
            Quiet(2),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Line::Step("it counts at once", |step| {
                step.stopped == 1 && step.running == 2
            }),
        ],
    },
    Case {
        name: "fair: a queue that comes later begins where the others are",
        scene: &[
            PLAIN,
            Line::Config(|config| config.policy = PolicyKind::Fair),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Times(50, &[Runs(1), Runs(2), Quiet(1)]),
            Queue(3, 3, 7),
            Starves(3),
            Quiet(10),
        ],
    },
    Case {
        name: "a stop that was refused is over, whatever is seen of the queue",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Line::Port(Port::Refuses),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Seen(1, |seen| seen.state = QueueState::Unknown),
            Look(100, &[]),
            Line::View(1, "it is not stopped", |view| {
                view.verdict != Verdict::Stopped
            }),
        ],
    },
    Case {
        name: "a stopped queue that has gone leaves no bound behind",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Seen(3, |seen| seen.protected = true),
            Runs(1),
            Runs(3),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Quiet(1),
            Gone(1),
            Quiet(1),
            Line::Step("there is no stop", |step| step.bound.is_none()),
        ],
    },
    Case {
        name: "it looks in time for what is due though the interval is long",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::MinInterval, 5_000);
                let _ = config.set(Number::PollInterval, 60_000);
                let _ = config.set(Number::MinRun, 0);
                let _ = config.set(Number::NoProgress, 60_000);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Look(100, &[]),
            Look(100, &[]),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Look(95_000, &[]),
            Line::Step("the longest stop", |step| {
                step.next_look == Some(Nanos(10_000_300_000 + 100_000_000))
            }),
            Idles(2),
            Look(100, &[]),
            Line::Step("calm", |step| {
                step.next_look == Some(Nanos(10_095_300_000 + 300_000))
            }),
            Look(200, &[(Start, 1, Reason::Calm)]),
            Line::Step("the start is tried again", |step| {
                step.next_look == Some(Nanos(10_095_600_000 + 10_000_000))
            }),
            Runs(1),
            Starves(2),
            Look(100, &[]),
            Look(100, &[]),
            Look(100, &[]),
            Line::Step("the distance", |step| {
                step.next_look == Some(Nanos(10_095_600_000 + 5_000_000))
            }),
        ],
    },
    Case {
        name: "nobody is blamed while a queue that was stopped for long has its time",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::MaxStop, 30);
                let _ = config.set_timeslices([50_000; 16]);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Look(15_000, &[]),
            Runs(2),
            Look(10_000, &[]),
            Starves(2),
            Queue(3, 3, 3),
            Runs(3),
            Look(100, &[(Stop, 3, Reason::Inversion)]),
            Look(4_900, &[(Start, 1, Reason::Bound)]),
            Runs(1),
            Look(100, &[]),
            Look(19_900, &[]),
            Look(5_000, &[]),
        ],
    },
    Case {
        name: "observe: a start keeps no distance, and leaves nothing to watch",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                config.mode = Mode::Observe;
                let _ = config.set(Number::MinInterval, 5_000);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Look(5_000, &[]),
            Idles(2),
            Quiet(2),
            Look(100, &[(Start, 1, Reason::Calm)]),
            Runs(1),
            Starves(2),
            Quiet(10),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Gone(2),
            Quiet(2),
            Look(100, &[(Start, 1, Reason::Calm)]),
            Line::Step("it looks rarely", |step| {
                step.next_look == Some(Nanos(10_007_000_000 + 1_000_000))
            }),
        ],
    },
    Case {
        name: "it looks often where one queue of three is higher by one level",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 3),
            Queue(3, 3, 4),
            Runs(1),
            Quiet(1),
            Line::Step("work for it would be delayed", |step| {
                step.next_look == Some(Nanos(10_000_100_000 + 100_000))
            }),
        ],
    },
    Case {
        name: "each queue of a process has a bound of its own",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(11, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Times(5, &[Runs(2), Look(10_000, &[])]),
            Runs(11),
            Look(100, &[(Stop, 11, Reason::Inversion)]),
            Times(4, &[Runs(2), Look(10_000, &[])]),
            Runs(2),
            Look(9_900, &[(Start, 1, Reason::Bound)]),
        ],
    },
    Case {
        name: "a stop that ends at its bound teaches nothing",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::MaxStop, 10);
                let _ = config.set(Number::MinInterval, 4_000);
                let _ = config.set(Number::SwitchCost, 2_000);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Look(10_000, &[(Start, 1, Reason::Bound)]),
            Runs(1),
            Look(100, &[]),
            Look(3_899, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "two queues that were stopped at the same time teach once",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::MinInterval, 4_000);
                let _ = config.set(Number::SwitchCost, 10_000);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Runs(1),
            Runs(3),
            Times(1, BOTH_STOPPED),
            Runs(1),
            Runs(3),
            Starves(2),
            Quiet(3),
            Look(7_699, &[]),
            Look(
                1,
                &[(Stop, 1, Reason::Inversion), (Stop, 3, Reason::Inversion)],
            ),
        ],
    },
    Case {
        name: "a stop must be worth its cost to the busy queues that are as important",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::MinInterval, 4_000);
                let _ = config.set(Number::SwitchCost, 1_000);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 9),
            Runs(1),
            Runs(3),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Seen(2, |seen| seen.backlog = Some(0)),
            Idles(3),
            Look(3_000, &[]),
            Idles(2),
            Look(300, &[(Start, 1, Reason::Calm)]),
            Runs(1),
            Starves(2),
            Quiet(3),
            Look(7_699, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a stop need not be worth anything to idle queues, lower ones, or its own",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::MinInterval, 4_000);
                let _ = config.set(Number::SwitchCost, 1_000);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Seen(2, |seen| seen.backlog = Some(0)),
            Look(3_000, &[]),
            Idles(2),
            Look(300, &[(Start, 1, Reason::Calm)]),
            Runs(1),
            Starves(2),
            Quiet(3),
            Look(3_699, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "the lowest queue is told of several that run above their rank",
        scene: &[
            PLAIN,
            Line::Config(|config| *config = config.with_rules(RULES)),
            Queue(1, 1, 4),
            Queue(2, 2, 3),
            Queue(3, 3, 3),
            Queue(4, 4, 5),
            Queue(5, 5, 0),
            Queue(6, 6, 0),
            Queue(7, 6, 9),
            Seen(5, |seen| seen.rule = Some(RuleId(2))),
            Runs(1),
            Runs(2),
            Runs(3),
            Runs(4),
            Runs(5),
            Runs(6),
            Starves(7),
            Quiet(2),
            Look(
                100,
                &[
                    (Stop, 1, Reason::Inversion),
                    (Stop, 2, Reason::Inversion),
                    (Stop, 3, Reason::Inversion),
                    (Stop, 4, Reason::Inversion),
                ],
            ),
            Line::Step("the first of the lowest that take part", |step| {
                step.inversion
                    .is_some_and(|inversion| inversion.running == QueueId(2))
            }),
        ],
    },
    Case {
        name: "a queue that gets its turn has it against all of its equals",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set_timeslices([5_000; 16]);
            }),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Queue(3, 3, 7),
            Runs(1),
            Starves(2),
            Starves(3),
            Quiet(50),
            Look(100, &[(Stop, 1, Reason::Rotation)]),
            Runs(2),
            Quiet(49),
        ],
    },
    Case {
        name: "observe: a start is not tried again, whether it is seen or not",
        scene: &[
            PLAIN,
            Line::Config(|config| config.mode = Mode::Observe),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Quiet(1),
            Idles(2),
            Quiet(2),
            Look(100, &[(Start, 1, Reason::Calm)]),
            Seen(1, |seen| seen.state = QueueState::Unknown),
            Look(10_000, &[]),
            Look(10_000, &[]),
        ],
    },
    Case {
        name: "a queue that takes turns does so before two equals that take none",
        scene: &[
            PLAIN,
            Line::Config(|config| *config = config.with_rules(RULES)),
            Queue(3, 3, 7),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Queue(4, 4, 7),
            Seen(3, |seen| seen.rule = Some(RuleId(5))),
            Runs(1),
            Runs(2),
            Runs(3),
            Starves(4),
            Quiet(20),
            Look(100, &[(Stop, 3, Reason::Rotation)]),
        ],
    },
    Case {
        name: "the lowest running queue is found before higher ones that take turns",
        scene: &[
            PLAIN,
            Line::Config(|config| *config = config.with_rules(RULES)),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 9),
            Queue(4, 4, 5),
            Seen(2, |seen| seen.rule = Some(RuleId(5))),
            Seen(3, |seen| seen.rule = Some(RuleId(5))),
            Runs(1),
            Runs(2),
            Runs(3),
            Seen(2, |seen| seen.backlog = Some(0)),
            Seen(3, |seen| seen.backlog = Some(0)),
            Starves(4),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "the highest waiting queue is found before two lower ones",
        scene: &[
            PLAIN,
            Queue(1, 1, 9),
            Queue(4, 4, 12),
            Queue(2, 2, 3),
            Queue(3, 3, 3),
            Runs(1),
            Starves(2),
            Starves(3),
            Starves(4),
            Quiet(2),
            Look(
                100,
                &[
                    (Stop, 1, Reason::Inversion),
                    (Stop, 2, Reason::Inversion),
                    (Stop, 3, Reason::Inversion),
                ],
            ),
        ],
    },
    Case {
        name: "deadline: the highest waiting queue is found before lower ones with reservations",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                *config = config.with_rules(RULES);
                config.policy = PolicyKind::Deadline;
            }),
            Queue(1, 1, 9),
            Queue(4, 4, 12),
            Queue(2, 2, 3),
            Queue(3, 3, 3),
            Seen(2, |seen| seen.rule = Some(RuleId(3))),
            Seen(3, |seen| seen.rule = Some(RuleId(4))),
            Runs(1),
            Starves(2),
            Starves(3),
            Starves(4),
            Quiet(2),
            Look(
                100,
                &[
                    (Stop, 1, Reason::Inversion),
                    (Stop, 2, Reason::Inversion),
                    (Stop, 3, Reason::Inversion),
                ],
            ),
        ],
    },
    Case {
        name: "deadline: it looks often where an equal with a reservation may come to wait",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                *config = config.with_rules(RULES);
                config.policy = PolicyKind::Deadline;
            }),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Queue(3, 3, 7),
            Queue(4, 4, 7),
            Runs(1),
            Quiet(1),
            Line::Step("none has one", |step| {
                step.next_look == Some(Nanos(10_000_100_000 + 1_000_000))
            }),
            Seen(4, |seen| seen.rule = Some(RuleId(3))),
            Quiet(1),
            Line::Step("one has", |step| {
                step.next_look == Some(Nanos(10_000_200_000 + 100_000))
            }),
        ],
    },
    Case {
        name: "deadline: a queue is pressed for time before two equals that have no deadline",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                *config = config.with_rules(RULES);
                config.policy = PolicyKind::Deadline;
            }),
            Queue(4, 4, 7),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Queue(3, 3, 7),
            Seen(4, |seen| seen.rule = Some(RuleId(3))),
            Runs(1),
            Starves(2),
            Starves(3),
            Quiet(1),
            Starves(4),
            Quiet(2),
            Look(
                100,
                &[
                    (Stop, 1, Reason::Deadline),
                    (Stop, 2, Reason::Deadline),
                    (Stop, 3, Reason::Deadline),
                ],
            ),
        ],
    },
    Case {
        name: "observe: what is stopped is watched though nobody is left that it is stopped for",
        scene: &[
            PLAIN,
            Line::Config(|config| config.mode = Mode::Observe),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Gone(2),
            Quiet(1),
            Line::Step("it looks in haste", |step| {
                step.next_look == Some(Nanos(10_000_400_000 + 20_000))
            }),
        ],
    },
    Case {
        name: "observe: a start is not tried again while another queue is stopped",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                *config = config.with_rules(RULES);
                config.mode = Mode::Observe;
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Runs(1),
            Runs(3),
            Starves(2),
            Quiet(2),
            Look(
                100,
                &[(Stop, 1, Reason::Inversion), (Stop, 3, Reason::Inversion)],
            ),
            Seen(1, |seen| seen.rule = Some(RuleId(2))),
            Look(100, &[(Start, 1, Reason::Exempt)]),
            Seen(1, |seen| seen.state = QueueState::Unknown),
            Look(10_000, &[]),
        ],
    },
    Case {
        name: "observe: what makes no progress is not looked at again at once",
        scene: &[
            PLAIN,
            Line::Config(|config| config.mode = Mode::Observe),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Look(20_000, &[]),
            Line::Step("it looks again after the interval", |step| {
                step.next_look == Some(Nanos(10_020_300_000 + 100_000))
            }),
        ],
    },
    Case {
        name: "no progress is looked for in time while a queue that was stopped for long has its time",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::PollInterval, 60_000);
                let _ = config.set_timeslices([150_000; 16]);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Look(100, &[]),
            Look(100, &[]),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Times(9, &[Runs(2), Look(10_000, &[])]),
            Starves(2),
            Queue(3, 3, 3),
            Runs(3),
            Look(100, &[(Stop, 3, Reason::Inversion)]),
            Look(9_900, &[(Start, 1, Reason::Bound)]),
            Runs(1),
            Look(100, &[]),
            Seen(2, |seen| seen.backlog = Some(5)),
            Look(20_000, &[]),
            Line::Step("long before the interval is over", |step| {
                step.next_look == Some(Nanos(10_120_400_000 + 20_000_000))
            }),
        ],
    },
    Case {
        name: "no waves are asked for on behalf of a queue whose pointers cannot be read",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Seen(1, runs_out),
            Quiet(2),
            Starves(2),
            Quiet(1),
            Line::Step("it may come to wait", |step| step.ask_waves),
            Seen(2, |seen| seen.backlog = None),
            Quiet(1),
            Line::Step("that look does not count", |step| !step.ask_waves),
        ],
    },
    Case {
        name: "a queue that waits for calm keeps the bound of its stop",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Quiet(1),
            Idles(2),
            Quiet(1),
            Line::Step("the longest stop", |step| {
                step.bound == Some(Nanos(10_000_300_000 + 100_000_000))
            }),
        ],
    },
    Case {
        name: "a queue that is started because it is calm has nothing stopped at once",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 1),
            Seen(3, |seen| seen.protected = true),
            Runs(1),
            Runs(3),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Quiet(1),
            Idles(2),
            Quiet(2),
            Seen(3, |seen| seen.protected = false),
            Look(100, &[(Start, 1, Reason::Calm)]),
        ],
    },
    Case {
        name: "a stop was worth nothing to a queue that was last alive when it was decided",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::MinInterval, 4_000);
                let _ = config.set(Number::SwitchCost, 1_000);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Times(2, &[Runs(2), Quiet(1)]),
            Runs(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Starves(2),
            Look(3_000, &[]),
            Idles(2),
            Look(300, &[(Start, 1, Reason::Calm)]),
            // The next stop keeps twice the distance.
            Runs(1),
            Starves(2),
            Quiet(3),
            Look(7_699, &[]),
            Look(1, &[(Stop, 1, Reason::Inversion)]),
        ],
    },
    Case {
        name: "a stop that only a process without budget still wants ends at once",
        scene: &[
            PLAIN,
            Line::Config(|config| {
                let _ = config.set(Number::StopBudget, 30);
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 12),
            Queue(3, 3, 9),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Runs(2),
            Look(15_000, &[]),
            Runs(2),
            Starves(3),
            Look(14_999, &[]),
            Runs(2),
            Look(1, &[]),
            Runs(2),
            Idles(3),
            Look(100, &[(Start, 1, Reason::Budget)]),
        ],
    },
    Case {
        name: "a queue stays stopped for one that makes progress while it cools down with one that makes none",
        scene: &[
            PLAIN,
            Queue(1, 1, 3),
            Queue(2, 2, 12),
            Queue(3, 3, 9),
            Seen(3, |seen| seen.protected = true),
            Runs(1),
            Starves(2),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Look(20_000, &[(Start, 1, Reason::NoProgress)]),
            Runs(1),
            Quiet(11),
            Starves(3),
            Quiet(2),
            Look(100, &[(Stop, 1, Reason::Inversion)]),
            Queue(4, 4, 2),
            Runs(4),
            Runs(3),
            Look(100, &[(Stop, 4, Reason::Inversion)]),
            Runs(3),
            Look(10_000, &[]),
            Runs(3),
            Look(10_000, &[(Start, 4, Reason::NoProgress)]),
        ],
    },
    Case {
        name: "fair: a queue that comes or wakes beside the only other one begins where that one is",
        scene: &[
            PLAIN,
            Line::Config(|config| config.policy = PolicyKind::Fair),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Times(50, &[Runs(1), Quiet(1)]),
            Starves(2),
            Quiet(10),
            Gone(2),
            Quiet(50),
            Queue(3, 3, 7),
            Starves(3),
            Quiet(10),
        ],
    },
];
