// SPDX-License-Identifier: GPL-2.0-only

//! Stops and starts of single queues, without the hardware scheduler, on the fake
//! driver.

use crate::fake::layout::*;
use crate::fake::{expect, look, put, with_node, Fake, PROCESSES, QUEUES};
use crate::scene::{Descriptors, State};
use gpreempt_policy::Action;
use gpreempt_policy::Action::{Start, Stop};
use gpreempt_policy::{BackendKind, TransactionKind};
use kernel::prelude::*;
use kfd::act::backend::Backend;
use kfd::act::failure::Failure;
use kfd::act::transaction::{Done, Requests};
use kfd::driver::gpu::Away;
use kfd::driver::node::Node;
use kfd::driver::queue::QueueKey;

/// The node, and the keys of the four compute queues.
struct Scene<'a> {
    node: &'a Node<'a>,
    requests: Requests,
    keys: KVec<QueueKey>,
}

impl Scene<'_> {
    /// One transaction. Says what came of it.
    fn transact(&mut self, asked: &[(usize, Action)]) -> Result<(), Failure> {
        let keys = &self.keys;
        let asked = asked.iter().map(|&(queue, action)| (keys[queue], action));
        self.requests.fill(asked);
        let backend = Backend::new(BackendKind::Mqd, TransactionKind::Driver, None);
        let result = backend.transact(self.node, &mut self.requests.each());
        result.map(|_| ())
    }

    /// What was done to a queue in the last transaction.
    fn done(&self, queue: usize) -> Done {
        self.requests.done(self.keys[queue])
    }
}

fn with_scene(test: impl FnOnce(&mut Scene<'_>) -> Result) -> Result {
    with_node(|node| {
        let fake = Fake::now();
        // It is enough that it names some ring.
        let mut descriptors = Descriptors::new()?;
        for queue in fake.processes.iter().flat_map(|process| process.queues) {
            descriptors.give(queue);
        }
        fake.without_scheduler();
        let survey = look(node)?;
        let mut keys = KVec::new();
        for seen in survey.queues() {
            keys.push(seen.facts.key, GFP_KERNEL)?;
        }
        expect(keys.len(), PROCESSES * (QUEUES - 1))?;
        test(&mut Scene {
            node,
            requests: Requests::new(4)?,
            keys,
        })
    })
}

/// How many queues were put into hardware queues and taken out of them.
fn moves() -> (u32, u32) {
    let fake = Fake::now();
    (fake.loads, fake.destroys)
}

#[kunit_tests(amd_gpreempt_single)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_stopped_and_started_one_by_one() -> Result {
        with_scene(|scene| {
            expect(scene.transact(&[(3, Stop), (1, Stop)]), Ok(()))?;
            expect((scene.done(1), scene.done(3)), (Done::Yes, Done::Yes))?;
            expect(State::now(), State::with([true, false, true, false]))?;
            expect(moves(), (0, 2))?;
            expect(scene.transact(&[(0, Stop), (3, Start)]), Ok(()))?;
            expect(State::now(), State::with([false, false, true, true]))?;
            expect(moves(), (1, 3))?;
            expect(scene.transact(&[(2, Start)]), Ok(()))?;
            expect(scene.done(2), Done::Nothing)?;
            expect(moves(), (1, 3))
        })
    }

    #[test]
    fn after_a_failure_nothing_more_is_stopped_and_all_is_started() -> Result {
        with_scene(|scene| {
            expect(scene.transact(&[(3, Stop)]), Ok(()))?;
            Fake::set(|fake| fake.destroy_error = -62);
            let asked = [(0, Stop), (1, Stop), (2, Stop), (3, Start)];
            expect(scene.transact(&asked), Err(Failure::Single(62)))?;
            expect(scene.done(3), Done::Yes)?;
            expect(State::now(), State::with([true; 4]))?;
            expect(moves(), (1, 2))
        })
    }

    #[test]
    fn wrong_counters_forbid_every_move() -> Result {
        with_scene(|scene| {
            let dqm = Fake::now().dqm;
            put(dqm, DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT, 9u32);
            expect(scene.transact(&[(0, Stop)]), Err(Failure::Misfit))?;
            // Where there is nothing to do, it is nothing.
            expect(scene.transact(&[(0, Start)]), Ok(()))?;
            expect(moves(), (0, 0))
        })
    }

    #[test]
    fn nothing_to_do_is_no_failure_of_a_halted_scheduler() -> Result {
        with_scene(|scene| {
            put(Fake::now().dqm, DEVICE_QUEUE_MANAGER_SCHED_HALT, 1u8);
            expect(scene.transact(&[(0, Start)]), Ok(()))?;
            let halted = Err(Failure::Away(Away::Halted));
            expect(scene.transact(&[(0, Stop)]), halted)?;
            expect(moves(), (0, 0))
        })
    }
}
