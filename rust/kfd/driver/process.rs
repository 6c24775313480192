// SPDX-License-Identifier: GPL-2.0-only

//! Processes that own queues.

use crate::{
    driver::foreign::AnyBits,
    kernel::{bindings, cgroup::Cgroup, thread::Running},
};
use core::ptr::NonNull;
use kernel::types::NotThreadSafe;

/// The length of a command name.
pub const COMM_LEN: usize = 16;

/// A task, with a reference.
///
/// # Invariants
///
/// The pointer is to a task on which a reference is held.
pub struct Task(NonNull<kernel::bindings::task_struct>);

// SAFETY: References to tasks may be dropped by any thread.
unsafe impl Send for Task {}
// SAFETY: Only what may be read by any thread is read.
unsafe impl Sync for Task {}

impl Task {
    /// Takes a reference.
    ///
    /// # Safety
    ///
    /// The task must be alive during the call.
    pub(crate) unsafe fn from_raw(task: *mut kernel::bindings::task_struct) -> Option<Self> {
        let task = NonNull::new(task)?;
        // SAFETY: By the function's requirement the task is alive.
        unsafe { bindings::gp_task_get(task.as_ptr()) };
        // INVARIANT: The reference was just taken.
        Some(Self(task))
    }

    /// The process id in the initial namespace.
    pub fn pid(&self) -> i32 {
        // SAFETY: By the type's invariant a reference to the task is held.
        unsafe { bindings::gp_task_pid(self.0.as_ptr()) }
    }

    /// The command name, ended by zeros.
    pub fn comm(&self) -> [u8; COMM_LEN] {
        let mut comm = [0u8; COMM_LEN];
        // SAFETY: By the type's invariant; the shim writes `COMM_LEN` bytes.
        unsafe { bindings::gp_task_comm(self.0.as_ptr(), comm.as_mut_ptr().cast()) };
        comm
    }

    /// The tenant that it belongs to: equal numbers are one tenant. To be asked without any
    /// lock.
    pub fn tenant(&self) -> u64 {
        // SAFETY: By the type's invariant a reference to the task is held.
        unsafe { bindings::gp_task_tenant(self.0.as_ptr()) }
    }

    /// The number of the cgroup that it is in.
    pub(crate) fn cgroup(&self) -> u64 {
        // SAFETY: By the type's invariant a reference to the task is held.
        unsafe { bindings::gp_task_cgroup(self.0.as_ptr()) }
    }

    /// Whether its program is about to give up its memory: it executes another one, or
    /// ends.
    pub(crate) fn is_leaving(&self) -> bool {
        // SAFETY: By the type's invariant a reference to the task is held.
        unsafe { bindings::gp_task_is_leaving(self.0.as_ptr()) }
    }

    /// What rules go by now, to be compared with what they went by before.
    pub fn traits(&self) -> Traits {
        Traits {
            comm: self.comm(),
            cgroup: self.cgroup(),
        }
    }

    /// What rules go by.
    pub fn identity(&self) -> Identity {
        Identity {
            program: self.program(),
            comm: self.comm(),
            // SAFETY: By the type's invariant a reference to the task is held.
            cgroup: unsafe { Cgroup::of_task(self.0.as_ptr()) },
        }
    }

    /// The program whose main thread it is or was.
    pub fn program(&self) -> Program {
        Program {
            pid: self.pid(),
            // SAFETY: By the type's invariant the task is there.
            began: unsafe { bindings::gp_task_began(self.0.as_ptr()) },
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant, and this is the reference's end.
        unsafe { bindings::gp_task_put(self.0.as_ptr()) }
    }
}

/// A program: a thread group, whatever it executes and however many contexts it has.
///
/// A process id is given again only after its program has ended, so that whoever has it
/// then began later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    pid: i32,
    began: u64,
}

impl Program {
    /// The process id in the initial namespace.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// The program that has a process id in the initial namespace, if any has.
    pub(crate) fn with_pid(pid: i32) -> Option<Self> {
        let mut began = 0;
        // SAFETY: The shim takes any number, and writes another one to `began`.
        let is_there = unsafe { bindings::gp_program_began(pid, &raw mut began) };
        is_there.then_some(Self { pid, began })
    }

    /// Whether its process id is still its own: until it has ended and its parent has
    /// been told.
    pub(crate) fn has_its_pid(&self) -> bool {
        Self::with_pid(self.pid) == Some(*self)
    }

    /// A number for it, the same at each look, so that what is remembered about a program
    /// does not end with its last queue. Two programs share one only if they had the same
    /// process id, and began a multiple of 51 days apart.
    pub fn name(&self) -> u64 {
        /// Process ids are below 2^22, and nobody gets one again within a microsecond.
        const PID_BITS: u32 = 22;
        let microseconds = self.began >> 10;
        (microseconds << PID_BITS) | u64::from(self.pid.unsigned_abs())
    }
}

