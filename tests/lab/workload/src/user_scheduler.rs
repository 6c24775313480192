// SPDX-License-Identifier: GPL-2.0-only
//! Runs the user-space scheduler: reads the queues' pointers out of their
//! processes at each tick and has them stopped and started by one of two
//! mechanisms, KFD's debugger interface or destroying and making queues again.

use std::collections::BTreeMap;
use std::io::IoSliceMut;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use nix::sys::resource::{getrusage, UsageWho};
use nix::sys::uio::{process_vm_readv, RemoteIoVec};
use nix::unistd::Pid;
use serde::Serialize;

use crate::control::{self, Request};
use crate::kfd::debugger::Session;
use crate::kfd::ioctl::Kfd;
use crate::kfd::trap::QueueStatus;
use crate::poller::{Decision, Look, Poller, QueueKey, Settings};

/// What the scheduler did, and what it cost.
#[derive(Debug, Default, Serialize)]
pub struct Account {
    pub ticks: u64,
    pub stops: u64,
    pub starts: u64,
    pub cpu_ns: u64,
}

/// A queue to schedule.
#[derive(Debug, Clone)]
pub struct Scheduled {
    pub queue: QueueKey,
    pub priority: u32,
}

/// A queue to schedule, of a workload that can be asked to destroy it.
#[derive(Debug, Clone)]
pub struct Resettable {
    pub socket: PathBuf,
    pub name: String,
    pub priority: u32,
}

/// How queues are stopped and started.
trait Mechanism {
    /// The pointers of all queues. A queue that no longer exists is left out.
    fn look(&mut self) -> Result<Vec<Look>>;
    fn apply(&mut self, decision: &Decision) -> Result<()>;
    /// Starts everything.
    fn end(&mut self, decision: &Decision) -> Result<()>;
}

/// Where a queue's indices are in its process, read then written.
type Addresses = (u64, u64);

/// Reads both indices of many queues of one process with one system call.
fn read_indices(pid: u32, addresses: &[Addresses]) -> nix::Result<Vec<(u64, u64)>> {
    let mut bytes = vec![0u8; addresses.len() * 16];
    let remote: Vec<RemoteIoVec> = addresses
        .iter()
        .flat_map(|&(read, write)| [read, write])
        .map(|address| RemoteIoVec {
            base: address as usize,
            len: 8,
        })
        .collect();
    let pid = Pid::from_raw(pid as i32);
    process_vm_readv(pid, &mut [IoSliceMut::new(&mut bytes)], &remote)?;
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    Ok(bytes
        .chunks_exact(16)
        .map(|pair| (word(&pair[..8]), word(&pair[8..])))
        .collect())
}

/// Stops queues by suspending them as a debugger.
struct Debugger<'kfd> {
    sessions: BTreeMap<u32, Session<'kfd>>,
    addresses: BTreeMap<QueueKey, Addresses>,
    priorities: BTreeMap<QueueKey, u32>,
}

impl<'kfd> Debugger<'kfd> {
    fn attach(kfd: &'kfd Kfd, queues: &[Scheduled]) -> Result<Self> {
        let mut mechanism = Self {
            sessions: BTreeMap::new(),
            addresses: BTreeMap::new(),
            priorities: queues
                .iter()
                .map(|queue| (queue.queue, queue.priority))
                .collect(),
        };
        for &(pid, _) in mechanism.priorities.keys() {
            if mechanism.sessions.contains_key(&pid) {
                continue;
            }
            let mut session = Session::attach(kfd, pid)?;
            for queue in session.queues()? {
                let pointers = (queue.read_pointer, queue.write_pointer);
                mechanism.addresses.insert((pid, queue.queue_id), pointers);
            }
            mechanism.sessions.insert(pid, session);
        }
        for queue in mechanism.priorities.keys() {
            ensure!(
                mechanism.addresses.contains_key(queue),
                "process {} has no queue {}",
                queue.0,
                queue.1
            );
        }
        Ok(mechanism)
    }

