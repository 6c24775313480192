// SPDX-License-Identifier: GPL-2.0-only

//! The loop of a node's thread: make a pass, and sleep for as long as the policy
//! allows. Each node has a thread of its own, so that one whose queues do not yield
//! does not hold up the others.

use crate::{
    node::node_ref::gpu_name,
    node_thread::{Next, NodeThread},
    shared::Shared,
    values::NodeValues,
};
use gpreempt_policy::Nanos;
use kernel::{prelude::*, str::CString, sync::Arc};
use kfd::{
    driver::gpu::{Gpu, MAX_NODES},
    kernel::{
        clock,
        thread::{Body, Running, Thread},
        wake::{Alarm, Heard},
    },
    operator::sysfs::{GpuFolder, NodeFolder},
};

/// What the threads of a GPU's nodes have in common.
pub(crate) struct GpuThreads {
    folder: GpuFolder,
    gpu: Arc<Gpu<NodeThread>>,
}

impl GpuThreads {
    pub(crate) fn new(shared: &Shared, gpu: Arc<Gpu<NodeThread>>) -> Result<Arc<Self>> {
        let folder = GpuFolder::new(&shared.root, gpu.device().name())?;
        let threads = Self { folder, gpu };
        Ok(Arc::new(threads, GFP_KERNEL)?)
    }
}

/// The body of a node's thread.
pub(crate) struct Monitor {
    threads: Arc<GpuThreads>,
    /// The node's number in the GPU.
    index: usize,
    alarm: Alarm,
}

impl Monitor {
    /// Starts the thread of the first node, which starts those of the others.
    pub(crate) fn start(threads: Arc<GpuThreads>) -> Result<Thread<Self>> {
        Self::start_for(threads, 0)
    }

    fn start_for(threads: Arc<GpuThreads>, index: usize) -> Result<Thread<Self>> {
        let gpu = gpu_name(threads.gpu.device());
        let name = CString::try_from_fmt(fmt!("gp/{gpu}/{index}"))?;
        let monitor = Self {
            threads,
            index,
            alarm: Alarm::new()?,
        };
        Thread::start(&name, KBox::new(monitor, GFP_KERNEL)?)
    }

    /// Starts everything before the system sleeps. It all runs already, unless the
    /// sleep was not announced.
    fn start_all_for_sleep(&self) {
        let gpu = &self.threads.gpu;
        let started = gpu.with(self.index, |gpu, state| state.start_all_for_sleep(gpu));
        if let Some(Err(failure)) = started {
            pr_err!(
                "{} node {}: the system goes to sleep with a queue stopped: {} (errno {})\n",
                gpu_name(gpu.device()),
                self.index,
                failure.why(),
                failure.errno()
            );
        }
    }

    /// Adds or removes the node's folder until it is there exactly if the node is. To be
    /// called without the node's mutex: removing a folder waits for readers of its
    /// files, which take it.
    fn follow_node(&self, count: usize, folder: &mut Option<NodeFolder<NodeValues>>) -> Result {
        if self.index >= count {
            *folder = None;
        } else if folder.is_none() {
            let values = NodeValues {
                gpu: self.threads.gpu.clone(),
                index: self.index,
            };
            *folder = Some(NodeFolder::new(&self.threads.folder, self.index, values)?);
        }
        Ok(())
    }

    /// Starts the threads of the nodes after the first, until each has one. A thread
    /// whose node is no more stays, for the GPU may be divided in that way again.
    fn follow_others(&self, count: usize, others: &mut KVec<Thread<Monitor>>) -> Result {
        while self.index == 0 && others.len() + 1 < count {
            others.reserve(1, GFP_KERNEL)?;
            let thread = Self::start_for(self.threads.clone(), others.len() + 1)?;
            others.push(thread, GFP_KERNEL)?;
        }
        Ok(())
    }

    fn sleep(&self, running: &Running, seen: Heard, next: Option<Next>) {
        let now = clock::now();
        let (look, deaf) = next.map_or((None, Nanos::NEVER), |next| (next.look, next.deaf));
        match look.map(|look| look.since(now).0) {
            Some(0) => running.yield_now(),
            sleep => running.sleep(&self.alarm, seen, deaf.since(now).0, sleep),
        }
    }
}

impl Body for Monitor {
    fn run(&self, running: &mut Running) {
        let gpu = &self.threads.gpu;
        let mut folder = None;
        let mut others = KVec::new();
        let mut complete = true;
        while !running.should_stop() {
            if running.should_freeze() {
                self.start_all_for_sleep();
            }
            running.freeze();
            // Read before the look, so that what happens during it leads to another.
            let seen = self.alarm.heard();
            let passed = gpu.with(self.index, |gpu, state| {
                let next = gpu.map(|gpu| state.pass(gpu, running, &self.alarm));
                (next, state.node_count())
            });
            let (next, count) = passed.unwrap_or((None, 0));
            let count = count.min(MAX_NODES);
            let followed = self
                .follow_node(count, &mut folder)
                .and(self.follow_others(count, &mut others));
            if complete && followed.is_err() {
                pr_warn!(
                    "{}: a node's thread or a folder in sysfs is missing\n",
                    gpu_name(gpu.device())
                );
            }
            complete = followed.is_ok();
            self.sleep(running, seen, next);
        }
    }
}
