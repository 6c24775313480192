// SPDX-License-Identifier: GPL-2.0-only

//! More queues than there is room for: who stays in view, under which names, and how
//! often the lists are walked over for it.
//!
//! All processes of the fake are of one program, the kernel's first, but for one that
//! a test gives to init.

use crate::fake::layout::*;
use crate::fake::{expect, failed, get, put, with_node, Fake, INIT};
use crate::node::roster::Roster;
use crate::roster_cases::no_rules;
use gpreempt_policy::TransactionKind;
use gpreempt_policy::{Action, QueueId, QUEUE_SLOTS};
use kernel::prelude::*;
use kfd::act::hws::Hws;
use kfd::act::transaction::Requests;
use kfd::driver::driver::Driver;
use kfd::driver::locked::WALKS;
use kfd::driver::node::Node;
use kfd::driver::queue::{Activity, QueueKey};
use kfd::look::survey::Survey;

/// What is remembered of a node from look to look, as in the module.
struct Watcher<'a> {
    node: &'a Node<'a>,
    survey: Survey,
    roster: Roster,
}

impl Watcher<'_> {
    /// One look. Returns how many walks it took.
    fn look(&mut self) -> Result<u32> {
        let before = WALKS.so_far();
        self.survey.take(self.node, self.roster.known());
        let walks = WALKS.so_far() - before;
        self.roster.take(&self.survey, 0, no_rules);
        let seen = self.survey.queues().iter();
        for (seen, queue) in seen.zip(self.roster.queues_mut()) {
            queue.follow_stop(seen.facts.activity == Activity::Stopped);
        }
        Ok(walks)
    }

    /// How many queues are in view, and how many are not.
    fn counts(&self) -> (usize, u32) {
        (self.survey.queues().len(), self.survey.counted().beyond)
    }

    /// Checks that each queue is counted once, and that what is not in view is named.
    fn check(&self, total: usize) -> Result {
        let (seen, beyond) = self.counts();
        let named: u32 = self.survey.left_out().map(|one| one.left_out).sum();
        let mut keys = KVVec::new();
        for queue in self.survey.queues() {
            keys.push(queue.facts.key, GFP_KERNEL)?;
        }
        kfd::kernel::sort::sort_by_key(&mut keys, |key| *key);
        let twice = keys.windows(2).any(|pair| pair[0] == pair[1]);
        if seen + beyond as usize == total && named == beyond && !twice {
            return Ok(());
        }
        failed(fmt!(
            "{seen} and {beyond} of {total}, {named} named, some twice: {twice}"
        ))
    }

    fn name(&self, key: QueueKey) -> Option<QueueId> {
        let mut queues = self.roster.queues().iter();
        queues.find(|queue| queue.key == key).map(|queue| queue.id)
    }
}

