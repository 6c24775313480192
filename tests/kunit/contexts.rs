// SPDX-License-Identifier: GPL-2.0-only

//! Contexts that a program has beside its main one: whose memory is read for them, whose
//! rivals they are.

use crate::fake::layout::*;
use crate::fake::{expect, failed, look, put, with_node, Fake, INIT};
use crate::node::roster::Roster;
use crate::roster_cases::no_rules;
use core::pin::Pin;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{Completion, Mutex};
use kfd::driver::queue::Activity;
use kfd::kernel::thread::{Body, Running, Thread};
use kfd::kernel::wake::Alarm;
use kfd::look::survey::{QueueSeen, Survey};

/// Makes the first process a context beside its program's main one.
fn make_secondary() {
    let process = Fake::now().processes[0].process;
    put(process, KFD_PROCESS_CONTEXT_ID, 1u16);
}

/// Has the queues of the first process keep their pointers at an address of its memory.
fn point_into_memory() {
    let fake = Fake::now();
    for queue in fake.processes[0].queues {
        for pointer in [QUEUE_PROPERTIES_READ_PTR, QUEUE_PROPERTIES_WRITE_PTR] {
            put(queue, QUEUE_PROPERTIES + pointer, fake.word);
        }
    }
}

/// A thread of the module's that reads the pointers of what was seen.
struct Reader {
    survey: Pin<KBox<Mutex<Survey>>>,
    /// Whether a packet was not written yet.
    unwritten: Atomic<bool>,
    done: Pin<KBox<Completion>>,
    alarm: Alarm,
}

impl Body for Reader {
    fn run(&self, thread: &mut Running) {
        let mut survey = self.survey.lock();
        survey.read_pointers(thread, true);
        self.unwritten.store(survey.any_unwritten(thread), Relaxed);
        drop(survey);
        self.done.complete_all();
        while !thread.should_stop() {
            thread.sleep(&self.alarm, self.alarm.heard(), 0, None);
        }
    }
}

/// Has a thread of the module's read the pointers of what was seen, and says what there is
/// to see of the first process's first queue. The second process has no memory, and its
/// queues are taken to be held.
pub(crate) fn with_pointers_read<R>(
    survey: Survey,
    f: impl FnOnce(&Survey, &QueueSeen) -> Result<R>,
) -> Result<R> {
    with_rings_read(survey, |survey, first, _| f(survey, first))
}

/// The same, and whether there is a packet that is not written yet.
pub(crate) fn with_rings_read<R>(
    mut survey: Survey,
    f: impl FnOnce(&Survey, &QueueSeen, bool) -> Result<R>,
) -> Result<R> {
    let owner = Fake::now().processes[0].process as usize;
    for seen in survey.forge() {
        if seen.facts.key.process() != owner {
            seen.facts.activity = Activity::Held;
        }
    }
    let reader = Reader {
        survey: KBox::pin_init(kernel::new_mutex!(survey, "survey"), GFP_KERNEL)?,
        unwritten: Atomic::new(false),
        done: KBox::pin_init(Completion::new(), GFP_KERNEL)?,
        alarm: Alarm::new()?,
    };
    let thread = Thread::start(c"gp_reader", KBox::new(reader, GFP_KERNEL)?)?;
    thread.body().done.wait_for_completion();
    let survey = thread.body().survey.lock();
    let mut queues = survey.queues().iter();
    let Some(first) = queues.find(|seen| seen.facts.key.process() == owner) else {
        return failed(fmt!("the first process has no queue"));
    };
    f(&survey, first, thread.body().unwritten.load(Relaxed))
}

/// Whether the pointers of the first process's queues can be read.
fn pointers_are_read(survey: Survey) -> Result<bool> {
    with_pointers_read(survey, |survey, first| {
        let read = first.sample.read.is_some() && first.sample.write.is_some();
        expect(survey.any_unread(), !read)?;
        Ok(read)
    })
}

