// SPDX-License-Identifier: GPL-2.0-only

//! Queues that their process changes between the looks, or within one: made anew in the
//! place of another, or changed in part by UPDATE_QUEUE, which waits for the lock.

use crate::fake::layout::*;
use crate::fake::{expect, failed, get, put, Fake};
use crate::node::observation::observe;
use crate::node::roster::Roster;
use crate::roster_cases::no_rules;
use crate::scene::{with_scene, Descriptors, Scene, State};
use gpreempt_policy::Action::{Start, Stop};
use gpreempt_policy::{Observation, QueueState};
use kernel::prelude::*;
use kfd::act::transaction::Done;
use kfd::driver::driver::Driver;
use kfd::driver::queue::{Activity, WORDS};
use kfd::look::crowd::Known;
use kfd::look::survey::Survey;

const P: usize = QUEUE_PROPERTIES;

/// The first queue, without its flag, as a stop leaves it and as its process does that
/// has disabled it and enables it again.
struct Ambiguous {
    ring: u64,
    descriptors: Descriptors,
}

impl Ambiguous {
    /// Its descriptor names a ring.
    fn new(names: impl FnOnce(u64) -> u64) -> Result<Self> {
        let queue = Fake::now().processes[0].queues[0];
        let ring = get::<u64>(queue, P + QUEUE_PROPERTIES_QUEUE_ADDRESS);
        let mut descriptors = Descriptors::new()?;
        descriptors.fill(0, false, (0, 0));
        descriptors.name_ring(names(ring));
        descriptors.give(queue);
        Fake::stop(0)?;
        Ok(Self { ring, descriptors })
    }
}

/// What the product makes of the first queue, look after look, if it remembers to have
/// stopped it or not.
fn judged(scene: &Scene<'_>, remembered: bool) -> Result<[QueueState; 2]> {
    let mut survey = Survey::new()?;
    let mut roster = Roster::new()?;
    let mut seen = KVVec::<Observation>::with_capacity(4, GFP_KERNEL)?;
    let mut states = [QueueState::Unknown; 2];
    for state in &mut states {
        survey.take(scene.node, core::iter::empty());
        roster.take(&survey, 0, no_rules);
        let Some(queue) = roster.queues_mut().first_mut() else {
            return failed(fmt!("no queue is seen"));
        };
        queue.follow_stop(queue.is_stopped() || remembered);
        observe(&survey, &mut roster, &mut seen);
        *state = seen.first().map_or(*state, |first| first.state);
    }
    Ok(states)
}

