// SPDX-License-Identifier: GPL-2.0-only

//! The ways to stop and to start queues, behind one interface.

#![forbid(unsafe_code)]

use crate::{
    act::{
        failure::Failure,
        hws::Hws,
        mqd,
        transaction::{Orders, Transacted},
    },
    driver::{
        check::Refusal,
        direct,
        node::{Node, SchedPolicy},
    },
};
use gpreempt_policy::{BackendKind, TransactionKind};
use kernel::prelude::*;

/// A way to stop and to start queues, in force for one pass.
#[derive(Clone, Copy)]
pub struct Backend<'a> {
    kind: BackendKind,
    transaction: TransactionKind,
    hws: Option<&'a Hws>,
}

impl<'a> Backend<'a> {
    /// The backend of a kind.
    pub fn new(kind: BackendKind, transaction: TransactionKind, hws: Option<&'a Hws>) -> Self {
        Self {
            kind,
            transaction,
            hws,
        }
    }

    /// The word for it.
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// The same that takes queues off by the driver's own function.
    pub fn by_driver(self) -> Self {
        Self {
            transaction: TransactionKind::Driver,
            ..self
        }
    }

    /// Whether it can put the queues back on the hardware that are off it for no stop.
    ///
    /// Without the hardware scheduler none is taken off but the one that is stopped.
    pub fn puts_back(&self) -> bool {
        self.kind == BackendKind::Hws
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

    /// Stops and starts queues. What became of each is noted in the orders,
    /// also after a failure.
    pub fn transact(&self, node: &Node<'_>, orders: &mut Orders<'_>) -> Transacted {
        match (self.kind, self.hws) {
            (BackendKind::Hws, Some(hws)) => hws.transact(node, self.transaction, orders),
            // The check of the node has refused this one.
            (BackendKind::Hws, None) => Err(Failure::Unmap(ENOTSUPP.to_errno().unsigned_abs())),
            (BackendKind::Mqd, _) => mqd::transact(node, orders),
        }
    }
}

/// Whether a backend can work on a node.
fn check_backend(node: &Node<'_>, backend: BackendKind, hws: bool) -> Result<(), Refusal> {
    let why = match (backend, node.sched_policy()) {
        (BackendKind::Hws, Some(SchedPolicy::NoHws)) => {
            "backend=hws needs the hardware scheduler: use backend=mqd, or load amdgpu with sched_policy=0"
        }
        (BackendKind::Hws, _) if !hws => {
            "backend=hws needs debug_lock_and_unmap and debug_map_and_unlock, which this amdgpu does not have: use a kernel that the module supports, or load amdgpu with sched_policy=2 and use backend=mqd"
        }
        (BackendKind::Mqd, Some(SchedPolicy::Hws | SchedPolicy::HwsNoOversubscription)) => {
            "backend=mqd cannot work beside the hardware scheduler: use backend=hws"
        }
        _ => return Ok(()),
    };
    Err(Refusal { why })
}
