// SPDX-License-Identifier: GPL-2.0-only
//! Which queues of the runlist are mapped when there are more than slots or
//! address spaces: those with work first, in turn, for a time slice.

use std::collections::{BTreeMap, BTreeSet};

use super::{Hws, ALL_DIES};
use crate::clock::SchedulerStep;
use crate::engines::Engines;
use crate::layout::descriptor as mqd;
use crate::layout::pm4::Engine;
use crate::memory::{Space, Via};
use crate::preempt;
use crate::registers::table::sdma;
use crate::terms::Exit;

/// How often a slice is checked, in case all queues become idle before it ends.
const LOOKS: u64 = 10;

impl Hws {
    /// Which places of the runlist to map. Those in `first` take precedence.
    pub(super) fn choose_queues(&self, engines: &Engines, first: &[usize]) -> Vec<usize> {
        let hws = self;
        let count = hws.listed.len();
        let slots = hws.queue_mask.count_ones() as usize;
        let spaces = hws.vmid_mask.count_ones() as usize;
        let processes = match hws.concurrent {
            0 => spaces,
            limit => spaces.min(limit as usize),
        };
        let mut order: Vec<usize> = first.to_vec();
        order.extend((0..count).map(|step| (hws.cursor + step) % count));
        let fits_all = count <= slots && hws.processes.len() <= processes;
        if !fits_all {
            let works: Vec<bool> = (0..count)
                .map(|index| self.has_work(engines, index))
                .collect();
            // Static queues stay; idle ones give way to those with work.
            order.sort_by_key(|index| {
                let listed = &hws.listed[*index];
                (!(listed.is_static && listed.key.is_some()), !works[*index])
            });
        }
        let mut chosen = Vec::new();
        let mut seen = BTreeSet::new();
        let mut mapped_processes = BTreeSet::new();
        let mut compute = 0;
        let mut rings: BTreeMap<u32, u32> = BTreeMap::new();
        let copies = self.copy_engines(engines).len() as u32;
        for index in order {
            if !seen.insert(index) {
                continue;
            }
            let listed = &hws.listed[index];
            let known = mapped_processes.contains(&listed.process);
            if !known && mapped_processes.len() >= processes {
                continue;
            }
            let fits = match listed.engine {
                Engine::Compute => {
                    let fits = compute < slots;
                    compute += usize::from(fits);
                    fits
                }
                Engine::Sdma(engine) => {
                    let used = rings.entry(engine).or_default();
                    let fits = *used < sdma::RLC_COUNT && engine < copies;
                    *used += u32::from(fits);
                    fits
                }
            };
            if fits {
                mapped_processes.insert(listed.process);
                chosen.push(index);
            }
        }
        chosen
    }

    /// Whether a queue of the runlist has packets to read or waves to run.
    fn has_work(&self, engines: &Engines, index: usize) -> bool {
        let listed = &self.listed[index];
        if let Some((key, queue)) = listed.key.and_then(|k| Some((k, engines.queues.get(k)?))) {
            return queue.has_backlog() || engines.compute.in_flight(key) > 0;
        }
        let root = self.processes[listed.process].root;
        let space = Space::Process {
            root,
            via: Via::Firmware,
        };
        let kernel = |dword: u64| {
            engines
                .bus
                .memory
                .read_u32(Space::Kernel, listed.descriptor.wrapping_add(dword * 4))
                .unwrap_or(0)
        };
        let Ok(write) = engines.bus.memory.read_u64(space, listed.write_address) else {
            return false;
        };
        match listed.engine {
            Engine::Sdma(_) => {
                let read = u64::from(kernel(mqd::sdma::RB_RPTR))
                    | (u64::from(kernel(mqd::sdma::RB_RPTR + 1)) << 32);
                read != write
            }
            Engine::Compute => {
                let is_aql = kernel(mqd::AQL_CONTROL) & 1 != 0;
                let write = if is_aql { write << 4 } else { write };
                write as u32 != kernel(mqd::PQ_RPTR)
                    || kernel(mqd::IB_RPTR) > 0
                    || kernel(mqd::CNTL_STACK_OFFSET) < kernel(mqd::CNTL_STACK_SIZE)
            }
        }
    }

    fn everything_is_mapped(&self) -> bool {
        self.listed.iter().all(|listed| listed.key.is_some())
    }

    fn quantum(&self, engines: &Engines) -> u64 {
        let longest = self.processes.iter().map(|process| process.quantum).max();
        u64::from(longest.unwrap_or(1).max(1)) * engines.bus.config.timing.process_quantum_unit
    }

    /// The set of mapped queues has changed: a new slice starts.
    pub(super) fn start_slice(&mut self, engines: &mut Engines) {
        self.slice_serial = engines.bus.clock.serial();
        self.slice_started = engines.bus.now();
        if !self.everything_is_mapped() {
            self.next_look(engines);
        }
    }

    fn next_look(&mut self, engines: &mut Engines) {
        let serial = self.slice_serial;
        let nanos = (self.quantum(engines) / LOOKS).max(1);
        let look = SchedulerStep::Slice { serial };
        self.after(engines, nanos, look);
    }

    pub(super) fn slice_look(&mut self, engines: &mut Engines) {
        if self.operation.is_some() || self.everything_is_mapped() {
            return;
        }
        let count = self.listed.len();
        let waits = |hws: &Hws, index: usize| {
            hws.listed[index].key.is_none() && hws.has_work(engines, index)
        };
        let next = (0..count)
            .map(|step| (self.cursor + step) % count)
            .find(|index| waits(self, *index));
        let over = engines.bus.now().since(self.slice_started) >= self.quantum(engines);
        let idle = (0..count)
            .filter(|index| self.listed[*index].key.is_some())
            .all(|index| !self.has_work(engines, index));
        match next {
            Some(next) if over || idle => self.rotate(engines, next),
            _ => self.next_look(engines),
        }
    }

    /// Gives the next slice to the queues from a place of the list on.
    fn rotate(&mut self, engines: &mut Engines, next: usize) {
        let waiting: Vec<usize> = (0..self.listed.len())
            .map(|step| (next + step) % self.listed.len())
            .filter(|index| self.listed[*index].key.is_none() && self.has_work(engines, *index))
            .collect();
        self.cursor = next;
        let chosen = self.choose_queues(engines, &waiting);
        let is_chosen: BTreeSet<usize> = chosen.iter().copied().collect();
        let leaving: BTreeSet<_> = self
            .listed
            .iter()
            .enumerate()
            .filter(|(index, listed)| !is_chosen.contains(index) && !listed.is_static)
            .filter_map(|(_, listed)| listed.key)
            .collect();
        let to_map = chosen
            .into_iter()
            .filter(|index| self.listed[*index].key.is_none())
            .collect();
        for key in &leaving {
            preempt::begin_exit(engines, *key, Exit::Save, ALL_DIES);
        }
        self.begin_operation(engines, None, leaving, to_map);
    }
}
