// SPDX-License-Identifier: GPL-2.0-only
//! Who is seen when there is not room for all queues: by cases, and by what holds
//! for any crowd.

use std::collections::BTreeMap;

use gpreempt_policy::{share, Claim, Worth};
use proptest::prelude::*;

const WORTHS: [Worth; 4] = [Worth::Stopped, Worth::Working, Worth::Seen, Worth::Unseen];

/// A process of the driver, with its queues as the driver lists them: the newest
/// first.
#[derive(Clone, Debug)]
struct Process {
    claim: Claim,
    queues: Vec<Worth>,
    kept: Vec<bool>,
}

impl Process {
    fn new(tenant: u64, program: i32, queues: Vec<Worth>) -> Process {
        let mut claim = Claim::default();
        (claim.tenant, claim.program) = (tenant, program);
        queues.iter().for_each(|&worth| claim.add(worth));
        Process {
            claim,
            queues,
            kept: Vec::new(),
        }
    }

    fn ruled(mut self) -> Process {
        self.claim.ruled = true;
        self
    }

    fn seen(&self) -> usize {
        self.kept.iter().filter(|&&kept| kept).count()
    }
}

impl gpreempt_policy::Claimant for Process {
    fn claim(&self) -> &Claim {
        &self.claim
    }

    fn claim_mut(&mut self) -> &mut Claim {
        &mut self.claim
    }
}

/// Shares the room among the processes, in the order of their claims, and asks about
/// each queue.
fn shared(room: u32, mut processes: Vec<Process>) -> Vec<Process> {
    processes.sort_by_key(|one| (one.claim.tenant, one.claim.program));
    share(room, &mut processes);
    for process in &mut processes {
        let claim = &mut process.claim;
        process.kept = process
            .queues
            .iter()
            .map(|&worth| claim.keeps(worth))
            .collect();
        assert_eq!(
            claim.left_out() as usize,
            process.queues.len() - process.seen()
        );
    }
    processes
}

/// How many queues of each process are seen.
fn seen(room: u32, processes: Vec<Process>) -> Vec<usize> {
    shared(room, processes).iter().map(Process::seen).collect()
}

fn unseen(count: usize) -> Vec<Worth> {
    vec![Worth::Unseen; count]
}

#[test]
fn one_place_more_goes_to_who_asked_for_more() {
    let tenants = [3, 9, 9].into_iter().zip(1..);
    let all = tenants.map(|(queues, tenant)| Process::new(tenant, 0, vec![Worth::Seen; queues]));
    let seen: Vec<usize> = shared(10, all.collect())
        .iter()
        .map(Process::seen)
        .collect();
    assert_eq!(seen, [3, 4, 3]);
}

#[test]
fn who_has_few_queues_loses_none_to_who_has_many() {
    let crowd = (10..15).map(|program| Process::new(1, program, unseen(205)));
    let few = (1..3).map(|program| Process::new(1, program, unseen(1)));
    let seen = seen(1024, few.chain(crowd).collect());
    assert_eq!(seen, [1, 1, 205, 205, 204, 204, 204]);
}

#[test]
fn who_has_many_processes_wins_nothing_over_another_tenant() {
    let many = (10..1210).map(|program| Process::new(1000, program, unseen(1)));
    let one = Process::new(2000, 5, unseen(600));
    let processes = shared(1024, many.chain([one]).collect());
    assert_eq!(processes.last().map(Process::seen), Some(512));
    let others: usize = processes.iter().map(Process::seen).sum();
    assert_eq!(others, 1024);
}

#[test]
fn contexts_of_one_program_share_what_the_program_gets() {
    let contexts = (0..9).map(|_| Process::new(1, 7, unseen(10)));
    let other = Process::new(1, 8, unseen(20));
    let processes = shared(40, contexts.chain([other]).collect());
    assert_eq!(processes.last().map(Process::seen), Some(20));
}

#[test]
fn what_a_rule_names_comes_first_within_its_tenant_alone() {
    let named = Process::new(1, 7, unseen(30)).ruled();
    let beside = Process::new(1, 8, unseen(30));
    let elsewhere = Process::new(2, 9, unseen(30));
    assert_eq!(seen(70, vec![named, beside, elsewhere]), [30, 10, 30]);
}

#[test]
fn within_a_process_the_stopped_the_working_the_seen_and_the_oldest_stay() {
    let [stopped, working, seen, new] = WORTHS;
    let queues = vec![new, seen, working, new, stopped, seen, new];
    let kept = |room| {
        let processes = shared(room, vec![Process::new(1, 7, queues.clone())]);
        let kept = processes[0].kept.iter();
        kept.map(|&kept| if kept { 'k' } else { '-' })
            .collect::<String>()
    };
    assert_eq!(kept(0), "-------");
    assert_eq!(kept(1), "----k--");
    assert_eq!(kept(2), "--k-k--");
    assert_eq!(kept(3), "--k-kk-");
    assert_eq!(kept(4), "-kk-kk-");
    assert_eq!(kept(5), "-kk-kkk");
    assert_eq!(kept(6), "-kkkkkk");
    assert_eq!(kept(7), "kkkkkkk");
}

#[test]
fn a_queue_that_came_since_it_was_counted_takes_no_room_from_others() {
    let mut claims = [Claim::default()];
    (0..4).for_each(|_| claims[0].add(Worth::Seen));
    share(3, &mut claims);
    let [claim] = &mut claims;
    // Two more than were counted: three are kept, whichever they are.
    assert_eq!((0..6).filter(|_| claim.keeps(Worth::Seen)).count(), 3);
}

