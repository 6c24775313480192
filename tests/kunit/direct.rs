// SPDX-License-Identifier: GPL-2.0-only

//! An unmapping of the module's own, on the fake driver: it leaves behind what the
//! driver's does, and whatever it does not expect is left to the driver's.

use crate::fake::layout::*;
use crate::fake::{expect, failed, get, put, with_node, Fake, GRACE};
use crate::scene::{with_scene_of, Scene, State};
use gpreempt_policy::Action;
use gpreempt_policy::{BackendKind, TransactionKind};
use kernel::prelude::*;
use kfd::act::backend::Backend;
use kfd::act::failure::Failure;
use kfd::act::hws::Hws;
use kfd::act::transaction::Done;
use kfd::driver::direct::Unexpected;
use kfd::driver::driver::Driver;
use kfd::driver::gpu::Away;

#[kunit_tests(amd_gpreempt_direct)]
mod tests {
    use super::*;
    use Action::{Start, Stop};

    fn with_direct(test: impl FnOnce(&Scene<'_>) -> Result) -> Result {
        with_scene_of(TransactionKind::Direct, test)
    }

    /// How often the module has taken the queues off itself; as often it has freed the run
    /// list, waves may go on for as long as before, and the queues are on the hardware.
    fn unmapped(times: u32) -> Result {
        let fake = Fake::now();
        expect(fake.mapped, 1)?;
        expect((fake.direct_unmaps, fake.releases), (times, times))?;
        expect(fake.grace, GRACE)
    }

    #[test]
    fn a_queue_is_stopped_and_started_again() -> Result {
        with_direct(|scene| {
            expect(&*scene.all(Stop, &[2])?, &[Done::Yes])?;
            scene.left(State::with([true, true, false, true]))?;
            scene.calls(0, 1)?;
            unmapped(1)?;
            expect(&*scene.all(Start, &[2])?, &[Done::Yes])?;
            scene.left(State::with([true; 4]))?;
            scene.calls(0, 2)?;
            unmapped(2)
        })
    }

    #[test]
    fn nothing_is_sent_where_nothing_is_on_the_hardware() -> Result {
        with_direct(|scene| {
            put(Fake::now().dqm, DEVICE_QUEUE_MANAGER_ACTIVE_RUNLIST, 0u8);
            expect(&*scene.all(Stop, &[0])?, &[Done::Yes])?;
            scene.left(State::with([false, true, true, true]))?;
            scene.calls(0, 1)?;
            unmapped(0)
        })
    }

    #[test]
    fn the_run_list_is_said_to_be_gone_while_nothing_is_mapped() -> Result {
        with_direct(|scene| {
            Fake::set(|fake| fake.map_errors = 2);
            expect(scene.stop(0)?, Err(Failure::Map(12)))?;
            let active: u8 = get(Fake::now().dqm, DEVICE_QUEUE_MANAGER_ACTIVE_RUNLIST);
            expect(active, 0)?;
            // The second try is the driver's own.
            scene.calls(1, 2)?;
            expect(scene.put_back()?, Ok(true))?;
            scene.left(State::with([false, true, true, true]))
        })
    }

    /// What is met, how, and whether the packet was sent.
    type Case = (&'static str, fn(&mut Fake), Unexpected, u32);

    const CASES: &[Case] = &[
        (
            "the packet about waves is refused",
            |fake| fake.configure_error = -12,
            Unexpected::Unsent,
            0,
        ),
        (
            "the packet is refused",
            |fake| fake.packet_error = -12,
            Unexpected::Unsent,
            0,
        ),
        (
            "no answer",
            |fake| fake.fence_error = -62,
            Unexpected::Late,
            1,
        ),
        (
            "a late answer",
            |fake| fake.fence_ms = 1100,
            Unexpected::Late,
            1,
        ),
        (
            "a queue that does not yield",
            |fake| fake.unyielding = 1,
            Unexpected::Unyielding,
            1,
        ),
        (
            "another function",
            |fake| put(fake.check_preemption_failed.cast(), 0, 0usize),
            Unexpected::Misfit,
            0,
        ),
    ];

    #[test]
    fn what_is_not_expected_is_left_to_the_driver() -> Result {
        for &(what, change, why, sent) in CASES {
            with_direct(|scene| {
                Fake::set(change);
                let transacted = scene.transact(&[(scene.keys[0], Stop)])?;
                let found = (transacted.result, transacted.handed_over.why);
                if found != (Ok(()), Some(why)) || transacted.handed_over.times != 1 {
                    return failed(fmt!("{what}: {found:?}"));
                }
                scene.left(State::with([false, true, true, true]))?;
                scene.calls(1, 1)?;
                // The driver frees the run list itself.
                let fake = Fake::now();
                expect((fake.direct_unmaps, fake.releases), (sent, 0))
            })?;
        }
        Ok(())
    }

    /// How often an unmapping was left to the driver in a number of transactions.
    fn left_to_driver(scene: &Scene<'_>, transactions: u64) -> Result<u64> {
        let mut times = 0;
        for at in 0..transactions {
            let action = if at % 2 == 0 { Stop } else { Start };
            let transacted = scene.transact(&[(scene.keys[0], action)])?;
            expect(transacted.result, Ok(()))?;
            times += transacted.handed_over.times;
        }
        Ok(times)
    }

    /// With the driver's least limits too: of firmware that answers at once, not every
    /// answer is late.
    #[test]
    fn a_short_limit_leaves_time_for_an_answer() -> Result {
        for limit in [4, 19, 20, 199, 9000, i32::MAX] {
            with_direct(|scene| {
                Fake::set(|fake| fake.limit_ms = limit);
                match left_to_driver(scene, 50)? {
                    0..50 => Ok(()),
                    _ => failed(fmt!("{limit} ms: no answer is soon enough")),
                }
            })?;
        }
        Ok(())
    }

    /// Half of its limit is what firmware waits for a queue for copies that does not yield.
    #[test]
    fn a_late_answer_is_one_with_any_limit() -> Result {
        for (limit, takes) in [(1, 2), (19, 10), (20, 10), (100, 50), (9000, 460)] {
            with_direct(|scene| {
                Fake::set(|fake| (fake.limit_ms, fake.fence_ms) = (limit, takes));
                match left_to_driver(scene, 2)? {
                    2 => Ok(()),
                    times => failed(fmt!("{takes} of {limit} ms: late {times} times of 2")),
                }
            })?;
        }
        Ok(())
    }

    /// Each time the firmware writes what it was asked to write the time before.
    #[test]
    fn an_answer_to_an_earlier_question_is_none() -> Result {
        with_direct(|scene| {
            Fake::set(|fake| fake.fence_late = 1);
            for (action, times) in [(Stop, 1), (Start, 2), (Stop, 3)] {
                let transacted = scene.transact(&[(scene.keys[0], action)])?;
                expect(transacted.result, Ok(()))?;
                expect(transacted.handed_over.why, Some(Unexpected::Late))?;
                scene.calls(times, times)?;
            }
            scene.left(State::with([false, true, true, true]))
        })
    }

    #[test]
    fn a_halt_is_seen_under_the_lock() -> Result {
        with_direct(|scene| {
            Fake::halt_when_waited_for(DEVICE_QUEUE_MANAGER_SCHED_HALT)?;
            refused(scene, Away::Halted)
        })
    }

    /// Nobody sends anything, neither we nor the driver.
    fn refused(scene: &Scene<'_>, away: Away) -> Result {
        let transacted = scene.transact(&[(scene.keys[0], Stop)])?;
        expect(transacted.result, Err(Failure::Away(away)))?;
        expect(transacted.handed_over.times, 0)?;
        scene.left(State::with([true; 4]))?;
        scene.calls(0, 0)?;
        unmapped(0)
    }

    #[test]
    fn nothing_is_sent_while_a_reset_holds_the_hardware() -> Result {
        with_direct(|scene| Fake::during_reset(|| refused(scene, Away::Reset)))
    }

    /// The driver's function would not release the lock.
    #[test]
    fn nothing_is_sent_where_the_driver_takes_no_lock() -> Result {
        const ENOTSUPP: u32 = 524;
        const MI200: u32 = 90010;
        with_direct(|scene| {
            put(
                Fake::now().kfd,
                KFD_DEV_DEVICE_INFO_GFX_TARGET_VERSION,
                MI200,
            );
            let transacted = scene.transact(&[(scene.keys[0], Stop)])?;
            expect(transacted.result, Err(Failure::Unmap(ENOTSUPP)))?;
            expect(transacted.handed_over.why, Some(Unexpected::Misfit))?;
            scene.left(State::with([true; 4]))?;
            scene.calls(0, 0)?;
            unmapped(0)
        })
    }

    /// The driver refuses as well: what was sent may have taken queues off.
    #[test]
    fn queues_that_may_be_off_are_to_be_put_back() -> Result {
        type Refused = (fn(&mut Fake), i32, Failure);
        let cases: [Refused; 5] = [
            (|fake| fake.fence_error = -62, -5, Failure::Map(5)),
            (|fake| fake.fence_error = -62, -12, Failure::Map(12)),
            // The driver has asked for a reset.
            (|fake| fake.fence_error = -62, -62, Failure::Unmap(62)),
            // The firmware was not asked for anything.
            (|fake| fake.configure_error = -12, -5, Failure::Unmap(5)),
            (|fake| fake.packet_error = -5, -5, Failure::Unmap(5)),
        ];
        for (change, error, failure) in cases {
            with_direct(|scene| {
                Fake::set(change);
                Fake::set(|fake| fake.unmap_error = error);
                expect(scene.stop(0)?, Err(failure))?;
                scene.left(State::with([true; 4]))?;
                scene.calls(1, 0)
            })?;
        }
        Ok(())
    }

    #[test]
    fn a_thousand_cycles_with_faults_leave_the_counters_exact() -> Result {
        with_direct(|scene| {
            let mut handed_over = 0;
            for cycle in 0..1000usize {
                Fake::set(|fake| match cycle % 7 {
                    1 => fake.unyielding = 1,
                    3 => fake.fence_error = -62,
                    _ => fake.fence_error = 0,
                });
                let queues = [cycle % 4, (cycle / 4) % 4];
                let asked = [
                    (scene.keys[queues[0]], Stop),
                    (scene.keys[queues[1]], Start),
                ];
                let transacted = scene.transact(&asked)?;
                expect(transacted.result, Ok(()))?;
                handed_over += transacted.handed_over.times;
                let state = State::now();
                expect(State::with(state.active), state)?;
            }
            expect(u64::from(Fake::now().unmaps), handed_over)?;
            scene.all(Start, &[0, 1, 2, 3])?;
            scene.left(State::with([true; 4]))
        })
    }

    #[test]
    fn a_node_without_what_it_needs_is_refused_in_words() -> Result {
        let driver = Driver::pin()?.learn_layout()?;
        with_node(|node| {
            let hws = Hws::bind(&driver)?;
            let check = |kind, transaction, hws| {
                let backend = Backend::new(kind, transaction, hws);
                let refusal = backend.check(node).err();
                refusal.map(|refusal| refusal.why)
            };
            let direct = TransactionKind::Direct;
            expect(check(BackendKind::Hws, direct, Some(&hws)), None)?;
            let by_driver = TransactionKind::Driver;
            expect(
                check(BackendKind::Hws, by_driver, None),
                Some("backend=hws needs debug_lock_and_unmap and debug_map_and_unlock, which this amdgpu does not have: use a kernel that the module supports, or load amdgpu with sched_policy=2 and use backend=mqd"),
            )?;
            expect(
                check(BackendKind::Mqd, by_driver, Some(&hws)),
                Some("backend=mqd cannot work beside the hardware scheduler: use backend=hws"),
            )?;
            let fake = Fake::now();
            fake.without_scheduler();
            expect(
                check(BackendKind::Hws, by_driver, Some(&hws)),
                Some("backend=hws needs the hardware scheduler: use backend=mqd, or load amdgpu with sched_policy=0"),
            )?;
            // Single hardware queues need neither of the two functions.
            expect(check(BackendKind::Mqd, by_driver, None), None)?;
            expect(
                check(BackendKind::Mqd, direct, Some(&hws)),
                Some("transaction=direct is for backend=hws alone: use transaction=driver"),
            )?;
            put(
                fake.dqm,
                DEVICE_QUEUE_MANAGER_SCHED_POLICY,
                KFD_SCHED_POLICY_HWS as u32,
            );
            let place = Fake::now().check_preemption_failed;
            // Into the middle of the right one, and not a function at all.
            let right: usize = get(place.cast(), 0);
            for wrong in [right + 1, right + 16, 0] {
                put(place.cast(), 0, wrong);
                expect(
                    check(BackendKind::Hws, direct, Some(&hws)),
                    Some("mqd_mgr->check_preemption_failed is not amdgpu's for this GPU: use transaction=driver"),
                )?;
                let driver = check(BackendKind::Hws, TransactionKind::Driver, Some(&hws));
                expect(driver, None)?;
            }
            put(place.cast(), 0, right);
            expect(check(BackendKind::Hws, direct, Some(&hws)), None)
        })
    }
}
