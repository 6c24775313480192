// SPDX-License-Identifier: GPL-2.0-only
//! What one queue has on the compute units: the dispatches in flight, and how
//! their workgroups are dealt to the dies and units.

use super::dispatch::{Deal, Dispatch, Share};
use crate::terms::Config;

#[derive(Clone)]
pub struct Load {
    /// Per die: compute units it may use, by shader engine, and its position
    /// in the dealing of workgroups.
    cu_masks: Vec<[u32; 4]>,
    logical_dies: Vec<u32>,
    /// Mask of the dies that share its work, those of a partition.
    dies: u32,
    chunk: u64,
    /// The die that runs all workgroups, if they are not dealt.
    only: Option<u32>,
    /// Launched and not yet complete, oldest first.
    pub dispatches: Vec<Dispatch>,
}

impl Load {
    pub fn new(config: &Config, dies: u32) -> Load {
        Load {
            cu_masks: vec![[u32::MAX; 4]; config.xcc_count as usize],
            logical_dies: (0..config.xcc_count).collect(),
            dies,
            chunk: 1,
            only: None,
            dispatches: Vec::new(),
        }
    }

    pub fn set_mask(&mut self, die: u32, mask: [u32; 4]) {
        self.cu_masks[die as usize] = mask;
    }

    pub fn set_dealing(&mut self, die: u32, logical: u32, chunk: u32) {
        self.logical_dies[die as usize] = logical;
        self.chunk = u64::from(chunk.max(1));
    }

    pub fn set_only_die(&mut self, die: u32) {
        self.only = Some(die);
    }

    /// Whether its mask lets it use a unit.
    pub fn allows(&self, die: u32, unit: usize, units_per_engine: usize) -> bool {
        let engine = unit / units_per_engine;
        let bit = unit % units_per_engine;
        self.cu_masks
            .get(die as usize)
            .and_then(|masks| masks.get(engine))
            .is_none_or(|mask| (mask >> bit) & 1 != 0)
    }

    pub fn deal(&self, die: u32) -> Deal {
        if self.only.is_some() {
            return Deal {
                dies: 1,
                position: 0,
                chunk: 1,
            };
        }
        let dies = u64::from(self.dies.count_ones().max(1));
        let position = self.logical_dies.get(die as usize).copied().unwrap_or(0);
        Deal {
            dies,
            position: u64::from(position) % dies,
            chunk: self.chunk,
        }
    }

    /// The share of a die that has not started on it.
    fn whole_share(&self, die: u32, workgroups: u64) -> Share {
        Share {
            present: true,
            total: match self.only {
                Some(only) if only != die => 0,
                _ => self.deal(die).total(workgroups),
            },
            ..Share::default()
        }
    }

    /// The shares of all dies before any of them has one: those of other partitions
    /// have none to come.
    pub fn shares_to_come(&self) -> Vec<Share> {
        let others = (0..self.cu_masks.len()).map(|die| (self.dies >> die) & 1 == 0);
        let share = |present| Share {
            present,
            ..Share::default()
        };
        others.map(share).collect()
    }

    /// A dispatch begins on the dies that are loaded.
    pub fn begin(&mut self, mut dispatch: Dispatch, dies: impl Iterator<Item = u32>) -> &Dispatch {
        dispatch.shares = self.shares_to_come();
        for die in dies {
            dispatch.shares[die as usize] = self.whole_share(die, dispatch.workgroups);
        }
        let position = self.dispatches.len();
        self.dispatches.push(dispatch);
        &self.dispatches[position]
    }

    /// Dies were loaded and have what they had saved: each gets its share of the
    /// dispatches that began without it.
    pub fn join(&mut self, dies: impl Iterator<Item = u32> + Clone) {
        for position in 0..self.dispatches.len() {
            for die in dies.clone() {
                let dispatch = &self.dispatches[position];
                if !dispatch.shares[die as usize].present {
                    let share = self.whole_share(die, dispatch.workgroups);
                    self.dispatches[position].shares[die as usize] = share;
                }
            }
        }
    }

    pub fn has_work_for(&self, die: u32) -> bool {
        self.dispatches.iter().any(|dispatch| {
            dispatch
                .shares
                .get(die as usize)
                .is_some_and(Share::has_work)
        })
    }

    fn shares(&self) -> impl Iterator<Item = (u32, &Share)> {
        self.dispatches
            .iter()
            .flat_map(|dispatch| (0..).zip(&dispatch.shares))
    }

    /// Workgroups on the units of some dies.
    pub fn resident(&self, dies: u32) -> u64 {
        self.shares()
            .filter(|(die, _)| (dies >> die) & 1 != 0)
            .map(|(_, share)| share.resident)
            .sum()
    }

    /// Workgroups that were taken off their units.
    pub fn waiting(&self) -> u64 {
        self.shares()
            .map(|(_, share)| share.waiting.len() as u64)
            .sum()
    }

    /// What these dies had in flight is in the save area now.
    pub fn depart(&mut self, dies: u32) {
        for dispatch in &mut self.dispatches {
            for (die, share) in (0..).zip(&mut dispatch.shares) {
                if (dies >> die) & 1 != 0 {
                    share.present = false;
                    share.waiting.clear();
                }
            }
        }
    }
}
