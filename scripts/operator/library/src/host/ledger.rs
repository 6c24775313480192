// SPDX-License-Identifier: GPL-2.0-only
//! What workloads have had of the GPU, added up so that no sum goes back when queues
//! and programs leave, and so that there are never more names than a bound allows.
//!
//! The module counts for each queue as long as there is the queue. What a queue has had
//! since the last look belongs to its workload if that has a name of its own, and to the
//! others if not. It is added to one sum only, whoever gets a name later.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::host::workload::Workload;

/// What a queue or a workload has had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    pub run_ns: u64,
    pub stopped_ns: u64,
    pub stops: u64,
}

impl Amount {
    fn add(&mut self, more: Amount) {
        self.run_ns = self.run_ns.saturating_add(more.run_ns);
        self.stopped_ns = self.stopped_ns.saturating_add(more.stopped_ns);
        self.stops = self.stops.saturating_add(more.stops);
    }

    /// What was added since an earlier look, or all of it where the queue is another one
    /// of the same number, or the module has been loaded again.
    fn since(self, earlier: Amount) -> Amount {
        let difference = || {
            Some(Amount {
                run_ns: self.run_ns.checked_sub(earlier.run_ns)?,
                stopped_ns: self.stopped_ns.checked_sub(earlier.stopped_ns)?,
                stops: self.stops.checked_sub(earlier.stops)?,
            })
        };
        difference().unwrap_or(self)
    }
}

/// A node of a GPU.
pub type Node = (String, u64);

/// A queue, as it is known for as long as it lives.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Queue {
    pub node: Node,
    pub pid: i64,
    pub queue: u64,
}

/// A queue at one look.
#[derive(Clone, Debug)]
pub struct Sighting {
    pub queue: Queue,
    pub workload: Workload,
    pub amount: Amount,
}

/// What is known of a workload.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Account {
    /// Whether it has a name of its own.
    shown: bool,
    /// How busy it has been of late.
    weight: u64,
    /// What it has had while it had a name, by node.
    sums: Vec<(Node, Amount)>,
}

/// The sums, as they are kept from one run to the next.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Ledger {
    queues: Vec<(Queue, Amount)>,
    accounts: Vec<(Workload, Account)>,
    /// What workloads without a name have had, by node.
    others: Vec<(Node, Amount)>,
}

/// How many workloads without a name are remembered, for each that has one.
const REMEMBERED: usize = 16;
/// The part of a weight that is forgotten from one look to the next.
const FORGOTTEN: u64 = 16;
/// How many times busier a workload is than one whose name it takes.
const BUSIER: u64 = 2;

impl Ledger {
    /// Adds what the queues have had since the last look. At most `most` workloads have
    /// names: the busiest, where one that is there keeps its name until another is twice
    /// as busy.
    pub fn add(&mut self, look: &[Sighting], most: usize) {
        let earlier: BTreeMap<Queue, Amount> =
            std::mem::take(&mut self.queues).into_iter().collect();
        let mut accounts: BTreeMap<Workload, Account> =
            std::mem::take(&mut self.accounts).into_iter().collect();
        for account in accounts.values_mut() {
            account.weight -= account.weight / FORGOTTEN;
        }
        let mut more = Vec::new();
        for sighting in look {
            let before = earlier.get(&sighting.queue).copied().unwrap_or_default();
            let new = sighting.amount.since(before);
            let account = accounts.entry(sighting.workload.clone()).or_default();
            let busy = new.run_ns.saturating_add(new.stopped_ns);
            account.weight = account.weight.saturating_add(busy);
            more.push((sighting, new));
        }
        let present: BTreeSet<&Workload> = look.iter().map(|sighting| &sighting.workload).collect();
        name(&mut accounts, &present, most);
        for (sighting, new) in more {
            let sums = match accounts.get_mut(&sighting.workload) {
                Some(account) if account.shown => &mut account.sums,
                _ => &mut self.others,
            };
            add_to(sums, &sighting.queue.node, new);
        }
        self.accounts = accounts.into_iter().collect();
        self.forget(&present, most);
        self.queues = look
            .iter()
            .map(|sighting| (sighting.queue.clone(), sighting.amount))
            .collect();
    }

    /// Forgets the least busy of the workloads that are gone, where there are many.
    fn forget(&mut self, present: &BTreeSet<&Workload>, most: usize) {
        let room = most.saturating_mul(REMEMBERED).max(REMEMBERED);
        if self.accounts.len() <= room {
            return;
        }
        self.accounts.sort_by_key(|(workload, account)| {
            let stays = account.shown || present.contains(workload);
            (Reverse((stays, account.weight)), workload.clone())
        });
        let stay = self
            .accounts
            .iter()
            .filter(|(workload, account)| account.shown || present.contains(workload));
        let stay = stay.count();
        self.accounts.truncate(room.max(stay));
    }

    /// Whether a workload has a name of its own.
    pub fn is_shown(&self, workload: &Workload) -> bool {
        self.accounts
            .iter()
            .any(|(own, account)| own == workload && account.shown)
    }

    /// The sums of workloads that have names, by node.
    pub fn named(&self) -> impl Iterator<Item = (&Workload, &Node, Amount)> {
        let shown = self.accounts.iter().filter(|(_, account)| account.shown);
        shown.flat_map(|(workload, account)| {
            let sums = account.sums.iter();
            sums.map(move |(node, amount)| (workload, node, *amount))
        })
    }

    /// The sums of all others, by node.
    pub fn others(&self) -> impl Iterator<Item = (&Node, Amount)> {
        self.others.iter().map(|(node, amount)| (node, *amount))
    }
}

/// Decides which workloads have names.
fn name(accounts: &mut BTreeMap<Workload, Account>, present: &BTreeSet<&Workload>, most: usize) {
    let ranked = |accounts: &BTreeMap<Workload, Account>, shown: bool| {
        let chosen = accounts
            .iter()
            .filter(|(_, account)| account.shown == shown);
        let mut all: Vec<(bool, u64, Workload)> = chosen
            .map(|(own, account)| (present.contains(own), account.weight, own.clone()))
            .collect();
        all.sort_by_key(|(is_there, weight, own)| (Reverse((*is_there, *weight)), own.clone()));
        all
    };
    let mut named = ranked(accounts, true);
    for (_, _, own) in named.split_off(most.min(named.len())) {
        show(accounts, &own, false);
    }
    for (is_there, weight, own) in ranked(accounts, false) {
        if !is_there {
            break;
        }
        if named.len() == most {
            // The last of them is gone, or the least busy.
            let Some((last_is_there, last, _)) = named.last() else {
                break;
            };
            if *last_is_there && weight <= last.saturating_mul(BUSIER) {
                break;
            }
            if let Some((_, _, last)) = named.pop() {
                show(accounts, &last, false);
            }
        }
        show(accounts, &own, true);
        let place = named.partition_point(|other| (other.0, other.1) >= (true, weight));
        named.insert(place, (true, weight, own));
    }
}

fn show(accounts: &mut BTreeMap<Workload, Account>, own: &Workload, shown: bool) {
    if let Some(account) = accounts.get_mut(own) {
        account.shown = shown;
    }
}

fn add_to(sums: &mut Vec<(Node, Amount)>, node: &Node, more: Amount) {
    match sums.iter_mut().find(|(own, _)| own == node) {
        Some((_, sum)) => sum.add(more),
        None => sums.push((node.clone(), more)),
    }
}
