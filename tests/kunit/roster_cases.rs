// SPDX-License-Identifier: GPL-2.0-only

//! The names that the product gives to queues, and what it remembers under them:
//! when read pointers go back, when other queues come, and when a program comes under
//! another rule.

use crate::fake::layout::*;
use crate::fake::{expect as same, failed, look, put, with_node, Fake, INIT};
use crate::node::places::Places;
use crate::node::roster::{Queue, Roster};
use core::cell::Cell;
use core::pin::Pin;
use gpreempt_policy::{NodeName, Priority, QueueId, RuleEffect, QUEUE_SLOTS};
use kernel::prelude::*;
use kernel::str::CString;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Completion;
use kernel::time::{delay::fsleep, Delta};
use kfd::driver::node::Node;
use kfd::driver::process::Identity;
use kfd::kernel::thread::{Body, Running, Thread};
use kfd::kernel::wake::Alarm;
use kfd::look::survey::Survey;
use kfd::operator::rules::{Matched, Rules};

/// Finds a rule for nobody.
pub(crate) fn no_rules(_: &Identity) -> Option<Matched> {
    None
}

const NAME: &CStr = c"urgent";

/// A rule for all programs of a name.
fn for_name(process: &Identity) -> Option<Matched> {
    let named = process.traits().comm.starts_with(NAME.to_bytes_with_nul());
    named.then(|| Matched {
        id: 1,
        effect: RuleEffect::default(),
    })
}

/// Names and moves the program of one queue after the other, and expects its rule, its
/// name in the table and how often the rules were asked for it.
fn rename_and_move(node: &Node<'_>) -> Result {
    let mut survey = Survey::new()?;
    let mut roster = Roster::new()?;
    let asked = Cell::new(0);
    let owner = Fake::now().processes[0].process as usize;
    let mut id = None;
    // What becomes of it, and whether there is a reason to look for its rule.
    for (name, cgroup, generation, anew) in [
        (c"train", 5, 0, true),
        (c"train", 5, 0, false),
        (NAME, 5, 0, true),
        (NAME, 5, 0, false),
        (NAME, 6, 0, true),
        (c"train", 6, 0, true),
        (c"train", 6, 0, false),
        (c"train", 6, 1, true),
        (c"train", 6, 1, false),
        (c"trail", 7, 2, true),
    ] {
        Fake::own_named(name, cgroup, 0)?;
        survey.take(node, core::iter::empty());
        let others = survey.processes().len() - 1;
        asked.set(0);
        roster.take(&survey, generation, |process| {
            asked.set(asked.get() + 1);
            for_name(process)
        });
        let of_it = || {
            roster
                .queues()
                .iter()
                .filter(|queue| queue.key.process() == owner)
        };
        same(of_it().count() > 0, true)?;
        let ruled = name == NAME;
        let told = |queue: &Queue| {
            queue.rule.is_some() == ruled && queue.comm.starts_with(name.to_bytes_with_nul())
        };
        same(of_it().all(told), true)?;
        // It stays the same process.
        let process = of_it().next().map(|queue| queue.process);
        same(id.is_none() || id == process, true)?;
        // The others have a reason only where all have.
        let all = id.is_none() || generation > 0 && anew;
        same(
            asked.get(),
            usize::from(anew) + if all { others } else { 0 },
        )?;
        id = process;
    }
    Ok(())
}

/// Nodes as rules name them.
const FIRST: NodeName<'_> = on("0000:c1:00.0", 0);
const SECOND: NodeName<'_> = on("0000:c1:00.0", 1);
const THIRD: NodeName<'_> = on("0001:c1:00.0", 1);

const fn on(gpu: &str, index: u32) -> NodeName<'_> {
    NodeName { gpu, index }
}

/// The number of the rule that is found for what has the process id of the kernel's first
/// program and began so much later.
fn found_later(
    node: &Node<'_>,
    rules: &Rules,
    later: u64,
    name: NodeName<'_>,
) -> Result<Option<u32>> {
    Fake::own_named(c"any", 5, later)?;
    let survey = look(node)?;
    let owner = Fake::now().processes[0].process as usize;
    let mut seen = survey.processes().iter();
    let process = seen.find(|seen| seen.process == owner).ok_or(ENOENT)?;
    let found = rules.find(&process.task.identity(), name);
    Ok(found.map(|rule| rule.id))
}

