// SPDX-License-Identifier: GPL-2.0-only
//! What a run shall do, as JSON. All times are GPU nanoseconds unless the name
//! says otherwise; `dilation` turns them into the guest's.

mod step;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{ensure, Result};
use serde::{Deserialize, Serialize};

use crate::hsa::Place;
use crate::kfd::ioctl::{MAX_PERCENTAGE, MAX_PRIORITY};

pub use step::Step;

/// A cost that never ends.
pub const ENDLESS: u64 = u64::MAX;

/// ROCr's internal queue has this many packets; ours must differ, since the ring's
/// size is what tells them apart in sysfs.
const INTERNAL_QUEUE_PACKETS: u32 = 64;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    pub queues: Vec<QueueSpec>,
    #[serde(default)]
    pub dependencies: Vec<Dependency>,
    /// Guest nanoseconds for one GPU nanosecond: 1 on hardware.
    #[serde(default = "one")]
    pub dilation: u32,
    #[serde(default)]
    pub seed: u64,
    /// Which of ROCr's GPUs.
    #[serde(default)]
    pub gpu: usize,
    /// How long, in guest time, the oldest outstanding request may take before
    /// the queue is given up as stuck.
    #[serde(default = "default_timeout")]
    pub request_timeout_ms: u64,
    /// Put each request's times into the report.
    #[serde(default)]
    pub samples: bool,
}

/// Request k of `to` starts only when request k of `from` is done: a barrier
/// packet on a signal that both processes share.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dependency {
    pub from: String,
    pub to: String,
    #[serde(default)]
    pub barrier: Barrier,
}

/// The packet that waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Barrier {
    /// The standard's, which says in its type that it is one.
    #[default]
    Standard,
    /// AMD's own, on a value: one of several packets of the vendor's type.
    Value,
    /// AMD's packet with a buffer for the command processor, in which the waiting is.
    Buffer,
}

