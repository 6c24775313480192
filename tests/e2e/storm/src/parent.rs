// SPDX-License-Identifier: GPL-2.0-only
//! Who begins the lives and disturbs them. It has one thread, so that it may fork.
#![allow(unsafe_code)]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use e2e_storm::random::Random;
use nix::sys::signal::{kill, Signal};
use nix::sys::wait::{waitpid, WaitPidFlag, WaitStatus};
use nix::unistd::{fork, ForkResult, Pid};

use crate::faults::Faults;
use crate::gpu::Gpu;
use crate::life::{Life, STUCK};
use crate::transcript::Transcript;

const CGROUPS: &str = "/sys/fs/cgroup";
const LOOK: Duration = Duration::from_millis(2);
/// After that a life is stuck that nothing holds, and one that is killed.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long a life goes on after a page fault of its queues, before it is killed.
const AFTER_FAULT: Duration = Duration::from_secs(5);

/// What is done to a life from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Kill,
    Stop,
    Freeze,
    Move,
}

struct Actor {
    number: u64,
    lives: u64,
    transcript: Transcript,
    cgroup: PathBuf,
    now: Option<Now>,
}

/// The life that an actor leads at the moment.
struct Now {
    process: Pid,
    random: Random,
    begin: Instant,
    /// What is done next, and when.
    next: Option<(Instant, Fate)>,
    /// When what was done ends, with what it was.
    held: Option<(Instant, Fate)>,
    killed: bool,
    /// When it was known that its queues had a page fault.
    faulted: Option<Instant>,
}

/// Storms for that time. Returns whether nothing was stuck.
pub fn storm(seed: u64, time: Duration, actors: u64) -> Result<bool> {
    let gpu = Gpu::first()?;
    for file in [Path::new("/dev/kfd"), &gpu.render_node] {
        fs::set_permissions(file, Permissions::from_mode(0o666))?;
    }
    let mut all = (0..actors).map(Actor::new).collect::<Result<Vec<_>>>()?;
    let mut faults = Faults::new()?;
    let begin = Instant::now();
    let mut well = true;
    loop {
        let over = begin.elapsed() >= time;
        faults.follow()?;
        for actor in &mut all {
            well &= actor.look(seed, &gpu, over, &faults)?;
        }
        if over && all.iter().all(|actor| actor.now.is_none()) {
            break;
        }
        if !well && over {
            break;
        }
        thread::sleep(LOOK);
    }
    for actor in &all {
        // What is in it that is stuck keeps it.
        let _ = fs::remove_dir(&actor.cgroup);
    }
    Ok(well)
}

