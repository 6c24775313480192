// SPDX-License-Identifier: GPL-2.0-only
//! Strict mode: a cache of translations that only the driver empties, to find what it
//! has not emptied. Accesses go where the tables lead now, as without it; each one that
//! a cached translation would have led elsewhere is counted.

use std::collections::{BTreeMap, BTreeSet};

use super::{Target, Via, PAGE};
use crate::terms::{StaleAccess, StaleReport};

/// So many accesses are told in full.
const TOLD: usize = 100;
/// A page table's address, without the flags that accompany it.
const ROOT: u64 = 0x0000_ffff_ffff_f000;

/// What each die and the memory hub keep.
#[derive(Clone)]
pub(super) struct Cache {
    /// By die, then the memory hub's.
    kept: Vec<Pages>,
    /// Which process the scheduler gave a page table to.
    owners: BTreeMap<u64, u32>,
    report: StaleReport,
}

/// By page table and page, so that a table's pages are together.
type Pages = BTreeMap<(u64, u64), Cached>;

/// A translation, as far as accesses have shown it.
#[derive(Clone)]
struct Cached {
    /// Where the page begins.
    target: Target,
    read: bool,
    written: bool,
    /// The dies that were told to forget it since it was last used. What the memory hub is
    /// told is not followed: it forgets what every die was told to forget.
    told: u32,
}

impl Cache {
    pub(super) fn new(dies: u32) -> Cache {
        Cache {
            kept: vec![Pages::new(); dies as usize + 1],
            owners: BTreeMap::new(),
            report: StaleReport::default(),
        }
    }

    pub(super) fn report(&self) -> &StaleReport {
        &self.report
    }

    /// The driver resets the GPU, which leaves nothing in any cache.
    pub(super) fn clear(&mut self) {
        self.kept.iter_mut().for_each(Pages::clear);
        self.owners.clear();
    }

    /// A process is given an address space with this page table, of which nothing is cached
    /// then.
    pub(super) fn given(&mut self, root: u64, pasid: u32) {
        let root = root & ROOT;
        self.owners.insert(root, pasid);
        self.forget(root);
    }

    /// A process has no address space any more. It is given one before its next access, so
    /// nothing need be kept for it.
    pub(super) fn taken(&mut self, pasid: u32) {
        for root in self.owned(pasid) {
            self.owners.remove(&root);
            self.forget(root);
        }
    }

    fn forget(&mut self, root: u64) {
        for pages in &mut self.kept {
            pages.retain(|(table, _), _| *table != root);
        }
    }

    /// The page tables that a process was given.
    pub(super) fn owned(&self, pasid: u32) -> Vec<u64> {
        let owners = self.owners.iter();
        owners
            .filter(|(_, owner)| **owner == pasid)
            .map(|(root, _)| *root)
            .collect()
    }

    /// The driver has a die forget what it knows of these page tables.
    pub(super) fn flush(&mut self, roots: &[u64], die: u32) {
        let roots: BTreeSet<u64> = roots.iter().map(|root| root & ROOT).collect();
        let Some((hub, dies)) = self.kept.split_last_mut() else {
            return;
        };
        if let Some(pages) = dies.get_mut(die as usize) {
            pages.retain(|(table, _), _| !roots.contains(table));
        }
        let all = (1 << dies.len()) - 1;
        hub.retain(|(table, _), cached| {
            if roots.contains(table) {
                cached.told |= 1 << die;
            }
            cached.told & all != all
        });
    }

    /// How many translations are kept.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.kept.iter().map(Pages::len).sum()
    }

    /// An access to a page was translated: `found` is where the tables lead now.
    pub(super) fn accessed(
        &mut self,
        (root, via): (u64, Via),
        address: u64,
        write: bool,
        found: Option<Target>,
    ) {
        let index = match via {
            Via::Die(die) => die as usize,
            Via::MemoryHub => self.kept.len() - 1,
            Via::Firmware => return,
        };
        let Some(pages) = self.kept.get_mut(index) else {
            return;
        };
        let key = (root & ROOT, address / PAGE);
        let now = found.map(|target| target.page(address));
        let Some(cached) = pages.get_mut(&key) else {
            if let Some(target) = now {
                pages.insert(key, Cached::new(target, write));
            }
            return;
        };
        let allowed = if write { cached.written } else { cached.read };
        // An access of a kind that was not seen before may not be in the cached entry.
        if now == Some(cached.target) || (now.is_none() && !allowed) {
            if now.is_some() {
                cached.read |= !write;
                cached.written |= write;
                cached.told = 0;
            }
            return;
        }
        self.report.accesses += 1;
        if self.report.first.len() < TOLD {
            self.report.first.push(StaleAccess {
                table: key.0,
                address,
                write,
                cached: cached.target.to_string(),
                now: now.map_or("nothing".into(), |target| target.to_string()),
            });
        }
        // Each entry that was missed counts once.
        pages.remove(&key);
        if let Some(target) = now {
            pages.insert(key, Cached::new(target, write));
        }
    }
}

impl Cached {
    fn new(target: Target, write: bool) -> Cached {
        Cached {
            target,
            read: !write,
            written: write,
            told: 0,
        }
    }
}
