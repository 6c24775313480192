// SPDX-License-Identifier: GPL-2.0-only

//! Starting everything without the policy: because the module lets go of a node,
//! the backend changes, or queues have gone out of view.
//!
//! All of it is one order that names no queue, so that nothing which is forgotten
//! here stays stopped.

use super::NodeEngine;
use gpreempt_policy::FailureKind;
use gpreempt_policy::Nanos;
use kernel::prelude::*;
use kfd::act::backend::Backend;
use kfd::act::transaction::report_misfit;
use kfd::act::transaction::Failure;
use kfd::driver::gpu::Present;

impl NodeEngine {
    /// Starts every queue of the node that is stopped. `Err`: some may still be,
    /// and nothing but another try will start them.
    pub(crate) fn start_all(
        &mut self,
        gpu: &Present<'_>,
        backend: &mut Backend<'_>,
    ) -> Result<(), Failure> {
        let acted_upon = self.check.is_some_and(|check| check.is_ok());
        if !acted_upon && !self.unsettled() && !backend.owes() {
            return Ok(());
        }
        let result = self
            .put_back(gpu, backend)
            .and_then(|()| self.send_start_all(gpu, backend));
        match result {
            Err(failure) if failure.kind() != FailureKind::Rebuilt => {
                if matches!(failure, Failure::Misfit | Failure::Inexact) {
                    self.say_inexact(gpu);
                }
                Err(failure)
            }
            _ => {
                self.said_misfit = false;
                self.forget_stopped();
                Ok(())
            }
        }
    }

    /// Looks at a node that nobody may have looked at, and starts every queue that
    /// is stopped.
    pub(crate) fn look_and_start_all(
        &mut self,
        gpu: &Present<'_>,
        backend: &mut Backend<'_>,
    ) -> Result<(), Failure> {
        self.look(gpu, backend).map_err(Failure::Away)?;
        self.start_all(gpu, backend)
    }

    /// Says once what does not fit. Who tries to start everything tries again soon,
    /// and for as long as it does not.
    fn say_inexact(&mut self, gpu: &Present<'_>) {
        if self.said_misfit {
            return;
        }
        let _ = gpu.nodes().and_then(|nodes| {
            let node = nodes.node(self.index)?;
            let census = node.lock().census();
            self.said_misfit = !census.fits();
            report_misfit(gpu, self.index, &census, "nothing is started");
            Ok(())
        });
    }

    /// Names what could not be started before the module lets go of the node.
    pub(crate) fn give_up(&self, gpu: &Present<'_>, backend: &Backend<'_>, failure: Failure) {
        let name = gpu.device().name().to_str().unwrap_or("?");
        pr_err!(
            "{} node {}: stopped queues are left: {} (errno {}); {}\n",
            name,
            self.index,
            failure.why(),
            failure.errno(),
            backend.remedy()
        );
        for queue in self.roster.queues().iter().filter(|queue| queue.stopped) {
            pr_err!(
                "{} node {}: left stopped: queue {} of process {}\n",
                name,
                self.index,
                queue.key.id(),
                queue.pid
            );
        }
    }

    /// Starts everything when stopped queues are among those that there is no
    /// room to see. Returns whether it did.
    pub(super) fn start_beyond(
        &mut self,
        gpu: &Present<'_>,
        backend: &mut Backend<'_>,
        now: Nanos,
        retry: Nanos,
    ) -> bool {
        if self.survey.stopped_beyond() == 0 || now < self.next_start_beyond {
            return false;
        }
        self.next_start_beyond = now.after(retry);
        match self.start_all(gpu, backend) {
            Ok(()) => true,
            Err(failure) => {
                self.say_failure(gpu, failure);
                false
            }
        }
    }

    /// Undoes what the backend owes to processes of which no queue is in view.
    pub(super) fn settle(&self, gpu: &Present<'_>, backend: &mut Backend<'_>) {
        if !backend.owes() {
            return;
        }
        let queues = self.survey.queues();
        let in_view = |process| {
            queues
                .iter()
                .any(|seen| seen.facts.key.process() == process)
        };
        let settled = gpu.nodes().and_then(|nodes| {
            nodes
                .node(self.index)
                .map(|node| backend.settle(&node, in_view))
        });
        if let Ok(Err(failure)) = settled {
            self.say_failure(gpu, failure);
        }
    }

    fn forget_stopped(&mut self) {
        for queue in self.roster.queues_mut() {
            queue.stopped = false;
            queue.stopped_idle = false;
        }
    }
}