fn with_watcher(test: impl FnOnce(&mut Watcher<'_>) -> Result) -> Result {
    with_node(|node| {
        test(&mut Watcher {
            node,
            survey: Survey::new()?,
            roster: Roster::new()?,
        })
    })
}

/// Lets a crowd of the fake's other program join, and checks that the two queues of
/// init's, of which one is stopped, stay in view under their names.
fn joined_by(watcher: &mut Watcher<'_>, processes: u32, queues: u32) -> Result {
    Fake::own(INIT, true)?;
    Fake::stop(0)?;
    watcher.look()?;
    let mut known = KVec::new();
    for queue in watcher.roster.queues() {
        known.push((queue.key, queue.id), GFP_KERNEL)?;
    }
    Fake::add_processes(processes, queues)?;
    let total = known.len() + processes as usize * queues as usize;
    for _ in 0..3 {
        watcher.look()?;
        watcher.check(total)?;
        expect(watcher.counts().0, QUEUE_SLOTS)?;
        expect(watcher.survey.counted().stopped_beyond, 0)?;
        let [first, second, ..] = &known[..] else {
            return failed(fmt!("{} queues were there", known.len()));
        };
        for &(key, id) in [first, second] {
            expect(watcher.name(key), Some(id))?;
        }
    }
    Ok(())
}

#[kunit_tests(amd_gpreempt_crowd)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_view_loses_no_queue_to_programs_with_many() -> Result {
        with_watcher(|watcher| joined_by(watcher, 6, 205))
    }

    #[test]
    fn a_program_in_view_loses_no_queue_to_one_with_many_processes() -> Result {
        with_watcher(|watcher| joined_by(watcher, 1200, 1))
    }

    #[test]
    fn a_queue_in_view_stays_there_when_newer_ones_come() -> Result {
        with_watcher(|watcher| {
            Fake::add_processes(5, 204)?;
            watcher.look()?;
            expect(watcher.counts(), (QUEUE_SLOTS, 0))?;
            let mut known = KVVec::new();
            for queue in watcher.roster.queues() {
                known.push((queue.key, queue.id), GFP_KERNEL)?;
            }
            Fake::add_queues(900)?;
            watcher.look()?;
            watcher.check(QUEUE_SLOTS + 900)?;
            let same = |(key, id): &&(QueueKey, QueueId)| watcher.name(*key) == Some(*id);
            expect(known.iter().filter(same).count(), QUEUE_SLOTS)
        })
    }

    #[test]
    fn a_user_wins_nothing_by_users_of_its_own_in_a_namespace() -> Result {
        // All others are of the user who has made the namespace: it is the oldest of them.
        expect_share(Fake::own_contained, 1020)
    }

    #[test]
    fn a_user_wins_nothing_by_programs_that_run_as_other_users() -> Result {
        expect_share(Fake::own_set_user_id, 1020)
    }

    #[test]
    fn a_user_loses_nothing_to_another_with_many_processes() -> Result {
        expect_share(Fake::own_other_user, 512)
    }

    #[test]
    fn a_container_of_roots_loses_nothing_to_roots_other_programs() -> Result {
        expect_share(|| Fake::own_container(77, 0, false), 512)
    }

    #[test]
    fn a_tenant_is_a_user_or_a_container_of_roots() -> Result {
        with_node(|node| {
            let mut survey = Survey::new()?;
            let mut tenant = |own: &dyn Fn() -> Result| tenant_of_first(node, &mut survey, own);
            expect(tenant(&Fake::own_set_user_id)?, 0)?;
            expect(tenant(&Fake::own_contained)?, 0)?;
            expect(tenant(&Fake::own_other_user)?, 100_000)?;
            let mut container = |number, programs, moved| {
                let of = tenant(&|| Fake::own_container(number, programs, moved))?;
                Ok::<_, Error>(of.checked_sub(1 << 63))
            };
            for moved in [false, true] {
                expect(container(77, 0, moved)?, Some(77))?;
                expect(container(78, 0, moved)?, Some(78))?;
                // Whatever namespaces it makes within, or when it ends, it stays in its
                // container, also when all of that have no other program any more.
                for within in [79, 80, 0] {
                    let of = container(within, 77, moved)?;
                    expect(of, Some(77 | 1 << 62))?;
                }
            }
            // One that is over, and whose memory another has, is not taken for the host's.
            expect(container(0, 0, false)?, Some(0))
        })
    }

    #[test]
    fn a_program_in_a_container_of_roots_wins_nothing_by_becoming_a_user() -> Result {
        const USER: u32 = 100_000;
        const CONTAINER: u64 = 77 | 1 << 62 | 1 << 63;
        with_node(|node| {
            let mut survey = Survey::new()?;
            let mut tenant = |programs, moved, users, ended| {
                tenant_of_first(node, &mut survey, &|| {
                    Fake::own_container(79, programs, moved)?;
                    Fake::become_user(USER, users);
                    if ended {
                        Fake::wait_for();
                    }
                    Ok(())
                })
            };
            for moved in [false, true] {
                expect(tenant(77, moved, false, false)?, CONTAINER)?;
                // It is a user's that a user has made, or that is no process namespace.
                expect(tenant(77, moved, true, false)?, u64::from(USER))?;
                expect(tenant(0, moved, false, false)?, u64::from(USER))?;
            }
            // Whatever user one had that is gone, it may have been in a container.
            expect(tenant(77, false, false, true)?, 1 << 63)?;
            expect(tenant(0, false, true, true)?, 1 << 63)
        })
    }

    /// The tenant of the first process when it is what `own` makes it.
    fn tenant_of_first(
        node: &Node<'_>,
        survey: &mut Survey,
        own: &dyn Fn() -> Result,
    ) -> Result<u64> {
        own()?;
        let owner = Fake::now().processes[0].process as usize;
        survey.take(node, core::iter::empty());
        let mut seen = survey.processes().iter();
        let seen = seen.find(|seen| seen.process == owner);
        seen.map(|seen| seen.task.tenant()).ok_or(ENOENT)
    }

    /// Five processes of a user, and an older one that is what `own` makes it, have 1,020
    /// queues. If it is of that user, it comes first; if it is of another one, the two have
    /// even shares.
    fn expect_share(own: impl FnOnce() -> Result, share: usize) -> Result {
        with_watcher(|watcher| {
            own()?;
            Fake::add_queues(1018)?;
            Fake::add_processes(5, 204)?;
            watcher.look()?;
            watcher.check(2 * QUEUE_SLOTS - 6)?;
            let owner = Fake::now().processes[0].process as usize;
            let own = watcher.survey.queues().iter();
            let own = own.filter(|seen| seen.facts.key.process() == owner).count();
            expect(own, share)
        })
    }

    /// As a module leaves it that was not able to start everything when it was unloaded.
    #[test]
    fn a_stopped_queue_that_nobody_remembers_comes_into_view() -> Result {
        with_watcher(|watcher| {
            const MORE: usize = 1200;
            Fake::add_queues(MORE as u32)?;
            let first: *mut u8 = get(Fake::now().processes[0].qpd, QCM_PROCESS_DEVICE_QUEUES_LIST);
            let newest = first.wrapping_sub(QUEUE_LIST);
            let sees = |watcher: &Watcher<'_>| {
                let mut seen = watcher.survey.queues().iter();
                seen.any(|seen| seen.facts.key.queue() == newest.addr())
            };
            watcher.look()?;
            expect(sees(watcher), false)?;
            put(newest, QUEUE_PROPERTIES + QUEUE_PROPERTIES_IS_ACTIVE, 0u8);
            watcher.look()?;
            expect(sees(watcher), true)?;
            expect(watcher.survey.counted().stopped_beyond, 0)?;
            watcher.check(4 + MORE)
        })
    }

    #[test]
    fn only_where_there_is_not_room_for_all_is_there_more_than_one_walk() -> Result {
        let mut survey = Survey::new()?;
        let mut look = |node: &Node<'_>| {
            let before = WALKS.so_far();
            survey.take(node, core::iter::empty());
            let left_out = survey.left_out().count();
            (WALKS.so_far() - before, survey.counted().beyond, left_out)
        };
        with_node(|node| {
            expect(look(node), (1, 0, 0))?;
            Fake::add_processes(5, 204)?;
            expect(look(node), (1, 0, 0))?;
            Fake::add_queues(1)?;
            expect(look(node), (3, 1, 1))?;
            expect(look(node), (2, 1, 1))
        })?;
        // All that was added is gone.
        with_node(|node| {
            expect(look(node), (2, 0, 0))?;
            expect(look(node), (1, 0, 0))
        })
    }

    #[test]
    fn only_what_is_stopped_and_out_of_view_is_started_for_want_of_room() -> Result {
        with_watcher(|watcher| {
            let driver = Driver::pin()?;
            let hws = Hws::bind(&driver)?;
            Fake::own_other_user()?;
            Fake::add_queues(1020)?;
            watcher.look()?;
            let mut requests = Requests::new(QUEUE_SLOTS)?;
            let keys = watcher.survey.queues().iter().map(|seen| seen.facts.key);
            requests.fill(keys.map(|key| (key, Action::Stop)));
            let stopped = hws.transact(watcher.node, TransactionKind::Driver, &mut requests.each());
            expect(stopped.map(|_| ()), Ok(()))?;
            // Of the user that had two queues.
            Fake::add_processes(1, 205)?;
            watcher.look()?;
            expect(watcher.counts(), (QUEUE_SLOTS, 205))?;
            expect(watcher.survey.counted().stopped_beyond, 205)?;
            let stopped_in_view = |watcher: &Watcher<'_>| {
                let seen = watcher.survey.queues().iter();
                seen.filter(|seen| seen.facts.activity == Activity::Stopped)
                    .count()
            };
            expect(stopped_in_view(watcher), QUEUE_SLOTS - 205)?;
            let in_view = watcher.survey.queues().iter().map(|seen| seen.facts.key);
            let mut orders = requests.start_beyond(in_view);
            let started = hws.transact(watcher.node, TransactionKind::Driver, &mut orders);
            expect(started.map(|_| ()), Ok(()))?;
            expect(orders.started(), 205)?;
            watcher.look()?;
            expect(watcher.survey.counted().stopped_beyond, 0)?;
            expect(stopped_in_view(watcher), QUEUE_SLOTS - 205)
        })
    }
}
