// SPDX-License-Identifier: GPL-2.0-only
//! All queues that are mapped now, and how to find them.

use std::collections::BTreeMap;

use super::Queue;
use crate::bus::Buses;
use crate::clock::Event;
use crate::memory::{FaultCause, MemoryFault};
use crate::terms::{Format, QueueKey, SdmaRing, Seat, Slot};

#[derive(Clone, Default)]
pub struct Queues {
    queues: BTreeMap<QueueKey, Queue>,
    next: u64,
}

impl Queues {
    pub fn insert(&mut self, queue: Queue) -> QueueKey {
        let key = QueueKey(self.next);
        self.next += 1;
        self.queues.insert(key, queue);
        key
    }

    pub fn get(&self, key: QueueKey) -> Option<&Queue> {
        self.queues.get(&key)
    }

    pub fn get_mut(&mut self, key: QueueKey) -> Option<&mut Queue> {
        self.queues.get_mut(&key)
    }

    pub fn remove(&mut self, key: QueueKey) -> Option<Queue> {
        self.queues.remove(&key)
    }

    pub fn iter(&self) -> impl Iterator<Item = (QueueKey, &Queue)> {
        self.queues.iter().map(|(key, queue)| (*key, queue))
    }

    /// The users' queues.
    pub fn users(&self) -> impl Iterator<Item = (QueueKey, &Queue)> {
        self.iter().filter(|(_, queue)| queue.role().is_user())
    }

    pub fn find(&self, mut wanted: impl FnMut(&Queue) -> bool) -> Option<QueueKey> {
        self.iter()
            .find(|(_, queue)| wanted(queue))
            .map(|(key, _)| key)
    }

    /// The queue in a slot of a die.
    pub fn in_slot(&self, die: u32, slot: Slot) -> Option<QueueKey> {
        self.find(|queue| queue.is_on(die) && queue.seat() == Seat::Compute(slot))
    }

    pub fn on_ring(&self, ring: SdmaRing) -> Option<QueueKey> {
        self.find(|queue| queue.seat() == Seat::Sdma(ring))
    }

    /// A reset removes all queues and what they had in flight.
    pub fn reset(&mut self, bus: &mut Buses) {
        let now = bus.now();
        for (_, queue) in self.users() {
            bus.accounts.waves_lost(now, queue.account);
            queue.account_unmapped(bus);
        }
        self.queues.clear();
    }

    /// A doorbell was written, by its dword index: its queues have packets up to
    /// that value.
    pub fn ring_doorbell(&mut self, bus: &mut Buses, index: u32, value: u64) {
        let rung: Vec<QueueKey> = self
            .iter()
            .filter(|(_, queue)| queue.doorbell() == Some(index))
            .map(|(key, _)| key)
            .collect();
        for key in rung {
            let Some(queue) = self.get_mut(key) else {
                continue;
            };
            if bus.faults.doorbells_lost && queue.role().is_user() {
                bus.strike();
                continue;
            }
            match queue.format() {
                // The value names the last packet made ready; several
                // producers may ring out of order.
                Format::Aql => {
                    queue.learn_write_pointer(queue.write.max(value.wrapping_add(1)));
                }
                Format::Pm4 | Format::Sdma => queue.learn_write_pointer(value),
            }
            self.kick(bus, key);
        }
    }

    /// Has those queues run into their fault that are to, and those go on for which it
    /// was lifted.
    pub fn faults_changed(&mut self, bus: &mut Buses) {
        let all: Vec<_> = self.iter().map(|(key, _)| key).collect();
        for key in all {
            let Some(queue) = self.get(key) else {
                continue;
            };
            let faulting = &bus.faults.faulting;
            if queue.role().is_user() && faulting.contains(&queue.doorbell_offset()) {
                let fault = MemoryFault {
                    address: 0,
                    write: false,
                    cause: FaultCause::NotMapped,
                };
                bus.strike();
                self.memory_fault(bus, key, fault, "a fault on demand");
            } else if queue.format() == Format::Sdma {
                self.kick(bus, key);
            }
        }
    }

    /// Finds the account of a queue that was just loaded, or opens one.
    pub fn account_mapped(&mut self, bus: &mut Buses, key: QueueKey) {
        let now = bus.now();
        if let Some(queue) = self.get_mut(key) {
            queue.account = bus.accounts.mapped(now, &queue.loaded());
            if bus.faults.faulting.contains(&queue.doorbell_offset()) {
                bus.clock.after(0, Event::FaultsChanged);
            }
        }
    }

    /// Removes a queue that has left its last die.
    pub fn drop_left(&mut self, bus: &mut Buses, key: QueueKey) {
        if let Some(queue) = self.remove(key) {
            queue.account_unmapped(bus);
        }
    }
}

impl Queue {
    fn account_unmapped(&self, bus: &mut Buses) {
        if self.role().is_user() {
            let now = bus.now();
            bus.accounts
                .unmapped(now, self.account, self.read, self.write);
        }
    }
}
