// SPDX-License-Identifier: GPL-2.0-only
//! UNMAP_QUEUES: which queues it means, and what happens to one that does not
//! leave its slot in time.

use std::collections::{BTreeSet, VecDeque};

use super::Taken;
use super::{Hws, ALL_DIES};
use crate::engines::Engines;
use crate::layout::descriptor as mqd;
use crate::layout::pm4::{unmap_action, unmap_filter, UnmapQueues};
use crate::memory::Space;
use crate::preempt;
use crate::queue::{Queue, Queues};
use crate::terms::{Exit, HiqAction, Moment, QueueKey, Role};

impl Hws {
    /// Queues of the runlist that are mapped now.
    pub(super) fn mapped_queues(
        &self,
        queues: &Queues,
        wanted: impl Fn(&Queue) -> bool,
    ) -> BTreeSet<QueueKey> {
        let own = queues.iter();
        own.filter(|(_, queue)| queue.is_mapped_by(self.first) && wanted(queue))
            .map(|(key, _)| key)
            .collect()
    }

    pub(super) fn unmap(&mut self, engines: &mut Engines, packet: &UnmapQueues<'_>) -> Taken {
        let (filter, pasid, doorbells) = (packet.filter(), packet.pasid(), packet.doorbells());
        let selects = |queue_pasid: u32, doorbell: Option<u32>, is_static: bool| match filter {
            unmap_filter::LISTED => doorbell.is_some_and(|d| doorbells.contains(&d)),
            unmap_filter::PROCESS => queue_pasid == pasid,
            unmap_filter::NON_STATIC => !is_static,
            _ => true,
        };
        let leaving = self.mapped_queues(&engines.queues, |q| {
            selects(q.pasid(), q.doorbell(), q.is_static())
        });
        let now = engines.bus.now();
        let record = engines.bus.accounts.hiq_fetched(
            now,
            HiqAction::Unmap {
                action: packet.action(),
                filter,
                filter_value: match filter {
                    unmap_filter::LISTED => doorbells[0],
                    unmap_filter::PROCESS => pasid,
                    _ => 0,
                },
                queues: leaving.len() as u32,
            },
        );
        engines.bus.reach(Moment::Unmap, record);
        // Queues that wait for their turn leave the list as well.
        let processes = &self.processes;
        self.listed.retain(|listed| {
            let pasid = processes[listed.process].pasid;
            !selects(pasid, Some(listed.doorbell), listed.is_static)
        });
        self.cursor = 0;
        let exit = match packet.action() {
            unmap_action::RESET => Exit::Kill,
            _ => Exit::Save,
        };
        for key in &leaving {
            preempt::begin_exit(engines, *key, exit, ALL_DIES);
        }
        self.begin_operation(engines, Some(record), leaving, VecDeque::new());
        Taken::Started
    }

    /// The latency limit has passed: the scheduler's descriptor names the doorbells
    /// of the queues that are still there.
    pub(super) fn give_up_waiting(&mut self, engines: &mut Engines) {
        let Some(operation) = &mut self.operation else {
            return;
        };
        let stuck = operation.give_up();
        if stuck.is_empty() {
            return;
        }
        let doorbells: Vec<u32> = stuck
            .iter()
            .filter_map(|key| engines.queues.get(*key).and_then(|queue| queue.doorbell()))
            .collect();
        let descriptors: Vec<u64> = engines
            .queues
            .iter()
            .filter(|(_, queue)| queue.role() == Role::Scheduler && queue.home() == self.first)
            .filter_map(|(_, queue)| queue.descriptor())
            .collect();
        for descriptor in descriptors {
            let count = mqd::QUEUE_DOORBELL_COUNT as usize;
            for (index, doorbell) in doorbells.iter().take(count).enumerate() {
                let at = descriptor.wrapping_add((mqd::QUEUE_DOORBELL_ID + index as u64) * 4);
                if let Err(fault) = engines.bus.memory.write_u32(Space::Kernel, at, *doorbell) {
                    engines
                        .bus
                        .note(format!("the scheduler's descriptor: {fault}"));
                }
            }
        }
        for doorbell in doorbells {
            engines.bus.note(format!(
                "queue with doorbell {:#x} did not yield in time",
                u64::from(doorbell) * 4
            ));
        }
        self.operation_progress(engines);
    }
}
