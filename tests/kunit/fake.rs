// SPDX-License-Identifier: GPL-2.0-only

//! The fake amdgpu, as the suites use it: every test gets a GPU as it should be,
//! reached on the way that the module takes, and damages it.

use core::pin::Pin;
use gpreempt_policy::Nanos;
use kernel::prelude::*;
use kernel::sync::Mutex;
use kfd::driver::driver::{Bound, Device, Driver, Listener, Watch};
use kfd::driver::gpu::{Gpu, NodeData, Present};
use kfd::driver::node::Node;
use kfd::look::survey::Survey;

/// Where the fields are, by another program than the module.
#[allow(dead_code, unreachable_pub)]
pub(crate) mod layout {
    include!(env!("GP_LAYOUT"));
}

/// How many processes the fake has, and how many queues each of them.
pub(crate) const PROCESSES: usize = 2;
pub(crate) const QUEUES: usize = 3;

/// The process that every kernel has.
pub(crate) const INIT: i32 = 1;

/// `struct gp_fake_process`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct FakeProcess {
    pub(crate) process: *mut u8,
    pub(crate) pqm: *mut u8,
    pub(crate) pdd: *mut u8,
    pub(crate) qpd: *mut u8,
    pub(crate) entry: *mut u8,
    pub(crate) queues: [*mut u8; QUEUES],
}

/// `struct gp_fake`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Fake {
    pub(crate) adev: *mut u8,
    pub(crate) xcp_mgr: *mut u8,
    pub(crate) reset_domain: *mut u8,
    pub(crate) kfd: *mut u8,
    pub(crate) node: *mut u8,
    pub(crate) dqm: *mut u8,
    pub(crate) processes: [FakeProcess; PROCESSES],
    pub(crate) unmap_error: i32,
    pub(crate) map_errors: u32,
    pub(crate) mapped: u32,
    pub(crate) unmaps: u32,
    pub(crate) maps: u32,
    pub(crate) dump_error: i32,
    pub(crate) dump_registers: u32,
    pub(crate) dump_stride: u32,
    pub(crate) dumps: u32,
    pub(crate) wave_counts: u32,
    pub(crate) reset_at_map: u32,
    pub(crate) loads: u32,
    pub(crate) destroys: u32,
    pub(crate) destroy_error: i32,
    pub(crate) oversubscriptions: u32,
    pub(crate) check_preemption_failed: *mut usize,
    pub(crate) configure_error: i32,
    pub(crate) packet_error: i32,
    pub(crate) fence_error: i32,
    pub(crate) fence_ms: u32,
    pub(crate) limit_ms: i32,
    pub(crate) unyielding: u32,
    pub(crate) direct_unmaps: u32,
    pub(crate) releases: u32,
    pub(crate) grace: u32,
    pub(crate) fence_late: u32,
    pub(crate) unmap_error_at_map: i32,
    pub(crate) miscount_at_unmap: u32,
    pub(crate) word: u64,
}

extern "C" {
    static mut gp_fake: Fake;
    fn gp_fake_reset();
    fn gp_fake_locked() -> bool;
    fn gp_fake_reset_begins();
    fn gp_fake_reset_ends();
    fn gp_fake_add_queues(count: u32) -> i32;
    fn gp_fake_add_processes(count: u32, queues: u32) -> i32;
    fn gp_fake_stop(number: u32) -> i32;
    fn gp_fake_map(slot: u32, doorbell: u32, read: u32, write: u64, empty: bool);
    fn gp_fake_own(pid: i32, main_thread: bool) -> i32;
    fn gp_fake_own_test() -> i32;
    fn gp_fake_own_unused(ended: u32) -> i32;
    fn gp_fake_unused_counts() -> u64;
    fn gp_fake_own_contained() -> i32;
    fn gp_fake_own_leaving(ways: u32) -> i32;
    fn gp_fake_own_set_user_id() -> i32;
    fn gp_fake_own_other_user() -> i32;
    fn gp_fake_own_container(number: u64, programs: u32, moved: bool) -> i32;
    fn gp_fake_become(user: u32, users: bool);
    fn gp_fake_wait_for();
    fn gp_fake_own_named(name: *const c_char, cgroup: u64, pid: i32, later: u64) -> i32;
    fn gp_fake_exchange(names: *const c_char) -> i32;
    fn gp_fake_halt_when_waited_for(field: u32);
}

/// How long waves may go on, unless a packet says otherwise.
pub(crate) const GRACE: u32 = 0x40;

impl Fake {
    /// A copy of what the fake says now.
    pub(crate) fn now() -> Self {
        // SAFETY: Suites run one after the other, and nothing else writes it.
        unsafe { (&raw const gp_fake).read_volatile() }
    }

    /// Changes what the fake does.
    pub(crate) fn set(change: impl FnOnce(&mut Self)) {
        let mut fake = Self::now();
        change(&mut fake);
        // SAFETY: Suites run one after the other, and nothing else writes it.
        unsafe { (&raw mut gp_fake).write_volatile(fake) }
    }

