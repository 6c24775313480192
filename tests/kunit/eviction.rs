// SPDX-License-Identifier: GPL-2.0-only

//! Evictions by the process backend, on the fake driver: that each is undone
//! exactly once, whatever has become of the process meanwhile.

use crate::fake::layout::*;
use crate::fake::{expect, failed, get, put, with_node, Fake, INIT};
use gpreempt_policy::Action;
use gpreempt_policy::Action::{Start, Stop};
use kernel::prelude::*;
use kfd::act::backend::{Backend, BackendKind, Debts, TransactionKind};
use kfd::act::failure::Failure;
use kfd::act::transaction::{Done, Requests};
use kfd::driver::gpu::Away;
use kfd::driver::node::Node;
use kfd::driver::queue::QueueKey;
use kfd::look::survey::Survey;

/// The node, what is owed on it, and a queue of each process, of which the first lives.
struct Scene<'a> {
    node: &'a Node<'a>,
    debts: Debts,
    key: QueueKey,
    other: QueueKey,
    requests: Requests,
}

impl Scene<'_> {
    fn backend(&mut self) -> Backend<'_> {
        Backend::new(
            BackendKind::Process,
            TransactionKind::Driver,
            None,
            &mut self.debts,
        )
    }

    /// Has both processes be of the same memory, so that both can be evicted.
    fn share_memory(&self) {
        let [one, two] = Fake::now().processes;
        let memory: usize = get(one.process, KFD_PROCESS_MM);
        put(two.process, KFD_PROCESS_MM, memory);
    }

    /// Does one thing with each of some queues' processes.
    fn ask_all(&mut self, asked: &[(QueueKey, Action)]) -> Result<(), Failure> {
        self.requests.fill(asked.iter().copied());
        let mut backend = Backend::new(
            BackendKind::Process,
            TransactionKind::Driver,
            None,
            &mut self.debts,
        );
        let result = backend.transact(self.node, &mut self.requests.each());
        result.map(|_| ())
    }

    /// Does one thing with the first queue's process, and says what became of it.
    fn ask(&mut self, action: Action) -> Result<Done, Failure> {
        self.ask_all(&[(self.key, action)])?;
        let carried_out = self.requests.carried_out(self.key);
        Ok(carried_out.map_or(Done::Nothing, |(_, done)| done))
    }

    /// Starts everything, and says how many processes that were.
    fn start_all(&mut self) -> (u64, Result<(), Failure>) {
        let mut orders = self.requests.start_all();
        let mut backend = Backend::new(
            BackendKind::Process,
            TransactionKind::Driver,
            None,
            &mut self.debts,
        );
        let result = backend.transact(self.node, &mut orders);
        (orders.started(), result.map(|_| ()))
    }

    /// Starts what is out of view, and says how many processes that were.
    fn start_beyond(&mut self) -> (u64, Result<(), Failure>) {
        let mut orders = self.requests.start_beyond([self.key].into_iter());
        let mut backend = Backend::new(
            BackendKind::Process,
            TransactionKind::Driver,
            None,
            &mut self.debts,
        );
        let result = backend.transact(self.node, &mut orders);
        (orders.started(), result.map(|_| ()))
    }

    fn pay_debts(&mut self, in_view: bool) -> Result<(), Failure> {
        let node = self.node;
        let process = in_view.then_some(self.key.process());
        self.backend().pay_debts(node, process.into_iter())
    }

    /// Compares the driver's count of evictions, and whether any is owed.
    fn left(&mut self, evictions: u32, owes: bool) -> Result {
        let found = (evictions_of(0), self.backend().owes());
        if found == (evictions, owes) {
            return Ok(());
        }
        failed(fmt!("{found:?} instead of {:?}", (evictions, owes)))
    }
}

/// How many evictions hold a process.
fn evictions_of(number: usize) -> u32 {
    let qpd = Fake::now().processes[number].qpd;
    get(qpd, QCM_PROCESS_DEVICE_EVICTED)
}

