// SPDX-License-Identifier: GPL-2.0-only

//! The driver's own stop of all queues of a process on a node, which it has for when
//! memory is short, and what keeps the process for it.

use crate::driver::foreign::Foreign;
use crate::driver::layout::*;
use crate::driver::node::Node;
use crate::driver::node::SchedPolicy;
use crate::driver::operation;
use crate::driver::operation::Operation;
use crate::driver::process::Memory;
use crate::driver::process::MemoryHandle;
use crate::driver::process::Task;
use crate::driver::queue::QueueKind;
use crate::kernel::bindings;
use kernel::prelude::*;

/// A process on a node that may be evicted and restored.
///
/// # Invariants
///
/// `process`, `qpd` and `dqm` are the driver's structures of the process and of its
/// node. They live as long as the process's memory is in use: it is a main context,
/// which the driver takes down after that.
pub(crate) struct Evictable {
    process: Foreign,
    qpd: Foreign,
    dqm: Foreign,
    memory: MemoryHandle,
}

impl Evictable {
    /// The process, by its name in the driver.
    pub(crate) fn process(&self) -> usize {
        self.process.address()
    }

    /// Whether it is on a node.
    pub(crate) fn is_on(&self, node: &Node<'_>) -> bool {
        self.dqm == node.dqm()
    }

    /// The process on a node, unless it is gone from there or altogether.
    pub(crate) fn alive<'a>(&'a self, node: &'a Node<'a>) -> Option<Lodger<'a>> {
        let memory = self.memory.memory().filter(|_| self.is_on(node))?;
        // INVARIANT: By the type's invariant; the memory is in use now.
        Some(Lodger {
            node,
            process: self.process,
            qpd: self.qpd,
            memory,
        })
    }

    /// Whether the process is gone.
    pub(crate) fn is_gone(&self) -> bool {
        !self.memory.is_in_use()
    }
}

/// A process on a node, kept alive.
///
/// # Invariants
///
/// `process` and `qpd` are the driver's structures of a main context on `node`, whose
/// memory is `memory`, and so live as long as this.
pub(crate) struct Lodger<'a> {
    node: &'a Node<'a>,
    process: Foreign,
    qpd: Foreign,
    memory: Memory,
}

impl<'a> Lodger<'a> {
    /// The node.
    pub(crate) fn node(&self) -> &'a Node<'a> {
        self.node
    }

    /// What is to be kept of it.
    pub(crate) fn keep(&self) -> Evictable {
        // INVARIANT: That of `self`.
        Evictable {
            process: self.process,
            qpd: self.qpd,
            dqm: self.node.dqm(),
            memory: MemoryHandle::new(&self.memory),
        }
    }

    /// How many evictions hold it.
    pub(crate) fn evictions(&self) -> u32 {
        let _locked = self.node.lock();
        self.qpd.read(QCM_PROCESS_DEVICE_EVICTED).unwrap_or(0)
    }

    /// Whether no eviction holds it, and no debugger or checkpoint is using it.
    pub(crate) fn is_free(&self) -> bool {
        let locked = self.node.lock();
        self.qpd.read::<u32>(QCM_PROCESS_DEVICE_EVICTED) == Some(0)
            && locked.protected(self.qpd, self.process) == Some(false)
    }

    /// Its main thread, and whether that still has the process's memory.
    pub(crate) fn main_thread(&self) -> Option<(Task, bool)> {
        let thread = self.process.pointer(KFD_PROCESS_LEAD_THREAD)?;
        // SAFETY: By the type's invariant the process is there, which keeps its main
        // thread.
        let task = unsafe { Task::from_raw(thread.as_ptr()) }?;
        let has_memory = task.uses(&self.memory);
        Some((task, has_memory))
    }

    /// Evicts it. Returns what the driver does, which counts the eviction before it
    /// tries.
    pub(crate) fn evict(&self) -> i32 {
        self.call(evict(self.node))
    }

    /// Undoes an eviction. Returns what the driver does.
    pub(crate) fn restore(&self) -> i32 {
        self.node.lock().expect_oversubscription();
        self.call(restore(self.node))
    }

