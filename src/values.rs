// SPDX-License-Identifier: GPL-2.0-only

//! The values of a node in sysfs.

use crate::engine::Engine;
use crate::node::NodeEngine;
use kernel::prelude::*;
use kernel::str::Formatter;
use kernel::sync::Arc;
use kfd::driver::gpu::Gpu;
use kfd::kernel::wake;
use kfd::operator::sysfs::Value;
use kfd::operator::sysfs::Values;

/// A node of a GPU, for its folder.
pub(crate) struct NodeValues {
    pub(crate) gpu: Arc<Gpu<Engine>>,
    pub(crate) index: usize,
}

impl NodeValues {
    /// Calls a function with the node, if there is one at present.
    fn with<R>(&self, f: impl FnOnce(&mut NodeEngine, &'static str) -> R) -> Result<R> {
        self.gpu.with(|_, engine| {
            let backend = engine.settings().backend.name();
            let node = engine.nodes().get_mut(self.index).ok_or(ENODEV)?;
            Ok(f(node, backend))
        })
    }
}

impl Values for NodeValues {
    fn show(&self, value: Value, out: &mut Formatter<'_>) -> Result {
        use core::fmt::Write;
        self.with(|node, backend| {
            let number = |number| Shown::Number(number);
            let shown = match value {
                Value::State => Shown::Word(node.state()),
                Value::Backend => Shown::Word(backend),
                Value::GpuId => number(u64::from(node.gpu_id())),
                Value::Queues => number(wide(node.survey().queues().len())),
                Value::Stopped => number(wide(node.last().stopped)),
                Value::Passes => number(node.counters.passes),
                Value::Inversions => number(node.counters.inversions),
                Value::Stops => number(node.counters.stops),
                Value::Starts => number(node.counters.starts),
                Value::Transactions => number(node.counters.transactions),
                Value::Failures => number(node.counters.failures),
                Value::Healed => number(node.counters.healed),
                Value::Exempt => number(node.counters.exempt),
            };
            match shown {
                Shown::Word(word) => out.write_str(word),
                Shown::Number(number) => out.write_fmt(format_args!("{number}")),
            }
            .map_err(|_| EINVAL)
        })?
    }

    fn store(&self, value: Value, text: &str) -> Result {
        if (value, text) != (Value::State, "armed") {
            pr_err!("'{}' is no state to set: write 'armed'\n", text);
            return Err(EINVAL);
        }
        self.with(|node, _| node.rearm())?;
        wake::all();
        Ok(())
    }
}

/// What a file shows.
enum Shown {
    Word(&'static str),
    Number(u64),
}

fn wide(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}
