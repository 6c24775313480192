// SPDX-License-Identifier: GPL-2.0-only

//! The walk over all nodes that each table is made of.

use crate::{
    fleet::Fleet,
    node::{node_ref::gpu_name, NodeState},
};
use gpreempt_policy::Config;
use kernel::prelude::*;

/// Calls a function for each node, with the GPU's name and the settings in force.
pub(super) fn each_node(
    fleet: &Fleet,
    mut f: impl FnMut(&str, &mut NodeState, &Config) -> Result,
) -> Result {
    fleet.each(|gpu| {
        let name = gpu_name(gpu.device());
        let mut result = Ok(());
        gpu.each(|_, state| {
            let settings = *state.settings();
            if let (Ok(()), Some(node)) = (result, state.node()) {
                result = f(name, node, &settings);
            }
        });
        result
    })
}
