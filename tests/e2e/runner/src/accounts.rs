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
        for record in guest.device.timeline(self.next)? {
            self.next = record.sequence + 1;
            if let TimelineChange::DispatchBegins { workgroups, .. } = record.change {
                self.known.insert(workgroups, record.queue);
            }
        }
        let Some(id) = self.known.get(&u64::from(workgroups)) else {
            return Ok(None);
        };
        let queues = guest.device.queues()?;
        Ok(queues.into_iter().find(|report| report.queue == *id))
    }

    /// The same, of a queue that must have begun.
    pub fn get(&mut self, guest: &mut Guest, workgroups: u32) -> Result<QueueReport> {
        self.find(guest, workgroups)?
            .with_context(|| format!("no queue with grids of {workgroups} has begun"))
    }
}
