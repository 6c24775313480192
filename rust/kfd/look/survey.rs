// SPDX-License-Identifier: GPL-2.0-only

//! One look at all queues of a node: first their facts, under the lock, then
//! without it what user memory and the hardware say of them.

#![forbid(unsafe_code)]

use crate::{
    driver::{
        census::Census,
        gpu::Present,
        hardware,
        hardware::HardwareSource,
        locked::{LockedNode, Owner},
        node::Node,
        process::{Inside, MemoryHandle, Task},
        queue::{Activity, Format, QueueFacts, QueueKind},
    },
    kernel::{clock, thread::Running},
    look::{
        crowd::{Crowd, Known, LeftOut},
        registers::Registers,
        sample::Sample,
        stops::Stops,
    },
};
use gpreempt_policy::{Nanos, Priority, Waves, QUEUE_SLOTS};
use kernel::prelude::*;

/// A program may say for as long as it likes that it is about to give up its memory, while
/// its queues go on. So in one look of so many it is not believed. That is seldom, because one
/// that does give it up may have it kept just then (docs/operations.md, Programs that end).
const BELIEVED: u32 = 1024;

/// A process with compute queues.
pub struct ProcessSeen {
    /// Its name in the driver.
    pub process: usize,
    /// Its main thread.
    pub task: Task,
    /// How many compute queues it has.
    pub compute_queues: u32,
    /// The memory that the addresses of its queues are of.
    memory: Option<MemoryHandle>,
    /// What its program has written last to say that it prepares a request.
    pub hint: Option<u32>,
    /// One of its queues runs, or would but for a stop: of the others nothing is asked.
    runs: bool,
    /// That it is about to give up its memory is not believed in this look.
    insists: bool,
}

impl ProcessSeen {
    /// Its memory, if anything is to be asked there.
    fn readable(&self) -> Option<&MemoryHandle> {
        let memory = self.memory.as_ref();
        memory.filter(|_| self.runs && (self.insists || !self.task.is_leaving()))
    }
}

/// A compute queue.
pub struct QueueSeen {
    /// What the driver says.
    pub facts: QueueFacts,
    /// Its process, as a place in [`Survey::processes`].
    pub process: usize,
    /// What user memory and the hardware say.
    pub sample: Sample,
    /// It is the queue that the ROCm runtime keeps for itself.
    pub internal: bool,
}

/// What a walk has counted beside the queues that it keeps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    /// Compute queues beyond those that there is room for.
    pub beyond: u32,
    /// Those of them that only a stop of ours keeps from running: there are more of
    /// a process than its share.
    pub stopped_beyond: u32,
    /// The driver has left out to count a queue with GWS.
    pub uncounted_gws: bool,
    /// Queues that copy.
    pub copy_queues: u32,
}

/// What one look saw. The memory is allocated once and used again.
pub struct Survey {
    queues: KVVec<QueueSeen>,
    processes: KVVec<ProcessSeen>,
    census: Census,
    crowd: Crowd,
    stops: Stops,
    counted: Counted,
    /// How many dies the node has.
    dies: u32,
    began: Nanos,
    looks: u32,
}

impl Survey {
    /// Room for as many queues as a node is sized for.
    pub fn new() -> Result<Self> {
        Ok(Self {
            queues: KVVec::with_capacity(QUEUE_SLOTS, GFP_KERNEL)?,
            processes: KVVec::with_capacity(QUEUE_SLOTS, GFP_KERNEL)?,
            census: Census::default(),
            crowd: Crowd::new()?,
            stops: Stops::new()?,
            counted: Counted::default(),
            dies: 1,
            began: Nanos::ZERO,
            looks: 0,
        })
    }

    /// The compute queues, in the driver's order.
    pub fn queues(&self) -> &[QueueSeen] {
        &self.queues
    }

    #[cfg(CONFIG_KUNIT)]
    /// The compute queues, for tests of what is made of the samples.
    pub fn forge(&mut self) -> &mut [QueueSeen] {
        &mut self.queues
    }

    /// The processes that own them.
    pub fn processes(&self) -> &[ProcessSeen] {
        &self.processes
    }

    /// What was counted beside.
    pub fn counted(&self) -> &Counted {
        &self.counted
    }

