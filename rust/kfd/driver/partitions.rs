// SPDX-License-Identifier: GPL-2.0-only

//! What keeps the nodes of a GPU as they are, for however long that takes.
//!
//! The driver divides a GPU anew while it holds its partition lock, and refuses to as
//! long as KFD counts a process that uses the GPU; it looks at that count with the
//! lock held. So whoever joins those that are counted, under the lock, keeps the
//! nodes in place and can let go of the lock at once: programs that open the GPU wait
//! for it, and so would all nodes for one whose queues do not yield.
//!
//! Where KFD counts nobody, no node has a queue that could fail to yield. Then the
//! lock itself is kept, so that a division that KFD would allow waits for us and is
//! not refused on our account. So it is with a driver that does not count.

use crate::{
    driver::{
        foreign::Foreign,
        gpu::{Away, Present},
        layout::*,
    },
    kernel::bindings,
};

/// The partition lock of a GPU, held. A GPU without partitions has none.
///
/// # Invariants
///
/// `lock` is the driver's mutex, and this thread holds it.
pub(crate) struct PartitionLock<'a> {
    lock: Option<Foreign>,
    gpu: &'a Present<'a>,
}

impl<'a> PartitionLock<'a> {
    pub(crate) fn take(gpu: &'a Present<'a>) -> Result<Self, Away> {
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
            // mutex, whose size was compared.
            unsafe { bindings::gp_mutex_lock(lock.as_ptr()) };
        }
        // INVARIANT: Just taken.
        Ok(Self { lock, gpu })
    }

    /// Keeps the nodes of `kfd` as they are, without the lock if KFD counts anybody.
    ///
    /// # Safety
    ///
    /// `kfd` must be the `struct kfd_dev` of the GPU as it is under this lock.
    pub(crate) unsafe fn keep_nodes(self, kfd: Foreign) -> Kept<'a> {
        let users = KFD_DEV_KFD_PROCESSES_COUNT
            .get()
            .and_then(|at| kfd.part(at));
        // SAFETY: By the function's requirement `kfd` is there and stays while the
        // lock is held; the layout says that this is its count, an `atomic_t`.
        match users.filter(|users| unsafe { bindings::gp_users_join(users.as_ptr()) }) {
            Some(users) => {
                // INVARIANT: Just counted.
                let counted = Counted {
                    users,
                    _gpu: self.gpu,
                };
                Kept::Counted { _counted: counted }
            }
            None => Kept::Locked { _lock: self },
        }
    }
}

impl Drop for PartitionLock<'_> {
    fn drop(&mut self) {
        if let Some(lock) = self.lock {
            // SAFETY: By the type's invariant this thread holds it: a guard
            // borrows from `Present`, which does not leave its thread.
            unsafe { bindings::gp_mutex_unlock(lock.as_ptr()) }
        }
    }
}

/// One of those that KFD counts as users of a GPU.
///
/// # Invariants
///
/// `users` is the count of a `struct kfd_dev` of the GPU, in which this is counted:
/// the driver keeps the structure until the count is 0, or until it lets go of the GPU,
/// which waits for the mutex that `Present` stands for.
pub(crate) struct Counted<'a> {
    users: Foreign,
    _gpu: &'a Present<'a>,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant the count is there and has this in it.
        unsafe { bindings::gp_users_leave(self.users.as_ptr()) }
    }
}

/// What keeps the nodes of a GPU as they are while it lives.
pub(crate) enum Kept<'a> {
    /// Being counted as a user.
    Counted { _counted: Counted<'a> },
    /// The partition lock.
    Locked { _lock: PartitionLock<'a> },
}
