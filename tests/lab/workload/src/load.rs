// SPDX-License-Identifier: GPL-2.0-only
//! One queue under load: a submitter that follows the arrival times and a reaper
//! that waits for completions, checks the counters and keeps the times.

mod parts;
mod reap;
mod submit;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{mpsc, Arc, Mutex, RwLock};
use std::thread;
use std::time::Duration;

use anyhow::{ensure, Context, Result};

use crate::counters::Tally;
use crate::hint::Page;
use crate::hsa::{Buffer, Place, Queue, Runtime, SharedSignals, Signal};
use crate::kfd::ioctl::{Kfd, OwnQueue};
use crate::kfd::sysfs;
use crate::real_time;
use crate::report::QueueIdentity;
use crate::spec::{Barrier, QueueSpec, Ring, RunSpec};
use parts::Parts;

/// How often a thread that waits looks whether it should stop.
const LOOK: Duration = Duration::from_millis(50);
/// Argument blocks are this far apart, and so are buffers that wait.
const STRIDE: usize = 64;

/// Place for one outstanding request.
struct Slot {
    done: Signal,
    /// How many requests have run in this slot.
    expected: AtomicU32,
}

/// Signals that tie the requests of two queues together, one for each request.
pub type Chain = Arc<SharedSignals>;

pub struct Load {
    // Fields are dropped in this order, because the GPU may use the rest until the queue
    // is destroyed.
    active: RwLock<Option<Active>>,
    slots: Vec<Slot>,
    parts: Parts,
    waits: Buffer,
    runtime: Arc<Runtime>,
    gpu: usize,
    pub spec: QueueSpec,
    pub identity: QueueIdentity,
    settings: Mutex<Settings>,
    /// Where the module hears of requests.
    hints: Option<Arc<Page>>,
    /// Slots of submitted and not yet reaped requests, in order.
    in_flight: Mutex<Vec<usize>>,
    /// Other queues wait for this one, or it waits for them.
    chained: AtomicBool,
    /// The queue is destroyed until it is released.
    held: AtomicBool,
    stop: AtomicBool,
    submitted: AtomicU64,
    completed: AtomicU64,
    resets: AtomicU64,
    /// Executions that were thrown away with a queue.
    redone: AtomicU64,
}

/// The queue while it exists.
struct Active {
    queue: Queue,
    own: OwnQueue,
}

impl Active {
    /// Creates a queue and gives it its settings. Calls must not overlap within a
    /// process: the queue is recognised as the new one.
    fn create(
        runtime: &Arc<Runtime>,
        kfd: &Kfd,
        gpu: usize,
        gpu_id: u32,
        spec: &QueueSpec,
        settings: Settings,
    ) -> Result<Self> {
        let pid = std::process::id();
        let before = sysfs::queues(pid)?;
        let mut queue = Queue::create(runtime, gpu, spec.ring_packets)?;
        let after = sysfs::queues(pid)?;
        let id = sysfs::new_queue(&before, &after, gpu_id, queue.ring_bytes())?;
        if spec.ring != Ring::Host {
            let bytes = queue.ring_bytes() as usize;
            let memory = Buffer::allocate(runtime, gpu, Place::Device, bytes)?;
            queue.move_ring(memory, spec.ring == Ring::Hidden)?;
        }
        let own = OwnQueue {
            id,
            ring_address: queue.ring_address(),
            ring_bytes: queue.ring_bytes(),
        };
        kfd.update_queue(&own, settings.percentage, settings.priority)
            .with_context(|| format!("setting the priority of KFD queue {id}"))?;
        Ok(Self { queue, own })
    }
}

/// What UPDATE_QUEUE sets together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Settings {
    percentage: u32,
    priority: u32,
}

/// Where a request's dependencies come from and who depends on it.
#[derive(Default)]
pub struct Chains {
    pub wait_for: Vec<(Chain, Barrier)>,
    pub tell: Vec<Chain>,
}

struct Outstanding {
    slot: usize,
    arrival_guest_ns: u64,
    hint_guest_ns: Option<u64>,
    submit_guest_ns: u64,
}

struct Finished {
    arrival_guest_ns: u64,
    hint_guest_ns: Option<u64>,
    submit_guest_ns: u64,
    seen_guest_ns: u64,
    start_ticks: u64,
    end_ticks: u64,
}

/// What a run of a load left behind, before clocks are related.
pub struct Outcome {
    finished: Vec<Finished>,
    failure: Option<String>,
    /// Found when each request completed.
    wrong: Tally,
}

