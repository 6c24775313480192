// SPDX-License-Identifier: GPL-2.0-only

//! The loop of a GPU's thread: make a pass, and sleep for as long as the policy
//! allows.

use crate::engine;
use crate::engine::Engine;
use crate::node::site::gpu_name;
use crate::shared::Shared;
use crate::values::NodeValues;
use kernel::prelude::*;
use kernel::str::CString;
use kernel::sync::Arc;
use kfd::driver::gpu::Gpu;
use kfd::driver::gpu::MAX_NODES;
use kfd::kernel::clock;
use kfd::kernel::thread::Body;
use kfd::kernel::thread::Running;
use kfd::kernel::wake;
use kfd::operator::sysfs::GpuFolder;
use kfd::operator::sysfs::NodeFolder;

/// The body of a GPU's thread.
pub(crate) struct Monitor {
    shared: Arc<Shared>,
    gpu: Arc<Gpu<Engine>>,
    folder: GpuFolder,
}

impl Monitor {
    pub(crate) fn new(shared: Arc<Shared>, gpu: Arc<Gpu<Engine>>) -> Result<Self> {
        let name = gpu_name(gpu.device());
        let name = CString::try_from_fmt(fmt!("gpu_{name}"))?;
        let folder = GpuFolder::new(shared.root(), &name)?;
        Ok(Self {
            shared,
            gpu,
            folder,
        })
    }

    /// Starts everything before the system sleeps. It all runs already, unless the
    /// sleep was not announced.
    fn start_all_for_sleep(&self) {
        if let Err(failure) = engine::start_all_for_sleep(&self.gpu) {
            pr_err!(
                "{}: the system goes to sleep with a queue stopped: {} (errno {})\n",
                gpu_name(self.gpu.device()),
                failure.why(),
                failure.errno()
            );
        }
    }

    /// Adds and removes folders until there is one for each node. To be called without
    /// the GPU's mutex: removing a folder waits for readers of its files, which take it.
    fn follow_nodes(&self, count: usize, folders: &mut KVec<NodeFolder<NodeValues>>) -> Result {
        while folders.len() > count {
            folders.pop();
        }
        while folders.len() < count {
            let values = NodeValues {
                gpu: self.gpu.clone(),
                index: folders.len(),
            };
            let root = self.shared.root();
            let folder = NodeFolder::new(root, &self.folder, folders.len(), values)?;
            folders.push(folder, GFP_KERNEL)?;
        }
        Ok(())
    }
}

impl Body for Monitor {
    fn run(&self, thread: &mut Running) {
        let mut folders = KVec::new();
        let mut complete = true;
        while !thread.should_stop() {
            if thread.should_freeze() {
                self.start_all_for_sleep();
            }
            thread.freeze();
            // Read before the look, so that what happens during it leads to another.
            let seen = wake::count();
            let (next, nodes) = self.gpu.with(|gpu, engine| {
                let next = gpu.and_then(|gpu| engine.pass(gpu, thread));
                (next, engine.node_count())
            });
            let followed = self.follow_nodes(nodes.min(MAX_NODES), &mut folders);
            if complete && followed.is_err() {
                pr_warn!(
                    "{}: not every node has its folder in sysfs\n",
                    gpu_name(self.gpu.device())
                );
            }
            complete = followed.is_ok();
            match next.map(|next| next.since(clock::now()).0) {
                Some(0) => thread.yield_now(),
                sleep => thread.sleep(seen, sleep),
            }
        }
    }
}