/// The names that a roster gives to the processes of the four queues.
fn names(roster: &mut Roster) -> Result<[u64; 4]> {
    with_node(|node| {
        let survey = look(node)?;
        roster.take(&survey, 0, no_rules);
        let mut names = [0; 4];
        expect(roster.queues().len(), names.len())?;
        for (name, queue) in names.iter_mut().zip(roster.queues()) {
            *name = queue.process.0;
        }
        Ok(names)
    })
}

#[kunit_tests(amd_gpreempt_contexts)]
mod tests {
    use super::*;

    #[test]
    fn only_a_main_contexts_pointers_are_of_its_memory() -> Result {
        for (secondary, read) in [(false, true), (true, false)] {
            with_node(|node| {
                Fake::own(INIT, true)?;
                point_into_memory();
                if secondary {
                    make_secondary();
                }
                let survey = look(node)?;
                expect(pointers_are_read(survey)?, read)
            })?;
        }
        Ok(())
    }

    #[test]
    fn memory_that_no_thread_of_the_program_has_is_left_alone() -> Result {
        with_node(|node| {
            Fake::own(INIT, false)?;
            point_into_memory();
            let survey = look(node)?;
            expect(pointers_are_read(survey)?, false)
        })
    }

    #[test]
    fn of_memory_that_nobody_uses_nothing_is_given_back() -> Result {
        with_node(|node| {
            Fake::own_unused(0)?;
            let mut survey = Survey::new()?;
            for _ in 0..2 {
                survey.take(node, core::iter::empty());
                expect(Fake::unused_counts(), (0, 2))?;
            }
            expect(pointers_are_read(survey)?, false)?;
            expect(Fake::unused_counts(), (0, 1))
        })
    }

    #[test]
    fn the_memory_is_found_after_the_end_of_some_threads() -> Result {
        const MOST: u32 = 8;
        for (ended, references) in [(1, 2), (MOST - 1, 2), (MOST, 1)] {
            with_node(|node| {
                Fake::own_unused(ended)?;
                let survey = look(node)?;
                expect(Fake::unused_counts(), (0, references))?;
                drop(survey);
                expect(Fake::unused_counts(), (0, 1))
            })?;
        }
        Ok(())
    }

    #[test]
    fn memory_that_is_gone_is_never_followed() -> Result {
        with_node(|node| {
            Fake::own(INIT, true)?;
            point_into_memory();
            // As where the driver has let go of it, and still has the queues.
            put(Fake::now().processes[0].process, KFD_PROCESS_MM, 8usize);
            let survey = look(node)?;
            expect(survey.queues().len(), 4)?;
            expect(pointers_are_read(survey)?, false)
        })
    }

    #[test]
    fn what_a_secondary_context_was_made_with_is_never_followed() -> Result {
        with_node(|node| {
            make_secondary();
            // As after its end.
            put(Fake::now().processes[0].process, KFD_PROCESS_MM, 8usize);
            let survey = look(node)?;
            expect(survey.queues().len(), 4)?;
            expect(pointers_are_read(survey)?, false)
        })
    }

    #[test]
    fn programs_are_rivals_and_contexts_of_one_are_not() -> Result {
        let [one, also_one, two, also_two] = names(&mut Roster::new()?)?;
        expect((also_one, also_two), (one, two))?;
        expect(one == two, false)?;
        with_node(|node| {
            let [one, two] = Fake::now().processes;
            let thread: usize = crate::fake::get(one.process, KFD_PROCESS_LEAD_THREAD);
            put(two.process, KFD_PROCESS_LEAD_THREAD, thread);
            let mut survey = Survey::new()?;
            let mut roster = Roster::new()?;
            for _ in 0..2 {
                survey.take(node, core::iter::empty());
                roster.take(&survey, 0, no_rules);
                let mut names = roster.queues().iter().map(|queue| queue.process.0);
                let first = names.next();
                expect(names.all(|name| Some(name) == first), true)?;
            }
            Ok(())
        })
    }

    #[test]
    fn a_program_without_queues_for_a_look_is_the_same_one_after_it() -> Result {
        let mut roster = Roster::new()?;
        let before = names(&mut roster)?;
        roster.take(&Survey::new()?, 0, no_rules);
        expect(roster.queues().len(), 0)?;
        expect(names(&mut roster)?, before)
    }
}
