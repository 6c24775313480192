// SPDX-License-Identifier: GPL-2.0-only
//! Who is seen when a node has more queues than there is room for.
//!
//! The room is shared evenly among tenants, the share of each tenant among its
//! programs, and that of each program among its processes in the driver. Whoever needs less than an even share gets
//! all that it needs, and what it leaves is shared among the others. So nobody
//! gains by more processes, contexts or queues, and who has few loses none.
//!
//! Within a tenant the programs that a rule names come first; within a process
//! what is stopped, then what has work, then what was seen before, and then what
//! has been there longest.

/// What speaks for keeping a queue in view, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Worth {
    /// It is stopped.
    Stopped,
    /// It has work, or may have.
    Working,
    /// It was in view at the last look.
    Seen,
    /// It was not.
    Unseen,
}

impl Worth {
    /// How many there are.
    const COUNT: usize = 4;

    fn at(self) -> usize {
        match self {
            Worth::Stopped => 0,
            Worth::Working => 1,
            Worth::Seen => 2,
            Worth::Unseen => 3,
        }
    }
}

/// What a process of the driver asks of the room, and what it gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// The tenant that the process belongs to.
    pub tenant: u64,
    /// The program that it is of, which may have several.
    pub program: i32,
    /// A rule names it.
    pub ruled: bool,
    /// Its queues, by their worth.
    queues: [u32; Worth::COUNT],
    /// How many of them are still to be passed over, by their worth.
    over: [u32; Worth::COUNT],
    /// How many may still be kept, by their worth.
    places: [u32; Worth::COUNT],
    left_out: u32,
}

impl Claim {
    /// Notes that there is a queue.
    pub fn add(&mut self, worth: Worth) {
        if let Some(queues) = self.queues.get_mut(worth.at()) {
            *queues = queues.saturating_add(1);
        }
    }

    /// How many queues there are.
    pub fn queues(&self) -> u32 {
        let sum = |sum: u32, queues: &u32| sum.saturating_add(*queues);
        self.queues.iter().fold(0, sum)
    }

    /// Whether a queue is kept in view. To be asked once for each queue, the newest
    /// first.
    ///
    /// A queue that was not counted gets a place of its own worth or of a lesser one at
    /// most: the places of what is stopped are for what is stopped, however many queues
    /// come after the count.
    pub fn keeps(&mut self, worth: Worth) -> bool {
        let over = self.over.get_mut(worth.at());
        let passed = over.is_some_and(|over| {
            let left = over.checked_sub(1);
            *over = left.unwrap_or(0);
            left.is_some()
        });
        let keeps = !passed && self.takes_place(worth);
        if !keeps {
            self.left_out = self.left_out.saturating_add(1);
        }
        keeps
    }

    /// Takes a place of a worth, or else one of the least worth below it. Returns
    /// whether there was one.
    fn takes_place(&mut self, worth: Worth) -> bool {
        let Some((own, lesser)) = self
            .places
            .get_mut(worth.at()..)
            .and_then(<[u32]>::split_first_mut)
        else {
            return false;
        };
        let mut places = core::iter::once(own).chain(lesser.iter_mut().rev());
        let Some(free) = places.find(|places| **places > 0) else {
            return false;
        };
        *free = free.saturating_sub(1);
        true
    }

    /// How many of the queues that were asked about are not kept.
    pub fn left_out(&self) -> u32 {
        self.left_out
    }

    /// Grants more, and says which of the queues are then to be passed over.
    fn grant(&mut self, more: u32) {
        let granted = |sum: u32, places: &u32| sum.saturating_add(*places);
        let mut left = self.places.iter().fold(more, granted);
        let places = self.places.iter_mut().zip(self.over.iter_mut());
        for (&queues, (places, over)) in self.queues.iter().zip(places) {
            *places = queues.min(left);
            *over = queues.saturating_sub(left);
            left = left.saturating_sub(queues);
        }
    }

    /// What is asked for in the turn of those that a rule names, or of the others.
    fn demand(&self, ruled: bool) -> u32 {
        if self.ruled == ruled {
            self.queues()
        } else {
            0
        }
    }
}

