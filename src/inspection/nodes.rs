// SPDX-License-Identifier: GPL-2.0-only

//! The walk over all nodes that each table is made of.

use crate::fleet::Fleet;
use crate::node::NodeEngine;
use kernel::prelude::*;
use kfd::operator::settings::Settings;

/// Calls a function for each node, with the GPU's name.
pub(super) fn each_node(
    fleet: &Fleet,
    mut f: impl FnMut(&str, &mut NodeEngine, &Settings) -> Result,
) -> Result {
    fleet.each(|gpu| {
        let name = gpu.device().name().to_str().unwrap_or("?");
        gpu.with(|_, engine| {
            let settings = *engine.settings();
            engine
                .nodes()
                .iter_mut()
                .try_for_each(|node| f(name, node, &settings))
        })
    })
}
