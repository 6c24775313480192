// SPDX-License-Identifier: GPL-2.0-only
//! Which queues of the runlist are mapped when there are more than slots or
//! address spaces: those with work first, in turn, for a time slice.

use std::collections::{BTreeMap, BTreeSet};

use super::Step;
use crate::gpu::{Event, Gpu};
use crate::layout::descriptor as mqd;
use crate::layout::pm4::Engine;
use crate::memory::Space;
use crate::registers::table::sdma;
use crate::terms::Exit;

/// Looks at the slice before it ends, to see whether all have become idle.
const LOOKS: u64 = 10;

impl Gpu {
    /// Places in the runlist to have mapped. `first` come before the turn.
    pub(super) fn choose_queues(&self, first: &[usize]) -> Vec<usize> {
        let hws = &self.hws;
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
            let works: Vec<bool> = (0..count).map(|index| self.has_work(index)).collect();
            // Static queues stay; the idle give way to those with work.
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
                    let fits = *used < sdma::RLC_COUNT && engine < self.config.sdma_count;
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
    fn has_work(&self, index: usize) -> bool {
        let listed = &self.hws.listed[index];
        if let Some(queue) = listed.key.and_then(|key| self.queues.get(key)) {
            return queue.fetched < queue.write
                || !queue.dispatches.is_empty()
                || queue.indirect.is_some();
        }
        let root = self.hws.processes[listed.process].root;
        let space = Space::Process { root };
        let kernel = |dword: u64| {
            self.memory
                .read_u32(Space::Kernel, listed.descriptor + dword * 4)
                .unwrap_or(0)
        };
        let Ok(write) = self.memory.read_u64(space, listed.write_address) else {
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
        self.hws.listed.iter().all(|listed| listed.key.is_some())
    }

    fn quantum(&self) -> u64 {
        let longest = self
            .hws
            .processes
            .iter()
            .map(|process| process.quantum)
            .max();
        u64::from(longest.unwrap_or(1).max(1)) * self.config.timing.process_quantum_unit
    }

    /// The set of mapped queues has changed: its slice starts.
    pub(super) fn start_slice(&mut self) {
        self.hws.slice_serial = self.next_serial();
        self.hws.slice_started = self.now;
        if !self.everything_is_mapped() {
            self.next_look();
        }
    }

    fn next_look(&mut self) {
        let serial = self.hws.slice_serial;
        let at = self.now.after((self.quantum() / LOOKS).max(1));
        self.events
            .push(at, Event::Scheduler(Step::Slice { serial }));
    }

    pub(super) fn slice_look(&mut self) {
        if self.hws.operation.is_some() || self.everything_is_mapped() {
            return;
        }
        let count = self.hws.listed.len();
        let waits =
            |gpu: &Gpu, index: usize| gpu.hws.listed[index].key.is_none() && gpu.has_work(index);
        let next = (0..count)
            .map(|step| (self.hws.cursor + step) % count)
            .find(|index| waits(self, *index));
        let over = self.now.since(self.hws.slice_started) >= self.quantum();
        let idle = (0..count)
            .filter(|index| self.hws.listed[*index].key.is_some())
            .all(|index| !self.has_work(index));
        match next {
            Some(next) if over || idle => self.rotate(next),
            _ => self.next_look(),
        }
    }

    /// Gives the next slice to the queues from a place of the list on.
    fn rotate(&mut self, next: usize) {
        let waiting: Vec<usize> = (0..self.hws.listed.len())
            .map(|step| (next + step) % self.hws.listed.len())
            .filter(|index| self.hws.listed[*index].key.is_none() && self.has_work(*index))
            .collect();
        self.hws.cursor = next;
        let chosen = self.choose_queues(&waiting);
        let is_chosen: BTreeSet<usize> = chosen.iter().copied().collect();
        let leaving: BTreeSet<_> = self
            .hws
            .listed
            .iter()
            .enumerate()
            .filter(|(index, listed)| !is_chosen.contains(index) && !listed.is_static)
            .filter_map(|(_, listed)| listed.key)
            .collect();
        let to_map = chosen
            .into_iter()
            .filter(|index| self.hws.listed[*index].key.is_none())
            .collect();
        for key in &leaving {
            self.begin_exit(*key, Exit::Save, u32::MAX);
        }
        self.begin_operation(None, leaving, to_map);
    }
}
