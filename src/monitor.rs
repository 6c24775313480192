// SPDX-License-Identifier: GPL-2.0

//! The loop of a GPU's thread: look, and sleep as long as the policy allows.

use crate::engine::Engine;
use kernel::sync::Arc;
use kfd::clock;
use kfd::gpu::Gpu;
use kfd::thread::Body;
use kfd::thread::Running;
use kfd::wake;

/// The body of a GPU's thread.
pub(crate) struct Monitor {
    pub(crate) gpu: Arc<Gpu<Engine>>,
}

impl Body for Monitor {
    fn run(&self, thread: &Running) {
        while !thread.should_stop() {
            // Before the look: what happens during it is seen by the next.
            let seen = wake::count();
            let next = self
                .gpu
                .with(|gpu, engine| gpu.and_then(|gpu| engine.pass(gpu, thread)));
            let sleep = next.map(|next| next.since(clock::now()).0);
            if sleep != Some(0) {
                thread.sleep(seen, sleep);
            } else {
                thread.yield_now();
            }
        }
        self.gpu.with(|gpu, engine| {
            if let Some(gpu) = gpu {
                engine.release(gpu);
            }
        });
    }
}
