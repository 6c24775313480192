// SPDX-License-Identifier: GPL-2.0-only
//! The device's own account of a load's queues. The GPU knows nothing of KFD's
//! queue numbers, so queues are recognised by the size of their grids, which must
//! differ within a load.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use vgpu_model::{QueueId, QueueReport, TimelineChange};

use crate::guest::Guest;

/// Which queue of the device has grids of which size.
pub struct Accounts {
    known: BTreeMap<u64, QueueId>,
    next: u64,
}

impl Accounts {
    /// To be made before the load begins.
    pub fn new(guest: &mut Guest) -> Result<Accounts> {
        let next = guest
            .device
            .timeline(0)?
            .last()
            .map_or(0, |record| record.sequence + 1);
        Ok(Accounts {
            known: BTreeMap::new(),
            next,
        })
    }

    /// The account of the queue with grids of so many workgroups, once it has
    /// begun its first.
    pub fn find(&mut self, guest: &mut Guest, workgroups: u32) -> Result<Option<QueueReport>> {
        let all = self.find_all(guest, &[workgroups])?;
        Ok(all.and_then(|mut all| all.pop()))
    }

    /// The accounts of queues by their grids, once each has begun its first.
    pub fn find_all(
        &mut self,
        guest: &mut Guest,
        grids: &[u32],
    ) -> Result<Option<Vec<QueueReport>>> {
        for record in guest.device.timeline(self.next)? {
            self.next = record.sequence + 1;
            if let TimelineChange::DispatchBegins { workgroups, .. } = record.change {
                self.known.insert(workgroups, record.queue);
            }
        }
        let known: Option<Vec<QueueId>> = grids
            .iter()
            .map(|&grid| self.known.get(&u64::from(grid)).copied())
            .collect();
        let Some(known) = known else {
            return Ok(None);
        };
        let queues = guest.device.queues()?;
        let report = |id| queues.iter().find(|report| report.queue == id).cloned();
        Ok(known.into_iter().map(report).collect())
    }

    /// The same, of a queue that must have begun.
    pub fn get(&mut self, guest: &mut Guest, workgroups: u32) -> Result<QueueReport> {
        self.find(guest, workgroups)?
            .with_context(|| format!("no queue with grids of {workgroups} has begun"))
    }
}