    /// Calls an operation of the queue manager on it.
    fn call(&self, operation: &Operation) -> i32 {
        let dqm = self.node.dqm();
        let Some(function) = operation.of(dqm, self.node.gpu()) else {
            return EFAULT.to_errno();
        };
        // SAFETY: By the invariant of `Node` the queue manager is there, by that of
        // `self` the process and what the driver has of it, and by that of `Function`
        // this is one of the driver's two operations, which have this type.
        unsafe { bindings::gp_call_evict(function.as_ptr(), dqm.as_ptr(), self.qpd.as_ptr()) }
    }
}

/// The operation that takes a process off the hardware, by the way in which the driver
/// hands queues to it.
pub(crate) fn evict(node: &Node<'_>) -> &'static Operation {
    match node.sched_policy() {
        Some(SchedPolicy::NoHws) => &operation::EVICT_BY_DRIVER,
        _ => &operation::EVICT_BY_SCHEDULER,
    }
}

/// The operation that undoes it.
pub(crate) fn restore(node: &Node<'_>) -> &'static Operation {
    match node.sched_policy() {
        Some(SchedPolicy::NoHws) => &operation::RESTORE_BY_DRIVER,
        _ => &operation::RESTORE_BY_SCHEDULER,
    }
}

/// Room to look processes up, allocated once.
///
/// # Invariants
///
/// They are sorted by process, and were looked for on the node with the queue manager
/// `dqm`.
pub(crate) struct Search {
    sought: KVVec<Sought>,
    dqm: Option<Foreign>,
}

/// A process that is looked for.
struct Sought {
    process: usize,
    /// One of its queues forbids to touch it.
    refused: bool,
    met: Option<Met>,
}

/// A main context that a walk has met.
///
/// # Invariants
///
/// `process` and `qpd` are the driver's structures of it, and `memory` is its memory.
struct Met {
    process: Foreign,
    qpd: Foreign,
    memory: MemoryHandle,
}

impl Search {
    /// Room for so many processes.
    pub(crate) fn new(most: usize) -> Result<Self> {
        Ok(Self {
            sought: KVVec::with_capacity(most, GFP_KERNEL)?,
            dqm: None,
        })
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.sought.clear();
        self.dqm = None;
    }

    /// Looks processes up, which come sorted, each once, in one walk.
    pub(crate) fn find(&mut self, node: &Node<'_>, processes: impl Iterator<Item = usize>) {
        self.clear();
        // INVARIANT: The walk is over this node.
        self.dqm = Some(node.dqm());
        for process in processes {
            // INVARIANT: They come sorted.
            let _ = self.sought.push_within_capacity(Sought {
                process,
                refused: false,
                met: None,
            });
        }
        if self.sought.is_empty() {
            return;
        }
        node.lock().walk(|owner, queue| {
            let Some(sought) = self.sought(owner.process.address()) else {
                return;
            };
            sought.refused |= owner.protected
                || owner.has_reset_queue
                || (queue.kind == QueueKind::Compute && (queue.doomed || queue.gws));
            if sought.met.is_none() {
                // INVARIANT: The walk has just met it, and a memory is only had of a main
                // context.
                sought.met = owner.memory().map(|memory| Met {
                    process: owner.process,
                    qpd: owner.qpd,
                    memory,
                });
            }
        });
    }

    fn sought(&mut self, process: usize) -> Option<&mut Sought> {
        let at = self
            .sought
            .binary_search_by_key(&process, |sought| sought.process);
        at.ok().and_then(|at| self.sought.get_mut(at))
    }

    /// Takes a process that was looked up, if it may be evicted and has not ended since.
    pub(crate) fn take<'a>(&mut self, node: &'a Node<'a>, process: usize) -> Option<Lodger<'a>> {
        if self.dqm != Some(node.dqm()) {
            return None;
        }
        let sought = self.sought(process).filter(|sought| !sought.refused)?;
        let met = sought.met.take()?;
        let memory = met.memory.memory()?;
        // INVARIANT: A walk over `node` has met the process, a main context with this
        // memory. The memory is in use now, and so was since: once out of use, it stays so.
        Some(Lodger {
            node,
            process: met.process,
            qpd: met.qpd,
            memory,
        })
    }
}
