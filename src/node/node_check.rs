// SPDX-License-Identifier: GPL-2.0-only

//! Whether a node may be acted upon. It is checked when it is first seen, and
//! again when something has changed on which the answer depends.

use crate::node::node_ref::NodeRef;
use kernel::prelude::*;
use kfd::driver::{check, check::Refusal, node::Node};

/// What the check of a node has said.
pub(crate) struct NodeCheck {
    /// KFD's number of the node, or 0 before the node was first seen.
    pub(crate) gpu_id: u32,
    /// The node's name, which changes when the GPU is divided anew.
    name: usize,
    /// `None`: the node is to be checked.
    check: Option<Result<(), Refusal>>,
}

impl NodeCheck {
    pub(crate) const fn new() -> Self {
        Self {
            gpu_id: 0,
            name: 0,
            check: None,
        }
    }

    /// Why the node is left alone, if it is.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.check?.err()
    }

    /// Whether the node was checked and may be acted upon.
    pub(crate) fn is_granted(&self) -> bool {
        self.check.is_some_and(|check| check.is_ok())
    }

    /// Has the node checked when it is next seen.
    pub(crate) fn ask_again(&mut self) {
        self.check = None;
    }

    /// Whether this is another node than the last one here: the GPU is divided in
    /// another way now.
    pub(crate) fn is_other(&self, node: &Node<'_>) -> bool {
        (self.gpu_id, self.name) != (node.gpu_id(), node.name())
    }

    /// Checks the node, if that is to be done, and says in the log what came of it.
    pub(crate) fn check(&mut self, at: NodeRef<'_>, node: &Node<'_>) {
        if self.check.is_some() && !self.is_other(node) {
            return;
        }
        self.gpu_id = node.gpu_id();
        self.name = node.name();
        let result = check::check(node).and_then(|()| at.backend.check(node));
        match &result {
            Ok(()) => pr_info!(
                "{} (gpu_id {}): watched, backend {}{}\n",
                at,
                self.gpu_id,
                at.backend.name(),
                match node.gpu().is_virtual_function() {
                    true => ", a virtual function: no register is read, and waves are not counted",
                    false => "",
                }
            ),
            Err(refusal) => pr_err!("{}: left alone: {}\n", at, refusal.why),
        }
        self.check = Some(result);
    }
}
