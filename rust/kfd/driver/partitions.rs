// SPDX-License-Identifier: GPL-2.0-only

//! The lock against a change of partitions. A GPU without partitions has none.

use crate::driver::foreign::Foreign;
use crate::driver::gpu::Away;
use crate::driver::gpu::Present;
use crate::driver::layout::*;
use crate::kernel::bindings;

/// The partitions of a GPU, which cannot change while this lives.
pub(crate) struct Partitions<'a> {
    lock: Option<Foreign>,
    _gpu: &'a Present<'a>,
}

impl<'a> Partitions<'a> {
    pub(crate) fn hold(gpu: &'a Present<'a>) -> Result<Self, Away> {
        let manager = gpu
            .adev()
            .read::<usize>(AMDGPU_DEVICE_XCP_MGR)
            .ok_or(Away::Misfit)?;
        let lock = match Foreign::new(manager) {
            Some(manager) => Some(manager.part(AMDGPU_XCP_MGR_XCP_LOCK).ok_or(Away::Misfit)?),
            None => None,
        };
        if let Some(lock) = lock {
            // SAFETY: By the invariant of `Present` the GPU and with it its
            // partition manager is there; the layout says that this is its
            // mutex, whose size the shim has compared.
            unsafe { bindings::gp_mutex_lock(lock.as_ptr()) };
        }
        Ok(Self { lock, _gpu: gpu })
    }
}

impl Drop for Partitions<'_> {
    fn drop(&mut self) {
        if let Some(lock) = self.lock {
            // SAFETY: Taken by `hold`, in the same thread, because a guard
            // borrows from `Present`, which does not leave its thread.
            unsafe { bindings::gp_mutex_unlock(lock.as_ptr()) }
        }
    }
}
