// SPDX-License-Identifier: GPL-2.0-only

//! Queues, processes and counters that do not fit: they keep nothing stopped that was
//! stopped before, and a queue that is merely strange is its own affair.

use crate::fake::layout::*;
use crate::fake::{expect, failed, get, look, put, with_node, Fake};
use crate::scene::{with_scene, State};
use gpreempt_policy::{Action, Priority};
use kernel::prelude::*;
use kfd::act::failure::Failure;
use kfd::act::transaction::Done;
use kfd::driver::queue::QueueFacts;

const P: usize = QUEUE_PROPERTIES;
const NEXT: usize = 0;

/// Words for what does not fit, and how it comes about.
type Damage = (&'static str, fn(&Fake));

/// Changes a counter of the driver's.
fn add(fake: &Fake, counter: usize, by: u32) {
    let count: u32 = get(fake.dqm, counter);
    put(fake.dqm, counter, count.wrapping_add(by));
}

/// What does not fit, and yet nobody's run list goes wrong for it.
const STRANGE: &[Damage] = &[
    ("a queue of another node", |f| {
        put(f.processes[0].queues[0], QUEUE_DEVICE, f.kfd)
    }),
    ("a queue of another process", |f| {
        put(
            f.processes[0].queues[0],
            QUEUE_PROCESS,
            f.processes[1].process,
        )
    }),
    ("a queue of another process that does not run", |f| {
        let queue = f.processes[0].queues[0];
        put(queue, QUEUE_PROCESS, f.processes[1].process);
        put(queue, P + QUEUE_PROPERTIES_IS_ACTIVE, 0u8);
        add(f, DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT, u32::MAX);
        add(f, DEVICE_QUEUE_MANAGER_ACTIVE_CP_QUEUE_COUNT, u32::MAX);
    }),
    ("a process of another queue manager", |f| {
        put(f.processes[0].qpd, QCM_PROCESS_DEVICE_DQM, f.node)
    }),
    ("a process on another node", |f| {
        put(f.processes[0].pdd, KFD_PROCESS_DEVICE_DEV, f.kfd)
    }),
    ("queues of another process's manager", |f| {
        put(
            f.processes[0].pqm,
            PROCESS_QUEUE_MANAGER_PROCESS,
            f.processes[1].process,
        )
    }),
    ("a list of another length", |f| {
        put(f.processes[0].qpd, QCM_PROCESS_DEVICE_QUEUE_COUNT, 4u32)
    }),
    ("too many running queues", |f| {
        add(f, DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT, 1)
    }),
    ("too many running queues for waves", |f| {
        add(f, DEVICE_QUEUE_MANAGER_ACTIVE_CP_QUEUE_COUNT, 1)
    }),
    ("too many processes", |f| {
        add(f, DEVICE_QUEUE_MANAGER_PROCESSES_COUNT, 1)
    }),
    ("too many queues", |f| {
        add(f, DEVICE_QUEUE_MANAGER_TOTAL_QUEUE_COUNT, 1)
    }),
];

/// What would have the driver's own run list go wrong.
const BROKEN: &[Damage] = &[
    ("a list that breaks off", |f| {
        put(f.processes[0].queues[1], QUEUE_LIST + NEXT, 0usize)
    }),
    ("a list that goes round in circles", |f| {
        let queue = f.processes[0].queues[0];
        put(queue, QUEUE_LIST + NEXT, queue.wrapping_add(QUEUE_LIST))
    }),
    ("too few running queues", |f| {
        add(f, DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT, u32::MAX)
    }),
    (
        "too few running queues, one of which is another process's",
        |f| {
            put(
                f.processes[0].queues[0],
                QUEUE_PROCESS,
                f.processes[1].process,
            );
            add(f, DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT, u32::MAX)
        },
    ),
    ("too few running queues for waves", |f| {
        add(f, DEVICE_QUEUE_MANAGER_ACTIVE_CP_QUEUE_COUNT, u32::MAX)
    }),
    ("too few processes", |f| {
        add(f, DEVICE_QUEUE_MANAGER_PROCESSES_COUNT, u32::MAX)
    }),
    ("too few queues", |f| {
        add(f, DEVICE_QUEUE_MANAGER_TOTAL_QUEUE_COUNT, u32::MAX)
    }),
];

/// What the driver counts, and whether the last queue for waves runs.
fn counted() -> ([u32; 4], bool) {
    let fake = Fake::now();
    let counters = [
        DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT,
        DEVICE_QUEUE_MANAGER_ACTIVE_CP_QUEUE_COUNT,
        DEVICE_QUEUE_MANAGER_PROCESSES_COUNT,
        DEVICE_QUEUE_MANAGER_TOTAL_QUEUE_COUNT,
    ];
    (counters.map(|at| get(fake.dqm, at)), State::now().active[3])
}

/// Fails a test for one case among several, in words.
fn of<T: PartialEq + core::fmt::Debug>(what: &str, found: T, expected: T) -> Result {
    if found == expected {
        return Ok(());
    }
    failed(fmt!("{what}: {found:?} instead of {expected:?}"))
}

/// Calls a function with the facts of a compute queue, as a look has them.
fn with_facts(number: usize, test: impl FnOnce(&QueueFacts) -> Result) -> Result {
    with_node(|node| {
        put_priority(16);
        let survey = look(node)?;
        test(&survey.queues().get(number).ok_or(ENOENT)?.facts)
    })
}

/// Gives the first queue a priority.
fn put_priority(priority: u32) {
    let queue = Fake::now().processes[0].queues[0];
    put(queue, P + QUEUE_PROPERTIES_PRIORITY, priority);
}

#[kunit_tests(amd_gpreempt_misfit)]
mod tests {
    use super::*;
    use Action::Stop;

    #[test]
    fn what_is_stopped_is_started_whatever_does_not_fit() -> Result {
        for &(what, damage) in STRANGE {
            with_scene(|scene| {
                scene.all(Stop, &[3])?;
                damage(&Fake::now());
                let ([running, for_waves, processes, queues], _) = counted();
                of(what, scene.stop(2)?, Err(Failure::Misfit))?;
                scene.calls(1, 1)?;
                of(what, scene.start_all()?, Ok(1))?;
                scene.calls(2, 2)?;
                let counters = [running + 1, for_waves + 1, processes, queues];
                of(what, counted(), (counters, true))?;
                // There is nothing more to do.
                of(what, scene.start_all()?, Ok(0))?;
                scene.calls(2, 2)
            })?;
        }
        Ok(())
    }

    #[test]
    fn nothing_is_sent_where_the_drivers_own_run_list_would_go_wrong() -> Result {
        for &(what, damage) in BROKEN {
            with_scene(|scene| {
                scene.all(Stop, &[3])?;
                damage(&Fake::now());
                let (counters, _) = counted();
                of(what, scene.start_all()?, Err(Failure::Misfit))?;
                of(what, counted(), (counters, false))?;
                scene.calls(1, 1)
            })?;
        }
        Ok(())
    }

    #[test]
    fn a_queue_whose_process_does_not_fit_is_left_alone() -> Result {
        with_scene(|scene| {
            scene.all(Stop, &[0, 3])?;
            let fake = Fake::now();
            put(fake.processes[0].qpd, QCM_PROCESS_DEVICE_DQM, fake.node);
            expect(scene.start_all()?, Ok(1))?;
            scene.left(State::with([false, true, true, true]))
        })
    }

    #[test]
    fn what_is_in_the_lists_twice_is_started_once() -> Result {
        with_scene(|scene| {
            scene.all(Stop, &[3])?;
            let [one, two] = Fake::now().processes;
            put(one.entry, DEVICE_PROCESS_NODE_QPD, two.qpd);
            let ([running, for_waves, ..], _) = counted();
            expect(scene.start_all()?, Ok(1))?;
            let ([running_now, for_waves_now, ..], runs) = counted();
            expect(
                (running_now, for_waves_now, runs),
                (running + 1, for_waves + 1, true),
            )
        })
    }

    /// They did fit when it was decided to take the queues off.
    #[test]
    fn counters_that_are_wrong_under_the_lock_do_not_keep_a_queue_stopped() -> Result {
        with_scene(|scene| {
            scene.all(Stop, &[3])?;
            Fake::set(|fake| fake.miscount_at_unmap = 1);
            expect(scene.start_all()?, Ok(1))?;
            let all = State::with([true; 4]);
            scene.left(State {
                queues: all.queues + 1,
                ..all
            })
        })
    }

    /// As the driver takes it from a checkpoint.
    #[test]
    fn a_queue_with_a_priority_that_is_none_is_its_own_affair() -> Result {
        for priority in [16, u32::MAX] {
            with_scene(|scene| {
                put_priority(priority);
                let census = scene.node.lock().census();
                expect(census.faults().next(), None)?;
                expect(&*scene.all(Stop, &[0, 2])?, &[Done::Nothing, Done::Yes])?;
                scene.left(State::with([true, true, false, true]))?;
                expect(scene.start_all()?, Ok(1))?;
                scene.left(State::with([true; 4]))
            })?;
        }
        Ok(())
    }

    #[test]
    fn what_has_no_priority_waits_for_everybody() -> Result {
        with_facts(0, |facts| {
            expect((facts.priority, facts.protected), (Priority::LOWEST, true))
        })?;
        with_facts(1, |facts| {
            expect(facts.protected, false)?;
            expect(facts.priority.level(), 1)
        })
    }

    /// It was given that priority while we had it stopped, or before the module knew.
    #[test]
    fn a_queue_with_a_priority_that_is_none_is_started() -> Result {
        with_scene(|scene| {
            scene.all(Stop, &[0])?;
            put_priority(16);
            expect(scene.start_all()?, Ok(1))?;
            scene.left(State::with([true; 4]))
        })
    }

    #[test]
    fn a_queue_of_an_unknown_type_is_its_own_affair() -> Result {
        /// KFD_QUEUE_TYPE_HIQ, and none at all.
        const TYPES: [u32; 2] = [2, 17];
        for of_type in TYPES {
            with_scene(|scene| {
                let fake = Fake::now();
                let queue = fake.processes[0].queues[0];
                put(queue, P + QUEUE_PROPERTIES_TYPE, of_type);
                add(&fake, DEVICE_QUEUE_MANAGER_ACTIVE_CP_QUEUE_COUNT, u32::MAX);
                expect(&*scene.all(Stop, &[0, 2])?, &[Done::Nothing, Done::Yes])?;
                let survey = look(scene.node)?;
                expect(
                    (survey.queues().len(), survey.counted().copy_queues),
                    (3, 2),
                )?;
                expect(scene.start_all()?, Ok(1))?;
                let all = State::with([true; 4]);
                scene.left(State { compute: 3, ..all })
            })?;
        }
        Ok(())
    }
}