impl Actor {
    fn new(number: u64) -> Result<Actor> {
        let cgroup = Path::new(CGROUPS).join(format!("storm-{number}"));
        match fs::create_dir(&cgroup) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(error).context("making a cgroup");
            }
            _ => {}
        }
        Ok(Actor {
            number,
            lives: 0,
            transcript: Transcript::new()?,
            cgroup,
            now: None,
        })
    }

    /// Begins a life, disturbs it or sees it end. Returns whether nothing is stuck.
    fn look(&mut self, seed: u64, gpu: &Gpu, over: bool, faults: &Faults) -> Result<bool> {
        let Some(now) = &mut self.now else {
            if !over {
                self.begin(seed, gpu)?;
            }
            return Ok(true);
        };
        let status = waitpid(now.process, Some(WaitPidFlag::WNOHANG))?;
        if status != WaitStatus::StillAlive {
            let well = !matches!(status, WaitStatus::Exited(_, STUCK));
            self.tell(&status);
            self.release();
            self.now = None;
            self.lives += 1;
            return Ok(well);
        }
        now.disturb(&self.cgroup);
        now.end_after_fault(faults);
        if now.begin.elapsed() > PATIENCE {
            self.release();
            self.stuck();
            return Ok(false);
        }
        Ok(true)
    }

    fn begin(&mut self, seed: u64, gpu: &Gpu) -> Result<()> {
        // A child of a life that was killed may still write to that one's.
        self.transcript = Transcript::new()?;
        let mut random = Random::new(seed, &[self.number, self.lives]);
        let of_life = Random::new(random.number(), &[]);
        let steps = 5 + random.below(120);
        // SAFETY: this process has one thread.
        match unsafe { fork() }? {
            ForkResult::Child => {
                let status = match Life::new(gpu, of_life, self.transcript) {
                    Ok(life) => life.live(steps),
                    // As when the GPU is lost: part of the storm.
                    Err(_) => 0,
                };
                std::process::exit(status);
            }
            ForkResult::Parent { child } => {
                let begin = Instant::now();
                let next = random.one_in(2).then(|| draw(&mut random, begin));
                self.now = Some(Now {
                    process: child,
                    random,
                    begin,
                    next,
                    held: None,
                    killed: false,
                    faulted: None,
                });
            }
        }
        Ok(())
    }

    /// One line for each life.
    fn tell(&self, status: &WaitStatus) {
        let results: Vec<String> = self
            .transcript
            .read()
            .iter()
            .map(|result| format!("{result:x}"))
            .collect();
        println!(
            "life {} {} {status:?}: {}",
            self.number,
            self.lives,
            results.join(" ")
        );
    }

    /// Lets everything go on that is held.
    fn release(&mut self) {
        if let Some(Now {
            held: Some((_, fate)),
            process,
            ..
        }) = &self.now
        {
            hold(*process, &self.cgroup, *fate, false);
        }
    }

    /// Says of a process where it is.
    fn stuck(&self) {
        let Some(now) = &self.now else { return };
        let file = |name: &str| {
            fs::read_to_string(format!("/proc/{}/{name}", now.process)).unwrap_or_default()
        };
        eprintln!(
            "life {} {} is stuck{}: {}\n{}",
            self.number,
            self.lives,
            if now.killed {
                " after it was killed"
            } else {
                ""
            },
            file("syscall").trim(),
            file("stack")
        );
    }
}

impl Now {
    fn disturb(&mut self, cgroup: &Path) {
        let now = Instant::now();
        if let Some((until, fate)) = self.held {
            if now >= until {
                hold(self.process, cgroup, fate, false);
                self.held = None;
                self.next = self.random.one_in(2).then(|| draw(&mut self.random, now));
            }
            return;
        }
        let Some((_, fate)) = self.next.filter(|(at, _)| now >= *at) else {
            return;
        };
        self.next = None;
        if fate == Fate::Kill {
            self.kill();
            return;
        }
        hold(self.process, cgroup, fate, true);
        let time = Duration::from_millis(1 + self.random.below(400));
        self.held = Some((now + time, fate));
    }

    /// Its work would never end.
    fn end_after_fault(&mut self, faults: &Faults) {
        if self.killed || !faults.has(self.process.as_raw()) {
            return;
        }
        if self.faulted.get_or_insert_with(Instant::now).elapsed() > AFTER_FAULT {
            self.kill();
        }
    }

    fn kill(&mut self) {
        // It may have ended by itself just now.
        let _ = kill(self.process, Signal::SIGKILL);
        self.killed = true;
    }
}

fn draw(random: &mut Random, now: Instant) -> (Instant, Fate) {
    let at = now + Duration::from_millis(random.below(600));
    let fates = [Fate::Kill, Fate::Stop, Fate::Freeze, Fate::Move];
    (at, random.of(&fates).unwrap_or(Fate::Kill))
}

/// Holds a process in the way of its fate, or lets it go on. It may be gone.
fn hold(process: Pid, cgroup: &Path, fate: Fate, on: bool) {
    let root = Path::new(CGROUPS);
    let enter = |cgroup: &Path| {
        let _ = fs::write(cgroup.join("cgroup.procs"), process.to_string());
    };
    match fate {
        Fate::Stop => {
            let _ = kill(process, if on { Signal::SIGSTOP } else { Signal::SIGCONT });
        }
        Fate::Freeze => {
            if on {
                enter(cgroup);
            }
            let _ = fs::write(cgroup.join("cgroup.freeze"), if on { "1" } else { "0" });
        }
        Fate::Move | Fate::Kill => enter(if on { cgroup } else { root }),
    }
}