    /// What the driver's lists come to.
    pub fn census(&self) -> &Census {
        &self.census
    }

    /// The processes of which not all queues are in view.
    pub fn left_out(&self) -> impl Iterator<Item = LeftOut> + '_ {
        self.crowd.left_out()
    }

    /// When the last look began, after the wait for the lock.
    pub fn began(&self) -> Nanos {
        self.began
    }

    /// Looks at the queues of a node, of which some are known from the last look.
    /// References to tasks and memories are dropped before, and nothing is allocated.
    ///
    /// Only where there is not room for all queues is there more than one walk.
    pub fn take(&mut self, node: &Node<'_>, known: impl Iterator<Item = Known> + Clone) {
        self.dies = node.xcc_mask().count_ones();
        self.looks = self.looks.wrapping_add(1);
        self.stops.remember(known.clone());
        if !self.crowd.chooses() {
            self.walk(node);
        }
        if self.crowd.chooses() || self.counted.beyond > 0 {
            self.crowd.choose(node, known);
            self.walk(node);
            if self.counted.beyond == 0 {
                self.crowd.dissolve();
            }
        }
        self.mark_internal();
    }

    /// Forgets what was seen.
    pub fn clear(&mut self) {
        self.crowd.dissolve();
        self.empty();
    }

    fn empty(&mut self) {
        self.queues.clear();
        self.processes.clear();
        self.counted = Counted::default();
    }

    /// One walk over the queues, which keeps those that there is room for.
    fn walk(&mut self, node: &Node<'_>) {
        self.empty();
        let locked = node.lock();
        self.began = clock::now();
        self.census = self.read(&locked);
    }

    fn read(&mut self, locked: &LockedNode<'_>) -> Census {
        locked.walk(|owner, facts| {
            if facts.kind != QueueKind::Compute {
                let copies = u32::from(facts.kind == QueueKind::Copy);
                self.counted.copy_queues = self.counted.copy_queues.saturating_add(copies);
                return;
            }
            let facts = &self.stops.judge(facts);
            self.counted.uncounted_gws |= facts.uncounted_gws;
            let chosen = self.crowd.keeps(facts);
            let room = self.queues.len() < self.queues.capacity();
            let process = (chosen && room)
                .then(|| self.process(owner, facts))
                .flatten();
            let kept = process.and_then(|process| {
                let seen = QueueSeen {
                    facts: *facts,
                    process,
                    sample: Sample::default(),
                    internal: false,
                };
                self.queues.push_within_capacity(seen).ok()
            });
            if kept.is_none() {
                self.counted.beyond = self.counted.beyond.saturating_add(1);
                let stopped = u32::from(facts.may_be_started_unremembered());
                self.counted.stopped_beyond = self.counted.stopped_beyond.saturating_add(stopped);
            }
        })
    }

    /// The place of a process, whose queues come one after the other.
    fn process(&mut self, owner: &Owner<'_>, facts: &QueueFacts) -> Option<usize> {
        let last = self.processes.len().checked_sub(1);
        let runs = facts.activity != Activity::Held;
        if let Some(process) = self.processes.last_mut() {
            if process.process == owner.process.address() {
                process.runs |= runs;
                process.compute_queues = process.compute_queues.saturating_add(1);
                return last;
            }
        }
        // A reference that there is no room for would have to be dropped under the lock.
        if self.processes.len() >= self.processes.capacity() {
            return None;
        }
        let task = owner.task()?;
        let seen = ProcessSeen {
            process: owner.process.address(),
            compute_queues: 1,
            memory: owner.memory(&task),
            task,
            hint: None,
            runs,
            insists: self.looks % BELIEVED == 0,
        };
        self.processes.push_within_capacity(seen).ok()?;
        self.processes.len().checked_sub(1)
    }

    /// Marks the queue that the ROCm runtime keeps for itself: the oldest of a
    /// process with several, with its small ring and its fixed priority.
    fn mark_internal(&mut self) {
        const RING_BYTES: u64 = 4096;
        let same = |one: &QueueSeen, next: &QueueSeen| one.process == next.process;
        for queues in self.queues.chunk_by_mut(same) {
            let Some(oldest) = queues.iter_mut().min_by_key(|queue| queue.facts.key.id) else {
                continue;
            };
            let process = self.processes.get(oldest.process);
            let several = process.is_some_and(|process| process.compute_queues >= 2);
            let facts = &oldest.facts;
            oldest.internal = several
                && facts.format == Format::Aql
                && facts.ring_bytes == RING_BYTES
                && facts.priority == Priority::NORMAL;
        }
    }

    /// Reads the pointers of the queues that are on the hardware now. No lock of
    /// the driver may be held.
    ///
    /// Only the node's first XCC is asked, which knows nothing of the packets that
    /// another one reads.
    pub fn read_registers(
        &mut self,
        gpu: &Present<'_>,
        registers: &mut Registers,
        source: HardwareSource<'_>,
    ) {
        let mut look = registers.look(gpu, source);
        let mapped = |queue: &&mut QueueSeen| {
            queue.facts.activity == Activity::Active && queue.facts.packet_xcc == 0
        };
        for queue in self.queues.iter_mut().filter(mapped) {
            if let Some(found) = look.find(queue.facts.key.doorbell) {
                queue.sample.take_registers(&queue.facts, &found);
            }
        }
    }

    /// Reads the pointers of all other queues in their processes' memory, of those whose
    /// addresses are of that, and with `grids` how large the last launches are. No lock of
    /// the driver may be held.
    ///
    /// The memory is kept in use meanwhile, so that a process that ends just then is taken
    /// down a little later: it is left alone of one that is about to give it up, but for one
    /// look of so many, or whose queues all stand still anyway.
    pub fn read_pointers(&mut self, thread: &mut Running, grids: bool) {
        let dies = self.dies;
        self.each_inside(thread, |queue, inside| {
            queue.sample.read_pointers(&queue.facts, inside);
            if grids {
                queue.sample.read_grid(&queue.facts, inside, dies);
            }
        });
        // After the pointers: a request that was seen has its hint seen with it, and
        // not in the next look as one for another request.
        for process in &mut self.processes {
            process.hint = process.readable().and_then(MemoryHandle::hint);
        }
    }

    /// Whether a queue that is on the hardware, or may come there, has a packet which is not
    /// written yet, though its write pointer is past it. Of queues in whose ring was nothing
    /// when their pointers were read it is not asked.
    pub fn any_unwritten(&mut self, thread: &mut Running) -> bool {
        let mut any = false;
        self.each_inside(thread, |queue, inside| {
            let asked = !any && queue.facts.activity != Activity::Held;
            any |= asked && queue.sample.any_unwritten(&queue.facts, inside);
        });
        any
    }

    /// Calls a function for each queue whose process's memory may be read, inside that.
    fn each_inside(
        &mut self,
        thread: &mut Running,
        mut f: impl FnMut(&mut QueueSeen, &Inside<'_>),
    ) {
        let mut queues = self.queues.iter_mut().peekable();
        for (at, process) in self.processes.iter().enumerate() {
            let Some(memory) = process.readable().and_then(MemoryHandle::memory) else {
                while queues.next_if(|queue| queue.process == at).is_some() {}
                continue;
            };
            memory.enter(thread, |inside| {
                while let Some(queue) = queues.next_if(|queue| queue.process == at) {
                    f(queue, inside);
                }
            });
        }
    }

    /// Whether there is a queue that may run and of which no pointer could be read.
    pub fn any_unread(&self) -> bool {
        let unread = |queue: &QueueSeen| {
            queue.facts.activity == Activity::Active && queue.sample.read.is_none()
        };
        self.queues.iter().any(unread)
    }

    /// Asks the hardware how many waves each queue has, again the first XCC alone.
    pub fn count_waves(
        &mut self,
        gpu: &Present<'_>,
        waves: &mut hardware::Waves,
        source: HardwareSource<'_>,
    ) {
        let counted = gpu
            .hardware()
            .map(|hardware| hardware.count_waves(source, waves));
        for queue in self.queues.iter_mut() {
            queue.sample.waves = if counted.is_ok() && queue.facts.packet_xcc == 0 {
                Waves::Known(waves.of(queue.facts.key.doorbell))
            } else {
                Waves::Unknown
            };
        }
    }
}
