// SPDX-License-Identifier: GPL-2.0-only
// What the policy decides, case by case, at the boundaries of every rule. It is
// one file, however long, because the kernel's tests include it as text.
//
// Poll interval 100 us, so looks 20 us apart while it matters; grace 10 us, longest stop
// 100 ms, no progress 20 ms, half of a second for claims; a transaction is taken to cost
// 100 us, so that a wait of 280 us pays for a stop.

use gpreempt_policy::{Arming, RuleEffect, TenantId, UserPriority, Verdict};

use Action::{Start, Stop};
use Line::{Gone, Idles, Look, Queue, Quiet, Runs, Seen, Starves, Tell, Times};

/// What is decided in one look.
type Made = &'static [(Action, u64, Reason)];

const STOP_1: Made = &[(Stop, 1, Reason::Inversion)];
const STOP_3: Made = &[(Stop, 3, Reason::Inversion)];
const STOP_BOTH: Made = &[(Stop, 1, Reason::Inversion), (Stop, 3, Reason::Inversion)];
const CALM_1: Made = &[(Start, 1, Reason::Calm)];
const CALM_BOTH: Made = &[(Start, 1, Reason::Calm), (Start, 3, Reason::Calm)];

/// Queue 2 wants something for a moment, long after the last time, so that nothing is held
/// for it in a pause.
const FAR_APART: &[Line] = &[
    Starves(2),
    Look(1, &[]),
    Idles(2),
    Look(1, &[]),
    Look(20_000, &[]),
];

/// Queue 1 runs below queue 2, which is idle, and is known to have done so for 800 us.
const BELOW: &[Line] = &[Queue(1, 1, 3), Queue(2, 2, 9), Quiet(1), Runs(1), Quiet(9)];

/// Queue 2 waits for the grace, and queue 1 is stopped.
const REQUEST: &[Line] = &[Starves(2), Look(20, &[]), Look(10, STOP_1)];

/// Queue 4 of another tenant waits beside queue 2, which works and waits for nothing and has
/// been there for longer, and queue 1 is stopped.
const BESIDE_WORK: &[Line] = &[
    Times(1, BELOW),
    Seen(2, runs_out),
    Quiet(1),
    Queue(4, 4, 9),
    Starves(4),
    Look(20, &[]),
    Look(10, STOP_1),
];

/// Queue 1 launches what it has, queue 2 waits, nobody can count the waves of queue 1, and
/// it is stopped when queue 2 has waited for as long as a stop has to save.
const UNCOUNTABLE: &[Line] = &[
    Queue(1, 1, 3),
    Queue(2, 2, 9),
    Quiet(1),
    Seen(1, launches),
    Quiet(9),
    Starves(2),
    Look(20, &[]),
    Line::Step("its waves are asked for", |step| step.ask_waves),
    Look(20, &[]),
    Look(150, &[]),
    Look(150, STOP_1),
];

/// Queue 2 has had enough, and the pauses of its level are not known: queue 1 is started.
const ENOUGH: &[Line] = &[Idles(2), Look(20, &[]), Look(100, CALM_1)];

/// Queue 2 has queue 1 stopped for a moment, and is idle for so long then that nothing is
/// held for it in the next pause.
const SPENT: &[Line] = &[
    Starves(2),
    Look(20, &[]),
    Look(10, STOP_1),
    Idles(2),
    Look(1_000, CALM_1),
    Look(100, &[]),
];

/// Queue 2 has spent as much as it may at once.
const SPENDTHRIFT: &[Line] = &[
    Queue(1, 1, 3),
    Queue(2, 2, 9),
    Times(4, FAR_APART),
    Runs(1),
    Quiet(10),
    Times(8, SPENT),
];

/// As does one that has its level from a rule.
const RULED_SPENDTHRIFT: &[Line] = &[
    Queue(1, 1, 3),
    Queue(2, 2, 3),
    Seen(2, |seen| seen.rule = Some(URGENT)),
    Times(4, FAR_APART),
    Runs(1),
    Quiet(10),
    Times(8, SPENT),
];

/// Queue 2 works for 90 ms, and has more to run.
const KEPT: &[Line] = &[
    Seen(2, |seen| seen.waves = Waves::Known(1)),
    Quiet(1),
    Times(9, &[Look(10_000, &[])]),
];

/// Queue 1 does not yield when it is stopped, and the GPU is reset.
const HANGS: &[Line] = &[
    Line::Port(Port::Fails(FailureKind::Rebuilt)),
    Runs(1),
    Quiet(1),
    Times(1, REQUEST),
    Line::Port(Port::Obeys),
    Idles(2),
    Look(100, &[]),
    Look(20_000_000, &[]),
];

/// Queue 1 is stopped for a moment.
const YIELDS: &[Line] = &[
    Runs(1),
    Quiet(1),
    Times(1, REQUEST),
    Idles(2),
    Look(1_000, CALM_1),
    Quiet(1),
];

/// Queue 1 is found stopped and started.
const FOUND: &[Line] = &[
    Seen(1, |seen| seen.state = QueueState::StoppedByUs),
    Look(100, &[(Start, 1, Reason::Orphan)]),
    Quiet(1),
];

/// The second failure disarms.
const DISARMED_SOON: Line = Line::Config(|config| config.numbers.disarm_after = 2);

fn is_disarmed(step: &Step) -> bool {
    step.arming == Arming::Disarmed
}

/// Queue 1 is stopped for a hint of queue 2.
const HINTED: &[Line] = &[Times(1, BELOW), Seen(2, hints), Look(100, STOP_1)];

/// It launches its last packet, which has waves.
fn runs_out(seen: &mut Observation) {
    seen.progress += 1;
    seen.waves = Waves::Known(64);
    seen.backlog = Some(0);
}

/// It launches its last packet, and its waves are not counted.
fn launches(seen: &mut Observation) {
    seen.progress += 1;
    seen.waves = Waves::Unknown;
    seen.backlog = Some(0);
}

/// It launches its last packet, and three of its eight waves find room.
fn lacks_room(seen: &mut Observation) {
    runs_out(seen);
    seen.waves = Waves::Known(3);
    seen.grid = Some(8);
}

/// Its process writes that it prepares a request.
fn hints(seen: &mut Observation) {
    seen.hint = Some(seen.hint.unwrap_or(0).wrapping_add(1));
}

/// A rule that changes nothing.
const NO_EFFECT: RuleEffect = RuleEffect {
    priority: None,
    timeslice: None,
    stop_budget: None,
    exempt: false,
};

/// A rule that gives a level.
const fn raises(level: u32) -> RuleEffect {
    RuleEffect {
        priority: Priority::new(level),
        ..NO_EFFECT
    }
}

/// A rule that gives a timeslice.
const fn slices(micros: u32) -> RuleEffect {
    RuleEffect {
        timeslice: Some(Nanos::from_micros(micros)),
        ..NO_EFFECT
    }
}

/// A rule for urgent processes.
const URGENT: RuleEffect = raises(12);

/// A rule that has processes left alone.
const EXEMPT: RuleEffect = RuleEffect {
    exempt: true,
    ..NO_EFFECT
};

/// A rule that gives a budget of so many milliseconds.
const fn budget(millis: u32) -> RuleEffect {
    RuleEffect {
        stop_budget: Some(Nanos::from_millis(millis)),
        ..NO_EFFECT
    }
}

/// There are rules, of which one gives a level above all claims.
fn with_rules(config: &mut Config) {
    config.highest_rule = URGENT.priority;
}

/// There are rules, which change no claim.
fn with_low_rules(config: &mut Config) {
    config.highest_rule = Some(Priority::NORMAL);
}