#[test]
fn a_queue_that_came_since_the_count_takes_no_place_of_a_stopped_one() {
    let mut claims = [Claim::default()];
    let counted = [Worth::Unseen, Worth::Working, Worth::Stopped];
    counted.iter().for_each(|&worth| claims[0].add(worth));
    share(3, &mut claims);
    let [claim] = &mut claims;
    let listed = [Worth::Unseen].into_iter().chain(counted);
    let kept: Vec<_> = listed.filter(|&worth| claim.keeps(worth)).collect();
    assert_eq!(kept, counted);
    assert_eq!(claim.left_out(), 1);
}

#[test]
fn a_queue_that_is_found_stopped_since_the_count_takes_a_place_that_is_free() {
    let mut claims = [Claim::default()];
    (0..2).for_each(|_| claims[0].add(Worth::Unseen));
    share(2, &mut claims);
    let [claim] = &mut claims;
    assert!(claim.keeps(Worth::Stopped));
    assert!(claim.keeps(Worth::Unseen));
    assert!(!claim.keeps(Worth::Unseen));
}

fn process() -> impl Strategy<Value = Process> {
    let worth = prop::sample::select(&WORTHS[..]);
    let queues = prop::collection::vec(worth, 0..30);
    (0u64..6, 0i32..4, queues).prop_map(|(tenant, program, queues)| {
        // A rule is about a program: all its contexts have it.
        let process = Process::new(tenant, program, queues);
        if (tenant as i32 + program) % 3 == 0 {
            process.ruled()
        } else {
            process
        }
    })
}

/// What each of some holders wants and gets.
fn totals<K: Ord>(
    processes: &[Process],
    key: impl Fn(&Process) -> K,
) -> BTreeMap<K, (usize, usize)> {
    let mut totals = BTreeMap::new();
    for process in processes {
        let (wanted, got) = totals.entry(key(process)).or_insert((0, 0));
        *wanted += process.queues.len();
        *got += process.seen();
    }
    totals
}

/// Whoever wants more than it got has no less than anybody else, but for one queue
/// where the room cannot be divided.
fn is_even<'a>(holders: impl Iterator<Item = &'a (usize, usize)> + Clone) -> bool {
    let most = holders.clone().map(|&(_, got)| got).max().unwrap_or(0);
    holders
        .clone()
        .all(|&(wanted, got)| got == wanted || got + 1 >= most)
}

proptest! {
    #[test]
    fn room_is_shared_evenly_and_none_is_wasted(
        room in 0u32..400,
        processes in prop::collection::vec(process(), 0..40),
    ) {
        let processes = shared(room, processes);
        let wanted: usize = processes.iter().map(|one| one.queues.len()).sum();
        let got: usize = processes.iter().map(Process::seen).sum();
        prop_assert_eq!(got, wanted.min(room as usize));

        let of = |one: &Process| (one.claim.tenant, one.claim.program);
        let tenants = totals(&processes, |one| of(one).0);
        prop_assert!(is_even(tenants.values()), "tenants: {:?}", tenants);
        for &tenant in tenants.keys() {
            let own: Vec<_> = processes.iter().filter(|one| of(one).0 == tenant).cloned().collect();
            let (ruled, plain): (Vec<_>, Vec<_>) =
                own.into_iter().partition(|one| one.claim.ruled);
            let lacks = ruled.iter().any(|one| one.seen() < one.queues.len());
            prop_assert!(!lacks || plain.iter().all(|one| one.seen() == 0));
            for some in [ruled, plain] {
                let programs = totals(&some, |one| of(one).1);
                prop_assert!(is_even(programs.values()), "programs: {:?}", programs);
                for &program in programs.keys() {
                    let own: Vec<_> = some.iter().filter(|one| of(one).1 == program).collect();
                    let contexts: Vec<_> =
                        own.iter().map(|one| (one.queues.len(), one.seen())).collect();
                    prop_assert!(is_even(contexts.iter()), "contexts: {:?}", contexts);
                }
            }
        }
    }

    #[test]
    fn queues_that_came_since_the_count_push_out_nothing_that_is_stopped(
        room in 0u32..400,
        processes in prop::collection::vec(process(), 1..40),
        comers in prop::collection::vec(
            (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1usize..WORTHS.len()),
            0..20,
        ),
    ) {
        let stopped = |one: &Process| {
            let kept = one.queues.iter().zip(&one.kept);
            kept.filter(|&(&worth, &kept)| kept && worth == Worth::Stopped).count()
        };
        let before: Vec<_> = shared(room, processes.clone()).iter().map(stopped).collect();
        // Counted without the comers, and listed with them.
        let mut listed = processes;
        for (process, place, worth) in comers {
            let queues = &mut process.get_mut(&mut listed).queues;
            queues.insert(place.index(queues.len() + 1), WORTHS[worth]);
        }
        let after = shared(room, listed);
        let kept: usize = after.iter().map(Process::seen).sum();
        prop_assert!(kept <= room as usize);
        prop_assert_eq!(after.iter().map(stopped).collect::<Vec<_>>(), before);
    }

    #[test]
    fn nothing_worth_less_or_newer_is_kept_before_another_queue_of_the_process(
        room in 0u32..400,
        processes in prop::collection::vec(process(), 0..40),
    ) {
        for process in shared(room, processes) {
            let queues: Vec<_> = process.queues.iter().zip(&process.kept).collect();
            for (newer, (worth, kept)) in queues.iter().enumerate() {
                for (older_worth, older_kept) in &queues[newer + 1..] {
                    // At the same worth the older one goes first.
                    prop_assert!(!(**kept && !**older_kept && older_worth <= worth));
                    prop_assert!(!(!**kept && **older_kept && older_worth > worth));
                }
            }
        }
    }
}