/// A process that is there until it is told to end.
struct Passer {
    pid: Atomic<u32>,
    there: Pin<KBox<Completion>>,
    alarm: Alarm,
}

impl Body for Passer {
    fn run(&self, thread: &mut Running) {
        self.pid
            .store(kernel::current!().pid().unsigned_abs(), Relaxed);
        self.there.complete_all();
        while !thread.should_stop() {
            thread.sleep(&self.alarm, self.alarm.heard(), 0, None);
        }
    }
}

fn count(rules: &Rules) -> usize {
    let mut count = 0;
    rules.each(|_| count += 1);
    count
}

/// Adds the rule of a process beside another one, and has it end.
fn outlive(rules: &Rules) -> Result {
    let passer = Passer {
        pid: Atomic::new(0),
        there: KBox::pin_init(Completion::new(), GFP_KERNEL)?,
        alarm: Alarm::new()?,
    };
    let thread = Thread::start(c"gp_passer", KBox::new(passer, GFP_KERNEL)?)?;
    thread.body().there.wait_for_completion();
    let pid = thread.body().pid.load(Relaxed);
    let rule = CString::try_from_fmt(fmt!("5 pid={pid} prio=3"))?;
    rules.add(rule.to_str().map_err(|_| EINVAL)?)?;
    rules.add("9 comm=any prio=4")?;
    let before = rules.generation();
    same(count(rules), 2)?;
    same(rules.generation(), before)?;
    drop(thread);
    // It is there for a moment after it has told its end.
    for _ in 0..1000 {
        if count(rules) == 1 {
            break;
        }
        fsleep(Delta::from_millis(1));
    }
    same(count(rules), 1)?;
    // Those who have found the rule look again, once.
    same(rules.generation(), before.wrapping_add(1))
}

/// A queue, remembered as stopped or not, is seen again with another read
/// pointer. Returns whether it is the same queue then, and counts as stopped.
fn seen_again(node: &Node<'_>, stopped: bool, read: [u64; 2]) -> Result<(bool, bool)> {
    seen_after(node, stopped, read, || Ok(()))
}

/// As [`seen_again`], after something has happened.
fn seen_after(
    node: &Node<'_>,
    stopped: bool,
    read: [u64; 2],
    happens: impl FnOnce() -> Result,
) -> Result<(bool, bool)> {
    let mut survey = Survey::new()?;
    let mut roster = Roster::new()?;
    let mut look = |read| {
        survey.take(node, core::iter::empty());
        let seen = survey.forge().first_mut().ok_or(ENOENT)?;
        seen.sample.read = Some(read);
        roster.take(&survey, 0, no_rules);
        let queue = roster.queues_mut().first_mut().ok_or(ENOENT)?;
        let found = (queue.id, queue.is_stopped());
        queue.follow_stop(stopped);
        Ok::<_, Error>(found)
    };
    let (first, _) = look(read[0])?;
    if stopped {
        Fake::stop(0)?;
    }
    happens()?;
    let (second, stopped) = look(read[1])?;
    Ok((first == second, stopped))
}

fn expect(of: Result<(bool, bool)>, expected: (bool, bool)) -> Result {
    match of? {
        found if found == expected => Ok(()),
        found => failed(fmt!("(same, stopped): {found:?} instead of {expected:?}")),
    }
}

/// Sees queues, and sees them again behind new ones: each is found by its name, and
/// the roster's order of age fits the survey.
fn see_behind_new_queues(node: &Node<'_>) -> Result {
    let mut survey = Survey::new()?;
    let mut roster = Roster::new()?;
    survey.take(node, core::iter::empty());
    roster.take(&survey, 0, no_rules);
    let mut known = KVec::new();
    for queue in roster.queues() {
        known.push((queue.id, queue.key), GFP_KERNEL)?;
    }
    Fake::add_queues(3)?;
    survey.take(node, core::iter::empty());
    roster.take(&survey, 0, no_rules);
    for &(id, key) in known.iter() {
        if roster.find(id).map(|queue| queue.key) != Some(key) {
            return failed(fmt!("{id:?} is another queue"));
        }
    }
    let mut seen = 0;
    let mut last = QueueId(0);
    for (at, queue) in roster.by_age() {
        let there = survey.queues().get(at).map(|seen| seen.facts.key);
        if queue.id <= last || there != Some(queue.key) {
            return failed(fmt!("{:?} after {last:?}, at {at}", queue.id));
        }
        last = queue.id;
        seen += 1;
    }
    if seen != known.len() + 3 || roster.find(QueueId(0)).is_some() {
        return failed(fmt!("{seen} queues, {} of them known", known.len()));
    }
    Ok(())
}