/// Every case.
pub const CASES: &[Case] = &[
    // The grace.
    Case {
        name: "a waiting queue has the running one below it stopped when the grace is over",
        scene: &[
            Times(1, BELOW),
            Starves(2),
            Look(9, &[]),
            Look(9, &[]),
            Look(1, STOP_1),
            Line::Step("the inversion is told", |step| {
                step.inversion.is_some_and(|inversion| {
                    inversion.waiting == QueueId(2)
                        && inversion.running == QueueId(1)
                        && inversion.age == Nanos(10_000)
                })
            }),
            Line::Step("the stop counts at once", |step| step.stopped == 1),
            Line::Made("the stop is as old as its inversion", |made| {
                made.iter().all(|stop| {
                    stop.beneficiary == Some(QueueId(2)) && stop.age == Nanos(10_000) && stop.apply
                })
            }),
        ],
    },
    Case {
        name: "the grace is at least two looks",
        scene: &[
            Line::Config(|config| {
                config.numbers.grace_us = 0;
            }),
            Times(1, BELOW),
            Starves(2),
            Look(1_000, &[]),
            Line::Step("the second one may follow at once", |step| {
                step.next_look == Some(Nanos(10_002_000_001))
            }),
            Look(0, &[]),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "a long grace ends at its time and not before",
        scene: &[
            Line::Config(|config| {
                config.numbers.grace_us = 1_000;
            }),
            Times(1, BELOW),
            Starves(2),
            Look(100, &[]),
            Look(500, &[]),
            Look(499, &[]),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "a queue that is about to wait is looked at when its grace ends",
        scene: &[
            Line::Config(|config| {
                config.numbers.grace_us = 60;
                config.numbers.poll_interval_us = 500;
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Look(2_000, &[]),
            Look(2_000, &[]),
            Starves(2),
            Look(100, &[]),
            Line::Step("the end of the grace", |step| {
                step.next_look == Some(Nanos(10_004_100_000 + 60_000))
            }),
            Look(45, &[]),
            Line::Step("still the end of it", |step| {
                step.next_look == Some(Nanos(10_004_145_000 + 15_000))
            }),
            Look(15, STOP_1),
        ],
    },
    Case {
        name: "a head that is taken before the grace is over does not wait",
        scene: &[
            Times(1, BELOW),
            Times(50, &[Runs(2), Look(9, &[])]),
            Look(9, &[]),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "a gap in the work begins the grace again",
        scene: &[
            Times(1, BELOW),
            Starves(2),
            Look(20, &[]),
            Look(9, &[]),
            Idles(2),
            Look(1, &[]),
            Starves(2),
            Look(9, &[]),
            Look(9, &[]),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "time in which the pointers cannot be read is no waiting",
        scene: &[
            Times(1, BELOW),
            Starves(2),
            Look(20, &[]),
            Seen(2, |seen| seen.backlog = None),
            Quiet(50),
            Seen(2, |seen| seen.backlog = Some(1)),
            Look(20, &[]),
            Look(9, &[]),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "a queue that something else holds does not wait, and then waits anew",
        scene: &[
            Times(1, BELOW),
            Starves(2),
            Look(9, &[]),
            Seen(2, |seen| seen.state = QueueState::Held),
            Quiet(50),
            Seen(2, |seen| seen.state = QueueState::Active),
            Look(20, &[]),
            Look(9, &[]),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "a clock that stands still lets no grace run out",
        scene: &[
            Times(1, BELOW),
            Starves(2),
            Look(0, &[]),
            Look(0, &[]),
            Look(0, &[]),
            Look(9, &[]),
            Look(1, STOP_1),
        ],
    },
    // What counts as waiting.
    Case {
        name: "a barrier or an empty slot at the head does not wait for compute units",
        scene: &[
            Times(1, BELOW),
            Starves(2),
            Seen(2, |seen| seen.head = Head::Barrier),
            Quiet(50),
            Line::View(2, "it does not run", |view| {
                view.verdict == Verdict::Idle && view.ran == Nanos::ZERO
            }),
            Seen(2, |seen| seen.head = Head::Invalid),
            Quiet(50),
            Seen(2, |seen| seen.head = Head::Unknown),
            Look(20, &[]),
            Look(10, STOP_1),
        ],
    },
    Case {
        name: "a packet that is being taken is no end of the work, and one that stays empty is",
        scene: &[
            Times(1, BELOW),
            Starves(2),
            Look(20, &[]),
            // It is marked, and the read pointer has not been moved yet.
            Seen(2, |seen| seen.head = Head::Invalid),
            Look(10, STOP_1),
            // So are the next ones.
            Times(5, &[Seen(2, |seen| seen.progress += 1), Quiet(1)]),
            Seen(2, |seen| seen.head = Head::Runnable),
            Quiet(1),
            // One that stays so is a slot that is reserved.
            Seen(2, |seen| seen.head = Head::Invalid),
            Look(20, &[]),
            Look(20, &[]),
            Look(99, &[]),
            Look(1, CALM_1),
        ],
    },
    Case {
        name: "a queue whose head waits for a signal holds nobody once its waves are gone",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Runs(2),
            Quiet(2),
            Seen(2, |seen| seen.head = Head::Barrier),
            Quiet(5),
            Seen(2, |seen| seen.waves = Waves::Known(0)),
            Look(20, &[]),
            Look(100, CALM_1),
        ],
    },
    Case {
        name: "a queue with waves and nothing behind them does not wait",
        scene: &[Times(1, BELOW), Seen(2, runs_out), Quiet(50)],
    },
    Case {
        name: "an old queue that is seen for the first time wants nothing",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Seen(2, |seen| {
                seen.progress = 77;
                seen.waves = Waves::Unknown;
            }),
            Runs(1),
            Quiet(50),
        ],
    },
    // Launches that lack room.
    Case {
        name: "a launch that is not placed wholly waits at once",
        scene: &[
            Times(1, BELOW),
            Seen(2, lacks_room),
            Look(20, STOP_1),
            // It gets more, and then all.
            Seen(2, |seen| seen.waves = Waves::Known(5)),
            Quiet(2),
            Seen(2, |seen| seen.waves = Waves::Known(8)),
            Quiet(2),
            Times(1, ENOUGH),
        ],
    },
    Case {
        name: "a launch that is placed wholly, or of unknown size, does not lack room",
        scene: &[
            Times(1, BELOW),
            Seen(2, lacks_room),
            Seen(2, |seen| seen.waves = Waves::Known(8)),
            Quiet(20),
            Seen(2, lacks_room),
            Seen(2, |seen| seen.grid = None),
            Quiet(20),
            Seen(2, lacks_room),
            Seen(2, |seen| seen.waves = Waves::Known(0)),
            Quiet(20),
        ],
    },
    Case {
        name: "one count tells whether a launch is placed wholly, if it is made within 200 us",
        scene: &[
            Times(1, BELOW),
            Seen(1, |seen| seen.waves = Waves::Unknown),
            Seen(2, launches),
            Look(20, &[]),
            Line::Step("one is asked for", |step| step.ask_waves),
            Seen(2, |seen| {
                seen.waves = Waves::Known(3);
                seen.grid = Some(8);
            }),
            Look(200, &[]),
            Seen(2, launches),
            Look(20, &[]),
            Seen(2, |seen| seen.waves = Waves::Known(3)),
            Look(199, STOP_1),
        ],
    },
    Case {
        name: "nobody counts for a launch of a look that counted, nor for an old one",
        scene: &[
            Times(1, BELOW),
            // What is doubted is counted all the same, but not soon again.
            Seen(2, launches),
            Look(20, &[]),
            Seen(2, |seen| seen.waves = Waves::Known(64)),
            Look(20, &[]),
            Seen(2, launches),
            Look(20, &[]),
            Line::Step("waves were counted in this look", |step| !step.ask_waves),
            Seen(2, |seen| seen.waves = Waves::Known(64)),
            Look(100, &[]),
            Seen(1, |seen| seen.waves = Waves::Unknown),
            Seen(2, |seen| seen.waves = Waves::Unknown),
            Look(100, &[]),
            Line::Step("it is 200 us old", |step| !step.ask_waves),
        ],
    },
    Case {
        name: "nobody counts for a launch that nothing below could be in the way of",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Seen(1, runs_out),
            Look(100, &[]),
            Look(200, &[]),
            // What is doubted is counted all the same, but not soon again.
            Seen(1, |seen| seen.waves = Waves::Unknown),
            Seen(2, launches),
            Look(50, &[]),
            Seen(1, |seen| seen.waves = Waves::Known(64)),
            Seen(2, |seen| seen.waves = Waves::Known(64)),
            Look(20, &[]),
            Seen(1, |seen| seen.waves = Waves::Unknown),
            Seen(2, launches),
            Look(10, &[]),
            Line::Step("the lower one has been at work for 280 us", |step| {
                !step.ask_waves
            }),
            Look(1, &[]),
            Line::Step("and for longer", |step| step.ask_waves),
        ],
    },
    // Which processes.
    Case {
        name: "no queue is stopped for its own process, and others are",
        scene: &[
            Queue(1, 2, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Runs(1),
            Quiet(10),
            Starves(2),
            Quiet(20),
            Runs(3),
            Quiet(2),
            Look(100, &[]),
            Look(100, STOP_3),
        ],
    },
    Case {
        name: "a process that waits at a level has its own queues below left alone for another one",
        scene: &[
            Queue(1, 2, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 9),
            Runs(1),
            Quiet(10),
            Starves(2),
            Quiet(10),
            Starves(3),
            Look(20, &[]),
            Look(10, STOP_1),
            Line::Made("it is for the other process", |made| {
                made.iter().all(|stop| stop.beneficiary == Some(QueueId(3)))
            }),
        ],
    },
    Case {
        name: "a rule exempts victims and beneficiaries",
        scene: &[
            Line::Config(|config| {
                with_rules(config);
                config.user_priority = UserPriority::Honour;
            }),
            Times(1, BELOW),
            Starves(2),
            Seen(1, |seen| seen.rule = Some(EXEMPT)),
            Quiet(20),
            Seen(1, |seen| seen.rule = None),
            Seen(2, |seen| seen.rule = Some(EXEMPT)),
            Quiet(20),
            Seen(2, |seen| seen.rule = None),
            Look(10, STOP_1),
        ],
    },
    Case {
        name: "a queue that becomes exempt is started",
        scene: &[
            Line::Config(|config| {
                with_rules(config);
                config.user_priority = UserPriority::Honour;
            }),
            Times(1, BELOW),
            Times(1, REQUEST),
            Runs(2),
            Quiet(1),
            Seen(1, |seen| seen.rule = Some(EXEMPT)),
            Look(100, &[(Start, 1, Reason::Exempt)]),
        ],
    },
    Case {
        name: "the runtime's own queue takes part only by a rule that gives it a priority",
        scene: &[
            Line::Config(|config| {
                with_rules(config);
                config.user_priority = UserPriority::Honour;
            }),
            Times(1, BELOW),
            Starves(2),
            Seen(2, |seen| seen.internal = true),
            Quiet(20),
            Seen(2, |seen| seen.rule = Some(budget(30))),
            Quiet(20),
            Seen(2, |seen| {
                seen.internal = false;
                seen.rule = None;
            }),
            Seen(1, |seen| seen.internal = true),
            Quiet(20),
            Seen(1, |seen| seen.internal = false),
            Seen(2, |seen| {
                seen.internal = true;
                seen.rule = Some(URGENT);
            }),
            Look(10, STOP_1),
        ],
    },
    Case {
        name: "a protected queue is not stopped",
        scene: &[
            Times(1, BELOW),
            Starves(2),
            Seen(1, |seen| seen.protected = true),
            Quiet(20),
            Seen(1, |seen| seen.protected = false),
            Look(10, STOP_1),
        ],
    },
    Case {
        name: "a queue that never launched anything does not go along, not even when time begins",
        scene: &[
            Line::Back(9_900_000),
            Times(1, BELOW),
            Queue(3, 3, 3),
            Quiet(1),
            Times(1, REQUEST),
        ],
    },
    // Levels.
    Case {
        name: "one level is enough, at the bottom",
        scene: &[
            Queue(1, 1, 0),
            Queue(2, 2, 1),
            Runs(1),
            Quiet(10),
            Times(1, REQUEST),
        ],
    },
    Case {
        name: "one level is enough, at the top",
        scene: &[
            Queue(1, 1, 14),
            Queue(2, 2, 15),
            Runs(1),
            Quiet(10),
            Times(1, REQUEST),
        ],
    },
    Case {
        name: "neither an equal queue nor a higher one is stopped without a timeslice",
        scene: &[
            Queue(1, 1, 9),
            Queue(2, 2, 9),
            Queue(3, 3, 10),
            Queue(4, 4, 3),
            Seen(1, runs_out),
            Seen(3, runs_out),
            Quiet(10),
            Starves(2),
            Quiet(50),
            Line::Step("nothing is inverted", |step| step.inversion.is_none()),
        ],
    },
    Case {
        name: "every working queue below the waiting one is stopped at once, and nothing above",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 4),
            Queue(3, 3, 9),
            Queue(4, 4, 10),
            Queue(5, 5, 9),
            Queue(6, 6, 3),
            Runs(1),
            Seen(2, runs_out),
            Seen(3, runs_out),
            Seen(4, runs_out),
            Quiet(10),
            Starves(5),
            Look(20, &[]),
            Look(
                10,
                &[(Stop, 1, Reason::Inversion), (Stop, 2, Reason::Inversion)],
            ),
            Line::Step("the lowest of them is told", |step| {
                step.inversion.is_some_and(|it| it.running == QueueId(1))
            }),
        ],
    },
    Case {
        name: "of several that wait the highest has others stopped, if it pays for it",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 5),
            Seen(1, runs_out),
            Seen(3, runs_out),
            Quiet(10),
            Starves(2),
            Seen(3, |seen| seen.backlog = Some(1)),
            Look(20, &[]),
            Look(10, STOP_BOTH),
            Line::Made("for the highest", |made| {
                made.iter().all(|stop| stop.beneficiary == Some(QueueId(2)))
            }),
        ],
    },
    Case {
        name: "a rule's priority counts as long as the rule matches",
        scene: &[
            Line::Config(with_rules),
            Queue(1, 1, 7),
            Queue(2, 2, 3),
            Seen(1, runs_out),
            Quiet(10),
            Starves(2),
            Quiet(20),
            Seen(2, |seen| seen.rule = Some(URGENT)),
            Look(10, STOP_1),
            // The process becomes another program, which no rule matches.
            Seen(2, |seen| seen.rule = None),
            Look(20, &[]),
            Look(100, CALM_1),
        ],
    },
    Case {
        name: "a rule of a level up to 7 changes no request, and one above caps them at 7",
        scene: &[
            Queue(1, 1, 15),
            Queue(2, 2, 3),
            Quiet(1),
            Line::View(1, "without a rule it counts", |view| {
                view.effective == Priority::HIGHEST
            }),
            Line::Config(|config| config.highest_rule = Priority::new(0)),
            Quiet(1),
            Line::View(1, "beside a rule of 0 it counts", |view| {
                view.effective == Priority::HIGHEST
            }),
            Line::Config(|config| config.highest_rule = Priority::new(2)),
            Quiet(1),
            Line::View(1, "beside a rule of 2 it counts", |view| {
                view.effective == Priority::HIGHEST
            }),
            Line::Config(|config| config.highest_rule = Priority::new(7)),
            Quiet(1),
            Line::View(1, "beside a rule of 7 it counts", |view| {
                view.effective == Priority::HIGHEST
            }),
            Line::Config(|config| config.highest_rule = Priority::new(8)),
            Quiet(1),
            Line::View(1, "beside a rule of 8 it is capped", |view| {
                view.effective == Priority::NORMAL
            }),
            Line::View(2, "what is lower stays", |view| view.effective.level() == 3),
            Line::Config(|config| config.highest_rule = Priority::new(15)),
            Quiet(1),
            Line::View(1, "beside a rule of 15 it is capped", |view| {
                view.effective == Priority::NORMAL
            }),
            Line::Config(|config| config.user_priority = UserPriority::Honour),
            Quiet(1),
            Line::View(1, "unless requests are honoured", |view| {
                view.effective == Priority::HIGHEST
            }),
        ],
    },
    Case {
        name: "a cap bounds what a program asks for",
        scene: &[
            Line::Config(|config| config.user_priority = UserPriority::Cap(Priority::NORMAL)),
            Queue(1, 1, 7),
            Queue(2, 2, 15),
            Runs(1),
            Quiet(10),
            Starves(2),
            Quiet(20),
            Line::Config(|config| {
                if let Some(cap) = Priority::new(8) {
                    config.user_priority = UserPriority::Cap(cap);
                }
            }),
            Look(10, STOP_1),
        ],
    },
    Case {
        name: "a program's request can count for nothing, and a rule is never capped",
        scene: &[
            Line::Config(|config| {
                with_rules(config);
                config.user_priority = UserPriority::Ignore;
            }),
            Queue(1, 1, 0),
            Queue(2, 2, 15),
            Runs(1),
            Quiet(10),
            Starves(2),
            Quiet(20),
            Seen(2, |seen| seen.rule = Some(URGENT)),
            Look(10, STOP_1),
        ],
    },
    // Whether it pays.
    Case {
        name: "a stop pays from twice its cost and two looks on",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Quiet(1),
            Seen(1, runs_out),
            Look(100, &[]),
            Starves(2),
            Look(100, &[]),
            Look(180, &[]),
            Line::Step("an inversion is told though it is not ended", |step| {
                step.inversion.is_some()
            }),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "what a stop has to save follows what transactions were measured to take",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            // A quarter of what is known: 200 us.
            Tell(|scheduler| scheduler.transaction_took(Nanos(500_000))),
            // It was told of one transaction alone.
            Tell(|scheduler| scheduler.transaction_took(Nanos(900_000))),
            Gone(1),
            Queue(3, 3, 3),
            Quiet(1),
            Seen(3, runs_out),
            Look(100, &[]),
            Look(480, &[]),
            Look(1, STOP_3),
        ],
    },
    Case {
        name: "what stops were measured to take is forgotten by and by",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            // Somebody has held it up: 2,575 us from now on, and 120 after seven seconds.
            Tell(|scheduler| scheduler.transaction_took(Nanos(10_000_000))),
            Gone(1),
            Queue(3, 3, 3),
            Times(7, &[Look(1_000_000, &[])]),
            Quiet(1),
            Seen(3, runs_out),
            Look(100, &[]),
            Look(318, &[]),
            Look(1, STOP_3),
        ],
    },
    Case {
        name: "what a stop has to save follows the time between two looks",
        scene: &[
            Line::Config(|config| {
                config.numbers.poll_interval_us = 1_000;
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Look(100, &[]),
            Seen(1, runs_out),
            Look(100, &[]),
            Starves(2),
            Look(100, &[]),
            Look(900, &[]),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "short launches are left to pass, and one that lasts longer than ever is not",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Times(50, &[Runs(1), Look(20, &[])]),
            Starves(2),
            Times(50, &[Runs(1), Look(20, &[])]),
            Look(280, &[]),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "short launches beside which waves stay are left to pass for so long only",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Times(50, &[Runs(1), Look(20, &[])]),
            Starves(2),
            Seen(1, |seen| seen.waves = Waves::Known(8)),
            Times(113, &[Runs(1), Look(20, &[])]),
            Runs(1),
            Look(20, STOP_1),
        ],
    },
    Case {
        name: "each further packet that waits may find a short launch in its way",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Times(50, &[Runs(1), Look(20, &[])]),
            Starves(2),
            Seen(2, |seen| seen.backlog = Some(10)),
            Times(50, &[Runs(1), Look(20, &[])]),
            Seen(2, |seen| seen.backlog = Some(20)),
            Runs(1),
            Look(20, STOP_1),
        ],
    },
    Case {
        name: "a queue that has just got work is in the way for as long as it has waited",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Quiet(1),
            Starves(1),
            Starves(2),
            Look(20, &[]),
            Look(280, &[]),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "a queue that may not be stopped is worth no stop of another one",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Seen(1, |seen| seen.protected = true),
            Runs(1),
            Quiet(10),
            Starves(2),
            Times(50, &[Runs(3), Look(20, &[])]),
        ],
    },
    Case {
        name: "of those that wait the most packets count and the longest wait",
        scene: &[
            Queue(4, 4, 9),
            Queue(2, 2, 9),
            Queue(1, 1, 3),
            Queue(3, 3, 3),
            Times(50, &[Runs(1), Runs(3), Look(20, &[])]),
            Starves(2),
            Look(10, &[]),
            Runs(1),
            Runs(3),
            Starves(4),
            Look(20, &[]),
            Runs(1),
            Runs(3),
            Look(20, &[]),
            Line::Step("the first of the lowest is in the way of the one that waited longest", |step| {
                step.inversion.is_some_and(|inversion| {
                    inversion.age == Nanos(40_000) && inversion.running == QueueId(1)
                })
            }),
            Seen(2, |seen| seen.backlog = Some(20)),
            Runs(1),
            Runs(3),
            Look(20, STOP_BOTH),
        ],
    },
    // What is believed to run.
    Case {
        name: "a last launch is believed for twice as long as it was seen to run, and 50 us",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Quiet(1),
            Seen(1, runs_out),
            Look(100, &[]),
            Look(400, &[]),
            Seen(1, |seen| seen.waves = Waves::Unknown),
            Look(400, &[]),
            Line::View(1, "it runs", |view| view.verdict == Verdict::Running),
            Look(49, &[]),
            Line::View(1, "it still runs", |view| view.verdict == Verdict::Running),
            Look(1, &[]),
            Line::View(1, "it is doubted", |view| view.verdict == Verdict::Idle),
        ],
    },
    Case {
        name: "a last launch is believed while most of its kind last longer",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Times(20, &[Runs(1), Look(1_000, &[])]),
            Seen(1, launches),
            Look(20, &[]),
            Look(800, &[]),
            Line::View(1, "it runs", |view| view.verdict == Verdict::Running),
            Look(400, &[]),
            Line::View(1, "it is doubted", |view| view.verdict == Verdict::Idle),
        ],
    },
    Case {
        name: "waves are counted before anybody is stopped that is in doubt",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Quiet(1),
            Seen(1, launches),
            Look(100, &[]),
            Look(1_000, &[]),
            Starves(2),
            Look(20, &[]),
            Line::Step("the next look counts", |step| step.ask_waves),
            Seen(1, |seen| seen.waves = Waves::Known(64)),
            Look(20, STOP_1),
        ],
    },
    Case {
        name: "a queue that is counted without waves is not stopped",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Quiet(1),
            Seen(1, launches),
            Look(100, &[]),
            Look(1_000, &[]),
            Starves(2),
            Look(20, &[]),
            Seen(1, |seen| seen.waves = Waves::Known(0)),
            Quiet(20),
            Line::View(1, "it is idle", |view| view.verdict == Verdict::Idle),
        ],
    },
    Case {
        name: "none that are counted tell nothing while something more important has waves",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Quiet(1),
            Seen(1, launches),
            Look(100, &[]),
            Seen(1, |seen| seen.waves = Waves::Known(0)),
            Seen(2, runs_out),
            Look(100, &[]),
            Line::Step("it may run or not", |step| step.ask_waves),
            Look(300, &[]),
            Line::Step("that tells nothing", |step| step.ask_waves),
            Idles(2),
            Look(300, &[]),
            Line::Step("now it is over", |step| !step.ask_waves),
        ],
    },
    Case {
        name: "who waits for nothing that is known has waves counted, and so finds hidden ones",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Quiet(1),
            Look(1_000, &[]),
            Starves(2),
            Look(20, &[]),
            Line::Step("it does not wait yet", |step| !step.ask_waves),
            Look(10, &[]),
            Line::Step("the next look counts", |step| step.ask_waves),
            Seen(1, |seen| seen.waves = Waves::Known(64)),
            Look(20, STOP_1),
        ],
    },
    Case {
        name: "who waits for twice as long as is known to be in its way has waves counted",
        scene: &[
            Line::Config(|config| {
                config.numbers.poll_interval_us = 20;
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Look(1_000, &[]),
            Starves(2),
            Look(20, &[]),
            Look(10, &[]),
            Starves(1),
            Look(40, &[]),
            Line::Step("nothing is in its way", |step| step.ask_waves),
            Look(50, &[]),
            Line::Step("it has waited for 100 us, and the other one for 50", |step| {
                step.ask_waves
            }),
            Look(100, &[]),
            Line::Step("it has waited for 200 us, and the other one for 150", |step| {
                !step.ask_waves
            }),
        ],
    },
    Case {
        name: "who waits for nothing that is known has waves counted at a growing distance",
        scene: &[
            Line::Config(|config| {
                config.numbers.poll_interval_us = 1_000_000;
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 10),
            Seen(1, launches),
            Seen(1, |seen| seen.waves = Waves::Known(0)),
            Seen(3, runs_out),
            Starves(2),
            Look(20, &[]),
            Look(20, &[]),
            Line::Step("after 20 us", |step| step.ask_waves),
            Look(19, &[]),
            Line::Step("not before it is twice as old", |step| !step.ask_waves),
            Look(1, &[]),
            Line::Step("after 40 us", |step| step.ask_waves),
            Look(39, &[]),
            Line::Step("nor then", |step| !step.ask_waves),
            Look(1, &[]),
            Line::Step("after 80 us", |step| step.ask_waves),
            Idles(2),
            Look(20, &[]),
            Starves(2),
            Look(20, &[]),
            Look(20, &[]),
            Line::Step("for the next wait, after 20 us", |step| step.ask_waves),
            Look(20, &[]),
            Line::Step("and after 40", |step| step.ask_waves),
        ],
    },
    // What goes along.
    Case {
        name: "idle queues below go along if they have launched something within a second",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Queue(4, 4, 3),
            Queue(5, 2, 3),
            Queue(6, 6, 9),
            Quiet(1),
            Runs(3),
            Runs(5),
            Runs(6),
            Look(100, &[]),
            Idles(3),
            Idles(5),
            Idles(6),
            Runs(4),
            Look(1, &[]),
            Idles(4),
            Look(997_979, &[]),
            Runs(1),
            Look(1_000, &[]),
            Look(1_000, &[]),
            Starves(2),
            Look(10, &[]),
            // The third launched something a second ago, and the fourth 1 us later.
            Look(
                10,
                &[(Stop, 1, Reason::Inversion), (Stop, 4, Reason::Inversion)],
            ),
        ],
    },
    Case {
        name: "idle queues alone are not worth a transaction",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Quiet(1),
            Runs(1),
            Quiet(10),
            Idles(1),
            Quiet(1),
            Starves(2),
            Quiet(20),
        ],
    },
    Case {
        name: "work that comes to a queue that went along waits until it is started",
        scene: &[
            Times(1, BELOW),
            Queue(3, 3, 3),
            Quiet(1),
            Runs(3),
            Quiet(1),
            Idles(3),
            Starves(2),
            Look(20, &[]),
            Look(10, STOP_BOTH),
            Starves(3),
            Quiet(10),
            Idles(2),
            Look(20, &[]),
            Look(100, CALM_BOTH),
        ],
    },
    // What a level may spend.
    Case {
        name: "so many round trips may be spent at once, and then a share of the time",
        scene: &[
            Line::Config(|config| {
                with_low_rules(config);
                config.numbers.claim_overhead_percent = 1;
            }),
            Times(1, SPENDTHRIFT),
            Starves(2),
            Look(20, &[]),
            Look(10, &[]),
            Line::Step("the inversion is told though it is not ended", |step| {
                step.inversion.is_some() && step.stopped == 0
            }),
            Look(10_000, &[]),
            Look(1_000, STOP_1),
        ],
    },
    Case {
        name: "short stops of a level hold up those below and nobody above",
        scene: &[
            Line::Config(|config| {
                with_low_rules(config);
                config.numbers.claim_overhead_percent = 1;
            }),
            Times(1, SPENDTHRIFT),
            Queue(4, 4, 5),
            Queue(5, 5, 12),
            Starves(4),
            Look(20, &[]),
            Look(10, &[]),
            Idles(4),
            Starves(5),
            Look(20, &[]),
            Look(10, STOP_1),
        ],
    },
    Case {
        name: "no rule is held up by what claims above it spend",
        scene: &[
            Line::Config(|config| {
                with_low_rules(config);
                config.numbers.claim_overhead_percent = 1;
                config.numbers.rule_overhead_percent = 1;
            }),
            Times(1, SPENDTHRIFT),
            Queue(4, 4, 5),
            Seen(4, |seen| seen.rule = Some(raises(7))),
            Starves(4),
            Look(20, &[]),
            Look(10, STOP_1),
        ],
    },
    Case {
        name: "where one of those that wait has its level from a rule, the rule pays",
        scene: &[
            Line::Config(|config| {
                with_low_rules(config);
                config.numbers.claim_overhead_percent = 1;
            }),
            Times(1, SPENDTHRIFT),
            Queue(4, 4, 7),
            Queue(5, 5, 5),
            Seen(5, |seen| seen.rule = Some(raises(7))),
            Starves(4),
            Starves(5),
            Look(20, &[]),
            Look(10, STOP_1),
        ],
    },
    Case {
        name: "a rule pays for what it takes over",
        scene: &[
            Line::Config(|config| {
                config.highest_rule = Priority::new(7);
                config.numbers.claim_overhead_percent = 1;
            }),
            Times(1, SPENDTHRIFT),
            Queue(4, 4, 4),
            Queue(5, 5, 4),
            Seen(4, |seen| seen.rule = Some(raises(5))),
            Seen(5, |seen| seen.rule = Some(raises(7))),
            Starves(4),
            Look(20, &[]),
            Look(10, STOP_1),
            Starves(5),
            Look(20, &[]),
            Line::View(1, "the higher one holds it", |view| {
                view.beneficiary == Some(QueueId(5))
            }),
        ],
    },
    Case {
        name: "it looks when a level can afford the next stop",
        scene: &[
            Line::Config(|config| {
                with_low_rules(config);
                config.numbers.claim_overhead_percent = 1;
            }),
            Times(1, SPENDTHRIFT),
            Line::Config(|config| {
                config.numbers.poll_interval_us = 1_000;
                config.numbers.claim_overhead_percent = 100;
            }),
            Starves(2),
            Look(1, &[]),
            Look(10, &[]),
            Line::Step("before the interval is over", |step| {
                step.stopped == 0 && step.next_look < Some(Nanos(10_090_059_000 + 200_000))
            }),
        ],
    },
    Case {
        name: "what rules spend is lost to the rules below, and to no claim",
        scene: &[
            Line::Config(|config| {
                config.highest_rule = Priority::new(12);
                config.numbers.rule_overhead_percent = 1;
            }),
            Queue(4, 4, 3),
            Queue(5, 5, 5),
            Seen(4, |seen| seen.rule = Some(raises(6))),
            Times(1, RULED_SPENDTHRIFT),
            Starves(4),
            Look(20, &[]),
            Look(10, &[]),
            Idles(4),
            Starves(5),
            Look(20, &[]),
            Look(10, STOP_1),
        ],
    },
    Case {
        name: "what rules spend comes back with the time, too",
        scene: &[
            Line::Config(|config| {
                config.highest_rule = Priority::new(12);
                config.numbers.rule_overhead_percent = 1;
            }),
            Times(1, RULED_SPENDTHRIFT),
            Starves(2),
            Look(20, &[]),
            Look(10, &[]),
            Look(10_000, &[]),
            Look(1_000, STOP_1),
        ],
    },
    Case {
        name: "claims may spend 24 times as much while no rule gives a level",
        scene: &[
            Times(1, SPENDTHRIFT),
            Times(20, SPENT),
            Line::Config(with_low_rules),
            Times(8, SPENT),
            Starves(2),
            Look(20, &[]),
            Look(10, &[]),
        ],
    },
    // Pauses.
    Case {
        name: "while no pause is known, one is held out for as long as a start takes",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Runs(2),
            Quiet(10),
            Idles(2),
            Look(20, &[]),
            Line::Step("it looks when the hold is over", |step| {
                step.next_look == Some(Nanos(10_002_050_000 + 20_000))
            }),
            Look(85, &[]),
            Line::Step("in time", |step| {
                step.next_look == Some(Nanos(10_002_135_000 + 15_000))
            }),
            Look(14, &[]),
            Look(1, CALM_1),
            Line::Step("it counts until it is seen to run", |step| step.stopped == 1),
            Quiet(1),
            Line::Step("it runs", |step| step.stopped == 0),
        ],
    },
    Case {
        name: "short pauses are held out, and no longer than they are",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Times(
                16,
                &[Idles(2), Look(10, &[]), Look(30, &[]), Starves(2), Look(20, &[])],
            ),
            Idles(2),
            Look(10, &[]),
            Look(57, &[]),
            Look(1, CALM_1),
        ],
    },
    Case {
        name: "long pauses are not held out at all",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Times(4, FAR_APART),
            Runs(1),
            Quiet(10),
            Times(1, REQUEST),
            Runs(2),
            Quiet(5),
            Idles(2),
            Look(20, CALM_1),
        ],
    },
    Case {
        name: "a request that comes in the pause finds the lower queues stopped",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Times(3, &[Idles(2), Look(20, &[]), Look(79, &[]), Starves(2), Look(1, &[])]),
            Quiet(10),
            Line::Step("they still are", |step| step.stopped == 1),
        ],
    },
    Case {
        name: "a last launch whose end was not seen holds others, and its waves are counted",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Runs(2),
            Quiet(1),
            Line::Step("it has more to run", |step| !step.ask_waves),
            Seen(2, launches),
            Look(20, &[]),
            Line::Step("is it over?", |step| step.ask_waves),
            Seen(2, |seen| seen.waves = Waves::Known(8)),
            Look(20, &[]),
            Line::Step("and now?", |step| step.ask_waves),
            Seen(2, |seen| seen.waves = Waves::Known(0)),
            Look(20, &[]),
            Line::Step("it is", |step| !step.ask_waves),
            Look(100, CALM_1),
        ],
    },
    Case {
        name: "a launch whose waves were not counted yet holds others, where no pause is held out",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Times(4, FAR_APART),
            Runs(1),
            Quiet(10),
            Times(1, REQUEST),
            Seen(2, launches),
            Look(20, &[]),
            Seen(2, |seen| seen.waves = Waves::Known(8)),
            Look(20, &[]),
            Idles(2),
            Look(20, CALM_1),
        ],
    },
    Case {
        name: "a pause begins with a launch that nothing speaks for, where nobody is stopped",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Times(
                4,
                &[
                    Starves(2),
                    Look(1, &[]),
                    Seen(2, launches),
                    Look(1, &[]),
                    Look(20_000, &[]),
                ],
            ),
            Idles(2),
            Runs(1),
            Quiet(10),
            Times(1, REQUEST),
            Idles(2),
            Look(20, CALM_1),
        ],
    },
    Case {
        name: "a queue whose waves cannot be counted is not waited for beyond what it usually takes",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Times(10, &[Runs(2), Look(50, &[])]),
            Seen(2, launches),
            Look(20, &[]),
            Line::Step("is it over?", |step| step.ask_waves),
            Look(20, &[]),
            Line::Step("nobody can say", |step| !step.ask_waves),
            Look(40, &[]),
            Look(100, CALM_1),
        ],
    },
    Case {
        name: "a last launch whose waves cannot be counted is stopped for one that waits, and found to run",
        scene: &[
            Times(1, UNCOUNTABLE),
            Seen(1, |seen| seen.waves = Waves::Known(64)),
            Idles(2),
            Look(20, &[]),
            Look(100, CALM_1),
            Seen(1, |seen| seen.waves = Waves::Unknown),
            Look(20, &[]),
            Times(1, REQUEST),
        ],
    },
    Case {
        name: "a last launch whose waves cannot be counted, and of which a stop saves none, is over",
        scene: &[
            Times(1, UNCOUNTABLE),
            Seen(1, |seen| seen.waves = Waves::Known(0)),
            Idles(2),
            Look(20, &[]),
            Look(100, CALM_1),
            Seen(1, |seen| seen.waves = Waves::Unknown),
            Look(20_000, &[]),
            Starves(2),
            Look(20, &[]),
            Quiet(200),
        ],
    },
    Case {
        name: "the last launch of a queue that is stopped itself keeps no other one stopped",
        scene: &[
            Times(1, BELOW),
            Queue(4, 4, 5),
            Starves(2),
            Look(20, &[]),
            Seen(4, launches),
            Look(
                10,
                &[(Stop, 1, Reason::Inversion), (Stop, 4, Reason::Inversion)],
            ),
            Idles(2),
            Look(20, &[]),
            Look(100, &[(Start, 1, Reason::Calm), (Start, 4, Reason::Calm)]),
        ],
    },
    Case {
        name: "what is stopped for a process that goes is started as in a pause",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Quiet(2),
            Gone(2),
            Look(20, &[]),
            Look(20, CALM_1),
        ],
    },
    Case {
        name: "a stopped queue that goes is forgotten, and leaves no bound behind",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Quiet(1),
            Gone(1),
            Quiet(1),
            Line::Step("there is no stop", |step| {
                step.bound.is_none() && step.stopped == 0
            }),
            Idles(2),
            Quiet(10),
        ],
    },
    // Another level.
    Case {
        name: "a higher level takes over what is stopped, and the lower one is left behind",
        scene: &[
            Times(1, BELOW),
            Queue(3, 3, 12),
            Times(1, REQUEST),
            Quiet(1),
            Starves(3),
            Quiet(1),
            Line::View(1, "it is stopped for the higher one", |view| {
                view.beneficiary == Some(QueueId(3))
            }),
            Idles(2),
            Quiet(10),
            Idles(3),
            Look(20, &[]),
            Look(100, CALM_1),
            Line::Made("the start is put down to the later one", |made| {
                made.iter().all(|made| made.beneficiary == Some(QueueId(3)))
            }),
        ],
    },
    Case {
        name: "a lower level takes over what is stopped when the higher one has had enough",
        scene: &[
            Times(1, BELOW),
            Queue(3, 3, 12),
            Starves(3),
            Look(20, &[]),
            Look(10, STOP_1),
            Starves(2),
            Quiet(1),
            Idles(3),
            Look(20, &[]),
            Quiet(10),
            Line::View(1, "it is stopped for the lower one", |view| {
                view.beneficiary == Some(QueueId(2))
            }),
        ],
    },
    Case {
        name: "what is nearly over is not taken over",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 12),
            Queue(3, 3, 9),
            Times(50, &[Runs(1), Look(20, &[])]),
            Starves(2),
            Seen(2, |seen| seen.backlog = Some(100)),
            Look(10, &[]),
            Look(10, STOP_1),
            Starves(3),
            Quiet(1),
            Idles(2),
            Look(20, &[]),
            Look(100, CALM_1),
        ],
    },
    Case {
        name: "what is worth no more than its cost is not taken over",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 12),
            Quiet(1),
            Seen(1, runs_out),
            Look(100, &[]),
            Look(950, &[]),
            Starves(2),
            Look(20, &[]),
            Look(10, STOP_1),
            // It is left as a launch of 1,000 us, and a stop takes 460.
            Look(20, &[]),
            Tell(|scheduler| scheduler.transaction_took(Nanos(1_540_000))),
            Seen(3, runs_out),
            Look(20, &[]),
            Line::View(1, "it stays with the lower one", |view| {
                view.beneficiary == Some(QueueId(2))
            }),
        ],
    },
    Case {
        name: "nobody takes over what is of its own process",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 1, 12),
            Runs(1),
            Quiet(10),
            Times(1, REQUEST),
            Starves(3),
            Quiet(1),
            Times(1, ENOUGH),
        ],
    },
    Case {
        name: "a queue that is stopped for a turn is taken over by a higher level",
        scene: &[
            Line::Config(|config| {
                config.timeslices = [2_000; 16];
            }),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Queue(3, 3, 9),
            Seen(1, runs_out),
            Quiet(50),
            Starves(2),
            Look(20, &[]),
            Look(20, &[]),
            Look(2_000, &[(Stop, 1, Reason::Rotation)]),
            Starves(3),
            Look(20, &[]),
            Line::View(1, "the higher one holds it", |view| {
                view.beneficiary == Some(QueueId(3))
            }),
        ],
    },
    // The bound.
    Case {
        name: "the longest stop ends at its bound, and then the queue has its time",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Times(1, KEPT),
            Look(9_899, &[]),
            Look(1, &[(Start, 1, Reason::Bound)]),
            Line::Made("it was stopped for all of it", |made| {
                made.iter().all(|start| start.age == Nanos(100_000_000))
            }),
            Look(50, &[]),
            Look(199, &[]),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "the time after a bound is the timeslice where that is longer",
        scene: &[
            Line::Config(|config| {
                config.timeslices = [5_000; 16];
            }),
            Times(1, BELOW),
            Times(1, REQUEST),
            Times(1, KEPT),
            Look(9_900, &[(Start, 1, Reason::Bound)]),
            Look(50, &[]),
            Look(4_999, &[]),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "the time after a bound counts against levels up to the one that held it",
        scene: &[
            Line::Config(|config| {
                config.numbers.min_run_us = 5_000;
            }),
            Times(1, BELOW),
            Queue(3, 3, 9),
            Queue(4, 4, 10),
            Times(1, REQUEST),
            Times(1, KEPT),
            Look(9_900, &[(Start, 1, Reason::Bound)]),
            Look(50, &[]),
            Starves(3),
            Look(20, &[]),
            Look(20, &[]),
            Starves(4),
            Look(20, &[]),
            Look(
                10,
                &[
                    (Stop, 1, Reason::Inversion),
                    (Stop, 2, Reason::Inversion),
                    (Stop, 3, Reason::Inversion),
                ],
            ),
        ],
    },
    Case {
        name: "beside rules a stop for a claim ends at half of the bound",
        scene: &[
            Line::Config(with_low_rules),
            Times(1, BELOW),
            Times(1, REQUEST),
            Seen(2, |seen| seen.waves = Waves::Known(1)),
            Quiet(1),
            Times(4, &[Look(10_000, &[])]),
            Look(9_899, &[]),
            Look(1, &[(Start, 1, Reason::Bound)]),
        ],
    },
    Case {
        name: "whom a rule raises keeps what a claim had stopped for half of the bound",
        scene: &[
            Line::Config(with_rules),
            Times(1, BELOW),
            Queue(3, 3, 5),
            Seen(3, |seen| seen.rule = Some(URGENT)),
            Times(1, REQUEST),
            Seen(2, |seen| seen.waves = Waves::Known(1)),
            Quiet(1),
            Times(4, &[Look(10_000, &[])]),
            Starves(3),
            Look(20, &[]),
            Look(10, &[(Stop, 2, Reason::Inversion)]),
            Seen(3, |seen| seen.waves = Waves::Known(1)),
            Quiet(1),
            Times(5, &[Look(10_000, &[])]),
            Look(9_769, &[]),
            Look(
                1,
                &[(Start, 1, Reason::Bound)],
            ),
        ],
    },
    Case {
        name: "the step tells when a stop reaches the first of its bounds",
        scene: &[
            Times(1, BELOW),
            Starves(2),
            Quiet(1),
            Line::Step("there is no stop", |step| step.bound.is_none()),
            Look(100, STOP_1),
            Line::Step("the longest stop", |step| {
                step.bound == Some(Nanos(10_001_200_000 + 100_000_000))
            }),
            Look(100, &[]),
            Line::Step("no progress", |step| {
                step.bound == Some(Nanos(10_001_200_000 + 20_000_000))
            }),
            Line::Config(|config| {
                config.numbers.noprogress_ms = 60_000;
            }),
            Look(100, &[]),
            Line::Step("the longest stop once more", |step| {
                step.bound == Some(Nanos(10_001_200_000 + 100_000_000))
            }),
            Line::Config(|config| {
                config.numbers.stop_budget_ms = 5;
            }),
            Look(100, &[]),
            Line::Step("the budget", |step| {
                step.bound == Some(Nanos(10_001_200_000 + 5_000_000))
            }),
        ],
    },
    // Turns.
    Case {
        name: "the processes of a level with a timeslice take turns while one of them waits",
        scene: &[
            Line::Config(|config| {
                config.timeslices = [2_000; 16];
            }),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Seen(1, runs_out),
            Quiet(50),
            Starves(2),
            Look(20, &[]),
            // The first turn begins here, and costs nothing.
            Look(20, &[]),
            Seen(1, |seen| seen.backlog = Some(1)),
            Look(1_999, &[]),
            Line::Step("it looks when the turn is over", |step| {
                step.next_look == Some(Nanos(10_007_039_000 + 1_000))
            }),
            Look(1, &[(Stop, 1, Reason::Rotation)]),
            Line::Made("it is for the next one", |made| {
                made.iter().all(|stop| stop.beneficiary == Some(QueueId(2)))
            }),
            Runs(2),
            Look(1_999, &[]),
            Look(1, &[(Start, 1, Reason::Turn), (Stop, 2, Reason::Rotation)]),
            Runs(1),
            Look(1_999, &[]),
            Look(1, &[(Start, 2, Reason::Turn), (Stop, 1, Reason::Rotation)]),
        ],
    },
    Case {
        name: "whoever runs has the first turn, whatever its number",
        scene: &[
            Line::Config(|config| {
                config.timeslices = [2_000; 16];
            }),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Runs(2),
            Quiet(50),
            Starves(1),
            Look(20, &[]),
            Runs(2),
            Look(1_999, &[]),
            Look(1, &[(Stop, 2, Reason::Rotation)]),
        ],
    },
    Case {
        name: "the first turn costs nothing, be there nothing to pay with",
        scene: &[
            Line::Config(|config| {
                with_low_rules(config);
                config.numbers.claim_overhead_percent = 1;
            }),
            Times(1, SPENDTHRIFT),
            Gone(1),
            Line::Config(|config| {
                config.timeslices = [2_000; 16];
                config.numbers.claim_overhead_percent = 10;
            }),
            Queue(4, 4, 7),
            Queue(5, 5, 7),
            Seen(4, runs_out),
            Look(20, &[]),
            Starves(5),
            Look(20, &[]),
            Look(20, &[]),
            Look(1_999, &[]),
            Look(1, &[(Stop, 4, Reason::Rotation)]),
        ],
    },
    Case {
        name: "one that takes no turns is held for nobody's",
        scene: &[
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Queue(4, 4, 7),
            Queue(3, 3, 9),
            Seen(1, |seen| seen.rule = Some(slices(2_000))),
            Seen(2, |seen| seen.rule = Some(slices(2_000))),
            Seen(1, runs_out),
            Seen(4, runs_out),
            Quiet(50),
            Starves(2),
            Look(20, &[]),
            Look(20, &[]),
            Look(2_000, &[(Stop, 1, Reason::Rotation)]),
            Starves(3),
            Look(20, &[]),
            Look(
                10,
                &[(Stop, 2, Reason::Inversion), (Stop, 4, Reason::Inversion)],
            ),
            Idles(3),
            Look(20, &[]),
            Look(100, &[(Start, 2, Reason::Calm), (Start, 4, Reason::Calm)]),
        ],
    },
    Case {
        name: "a process that wants nothing loses its turn at once",
        scene: &[
            Line::Config(|config| {
                config.timeslices = [2_000; 16];
            }),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Queue(3, 3, 7),
            Runs(1),
            Quiet(1),
            Starves(2),
            Starves(3),
            Look(20, &[]),
            Look(2_020, &[(Stop, 1, Reason::Rotation), (Stop, 3, Reason::Rotation)]),
            Runs(2),
            Look(100, &[]),
            Idles(2),
            Look(100, &[(Start, 3, Reason::Turn)]),
        ],
    },
    Case {
        name: "a process that wants nothing loses its turn though the next one cannot be paid for",
        scene: &[
            Line::Config(|config| {
                config.timeslices = [2_000; 16];
                with_low_rules(config);
                config.numbers.claim_overhead_percent = 1;
            }),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Queue(3, 3, 7),
            Starves(1),
            Starves(2),
            Starves(3),
            Look(20, &[]),
            Look(
                20,
                &[(Stop, 2, Reason::Rotation), (Stop, 3, Reason::Rotation)],
            ),
            Times(
                2,
                &[
                    Look(2_000, &[(Start, 2, Reason::Turn), (Stop, 1, Reason::Rotation)]),
                    Look(2_000, &[(Start, 3, Reason::Turn), (Stop, 2, Reason::Rotation)]),
                    Look(2_000, &[(Start, 1, Reason::Turn), (Stop, 3, Reason::Rotation)]),
                ],
            ),
            Look(2_000, &[(Start, 2, Reason::Turn), (Stop, 1, Reason::Rotation)]),
            Look(2_000, &[]),
            Idles(2),
            Look(100, &[(Start, 1, Reason::Turn), (Start, 3, Reason::Turn)]),
        ],
    },
    Case {
        name: "a rule's timeslice counts before the level's, and beside those that have none",
        scene: &[
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Queue(3, 3, 7),
            Seen(1, |seen| seen.rule = Some(slices(2_000))),
            Seen(2, |seen| seen.rule = Some(slices(2_000))),
            Runs(1),
            Seen(3, runs_out),
            Quiet(50),
            Starves(2),
            Look(20, &[]),
            Look(1_999, &[]),
            Look(1, &[(Stop, 1, Reason::Rotation)]),
        ],
    },
    Case {
        name: "nobody takes turns with its own process, nor with another level",
        scene: &[
            Line::Config(|config| {
                config.timeslices = [500; 16];
            }),
            Queue(1, 1, 7),
            Queue(2, 1, 7),
            Queue(3, 3, 8),
            Runs(1),
            Seen(3, runs_out),
            Quiet(10),
            Starves(2),
            Quiet(50),
        ],
    },
    Case {
        name: "an idle equal does not go along when a turn begins",
        scene: &[
            Line::Config(|config| {
                config.timeslices = [500; 16];
            }),
            Queue(1, 1, 7),
            Queue(2, 2, 7),
            Queue(3, 3, 7),
            Quiet(1),
            Runs(3),
            Quiet(1),
            Idles(3),
            Runs(1),
            Quiet(1),
            Starves(2),
            Look(20, &[]),
            Line::Step("it looks when the turn is over", |step| {
                step.next_look == Some(Nanos(10_000_320_000 + 500_000))
            }),
            Look(500, &[(Stop, 1, Reason::Rotation)]),
        ],
    },
    // Budgets.
    Case {
        name: "what is stopped for a tenant without budget is started for that reason",
        scene: &[
            Line::Config(|config| {
                config.numbers.stop_budget_ms = 5;
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Times(4, FAR_APART),
            Runs(1),
            Quiet(10),
            Starves(2),
            Quiet(1),
            Look(100, STOP_1),
            Quiet(49),
            Look(100, &[(Start, 1, Reason::Budget)]),
        ],
    },
    Case {
        name: "a second of a budget begins with a stop, and the next one is fresh",
        scene: &[
            Line::Config(|config| {
                config.numbers.stop_budget_ms = 30;
            }),
            Times(1, BELOW),
            Times(1, REQUEST),
            Runs(2),
            Look(15_000, &[]),
            Runs(2),
            Look(14_999, &[]),
            Look(1, &[(Start, 1, Reason::Budget)]),
            Seen(2, |seen| seen.waves = Waves::Known(1)),
            Quiet(10),
            Look(968_999, &[]),
            Look(1, STOP_1),
            Quiet(1),
            Look(15_000, &[]),
            Look(14_899, &[]),
            Look(1, &[(Start, 1, Reason::Budget)]),
        ],
    },
    Case {
        name: "the hold in a pause is stopped time as well",
        scene: &[
            Line::Config(|config| {
                config.numbers.stop_budget_ms = 1;
            }),
            Times(1, BELOW),
            Times(1, REQUEST),
            Look(940, &[]),
            Idles(2),
            Look(20, &[]),
            Look(39, &[]),
            Look(1, &[(Start, 1, Reason::Budget)]),
        ],
    },
    Case {
        name: "queues stopped at the same time count once for the budget",
        scene: &[
            Line::Config(|config| {
                config.numbers.stop_budget_ms = 5;
            }),
            Times(1, BELOW),
            Queue(3, 3, 3),
            Runs(3),
            Quiet(5),
            Starves(2),
            Look(20, &[]),
            Look(10, STOP_BOTH),
            Look(4_999, &[]),
            Look(1, &[(Start, 1, Reason::Budget), (Start, 3, Reason::Budget)]),
        ],
    },
    Case {
        name: "two processes of one tenant have one budget",
        scene: &[
            Line::Config(|config| {
                config.numbers.stop_budget_ms = 5;
            }),
            Times(1, BELOW),
            Queue(4, 4, 9),
            Seen(4, |seen| seen.tenant = TenantId(2)),
            Times(1, REQUEST),
            Starves(4),
            Look(4_999, &[]),
            Look(1, &[(Start, 1, Reason::Budget)]),
            Quiet(50),
        ],
    },
    Case {
        name: "two tenants have a budget each",
        scene: &[
            Line::Config(|config| {
                config.numbers.stop_budget_ms = 5;
            }),
            Times(1, BELOW),
            Queue(4, 4, 9),
            Times(1, REQUEST),
            Starves(4),
            Look(4_999, &[]),
            Look(1, &[]),
            Line::View(1, "it is stopped for the other one", |view| {
                view.beneficiary == Some(QueueId(4))
            }),
            Look(4_999, &[]),
            Look(1, &[(Start, 1, Reason::Budget)]),
        ],
    },
    Case {
        name: "a tenant does not have another one pay for what it has stopped",
        scene: &[
            Line::Config(|config| {
                config.numbers.stop_budget_ms = 5;
            }),
            Times(1, BESIDE_WORK),
            Look(4_999, &[]),
            Line::View(1, "it is stopped for the one that waits", |view| {
                view.beneficiary == Some(QueueId(4))
            }),
            Look(1, &[]),
            Line::View(1, "it stays so for the other one, which has its budget", |view| {
                view.beneficiary == Some(QueueId(2))
            }),
            Look(4_999, &[]),
            Look(1, &[(Start, 1, Reason::Budget)]),
        ],
    },
    Case {
        name: "whoever has something stopped is blamed for it beside one that works",
        scene: &[
            Times(1, BESIDE_WORK),
            Look(19_999, &[]),
            Idles(2),
            Look(1, &[(Start, 1, Reason::NoProgress)]),
        ],
    },
    Case {
        name: "a tenant that goes and comes back has the budget that it left",
        scene: &[
            Line::Config(|config| {
                config.numbers.stop_budget_ms = 5;
            }),
            Times(1, BELOW),
            Times(1, REQUEST),
            Look(5_000, &[(Start, 1, Reason::Budget)]),
            Gone(2),
            Quiet(20),
            Queue(3, 4, 9),
            Seen(3, |seen| seen.tenant = TenantId(2)),
            Starves(3),
            Quiet(50),
        ],
    },
    Case {
        name: "a process that has its priority from a rule has no budget",
        scene: &[
            Line::Config(|config| {
                config.numbers.stop_budget_ms = 5;
                with_rules(config);
            }),
            Times(1, BELOW),
            Seen(2, |seen| seen.rule = Some(URGENT)),
            Times(1, REQUEST),
            Times(3, &[Look(5_000, &[])]),
            Line::Step("no budget ends it", |step| {
                step.bound == Some(Nanos(10_001_030_000 + 20_000_000))
            }),
        ],
    },
    Case {
        name: "what a rule allows without a limit is not the tenant's to pay",
        scene: &[
            Line::Config(|config| {
                with_rules(config);
                config.user_priority = UserPriority::Honour;
                config.numbers.stop_budget_ms = 5;
            }),
            Times(1, BELOW),
            Queue(4, 4, 8),
            Seen(2, |seen| seen.rule = Some(URGENT)),
            Seen(4, |seen| seen.tenant = TenantId(2)),
            Times(1, REQUEST),
            Look(10_000, &[]),
            Starves(4),
            Quiet(1),
            Idles(2),
            Quiet(5),
            Line::View(1, "it is stopped for the claim", |view| {
                view.beneficiary == Some(QueueId(4))
            }),
        ],
    },
    Case {
        name: "a rule may give a priority and a budget with it",
        scene: &[
            Line::Config(with_rules),
            Times(1, BELOW),
            Seen(2, |seen| {
                seen.rule = Some(RuleEffect {
                    priority: URGENT.priority,
                    ..budget(30)
                });
            }),
            Times(1, REQUEST),
            Seen(2, |seen| seen.waves = Waves::Known(1)),
            Look(15_000, &[]),
            Look(14_999, &[]),
            Look(1, &[(Start, 1, Reason::Budget)]),
        ],
    },
    Case {
        name: "a rule's budget counts instead of the parameter's, and ends with the rule",
        scene: &[
            Line::Config(|config| {
                config.numbers.stop_budget_ms = 60;
                config.user_priority = UserPriority::Honour;
                with_rules(config);
            }),
            Times(1, BELOW),
            Seen(2, |seen| seen.rule = Some(budget(30))),
            Times(1, REQUEST),
            Seen(2, |seen| seen.waves = Waves::Known(1)),
            Look(15_000, &[]),
            Look(14_999, &[]),
            Look(1, &[(Start, 1, Reason::Budget)]),
            Quiet(10),
            Seen(2, |seen| seen.rule = None),
            Look(1_000, STOP_1),
            Look(15_000, &[]),
            Look(14_999, &[]),
            Look(1, &[(Start, 1, Reason::Budget)]),
        ],
    },
    Case {
        name: "a budget of a whole second is no limit",
        scene: &[
            Line::Config(|config| {
                config.numbers.stop_budget_ms = 1_000;
                config.numbers.max_stop_ms = 60_000;
                config.numbers.noprogress_ms = 60_000;
            }),
            Times(1, BELOW),
            Times(1, REQUEST),
            Seen(2, |seen| seen.waves = Waves::Known(1)),
            Look(10_000, &[]),
            Line::Step("the longest stop alone ends it", |step| {
                step.bound == Some(Nanos(10_001_030_000 + 60_000_000_000))
            }),
            Times(150, &[Look(10_000, &[])]),
        ],
    },
    // Progress.
    Case {
        name: "no progress starts all, and then nothing is stopped for the process, longer each time",
        scene: &[
            Times(1, BELOW),
            Queue(3, 3, 3),
            Runs(3),
            Quiet(5),
            Starves(2),
            Look(20, &[]),
            Look(10, STOP_BOTH),
            Look(19_999, &[]),
            Look(
                1,
                &[
                    (Start, 1, Reason::NoProgress),
                    (Start, 3, Reason::NoProgress),
                ],
            ),
            Gone(3),
            Quiet(1),
            Look(9_899, &[]),
            Look(1, STOP_1),
            Look(20_000, &[(Start, 1, Reason::NoProgress)]),
            Quiet(1),
            Look(19_899, &[]),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "nobody is blamed for making no progress while nothing runs on the node",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Times(
                3,
                &[
                    Look(19_999, &[]),
                    Tell(|scheduler| scheduler.excuse()),
                ],
            ),
            // Only as long as it lasts.
            Look(19_999, &[]),
            Look(1, &[(Start, 1, Reason::NoProgress)]),
        ],
    },
    Case {
        name: "progress ends the time in which nothing is stopped for a process",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Look(20_000, &[(Start, 1, Reason::NoProgress)]),
            Quiet(1),
            Runs(2),
            Look(20, &[]),
            Look(10, STOP_1),
            Starves(2),
            Quiet(1),
            Look(19_899, &[]),
            Look(1, &[(Start, 1, Reason::NoProgress)]),
            // The next time is the first one again.
            Quiet(1),
            Look(9_899, &[]),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "waves are progress enough",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Seen(2, |seen| seen.waves = Waves::Known(1)),
            Times(5, &[Look(15_000, &[])]),
        ],
    },
    Case {
        name: "before a process is blamed its waves are counted",
        scene: &[
            Times(1, BELOW),
            Seen(2, |seen| seen.waves = Waves::Unknown),
            Queue(3, 2, 9),
            Seen(2, |seen| {
                seen.backlog = Some(1);
                seen.head = Head::Runnable;
            }),
            Look(20, &[]),
            Look(10, STOP_1),
            Look(100, &[]),
            Look(5_000, &[]),
            Look(4_850, &[]),
            Line::Step("there is no reason yet", |step| !step.ask_waves),
            Look(50, &[]),
            Line::Step("there is one", |step| step.ask_waves),
        ],
    },
    Case {
        name: "another process is not held back by one that makes no progress",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Look(20_000, &[(Start, 1, Reason::NoProgress)]),
            Queue(3, 3, 8),
            Quiet(1),
            Starves(3),
            Look(20, &[]),
            Look(10, STOP_1),
            Line::Made("it is for the other one", |made| {
                made.iter().all(|stop| stop.beneficiary == Some(QueueId(3)))
            }),
        ],
    },
    Case {
        name: "a new request of a process that was idle is given its time",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Look(15_000, &[]),
            Idles(2),
            Look(20, &[]),
            Starves(2),
            Look(20, &[]),
            Look(19_999, &[]),
            Look(1, &[(Start, 1, Reason::NoProgress)]),
        ],
    },
    Case {
        name: "nobody is blamed while a queue that was stopped for long has its time",
        scene: &[
            Line::Config(|config| {
                config.numbers.max_stop_ms = 30;
                config.numbers.min_run_us = 50_000;
            }),
            Times(1, BELOW),
            Times(1, REQUEST),
            Seen(2, |seen| seen.waves = Waves::Known(1)),
            Look(15_000, &[]),
            Starves(2),
            Queue(3, 3, 3),
            Runs(3),
            Look(100, &[]),
            Look(400, STOP_3),
            Look(14_500, &[(Start, 1, Reason::Bound)]),
            Look(100, &[]),
            Look(14_000, &[]),
        ],
    },
    Case {
        name: "what is stopped for one without progress stays so for another one of the level",
        scene: &[
            Times(1, BELOW),
            Queue(3, 3, 9),
            Times(1, REQUEST),
            Look(10_000, &[]),
            Seen(3, runs_out),
            Look(10_000, &[]),
            Quiet(10),
            Line::View(1, "it is stopped for the other one", |view| {
                view.beneficiary == Some(QueueId(3))
            }),
        ],
    },
    Case {
        name: "patience with a process counts only while something is stopped for it",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Quiet(1),
            Gone(1),
            Look(30_000, &[]),
            Queue(3, 3, 3),
            Seen(3, runs_out),
            Quiet(1),
            Look(500, STOP_3),
            Look(19_999, &[]),
            Look(1, &[(Start, 3, Reason::NoProgress)]),
        ],
    },
    Case {
        name: "that one process goes changes nothing for the others",
        scene: &[
            Times(1, BELOW),
            Queue(3, 3, 5),
            Times(1, REQUEST),
            Look(10_000, &[]),
            Gone(3),
            Quiet(3),
            Look(9_699, &[]),
            Look(1, &[(Start, 1, Reason::NoProgress)]),
        ],
    },
    Case {
        name: "the count before a blame is made in time, however many queues there are",
        scene: &[
            Line::Config(|config| {
                config.numbers.poll_interval_us = 20;
            }),
            Times(1, BELOW),
            Queue(3, 3, 3),
            Queue(4, 4, 3),
            Queue(5, 5, 3),
            Queue(6, 6, 3),
            Queue(7, 7, 3),
            Queue(8, 8, 3),
            Queue(9, 9, 3),
            Queue(10, 10, 3),
            Queue(11, 11, 3),
            Queue(12, 12, 3),
            Look(300, &[]),
            Times(1, REQUEST),
            Look(9_995, &[]),
            Line::Step("half of the patience is over in 5 us", |step| {
                step.next_look == Some(Nanos(10_010_525_000 + 5_000))
            }),
        ],
    },
    Case {
        name: "hints are no progress",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Times(199, &[Seen(2, hints), Look(100, &[])]),
            Seen(2, hints),
            Look(100, &[(Start, 1, Reason::NoProgress)]),
        ],
    },
    // Hints.
    Case {
        name: "a hint stops the lower queue before the request comes",
        scene: &[
            Times(1, HINTED),
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
            Times(1, ENOUGH),
        ],
    },
    Case {
        name: "a hint without a request ends at its limit, and the next one does not count at once",
        scene: &[
            Times(1, HINTED),
            // Many more do not prolong it.
            Times(9, &[Seen(2, hints), Look(100, &[])]),
            Line::Step("it still counts", |step| step.hints.expired == 0),
            Look(100, &[]),
            Line::Step("it has expired", |step| step.hints.expired == 1),
            Look(100, CALM_1),
            Seen(2, hints),
            Look(100, &[]),
            Line::Step("it is ignored", |step| step.hints.ignored == 1),
            Look(799, &[]),
            Seen(2, hints),
            Look(1, STOP_1),
            // The next one is ignored for twice as long.
            Look(1_000, CALM_1),
            Line::Step("that was false, too", |step| step.hints.expired == 1),
            Look(1_000, &[]),
            Look(998, &[]),
            Seen(2, hints),
            Look(1, &[]),
            Line::Step("one early is ignored", |step| step.hints.ignored == 1),
            Seen(2, hints),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "a request in time makes the next pause after a false hint the first one again",
        scene: &[
            Times(1, HINTED),
            Look(1_000, &[]),
            Look(100, CALM_1),
            Look(900, &[]),
            Seen(2, hints),
            Look(1, STOP_1),
            Runs(2),
            Look(20, &[]),
            Idles(2),
            Look(20, CALM_1),
            Look(100, &[]),
            Seen(2, hints),
            Look(20, STOP_1),
            Look(1_000, CALM_1),
            Look(1_000, &[]),
            Seen(2, hints),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "a request that comes with its hint, or is launched at once, ends the hint",
        scene: &[
            Times(1, BELOW),
            Seen(2, hints),
            Seen(2, runs_out),
            Look(100, &[]),
            Look(1_000, &[]),
            Line::Step("it came with the hint", |step| step.hints.expired == 0),
            Idles(2),
            Look(100, &[]),
            Seen(2, hints),
            Starves(2),
            Look(100, &[]),
            Look(10, STOP_1),
            Look(990, &[]),
            Line::Step("so did this one, and waits", |step| step.hints.expired == 0),
            Idles(2),
            Look(100, CALM_1),
            Look(100, &[]),
            Seen(2, hints),
            Look(100, STOP_1),
            Seen(2, runs_out),
            Look(100, &[]),
            Look(900, &[]),
            Line::Step("this one was launched before it was seen to wait", |step| {
                step.hints.expired == 0
            }),
        ],
    },
    Case {
        name: "a hint is looked for until its limit and no longer",
        scene: &[
            Line::Config(|config| {
                config.numbers.hint_limit_us = 150;
                // Else looks are made more often than that anyway.
                config.numbers.poll_interval_us = 1_000;
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Seen(2, hints),
            Quiet(3),
            Look(100, &[]),
            Seen(2, hints),
            Look(100, STOP_1),
            Look(100, &[]),
            Line::Step("the next look is at the limit", |step| {
                step.next_look == Some(Nanos(10_003_350_000))
            }),
            Look(49, &[]),
            Look(1, &[]),
            Line::Step("it has expired", |step| step.hints.expired == 1),
        ],
    },
    Case {
        name: "what a process has written before it is first seen is no hint",
        scene: &[
            Queue(1, 1, 3),
            Runs(1),
            Quiet(10),
            Queue(2, 2, 9),
            Times(3, &[Seen(2, hints)]),
            Quiet(1),
            Line::Step("there was none", |step| step.hints.seen == 0),
            Quiet(4),
        ],
    },
    Case {
        name: "the first number of a page counts where the process was seen without one",
        scene: &[Times(1, BELOW), Seen(2, hints), Look(100, STOP_1)],
    },
    Case {
        name: "a hint that may be older than its limit does not count",
        scene: &[
            Times(1, BELOW),
            Seen(2, hints),
            Look(1_001, &[]),
            Line::Step("it was seen too late", |step| {
                step.hints.seen == 1 && step.hints.expired == 1
            }),
            Seen(2, hints),
            Look(1_000, STOP_1),
        ],
    },
    Case {
        name: "with a limit of 0 hints are nothing",
        scene: &[
            Line::Config(|config| {
                config.numbers.hint_limit_us = 0;
            }),
            Times(1, BELOW),
            Seen(2, hints),
            Look(100, &[]),
            Line::Step("none is seen", |step| step.hints.seen == 0),
            Quiet(5),
        ],
    },
    Case {
        name: "a hint stops neither an equal nor a queue of its own process, and none for an exempt one",
        scene: &[
            Queue(1, 1, 9),
            Queue(2, 2, 9),
            Queue(3, 2, 3),
            Seen(1, runs_out),
            Seen(3, runs_out),
            Quiet(5),
            Seen(2, hints),
            Seen(3, hints),
            Quiet(20),
            Line::Config(|config| {
                with_rules(config);
                config.user_priority = UserPriority::Honour;
            }),
            Seen(1, |seen| seen.kfd = Priority::LOWEST),
            Seen(2, |seen| seen.rule = Some(EXEMPT)),
            Seen(3, |seen| seen.rule = Some(EXEMPT)),
            Quiet(20),
            Seen(2, hints),
            Seen(3, hints),
            Quiet(20),
        ],
    },
    Case {
        name: "a hint prepares an idle queue beside a busy one, and says nothing of the busy one",
        scene: &[
            Times(1, BELOW),
            Seen(2, runs_out),
            Quiet(5),
            Seen(2, hints),
            Quiet(5),
            Line::Step("there is none to prepare", |step| step.hints.honoured == 0),
            // That one is over, and the process was doing something.
            Quiet(6),
            Queue(3, 2, 9),
            Seen(3, |seen| seen.hint = Some(1)),
            Quiet(2),
            Seen(2, hints),
            Seen(3, hints),
            Look(100, STOP_1),
        ],
    },
    Case {
        name: "a hint spends the budget of a priority that no rule gave",
        scene: &[
            Line::Config(|config| {
                config.numbers.stop_budget_ms = 2;
                config.numbers.hint_limit_us = 10_000;
            }),
            Times(1, HINTED),
            Look(1_000, &[]),
            Look(999, &[]),
            Look(1, &[(Start, 1, Reason::Budget)]),
            Line::Step("it is told", |step| step.hints.over_budget == 1),
            Look(2_000, &[]),
            Line::Step("once", |step| step.hints.over_budget == 0),
        ],
    },
    Case {
        name: "a hint by a rule's right spends no budget",
        scene: &[
            Line::Config(|config| {
                config.numbers.stop_budget_ms = 2;
                config.numbers.hint_limit_us = 10_000;
                with_rules(config);
            }),
            Times(1, BELOW),
            Seen(2, |seen| seen.rule = Some(URGENT)),
            Seen(2, hints),
            Look(100, STOP_1),
            Look(5_000, &[]),
            Look(4_999, &[]),
            Line::Step("it still counts", |step| step.hints.expired == 0),
        ],
    },
    Case {
        name: "a hint of a process that takes its page away ends at its limit",
        scene: &[
            Times(1, HINTED),
            Seen(2, |seen| seen.hint = None),
            Look(999, &[]),
            Look(1, &[]),
            Look(100, CALM_1),
        ],
    },
    Case {
        name: "a hint of an exempt process hastens no look",
        scene: &[
            Line::Config(|config| {
                with_rules(config);
                config.user_priority = UserPriority::Honour;
                config.numbers.hint_limit_us = 500;
            }),
            Times(1, BELOW),
            Seen(2, |seen| seen.rule = Some(EXEMPT)),
            Seen(2, hints),
            Quiet(1),
            Line::Step("it looks rarely", |step| {
                step.next_look == Some(Nanos(10_001_100_000 + 1_000_000))
            }),
        ],
    },
    // What becomes of decisions.
    Case {
        name: "a table reads for whom a queue is stopped, how often, and how long in all",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Runs(1),
            Look(100, &[]),
            Line::View(1, "it has not run before", |view| {
                view.ran == Nanos::ZERO && view.since == Nanos(10_000_100_000)
            }),
            Look(900, &[]),
            Starves(2),
            Look(20, &[]),
            Line::View(2, "its head has just come", |view| {
                view.verdict == Verdict::Running
            }),
            Look(80, STOP_1),
            Line::View(2, "its head is taken by nobody", |view| {
                view.verdict == Verdict::Waiting
            }),
            Line::View(1, "it is stopped from now on", |view| {
                view.verdict == Verdict::Stopped
                    && view.beneficiary == Some(QueueId(2))
                    && view.ran == Nanos(1_000_000)
                    && view.stops == 1
                    && view.since == Nanos(10_001_100_000)
            }),
            Runs(2),
            Look(1_000, &[]),
            Idles(2),
            Look(20, &[]),
            Look(280, CALM_1),
            Line::Made("a start has the stop's age", |made| {
                made.iter().all(|made| {
                    made.beneficiary == Some(QueueId(2)) && made.age == Nanos(1_300_000)
                })
            }),
            Line::View(1, "it starts from now on", |view| {
                view.verdict == Verdict::Starting
                    && view.stopped == Nanos(1_300_000)
                    && view.since == Nanos(10_002_400_000)
            }),
            Runs(1),
            Quiet(1),
            Line::View(1, "it runs since it was seen to", |view| {
                view.verdict == Verdict::Running && view.since == Nanos(10_002_500_000)
            }),
            Quiet(4),
            Starves(2),
            Look(20, &[]),
            Look(80, STOP_1),
            Look(200, &[]),
            // Something else starts it.
            Seen(1, |seen| seen.state = QueueState::Active),
            Look(300, STOP_1),
            Line::Step("it is counted as healed", |step| step.healed == 1),
            Line::View(1, "that time counts", |view| {
                view.stops == 3 && view.stopped == Nanos(1_800_000)
            }),
            Look(100, &[]),
            Line::Step("once", |step| step.healed == 0),
            // Something else keeps it from running.
            Seen(1, |seen| seen.state = QueueState::Held),
            Look(700, &[]),
            Line::View(1, "that time counts as well", |view| {
                view.verdict == Verdict::Held && view.stops == 3 && view.stopped == Nanos(2_600_000)
            }),
            Line::Step("it is not stopped by us", |step| step.stopped == 0),
            Quiet(50),
        ],
    },
    Case {
        name: "a stop that led to nothing is not tried again at once, and later each time",
        scene: &[
            Line::Port(Port::Deaf),
            Times(1, BELOW),
            Times(1, REQUEST),
            Look(100, &[]),
            Look(9_999, &[]),
            Look(1, STOP_1),
            Line::Port(Port::Refuses),
            Look(100, &[]),
            Look(19_999, &[]),
            Look(1, STOP_1),
            Line::Port(Port::Obeys),
            Look(100, &[]),
            Look(39_999, &[]),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "a stop that was refused is over, whatever is seen of the queue",
        scene: &[
            Times(1, BELOW),
            Line::Port(Port::Refuses),
            Times(1, REQUEST),
            Seen(1, |seen| seen.state = QueueState::Unknown),
            Look(100, &[]),
            Line::View(1, "it is not stopped", |view| {
                view.verdict != Verdict::Stopped
            }),
        ],
    },
    Case {
        name: "a queue that something else starts has its pauses forgotten",
        scene: &[
            Line::Port(Port::Deaf),
            Times(1, BELOW),
            Times(1, REQUEST),
            Look(100, &[]),
            Look(10_000, STOP_1),
            Seen(1, |seen| seen.state = QueueState::Unknown),
            Look(100, &[]),
            Seen(1, |seen| seen.state = QueueState::Active),
            Look(100, STOP_1),
            Line::Step("it was healed", |step| step.healed == 1),
            Look(100, &[]),
            Look(9_999, &[]),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "a lost report changes nothing where the decision was carried out",
        scene: &[
            Line::Port(Port::Mute),
            Times(1, BELOW),
            Times(1, REQUEST),
            Runs(2),
            Quiet(10),
            Times(1, ENOUGH),
            Quiet(20),
            Line::Step("nothing is stopped", |step| step.stopped == 0),
        ],
    },
    Case {
        name: "a start that leads to nothing is decided again, and later each time",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Line::Port(Port::Deaf),
            Times(1, ENOUGH),
            Line::Step("it looks for it in time", |step| step.stopped == 1),
            Look(9_999, &[]),
            Look(1, CALM_1),
            Look(19_999, &[]),
            Look(1, CALM_1),
            Line::Port(Port::Obeys),
            Look(39_999, &[]),
            Look(1, CALM_1),
            Quiet(5),
            Line::Step("it runs", |step| step.stopped == 0),
        ],
    },
    Case {
        name: "a queue found stopped is started",
        scene: &[
            Queue(1, 1, 3),
            Quiet(1),
            Seen(1, |seen| seen.state = QueueState::StoppedByUs),
            Look(100, &[(Start, 1, Reason::Orphan)]),
            Line::Made("nobody is blamed for it", |made| {
                made.iter()
                    .all(|made| made.beneficiary.is_none() && made.age == Nanos::ZERO)
            }),
            Quiet(5),
        ],
    },
    // Failures.
    Case {
        name: "a port that fails gets a pause, and everything is started",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Queue(3, 3, 4),
            Seen(3, runs_out),
            Look(100, &[]),
            Line::Port(Port::Fails(FailureKind::Broken)),
            Look(400, STOP_3),
            Line::Port(Port::Obeys),
            Look(100, &[(Start, 1, Reason::Failure)]),
            Line::Step("it backs off", |step| {
                matches!(step.arming, Arming::BackingOff(_))
            }),
            Look(100, &[]),
            Look(9_899, &[]),
            Look(1, STOP_BOTH),
        ],
    },
    Case {
        name: "a start that fails is tried again when the pause is over",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Line::Port(Port::Fails(FailureKind::Broken)),
            Times(1, ENOUGH),
            Look(100, &[]),
            Look(9_999, &[]),
            Look(1, CALM_1),
            Line::Port(Port::Obeys),
            Look(100, &[]),
            Look(19_999, &[]),
            Look(1, CALM_1),
            Quiet(1),
            Line::Step("it runs", |step| step.stopped == 0),
        ],
    },
    Case {
        name: "a port that fails again and again is disarmed, and armed by an operator",
        scene: &[
            Line::Config(|config| {
                config.numbers.disarm_after = 2;
            }),
            Times(1, BELOW),
            Line::Port(Port::Fails(FailureKind::Broken)),
            Times(1, REQUEST),
            Look(100, &[]),
            Look(9_999, &[]),
            Look(1, STOP_1),
            Look(100, &[]),
            Line::Step("it is disarmed", |step| {
                step.arming == Arming::Disarmed && step.next_look.is_none()
            }),
            Line::Port(Port::Obeys),
            Look(60_000_000, &[]),
            Tell(|scheduler| scheduler.rearm()),
            Look(100, STOP_1),
        ],
    },
    Case {
        name: "failures are in a row however rarely anybody is stopped",
        scene: &[
            DISARMED_SOON,
            Times(1, BELOW),
            Times(1, HANGS),
            Line::Step("it is armed", |step| step.arming == Arming::Armed),
            Times(1, HANGS),
            Line::Step("it is disarmed", is_disarmed),
        ],
    },
    Case {
        name: "failures are not in a row when ten seconds of working stops lie between them",
        scene: &[
            DISARMED_SOON,
            Times(1, BELOW),
            Times(3, &[
                Times(1, HANGS),
                Times(1, YIELDS),
                Look(10_000_000, &[]),
                Times(1, YIELDS),
            ]),
            Line::Step("it is armed", |step| step.arming == Arming::Armed),
        ],
    },
    Case {
        name: "less than ten seconds of working stops do not tell failures apart",
        scene: &[
            DISARMED_SOON,
            Times(1, BELOW),
            Times(1, HANGS),
            Times(1, YIELDS),
            Look(9_000_000, &[]),
            Times(1, YIELDS),
            Look(9_000_000, &[]),
            Times(1, HANGS),
            Line::Step("it is disarmed", is_disarmed),
        ],
    },
    Case {
        name: "stops on both sides of a failure do not add up",
        scene: &[
            Line::Config(|config| config.numbers.disarm_after = 3),
            Times(1, BELOW),
            Times(2, &[Times(1, HANGS), Times(1, YIELDS)]),
            Times(1, HANGS),
            Line::Step("it is disarmed", is_disarmed),
        ],
    },
    Case {
        name: "a stop that is heard of late does not tell failures apart",
        scene: &[
            DISARMED_SOON,
            Times(1, BELOW),
            Times(1, HANGS),
            Times(1, YIELDS),
            Runs(1),
            Quiet(1),
            Times(1, REQUEST),
            Look(12_000_000, &[(Start, 1, Reason::Bound)]),
            Idles(2),
            Runs(1),
            Quiet(1),
            Look(20_000_000, &[]),
            Times(1, HANGS),
            Line::Step("it is disarmed", is_disarmed),
        ],
    },
    Case {
        name: "starts that work do not tell failures apart",
        scene: &[
            DISARMED_SOON,
            Times(1, BELOW),
            Times(1, HANGS),
            Times(1, FOUND),
            Look(10_000_000, &[]),
            Times(1, FOUND),
            Times(1, HANGS),
            Line::Step("it is disarmed", is_disarmed),
        ],
    },
    Case {
        name: "a failure that passes by itself is as if there had been nothing to do",
        scene: &[
            Times(1, BELOW),
            Line::Port(Port::Fails(FailureKind::Passing)),
            Times(1, REQUEST),
            Line::Port(Port::Obeys),
            Look(100, &[]),
            Line::Step("nothing has failed", |step| {
                step.arming == Arming::Armed && step.stopped == 0
            }),
            Look(9_999, &[]),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "a start that fails while KFD is halted is tried again and again, as soon each time",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Line::Port(Port::Fails(FailureKind::Passing)),
            Times(1, ENOUGH),
            Look(9_999, &[]),
            Look(1, CALM_1),
            Look(9_999, &[]),
            Look(1, CALM_1),
            Look(9_999, &[]),
            Look(1, CALM_1),
            Line::Port(Port::Obeys),
            Look(9_999, &[]),
            Look(1, CALM_1),
            Quiet(1),
            Line::Step("it runs", |step| step.stopped == 0),
        ],
    },
    Case {
        name: "a reset is met with silence, then whatever is still stopped is started",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Queue(3, 3, 4),
            Seen(3, runs_out),
            Look(100, &[]),
            Line::Port(Port::Fails(FailureKind::Rebuilt)),
            Look(400, STOP_3),
            Line::Port(Port::Obeys),
            Idles(2),
            Look(100, &[]),
            Line::Step("it is silent and knows what is stopped", |step| {
                matches!(step.arming, Arming::Silent(_)) && step.stopped == 1
            }),
            Look(9_999, &[]),
            Look(1, &[(Start, 1, Reason::Orphan)]),
        ],
    },
    // Modes.
    Case {
        name: "observe decides and touches nothing",
        scene: &[
            Line::Config(|config| config.mode = Mode::Observe),
            Times(1, BELOW),
            Times(1, REQUEST),
            Line::Made("it is not applied", |made| made.iter().all(|stop| !stop.apply)),
            Line::Step("nothing is stopped", |step| step.stopped == 0),
            Look(30_000, &[]),
            Runs(2),
            Quiet(1),
            Times(1, ENOUGH),
            Line::Made("nor is its end", |made| made.iter().all(|start| !start.apply)),
            Quiet(200),
        ],
    },
    Case {
        name: "observe: a stop ends at its bound, and the queue has its time as if it had run",
        scene: &[
            Line::Config(|config| config.mode = Mode::Observe),
            Times(1, BELOW),
            Times(1, REQUEST),
            Times(1, KEPT),
            Look(9_899, &[]),
            Look(1, &[(Start, 1, Reason::Bound)]),
            Look(100, &[]),
            Look(199, &[]),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "a change of mode starts everything first",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Quiet(3),
            Line::Config(|config| config.mode = Mode::Observe),
            Look(100, &[(Start, 1, Reason::Release)]),
            Line::Step("it counts until it is seen to run", |step| step.stopped == 1),
            Line::Made("it is really started", |made| made.iter().all(|made| made.apply)),
            Look(100, &[]),
            Line::Step("then it decides as it is told to", |step| step.stopped == 0),
            Look(100, STOP_1),
            Line::Made("and touches nothing", |made| made.iter().all(|made| !made.apply)),
        ],
    },
    Case {
        name: "what was decided in observe is undone when that ends, and then it stops in earnest",
        scene: &[
            Line::Config(|config| config.mode = Mode::Observe),
            Times(1, BELOW),
            Times(1, REQUEST),
            Line::Config(|config| config.mode = Mode::Enforce),
            Look(100, &[(Start, 1, Reason::Release)]),
            Line::Made("nothing was touched", |made| made.iter().all(|made| !made.apply)),
            Look(20, STOP_1),
            Line::Made("it is now", |made| made.iter().all(|made| made.apply)),
        ],
    },
    Case {
        name: "observe: waves are counted as if others were stopped",
        scene: &[
            Line::Config(|config| config.mode = Mode::Observe),
            Times(1, BELOW),
            Times(1, REQUEST),
            Seen(2, launches),
            Look(20, &[]),
            Line::Step("is it over?", |step| step.ask_waves),
            Seen(2, |seen| seen.waves = Waves::Known(8)),
            Look(20, &[]),
            Line::Step("and now?", |step| step.ask_waves),
        ],
    },
    Case {
        name: "observe: a start is decided once, whether it is seen or not",
        scene: &[
            Line::Config(|config| config.mode = Mode::Observe),
            Times(1, BELOW),
            Times(1, REQUEST),
            Seen(2, |seen| seen.waves = Waves::Known(1)),
            Times(6, &[Look(10_000, &[])]),
            Queue(3, 3, 3),
            Seen(3, runs_out),
            Quiet(1),
            Look(500, STOP_3),
            Look(39_400, &[(Start, 1, Reason::Bound)]),
            Seen(1, |seen| seen.state = QueueState::Unknown),
            Look(15_000, &[]),
            Look(15_000, &[]),
        ],
    },
    Case {
        name: "off starts everything and no longer looks",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
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
        name: "observe: the grace of a queue begins again with its start",
        scene: &[
            Line::Config(|config| config.mode = Mode::Observe),
            Times(1, BELOW),
            Times(1, REQUEST),
            Times(1, ENOUGH),
            Look(5, &[]),
            Line::Step("its head has waited for nothing", |step| step.waiting == 0),
            Look(10, &[]),
            Line::Step("now it has", |step| step.waiting == 1),
        ],
    },
    // Looks.
    Case {
        name: "without queues it sleeps",
        scene: &[
            Quiet(1),
            Line::Step("it sleeps", |step| step.next_look.is_none()),
        ],
    },
    Case {
        name: "where nothing has had any work for a second it looks each hundred poll intervals",
        scene: &[
            Queue(1, 1, 3),
            Quiet(1),
            Seen(1, launches),
            Look(100, &[]),
            Line::Step("its launch may last", |step| {
                step.next_look == Some(Nanos(10_000_200_000 + 1_000_000)) && !step.ask_waves
            }),
            Look(999_000, &[]),
            Line::Step("it is not a second ago", |step| !step.ask_waves),
            Look(1_000, &[]),
            Line::Step("is it over?", |step| step.ask_waves),
            Seen(1, |seen| seen.waves = Waves::Known(0)),
            Look(1_000, &[]),
            Look(1_000, &[]),
            Line::Step("it is", |step| {
                step.next_look == Some(Nanos(11_002_200_000 + 10_000_000)) && !step.ask_waves
            }),
        ],
    },
    Case {
        name: "for a second after the last work it looks each ten poll intervals",
        scene: &[
            Queue(1, 1, 3),
            Quiet(1),
            Runs(1),
            Quiet(1),
            Idles(1),
            Seen(1, |seen| seen.waves = Waves::Known(0)),
            Look(1_000, &[]),
            Look(1_000, &[]),
            Line::Step("it has just ended", |step| {
                step.next_look == Some(Nanos(10_002_200_000 + 1_000_000))
            }),
            Look(1_000_000, &[]),
            Line::Step("it ended a second ago", |step| {
                step.next_look == Some(Nanos(11_002_200_000 + 10_000_000))
            }),
        ],
    },
    Case {
        name: "where nothing can be inverted it looks rarely, else often",
        scene: &[
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 9),
            Quiet(1),
            Line::Step("no queue is busy", |step| {
                step.next_look == Some(Nanos(10_000_100_000 + 10_000_000))
            }),
            Starves(1),
            Seen(1, |seen| seen.head = Head::Barrier),
            Look(0, &[]),
            Line::Step("one waits for a signal", |step| {
                step.next_look == Some(Nanos(10_000_100_000 + 1_000_000))
            }),
            Idles(1),
            Runs(2),
            Quiet(1),
            Line::Step("only the highest is busy", |step| {
                step.next_look == Some(Nanos(10_000_200_000 + 1_000_000))
            }),
            Runs(1),
            Quiet(1),
            Line::Step("a lower one is busy, too", |step| {
                step.next_look == Some(Nanos(10_000_300_000 + 20_000))
            }),
            Gone(1),
            Quiet(1),
            Line::Step("it is gone", |step| {
                step.next_look == Some(Nanos(10_000_400_000 + 1_000_000))
            }),
        ],
    },
    Case {
        name: "with many queues looks are further apart",
        scene: &[
            Line::Config(|config| {
                config.numbers.poll_interval_us = 20;
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 3),
            Queue(4, 4, 3),
            Queue(5, 5, 3),
            Queue(6, 6, 3),
            Queue(7, 7, 3),
            Queue(8, 8, 3),
            Runs(1),
            Quiet(50),
            Starves(2),
            Look(20, &[]),
            Look(20, STOP_1),
            Line::Step("a fifth of the interval and no less", |step| {
                step.next_look == Some(Nanos(10_001_040_000 + 4_000))
            }),
            Queue(9, 9, 3),
            Look(20, &[]),
            Line::Step("half a microsecond for each", |step| {
                step.next_look == Some(Nanos(10_001_060_000 + 4_500))
            }),
        ],
    },
    Case {
        name: "it looks in haste for a second after an urgent request, while a lower queue has work",
        scene: &[
            Times(1, BELOW),
            Line::Step("no urgent request has come", |step| {
                step.next_look == Some(Nanos(10_001_000_000 + 100_000))
            }),
            Seen(2, runs_out),
            Look(100, &[]),
            Line::Step("one has", |step| {
                step.next_look == Some(Nanos(10_001_100_000 + 20_000))
            }),
            Idles(2),
            Look(100, &[]),
            Line::Step("another one may come", |step| {
                step.next_look == Some(Nanos(10_001_200_000 + 20_000))
            }),
            Look(999_999, &[]),
            Line::Step("it still may", |step| {
                step.next_look == Some(Nanos(11_001_199_000 + 20_000))
            }),
            Look(1, &[]),
            Line::Step("none has come for a second", |step| {
                step.next_look == Some(Nanos(11_001_200_000 + 100_000))
            }),
        ],
    },
    Case {
        name: "the next look is no later than what is due, however long the interval is",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Line::Config(|config| {
                config.numbers.poll_interval_us = 1_000_000;
            }),
            Look(100, &[]),
            Line::Step("the bound of a stop", |step| {
                step.next_look == Some(Nanos(10_021_030_000))
            }),
            Line::Port(Port::Deaf),
            Idles(2),
            Look(20, &[]),
            Look(100, CALM_1),
            Line::Step("a start to be tried again", |step| {
                step.next_look == Some(Nanos(10_001_250_000 + 10_000_000))
            }),
            Look(1_000, &[]),
            Line::Step("it still is", |step| {
                step.next_look == Some(Nanos(10_001_250_000 + 10_000_000))
            }),
        ],
    },
    Case {
        name: "the step counts those that wait, but for those that take no part",
        scene: &[
            Line::Config(|config| {
                with_rules(config);
                config.user_priority = UserPriority::Honour;
            }),
            Queue(1, 1, 3),
            Queue(2, 2, 9),
            Queue(3, 3, 9),
            Seen(3, |seen| seen.rule = Some(EXEMPT)),
            Seen(1, runs_out),
            Starves(2),
            Starves(3),
            Look(20, &[]),
            Line::Step("none waits yet", |step| step.waiting == 0),
            Look(20, &[]),
            Line::Step("one waits", |step| step.waiting == 1),
        ],
    },
    Case {
        name: "when time begins nobody has wanted anything yet",
        scene: &[
            Line::Back(9_900_000),
            Times(1, BELOW),
            Line::Step("it looks as often as ever", |step| {
                step.next_look == Some(Nanos(101_000_000 + 100_000))
            }),
        ],
    },
    // Time, and what is seen.
    Case {
        name: "a clock that goes back stands still",
        scene: &[
            Times(1, BELOW),
            Line::Back(5_000),
            Starves(2),
            Look(0, &[]),
            Look(5_009, &[]),
            Look(1, STOP_1),
        ],
    },
    Case {
        name: "a clock that jumps far ahead ends every stop",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Runs(2),
            Look(u32::MAX, &[(Start, 1, Reason::Bound)]),
        ],
    },
    Case {
        name: "a queue named twice is seen once",
        scene: &[
            Queue(1, 1, 3),
            Queue(1, 1, 9),
            Quiet(1),
            Line::View(1, "the second one was ignored", |view| view.effective.level() == 3),
        ],
    },
    Case {
        name: "a queue whose state cannot be told is as it was",
        scene: &[
            Times(1, BELOW),
            Times(1, REQUEST),
            Quiet(2),
            Seen(1, |seen| seen.state = QueueState::Unknown),
            Quiet(5),
            Line::View(1, "it is stopped", |view| view.verdict == Verdict::Stopped),
            Times(1, ENOUGH),
        ],
    },
];
