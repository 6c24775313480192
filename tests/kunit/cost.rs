// SPDX-License-Identifier: GPL-2.0-only

//! What a transaction costs under the queue manager's lock: how often it walks over
//! the lists, whatever it does and however many queues there are.

use crate::fake::layout::*;
use crate::fake::{expect, look, put, with_node, Fake, INIT};
use gpreempt_policy::Action::{self, Start, Stop};
use gpreempt_policy::QUEUE_SLOTS;
use gpreempt_policy::{BackendKind, TransactionKind};
use kernel::prelude::*;
use kfd::act::backend::Backend;
use kfd::act::hws::Hws;
use kfd::act::index::LOOKS;
use kfd::act::transaction::{Done, Orders, Requests};
use kfd::driver::driver::Driver;
use kfd::driver::locked::WALKS;
use kfd::driver::node::Node;
use kfd::driver::queue::WORDS;
use kfd::kernel::clock;
use kfd::look::survey::Survey;

/// A node with many queues, and a backend.
struct Scene<'a> {
    node: &'a Node<'a>,
    kind: BackendKind,
    hws: Hws,
    requests: Requests,
    survey: Survey,
}

impl Scene<'_> {
    /// How many walks a transaction takes.
    fn walks(&mut self, orders: impl FnOnce(&mut Requests) -> Orders<'_>) -> Result<u32> {
        let backend = Backend::new(self.kind, TransactionKind::Driver, Some(&self.hws));
        let before = WALKS.so_far();
        let begin = clock::now();
        let result = backend.transact(self.node, &mut orders(&mut self.requests));
        let took = clock::now().since(begin);
        let walked = WALKS.so_far() - before;
        expect(result.map(|_| ()), Ok(()))?;
        let queues = self.survey.queues().len();
        kernel::kunit::info(fmt!(
            "    # {}, {queues} queues: {walked} walks, {} ns\n",
            self.kind.name(),
            took.0
        ));
        Ok(walked)
    }

    /// How many walks it takes to do something with every queue.
    fn all(&mut self, action: Action) -> Result<u32> {
        let keys = self.survey.queues().iter().map(|seen| seen.facts.key);
        // The last queues first: they are looked up in an order of their own.
        self.requests.fill(keys.rev().map(|key| (key, action)));
        self.walks(Requests::each)
    }
}

/// Calls a function with a node with so many queues for waves.
fn with_scene(
    kind: BackendKind,
    queues: usize,
    test: impl FnOnce(&mut Scene<'_>) -> Result,
) -> Result {
    let driver = Driver::pin()?;
    with_node(|node| {
        let more = u32::try_from(queues - 4).map_err(|_| EINVAL)?;
        Fake::add_queues(more)?;
        Fake::own(INIT, true)?;
        let survey = look(node)?;
        expect(survey.queues().len(), queues)?;
        test(&mut Scene {
            node,
            kind,
            hws: Hws::bind(&driver)?,
            requests: Requests::new(QUEUE_SLOTS)?,
            survey,
        })
    })
}

const SIZES: [usize; 3] = [24, 255, 1024];

/// Of which nothing is remembered.
fn start_all(requests: &mut Requests) -> Orders<'_> {
    requests.start_all(core::iter::empty())
}

#[kunit_tests(amd_gpreempt_cost)]
mod tests {
    use super::*;

    #[test]
    fn the_hardware_schedulers_walks_before_and_inside_and_after_a_stop() -> Result {
        for queues in SIZES {
            with_scene(BackendKind::Hws, queues, |scene| {
                expect(scene.all(Stop)?, 3)?;
                expect(scene.all(Stop)?, 1)?;
                expect(scene.all(Start)?, 2)?;
                expect(scene.walks(Requests::put_back)?, 2)?;
                expect(scene.walks(start_all)?, 1)
            })?;
        }
        Ok(())
    }

    /// Every queue is asked about, in three walks, and once more where it was edited.
    #[test]
    fn no_queue_is_searched_for_however_many_there_are() -> Result {
        for queues in SIZES {
            with_scene(BackendKind::Hws, queues, |scene| {
                let before = LOOKS.so_far();
                expect(scene.all(Stop)?, 3)?;
                let looked = LOOKS.so_far() - before;
                let asked = 4 * queues as u32;
                kernel::kunit::info(fmt!("    # {asked} times asked, {looked} places\n"));
                expect((asked..=3 * asked).contains(&looked), true)
            })?;
        }
        Ok(())
    }

    #[test]
    fn what_was_asked_in_an_earlier_pass_is_forgotten() -> Result {
        with_scene(BackendKind::Hws, 24, |scene| {
            let key = |at: usize| scene.survey.queues()[at].facts.key;
            let (before, now) = (key(0), key(1));
            scene.requests.fill([(before, Stop)].into_iter());
            scene.requests.fill([(now, Stop)].into_iter());
            scene.walks(Requests::each)?;
            expect(scene.requests.done(before), Done::Nothing)?;
            expect(scene.requests.done(now), Done::Yes)?;
            scene.requests.fill(core::iter::empty());
            scene.requests.fill([(before, Stop)].into_iter());
            scene.walks(Requests::each)?;
            expect(scene.requests.done(now), Done::Nothing)?;
            expect(scene.requests.done(before), Done::Yes)
        })
    }

    /// Descriptors are in video memory. Of each queue that is to be started one word is
    /// read before the queues are taken off the hardware, and one while they are.
    #[test]
    fn descriptors_are_read_of_queues_that_are_to_be_started_alone() -> Result {
        with_scene(BackendKind::Hws, 24, |scene| {
            let words = |scene: &mut Scene<'_>, action, queues| -> Result<u32> {
                let keys = scene.survey.queues().iter().map(|seen| seen.facts.key);
                let asked = keys.take(queues).map(|key| (key, action));
                scene.requests.fill(asked);
                let before = WORDS.so_far();
                scene.walks(Requests::each)?;
                Ok(WORDS.so_far() - before)
            };
            expect(words(scene, Stop, 20)?, 0)?;
            expect(words(scene, Stop, 24)?, 0)?;
            expect(words(scene, Start, 2)?, 4)?;
            expect(words(scene, Stop, 1)?, 0)
        })
    }

    #[test]
    fn what_there_is_no_room_for_takes_a_transaction_more() -> Result {
        with_scene(BackendKind::Hws, 24, |scene| {
            expect(scene.all(Stop)?, 3)?;
            // Room for ten: three transactions, and a look that finds no more.
            scene.requests = Requests::new(10)?;
            let unmaps = Fake::now().unmaps;
            expect(scene.walks(start_all)?, 6)?;
            expect(Fake::now().unmaps - unmaps, 3)?;
            expect(scene.walks(start_all)?, 1)
        })
    }

    #[test]
    fn single_queues_take_one_walk() -> Result {
        for queues in SIZES {
            with_scene(BackendKind::Mqd, queues, |scene| {
                let fake = Fake::now();
                fake.without_scheduler();
                // One of them can be moved.
                put(fake.processes[1].queues[0], QUEUE_MQD, fake.node);
                let first = fake.processes[1].queues[0] as usize;
                let queues = scene.survey.queues().iter().map(|seen| seen.facts.key);
                let key = queues.clone().find(|key| key.queue() == first);
                let key = key.ok_or(ENOENT)?;
                for action in [Stop, Start] {
                    scene.requests.fill([(key, action)].into_iter());
                    expect(scene.walks(Requests::each)?, 1)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}