/// Where the packets lie.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ring {
    /// Where the runtime has them.
    #[default]
    Host,
    /// In the GPU's memory, where processors see them over the bus.
    Device,
    /// There, and no processor may read them but while the program writes one.
    Hidden,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueSpec {
    pub name: String,
    /// Queues of one group share a process.
    #[serde(default = "default_group")]
    pub group: String,
    #[serde(default = "default_priority")]
    pub priority: u32,
    #[serde(default = "default_percentage")]
    pub percentage: u32,
    #[serde(default = "default_ring")]
    pub ring_packets: u32,
    /// In the GPU's memory it has to be of whole pages.
    #[serde(default)]
    pub ring: Ring,
    pub workgroups: u32,
    #[serde(default = "default_workgroup_size")]
    pub workgroup_size: u16,
    /// Time of one workgroup.
    pub cost_ns: Cost,
    /// As a step has it.
    #[serde(default)]
    pub demand: u32,
    #[serde(default)]
    pub kernel: KernelSpec,
    /// A request is this many dispatches, one after the other.
    #[serde(default = "one")]
    pub dispatches_per_request: u32,
    /// What follows them in each request, where not all its dispatches are alike.
    #[serde(default)]
    pub then: Vec<Step>,
    pub arrival: Arrival,
    /// A request begins when the one before it is done. Of those that arrive until then
    /// one is kept, which follows at once; the others never come.
    #[serde(default)]
    pub one_at_a_time: bool,
    /// Work of the host between the arrival of a request and its doorbell.
    #[serde(default)]
    pub preparation_ns: u64,
    /// Tell the module of each request, before the work of the host on it.
    #[serde(default)]
    pub hint: bool,
    /// The doorbell rings once for all packets of a request, and not for each.
    #[serde(default)]
    pub batched: bool,
    /// The write index is past all packets of a request for so long before they are written,
    /// as when a runtime writes many.
    #[serde(default)]
    pub unwritten_guest_ns: u64,
    /// Its threads go before all ordinary ones, as where there is a processor for each.
    #[serde(default)]
    pub real_time: bool,
    /// When the first request arrives, from the common start.
    #[serde(default)]
    pub start_ns: u64,
    /// End after so many requests, or after this time, whichever comes first.
    #[serde(default)]
    pub requests: Option<u64>,
    #[serde(default)]
    pub duration_ns: Option<u64>,
    /// Each dispatch waits for the one before it, as HIP streams do.
    #[serde(default = "yes")]
    pub ordered: bool,
    /// Wait for outstanding work at the end. Without it the queue is destroyed
    /// with its work.
    #[serde(default = "yes")]
    pub drain: bool,
    /// Where counters, code and arguments lie.
    #[serde(default)]
    pub place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cost {
    Nanoseconds(u64),
    Word(EndlessWord),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndlessWord {
    Endless,
}

impl Cost {
    pub fn nanoseconds(self) -> u64 {
        match self {
            Self::Nanoseconds(cost) => cost,
            Self::Word(EndlessWord::Endless) => ENDLESS,
        }
    }

    pub fn is_endless(self) -> bool {
        self.nanoseconds() == ENDLESS
    }
}

/// What a kernel occupies: it decides how many waves fit and what a save moves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KernelSpec {
    pub vector_registers: u32,
    pub scalar_registers: u32,
    pub lds_bytes: u32,
    /// Machine code for a real GPU instead of what the virtual one knows.
    pub machine_code: bool,
}

impl Default for KernelSpec {
    fn default() -> Self {
        Self {
            vector_registers: 32,
            scalar_registers: 32,
            lds_bytes: 0,
            machine_code: false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrival {
    /// `depth` requests are always outstanding; a finished one is followed after
    /// the think time.
    ClosedLoop {
        #[serde(default = "one")]
        depth: u32,
        #[serde(default)]
        think_ns: u64,
    },
    FixedRate {
        period_ns: u64,
    },
    Poisson {
        mean_ns: u64,
    },
    /// Arrival times from the queue's start.
    Trace {
        times_ns: Vec<u64>,
    },
}

fn one() -> u32 {
    1
}
fn yes() -> bool {
    true
}
fn default_timeout() -> u64 {
    120_000
}
fn default_group() -> String {
    "main".to_owned()
}
fn default_priority() -> u32 {
    7
}
fn default_percentage() -> u32 {
    MAX_PERCENTAGE
}
fn default_ring() -> u32 {
    256
}
fn default_workgroup_size() -> u16 {
    256
}

impl RunSpec {
    pub fn parse(text: &str) -> Result<Self> {
        let spec: Self = serde_json::from_str(text)?;
        spec.check()?;
        Ok(spec)
    }

    fn check(&self) -> Result<()> {
        ensure!(!self.queues.is_empty(), "the run has no queues");
        ensure!(self.dilation > 0, "dilation must be at least 1");
        let mut names = BTreeSet::new();
        for queue in &self.queues {
            queue
                .check()
                .map_err(|error| error.context(format!("queue {:?}", queue.name)))?;
            ensure!(
                names.insert(&queue.name),
                "two queues are named {:?}",
                queue.name
            );
        }
        for Dependency { from, to, .. } in &self.dependencies {
            ensure!(from != to, "queue {from:?} cannot depend on itself");
            for name in [from, to] {
                let queue = self.queue(name);
                ensure!(
                    queue.is_some(),
                    "a dependency names queue {name:?}, which there is not"
                );
                ensure!(
                    queue.is_some_and(|queue| queue.requests.is_some()),
                    "queue {name:?} is part of a dependency and needs a number of requests"
                );
            }
            let requests = |name| {
                self.queue(name)
                    .and_then(|queue: &QueueSpec| queue.requests)
            };
            ensure!(
                requests(to) <= requests(from),
                "queue {to:?} waits for more requests than {from:?} makes"
            );
        }
        for queue in &self.queues {
            let buffers = self.dependencies.iter().filter(|dependency| {
                dependency.to == queue.name && dependency.barrier == Barrier::Buffer
            });
            ensure!(
                buffers.count() <= 1,
                "queue {:?} can wait for one other by a buffer",
                queue.name
            );
        }
        Ok(())
    }

    pub fn queue(&self, name: &str) -> Option<&QueueSpec> {
        self.queues.iter().find(|queue| queue.name == name)
    }

    /// Names of the processes, in order of first mention.
    pub fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for queue in &self.queues {
            if !groups.contains(&queue.group.as_str()) {
                groups.push(&queue.group);
            }
        }
        groups
    }

    /// GPU time as guest time.
    pub fn guest(&self, gpu_ns: u64) -> Duration {
        Duration::from_nanos(gpu_ns.saturating_mul(self.dilation.into()))
    }

    /// So many nanoseconds of the guest's as GPU time.
    pub fn gpu(&self, guest_ns: u64) -> u64 {
        guest_ns / u64::from(self.dilation)
    }
}

impl QueueSpec {
    fn check(&self) -> Result<()> {
        ensure!(
            self.priority <= MAX_PRIORITY,
            "priority {} is not in 0..={MAX_PRIORITY}",
            self.priority
        );
        ensure!(
            self.percentage <= MAX_PERCENTAGE,
            "percentage {} is not in 0..={MAX_PERCENTAGE}",
            self.percentage
        );
        ensure!(
            self.ring_packets.is_power_of_two() && self.ring_packets > INTERNAL_QUEUE_PACKETS,
            "ring_packets must be a power of two above {INTERNAL_QUEUE_PACKETS}"
        );
        ensure!(
            (1..=1024).contains(&self.workgroup_size),
            "workgroup_size must be in 1..=1024"
        );
        for step in self.steps() {
            step.check()?;
            ensure!(
                !step.cost_ns.is_endless() || !self.drain,
                "an endless kernel needs \"drain\": false"
            );
        }
        ensure!(
            self.ordered || self.dispatches() == 1,
            "a request of several dispatches needs \"ordered\": true, or its last one says nothing of the others"
        );
        ensure!(
            self.dispatches() + 2 <= u64::from(self.ring_packets),
            "a request must fit into the ring"
        );
        match &self.arrival {
            Arrival::ClosedLoop { depth, .. } => ensure!(*depth >= 1, "depth must be at least 1"),
            Arrival::FixedRate { period_ns } => {
                ensure!(*period_ns > 0, "period_ns must be above 0")
            }
            Arrival::Poisson { mean_ns } => ensure!(*mean_ns > 0, "mean_ns must be above 0"),
            Arrival::Trace { times_ns } => {
                ensure!(times_ns.is_sorted(), "times_ns must not go back in time");
            }
        }
        ensure!(
            !self.one_at_a_time || !matches!(self.arrival, Arrival::ClosedLoop { .. }),
            "one_at_a_time is for arrivals by the clock: a closed loop has depth for it"
        );
        let bounded = matches!(self.arrival, Arrival::Trace { .. })
            || self.requests.is_some()
            || self.duration_ns.is_some();
        ensure!(
            bounded,
            "give requests or duration_ns, or the queue would never end"
        );
        Ok(())
    }

    /// What a request launches, in this order.
    pub fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        let first = Step {
            dispatches: self.dispatches_per_request,
            workgroups: self.workgroups,
            cost_ns: self.cost_ns,
            demand: self.demand,
            kernel: self.kernel.clone(),
        };
        std::iter::once(first).chain(self.then.iter().cloned())
    }

    /// The dispatches of a request.
    pub fn dispatches(&self) -> u64 {
        self.steps().map(|step| u64::from(step.dispatches)).sum()
    }

    /// How many requests may be outstanding at once.
    pub fn slots(&self) -> u32 {
        match self.arrival {
            Arrival::ClosedLoop { depth, .. } => depth,
            _ if self.one_at_a_time => 1,
            // An open loop must not be held back by its own bookkeeping: as many
            // requests as the ring takes, with room for a barrier packet each.
            _ => u32::try_from(u64::from(self.ring_packets) / (self.dispatches() + 2))
                .map_or(1, |slots| slots.max(1)),
        }
    }
}
