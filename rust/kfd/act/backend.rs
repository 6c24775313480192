// SPDX-License-Identifier: GPL-2.0-only

//! The ways to stop and to start queues, behind one interface.

#![forbid(unsafe_code)]

use crate::act::failure::Failure;
use crate::act::hws::Hws;
pub use crate::act::hws::TransactionKind;
use crate::act::mqd;
use crate::act::process_backend;
pub use crate::act::process_backend::Debts;
use crate::act::transaction::Orders;
use crate::act::transaction::Transacted;
use crate::driver::check::Refusal;
use crate::driver::direct;
use crate::driver::node::Node;
use crate::driver::node::SchedPolicy;
use crate::driver::queue::QueueFacts;
use crate::kernel::choice::choice;
use gpreempt_policy::Granularity;
use kernel::prelude::*;

choice! {
    /// How queues are stopped and started.
    pub enum BackendKind {
        /// In one transaction with the hardware scheduler.
        Hws "hws",
        /// One by one, where there is no hardware scheduler.
        Mqd "mqd",
        /// All queues of a process.
        Process "process",
    }
}

/// A way to stop and to start queues, in force for one pass.
pub struct Backend<'a> {
    kind: BackendKind,
    transaction: TransactionKind,
    hws: Option<&'a Hws>,
    debts: &'a mut Debts,
}

impl<'a> Backend<'a> {
    /// The backend of a kind. `debts` are those of the GPU.
    pub fn new(
        kind: BackendKind,
        transaction: TransactionKind,
        hws: Option<&'a Hws>,
        debts: &'a mut Debts,
    ) -> Self {
        Self {
            kind,
            transaction,
            hws,
            debts,
        }
    }

    /// The word for it.
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// Takes queues off by the driver's own function for the rest of the pass.
    pub fn leave_to_driver(&mut self) {
        self.transaction = TransactionKind::Driver;
    }

    /// What to do about what it had to leave stopped when the module was unloaded.
    pub fn remedy(&self) -> &'static str {
        match self.kind {
            BackendKind::Hws | BackendKind::Mqd => {
                "load the module again with this backend, which starts them"
            }
            // The driver only counts evictions; after unload nothing tells which were ours.
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

    /// Whether it can put the queues back on the hardware that are off it for no stop.
    ///
    /// Without the hardware scheduler none is taken off but the one that is stopped. An
    /// eviction or a restore would have the driver put them back, but one that fails again
    /// would leave a process evicted that nobody wants to be.
    pub fn puts_back(&self) -> bool {
        self.kind == BackendKind::Hws
    }

    /// Whether it can stop a queue at all.
    pub fn reaches(&self, queue: &QueueFacts) -> bool {
        self.kind != BackendKind::Process || queue.primary
    }

    /// Whether it can work on a node.
    pub fn check(&self, node: &Node<'_>) -> Result<(), Refusal> {
        check_backend(node, self.kind, self.hws.is_some())?;
        match self.transaction {
            TransactionKind::Driver => Ok(()),
            TransactionKind::Direct => self.check_direct(node),
        }
    }

    /// Whether queues can be taken off by an unmapping of our own.
    fn check_direct(&self, node: &Node<'_>) -> Result<(), Refusal> {
        let why = if self.kind != BackendKind::Hws {
            "transaction=direct is for backend=hws alone: use transaction=driver"
        } else if !self.hws.is_some_and(Hws::has_direct) {
            "transaction=direct needs functions that this amdgpu does not have as they are expected: use transaction=driver"
        } else if !direct::is_possible(node) {
            "mqd_mgr->check_preemption_failed is not amdgpu's for this GPU: use transaction=driver"
        } else {
            return Ok(());
        };
        Err(Refusal { why })
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

    /// Whether there is anything that [`Backend::pay_debts`] may have to do.
    pub fn owes(&self) -> bool {
        !self.debts.is_empty()
    }

    /// Undoes stops that no queue in view stands for. `in_view` has the process of each
    /// queue that is.
    pub fn pay_debts(
        &mut self,
        node: &Node<'_>,
        in_view: impl Iterator<Item = usize>,
    ) -> Result<(), Failure> {
        process_backend::pay_debts(node, self.debts, in_view)
    }

    /// Whether orders come down to anything, and so would be sent.
    pub fn has_to_do(&self, node: &Node<'_>, orders: &Orders<'_>) -> Result<bool, Failure> {
        match self.kind {
            BackendKind::Hws | BackendKind::Mqd => {
                orders.wanted.due_on(node).map(|due| due.is_some())
            }
            BackendKind::Process => process_backend::has_to_do(node, orders, self.debts),
        }
    }

    /// Stops and starts queues. What became of each is noted in the orders,
    /// also after a failure.
    pub fn transact(&mut self, node: &Node<'_>, orders: &mut Orders<'_>) -> Transacted {
        match (self.kind, self.hws) {
            (BackendKind::Hws, Some(hws)) => hws.transact(node, self.transaction, orders),
            // The check of the node has refused this one.
            (BackendKind::Hws, None) => Err(Failure::Unmap(ENOTSUPP.to_errno().unsigned_abs())),
            (BackendKind::Mqd, _) => mqd::transact(node, orders),
            (BackendKind::Process, _) => process_backend::transact(node, orders, self.debts),
        }
    }
}

/// Whether a backend can work on a node.
fn check_backend(node: &Node<'_>, backend: BackendKind, hws: bool) -> Result<(), Refusal> {
    let why = match (backend, node.sched_policy()) {
        (BackendKind::Hws, Some(SchedPolicy::NoHws)) => {
            "backend=hws needs the hardware scheduler: use backend=mqd or process, or load amdgpu with sched_policy=0"
        }
        (BackendKind::Hws, _) if !hws => {
            "backend=hws needs two functions that this amdgpu does not have: use backend=process"
        }
        (BackendKind::Mqd, Some(SchedPolicy::Hws | SchedPolicy::HwsNoOversubscription)) => {
            "backend=mqd cannot work beside the hardware scheduler: use backend=hws"
        }
        _ => return Ok(()),
    };
    Err(Refusal { why })
}
