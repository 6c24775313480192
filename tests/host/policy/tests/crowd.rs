// SPDX-License-Identifier: GPL-2.0-only
//! Who is seen when there is not room for all queues: by cases, and by what holds
//! for any crowd.

use gpreempt_policy::{share, RoomShare, Worth};
use proptest::prelude::*;

const WORTHS: [Worth; 3] = [Worth::Stopped, Worth::Seen, Worth::Unseen];

/// A tenant, with its queues as the driver lists them: the newest first.
#[derive(Clone, Debug)]
struct Tenant {
    share: RoomShare,
    queues: Vec<Worth>,
    kept: Vec<bool>,
}

impl Tenant {
    fn new(queues: Vec<Worth>) -> Tenant {
        let mut share = RoomShare::default();
        queues.iter().for_each(|&worth| share.add(worth));
        Tenant {
            share,
            queues,
            kept: Vec::new(),
        }
    }

    fn unseen(count: usize) -> Tenant {
        Tenant::new(vec![Worth::Unseen; count])
    }

    fn seen(&self) -> usize {
        self.kept.iter().filter(|&&kept| kept).count()
    }
}

/// Shares the room among the tenants, and asks about each queue.
fn shared(room: u32, mut tenants: Vec<Tenant>) -> Vec<Tenant> {
    let mut shares: Vec<RoomShare> = tenants.iter().map(|tenant| tenant.share).collect();
    share(room, &mut shares);
    for (tenant, mut share) in tenants.iter_mut().zip(shares) {
        let queues = tenant.queues.iter();
        tenant.kept = queues.map(|&worth| share.keeps(worth)).collect();
    }
    tenants
}

/// How many queues of each tenant are seen.
fn seen(room: u32, tenants: Vec<Tenant>) -> Vec<usize> {
    shared(room, tenants).iter().map(Tenant::seen).collect()
}

#[test]
fn one_place_more_goes_to_who_asked_for_more() {
    let tenants = [3, 9, 9].map(Tenant::unseen);
    assert_eq!(seen(10, tenants.into()), [3, 4, 3]);
}

#[test]
fn who_has_few_queues_loses_none_to_who_has_many() {
    let tenants = [1, 205, 205, 1, 205, 205, 205].map(Tenant::unseen);
    assert_eq!(seen(1024, tenants.into()), [1, 205, 205, 1, 204, 204, 204]);
}

#[test]
fn where_there_is_room_for_all_none_is_left_out() {
    let tenants = || vec![Tenant::unseen(0), Tenant::unseen(600), Tenant::unseen(424)];
    assert_eq!(seen(1024, tenants()), [0, 600, 424]);
    assert_eq!(seen(u32::MAX, tenants()), [0, 600, 424]);
    assert_eq!(seen(0, tenants()), [0, 0, 0]);
    assert_eq!(seen(1024, Vec::new()), [] as [usize; 0]);
}

#[test]
fn the_stopped_the_seen_and_the_oldest_stay() {
    let [stopped, seen, new] = WORTHS;
    let queues = vec![new, seen, new, stopped, seen, new];
    let kept = |room| {
        let tenants = shared(room, vec![Tenant::new(queues.clone())]);
        let kept = tenants[0].kept.iter();
        kept.map(|&kept| if kept { 'k' } else { '-' })
            .collect::<String>()
    };
    assert_eq!(kept(0), "------");
    assert_eq!(kept(1), "---k--");
    assert_eq!(kept(2), "---kk-");
    assert_eq!(kept(3), "-k-kk-");
    assert_eq!(kept(4), "-k-kkk");
    assert_eq!(kept(5), "-kkkkk");
    assert_eq!(kept(6), "kkkkkk");
}

#[test]
fn the_programs_of_a_tenant_ask_for_the_room_of_one() {
    let queues = [Worth::Stopped, Worth::Unseen, Worth::Seen, Worth::Unseen];
    let mut joined = Tenant::new(queues[..2].to_vec()).share;
    joined.join(&Tenant::new(queues[2..].to_vec()).share);
    assert_eq!(joined, Tenant::new(queues.to_vec()).share);
}

#[test]
fn a_queue_that_came_since_it_was_counted_takes_no_room_from_others() {
    let mut shares = [RoomShare::default()];
    (0..4).for_each(|_| shares[0].add(Worth::Seen));
    share(3, &mut shares);
    let [share] = &mut shares;
    // Two more than were counted: three are kept, whichever they are.
    assert_eq!((0..6).filter(|_| share.keeps(Worth::Seen)).count(), 3);
}

#[test]
fn a_queue_that_came_since_the_count_takes_no_place_of_a_better_one() {
    let mut shares = [RoomShare::default()];
    let counted = [Worth::Unseen, Worth::Seen, Worth::Stopped];
    counted.iter().for_each(|&worth| shares[0].add(worth));
    share(3, &mut shares);
    let [share] = &mut shares;
    let listed = [Worth::Unseen].into_iter().chain(counted);
    let kept: Vec<_> = listed.filter(|&worth| share.keeps(worth)).collect();
    assert_eq!(kept, counted);
}

fn tenant() -> impl Strategy<Value = Tenant> {
    let worth = prop::sample::select(&WORTHS[..]);
    prop::collection::vec(worth, 0..90).prop_map(Tenant::new)
}

proptest! {
    #[test]
    fn room_is_shared_evenly_and_none_is_wasted(
        room in 0u32..400,
        tenants in prop::collection::vec(tenant(), 0..12),
    ) {
        let tenants = shared(room, tenants);
        let wanted: usize = tenants.iter().map(|one| one.queues.len()).sum();
        let got: usize = tenants.iter().map(Tenant::seen).sum();
        prop_assert_eq!(got, wanted.min(room as usize));

        // Whoever wants more than it got has no less than anybody else, but for one queue
        // where the room cannot be divided.
        let most = tenants.iter().map(Tenant::seen).max().unwrap_or(0);
        for one in &tenants {
            prop_assert!(one.seen() == one.queues.len() || one.seen() + 1 >= most);
        }
    }

    #[test]
    fn queues_that_came_since_the_count_push_out_nothing_worth_more(
        room in 0u32..400,
        tenants in prop::collection::vec(tenant(), 1..12),
        comers in prop::collection::vec(
            (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
            0..20,
        ),
    ) {
        let worthy = |one: &Tenant| {
            let kept = one.queues.iter().zip(&one.kept);
            kept.filter(|&(&worth, &kept)| kept && worth != Worth::Unseen).count()
        };
        let before: Vec<_> = shared(room, tenants.clone()).iter().map(worthy).collect();
        // Counted without the comers, and listed with them.
        let mut listed = tenants;
        for (tenant, place) in comers {
            let queues = &mut tenant.get_mut(&mut listed).queues;
            queues.insert(place.index(queues.len() + 1), Worth::Unseen);
        }
        let after = shared(room, listed);
        let kept: usize = after.iter().map(Tenant::seen).sum();
        prop_assert!(kept <= room as usize);
        prop_assert_eq!(after.iter().map(worthy).collect::<Vec<_>>(), before);
    }

    #[test]
    fn nothing_worth_less_or_newer_is_kept_before_another_queue_of_the_tenant(
        room in 0u32..400,
        tenants in prop::collection::vec(tenant(), 0..12),
    ) {
        for tenant in shared(room, tenants) {
            let queues: Vec<_> = tenant.queues.iter().zip(&tenant.kept).collect();
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
