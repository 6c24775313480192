// SPDX-License-Identifier: GPL-2.0-only
//! Turns that a virtual function takes with others on the same hardware. While others have
//! it, this function's own time stands still, with all that was to happen in it; only the
//! reference clock goes on. The guest notices nothing else of a switch.

use crate::terms::{GpuNanos, Worlds};

#[derive(Clone, Default)]
pub struct Turns {
    worlds: Option<Worlds>,
    /// When its turn began, in everybody's time, and what that was last.
    since: GpuNanos,
    now: GpuNanos,
    /// Others have the hardware.
    away: bool,
    /// For how long others have had the hardware.
    lost: u64,
    switches: u64,
}

/// What comes after some time of the function's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// That is all for now: its own time is so far behind everybody's.
    Enough { lag: u64 },
    /// Its next turn has begun.
    Turn,
}

impl Turns {
    pub fn set(&mut self, worlds: Option<Worlds>) {
        self.worlds = worlds;
        // Its turn begins now.
        self.away = false;
        self.since = self.since.max(self.now);
    }

    /// For how long others have had the hardware, as long as this one has it.
    pub fn lag(&self) -> u64 {
        self.lost
    }

    /// How often others have had the hardware.
    pub fn switches(&self) -> u64 {
        self.switches
    }

    /// Its turn lasts for as long as it has asked for: the next one begins after that.
    pub fn hold(&mut self, now: GpuNanos) {
        if !self.away {
            self.since = self.since.max(now);
        }
    }

    /// When its turn ends, in everybody's time.
    fn end(&self) -> Option<GpuNanos> {
        self.worlds.map(|worlds| self.since.after(worlds.own))
    }

    /// How far its own time goes by this time of everybody's, in this turn.
    pub fn own(&self, now: GpuNanos) -> GpuNanos {
        let now = self.end().map_or(now, |end| now.min(end));
        GpuNanos(now.since(GpuNanos(self.lost)))
    }

    /// What comes after that.
    pub fn pass(&mut self, now: GpuNanos) -> Next {
        self.now = now;
        let lost = self.lost;
        let Some((end, worlds)) = self.end().zip(self.worlds).filter(|(end, _)| now >= *end) else {
            return Next::Enough { lag: lost };
        };
        let back = end.after(worlds.others);
        self.away = now < back;
        if self.away {
            let lag = lost.saturating_add(now.since(end));
            return Next::Enough { lag };
        }
        self.lost = lost.saturating_add(worlds.others);
        self.since = back;
        self.switches += 1;
        Next::Turn
    }

    /// When everybody's time has come to a time of its own, as far as is known.
    pub fn everybodys(&self, own: GpuNanos) -> GpuNanos {
        let at = own.after(self.lost);
        match self.end().zip(self.worlds) {
            Some((end, worlds)) if at > end && own != GpuNanos::NEVER => {
                at.max(end.after(worlds.others))
            }
            _ => at,
        }
    }
}
