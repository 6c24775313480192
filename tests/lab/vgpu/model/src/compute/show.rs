// SPDX-License-Identifier: GPL-2.0-only
//! What the wave status registers and the reports show of the units.

use super::Compute;
use crate::bus::Buses;
use crate::queue::{Queue, Queues};
use crate::registers::table::gc;
use crate::registers::xcc_base;
use crate::terms::{Occupancy, QueueKey, Slot};

impl Compute {
    /// The current value of a die's register, if it is one that shows waves.
    pub fn read_register(
        &self,
        bus: &Buses,
        queues: &Queues,
        die: u32,
        register: u32,
    ) -> Option<u32> {
        match register {
            gc::SPI_CSQ_WF_ACTIVE_STATUS => {
                Some(self.wave_status(queues, die, selected_engine(bus, die)))
            }
            gc::SPI_CSQ_WF_ACTIVE_COUNT_0..=gc::SPI_CSQ_WF_ACTIVE_COUNT_7 => {
                let mut slot = bus.registers.selected_slot(die);
                slot.queue = register - gc::SPI_CSQ_WF_ACTIVE_COUNT_0;
                let queue = queues.in_slot(die, slot);
                Some(queue.map_or(0, |key| {
                    self.wave_count(key, die, selected_engine(bus, die))
                }))
            }
            _ => None,
        }
    }

    fn is_in_engine(&self, unit: usize, engine: Option<u32>) -> bool {
        engine.is_none_or(|engine| unit / self.units_per_engine == engine as usize)
    }

    /// Bit per slot of the first micro engine that has waves on an engine.
    fn wave_status(&self, queues: &Queues, die: u32, engine: Option<u32>) -> u32 {
        let mut bits = 0;
        for (_, resident) in self.dies[die as usize].residents() {
            if self.is_in_engine(resident.unit, engine) {
                let slot = queues.get(resident.queue).and_then(Queue::slot);
                bits |= slot
                    .filter(|slot| slot.me == 1)
                    .map_or(0, |slot: Slot| 1 << slot.mask_bit());
            }
        }
        bits
    }

    fn wave_count(&self, key: QueueKey, die: u32, engine: Option<u32>) -> u32 {
        let residents = self.dies[die as usize].residents();
        residents
            .filter(|(_, r)| r.queue == key && self.is_in_engine(r.unit, engine))
            .map(|(_, r)| r.footprint.waves)
            .sum()
    }

    pub fn occupancy(&self) -> Vec<Occupancy> {
        let dies = self.dies.iter().zip(0..);
        dies.map(|(die, xcc)| Occupancy {
            xcc,
            units: die.unit_count() as u32,
            units_busy: die.units_busy(),
            waves: die.waves(),
        })
        .collect()
    }
}

/// The shader engine that the driver has selected, or none for all.
fn selected_engine(bus: &Buses, xcc: u32) -> Option<u32> {
    let index = bus.registers.get(xcc_base(xcc) + gc::GRBM_GFX_INDEX);
    (index >> 31 == 0).then_some((index >> 16) & 0xff)
}