    /// The processes' parts of a list of queues.
    fn by_process(queues: &[QueueKey]) -> BTreeMap<u32, Vec<u32>> {
        let mut processes: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &(pid, queue) in queues {
            processes.entry(pid).or_default().push(queue);
        }
        processes
    }
}

impl Mechanism for Debugger<'_> {
    fn look(&mut self) -> Result<Vec<Look>> {
        let mut looks = Vec::new();
        let queues: Vec<QueueKey> = self.priorities.keys().copied().collect();
        for (pid, ids) in Self::by_process(&queues) {
            let alive = match self.sessions.get_mut(&pid) {
                Some(session) => session.pass_signals_on()?,
                None => false,
            };
            let addresses: Vec<Addresses> =
                ids.iter().map(|&id| self.addresses[&(pid, id)]).collect();
            let Some(indices) = alive.then(|| read_indices(pid, &addresses).ok()).flatten() else {
                self.sessions.remove(&pid);
                self.priorities.retain(|queue, _| queue.0 != pid);
                continue;
            };
            for (id, (read, write)) in ids.into_iter().zip(indices) {
                let queue = (pid, id);
                looks.push(Look {
                    queue,
                    priority: self.priorities[&queue],
                    read,
                    write,
                });
            }
        }
        Ok(looks)
    }

    fn apply(&mut self, decision: &Decision) -> Result<()> {
        for (pid, queues) in Self::by_process(&decision.stop) {
            if let Some(session) = self.sessions.get_mut(&pid) {
                check(session.suspend(&queues)?, "suspended")?;
            }
        }
        for (pid, queues) in Self::by_process(&decision.start) {
            if let Some(session) = self.sessions.get_mut(&pid) {
                check(session.resume(&queues)?, "resumed")?;
            }
        }
        Ok(())
    }

    fn end(&mut self, decision: &Decision) -> Result<()> {
        self.apply(decision)?;
        self.sessions.clear();
        Ok(())
    }
}

/// It is not a failure if a process destroys its queue meanwhile.
fn check(statuses: Vec<QueueStatus>, what: &str) -> Result<()> {
    ensure!(
        !statuses.contains(&QueueStatus::Failed),
        "a queue could not be {what}"
    );
    Ok(())
}

/// Stops queues by having their process destroy them with their work.
struct Reset {
    queues: BTreeMap<QueueKey, Resettable>,
    addresses: BTreeMap<QueueKey, Addresses>,
    /// Destroyed queues, which have no pointers to read.
    held: BTreeMap<QueueKey, (u64, u64)>,
}

impl Reset {
    fn connect(queues: &[Resettable]) -> Result<Self> {
        let mut mechanism = Self {
            queues: BTreeMap::new(),
            addresses: BTreeMap::new(),
            held: BTreeMap::new(),
        };
        // The program's own numbers, since a queue gets a new id with each reset.
        for (number, queue) in queues.iter().enumerate() {
            let (pid, addresses) = Self::ask(queue)?;
            let key = (pid, number as u32);
            mechanism.queues.insert(key, queue.clone());
            mechanism.addresses.insert(key, addresses);
        }
        Ok(mechanism)
    }

    /// A workload that comes to its end takes no commands any more: its queues are
    /// left alone from then on.
    fn try_with(&mut self, key: QueueKey, act: impl FnOnce(&mut Self, &Resettable) -> Result<()>) {
        let Some(queue) = self.queues.get(&key).cloned() else {
            return;
        };
        if let Err(error) = act(self, &queue) {
            eprintln!("queue {:?} is left alone: {error:#}", queue.name);
            self.queues.remove(&key);
        }
    }

    fn hold(&mut self, key: QueueKey, queue: &Resettable) -> Result<()> {
        let indices = read_indices(key.0, &[self.addresses[&key]])?;
        control::call(
            &queue.socket,
            &Request::Hold {
                queue: queue.name.clone(),
            },
        )?;
        self.held
            .extend(indices.first().map(|&indices| (key, indices)));
        Ok(())
    }

