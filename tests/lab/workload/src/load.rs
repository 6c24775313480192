// SPDX-License-Identifier: GPL-2.0-only
//! One queue under load: a submitter that follows the arrival times and a reaper
//! that waits for completions, checks the counters and keeps the times.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, RwLock};
use std::thread;
use std::time::Duration;

use anyhow::{ensure, Context, Result};

use crate::arrival::Times;
use crate::clock::{guest_now_ns, Correlation};
use crate::counters::{tally, Tally};
use crate::hsa::{Buffer, Queue, Runtime, SharedSignals, Signal};
use crate::kernel;
use crate::kfd::ioctl::{Kfd, OwnQueue};
use crate::kfd::sysfs;
use crate::latency::summary;
use crate::packet::{self, Dispatch, Packet};
use crate::report::{ClockReport, QueueIdentity, QueueReport, Requests, Sample};
use crate::spec::{Arrival, Barrier, QueueSpec, RunSpec};

/// How often a thread that waits looks whether it should stop.
const LOOK: Duration = Duration::from_millis(50);
/// The same for a queue that is held for a moment.
const HELD_LOOK: Duration = Duration::from_micros(200);
/// Argument blocks are this far apart, and so are buffers that wait.
const STRIDE: usize = 64;

/// Place for one outstanding request.
struct Slot {
    done: Signal,
    /// How often each workgroup of this slot must have run.
    expected: AtomicU32,
}

/// Signals that tie the requests of two queues together, one for each request.
pub type Chain = Arc<SharedSignals>;

pub struct Load {
    // Fields are dropped in this order: the GPU may use the rest until the queue is gone.
    active: RwLock<Option<Active>>,
    slots: Vec<Slot>,
    counters: Buffer,
    arguments: Buffer,
    waits: Buffer,
    code: Buffer,
    runtime: Arc<Runtime>,
    gpu: usize,
    pub spec: QueueSpec,
    pub identity: QueueIdentity,
    settings: Mutex<Settings>,
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
        ring_packets: u32,
        settings: Settings,
    ) -> Result<Self> {
        let pid = std::process::id();
        let before = sysfs::queues(pid)?;
        let queue = Queue::create(runtime, gpu, ring_packets)?;
        let after = sysfs::queues(pid)?;
        let id = sysfs::new_queue(&before, &after, gpu_id, queue.ring_bytes())?;
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
    submit_guest_ns: u64,
}

