// SPDX-License-Identifier: GPL-2.0-only
//! Machine code as a compiler leaves it, dispatched again and again. After each dispatch
//! memory must hold what the job says.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure, Context, Result};
use serde::{Deserialize, Serialize};

use crate::direct::{Direct, Order};
use crate::hsa::{Buffer, Place, Queue, Runtime, Signal};
use crate::kfd::ioctl::{Kfd, OwnQueue};
use crate::kfd::sysfs;
use crate::packet::{Dispatch, Packet};

/// Another size than that of the runtime's own queue, from which it is told apart.
const RING_PACKETS: u32 = 128;
const DESCRIPTOR_BYTES: usize = 64;
/// Where in the descriptor the distance to the code stands.
const CODE_ENTRY: usize = 16;
/// Code begins on such a boundary.
const ALIGNMENT: usize = 256;
const LOOK: Duration = Duration::from_millis(50);

/// What is to be executed. Kernels get the addresses of their buffers and a number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The code with whatever it calls, and the kernel's descriptor, in hexadecimal digits.
    pub code: String,
    pub descriptor: String,
    /// Where in the code the kernel begins.
    pub entry: u64,
    pub priority: u32,
    /// Items of a workgroup, and workgroups.
    pub items: u16,
    pub groups: u32,
    /// Bytes of scratch that an item has.
    #[serde(default)]
    pub private_bytes: u32,
    /// Bytes of local memory that a workgroup has.
    pub lds_bytes: u32,
    /// What the buffers hold before a dispatch, and what afterwards.
    pub buffers: Vec<Vec<u32>>,
    pub expected: Vec<Vec<u32>>,
    pub number: u32,
    /// Dispatched by PM4 packets, on a queue of the lowest priority. All jobs or none.
    #[serde(default)]
    pub pm4: bool,
    #[serde(default)]
    pub place: Place,
    /// Dispatches follow each other until this file is there; one is made in any case.
    pub stop: PathBuf,
    /// How long a dispatch may take.
    pub patience_ms: u64,
}

/// What is said of a job, a line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Said {
    /// The code is at this address of the process.
    Ready {
        code: u64,
        process: u32,
    },
    Done(Outcome),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    pub dispatches: u64,
    /// What is first wrong of each dispatch after which anything is.
    pub wrong: Vec<Wrong>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wrong {
    pub dispatch: u64,
    pub buffer: usize,
    pub word: usize,
    pub found: u32,
    pub expected: u32,
}

/// Bytes as hexadecimal digits.
pub fn digits(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    halves
        .map(|half| char::from(DIGITS[usize::from(half)]))
        .collect()
}

fn bytes(digits: &str) -> Result<Vec<u8>> {
    ensure!(digits.is_ascii(), "the code is not in hexadecimal digits");
    (0..digits.len())
        .step_by(2)
        .map(|at| {
            let two = digits.get(at..at + 2).unwrap_or("");
            u8::from_str_radix(two, 16)
                .with_context(|| format!("'{two}' is no byte in hexadecimal digits"))
        })
        .collect()
}

/// The object as it is in memory: the descriptor, then the code.
fn object(job: &Job) -> Result<Vec<u8>> {
    let mut object = bytes(&job.descriptor)?;
    let code = bytes(&job.code)?;
    ensure!(
        object.len() == DESCRIPTOR_BYTES,
        "a kernel descriptor has {DESCRIPTOR_BYTES} bytes, not {}",
        object.len()
    );
    ensure!(
        job.entry < code.len() as u64,
        "the kernel begins behind its code"
    );
    let entry = ALIGNMENT as u64 + job.entry;
    object[CODE_ENTRY..CODE_ENTRY + 8].copy_from_slice(&entry.to_le_bytes());
    object.resize(ALIGNMENT, 0);
    object.extend(code);
    object.resize(object.len().next_multiple_of(4), 0);
    Ok(object)
}

fn arguments(buffers: &[Buffer], number: u32) -> Vec<u8> {
    let places = buffers.iter().flat_map(|each| each.address().to_le_bytes());
    places.chain(number.to_le_bytes()).collect()
}

fn first_difference(found: &[Vec<u32>], expected: &[Vec<u32>], dispatch: u64) -> Option<Wrong> {
    let pairs = found.iter().zip(expected).enumerate();
    let mut all = pairs.flat_map(|(buffer, (found, expected))| {
        let words = found.iter().zip(expected).enumerate();
        words.map(move |(word, (found, expected))| Wrong {
            dispatch,
            buffer,
            word,
            found: *found,
            expected: *expected,
        })
    });
    all.find(|each| each.found != each.expected)
}

