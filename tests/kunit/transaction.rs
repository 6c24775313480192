// SPDX-License-Identifier: GPL-2.0-only

//! Stops and starts through the hardware scheduler's backend, on the fake
//! driver: what is edited, what is left alone, and what every error leaves
//! behind, in one file because all of it is checked by the same few functions.

use crate::fake::layout::*;
use crate::fake::{expect, failed, get, put, Fake};
use crate::scene::{with_scene, Descriptors, Scene, State};
use gpreempt_policy::Action;
use kernel::prelude::*;
use kfd::act::failure::Failure;
use kfd::act::hws::Hws;
use kfd::act::transaction::Done;
use kfd::driver::driver::Driver;
use kfd::driver::gpu::Away;
use kfd::driver::queue::QueueKey;
use kfd::kernel::preemption::STRETCHES;

const P: usize = QUEUE_PROPERTIES;

#[kunit_tests(amd_gpreempt_transaction)]
mod tests {
    use super::*;
    use Action::{Start, Stop};

    #[test]
    fn the_two_functions_have_one_owner() -> Result {
        with_scene(|scene| {
            let driver = Driver::pin()?;
            // Who is refused gives nothing back that is another's.
            for _ in 0..2 {
                expect(Hws::bind(&driver).err(), Some(EBUSY))?;
            }
            drop(driver);
            // Whoever has them still has.
            expect(scene.stop(0)?, Ok(()))?;
            scene.calls(1, 1)
        })?;
        let driver = Driver::pin()?;
        let first = Hws::bind(&driver)?;
        drop(driver);
        drop(first);
        Hws::bind(&Driver::pin()?).map(|_| ())
    }

    #[test]
    fn a_queue_is_stopped_and_started_again() -> Result {
        with_scene(|scene| {
            expect(&*scene.all(Stop, &[2])?, &[Done::Yes])?;
            scene.left(State::with([true, true, false, true]))?;
            scene.calls(1, 1)?;
            expect(&*scene.all(Start, &[2])?, &[Done::Yes])?;
            scene.left(State::with([true; 4]))?;
            scene.calls(2, 2)
        })
    }

    #[test]
    fn stops_and_starts_share_one_transaction() -> Result {
        with_scene(|scene| {
            scene.all(Stop, &[0, 1])?;
            let transacted = scene.transact(&[
                (scene.keys[0], Start),
                (scene.keys[2], Stop),
                (scene.keys[3], Stop),
            ])?;
            expect(transacted.result, Ok(()))?;
            expect(&*transacted.done, &[Done::Yes; 3])?;
            scene.left(State::with([true, false, false, false]))?;
            scene.calls(2, 2)
        })
    }