    /// Gives the first process more queues for waves, before those that it has.
    pub(crate) fn add_queues(count: u32) -> Result {
        // SAFETY: The fake is there, because this module links to it.
        kernel::error::to_result(unsafe { gp_fake_add_queues(count) })
    }

    /// Has more processes with so many queues for waves each, before those that there
    /// are.
    pub(crate) fn add_processes(count: u32, queues: u32) -> Result {
        // SAFETY: The fake is there, because this module links to it.
        kernel::error::to_result(unsafe { gp_fake_add_processes(count, queues) })
    }

    /// Leaves a queue for waves as a stop would, counted through the processes.
    pub(crate) fn stop(number: u32) -> Result {
        // SAFETY: The fake is there, because this module links to it.
        kernel::error::to_result(unsafe { gp_fake_stop(number) })
    }

    /// Without the hardware scheduler.
    pub(crate) fn without_scheduler(&self) {
        let policy = layout::KFD_SCHED_POLICY_NO_HWS as u32;
        put(self.dqm, layout::DEVICE_QUEUE_MANAGER_SCHED_POLICY, policy);
    }

    /// Has a hardware queue hold the queue with a doorbell, or none if that is 0.
    pub(crate) fn map(slot: u32, doorbell: u32, read: u32, write: u64, empty: bool) {
        // SAFETY: The fake is there, because this module links to it.
        unsafe { gp_fake_map(slot, doorbell, read, write, empty) }
    }

    /// Has the first process be that of a task, or only its memory, as after the
    /// end of its main thread.
    pub(crate) fn own(pid: i32, main_thread: bool) -> Result {
        // SAFETY: The fake is there, because this module links to it.
        kernel::error::to_result(unsafe { gp_fake_own(pid, main_thread) })
    }

    /// Has the first process be that of the test, in whose thread it is called, once the test
    /// has memory.
    pub(crate) fn own_test() -> Result {
        // SAFETY: The fake is there, because this module links to it.
        kernel::error::to_result(unsafe { gp_fake_own_test() })
    }

    /// Has the first process be one whose memory is in use no more, though a thread has it,
    /// before which so many have ended.
    pub(crate) fn own_unused(ended: u32) -> Result {
        // SAFETY: The fake is there, because this module links to it.
        kernel::error::to_result(unsafe { gp_fake_own_unused(ended) })
    }

    /// How many use that memory, and how many references there are to what describes it.
    pub(crate) fn unused_counts() -> (u32, u32) {
        // SAFETY: The fake is there, because this module links to it.
        let counts = unsafe { gp_fake_unused_counts() };
        (counts as u32, (counts >> 32) as u32)
    }

    /// Has the main thread of the first process say that its program is about to give up
    /// its memory: a bit each for an exec, an exec in another thread, and an end.
    pub(crate) fn own_leaving(ways: u32) -> Result {
        // SAFETY: The fake is there, because this module links to it.
        kernel::error::to_result(unsafe { gp_fake_own_leaving(ways) })
    }

    /// Has the first process be one of the kernel's first program, in the innermost of
    /// two user namespaces, the outer one of which the kernel's first user has made.
    pub(crate) fn own_contained() -> Result {
        // SAFETY: The fake is there, because this module links to it.
        kernel::error::to_result(unsafe { gp_fake_own_contained() })
    }

    /// Has the first process be one of the kernel's first program that runs with the
    /// rights of another user, whose program it executes.
    pub(crate) fn own_set_user_id() -> Result {
        // SAFETY: The fake is there, because this module links to it.
        kernel::error::to_result(unsafe { gp_fake_own_set_user_id() })
    }

    /// Has the first process be another user's than all others.
    pub(crate) fn own_other_user() -> Result {
        // SAFETY: The fake is there, because this module links to it.
        kernel::error::to_result(unsafe { gp_fake_own_other_user() })
    }

    /// Has the first process be a program of root's whose cgroup namespace begins in a
    /// cgroup of a number, 0 if it ends and has none, and whose outermost process namespace
    /// has another number, 0 if it has but the initial one. Its main thread may be gone.
    pub(crate) fn own_container(number: u64, programs: u32, moved: bool) -> Result {
        // SAFETY: The fake is there, because this module links to it.
        kernel::error::to_result(unsafe { gp_fake_own_container(number, programs, moved) })
    }

    /// Has that program become another user within. Where `users`, whoever made its process
    /// namespace is in a user namespace.
    pub(crate) fn become_user(user: u32, users: bool) {
        // SAFETY: The fake is there, because this module links to it.
        unsafe { gp_fake_become(user, users) }
    }

    /// Has that program have ended, and have been waited for.
    pub(crate) fn wait_for() {
        // SAFETY: The fake is there, because this module links to it, and
        // `own_container()` has made the program.
        unsafe { gp_fake_wait_for() }
    }

    /// Has the first process be a program of a name in a cgroup of a number, with the
    /// process id of the kernel's first program, which began so much before.
    pub(crate) fn own_named(name: &CStr, cgroup: u64, later: u64) -> Result {
        // SAFETY: The fake is there, because this module links to it; the name is a string.
        let error = unsafe { gp_fake_own_named(name.as_char_ptr(), cgroup, INIT, later) };
        kernel::error::to_result(error)
    }

