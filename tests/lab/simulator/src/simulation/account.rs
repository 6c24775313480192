// SPDX-License-Identifier: GPL-2.0-only

//! What is noted of a run, and what is added up at its end.

use super::{RunResult, Simulation};
use crate::gpu::Nanos;

impl Simulation<'_> {
    pub(super) fn note_stops(&mut self) {
        let now = self.engine.now();
        for queue in 0..self.infos.len() {
            let active = self.engine.view(queue).active;
            match (self.stopped_since[queue], active) {
                (None, false) => {
                    self.stopped_since[queue] = Some(now);
                    self.result.stops += 1;
                }
                (Some(since), true) => {
                    self.stopped_since[queue] = None;
                    self.end_stop(now - since);
                }
                _ => {}
            }
        }
    }

    fn end_stop(&mut self, length: Nanos) {
        self.result.longest_stop = self.result.longest_stop.max(length);
        self.result.stopped += length;
    }

    pub(super) fn finish(mut self, duration: Nanos) -> RunResult {
        let end = self.end;
        for since in self.stopped_since.clone().into_iter().flatten() {
            self.end_stop(end - since);
        }
        for (index, state) in self.clients.iter().enumerate() {
            let offered = match self.workload.clients[index].arrivals.mean_hertz() {
                Some(hertz) => hertz * duration as f64 / 1e9,
                None => duration as f64 / state.programs[0].1 as f64,
            };
            let result = &mut self.result.clients[index];
            result.served = result.completed as f64 / offered;
        }
        for pending in self.pending.values() {
            let result = &mut self.result.clients[pending.client];
            result
                .requests
                .push(pending.request(end, false, self.warm_up));
        }
        let before = std::mem::take(&mut self.node_time_before);
        for (queue, now) in self.node_times(end).into_iter().enumerate() {
            let before = before.get(queue).copied().unwrap_or(0);
            self.result.clients[queue].node_time = now - before;
        }
        self.result.unfinished = self
            .pending
            .values()
            .filter(|p| self.infos[p.client].urgent)
            .count() as u64;
        self.result.duration = duration;
        self.result.transactions = self.engine.transactions;
        self.result.cost = self.engine.transaction_cost;
        self.result.slice_switches = self.engine.slice_switches;
        self.result.utilisation = self.engine.utilisation();
        self.result.workgroups_lost = (0..self.infos.len())
            .map(|q| self.engine.workgroups_lost(q))
            .sum();
        self.result
    }
}
