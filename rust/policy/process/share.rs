// SPDX-License-Identifier: GPL-2.0-only
//! Who is seen when a node has more queues than there is room for.
//!
//! The room is shared evenly among tenants: whoever needs less than an even share gets
//! all that it needs, and what it leaves is shared among the others. So nobody gains by
//! more programs, contexts or queues, and who has few loses none.
//!
//! Within a tenant what is stopped comes first, then what was seen before, and then what
//! has been there longest.

/// What speaks for keeping a queue in view, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Worth {
    /// It is stopped.
    Stopped,
    /// It was in view at the last look.
    Seen,
    /// It was not.
    Unseen,
}

/// The queues of one worth: how many are still to be asked about, and how many of these
/// are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Part {
    queues: u32,
    places: u32,
}

/// What a tenant asks of the room, and what it gets, by worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoomShare([Part; 3]);

impl RoomShare {
    fn part(&mut self, worth: Worth) -> &mut Part {
        let [stopped, seen, unseen] = &mut self.0;
        match worth {
            Worth::Stopped => stopped,
            Worth::Seen => seen,
            Worth::Unseen => unseen,
        }
    }

    /// Notes that there is one queue more.
    pub fn add(&mut self, worth: Worth) {
        let part = self.part(worth);
        part.queues = part.queues.saturating_add(1);
    }

    /// Notes that there is as much more as another one asks.
    pub fn join(&mut self, other: &RoomShare) {
        for (part, other) in self.0.iter_mut().zip(&other.0) {
            part.queues = part.queues.saturating_add(other.queues);
        }
    }

    /// How many queues there are.
    pub fn queues(&self) -> u32 {
        let queues = self.0.iter().map(|part| part.queues);
        queues.fold(0, u32::saturating_add)
    }

    fn grant(&mut self, mut places: u32) {
        for part in &mut self.0 {
            part.places = part.queues.min(places);
            places = places.saturating_sub(part.places);
        }
    }

    /// Whether a queue is kept in view. To be asked once for each queue, the newest
    /// first. One that was not counted may take the place of another one of its worth,
    /// and of no other.
    pub fn keeps(&mut self, worth: Worth) -> bool {
        let part = self.part(worth);
        let keeps = part.places > 0 && part.queues <= part.places;
        part.queues = part.queues.saturating_sub(1);
        part.places = part.places.saturating_sub(u32::from(keeps));
        keeps
    }
}

/// Shares room for so many queues among the shares of all tenants.
pub fn share(room: u32, shares: &mut [RoomShare]) {
    let taken = |shares: &[RoomShare], level: u32| {
        let most = shares.iter().map(|share| share.queues().min(level));
        most.fold(0, u32::saturating_add)
    };
    // What all take that get up to `low` fits.
    let (mut low, mut high) = (0, room.saturating_add(1));
    while high.saturating_sub(low) > 1 {
        let middle = low.saturating_add(high.saturating_sub(low) / 2);
        match taken(shares, middle) <= room {
            true => low = middle,
            false => high = middle,
        }
    }
    let mut spare = room.saturating_sub(taken(shares, low));
    for share in shares {
        let more = u32::from(spare > 0 && share.queues() > low);
        spare = spare.saturating_sub(more);
        share.grant(low.saturating_add(more));
    }
}