impl Job {
    fn check(&self) -> Result<()> {
        ensure!(
            self.buffers.len() == self.expected.len()
                && self
                    .buffers
                    .iter()
                    .zip(&self.expected)
                    .all(|(before, after)| before.len() == after.len()),
            "the buffers before and after a dispatch differ in number or length"
        );
        ensure!(self.groups > 0 && self.items > 0, "there is nothing to do");
        Ok(())
    }
}

/// A job whose code and data are in memory.
struct Loaded<'a> {
    job: &'a Job,
    code: Buffer,
    buffers: Vec<Buffer>,
    kernarg: Buffer,
}

/// Executes jobs on a queue of the first GPU, one after the other.
pub fn run(jobs: &[Job], say: &mut dyn FnMut(&Said) -> Result<()>) -> Result<bool> {
    let first = jobs.first().context("there is no job")?;
    ensure!(
        jobs.iter().all(|job| job.pm4 == first.pm4),
        "some jobs are dispatched by PM4 packets and others are not"
    );
    let runtime = Runtime::open()?;
    let loaded = jobs
        .iter()
        .map(|job| Loaded::new(&runtime, job))
        .collect::<Result<Vec<_>>>()?;
    // Destroyed before the memory that its packets name.
    let mut ring = Ring::create(&runtime, first)?;
    let mut clean = true;
    for each in &loaded {
        say(&Said::Ready {
            code: each.code.address() + ALIGNMENT as u64,
            process: std::process::id(),
        })?;
        let outcome = each.repeat(&runtime, &mut ring)?;
        clean &= outcome.wrong.is_empty();
        say(&Said::Done(outcome))?;
    }
    Ok(clean)
}

impl<'a> Loaded<'a> {
    fn new(runtime: &Arc<Runtime>, job: &'a Job) -> Result<Loaded<'a>> {
        job.check()?;
        let object = object(job)?;
        let code = Buffer::allocate(runtime, 0, job.place, object.len())?;
        code.store(0, &object);
        let buffers = job
            .buffers
            .iter()
            .map(|words| Buffer::allocate(runtime, 0, job.place, words.len() * 4))
            .collect::<Result<Vec<_>>>()?;
        let arguments = arguments(&buffers, job.number);
        let kernarg = Buffer::allocate(runtime, 0, Place::Host, arguments.len())?;
        kernarg.store(0, &arguments);
        Ok(Loaded {
            job,
            code,
            buffers,
            kernarg,
        })
    }

    /// Dispatches until the job's file is there.
    fn repeat(&self, runtime: &Runtime, ring: &mut Ring) -> Result<Outcome> {
        let job = self.job;
        let mut outcome = Outcome {
            dispatches: 0,
            wrong: Vec::new(),
        };
        loop {
            for (buffer, before) in self.buffers.iter().zip(&job.buffers) {
                for (word, value) in buffer.words().iter().zip(before) {
                    word.store(*value, Ordering::Relaxed);
                }
            }
            ring.submit(self)?;
            wait(runtime, ring, job)?;
            let found: Vec<Vec<u32>> = self.buffers.iter().map(loaded).collect();
            let wrong = first_difference(&found, &job.expected, outcome.dispatches);
            outcome.wrong.extend(wrong);
            outcome.dispatches += 1;
            if job.stop.exists() {
                return Ok(outcome);
            }
        }
    }
}

/// A queue, and how it says that a dispatch is done.
enum Ring {
    Aql(Queue, Signal),
    Pm4(Direct),
}

impl Ring {
    fn create(runtime: &Arc<Runtime>, job: &Job) -> Result<Ring> {
        if job.pm4 {
            return Ok(Ring::Pm4(Direct::create(runtime)?));
        }
        let queue = own_queue(runtime, job.priority)?;
        Ok(Ring::Aql(queue, Signal::create(runtime, 0)?))
    }

    fn submit(&mut self, loaded: &Loaded<'_>) -> Result<()> {
        let job = loaded.job;
        match self {
            Ring::Aql(queue, done) => {
                done.store(1);
                let packet = Packet::dispatch(&Dispatch {
                    workgroups: job.groups,
                    workgroup_size: job.items,
                    private_bytes: job.private_bytes,
                    lds_bytes: job.lds_bytes,
                    kernel_object: loaded.code.address(),
                    kernel_arguments: loaded.kernarg.address(),
                    completion: done.handle(),
                    ordered: true,
                });
                ensure!(queue.submit(&packet, || true), "the ring is full");
                Ok(())
            }
            Ring::Pm4(direct) => direct.submit(&Order {
                descriptor: &bytes(&job.descriptor)?,
                entry: loaded.code.address() + ALIGNMENT as u64 + job.entry,
                items: job.items,
                groups: job.groups,
                private_bytes: job.private_bytes,
                lds_bytes: job.lds_bytes,
                arguments: loaded.kernarg.address(),
            }),
        }
    }

