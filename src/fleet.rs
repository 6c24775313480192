// SPDX-License-Identifier: GPL-2.0-only

//! All GPUs, each with the threads of its nodes.

use crate::{
    monitor::{GpuThreads, Monitor},
    node::node_ref::gpu_name,
    node_thread,
    node_thread::{try_for_a_while, NodeThread},
    shared::Shared,
};
use kernel::{
    prelude::*,
    sync::{Arc, Mutex},
};
use kfd::{
    driver::{
        driver::{Bound, Device, Driver, Listener},
        gpu::Gpu,
    },
    kernel::{clock, sleep::Sleeper, thread::Thread, wake},
    operator::rules::Rules,
};

/// A GPU with the thread of its first node, which has those of the others. They end
/// before the GPU is forgotten.
struct Member {
    /// Later members have higher ones.
    number: u64,
    _thread: Thread<Monitor>,
    gpu: Arc<Gpu<NodeThread>>,
}

/// All GPUs that amdgpu has or had.
#[pin_data]
pub(crate) struct Fleet {
    shared: Arc<Shared>,
    #[pin]
    members: Mutex<Members>,
}

/// The GPUs. Once closed, no more are added.
struct Members {
    all: KVec<Member>,
    /// The number of the next one.
    next: u64,
    closed: bool,
}

impl Fleet {
    pub(crate) fn new(driver: &Driver, creation_wakes: bool) -> Result<Arc<Self>> {
        let shared = Shared::new(driver, creation_wakes)?;
        Arc::pin_init(
            pin_init!(Self {
                shared,
                members <- kernel::new_mutex!(
                    Members { all: KVec::new(), next: 0, closed: false },
                    "amd_gpreempt_fleet"
                ),
            }),
            GFP_KERNEL,
        )
    }

    /// The operator's rules.
    pub(crate) fn rules(&self) -> &Rules {
        &self.shared.rules
    }

    /// Calls a function for each GPU, of which others may come and go meanwhile.
    pub(crate) fn each(&self, mut f: impl FnMut(&Gpu<NodeThread>) -> Result) -> Result {
        let mut from = 0;
        while let Some((number, gpu)) = self.first_from(from) {
            f(&gpu)?;
            from = number + 1;
        }
        Ok(())
    }

    /// The first GPU whose number is not below one.
    fn first_from(&self, from: u64) -> Option<(u64, Arc<Gpu<NodeThread>>)> {
        let members = self.members.lock();
        let member = members.all.iter().find(|member| member.number >= from)?;
        Some((member.number, member.gpu.clone()))
    }

    /// The GPU of a device.
    fn find(&self, device: &Device) -> Option<Arc<Gpu<NodeThread>>> {
        self.members
            .lock()
            .all
            .iter()
            .find(|member| member.gpu.device() == device)
            .map(|member| member.gpu.clone())
    }

    /// Starts to watch a GPU.
    fn add(&self, device: &Bound<'_>) -> Result {
        if self.members.lock().closed {
            return Ok(());
        }
        let state = |index| NodeThread::new(self.shared.clone(), device.device(), index);
        let gpu = Arc::new(Gpu::new(device, state)?, GFP_KERNEL)?;
        let threads = GpuThreads::new(&self.shared, gpu.clone())?;
        let mut members = self.members.lock();
        if members.closed {
            return Ok(());
        }
        // Once a thread runs it may stop queues: it must not be lost for want of a place.
        members.all.reserve(1, GFP_KERNEL)?;
        let thread = Monitor::start(threads)?;
        let member = Member {
            number: members.next,
            _thread: thread,
            gpu,
        };
        members.next += 1;
        members.all.push(member, GFP_KERNEL)?;
        Ok(())
    }

    /// Forgets a device that was removed and whose name another one has now.
    fn forget_namesake(&self, device: &Device) {
        let namesake = |member: &Member| {
            let other = member.gpu.device();
            other != device && other.name().to_bytes() == device.name().to_bytes()
        };
        let mut members = self.members.lock();
        if members.closed {
            // They are being let go of one by one, and none may be missed.
            return;
        }
        let gone = match members.all.iter().position(namesake) {
            Some(at) => members.all.remove(at).ok(),
            None => None,
        };
        drop(members);
        // Its thread may take long to end, by now without the lock.
        drop(gone);
    }

    /// Lets go of all GPUs for good.
    fn close(&self) {
        self.members.lock().closed = true;
        let _ = self.each(|gpu| {
            gpu.announce_leave();
            Ok(())
        });
        wake::all();
        let _ = self.each(|gpu| {
            gpu.retire();
            Ok(())
        });
    }
}

/// Starts everything of a GPU that is stopped, because the system is about to sleep,
/// and tries for a while.
fn start_all_for_sleep(gpu: &Gpu<NodeThread>) -> Result {
    let mut result = Ok(());
    try_for_a_while(clock::now(), |_| {
        result = node_thread::start_all_for_sleep(gpu);
        result.is_ok()
    });
    result.map_err(|failure| {
        pr_err!(
            "{}: the system stays awake, because a stopped queue would not survive its sleep and could not be started: {} (errno {})\n",
            gpu_name(gpu.device()),
            failure.why(),
            failure.errno()
        );
        EBUSY
    })
}

/// The fleet, as it hears of the system's sleep.
pub(crate) struct FleetSleeper(pub(crate) Arc<Fleet>);

impl Sleeper for FleetSleeper {
    fn prepare(&self) -> Result {
        self.0.shared.set_asleep(true);
        // Each thread starts what is stopped on its node, so that those that take long do
        // so together.
        wake::all();
        self.0
            .each(start_all_for_sleep)
            .inspect_err(|_| self.resume())
    }

    fn resume(&self) {
        self.0.shared.set_asleep(false);
        wake::all();
    }
}

/// The fleet, as it hears of its GPUs.
pub(crate) struct FleetListener(pub(crate) Arc<Fleet>);

impl Listener for FleetListener {
    fn bound(&self, device: Bound<'_>) {
        match self.0.find(device.device()) {
            Some(gpu) => gpu.bind(&device),
            None => {
                self.0.forget_namesake(device.device());
                if let Err(error) = self.0.add(&device) {
                    pr_err!(
                        "{} is not watched: {:?}\n",
                        gpu_name(device.device()),
                        error
                    );
                }
            }
        }
        wake::all();
    }

    fn unbinding(&self, device: &Device) {
        if let Some(gpu) = self.0.find(device) {
            gpu.announce_leave();
            wake::all();
            gpu.unbind();
        }
    }

    fn close(&self) {
        self.0.close();
    }
}