fn with_scene(test: impl FnOnce(&mut Scene<'_>) -> Result) -> Result {
    with_node(|node| {
        Fake::own(INIT, true)?;
        let mut survey = Survey::new()?;
        survey.take(node, core::iter::empty());
        let [key, other] = Fake::now().processes.map(|one| {
            let mut keys = survey.queues().iter().map(|seen| seen.facts.key);
            keys.find(|key| key.process() == one.process as usize)
        });
        let (Some(key), Some(other)) = (key, other) else {
            return failed(fmt!("a process has no queue"));
        };
        test(&mut Scene {
            node,
            debts: Debts::new()?,
            key,
            other,
            requests: Requests::new(2)?,
        })
    })
}

#[kunit_tests(amd_gpreempt_eviction)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_evicted_and_restored_once() -> Result {
        with_scene(|scene| {
            expect(scene.ask(Stop), Ok(Done::Yes))?;
            scene.left(1, true)?;
            expect(scene.ask(Stop), Ok(Done::Nothing))?;
            scene.left(1, true)?;
            expect(scene.ask(Start), Ok(Done::Yes))?;
            scene.left(0, false)?;
            expect(scene.ask(Start), Ok(Done::Nothing))?;
            scene.left(0, false)
        })
    }

    #[test]
    fn what_somebody_else_has_evicted_is_left_alone() -> Result {
        with_scene(|scene| {
            let qpd = Fake::now().processes[0].qpd;
            put(qpd, QCM_PROCESS_DEVICE_EVICTED, 1u32);
            expect(scene.ask(Stop), Ok(Done::Nothing))?;
            scene.left(1, false)
        })
    }

    #[test]
    fn what_is_not_to_be_touched_is_not_evicted() -> Result {
        const P: usize = QUEUE_PROPERTIES;
        const REASONS: &[(&str, fn(&Fake))] = &[
            ("a debugger", |f| {
                put(f.processes[0].process, KFD_PROCESS_DEBUG_TRAP_ENABLED, 1u8)
            }),
            ("a reset of the process's queues", |f| {
                put(f.processes[0].pdd, KFD_PROCESS_DEVICE_HAS_RESET_QUEUE, 1u8)
            }),
            ("destruction of a queue", |f| {
                let queue = f.processes[0].queues[1];
                put(queue, P + QUEUE_PROPERTIES_IS_BEING_DESTROYED, 1u8)
            }),
            ("cooperative launches", |f| {
                put(f.processes[0].queues[1], P + QUEUE_PROPERTIES_IS_GWS, 1u8)
            }),
        ];
        for (what, forbid) in REASONS {
            with_scene(|scene| {
                forbid(&Fake::now());
                let done = scene.ask(Stop);
                if done != Ok(Done::Nothing) {
                    return failed(fmt!("{what}: {done:?}"));
                }
                scene.left(0, false)
            })?;
        }
        Ok(())
    }

    /// Evictions take a while, and all processes were looked up before the first one.
    #[test]
    fn a_debugger_that_comes_meanwhile_keeps_a_process_from_being_evicted() -> Result {
        with_scene(|scene| {
            scene.share_memory();
            Fake::set(|fake| fake.trap_at_evict = 1);
            let asked = [(scene.key, Stop), (scene.other, Stop)];
            expect(scene.ask_all(&asked), Ok(()))?;
            expect(evictions_of(0) + evictions_of(1), 1)
        })
    }

    /// Whoever waits for the first would wait for as long for the second.
    #[test]
    fn nobody_is_evicted_while_firmware_does_not_answer() -> Result {
        for (error, evictions) in [(62, 0), (12, 1)] {
            with_scene(|scene| {
                scene.share_memory();
                expect(scene.ask(Stop), Ok(Done::Yes))?;
                Fake::set(|fake| fake.restore_error = -error);
                let asked = [(scene.key, Start), (scene.other, Stop)];
                let failure = Failure::Restore(error.unsigned_abs());
                expect(scene.ask_all(&asked), Err(failure))?;
                scene.left(1, true)?;
                expect(evictions_of(1), evictions)
            })?;
        }
        Ok(())
    }

    #[test]
    fn what_a_reset_has_restored_is_not_restored_again() -> Result {
        with_scene(|scene| {
            expect(scene.ask(Stop), Ok(Done::Yes))?;
            let qpd = Fake::now().processes[0].qpd;
            put(qpd, QCM_PROCESS_DEVICE_EVICTED, 0u32);
            expect(scene.ask(Start), Ok(Done::Yes))?;
            scene.left(0, false)
        })
    }

    #[test]
    fn putting_a_process_back_is_not_called_oversubscription() -> Result {
        with_scene(|scene| {
            // Two more than there are places.
            Fake::add_queues(22)?;
            expect(scene.ask(Stop), Ok(Done::Yes))?;
            expect(scene.ask(Start), Ok(Done::Yes))?;
            expect(Fake::now().oversubscriptions, 0)
        })
    }

    #[test]
    fn a_process_without_its_main_thread_is_restored() -> Result {
        with_scene(|scene| {
            expect(scene.ask(Stop), Ok(Done::Yes))?;
            Fake::own(INIT, false)?;
            expect(scene.ask(Start), Ok(Done::Yes))?;
            scene.left(0, false)
        })
    }

    #[test]
    fn a_process_that_shows_no_queue_is_restored() -> Result {
        with_scene(|scene| {
            expect(scene.ask(Stop), Ok(Done::Yes))?;
            expect(scene.pay_debts(true), Ok(()))?;
            scene.left(1, true)?;
            expect(scene.pay_debts(false), Ok(()))?;
            scene.left(0, false)
        })
    }

    #[test]
    fn a_process_in_view_is_not_restored_for_those_that_are_not() -> Result {
        with_scene(|scene| {
            expect(scene.ask(Stop), Ok(Done::Yes))?;
            expect(scene.start_beyond(), (0, Ok(())))?;
            scene.left(1, true)
        })
    }

    #[test]
    fn a_restore_that_fails_is_owed_still() -> Result {
        with_scene(|scene| {
            expect(scene.ask(Stop), Ok(Done::Yes))?;
            Fake::set(|fake| fake.restore_error = -12);
            expect(scene.ask(Start), Err(Failure::Restore(12)))?;
            scene.left(1, true)?;
            Fake::set(|fake| fake.restore_error = 0);
            expect(scene.start_all(), (1, Ok(())))?;
            scene.left(0, false)
        })
    }

    #[test]
    fn a_restore_that_can_never_work_is_given_up() -> Result {
        // Whether the process has its main thread, the driver's scheduling policy,
        // the failure, and whether the restore is owed still.
        for (main_thread, policy, failure, owed) in [
            (false, KFD_SCHED_POLICY_NO_HWS, Failure::Single(14), false),
            (true, KFD_SCHED_POLICY_NO_HWS, Failure::Single(14), true),
            (false, KFD_SCHED_POLICY_HWS, Failure::Restore(14), true),
        ] {
            with_scene(|scene| {
                if policy == KFD_SCHED_POLICY_NO_HWS {
                    Fake::now().without_scheduler();
                }
                expect(scene.ask(Stop), Ok(Done::Yes))?;
                Fake::own(INIT, main_thread)?;
                Fake::set(|fake| fake.restore_error = -14);
                // The process is as stopped as before.
                expect(scene.start_all(), (0, Err(failure)))?;
                scene.left(1, owed)
            })?;
        }
        Ok(())
    }

    #[test]
    fn nothing_owed_is_no_failure_of_a_halted_scheduler() -> Result {
        with_scene(|scene| {
            let halt = |halted: u8| put(Fake::now().dqm, DEVICE_QUEUE_MANAGER_SCHED_HALT, halted);
            halt(1);
            expect(scene.start_all().1, Ok(()))?;
            halt(0);
            expect(scene.ask(Stop), Ok(Done::Yes))?;
            halt(1);
            expect(scene.start_all().1, Err(Failure::Away(Away::Halted)))?;
            scene.left(1, true)?;
            halt(0);
            expect(scene.start_all().1, Ok(()))?;
            scene.left(0, false)
        })
    }
}