#[kunit_tests(amd_gpreempt_updates)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_made_anew_in_the_place_of_another_is_left_alone() -> Result {
        for property in [
            QUEUE_PROPERTIES_QUEUE_ADDRESS,
            QUEUE_PROPERTIES_READ_PTR,
            QUEUE_PROPERTIES_WRITE_PTR,
        ] {
            with_scene(|scene| {
                let queue = Fake::now().processes[0].queues[0];
                let before = get::<u64>(queue, P + property);
                put(queue, P + property, before + 0x1000);
                expect(&*scene.all(Stop, &[0])?, &[Done::Nothing])?;
                scene.calls(0, 0)?;
                scene.left(State::with([true; 4]))
            })?;
        }
        Ok(())
    }

    #[test]
    fn a_queue_whose_descriptor_names_no_ring_is_not_ours() -> Result {
        with_scene(|scene| {
            let mut queue = Ambiguous::new(|_| 0)?;
            expect(judged(scene, false)?, [QueueState::Held; 2])?;
            expect(scene.start_all()?, Ok(0))?;
            scene.calls(0, 0)?;
            // The driver has finished, and we have stopped it since.
            queue.descriptors.name_ring(queue.ring);
            expect(judged(scene, false)?, [QueueState::StoppedByUs; 2])?;
            expect(scene.start_all()?, Ok(1))?;
            scene.left(State::with([true; 4]))
        })
    }

    #[test]
    fn a_queue_whose_descriptor_names_no_ring_is_not_started() -> Result {
        with_scene(|scene| {
            let mut queue = Ambiguous::new(|_| 0)?;
            expect(&*scene.all(Start, &[0])?, &[Done::Nothing])?;
            scene.calls(0, 0)?;
            queue.descriptors.name_ring(queue.ring);
            expect(&*scene.all(Start, &[0])?, &[Done::Yes])?;
            scene.left(State::with([true; 4]))
        })
    }

    #[test]
    fn nor_is_one_that_is_out_of_view() -> Result {
        with_scene(|scene| {
            let mut queue = Ambiguous::new(|_| 0)?;
            expect(scene.start_beyond()?, Ok(0))?;
            scene.calls(0, 0)?;
            queue.descriptors.name_ring(queue.ring);
            expect(scene.start_beyond()?, Ok(1))?;
            scene.left(State::with([true; 4]))
        })
    }

    #[test]
    fn of_a_queue_that_is_remembered_to_be_stopped_no_descriptor_is_read() -> Result {
        with_scene(|scene| {
            let mut survey = Survey::new()?;
            let mut roster = Roster::new()?;
            let mut look = |remembered: [bool; 4]| -> Result<u32> {
                for (queue, stopped) in roster.queues_mut().iter_mut().zip(remembered) {
                    queue.follow_stop(stopped);
                }
                let before = WORDS.so_far();
                survey.take(scene.node, roster.known());
                roster.take(&survey, 0, no_rules);
                Ok(WORDS.so_far() - before)
            };
            expect(look([false; 4])?, 0)?;
            let mut descriptors = Descriptors::new()?;
            descriptors.fill(0, false, (0, 0));
            for queue in Fake::now().processes.iter().flat_map(|one| one.queues) {
                descriptors.give(queue);
            }
            scene.all(Stop, &[0, 1, 2, 3])?;
            // The place of the ring, which takes two words, and its length.
            expect(look([false; 4])?, 4 * 3)?;
            expect(look([true, false, true, true])?, 3)?;
            expect(look([true; 4])?, 0)
        })
    }

    /// On Linux 6.12, where no queue has the flag.
    #[test]
    fn what_the_driver_may_have_reset_is_started_only_where_it_is_remembered() -> Result {
        with_scene(|scene| {
            Driver::without_reset_flag(|| {
                let process = Fake::now().processes[0].pdd;
                put(process, KFD_PROCESS_DEVICE_HAS_RESET_QUEUE, 1u8);
                // One as the driver leaves it, and one that we have stopped before.
                Fake::stop(0)?;
                Fake::stop(1)?;
                let mut survey = Survey::new()?;
                let mut look = |remembered: [bool; 2]| -> Result<[Activity; 2]> {
                    let known = scene.keys.into_iter().zip(remembered);
                    survey.take(
                        scene.node,
                        known.map(|(key, stopped)| Known { key, stopped }),
                    );
                    match survey.queues() {
                        [one, two, ..] => Ok([one, two].map(|queue| queue.facts.activity)),
                        _ => failed(fmt!("no queues are seen")),
                    }
                };
                expect(look([false; 2])?, [Activity::Held; 2])?;
                expect(look([false, true])?, [Activity::Held, Activity::Stopped])?;
                expect(scene.start_all()?, Ok(0))?;
                expect(scene.start_beyond()?, Ok(0))?;
                scene.calls(0, 0)?;
                expect(scene.start_remembered(&scene.keys[1..2])?, Ok(1))?;
                scene.left(State::with([false, true, true, true]))
            })
        })
    }

    #[test]
    fn a_queue_whose_ring_is_being_changed_is_given_a_look() -> Result {
        with_scene(|scene| {
            let _queue = Ambiguous::new(|ring| ring + 0x1000)?;
            let waits = [QueueState::Held, QueueState::StoppedByUs];
            expect(judged(scene, false)?, waits)?;
            // What we have stopped ourselves is not waited for.
            expect(judged(scene, true)?, [QueueState::StoppedByUs; 2])?;
            // Nobody looks again after this.
            expect(scene.start_all()?, Ok(1))?;
            scene.left(State::with([true; 4]))
        })
    }

    #[test]
    fn a_queue_whose_length_is_being_changed_is_given_a_look() -> Result {
        with_scene(|scene| {
            let _queue = Ambiguous::new(|ring| ring)?;
            expect(judged(scene, false)?, [QueueState::StoppedByUs; 2])?;
            let queue = Fake::now().processes[0].queues[0];
            put(queue, P + QUEUE_PROPERTIES_QUEUE_SIZE, 0x8000u64);
            let waits = [QueueState::Held, QueueState::StoppedByUs];
            expect(judged(scene, false)?, waits)
        })
    }

    #[test]
    fn a_queue_for_copies_is_never_ours() -> Result {
        with_scene(|scene| {
            let fake = Fake::now();
            put(
                fake.processes[0].queues[2],
                P + QUEUE_PROPERTIES_IS_ACTIVE,
                0u8,
            );
            put(fake.dqm, DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT, 5u32);
            expect(scene.start_all()?, Ok(0))?;
            scene.calls(0, 0)
        })
    }
}
