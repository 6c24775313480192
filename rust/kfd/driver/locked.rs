// SPDX-License-Identifier: GPL-2.0-only

//! A node whose queue manager's lock is held: the only way to its lists.

use crate::{
    driver::{
        census::Census,
        foreign::Foreign,
        layout::*,
        node::Node,
        process::{MemoryHandle, Task},
        queue::{counted_as, Activity, ProcessFacts, QueueFacts, QueueKind},
    },
    kernel::{bindings, count::Count},
};
use core::{ops::Deref, ptr::NonNull};
use kernel::types::NotThreadSafe;

/// More list entries than a node can have: as many queues as the driver's parameter
/// `max_num_of_queues_per_device` may say, and as many processes as there are PASIDs.
const MOST_ENTRIES: u32 = 512 * 1024 + 64 * 1024;

/// How many more entries than the driver counts a walk may meet, so that a counter which
/// is a little wrong is named as what it is.
const ENTRIES_UNCOUNTED: u32 = 64;

/// How often the lists were walked over.
pub static WALKS: Count = Count::new();

/// Proof that the queue manager's lock is held by this thread.
///
/// Everything that hangs on the queue manager's lists, queues and processes, is
/// alive as long as this is: the driver takes a thing off its list, under the
/// lock, before it frees it.
pub struct LockedNode<'a> {
    node: &'a Node<'a>,
    _thread: NotThreadSafe,
}

/// The queue manager's lock, released when dropped.
///
/// Nobody is lent the proof to change it, who could exchange it for that of another lock,
/// which is released in another way.
#[must_use = "the lock is released at once"]
pub struct QueueManagerLock<'a>(pub(super) LockedNode<'a>);

impl Node<'_> {
    /// Takes the lock of the queue manager.
    ///
    /// Until it is released: no user memory, no allocation, no other lock of
    /// the driver or of a process.
    pub fn lock(&self) -> QueueManagerLock<'_> {
        let lock = self.dqm().as_ptr::<u8>();
        // SAFETY: By the invariant of `Node` the queue manager is there; the layout
        // says where its mutex, whose size was compared, and its saved flags
        // are.
        unsafe {
            bindings::gp_dqm_lock(
                lock.wrapping_add(DEVICE_QUEUE_MANAGER_LOCK_HIDDEN.offset())
                    .cast(),
                lock.wrapping_add(DEVICE_QUEUE_MANAGER_SAVED_FLAGS.offset())
                    .cast(),
            )
        };
        // SAFETY: The lock was just taken.
        QueueManagerLock(unsafe { LockedNode::assume(self) })
    }
}

impl<'a> QueueManagerLock<'a> {
    /// The proof alone. Whoever has it sees to it that the lock is released, as the
    /// driver's own functions do.
    pub(crate) fn into_locked(self) -> LockedNode<'a> {
        let node = self.0.node;
        core::mem::forget(self);
        // SAFETY: `Node::lock` has taken the lock, and `self`, which would release it, is
        // forgotten.
        unsafe { LockedNode::assume(node) }
    }
}

impl<'a> Deref for QueueManagerLock<'a> {
    type Target = LockedNode<'a>;

    fn deref(&self) -> &LockedNode<'a> {
        &self.0
    }
}

impl Drop for QueueManagerLock<'_> {
    fn drop(&mut self) {
        let dqm = self.0.node.dqm().as_ptr::<u8>();
        // SAFETY: `Node::lock` took the lock by the counterpart, in the same
        // thread, because a `LockedNode` does not leave its thread.
        unsafe {
            bindings::gp_dqm_unlock(
                dqm.wrapping_add(DEVICE_QUEUE_MANAGER_LOCK_HIDDEN.offset())
                    .cast(),
                dqm.wrapping_add(DEVICE_QUEUE_MANAGER_SAVED_FLAGS.offset())
                    .cast(),
            )
        }
    }
}

/// A process whose queue a walk has just met. It lives as long as this, which does
/// not leave the walk.
pub(crate) struct Owner<'w>(&'w ProcessFacts);

impl Deref for Owner<'_> {
    type Target = ProcessFacts;

    fn deref(&self) -> &ProcessFacts {
        self.0
    }
}

impl Owner<'_> {
    /// Its main thread, to which a reference is taken.
    pub(crate) fn task(&self) -> Option<Task> {
        // SAFETY: The driver keeps the main thread of a process that has queues, and
        // the lock, which is held during the walk, keeps the process.
        unsafe { Task::from_raw(self.0.lead_thread.as_ptr()) }
    }

    /// The memory that the addresses of its queues are of, to which a reference is taken,
    /// while its program has that.
    ///
    /// Only those of a main context are addresses of the process's memory. Another context
    /// has addresses of its own, and what it was made with it neither needs nor keeps: that
    /// memory may have been another one's for long.
    pub(crate) fn memory(&self, task: &Task) -> Option<MemoryHandle> {
        let mm = self.0.mm.filter(|_| self.0.primary)?;
        MemoryHandle::of(task, NonNull::new(mm.as_ptr())?)
    }
}

