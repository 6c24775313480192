// SPDX-License-Identifier: GPL-2.0-only

//! The values of a node in sysfs.

use crate::{
    node::{record::wide, NodeState},
    node_thread::NodeThread,
};
use gpreempt_policy::Config;
use kernel::{prelude::*, str::Formatter, sync::Arc};
use kfd::{
    driver::gpu::Gpu,
    kernel::wake,
    operator::sysfs::{Value, Values},
};

/// The node of a folder.
pub(crate) struct NodeValues {
    pub(crate) gpu: Arc<Gpu<NodeThread>>,
    pub(crate) index: usize,
}

impl NodeValues {
    /// Calls a function with the node and the settings in force. `Err`: the GPU has no
    /// such node at present.
    fn with<R>(&self, f: impl FnOnce(&mut NodeState, &Config) -> R) -> Result<R> {
        let found = self.gpu.with(self.index, |_, state| {
            let settings = *state.settings();
            Some(f(state.node()?, &settings))
        });
        found.flatten().ok_or(ENODEV)
    }
}

impl Values for NodeValues {
    fn show(&self, value: Value, out: &mut Formatter<'_>) -> Result {
        use core::fmt::Write;
        self.with(|node, settings| {
            let counters = &node.memory.record.counters;
            let number = match value {
                Value::State => return out.write_str(node.state()),
                Value::Backend => return out.write_str(settings.backend.name()),
                Value::GpuId => u64::from(node.check.gpu_id),
                Value::Queues => wide(node.look.survey.queues().len()),
                Value::Stopped => wide(node.last.stopped),
                Value::Passes => counters.passes.get(),
                Value::Inversions => counters.inversions.get(),
                Value::Stops => counters.stops.get(),
                Value::Starts => counters.starts.get(),
                Value::Transactions => counters.transactions.get(),
                Value::Failures => counters.failures.get(),
                Value::Healed => counters.healed.get(),
                Value::Exempt => counters.exempt,
            };
            write!(out, "{number}")
        })?
        .map_err(|_| EINVAL)
    }

    fn store(&self, value: Value, text: &str) -> Result {
        if (value, text) != (Value::State, "armed") {
            pr_err!("'{}' is not a state that can be set: write 'armed'\n", text);
            return Err(EINVAL);
        }
        let armed = self.gpu.with(self.index, |_, state| state.rearm());
        armed.unwrap_or(Err(ENODEV))?;
        wake::all();
        Ok(())
    }
}