    /// Calls a function while two names of the driver's types stand for each other.
    pub(crate) fn with_exchanged<R>(names: &CStr, f: impl FnOnce() -> R) -> Result<R> {
        // SAFETY: The fake is there, because this module links to it; the names are a
        // string.
        let exchange = || unsafe { gp_fake_exchange(names.as_char_ptr()) };
        kernel::error::to_result(exchange())?;
        let result = f();
        kernel::error::to_result(exchange())?;
        Ok(result)
    }

    /// Has a flag of the queue manager set as soon as somebody waits for its lock, who
    /// has looked at the flag before.
    pub(crate) fn halt_when_waited_for(field: usize) -> Result {
        let field = u32::try_from(field).map_err(|_| EINVAL)?;
        // SAFETY: The fake is there, because this module links to it.
        unsafe { gp_fake_halt_when_waited_for(field) };
        Ok(())
    }

    /// Calls a function while the driver resets the GPU.
    pub(crate) fn during_reset<R>(f: impl FnOnce() -> R) -> R {
        // SAFETY: The fake is there, because this module links to it.
        unsafe { gp_fake_reset_begins() };
        let result = f();
        // SAFETY: Begun above.
        unsafe { gp_fake_reset_ends() };
        result
    }

    /// Whether a lock of the driver is held.
    pub(crate) fn locked() -> bool {
        // SAFETY: The fake is there, because this module links to it.
        unsafe { gp_fake_locked() }
    }
}

/// Writes a field of a structure of the fake.
pub(crate) fn put<T>(structure: *mut u8, offset: usize, value: T) {
    // SAFETY: The structures of the fake are as large as the layout says, and
    // nobody else uses them during a test.
    unsafe { structure.add(offset).cast::<T>().write_unaligned(value) }
}

/// Reads a field of a structure of the fake.
pub(crate) fn get<T: Copy>(structure: *mut u8, offset: usize) -> T {
    // SAFETY: The structures of the fake are as large as the layout says, and
    // nobody else uses them during a test.
    unsafe { structure.add(offset).cast::<T>().read_unaligned() }
}

/// Keeps nothing.
struct Nobody;

impl NodeData for Nobody {
    fn leave(&mut self, _gpu: &Present<'_>, _since: Nanos) {}
}

/// Keeps the GPU that the driver core tells about.
struct Catcher(Pin<KBox<Mutex<Option<Gpu<Nobody>>>>>);

impl Listener for Catcher {
    fn bound(&self, device: Bound<'_>) {
        *self.0.lock() = Gpu::new(&device, |_| Nobody).ok();
    }

    fn unbinding(&self, _device: &Device) {}

    fn close(&self) {}
}

/// Calls a function with the fake GPU, after it was made as it should be.
///
/// The driver core is asked for amdgpu and its device, as the module does.
pub(crate) fn with_gpu<R>(test: impl FnOnce(Option<&Present<'_>>) -> Result<R>) -> Result<R> {
    // SAFETY: The fake is there, because this module links to it.
    unsafe { gp_fake_reset() };
    let catcher = Catcher(KBox::pin_init(
        kernel::new_mutex!(None, "caught"),
        GFP_KERNEL,
    )?);
    let mut driver = Driver::pin()?;
    // It takes a while, and no test changes where things are.
    if !Driver::layout_is_known() {
        driver = driver.learn_layout()?;
    }
    let watch = KBox::pin_init(Watch::new(driver, catcher), GFP_KERNEL)?;
    watch.as_ref().find()?;
    let gpu = watch.listener().0.lock().take().ok_or(ENODEV)?;
    let result = gpu.with(0, |present, _| test(present)).ok_or(ENODEV)?;
    if Fake::locked() {
        return failed(fmt!("a lock of the driver is still held"));
    }
    result
}

/// Calls a function with the fake node.
pub(crate) fn with_node<R>(test: impl FnOnce(&Node<'_>) -> Result<R>) -> Result<R> {
    with_gpu(|gpu| {
        let nodes = gpu.ok_or(ENXIO)?.nodes().map_err(|_| EIO)?;
        let node = nodes.node(0).map_err(|_| EIO)?;
        test(&node)
    })
}

/// What is seen in the first look at a node.
pub(crate) fn look(node: &Node<'_>) -> Result<Survey> {
    let mut survey = Survey::new()?;
    survey.take(node, core::iter::empty());
    Ok(survey)
}

/// Notes why a test fails, and fails it.
pub(crate) fn failed<R>(why: kernel::fmt::Arguments<'_>) -> Result<R> {
    // Indented, as the notes of a test are.
    kernel::kunit::err(fmt!("    # {why}\n"));
    Err(EINVAL)
}

/// Fails a test unless it found what it expects.
pub(crate) fn expect<T: PartialEq + core::fmt::Debug>(found: T, expected: T) -> Result {
    if found == expected {
        Ok(())
    } else {
        failed(fmt!("{found:?} instead of {expected:?}"))
    }
}