/// The entries of a kernel list, as addresses of the structures that hold them.
struct List {
    head: Foreign,
    at: Option<Foreign>,
    offset: Offset,
}

impl List {
    /// The list with its head at `head`, of structures that hold their entry at
    /// `offset`.
    fn new(head: Foreign, offset: Offset) -> Self {
        Self {
            head,
            at: head.pointer(0usize),
            offset,
        }
    }

    /// Whether the walk ended before the head, at memory that cannot be read.
    fn broken(&self) -> bool {
        self.at.is_none()
    }
}

impl Iterator for List {
    type Item = Foreign;

    fn next(&mut self) -> Option<Foreign> {
        let entry = self.at.filter(|&at| at != self.head)?;
        self.at = entry.pointer(0usize);
        entry.whole(self.offset)
    }
}

impl<'a> LockedNode<'a> {
    /// Says that the lock is held.
    ///
    /// # Safety
    ///
    /// This thread must hold the lock of the node's queue manager for as long
    /// as the result lives.
    pub(crate) unsafe fn assume(node: &'a Node<'a>) -> Self {
        Self {
            node,
            _thread: NotThreadSafe,
        }
    }

    /// The node.
    pub fn node(&self) -> &Node<'a> {
        self.node
    }

    /// Walks over all queues, checks that everything fits together, and says
    /// what there is. What fits nowhere is counted and not visited.
    pub(crate) fn walk(&self, mut visit: impl FnMut(&Owner<'_>, &QueueFacts)) -> Census {
        WALKS.add();
        let mut census = Census::default();
        let dqm = self.node.dqm();
        let Some(head) = dqm.part(DEVICE_QUEUE_MANAGER_QUEUES) else {
            census.fault(Census::UNREADABLE);
            return census;
        };
        let mut budget = self.budget();
        let mut list = List::new(head, DEVICE_PROCESS_NODE_LIST);
        for entry in list.by_ref() {
            if !spend(&mut budget) {
                census.fault(Census::ENDLESS);
                return census;
            }
            census.processes = census.processes.saturating_add(1);
            match self.process(entry, &mut census) {
                Some(process) => {
                    self.queues(&process, &mut budget, &mut census, &mut visit);
                    kernel_queues(&process, &mut budget, &mut census);
                }
                None => census.fault(Census::UNREADABLE),
            }
        }
        if list.broken() {
            census.fault(Census::UNREADABLE);
        }
        self.compare(&mut census);
        census
    }

    /// How many entries a walk may meet, queues and processes: one that meets more than the driver counts goes
    /// round in circles, and it ends even where the counters are damaged too.
    pub(crate) fn budget(&self) -> u32 {
        let counters = [
            DEVICE_QUEUE_MANAGER_PROCESSES_COUNT,
            DEVICE_QUEUE_MANAGER_TOTAL_QUEUE_COUNT,
        ];
        // What cannot be read here is named when the counters are compared.
        let counted = counters.map(|at| self.node.dqm().read::<u32>(at).unwrap_or(0));
        let counted = counted.into_iter().fold(0, u32::saturating_add);
        counted.saturating_add(ENTRIES_UNCOUNTED).min(MOST_ENTRIES)
    }

    /// Only checks that everything fits together.
    pub fn census(&self) -> Census {
        self.walk(|_, _| ())
    }

    /// Reads a process.
    fn process(&self, entry: Foreign, census: &mut Census) -> Option<ProcessFacts> {
        let qpd = entry.pointer(DEVICE_PROCESS_NODE_QPD)?;
        let pdd = qpd.whole(KFD_PROCESS_DEVICE_QPD)?;
        let process = pdd.pointer(KFD_PROCESS_DEVICE_PROCESS)?;
        let mut fits = true;
        let mut misfit = |fault| {
            fits = false;
            census.fault(fault);
        };
        if qpd.pointer(QCM_PROCESS_DEVICE_DQM) != Some(self.node.dqm()) {
            misfit(Census::DQM);
        }
        if pdd.pointer(KFD_PROCESS_DEVICE_DEV) != Some(self.node.address()) {
            misfit(Census::PDD_DEV);
        }
        let pqm = qpd.pointer(QCM_PROCESS_DEVICE_PQM)?;
        if pqm.pointer(PROCESS_QUEUE_MANAGER_PROCESS) != Some(process) {
            misfit(Census::PQM);
        }
        let protected = self.protected(qpd, process)?;
        const KFD_CONTEXT_ID_PRIMARY: u16 = 0xffff;
        let primary = match KFD_PROCESS_CONTEXT_ID.get() {
            Some(at) => process.read::<u16>(at)? == KFD_CONTEXT_ID_PRIMARY,
            None => true,
        };
        Some(ProcessFacts {
            process,
            qpd,
            fits,
            lead_thread: process.pointer(KFD_PROCESS_LEAD_THREAD)?,
            mm: process.pointer(KFD_PROCESS_MM),
            protected,
            has_reset_queue: pdd.flag(KFD_PROCESS_DEVICE_HAS_RESET_QUEUE)?,
            primary,
        })
    }

    /// Whether a debugger or a checkpoint is using a process. A debugger sets its
    /// flag before it can suspend a queue, and holds the lock for that, so that there
    /// is no moment between.
    pub(crate) fn protected(&self, qpd: Foreign, process: Foreign) -> Option<bool> {
        Some(
            qpd.flag(QCM_PROCESS_DEVICE_IS_DEBUG)?
                || process.flag(KFD_PROCESS_DEBUG_TRAP_ENABLED)?
                || process.flag(KFD_PROCESS_QUEUES_PAUSED)?,
        )
    }

    /// Walks over the queues of a process.
    fn queues(
        &self,
        process: &ProcessFacts,
        budget: &mut u32,
        census: &mut Census,
        visit: &mut impl FnMut(&Owner<'_>, &QueueFacts),
    ) {
        let Some(head) = process.qpd.part(QCM_PROCESS_DEVICE_QUEUES_LIST) else {
            return census.fault(Census::UNREADABLE);
        };
        let mut length = 0u32;
        let mut list = List::new(head, QUEUE_LIST);
        for entry in list.by_ref() {
            if !spend(budget) {
                return census.fault(Census::ENDLESS);
            }
            length = length.saturating_add(1);
            match QueueFacts::read(entry, self.node.address(), process) {
                Ok(queue) => {
                    census.count(queue.kind, queue.activity == Activity::Active);
                    if process.fits {
                        visit(&Owner(process), &queue);
                    }
                }
                Err(misfit) => {
                    census.misfit(misfit);
                    if let Some((kind, active)) = counted_as(entry) {
                        census.count(kind, active);
                    }
                }
            }
        }
        if list.broken() {
            census.fault(Census::UNREADABLE);
        }
        if process.qpd.read(QCM_PROCESS_DEVICE_QUEUE_COUNT) != Some(length) {
            census.fault(Census::QUEUE_COUNT);
        }
    }

    /// Compares what was counted with what the driver counts.
    pub(crate) fn compare(&self, census: &mut Census) {
        let counters = [
            (
                DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT,
                census.active,
                Census::ACTIVE,
            ),
            (
                DEVICE_QUEUE_MANAGER_ACTIVE_CP_QUEUE_COUNT,
                census.active_compute,
                Census::ACTIVE_CP,
            ),
            (
                DEVICE_QUEUE_MANAGER_PROCESSES_COUNT,
                census.processes,
                Census::PROCESSES,
            ),
            (
                DEVICE_QUEUE_MANAGER_TOTAL_QUEUE_COUNT,
                census.queues,
                Census::TOTAL,
            ),
        ];
        for (which, (at, counted, fault)) in counters.into_iter().enumerate() {
            census.compare(which, counted, self.node.dqm().read(at), fault);
        }
    }
}

/// Counts the queues that the kernel has in a process. An image that is restored on Linux
/// 6.12 may have one, for a debugger. It runs, and is in the driver's counters, but in no list
/// of the process's own.
fn kernel_queues(process: &ProcessFacts, budget: &mut u32, census: &mut Census) {
    let Some(head) = process.qpd.part(QCM_PROCESS_DEVICE_PRIV_QUEUE_LIST) else {
        return census.fault(Census::UNREADABLE);
    };
    // How many there are matters, and not where they begin.
    let mut list = List::new(head, QUEUE_LIST);
    for _ in list.by_ref() {
        if !spend(budget) {
            return census.fault(Census::ENDLESS);
        }
        census.count(QueueKind::Compute, true);
    }
    if list.broken() {
        census.fault(Census::UNREADABLE);
    }
}

/// Takes one from a budget, unless it is spent.
fn spend(budget: &mut u32) -> bool {
    let left = budget.checked_sub(1);
    *budget = left.unwrap_or(0);
    left.is_some()
}