impl Load {
    /// Creates the queue with its memory.
    pub fn create(
        runtime: &Arc<Runtime>,
        kfd: &Kfd,
        gpu: usize,
        spec: &QueueSpec,
        hints: Option<Arc<Page>>,
    ) -> Result<Self> {
        let node = runtime
            .gpus()
            .nth(gpu)
            .context("there is no such GPU")?
            .node;
        let gpu_id = sysfs::gpu_id(node)?;
        let settings = Settings {
            percentage: spec.percentage,
            priority: spec.priority,
        };
        let active = Active::create(runtime, kfd, gpu, gpu_id, spec, settings)?;

        let count = spec.slots() as usize;
        let slots = (0..count)
            .map(|_| {
                Ok(Slot {
                    done: Signal::create(runtime, 0)?,
                    expected: AtomicU32::new(0),
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let parts = Parts::create(runtime, gpu, spec)?;
        let waits = Buffer::allocate(runtime, gpu, spec.place, count * STRIDE)?;
        Ok(Self {
            identity: QueueIdentity {
                name: spec.name.clone(),
                group: spec.group.clone(),
                pid: std::process::id(),
                gpu_id,
                queue_id: active.own.id,
                priority: spec.priority,
            },
            active: RwLock::new(Some(active)),
            slots,
            parts,
            waits,
            runtime: runtime.clone(),
            gpu,
            spec: spec.clone(),
            settings: Mutex::new(settings),
            hints: hints.filter(|_| spec.hint),
            in_flight: Mutex::new(Vec::new()),
            chained: AtomicBool::new(false),
            held: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            submitted: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            resets: AtomicU64::new(0),
            redone: AtomicU64::new(0),
        })
    }

    /// Tells the module that a request is being prepared, which need not be so.
    pub fn hint(&self) -> Result<()> {
        let page = self.hints.as_ref();
        page.context("this queue gives no hints")?.prepare();
        Ok(())
    }

    /// Ends submission early; what is outstanding is still waited for.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    pub fn progress(&self) -> (u64, u64) {
        (
            self.submitted.load(Ordering::Acquire),
            self.completed.load(Ordering::Acquire),
        )
    }

    /// The queue as KFD's ioctls name it, while it exists.
    pub fn own(&self) -> Option<OwnQueue> {
        self.with_queue(|active| active.own)
    }

    /// Read and write index of the ring, while the queue exists.
    pub fn indices(&self) -> Option<(u64, u64)> {
        self.with_queue(|active| active.queue.indices())
    }

    /// Where these indices are in this process's memory.
    pub fn index_addresses(&self) -> Option<(u64, u64)> {
        self.with_queue(|active| active.queue.index_addresses())
    }

    fn with_queue<T>(&self, look: impl FnOnce(&Active) -> T) -> Option<T> {
        self.active
            .read()
            .expect("no holder panics")
            .as_ref()
            .map(look)
    }

    /// Changes priority or percentage; what is not given stays.
    pub fn update(&self, kfd: &Kfd, percentage: Option<u32>, priority: Option<u32>) -> Result<()> {
        let mut settings = self.settings.lock().expect("no holder panics");
        let wanted = Settings {
            percentage: percentage.unwrap_or(settings.percentage),
            priority: priority.unwrap_or(settings.priority),
        };
        let own = self.own().context("the queue is destroyed")?;
        kfd.update_queue(&own, wanted.percentage, wanted.priority)
            .context("UPDATE_QUEUE")?;
        *settings = wanted;
        Ok(())
    }

    /// Destroys the queue. What its unfinished requests have done is undone in
    /// their counters, and counted.
    pub fn hold(&self) -> Result<()> {
        ensure!(
            !self.chained.load(Ordering::Acquire),
            "a queue that is part of a dependency cannot be destroyed and made again"
        );
        // Lets a submission go that waits for room in the ring.
        self.held.store(true, Ordering::Release);
        let mut active = self.active.write().expect("no holder panics");
        let Some(queue) = active.take() else {
            return Ok(());
        };
        drop(queue);
        self.resets.fetch_add(1, Ordering::Relaxed);
        for (index, slot) in self.slots.iter().enumerate() {
            // Free slots and completed requests have a signal of 0.
            if slot.done.load() > 0 {
                let expected = slot.expected.load(Ordering::Acquire);
                let redone = self.parts.tally(index, 0, expected).repeated;
                self.redone.fetch_add(redone, Ordering::Relaxed);
                self.parts.set(index, expected);
            }
        }
        Ok(())
    }

    /// Creates the queue again and submits what is unfinished once more.
    pub fn release(&self, kfd: &Kfd) -> Result<()> {
        let mut active = self.active.write().expect("no holder panics");
        if active.is_none() && self.held.load(Ordering::Acquire) {
            let settings = *self.settings.lock().expect("no holder panics");
            let gpu_id = self.identity.gpu_id;
            let (runtime, spec) = (&self.runtime, &self.spec);
            let made = Active::create(runtime, kfd, self.gpu, gpu_id, spec, settings)?;
            // Nothing is submitted while the lock is held, and putting packets must not give up.
            self.held.store(false, Ordering::Release);
            let slots = self.in_flight.lock().expect("no holder panics").clone();
            for slot in slots {
                if self.slots[slot].done.load() > 0 {
                    self.put(&made.queue, slot, 0, &Chains::default());
                }
            }
            *active = Some(made);
        }
        self.held.store(false, Ordering::Release);
        Ok(())
    }

    /// Has this thread go before ordinary ones where the queue wants that.
    fn own_processor(&self) -> Result<()> {
        if self.spec.real_time {
            real_time::begin()?;
        }
        Ok(())
    }

    /// Submits requests from `start_guest_ns` on and returns when all is done.
    pub fn run(&self, run: &RunSpec, start_guest_ns: u64, chains: &Chains) -> Outcome {
        if let Err(error) = self.own_processor() {
            return Outcome {
                finished: Vec::new(),
                failure: Some(format!("{error:#}")),
                wrong: Tally::default(),
            };
        }
        let chained = !chains.wait_for.is_empty() || !chains.tell.is_empty();
        self.chained.store(chained, Ordering::Release);
        let (submitted, outstanding) = mpsc::channel();
        let (freed, free) = mpsc::channel();
        for slot in 0..self.slots.len() {
            freed.send(slot).expect("the receiver is alive");
        }
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            let reaper = scope.spawn(|| {
                let outcome = self.reap(run, outstanding, freed, &ended);
                // However it ended, nothing waits for requests any more.
                self.stop();
                outcome
            });
            self.submit_all(run, start_guest_ns, chains, &free, submitted);
            ended.store(true, Ordering::Release);
            reaper.join().expect("the reaper does not panic")
        })
    }
}