/// What a program can change of that which rules go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// The command name, ended by zeros.
    pub comm: [u8; COMM_LEN],
    /// The number of its cgroup. No cgroup has had the number of another one, which
    /// cannot be said of addresses.
    cgroup: u64,
}

/// What rules go by, as of one moment: the name and the cgroup are those that
/// [`Identity::traits`] tells, whatever has become of the program since.
pub struct Identity {
    pub(crate) program: Program,
    pub(crate) comm: [u8; COMM_LEN],
    pub(crate) cgroup: Option<Cgroup>,
}

impl Identity {
    /// The part that can change.
    pub fn traits(&self) -> Traits {
        Traits {
            comm: self.comm,
            cgroup: self.cgroup.as_ref().map_or(0, Cgroup::number),
        }
    }
}

/// The memory of a process, kept in use.
///
/// # Invariants
///
/// The pointer is to an mm_struct on which a user reference is held.
pub(crate) struct Memory(NonNull<kernel::bindings::mm_struct>);

// SAFETY: The last use by any thread takes the process down in a worker.
unsafe impl Send for Memory {}

impl Memory {
    /// Calls a function that may read the memory. No lock of the driver may be held.
    ///
    /// A thread uses one memory at a time: while `f` runs, the thread is borrowed, and
    /// without it no other memory can be entered.
    pub(crate) fn enter<R>(&self, _thread: &mut Running, f: impl FnOnce(&Inside<'_>) -> R) -> R {
        // SAFETY: By the type's invariant the memory is in use. By that of `Running` this
        // is a kernel thread of ours and `_thread` its only one, which is borrowed until
        // the memory is left, so that the thread uses no other.
        unsafe { bindings::gp_mm_enter(self.0.as_ptr()) };
        let inside = Inside {
            _memory: self,
            _thread: NotThreadSafe,
        };
        let result = f(&inside);
        // SAFETY: Entered above in this thread, which has entered no other since and left
        // this one nowhere else.
        unsafe { bindings::gp_mm_leave(self.0.as_ptr()) };
        result
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant, and this is the reference's end.
        unsafe { bindings::gp_mm_put(self.0.as_ptr()) }
    }
}

/// The memory of a process, not kept in use, that can be told from any other.
///
/// # Invariants
///
/// The pointer is to an mm_struct to which a reference is held.
pub(crate) struct MemoryHandle(NonNull<kernel::bindings::mm_struct>);

// SAFETY: References to the structure may be dropped by any thread.
unsafe impl Send for MemoryHandle {}

impl MemoryHandle {
    /// Takes a reference, if the memory at this address is that of a thread of the program
    /// whose main thread is given. There may be nothing any more.
    pub(crate) fn of(task: &Task, mm: NonNull<kernel::bindings::mm_struct>) -> Option<Self> {
        // SAFETY: By the type's invariant a reference to the task is held. The shim compares
        // the other address, and reads there only what a thread has.
        let has = unsafe { bindings::gp_mm_handle_get(task.0.as_ptr(), mm.as_ptr()) };
        // INVARIANT: The shim took a reference.
        has.then(|| Self(mm))
    }

    /// The memory, unless the process is gone.
    pub(crate) fn memory(&self) -> Option<Memory> {
        // SAFETY: By the type's invariant a reference to the structure is held.
        let alive = unsafe { bindings::gp_mm_revive(self.0.as_ptr()) };
        // INVARIANT: The shim took a reference.
        alive.then(|| Memory(self.0))
    }

    /// What its program has written last to say that it prepares a request, if it has
    /// mapped a page for that.
    pub(crate) fn hint(&self) -> Option<u32> {
        let mut number = 0;
        // SAFETY: By the type's invariant a reference to the structure is held, so that no
        // other memory has its address; the shim compares that and writes one number.
        let has = unsafe { bindings::gp_hint_read(self.0.as_ptr(), &raw mut number) };
        has.then_some(number)
    }
}

impl Drop for MemoryHandle {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant, and this is the reference's end.
        unsafe { bindings::gp_mm_handle_put(self.0.as_ptr()) }
    }
}

/// Proof that the thread uses a process's memory.
///
/// # Invariants
///
/// It exists only in a thread that has entered the memory and not left it.
pub(crate) struct Inside<'a> {
    _memory: &'a Memory,
    _thread: NotThreadSafe,
}

impl Inside<'_> {
    /// Reads a word of user memory, if it is present.
    pub(crate) fn read<T: AnyBits>(&self, address: u64) -> Option<T> {
        const {
            assert!(size_of::<T>() == 4 || size_of::<T>() == 8);
            assert!(align_of::<T>() == size_of::<T>());
        };
        let mut value = T::default();
        // SAFETY: By the type's invariant the thread uses the process's memory; the
        // shim never faults and fails where there is none; `value` has room for
        // its own size and is aligned by it, and any bytes are a value of it.
        let read =
            unsafe { bindings::gp_read_user((&raw mut value).cast(), address, size_of::<T>()) };
        read.then_some(value)
    }
}