/// Sees a queue with one read pointer after the other, none where it cannot be read, and
/// expects that it stays the same queue and what its progress is.
fn progress(node: &Node<'_>, pointers: &[(Option<u64>, u64)]) -> Result {
    let mut survey = Survey::new()?;
    let mut roster = Roster::new()?;
    let mut first = None;
    for &(read, progress) in pointers {
        survey.take(node, core::iter::empty());
        survey.forge().first_mut().ok_or(ENOENT)?.sample.read = read;
        roster.take(&survey, 0, no_rules);
        let queue = roster.queues().first().ok_or(ENOENT)?;
        same((read, queue.progress), (read, progress))?;
        same(queue.id, *first.get_or_insert(queue.id))?;
    }
    Ok(())
}

/// Looks for things in a list in an order that nobody expects, and for as many that are not
/// in it. Returns how many keys were looked at.
fn keys_looked_at(length: usize) -> Result<usize> {
    let mut places = Places::new()?;
    let mut all = KVVec::new();
    for at in 0..length {
        all.push(2 * ((at * 7) % length), GFP_KERNEL)?;
    }
    let looked = Cell::new(0);
    let key = |&one: &usize| {
        looked.set(looked.get() + 1);
        one
    };
    places.begin();
    for wanted in 0..2 * length {
        let found = places.find(&all, key, wanted);
        let found = found.and_then(|at| all.get(at).copied());
        same(found, (wanted % 2 == 0).then_some(wanted))?;
    }
    Ok(looked.get())
}

/// Makes the queue one of the command processor's packets.
fn make_pm4() {
    let queue = Fake::now().processes[0].queues[0];
    let format = u32::try_from(KFD_QUEUE_FORMAT_PM4).unwrap_or(0);
    put(queue, QUEUE_PROPERTIES + QUEUE_PROPERTIES_FORMAT, format);
}

