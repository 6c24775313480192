// SPDX-License-Identifier: GPL-2.0-only
//! KFD's debugger interface on another process: the only way that user space has
//! to save and unmap queues it does not own.
//!
//! The driver wants the caller's thread to trace the target, so a session stays
//! on the thread that opened it.

use std::marker::PhantomData;
use std::os::fd::{AsFd, OwnedFd};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{waitpid, WaitPidFlag, WaitStatus};
use nix::unistd::{pipe2, read, Pid};

use super::ioctl::{Kfd, QueueSnapshot, RuntimeInfo};
use super::trap::{self, QueueStatus};

pub struct Session<'kfd> {
    kfd: &'kfd Kfd,
    target: Pid,
    /// The driver writes a byte here for each exception.
    events: (OwnedFd, OwnedFd),
    alive: bool,
    _stays_on_its_thread: PhantomData<*const ()>,
}

impl<'kfd> Session<'kfd> {
    /// Traces the process and starts a debug session on it. The process keeps
    /// running.
    pub fn attach(kfd: &'kfd Kfd, pid: u32) -> Result<Self> {
        let session = Self::trace(kfd, pid)?;
        session
            .enable(0)
            .with_context(|| format!("KFD refused to debug process {pid}"))?;
        Ok(session)
    }

    /// Traces the process only.
    pub fn trace(kfd: &'kfd Kfd, pid: u32) -> Result<Self> {
        let target = Pid::from_raw(i32::try_from(pid).context("not a process id")?);
        ptrace::seize(target, ptrace::Options::empty()).with_context(|| {
            format!("tracing process {pid} (another debugger, or not permitted)")
        })?;
        let events = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        Ok(Self {
            kfd,
            target,
            events,
            alive: true,
            _stays_on_its_thread: PhantomData,
        })
    }

    /// Starts a debug session on the traced process, with these exceptions.
    pub fn enable(&self, exceptions: u64) -> nix::Result<RuntimeInfo> {
        let notify = self.events.1.as_fd();
        self.kfd.debug_enable(self.pid(), notify, exceptions)
    }

    /// How many exceptions were announced since this was asked last.
    pub fn announced(&self) -> nix::Result<usize> {
        let mut bytes = [0; 64];
        match read(&self.events.0, &mut bytes) {
            Err(Errno::EAGAIN) => Ok(0),
            count => count,
        }
    }

    pub fn kfd(&self) -> &'kfd Kfd {
        self.kfd
    }

    pub fn pid(&self) -> u32 {
        self.target.as_raw() as u32
    }

    pub fn queues(&mut self) -> Result<Vec<QueueSnapshot>> {
        self.pass_signals_on()?;
        // Queues that are marked as new cannot be suspended.
        self.kfd
            .trap_queues(self.pid(), trap::QUEUE_NEW)
            .context("reading the target's queues")
    }

    pub fn suspend(&mut self, queues: &[u32]) -> Result<Vec<QueueStatus>> {
        self.pass_signals_on()?;
        let suspended = self.kfd.trap_suspend(self.pid(), queues, 0);
        let suspended = suspended.context("suspending queues")?;
        Ok(suspended.statuses())
    }

    pub fn resume(&mut self, queues: &[u32]) -> Result<Vec<QueueStatus>> {
        self.pass_signals_on()?;
        let resumed = self.kfd.trap_resume(self.pid(), Some(queues));
        Ok(resumed.context("resuming queues")?.statuses())
    }

    /// A traced process stops at each signal until its tracer lets it go on.
    /// Returns whether the target still lives.
    pub fn pass_signals_on(&mut self) -> Result<bool> {
        while self.alive {
            match waitpid(
                self.target,
                Some(WaitPidFlag::WNOHANG | WaitPidFlag::__WALL),
            ) {
                Ok(WaitStatus::StillAlive) => break,
                Ok(WaitStatus::Stopped(pid, signal)) => go_on(pid, Some(signal))?,
                // A group stop or a stop of PTRACE_INTERRUPT: nothing to deliver.
                Ok(WaitStatus::PtraceEvent(pid, _, _)) => go_on(pid, None)?,
                Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) | Err(Errno::ECHILD) => {
                    self.alive = false;
                }
                Ok(_) => {}
                Err(error) => return Err(error).context("waiting for the target"),
            }
        }
        Ok(self.alive)
    }
}

fn go_on(pid: Pid, signal: Option<Signal>) -> Result<()> {
    match ptrace::cont(pid, signal) {
        // Killed between the stop and now: the next wait reports it.
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(error) => Err(error).context("letting the target go on"),
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // The target may be gone; the driver then has ended the session itself.
        let _ = self.kfd.debug_disable(self.pid());
        // A running target cannot be detached from: stop it first. When this
        // process exits the kernel detaches, too.
        if self.alive && ptrace::interrupt(self.target).is_ok() {
            if let Ok(status) = waitpid(self.target, Some(WaitPidFlag::__WALL)) {
                let signal = match status {
                    WaitStatus::Stopped(_, signal) => Some(signal),
                    _ => None,
                };
                let _ = ptrace::detach(self.target, signal);
            }
        }
    }
}