/// What holds a claim.
pub trait Claimant {
    /// The claim.
    fn claim(&self) -> &Claim;
    /// The claim, to be changed.
    fn claim_mut(&mut self) -> &mut Claim;
}

impl Claimant for Claim {
    fn claim(&self) -> &Claim {
        self
    }

    fn claim_mut(&mut self) -> &mut Claim {
        self
    }
}

/// Shares room for so many queues among claims in the order of tenants and programs.
pub fn share<C: Claimant>(room: u32, claims: &mut [C]) {
    let tenant = |a: &Claim, b: &Claim| a.tenant == b.tenant;
    divide(room, claims, tenant, Claim::queues, share_tenant);
}

/// Shares what a tenant gets among its programs: first among those that a rule names.
fn share_tenant<C: Claimant>(room: u32, claims: &mut [C]) {
    let program = |a: &Claim, b: &Claim| a.program == b.program;
    let demanded = |sum: u32, one: &C| sum.saturating_add(one.claim().demand(true));
    let first = claims.iter().fold(0, demanded).min(room);
    for (ruled, room) in [(true, first), (false, room.saturating_sub(first))] {
        let demand = |claim: &Claim| claim.demand(ruled);
        divide(room, claims, program, demand, |room, claims| {
            divide(
                room,
                claims,
                |_, _| false,
                demand,
                |granted, claims| {
                    for claimant in claims.iter_mut() {
                        claimant.claim_mut().grant(granted);
                    }
                },
            );
        });
    }
}

/// Gives each run of like claims its part of the room.
fn divide<C: Claimant>(
    room: u32,
    claims: &mut [C],
    alike: impl Fn(&Claim, &Claim) -> bool + Copy,
    demand: impl Fn(&Claim) -> u32 + Copy,
    mut give: impl FnMut(u32, &mut [C]),
) {
    let (level, mut spare) = level(room, claims, alike, demand);
    let mut rest = claims;
    while let Some((run, behind)) = rest.split_at_mut_checked(run_length(rest, alike)) {
        if run.is_empty() {
            return;
        }
        let wanted = demanded(run, demand);
        let mut part = wanted.min(level);
        if let (true, Some(left)) = (wanted > level, spare.checked_sub(1)) {
            spare = left;
            part = part.saturating_add(1);
        }
        give(part, run);
        rest = behind;
    }
}

/// The most that every run may get, and how many may get one more.
fn level<C: Claimant>(
    room: u32,
    claims: &[C],
    alike: impl Fn(&Claim, &Claim) -> bool + Copy,
    demand: impl Fn(&Claim) -> u32 + Copy,
) -> (u32, u32) {
    let taken = |level: u32| {
        let mut taken = 0u32;
        let mut rest = claims;
        while let Some((run, behind)) = rest.split_at_checked(run_length(rest, alike)) {
            if run.is_empty() {
                break;
            }
            taken = taken.saturating_add(demanded(run, demand).min(level));
            rest = behind;
        }
        taken
    };
    if taken(u32::MAX) <= room {
        return (u32::MAX, 0);
    }
    // What `low` takes fits, and what `high` takes does not.
    let (mut low, mut high) = (0u32, room.saturating_add(1));
    while high.saturating_sub(low) > 1 {
        let middle = low.saturating_add(high.saturating_sub(low) / 2);
        if taken(middle) <= room {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low, room.saturating_sub(taken(low)))
}

/// What claims ask for together.
fn demanded<C: Claimant>(claims: &[C], demand: impl Fn(&Claim) -> u32) -> u32 {
    let sum = |sum: u32, one: &C| sum.saturating_add(demand(one.claim()));
    claims.iter().fold(0, sum)
}

/// How many of the first claims are alike.
fn run_length<C: Claimant>(claims: &[C], alike: impl Fn(&Claim, &Claim) -> bool) -> usize {
    let Some((first, others)) = claims.split_first() else {
        return 0;
    };
    let like = |one: &&C| alike(first.claim(), one.claim());
    others.iter().take_while(like).count().saturating_add(1)
}
