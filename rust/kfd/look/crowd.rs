// SPDX-License-Identifier: GPL-2.0-only

//! Who is kept in view when a node has more queues than there is room for. The
//! shares are the policy's ([`share`]); here are the walk that counts the queues of each
//! process, and the shares of their tenants, by which the next walk goes.
//!
//! Whom a process belongs to is asked between the two, without any lock.

#![forbid(unsafe_code)]

use crate::{
    driver::{
        locked::{LockedNode, Owner},
        node::Node,
        process::{Task, COMM_LEN},
        queue::{QueueFacts, QueueKey, QueueKind},
    },
    kernel::sort::sort_by_key,
};
use gpreempt_policy::{share, RoomShare, Worth, QUEUE_SLOTS};
use kernel::prelude::*;

/// How many processes can share anything: several times as many as a GPU's doorbells
/// allow, of which the driver gives each process two pages.
const SHARES: usize = 2048;

/// What is remembered of a queue that was in view at the last look.
pub struct Known {
    /// Identifies it.
    pub key: QueueKey,
    /// It was stopped.
    pub stopped: bool,
}

/// A process of which not all queues are in view.
pub struct LeftOut {
    /// Its process id.
    pub pid: i32,
    /// Its command name.
    pub comm: [u8; COMM_LEN],
    /// How many compute queues it has.
    pub queues: u32,
    /// How many of them are not in view.
    pub left_out: u32,
}

/// A process with what was counted of it.
struct Member {
    /// Its name in the driver.
    process: usize,
    task: Task,
    /// Its tenant, and the place of that among the shares.
    tenant: u64,
    share: usize,
    /// What it asks of the room.
    asked: RoomShare,
    /// How many of its queues are not in view.
    left_out: u32,
}

/// The processes and the shares of their tenants, while there is not room for all queues.
pub(crate) struct Crowd {
    /// Counted in the driver's order, then sorted by process.
    members: KVVec<Member>,
    /// One for each tenant.
    shares: KVVec<RoomShare>,
    /// What was in view at the last look, sorted by key.
    known: KVVec<Known>,
    /// Where the member was that was asked for last.
    last: usize,
    /// The shares are in force.
    chooses: bool,
}

impl Crowd {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            members: KVVec::with_capacity(SHARES, GFP_KERNEL)?,
            shares: KVVec::with_capacity(SHARES, GFP_KERNEL)?,
            known: KVVec::with_capacity(QUEUE_SLOTS, GFP_KERNEL)?,
            last: 0,
            chooses: false,
        })
    }

    /// Whether not every queue is kept in view.
    pub(crate) fn chooses(&self) -> bool {
        self.chooses
    }

    /// Forgets the shares: there is room for everybody.
    pub(crate) fn dissolve(&mut self) {
        self.members.clear();
        self.shares.clear();
        self.known.clear();
        self.chooses = false;
    }

    /// Counts the queues of each tenant, and shares the room among them.
    pub(crate) fn choose(&mut self, node: &Node<'_>, known: impl Iterator<Item = Known>) {
        self.dissolve();
        self.chooses = true;
        for one in known {
            // There is as much room as for what is in view.
            let _ = self.known.push_within_capacity(one);
        }
        sort_by_key(&mut self.known, |known| known.key);
        self.count(&node.lock());
        for member in self.members.iter_mut() {
            member.tenant = member.task.tenant();
        }
        sort_by_key(&mut self.members, |member| (member.tenant, member.process));
        self.count_shares();
        let room = u32::try_from(QUEUE_SLOTS).unwrap_or(u32::MAX);
        share(room, &mut self.shares);
        sort_by_key(&mut self.members, |member| member.process);
    }

    /// Adds up what the processes of each tenant have, which come one after the other.
    fn count_shares(&mut self) {
        let mut last = None;
        for member in self.members.iter_mut() {
            if last.replace(member.tenant) != Some(member.tenant) {
                // There is as much room as for processes.
                let _ = self.shares.push_within_capacity(RoomShare::default());
            }
            member.share = self.shares.len().saturating_sub(1);
            if let Some(share) = self.shares.last_mut() {
                share.join(&member.asked);
            }
        }
    }

    fn count(&mut self, locked: &LockedNode<'_>) {
        locked.walk(|owner, facts| {
            if facts.kind != QueueKind::Compute {
                return;
            }
            let worth = worth(facts, self.known_of(facts.key));
            if let Some(member) = self.newest(owner) {
                member.asked.add(worth);
            }
        });
    }

    /// A process, whose queues come one after the other.
    fn newest(&mut self, owner: &Owner<'_>) -> Option<&mut Member> {
        let process = owner.process.address();
        if self
            .members
            .last()
            .is_none_or(|last| last.process != process)
        {
            // A reference that there is no room for would have to be dropped under the
            // lock.
            if self.members.len() >= self.members.capacity() {
                return None;
            }
            let member = Member {
                process,
                task: owner.task()?,
                tenant: 0,
                share: 0,
                asked: RoomShare::default(),
                left_out: 0,
            };
            self.members.push_within_capacity(member).ok()?;
        }
        self.members.last_mut()
    }

    /// Whether a queue is kept in view. To be asked once for each, in the driver's
    /// order.
    pub(crate) fn keeps(&mut self, facts: &QueueFacts) -> bool {
        if !self.chooses {
            return true;
        }
        let process = facts.key.process();
        let is = |member: &Member| member.process == process;
        if !self.members.get(self.last).is_some_and(is) {
            let found = self
                .members
                .binary_search_by_key(&process, |one| one.process);
            // One that has come since the count waits for the next look.
            let Ok(at) = found else {
                return false;
            };
            self.last = at;
        }
        let worth = worth(facts, self.known_of(facts.key));
        let Some(member) = self.members.get_mut(self.last) else {
            return false;
        };
        let share = self.shares.get_mut(member.share);
        let keeps = share.is_some_and(|share| share.keeps(worth));
        member.left_out = member.left_out.saturating_add(u32::from(!keeps));
        keeps
    }

    fn known_of(&self, key: QueueKey) -> Option<&Known> {
        let at = self
            .known
            .binary_search_by_key(&key, |known| known.key)
            .ok()?;
        self.known.get(at)
    }

    /// The processes of which not all queues are in view.
    pub(crate) fn left_out(&self) -> impl Iterator<Item = LeftOut> + '_ {
        let some = |member: &&Member| member.left_out > 0;
        self.members.iter().filter(some).map(|member| LeftOut {
            pid: member.task.pid(),
            comm: member.task.comm(),
            queues: member.asked.queues(),
            left_out: member.left_out,
        })
    }
}

/// What speaks for a queue.
fn worth(facts: &QueueFacts, known: Option<&Known>) -> Worth {
    match known {
        _ if facts.may_be_started() => Worth::Stopped,
        Some(known) if known.stopped => Worth::Stopped,
        Some(_) => Worth::Seen,
        None => Worth::Unseen,
    }
}
