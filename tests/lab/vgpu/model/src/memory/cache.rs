// SPDX-License-Identifier: GPL-2.0-only
//! Strict mode: a cache of translations that only the driver empties, to find what it
//! has not emptied. Accesses go where the tables lead now, as without it; each one that
//! a cached translation would have led elsewhere is counted.

use std::collections::{BTreeMap, BTreeSet};

use super::{MemoryFault, Target, PAGE};
use crate::terms::{StaleAccess, StaleReport};

/// So many accesses are told in full.
const TOLD: usize = 100;
/// A page table's address, without the flags that accompany it.
const ROOT: u64 = 0x0000_ffff_ffff_f000;

/// One cache for all dies and the memory hub. What one die alone was told stays.
pub(super) struct Cache {
    /// A bit for each die.
    dies: u32,
    /// By page table and page, so that a table's pages are together.
    pages: BTreeMap<(u64, u64), Cached>,
    /// Which process the scheduler gave a page table to.
    owners: BTreeMap<u64, u32>,
    report: StaleReport,
}

/// A translation, as far as accesses have shown it.
struct Cached {
    /// Where the page begins.
    target: Target,
    read: bool,
    written: bool,
    /// The dies that were told to forget it.
    told: u32,
}

impl Cache {
    pub(super) fn new(dies: u32) -> Cache {
        Cache {
            dies: (1 << dies) - 1,
            pages: BTreeMap::new(),
            owners: BTreeMap::new(),
            report: StaleReport::default(),
        }
    }

    pub(super) fn report(&self) -> &StaleReport {
        &self.report
    }

    /// The driver resets the GPU, which leaves nothing in any cache.
    pub(super) fn clear(&mut self) {
        self.pages.clear();
        self.owners.clear();
    }

    /// A process is given an address space with this page table, of which nothing is cached
    /// then.
    pub(super) fn given(&mut self, root: u64, pasid: u32) {
        let root = root & ROOT;
        self.owners.insert(root, pasid);
        self.pages.retain(|(table, _), _| *table != root);
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
        let dies = self.dies;
        self.pages.retain(|(table, _), cached| {
            if roots.contains(table) {
                cached.told |= 1 << die;
            }
            cached.told & dies != dies
        });
    }

    /// An access was translated: `found` is where the tables lead now.
    pub(super) fn accessed(
        &mut self,
        root: u64,
        address: u64,
        write: bool,
        found: &Result<(Target, u64), MemoryFault>,
    ) {
        let key = (root & ROOT, address / PAGE);
        let now = found.as_ref().ok().map(|(target, _)| target.page(address));
        let Some(cached) = self.pages.get_mut(&key) else {
            if let Some(target) = now {
                self.pages.insert(key, Cached::new(target, write));
            }
            return;
        };
        let allowed = if write { cached.written } else { cached.read };
        // An access of a kind that was not seen before may not be in the cached entry.
        if now == Some(cached.target) || (now.is_none() && !allowed) {
            if now.is_some() {
                cached.read |= !write;
                cached.written |= write;
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
        self.pages.remove(&key);
        if let Some(target) = now {
            self.pages.insert(key, Cached::new(target, write));
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