    fn is_done(&self) -> bool {
        match self {
            Ring::Aql(_, done) => done.wait_below(1, LOOK),
            Ring::Pm4(direct) => direct.wait(LOOK),
        }
    }

    fn failure(&self) -> Option<String> {
        match self {
            Ring::Aql(queue, _) => queue.failure().map(|what| what.to_string()),
            Ring::Pm4(_) => None,
        }
    }
}

fn loaded(buffer: &Buffer) -> Vec<u32> {
    let words = buffer.words().iter();
    words.map(|word| word.load(Ordering::Acquire)).collect()
}

/// A queue with the priority that KFD gives it.
fn own_queue(runtime: &Arc<Runtime>, priority: u32) -> Result<Queue> {
    let node = runtime.gpus().next().context("there is no GPU")?.node;
    let pid = std::process::id();
    let before = sysfs::queues(pid)?;
    let queue = Queue::create(runtime, 0, RING_PACKETS)?;
    let after = sysfs::queues(pid)?;
    let own = OwnQueue {
        id: sysfs::new_queue(&before, &after, sysfs::gpu_id(node)?, queue.ring_bytes())?,
        ring_address: queue.ring_address(),
        ring_bytes: queue.ring_bytes(),
    };
    Kfd::open()?.update_queue(&own, 100, priority)?;
    Ok(queue)
}

fn wait(runtime: &Runtime, ring: &Ring, job: &Job) -> Result<()> {
    let start = Instant::now();
    while !ring.is_done() {
        if let Some(what) = runtime.exception() {
            bail!("the GPU reports a {what}");
        }
        if let Some(what) = ring.failure() {
            bail!("the queue has stopped: {what}");
        }
        ensure!(
            start.elapsed() < Duration::from_millis(job.patience_ms),
            "a dispatch did not end within {} ms",
            job.patience_ms
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
        let words = bytes.chunks_exact(4);
        words.map(|four| u32::from_le_bytes(four.try_into().unwrap()))
    }

    fn job() -> Job {
        Job {
            code: digits(&[0, 0, 0, 0, 0, 0, 0x81, 0xbf]),
            descriptor: digits(&[7; DESCRIPTOR_BYTES]),
            entry: 4,
            items: 64,
            groups: 1,
            ..Job::default()
        }
    }

    #[test]
    fn the_descriptor_leads_to_the_kernel() {
        let object = object(&job()).unwrap();
        let entry: Vec<u32> = words(&object[CODE_ENTRY..CODE_ENTRY + 8]).collect();
        assert_eq!(entry, [260, 0]);
        assert_eq!(words(&object[260..]).next(), Some(0xbf81_0000));
        assert_eq!((object[0], object[63], object[64]), (7, 7, 0));
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_words() {
        type Change = fn(&mut Job);
        let cases: [(Change, &str); 6] = [
            (|job| job.code = "0".into(), "no byte"),
            (|job| job.code = "zz".into(), "'zz'"),
            (|job| job.code = "€€".into(), "hexadecimal"),
            (|job| job.descriptor = "00".into(), "64 bytes, not 1"),
            (|job| job.entry = 8, "behind its code"),
            (|job| job.buffers = vec![vec![1]], "differ in number"),
        ];
        for (change, text) in cases {
            let mut job = job();
            change(&mut job);
            let error = job.check().and_then(|()| object(&job)).unwrap_err();
            assert!(format!("{error:#}").contains(text), "{error:#}");
        }
    }

    #[test]
    fn the_first_difference_is_told() {
        let before = vec![vec![1, 2], vec![3]];
        assert_eq!(first_difference(&before, &before, 0), None);
        let after = vec![vec![1, 2], vec![4]];
        let wrong = first_difference(&before, &after, 5).unwrap();
        assert_eq!((wrong.dispatch, wrong.buffer, wrong.word), (5, 1, 0));
        assert_eq!((wrong.found, wrong.expected), (3, 4));
    }

    #[test]
    fn a_job_is_what_was_written() {
        let text = serde_json::to_string(&job()).unwrap();
        assert_eq!(serde_json::from_str::<Job>(&text).unwrap(), job());
    }
}
