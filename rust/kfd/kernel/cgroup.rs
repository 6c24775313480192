// SPDX-License-Identifier: GPL-2.0-only

//! Cgroups of the default hierarchy.

use crate::kernel::bindings;
use core::ptr::NonNull;
use kernel::{error::from_err_ptr, prelude::*};

/// A cgroup, with a reference. It may have been removed.
///
/// # Invariants
///
/// The pointer is to a cgroup on which a reference is held.
pub struct Cgroup(NonNull<kernel::bindings::cgroup>);

// SAFETY: References to cgroups may be dropped by any thread.
unsafe impl Send for Cgroup {}
// SAFETY: Only what any thread may ask is asked.
unsafe impl Sync for Cgroup {}

impl Cgroup {
    /// Finds a cgroup by its path.
    pub(crate) fn find(path: &CStr) -> Result<Self> {
        // SAFETY: `path` is a string that outlives the call. The call may sleep: rules are
        // looked up on behalf of a writer to a file, who holds nothing that forbids it.
        let cgroup = from_err_ptr(unsafe { bindings::gp_cgroup_get(path.as_char_ptr()) })?;
        // INVARIANT: The shim took a reference.
        NonNull::new(cgroup).map(Self).ok_or(ENOENT)
    }

    /// The cgroup that a task is in, if the kernel has cgroups.
    ///
    /// # Safety
    ///
    /// A reference to the task must be held during the call.
    pub(crate) unsafe fn of_task(task: *mut kernel::bindings::task_struct) -> Option<Self> {
        // SAFETY: By the function's requirement a reference to the task is held.
        let cgroup = unsafe { bindings::gp_task_cgroup_get(task) };
        // INVARIANT: The shim took a reference.
        NonNull::new(cgroup).map(Self)
    }

    /// Whether it has not been removed.
    pub(crate) fn alive(&self) -> bool {
        // SAFETY: By the type's invariant a reference to the cgroup is held.
        unsafe { bindings::gp_cgroup_alive(self.0.as_ptr()) }
    }

    /// Its number, which no other cgroup has had or will have.
    pub(crate) fn number(&self) -> u64 {
        // SAFETY: By the type's invariant a reference to the cgroup is held.
        unsafe { bindings::gp_cgroup_id(self.0.as_ptr()) }
    }

    /// Whether another one is this one or below it.
    pub(crate) fn holds(&self, other: &Cgroup) -> bool {
        // SAFETY: By the type's invariant references to both cgroups are held, each of
        // which keeps those above it.
        unsafe { bindings::gp_cgroup_holds(self.0.as_ptr(), other.0.as_ptr()) }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant, and this is the reference's end.
        unsafe { bindings::gp_cgroup_put(self.0.as_ptr()) }
    }
}
