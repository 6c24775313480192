// SPDX-License-Identifier: GPL-2.0-only

//! Decisions made into the orders of a transaction, and what is remembered of one.

use super::NodeEngine;
use gpreempt_policy::Action;
use gpreempt_policy::Config;
use gpreempt_policy::FailureKind;
use gpreempt_policy::Nanos;
use gpreempt_policy::Step;
use kernel::prelude::*;
use kfd::act::backend::Backend;
use kfd::act::transaction::Done;
use kfd::act::transaction::Failure;
use kfd::act::transaction::Orders;
use kfd::act::transaction::Transacted;
use kfd::driver::gpu::Present;

impl NodeEngine {
    /// Has the decisions carried out that are to be, and keeps all of them.
    pub(super) fn carry_out(
        &mut self,
        gpu: &Present<'_>,
        backend: &mut Backend<'_>,
        config: &Config<'_>,
        step: &Step,
        now: Nanos,
    ) {
        self.outcomes.clear();
        let decisions = self.decisions.iter().take(step.decisions);
        let asked = decisions.filter(|decision| decision.apply);
        self.requests.fill(asked.filter_map(|decision| {
            let queue = self.roster.find(decision.queue)?;
            Some((queue.key, decision.action))
        }));
        let failure = if self.requests.is_empty() {
            None
        } else {
            self.send_requests(gpu, backend).err()
        };
        if let Some(failure) = failure {
            self.say_failure(gpu, failure);
        }
        self.keep_decisions(config, step, now, failure);
    }

    /// Carries the requests out, and remembers what is stopped.
    fn send_requests(&mut self, gpu: &Present<'_>, backend: &mut Backend<'_>) -> Transacted {
        let result = send(gpu, self.index, backend, &mut self.requests.each());
        // Also after a failure: what was edited before it stays.
        for queue in self.roster.queues_mut() {
            if let Some((action, done)) = self.requests.carried_out(queue.key) {
                queue.stopped = action == Action::Stop;
                queue.stopped_idle = done == Done::StoppedIdle;
            }
        }
        self.book(result)
    }

    /// Starts every queue of the node that is stopped, remembered or not, in one
    /// transaction.
    pub(super) fn send_start_all(
        &mut self,
        gpu: &Present<'_>,
        backend: &mut Backend<'_>,
    ) -> Transacted {
        let mut orders = self.requests.start_all();
        let result = send(gpu, self.index, backend, &mut orders);
        self.counters.starts = self.counters.starts.saturating_add(orders.started());
        self.book(result)
    }

    /// Sees to it that what should run is on the hardware. Nothing but the driver's
    /// next change of its own would do that after a transaction that failed so.
    pub(super) fn put_back(
        &mut self,
        gpu: &Present<'_>,
        backend: &mut Backend<'_>,
    ) -> Result<(), Failure> {
        if !self.off_hardware {
            return Ok(());
        }
        let result = send(gpu, self.index, backend, &mut self.requests.put_back());
        let result = self.book(result);
        if !self.off_hardware {
            pr_info!(
                "{} node {}: the queues are back on the GPU\n",
                gpu.device().name().to_str().unwrap_or("?"),
                self.index
            );
        }
        result.map(|_| ())
    }

    /// Books a transaction and how long it took, if there was one.
    fn book(&mut self, result: Transacted) -> Transacted {
        match result {
            Ok(None) => return result,
            Ok(Some(timing)) => {
                self.off_hardware = false;
                self.scheduler.transaction_took(timing.total());
                self.latencies.unmap.add(timing.unmap);
                self.latencies.edit.add(timing.edit);
                self.latencies.map.add(timing.map);
            }
            Err(failure) => {
                self.off_hardware = match failure {
                    Failure::Map(_) => true,
                    Failure::Inexact => false,
                    _ => self.off_hardware && failure.kind() != FailureKind::Rebuilt,
                };
                // A misfit is met again and again as long as it lasts.
                let known = failure == Failure::Misfit && self.said_misfit;
                if !failure.is_passing() && !known {
                    self.counters.failures = self.counters.failures.saturating_add(1);
                    self.last_failure = Some(failure);
                }
            }
        }
        if result.map_or_else(Failure::was_sent, |_| true) {
            self.counters.transactions = self.counters.transactions.saturating_add(1);
        }
        result
    }

    /// Says in the log why a transaction failed, if that means anything.
    pub(crate) fn say_failure(&self, gpu: &Present<'_>, failure: Failure) {
        if !failure.is_passing() {
            pr_warn!(
                "{} node {}: {} (errno {})\n",
                gpu.device().name().to_str().unwrap_or("?"),
                self.index,
                failure.why(),
                failure.errno()
            );
        }
    }
}

/// Has orders carried out on the node at a place.
fn send(
    gpu: &Present<'_>,
    index: usize,
    backend: &mut Backend<'_>,
    orders: &mut Orders<'_>,
) -> Transacted {
    let nodes = gpu.nodes().map_err(Failure::Away)?;
    let node = nodes.node(index).map_err(Failure::Away)?;
    backend.transact(&node, orders)
}
