// SPDX-License-Identifier: GPL-2.0-only

//! The walk over all nodes that each table is made of.

use crate::{
    fleet::Fleet,
    node::{node_ref::gpu_name, NodeState},
};
use kernel::prelude::*;
use kfd::{act::backend::Backend, operator::settings::Settings};

/// Calls a function for each node, with the GPU's name.
pub(super) fn each_node(
    fleet: &Fleet,
    mut f: impl FnMut(&str, &mut NodeState) -> Result,
) -> Result {
    each_node_in_force(fleet, |gpu, node, _, _| f(gpu, node))
}

/// The same with the backend and the settings in force.
pub(super) fn each_node_in_force(
    fleet: &Fleet,
    mut f: impl FnMut(&str, &mut NodeState, &Backend<'_>, &Settings) -> Result,
) -> Result {
    fleet.each(|gpu| {
        let name = gpu_name(gpu.device());
        let mut result = Ok(());
        gpu.each(|_, state| {
            let settings = *state.settings();
            if let (Ok(()), Some((node, backend))) = (result, state.node()) {
                result = f(name, node, &backend, &settings);
            }
        });
        result
    })
}
