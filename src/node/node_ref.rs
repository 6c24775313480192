// SPDX-License-Identifier: GPL-2.0-only

//! Where a node is found, by what its queues are stopped, and what the log calls it.

use gpreempt_policy::{Config, NodeName};
use kernel::fmt;
use kfd::{
    act::{backend::Backend, hws::Hws},
    driver::{
        driver::Device,
        gpu::{Away, Present},
        node::Node,
    },
};

/// What the log and the tables call a GPU: its PCI address.
pub(crate) fn gpu_name(device: &Device) -> &str {
    device.name().to_str().unwrap_or("?")
}

/// A node of a GPU that the driver has at present. It is looked up each time,
/// because the driver may have divided the GPU anew.
#[derive(Clone, Copy)]
pub(crate) struct NodeRef<'a> {
    /// The GPU.
    pub(crate) gpu: &'a Present<'a>,
    /// The node's number in the GPU.
    pub(crate) index: usize,
    /// How its queues are stopped and started.
    pub(crate) backend: Backend<'a>,
}

impl<'a> NodeRef<'a> {
    /// A node, whose queues are stopped as the settings say.
    pub(crate) fn new(
        gpu: &'a Present<'a>,
        index: usize,
        settings: &Config,
        hws: Option<&'a Hws>,
    ) -> Self {
        let backend = Backend::new(settings.backend, settings.transaction, hws);
        Self {
            gpu,
            index,
            backend,
        }
    }

    /// What a rule calls it.
    pub(crate) fn name(&self) -> NodeName<'a> {
        NodeName {
            gpu: gpu_name(self.gpu.device()),
            index: u32::try_from(self.index).unwrap_or(u32::MAX),
        }
    }

    /// Calls a function with the node, which stays where it is meanwhile.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&Node<'_>) -> R) -> Result<R, Away> {
        let nodes = self.gpu.nodes()?;
        let node = nodes.node(self.index)?;
        Ok(f(&node))
    }
}

impl fmt::Display for NodeRef<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gpu = gpu_name(self.gpu.device());
        write!(out, "{gpu} node {}", self.index)
    }
}