    fn release(&mut self, key: QueueKey, queue: &Resettable) -> Result<()> {
        control::call(
            &queue.socket,
            &Request::Release {
                queue: queue.name.clone(),
            },
        )?;
        self.addresses.insert(key, Self::ask(queue)?.1);
        self.held.remove(&key);
        Ok(())
    }

    /// Process and index addresses of a queue, by its own account.
    fn ask(queue: &Resettable) -> Result<(u32, Addresses)> {
        let all = control::call(&queue.socket, &Request::Status)?;
        let status = all
            .as_array()
            .and_then(|all| {
                all.iter()
                    .find(|status| status["name"] == queue.name.as_str())
            })
            .with_context(|| format!("{}: no queue {:?}", queue.socket.display(), queue.name))?;
        let pid = u32::try_from(status["pid"].as_u64().context("no process id")?)?;
        let addresses = serde_json::from_value(status["index_addresses"].clone())
            .with_context(|| format!("queue {:?} is destroyed", queue.name))?;
        Ok((pid, addresses))
    }
}

impl Mechanism for Reset {
    fn look(&mut self) -> Result<Vec<Look>> {
        let mut looks = Vec::new();
        let mut gone = Vec::new();
        for (&key, queue) in &self.queues {
            let indices = match self.held.get(&key) {
                Some(&indices) => Some(indices),
                None => read_indices(key.0, &[self.addresses[&key]])
                    .ok()
                    .and_then(|indices| indices.first().copied()),
            };
            match indices {
                Some((read, write)) => {
                    looks.push(Look {
                        queue: key,
                        priority: queue.priority,
                        read,
                        write,
                    });
                }
                None => gone.push(key),
            }
        }
        for key in gone {
            self.queues.remove(&key);
        }
        Ok(looks)
    }

    fn apply(&mut self, decision: &Decision) -> Result<()> {
        for &key in &decision.stop {
            self.try_with(key, |this, queue| this.hold(key, queue));
        }
        for &key in &decision.start {
            self.try_with(key, |this, queue| this.release(key, queue));
        }
        Ok(())
    }

    fn end(&mut self, decision: &Decision) -> Result<()> {
        self.apply(decision)
    }
}

/// Schedules by suspending queues until `ended`, or until all are gone.
pub fn by_debugger(
    queues: &[Scheduled],
    settings: Settings,
    interval: Duration,
    ended: impl Fn() -> bool,
) -> Result<Account> {
    let kfd = Kfd::open()?;
    let mut mechanism = Debugger::attach(&kfd, queues)?;
    run(&mut mechanism, settings, interval, ended)
}

/// Schedules by destroying queues until `ended`, or until all are gone.
pub fn by_reset(
    queues: &[Resettable],
    settings: Settings,
    interval: Duration,
    ended: impl Fn() -> bool,
) -> Result<Account> {
    run(&mut Reset::connect(queues)?, settings, interval, ended)
}

fn run(
    mechanism: &mut dyn Mechanism,
    settings: Settings,
    interval: Duration,
    ended: impl Fn() -> bool,
) -> Result<Account> {
    let mut poller = Poller::new(settings);
    let mut account = Account::default();
    let start = Instant::now();
    let mut next = start;
    while !ended() {
        let looks = mechanism.look()?;
        if looks.is_empty() {
            break;
        }
        let now = start.elapsed().as_nanos() as u64;
        let decision = poller.decide(now, &looks);
        account.ticks += 1;
        account.stops += decision.stop.len() as u64;
        account.starts += decision.start.len() as u64;
        mechanism.apply(&decision)?;
        next += interval;
        let late = Instant::now();
        if next > late {
            thread::sleep(next - late);
        } else {
            // Missed ticks are not made up for.
            next = late;
        }
    }
    mechanism.end(&poller.start_all())?;
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    for time in [usage.user_time(), usage.system_time()] {
        account.cpu_ns += time.tv_sec() as u64 * 1_000_000_000 + time.tv_usec() as u64 * 1000;
    }
    Ok(account)
}