    #[test]
    fn of_two_requests_about_a_queue_the_one_that_is_due_is_carried_out() -> Result {
        for actions in [[Stop, Start], [Start, Stop]] {
            with_scene(|scene| {
                for runs in [false, true] {
                    let asked = actions.map(|action| (scene.keys[1], action));
                    let transacted = scene.transact(&asked)?;
                    expect(transacted.result, Ok(()))?;
                    expect(&*transacted.done, &[Done::Yes; 2])?;
                    scene.left(State::with([true, runs, true, true]))?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Whoever has thousands of queues created keeps nobody else from a processor.
    #[test]
    fn only_a_short_walk_keeps_other_tasks_waiting() -> Result {
        for (more, times) in [(0, 1), (800, 1), (1200, 0)] {
            with_scene(|scene| {
                Fake::add_queues(more)?;
                let before = STRETCHES.so_far();
                expect(scene.stop(2)?, Ok(()))?;
                expect(STRETCHES.so_far() - before, times)?;
                scene.calls(1, 1)
            })?;
        }
        Ok(())
    }

    #[test]
    fn nothing_to_do_disturbs_nobody() -> Result {
        with_scene(|scene| {
            expect(&*scene.all(Start, &[0, 1, 2, 3])?, &[Done::Nothing; 4])?;
            expect(scene.transact(&[])?.result, Ok(()))?;
            scene.calls(0, 0)?;
            scene.left(State::with([true; 4]))
        })
    }

    #[test]
    fn everything_is_started_without_a_key() -> Result {
        with_scene(|scene| {
            expect(scene.start_all()?, Ok(0))?;
            scene.calls(0, 0)?;
            scene.all(Stop, &[0, 3])?;
            Fake::stop(1)?;
            scene.calls(1, 1)?;
            expect(scene.start_all()?, Ok(3))?;
            scene.left(State::with([true; 4]))?;
            scene.calls(2, 2)
        })
    }

    #[test]
    fn starting_everything_leaves_alone_what_others_hold() -> Result {
        with_scene(|scene| {
            scene.all(Stop, &[0, 1, 2])?;
            let [one, two] = Fake::now().processes;
            put(one.queues[0], P + QUEUE_PROPERTIES_IS_EVICTED, 1u8);
            put(two.pdd, KFD_PROCESS_DEVICE_HAS_RESET_QUEUE, 1u8);
            // Its sibling's reset keeps a queue from being stopped, not from running.
            expect(scene.start_all()?, Ok(2))?;
            scene.left(State::with([false, true, true, true]))
        })
    }

    #[test]
    fn putting_queues_back_is_not_called_oversubscription() -> Result {
        with_scene(|scene| {
            Fake::add_queues(22)?;
            let said = || Fake::now().oversubscriptions;
            // Two more than there are places: the driver says so of its own run lists.
            expect(scene.put_back()?, Ok(true))?;
            expect(said(), 1)?;
            for _ in 0..3 {
                scene.all(Stop, &[0, 1])?;
                scene.all(Start, &[0, 1])?;
            }
            scene.all(Stop, &[0, 1])?;
            expect(scene.start_all()?, Ok(2))?;
            expect(said(), 1)?;
            // It is the driver's to say again of what it does itself.
            scene.all(Stop, &[0, 1])?;
            Fake::add_processes(1, 2)?;
            expect(scene.put_back()?, Ok(true))?;
            expect(said(), 2)
        })
    }

    #[test]
    fn a_queue_that_saved_no_waves_is_told_apart() -> Result {
        let (aql, pm4) = (KFD_QUEUE_FORMAT_AQL, KFD_QUEUE_FORMAT_PM4);
        // For each of two XCCs whether anything is on its control stack; the words
        // read and written; what comes of it. The ring has 0x4000 words.
        for (format, stacks, pointers, expected) in [
            (aql, [false, false], (7, 7), Done::StoppedIdle),
            (aql, [true, false], (7, 7), Done::StoppedWithWaves),
            (aql, [false, true], (7, 7), Done::StoppedWithWaves),
            (aql, [false, false], (7, 8), Done::StoppedWithoutWaves),
            (aql, [true, false], (7, 8), Done::StoppedWithWaves),
            (aql, [false, false], (7, 0x4_c007), Done::StoppedIdle),
            (
                aql,
                [false, false],
                (0x3fff, 0x4000),
                Done::StoppedWithoutWaves,
            ),
            (
                aql,
                [false, false],
                (0xffff_fff0, 0),
                Done::StoppedWithoutWaves,
            ),
            (pm4, [false, false], (7, 7), Done::Yes),
            (pm4, [false, false], (7, 8), Done::Yes),
            (pm4, [true, false], (7, 7), Done::Yes),
        ] {
            with_scene(|scene| {
                let mut descriptors = Descriptors::new()?;
                for (xcc, on_stack) in stacks.into_iter().enumerate() {
                    descriptors.fill(xcc, on_stack, pointers);
                }
                let queue = Fake::now().processes[0].queues[0];
                descriptors.give(queue);
                let format = u32::try_from(format).map_err(|_| EINVAL)?;
                put(queue, P + QUEUE_PROPERTIES_FORMAT, format);
                put(Fake::now().node, KFD_NODE_XCC_MASK, 3u32);
                expect(&*scene.all(Stop, &[0])?, &[expected])?;
                // The one without descriptors says nothing about itself.
                expect(&*scene.all(Stop, &[1])?, &[Done::Yes])
            })?;
        }
        Ok(())
    }

    #[test]
    fn a_queue_that_has_gone_is_nothing() -> Result {
        with_scene(|scene| {
            let key = scene.keys[0];
            let gone = QueueKey::forged(0xdead_0000, key.process(), key.id(), 0);
            let transacted = scene.transact(&[(gone, Stop)])?;
            expect(transacted.result, Ok(()))?;
            expect(&*transacted.done, &[Done::Nothing])?;
            scene.calls(0, 0)
        })
    }

    #[test]
    fn protected_queues_are_never_stopped() -> Result {
        const PROTECTIONS: &[(&str, fn(&Fake))] = &[
            ("a debugger", |f| {
                put(f.processes[0].qpd, QCM_PROCESS_DEVICE_IS_DEBUG, 1u8)
            }),
            ("a debugger's trap", |f| {
                put(f.processes[0].process, KFD_PROCESS_DEBUG_TRAP_ENABLED, 1u8)
            }),
            ("a checkpoint", |f| {
                put(f.processes[0].process, KFD_PROCESS_QUEUES_PAUSED, 1u8)
            }),
            ("a reset of the process's queues", |f| {
                put(f.processes[0].pdd, KFD_PROCESS_DEVICE_HAS_RESET_QUEUE, 1u8)
            }),
            ("destruction", |f| {
                put(
                    f.processes[0].queues[0],
                    P + QUEUE_PROPERTIES_IS_BEING_DESTROYED,
                    1u8,
                )
            }),
            ("a move of the descriptor", |f| {
                mark_for_move(f.processes[0].queues[0])
            }),
            ("cooperative launches", |f| {
                put(f.processes[0].queues[0], P + QUEUE_PROPERTIES_IS_GWS, 1u8)
            }),
            ("a change that the driver could not carry out", |f| {
                put(
                    f.processes[0].queues[0],
                    P + QUEUE_PROPERTIES_QUEUE_PERCENT,
                    0u32,
                )
            }),
            (
                "cooperative launches that the driver does not count yet",
                |f| put(f.processes[0].queues[0], QUEUE_GWS, -12isize),
            ),
        ];
        for (what, protect) in PROTECTIONS {
            with_scene(|scene| {
                protect(&Fake::now());
                let done = scene.all(Stop, &[0])?;
                if *done != [Done::Nothing] {
                    return failed(fmt!("{what}: {:?}", done[0]));
                }
                scene.calls(0, 0)?;
                scene.left(State::with([true; 4]))
            })?;
        }
        Ok(())
    }

    #[test]
    fn what_the_driver_holds_is_not_started() -> Result {
        const HOLDS: &[(&str, fn(*mut u8))] = &[
            ("evicted", |q| put(q, P + QUEUE_PROPERTIES_IS_EVICTED, 1u8)),
            ("suspended", |q| {
                put(q, P + QUEUE_PROPERTIES_IS_SUSPENDED, 1u8)
            }),
            ("without a ring", |q| {
                put(q, P + QUEUE_PROPERTIES_QUEUE_ADDRESS, 0u64)
            }),
            ("with an empty ring", |q| {
                put(q, P + QUEUE_PROPERTIES_QUEUE_SIZE, 0u64)
            }),
            ("without a share", |q| {
                put(q, P + QUEUE_PROPERTIES_QUEUE_PERCENT, 0u32)
            }),
            ("about to be destroyed", |q| {
                put(q, P + QUEUE_PROPERTIES_IS_BEING_DESTROYED, 1u8)
            }),
            ("about to be moved", mark_for_move),
        ];
        for (what, hold) in HOLDS {
            with_scene(|scene| {
                scene.all(Stop, &[1])?;
                hold(Fake::now().processes[0].queues[1]);
                let done = scene.all(Start, &[1])?;
                if *done != [Done::Nothing] {
                    return failed(fmt!("{what}: {:?}", done[0]));
                }
                // A request may also fail to find it, because it has changed.
                expect(scene.start_all()?, Ok(0))?;
                scene.left(State::with([true, false, true, true]))
            })?;
        }
        Ok(())
    }

    /// Has the driver move a queue's descriptor before the queue runs again.
    fn mark_for_move(queue: *mut u8) {
        put(queue, QUEUE_NEEDS_MQD_REPIN, 1u8);
    }

    #[test]
    fn a_queue_for_copies_is_never_stopped() -> Result {
        with_scene(|scene| {
            let process = Fake::now().processes[0];
            let compute = |queue: &&*mut u8| {
                get::<u32>(**queue, P + QUEUE_PROPERTIES_TYPE) == KFD_QUEUE_TYPE_COMPUTE as u32
            };
            let copies = process.queues.iter().find(|queue| !compute(queue));
            let Some(&queue) = copies else {
                return failed(fmt!("there is no queue for copies"));
            };
            for pointer in [
                QUEUE_PROPERTIES_QUEUE_ADDRESS,
                QUEUE_PROPERTIES_READ_PTR,
                QUEUE_PROPERTIES_WRITE_PTR,
            ] {
                put(queue, P + pointer, 0u64);
            }
            let key = QueueKey::forged(
                queue.addr(),
                process.process.addr(),
                get(queue, P + QUEUE_PROPERTIES_QUEUE_ID),
                get(queue, P + QUEUE_PROPERTIES_DOORBELL_OFF),
            );
            let transacted = scene.transact(&[(key, Stop)])?;
            expect(&*transacted.done, &[Done::Nothing])?;
            scene.calls(0, 0)
        })
    }

    /// The driver's function would return success without the lock, or fail.
    #[test]
    fn no_lock_is_asked_for_where_the_driver_takes_none() -> Result {
        const ENOTSUPP: u32 = 524;
        type Case = (&'static str, fn(&Fake), bool);
        fn policy(fake: &Fake, policy: i64) {
            put(fake.dqm, DEVICE_QUEUE_MANAGER_SCHED_POLICY, policy as u32);
        }
        fn gfx(fake: &Fake, version: u32) {
            put(fake.kfd, KFD_DEV_DEVICE_INFO_GFX_TARGET_VERSION, version);
        }
        let cases: [Case; 7] = [
            ("as it is", |_| (), true),
            (
                "no oversubscription",
                |f| policy(f, KFD_SCHED_POLICY_HWS_NO_OVERSUBSCRIPTION),
                true,
            ),
            ("MI350", |f| gfx(f, 90500), true),
            (
                "no hardware scheduler",
                |f| policy(f, KFD_SCHED_POLICY_NO_HWS),
                false,
            ),
            ("an unknown policy", |f| policy(f, 3), false),
            ("MI200", |f| gfx(f, 90010), false),
            (
                "MES",
                |f| put(f.kfd, KFD_DEV_SHARED_RESOURCES_ENABLE_MES, 1u8),
                false,
            ),
        ];
        for (what, change, taken) in cases {
            with_scene(|scene| {
                change(&Fake::now());
                let (result, calls) = match taken {
                    true => (Ok(()), 1),
                    false => (Err(ENOTSUPP), 0),
                };
                let found = scene.stop(0)?.map_err(Failure::errno);
                if found != result {
                    return failed(fmt!("{what}: {found:?}"));
                }
                scene.left(State::with([!taken, true, true, true]))?;
                scene.calls(calls, calls)
            })?;
        }
        Ok(())
    }

    #[test]
    fn a_refused_unmap_changes_nothing() -> Result {
        with_scene(|scene| {
            Fake::set(|fake| fake.unmap_error = -62);
            let transacted = scene.transact(&[(scene.keys[0], Stop)])?;
            expect(transacted.result, Err(Failure::Unmap(62)))?;
            expect(&*transacted.done, &[Done::Nothing])?;
            scene.left(State::with([true; 4]))?;
            scene.calls(1, 0)
        })
    }

    #[test]
    fn wrong_counters_forbid_the_edit() -> Result {
        for counter in [
            DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT,
            DEVICE_QUEUE_MANAGER_ACTIVE_CP_QUEUE_COUNT,
        ] {
            with_scene(|scene| {
                let dqm = Fake::now().dqm;
                let right: u32 = get(dqm, counter);
                put(dqm, counter, right - 1);
                expect(scene.stop(0)?, Err(Failure::Misfit))?;
                expect(State::now().active, [true; 4])?;
                expect(get::<u32>(dqm, counter), right - 1)?;
                // Nobody is disturbed for it, and where there is nothing to do it is
                // nothing.
                scene.calls(0, 0)?;
                expect(scene.start_all()?, Ok(0))?;
                Fake::stop(3)?;
                expect(scene.start_all()?, Err(Failure::Misfit))?;
                scene.calls(0, 0)
            })?;
        }
        Ok(())
    }

    /// They did fit when it was decided to take the queues off.
    #[test]
    fn counters_that_are_wrong_under_the_lock_forbid_the_edit() -> Result {
        with_scene(|scene| {
            Fake::set(|fake| fake.miscount_at_unmap = 1);
            expect(scene.stop(0)?, Err(Failure::Inexact))?;
            let all = State::with([true; 4]);
            scene.left(State {
                queues: all.queues + 1,
                ..all
            })?;
            scene.calls(1, 1)?;
            expect(Fake::now().mapped, 1)
        })
    }

    #[test]
    fn queues_that_could_not_be_put_back_are_tried_again() -> Result {
        with_scene(|scene| {
            Fake::set(|fake| fake.map_errors = 1);
            expect(&*scene.all(Stop, &[0])?, &[Done::Yes])?;
            scene.left(State::with([false, true, true, true]))?;
            scene.calls(2, 2)
        })
    }

    #[test]
    fn a_reset_puts_back_what_could_not_be() -> Result {
        with_scene(|scene| {
            Fake::set(|fake| (fake.map_errors, fake.reset_at_map) = (1, 1));
            expect(scene.stop(0)?, Err(Failure::Reset(5)))?;
            scene.calls(1, 1)
        })
    }

    /// That the firmware does not answer is what has to be known.
    #[test]
    fn queues_that_cannot_be_taken_off_to_be_put_back_are_a_failure() -> Result {
        let cases = [(-62, Failure::Unmap(62)), (-12, Failure::Map(12))];
        for (error, failure) in cases {
            with_scene(|scene| {
                Fake::set(|fake| (fake.map_errors, fake.unmap_error_at_map) = (1, error));
                expect(scene.stop(0)?, Err(failure))?;
                scene.calls(2, 1)?;
                Fake::set(|fake| fake.unmap_error = 0);
                expect(scene.put_back()?, Ok(true))?;
                scene.left(State::with([false, true, true, true]))
            })?;
        }
        Ok(())
    }

    #[test]
    fn queues_that_cannot_be_put_back_are_a_failure() -> Result {
        with_scene(|scene| {
            Fake::set(|fake| fake.map_errors = 2);
            expect(scene.stop(0)?, Err(Failure::Map(12)))?;
            scene.calls(2, 2)?;
            // There is nothing to change, and all is to be put back all the same.
            expect(scene.put_back()?, Ok(true))?;
            scene.calls(3, 3)?;
            expect(Fake::now().mapped, 1)?;
            scene.left(State::with([false, true, true, true]))
        })
    }

    #[test]
    fn queues_off_the_hardware_are_worse_than_wrong_counters() -> Result {
        with_scene(|scene| {
            Fake::set(|fake| fake.map_errors = 2);
            expect(scene.stop(0)?, Err(Failure::Map(12)))?;
            expect(Fake::now().mapped, 0)?;
            put(
                Fake::now().dqm,
                DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT,
                9u32,
            );
            expect(scene.put_back()?, Ok(true))?;
            expect(Fake::now().mapped, 1)?;
            expect(State::now().queues, 9)
        })
    }

    #[test]
    fn a_halt_forbids_transactions() -> Result {
        with_scene(|scene| {
            put(Fake::now().dqm, DEVICE_QUEUE_MANAGER_SCHED_HALT, 1u8);
            expect(scene.stop(0)?, Err(Failure::Away(Away::Halted)))?;
            scene.calls(0, 0)
        })
    }

    #[test]
    fn nothing_to_do_is_no_failure_of_a_halted_scheduler() -> Result {
        with_scene(|scene| {
            put(Fake::now().dqm, DEVICE_QUEUE_MANAGER_SCHED_HALT, 1u8);
            expect(scene.start_all()?, Ok(0))?;
            Fake::stop(0)?;
            expect(scene.start_all()?, Err(Failure::Away(Away::Halted)))?;
            scene.calls(0, 0)
        })
    }

    #[test]
    fn a_cooperative_queue_is_counted_as_one_when_it_is_started() -> Result {
        with_scene(|scene| {
            Fake::stop(1)?;
            let process = Fake::now().processes[0];
            put(process.queues[1], P + QUEUE_PROPERTIES_IS_GWS, 1u8);
            expect(scene.start_all()?, Ok(1))?;
            let all = State::with([true; 4]);
            scene.left(State { gws: 1, ..all })?;
            let mapped: u8 = get(process.qpd, QCM_PROCESS_DEVICE_MAPPED_GWS_QUEUE);
            expect(mapped, 1)
        })
    }

    /// Leaves a queue as the driver does that was given GWS while it was stopped: it
    /// runs, has GWS, and is not counted. The driver takes an error for the pointer.
    fn give_gws(number: usize) {
        let queue = Fake::now().processes[0].queues[number];
        put(queue, QUEUE_GWS, ENOMEM.to_errno() as isize);
    }

    /// Expects the first process's queue with GWS to be counted as one that runs.
    fn is_counted(scene: &Scene<'_>, number: usize) -> Result {
        let process = Fake::now().processes[0];
        let flag: u8 = get(process.queues[number], P + QUEUE_PROPERTIES_IS_GWS);
        let mapped: u8 = get(process.qpd, QCM_PROCESS_DEVICE_MAPPED_GWS_QUEUE);
        expect((flag, mapped), (1, 1))?;
        let all = State::with([true; 4]);
        scene.left(State { gws: 1, ..all })
    }

    #[test]
    fn gws_given_to_a_stopped_queue_is_counted_once() -> Result {
        with_scene(|scene| {
            give_gws(1);
            expect(scene.count_gws()?, Ok(true))?;
            is_counted(scene, 1)?;
            expect(scene.count_gws()?, Ok(false))?;
            scene.calls(1, 1)?;
            // It is not stopped any more.
            expect(&*scene.all(Stop, &[1])?, &[Done::Nothing])?;
            is_counted(scene, 1)
        })
    }

    #[test]
    fn gws_that_is_not_counted_is_when_everything_is_started() -> Result {
        with_scene(|scene| {
            give_gws(1);
            expect(scene.start_all()?, Ok(0))?;
            is_counted(scene, 1)
        })
    }

    #[test]
    fn gws_of_a_queue_that_does_not_run_is_not_counted() -> Result {
        with_scene(|scene| {
            Fake::stop(1)?;
            give_gws(1);
            expect(scene.count_gws()?, Ok(false))?;
            scene.calls(0, 0)
        })
    }

    #[test]
    fn gws_of_a_queue_that_the_driver_holds_is_left_to_it() -> Result {
        with_scene(|scene| {
            give_gws(1);
            let process = Fake::now().processes[0];
            put(process.pdd, KFD_PROCESS_DEVICE_HAS_RESET_QUEUE, 1u8);
            expect(scene.count_gws()?, Ok(false))?;
            scene.calls(0, 0)
        })
    }

    #[test]
    fn a_thousand_cycles_leave_the_counters_exact() -> Result {
        with_scene(|scene| {
            for cycle in 0..1000usize {
                let queues = [cycle % 4, (cycle / 4) % 4];
                let asked = [
                    (scene.keys[queues[0]], Stop),
                    (scene.keys[queues[1]], Start),
                ];
                expect(scene.transact(&asked)?.result, Ok(()))?;
                let state = State::now();
                expect(State::with(state.active), state)?;
            }
            scene.all(Start, &[0, 1, 2, 3])?;
            scene.left(State::with([true; 4]))
        })
    }
}