#[kunit_tests(amd_gpreempt_roster)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_that_moves_on_is_the_same_queues() -> Result {
        with_node(|node| expect(seen_again(node, false, [100, 100]), (true, false)))?;
        with_node(|node| expect(seen_again(node, false, [100, 101]), (true, false)))
    }

    #[test]
    fn a_packet_pointer_that_goes_back_is_the_same_queues_and_no_progress() -> Result {
        with_node(|node| expect(seen_again(node, false, [100, 99]), (true, false)))?;
        with_node(|node| {
            let pointers = [
                (Some(100), 100),
                (Some(40), 100),
                (Some(40), 100),
                (None, 100),
                (Some(42), 102),
                (Some(0), 102),
                (Some(1), 103),
                (Some(101), 203),
            ];
            progress(node, &pointers)
        })
    }

    #[test]
    fn a_pointer_that_could_not_be_read_at_first_counts_from_nothing() -> Result {
        with_node(|node| progress(node, &[(None, 0), (Some(5), 5), (None, 5), (Some(6), 6)]))
    }

    #[test]
    fn a_ring_that_wraps_is_the_same_queues() -> Result {
        with_node(|node| {
            make_pm4();
            expect(seen_again(node, false, [1000, 3]), (true, false))?;
            make_pm4();
            expect(seen_again(node, true, [1000, 3]), (true, true))
        })?;
        with_node(|node| {
            make_pm4();
            let words = 0x10000 / 4;
            let pointers = [
                (Some(words - 2), words - 2),
                (Some(3), words + 3),
                (Some(4), words + 4),
            ];
            progress(node, &pointers)
        })
    }

    #[test]
    fn a_queue_at_the_place_of_another_processes_is_another() -> Result {
        with_node(|node| {
            let replaced = || Fake::own(INIT, true);
            expect(
                seen_after(node, false, [100, 100], replaced),
                (false, false),
            )
        })
    }

    #[test]
    fn a_stopped_queue_stays_itself_whatever_its_process_writes() -> Result {
        with_node(|node| expect(seen_again(node, true, [100, 0]), (true, true)))
    }

    #[test]
    fn a_queue_keeps_its_name_behind_new_ones() -> Result {
        with_node(see_behind_new_queues)
    }

    #[test]
    fn a_program_is_judged_anew_when_it_is_renamed_or_moved() -> Result {
        with_node(rename_and_move)
    }

    #[test]
    fn each_change_of_rules_is_told_with_the_highest_level_of_them() -> Result {
        let rules = KBox::pin_init(Rules::new(), GFP_KERNEL)?;
        let level = |rules: &Rules| rules.highest().map(Priority::level);
        same(level(&rules), None)?;
        let mut last = rules.generation();
        for (rule, add, highest) in [
            ("1 comm=one exempt", true, None),
            ("2 comm=two prio=0", true, Some(0)),
            ("3 comm=three prio=9", true, Some(9)),
            ("4 comm=four prio=7", true, Some(9)),
            ("3", false, Some(7)),
            ("4 comm=four prio=15", true, Some(15)),
            ("4", false, Some(0)),
            ("2", false, None),
            ("2 comm=two node=0000:c1:00.0/1 prio=11", true, Some(11)),
            ("2", false, None),
        ] {
            match add {
                true => rules.add(rule)?,
                false => rules.del(rule)?,
            }
            same(level(&rules), highest)?;
            same(rules.generation() != last, true)?;
            last = rules.generation();
        }
        same(rules.del("3"), Err(ENOENT))?;
        same(rules.generation(), last)
    }

    /// The lower number is for another node, or for another GPU.
    #[test]
    fn a_rule_for_a_node_counts_there_alone() -> Result {
        let rules = KBox::pin_init(Rules::new(), GFP_KERNEL)?;
        rules.add("5 pid=1 node=0000:c1:00.0/1 prio=3")?;
        rules.add("6 pid=1 node=0001:c1:00.0/0 prio=3")?;
        rules.add("7 pid=1 node=0000:c1:00.0/0 prio=4")?;
        rules.add("9 pid=1 prio=4")?;
        for (name, number) in [(FIRST, 7), (SECOND, 5), (THIRD, 9)] {
            let found = with_node(|node| found_later(node, &rules, 0, name))?;
            same(found, Some(number))?;
        }
        Ok(())
    }

    #[test]
    fn the_rule_of_a_process_is_not_the_next_ones_of_its_number() -> Result {
        let rules = KBox::pin_init(Rules::new(), GFP_KERNEL)?;
        rules.add("5 pid=1 prio=3")?;
        rules.add("9 comm=any prio=4")?;
        for (later, number) in [(0, 5), (1, 9)] {
            let found = with_node(|node| found_later(node, &rules, later, FIRST))?;
            same(found, Some(number))?;
        }
        Ok(())
    }

    #[test]
    fn whoever_found_the_rule_of_a_process_that_is_gone_looks_again() -> Result {
        let rules = KBox::pin_init(Rules::new(), GFP_KERNEL)?;
        outlive(&rules)
    }

    #[test]
    fn a_process_that_there_is_not_has_no_rule() -> Result {
        let rules = KBox::pin_init(Rules::new(), GFP_KERNEL)?;
        // No process ever has this number.
        same(rules.add("5 pid=4194304 prio=3"), Err(ESRCH))?;
        same(count(&rules), 0)
    }

    #[test]
    fn what_has_moved_is_found() -> Result {
        let mut places = Places::new()?;
        let all = [10, 20, 30, 40];
        for (wanted, place) in [
            (20, Some(1)),
            (30, Some(2)),
            (10, Some(0)),
            (50, None),
            (40, Some(3)),
        ] {
            same(places.find(&all, |&one| one, wanted), place)?;
        }
        // Of another list, nothing is known from the one before.
        places.begin();
        same(places.find(&[40, 20], |&one| one, 20), Some(1))?;
        same(places.find(&[40, 20], |&one| one, 10), None)
    }

    #[test]
    fn what_is_not_where_it_is_expected_costs_no_walk_over_all() -> Result {
        let looked = keys_looked_at(QUEUE_SLOTS)?;
        // A search in an ordered list halves it each time; the list is ordered once.
        let halvings = QUEUE_SLOTS.ilog2() as usize + 1;
        let most = 8 * QUEUE_SLOTS * halvings;
        match looked <= most && keys_looked_at(0)? == 0 {
            true => Ok(()),
            false => failed(fmt!("{looked} keys of {QUEUE_SLOTS}, and not {most}")),
        }
    }
}
