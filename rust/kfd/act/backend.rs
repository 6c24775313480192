// SPDX-License-Identifier: GPL-2.0-only

//! The ways to stop and to start queues, behind one face.

use crate::act::hws::Hws;
use crate::act::mqd;
use crate::act::process_backend;
pub use crate::act::process_backend::Debts;
use crate::act::transaction::Failure;
use crate::act::transaction::Orders;
use crate::act::transaction::Transacted;
use crate::driver::check;
use crate::driver::check::Refusal;
use crate::driver::node::Node;
use crate::driver::queue::QueueFacts;
use crate::operator::settings::BackendKind;
use gpreempt_policy::Granularity;
use kernel::prelude::*;

/// A way to stop and to start queues, in force for one pass.
pub struct Backend<'a> {
    kind: BackendKind,
    hws: Option<&'a Hws>,
    debts: &'a mut Debts,
}

impl<'a> Backend<'a> {
    /// The backend of a kind. `debts` are those of the GPU.
    pub fn new(kind: BackendKind, hws: Option<&'a Hws>, debts: &'a mut Debts) -> Self {
        Self { kind, hws, debts }
    }

    /// The word for it.
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// What to do about what it had to leave stopped when the module was unloaded.
    pub fn remedy(&self) -> &'static str {
        match self.kind {
            BackendKind::Hws | BackendKind::Mqd => {
                "load the module again with this backend, which starts them"
            }
            // A process is evicted so often, and nobody else knows how often by us.
            BackendKind::Process => "end their processes, which no later load can start",
        }
    }

    /// What it can stop by itself.
    pub fn granularity(&self) -> Granularity {
        match self.kind {
            BackendKind::Hws | BackendKind::Mqd => Granularity::Queue,
            BackendKind::Process => Granularity::Process,
        }
    }

    /// Whether it can work on a node.
    pub fn check(&self, node: &Node<'_>) -> Result<(), Refusal> {
        check::check_backend(node, self.kind, self.hws.is_some())
    }

    /// Whether a queue that does not run is kept from it by us alone.
    ///
    /// Where single queues are stopped, nothing has to be remembered of it, and
    /// nothing that is forgotten leaves a queue stopped: the driver would run it,
    /// so that whoever has stopped it was this module, in this load or in one
    /// before.
    pub fn stopped_by_us(&self, queue: &QueueFacts) -> bool {
        match self.kind {
            BackendKind::Hws | BackendKind::Mqd => queue.may_be_started(),
            BackendKind::Process => queue.evicted && self.debts.has(queue.key.process),
        }
    }

    /// Whether there is anything that [`Backend::settle`] may have to do.
    pub fn owes(&self) -> bool {
        !self.debts.is_empty()
    }

    /// Undoes stops that no queue in view stands for. `in_view` says whether any
    /// queue of a process is.
    pub fn settle(
        &mut self,
        node: &Node<'_>,
        in_view: impl Fn(usize) -> bool,
    ) -> Result<(), Failure> {
        process_backend::settle(node, self.debts, in_view)
    }

    /// Stops and starts queues. What became of each is noted in the orders,
    /// also after a failure.
    pub fn transact(&mut self, node: &Node<'_>, orders: &mut Orders<'_>) -> Transacted {
        match (self.kind, self.hws) {
            (BackendKind::Hws, Some(hws)) => hws.transact(node, orders),
            // The check of the node has refused this one.
            (BackendKind::Hws, None) => Err(Failure::Unmap(ENOTSUPP.to_errno().unsigned_abs())),
            (BackendKind::Mqd, _) => mqd::transact(node, orders),
            (BackendKind::Process, _) => process_backend::transact(node, orders, self.debts),
        }
    }
}