struct Finished {
    arrival_guest_ns: u64,
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
    pub fn create(runtime: &Arc<Runtime>, kfd: &Kfd, gpu: usize, spec: &QueueSpec) -> Result<Self> {
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
        let active = Active::create(runtime, kfd, gpu, gpu_id, spec.ring_packets, settings)?;

        let count = spec.slots() as usize;
        let slots = (0..count)
            .map(|_| {
                Ok(Slot {
                    done: Signal::create(runtime, 0)?,
                    expected: AtomicU32::new(0),
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let workgroups = spec.workgroups as usize;
        let counters = Buffer::allocate(runtime, gpu, spec.place, count * workgroups * 4)?;
        let arguments = Buffer::allocate(runtime, gpu, spec.place, count * STRIDE)?;
        let waits = Buffer::allocate(runtime, gpu, spec.place, count * STRIDE)?;
        let code = Buffer::allocate(runtime, gpu, spec.place, kernel::OBJECT_BYTES)?;
        code.store(0, &kernel::object(&spec.kernel));
        for slot in 0..count {
            let address = counters.address() + (slot * workgroups * 4) as u64;
            arguments.store(
                slot * STRIDE,
                &kernel::arguments(address, spec.cost_ns.nanoseconds()),
            );
        }
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
            counters,
            arguments,
            waits,
            code,
            runtime: runtime.clone(),
            gpu,
            spec: spec.clone(),
            settings: Mutex::new(settings),
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
                let counters = self.slot_counters(index);
                let redone = tally(counters, 0, expected).repeated;
                self.redone.fetch_add(redone, Ordering::Relaxed);
                for counter in counters {
                    counter.store(expected, Ordering::Release);
                }
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
            let ring_packets = self.spec.ring_packets;
            let made =
                Active::create(&self.runtime, kfd, self.gpu, gpu_id, ring_packets, settings)?;
            // Nobody submits while the lock is held, and putting packets must not give up.
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

    fn slot_counters(&self, slot: usize) -> &[AtomicU32] {
        let workgroups = self.spec.workgroups as usize;
        &self.counters.words()[slot * workgroups..][..workgroups]
    }

    /// Submits requests from `start_guest_ns` on and returns when all is done.
    pub fn run(&self, run: &RunSpec, start_guest_ns: u64, chains: &Chains) -> Outcome {
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
                // Whatever ended it, nobody waits for requests any more.
                self.stop();
                outcome
            });
            self.submit_all(run, start_guest_ns, chains, &free, submitted);
            ended.store(true, Ordering::Release);
            reaper.join().expect("the reaper does not panic")
        })
    }

    fn submit_all(
        &self,
        run: &RunSpec,
        start_guest_ns: u64,
        chains: &Chains,
        free: &Receiver<usize>,
        submitted: Sender<Outstanding>,
    ) {
        let guest_ns = |gpu_ns| run.guest(gpu_ns).as_nanos() as u64;
        let begin = start_guest_ns.saturating_add(guest_ns(self.spec.start_ns));
        let end = self
            .spec
            .duration_ns
            .map(|duration| begin.saturating_add(guest_ns(duration)));
        let mut times = Times::new(&self.spec.arrival, run.seed, &self.spec.name);
        let mut request = 0;
        if !self.sleep_until(begin) {
            return;
        }
        while self.spec.requests.is_none_or(|requests| request < requests) {
            let arrival = match &self.spec.arrival {
                Arrival::ClosedLoop { .. } => None,
                _ => match times.next() {
                    Some(time) => Some(begin.saturating_add(guest_ns(time))),
                    None => break,
                },
            };
            if arrival.is_some_and(|arrival| {
                end.is_some_and(|end| arrival >= end) || !self.sleep_until(arrival)
            }) {
                break;
            }
            let Some(slot) = self.next_free(free, end) else {
                break;
            };
            if let Arrival::ClosedLoop { depth, think_ns } = self.spec.arrival {
                let follows_another = request >= u64::from(depth);
                if follows_another && !self.sleep_until(guest_now_ns() + guest_ns(think_ns)) {
                    break;
                }
            }
            let preparation = guest_ns(self.spec.preparation_ns);
            if preparation > 0 && !self.sleep_until(guest_now_ns() + preparation) {
                break;
            }
            let submit_guest_ns = guest_now_ns();
            if !self.submit(slot, request as usize, chains) {
                break;
            }
            self.submitted.fetch_add(1, Ordering::Release);
            let arrival_guest_ns = arrival.unwrap_or(submit_guest_ns - preparation);
            if submitted
                .send(Outstanding {
                    slot,
                    arrival_guest_ns,
                    submit_guest_ns,
                })
                .is_err()
            {
                break;
            }
            request += 1;
        }
    }

    /// A slot without an outstanding request, or None when submission is to end.
    fn next_free(&self, free: &Receiver<usize>, end: Option<u64>) -> Option<usize> {
        loop {
            if self.stop.load(Ordering::Acquire) || end.is_some_and(|end| guest_now_ns() >= end) {
                return None;
            }
            match free.recv_timeout(LOOK) {
                Ok(slot) => return Some(slot),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Submits a request, waiting while the queue is held. False when the load is
    /// to stop.
    fn submit(&self, slot: usize, request: usize, chains: &Chains) -> bool {
        loop {
            // Held while packets are written: a queue that is destroyed meanwhile would take
            // a part of them with it.
            let active = self.active.read().expect("no holder panics");
            if let Some(active) = &*active {
                self.slots[slot].done.store(1);
                if self.put(&active.queue, slot, request, chains) {
                    self.in_flight.lock().expect("no holder panics").push(slot);
                    return true;
                }
            }
            drop(active);
            if self.stop.load(Ordering::Acquire) || !self.held.load(Ordering::Acquire) {
                return false;
            }
            thread::sleep(HELD_LOOK);
        }
    }

    /// A packet with the slot's buffer, in which the command processor waits.
    fn wait_in_buffer(&self, slot: usize, earlier: u64) -> Packet {
        let words = packet::wait_for_zero(earlier + packet::SIGNAL_VALUE);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.waits.store(slot * STRIDE, &bytes);
        let address = self.waits.address() + (slot * STRIDE) as u64;
        Packet::buffer(address, words.len() as u32, 0)
    }

    /// Writes a request's packets.
    fn put(&self, queue: &Queue, slot: usize, request: usize, chains: &Chains) -> bool {
        let give_up = || self.stop.load(Ordering::Acquire) || self.held.load(Ordering::Acquire);
        let done = &self.slots[slot].done;
        let dispatches = self.spec.dispatches_per_request;
        let mut ok = chains.wait_for.iter().all(|(chain, barrier)| {
            let earlier = chain
                .handle(request)
                .expect("there is a signal for each request");
            let packet = match barrier {
                Barrier::Standard => Packet::barrier_and(&[earlier], 0),
                Barrier::Value => Packet::barrier_below(earlier, 1, 0),
                Barrier::Buffer => self.wait_in_buffer(slot, earlier),
            };
            queue.submit(&packet, give_up)
        });
        for dispatch in 0..dispatches {
            let packet = Packet::dispatch(&Dispatch {
                workgroups: self.spec.workgroups,
                workgroup_size: self.spec.workgroup_size,
                lds_bytes: self.spec.kernel.lds_bytes,
                kernel_object: self.code.address(),
                kernel_arguments: self.arguments.address() + (slot * STRIDE) as u64,
                completion: if dispatch + 1 == dispatches {
                    done.handle()
                } else {
                    0
                },
                // The dispatch behind a barrier packet waits for it.
                ordered: self.spec.ordered || !chains.wait_for.is_empty(),
            });
            ok = ok && queue.submit(&packet, give_up);
        }
        ok && chains.tell.iter().all(|chain| {
            // Another queue may never wait for this request.
            chain
                .handle(request)
                .is_none_or(|signal| queue.submit(&Packet::barrier_and(&[], signal), give_up))
        })
    }

    /// False when the load is to stop.
    fn sleep_until(&self, guest_ns: u64) -> bool {
        loop {
            if self.stop.load(Ordering::Acquire) {
                return false;
            }
            let now = guest_now_ns();
            if now >= guest_ns {
                return true;
            }
            thread::sleep(Duration::from_nanos(guest_ns - now).min(LOOK));
        }
    }

    fn reap(
        &self,
        run: &RunSpec,
        outstanding: Receiver<Outstanding>,
        freed: Sender<usize>,
        ended: &AtomicBool,
    ) -> Outcome {
        let mut outcome = Outcome {
            finished: Vec::new(),
            failure: None,
            wrong: Tally::default(),
        };
        let limit = Duration::from_millis(run.request_timeout_ms).as_nanos() as u64;
        for request in outstanding {
            let slot = &self.slots[request.slot];
            let since = guest_now_ns();
            while !slot.done.wait_below(1, LOOK) {
                if let Some(failure) = self.with_queue(|active| active.queue.failure()).flatten() {
                    outcome.failure = Some(format!("ROCr reports: {failure}"));
                    return outcome;
                }
                if !self.spec.drain && ended.load(Ordering::Acquire) {
                    return outcome;
                }
                if self.spec.drain && guest_now_ns() - since > limit {
                    outcome.failure = Some(format!(
                        "request {} did not finish within {} ms (read and write index {:?})",
                        outcome.finished.len(),
                        run.request_timeout_ms,
                        self.indices(),
                    ));
                    return outcome;
                }
            }
            let (start_ticks, end_ticks) = slot.done.timestamps();
            outcome.finished.push(Finished {
                arrival_guest_ns: request.arrival_guest_ns,
                submit_guest_ns: request.submit_guest_ns,
                seen_guest_ns: guest_now_ns(),
                start_ticks,
                end_ticks,
            });
            let dispatches = self.spec.dispatches_per_request;
            let expected = slot.expected.fetch_add(dispatches, Ordering::AcqRel) + dispatches;
            outcome.wrong += tally(self.slot_counters(request.slot), expected, expected);
            self.in_flight
                .lock()
                .expect("no holder panics")
                .retain(|&slot| slot != request.slot);
            self.completed.fetch_add(1, Ordering::Release);
            // The submitter may be gone.
            let _ = freed.send(request.slot);
        }
        outcome
    }

    /// Destroys the queue and checks all counters a last time.
    pub fn finish(&self, outcome: Outcome, clock: &Correlation, samples: bool) -> QueueReport {
        drop(self.active.write().expect("no holder panics").take());
        let (submitted, completed) = self.progress();
        let abandoned = submitted - completed;
        let dispatches = self.spec.dispatches_per_request;

        let in_flight = self.in_flight.lock().expect("no holder panics").clone();
        let mut workgroups = Tally::default();
        for (index, slot) in self.slots.iter().enumerate() {
            let least = slot.expected.load(Ordering::Acquire);
            // A request that was given up may have run in part. The signal tells of one
            // that was given up while its packets were written.
            let given_up = in_flight.contains(&index) || slot.done.load() > 0;
            let most = if given_up { least + dispatches } else { least };
            workgroups += tally(self.slot_counters(index), least, most);
        }
        // A count that was wrong at its request's completion counts even if it
        // became right later.
        workgroups.lost = workgroups.lost.max(outcome.wrong.lost);
        workgroups.repeated = workgroups.repeated.max(outcome.wrong.repeated);

        let times: Vec<Sample> = outcome
            .finished
            .iter()
            .map(|request| Sample {
                arrival_ns: clock.gpu_at(request.arrival_guest_ns).unwrap_or(0),
                submit_ns: clock.gpu_at(request.submit_guest_ns).unwrap_or(0),
                start_ns: clock.gpu_ns(request.start_ticks),
                end_ns: clock.gpu_ns(request.end_ticks),
            })
            .collect();
        let spread =
            |time: fn(&Sample) -> u64| summary(&times.iter().map(time).collect::<Vec<_>>());
        let first = times
            .iter()
            .map(|sample| sample.arrival_ns)
            .min()
            .unwrap_or(0);
        let last = times.iter().map(|sample| sample.end_ns).max().unwrap_or(0);
        let guest: Vec<u64> = outcome
            .finished
            .iter()
            .map(|request| {
                request
                    .seen_guest_ns
                    .saturating_sub(request.arrival_guest_ns)
            })
            .collect();
        QueueReport {
            identity: self.identity.clone(),
            requests: Requests {
                submitted,
                completed,
                abandoned,
            },
            dispatches: completed * u64::from(dispatches),
            workgroups,
            resets: self.resets.load(Ordering::Relaxed),
            redone: self.redone.load(Ordering::Relaxed),
            latency_gpu_ns: spread(|sample| sample.end_ns.saturating_sub(sample.arrival_ns)),
            latency_guest_ns: summary(&guest),
            service_gpu_ns: spread(|sample| sample.end_ns.saturating_sub(sample.start_ns)),
            span_gpu_ns: last.saturating_sub(first),
            clock: ClockReport {
                dilation: clock.dilation(),
                uncertainty_guest_ns: clock.uncertainty_ns(),
                moments: if samples {
                    clock.moments().to_vec()
                } else {
                    Vec::new()
                },
            },
            failure: outcome.failure.or_else(|| {
                (self.spec.drain && abandoned > 0)
                    .then(|| format!("{abandoned} requests were submitted and not finished"))
            }),
            samples: if samples { times } else { Vec::new() },
        }
    }
}
