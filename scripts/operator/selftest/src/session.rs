// SPDX-License-Identifier: GPL-2.0-only
//! What every step needs: the GPU, the module, and the checks that end the self test at
//! the first surprise.

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure, Result};
use gpreempt_operator::host::tables::Node;
use gpu_workload::report::RunReport;
use gpu_workload::spec::RunSpec;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::host::{Gpu, Host};
use crate::kernel_log::KernelLog;
use crate::load::{Load, Machine};
use crate::module::{is_queue, Module};

/// How often what goes on is checked.
const LOOK: Duration = Duration::from_millis(50);
/// Where the module leaves a node alone.
const ARMED: &str = "armed";

/// The operator has ended it.
#[derive(Debug)]
pub struct Interrupted(&'static str);

impl std::error::Error for Interrupted {}

impl fmt::Display for Interrupted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} has ended the self test", self.0)
    }
}

/// The signals by which an operator ends it.
pub struct Signals(SignalFd);

impl Signals {
    /// They no longer end the process as it is, since the operator's settings are changed.
    pub fn take() -> Result<Signals> {
        let mut mask = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            mask.add(signal);
        }
        mask.thread_block()?;
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        Ok(Signals(SignalFd::with_flags(&mask, flags)?))
    }

    fn check(&self) -> Result<()> {
        if let Ok(Some(told)) = self.0.read_signal() {
            let signal = Signal::try_from(told.ssi_signo as i32)?;
            bail!(Interrupted(signal.as_str()));
        }
        Ok(())
    }
}

/// The self test while it runs.
pub struct Session {
    pub host: Host,
    pub gpu: Gpu,
    pub module: Module,
    pub machine: Machine,
    /// How long anything may take.
    pub patience: Duration,
    /// Whether others may use the GPU at the same time.
    pub others: bool,
    pub signals: Signals,
    pub log: KernelLog,
    /// The counters when the self test began.
    pub before: Node,
}

impl Session {
    pub fn stats(&self) -> Result<Node> {
        self.module.stats(self.gpu.gpu_id)
    }

    /// Fails when anything is not as it should be.
    pub fn check(&mut self) -> Result<()> {
        self.signals.check()?;
        if let Some(line) = self.log.objections()?.first() {
            bail!("the kernel log says: {line}");
        }
        let now = self.stats()?;
        objection(&self.before, &now)?;
        if !self.others {
            let others = self.host.others(self.gpu.gpu_id, std::process::id());
            if let Some(other) = others.first() {
                bail!(
                    "process {} ({}) has begun to use the GPU",
                    other.pid,
                    other.command
                );
            }
        }
        Ok(())
    }

    /// Waits until it is so, and checks everything else meanwhile.
    pub fn wait_until(
        &mut self,
        what: &str,
        mut so: impl FnMut(&mut Session) -> Result<bool>,
    ) -> Result<()> {
        let begin = Instant::now();
        loop {
            self.check()?;
            if so(self)? {
                return Ok(());
            }
            ensure!(
                begin.elapsed() < self.patience,
                "after {} s it is still not so that {what}",
                self.patience.as_secs()
            );
            thread::sleep(LOOK);
        }
    }

    /// Starts a load, and waits until all its queues exist and the module shows them.
    pub fn start(&mut self, spec: &RunSpec) -> Result<Load> {
        let load = self.start_unseen(spec)?;
        let gpu_id = self.gpu.gpu_id;
        let wanted: Vec<(u32, u32)> = load.queues.iter().map(|q| (q.pid, q.queue_id)).collect();
        self.wait_until("the module shows every queue of the self test", |session| {
            let shown = session.module.queues(gpu_id)?;
            let is_shown = |&(pid, id): &(u32, u32)| shown.iter().any(|row| is_queue(row, pid, id));
            Ok(wanted.iter().all(is_shown))
        })?;
        Ok(load)
    }

    /// The same while the module does not look at queues.
    pub fn start_unseen(&mut self, spec: &RunSpec) -> Result<Load> {
        let mut load = Load::start(spec)?;
        self.wait_until("the queues of the self test exist", |_| load.ready(LOOK))?;
        let gpu_id = self.gpu.gpu_id;
        for queue in &load.queues {
            ensure!(
                queue.gpu_id == gpu_id,
                "the ROCm runtime has the GPU {} where KFD has {gpu_id}: unset ROCR_VISIBLE_DEVICES",
                queue.gpu_id
            );
        }
        Ok(load)
    }

    /// Waits for the end of a load, each workgroup of which must have run exactly once.
    pub fn finish(&mut self, mut load: Load) -> Result<RunReport> {
        let mut report = None;
        self.wait_until("the work of the self test is done", |_| {
            report = load.finished(LOOK)?;
            Ok(report.is_some())
        })?;
        drop(load);
        // Its queues go a little later than it does.
        let gpu_id = self.gpu.gpu_id;
        self.wait_until("nothing is stopped any more", |session| {
            Ok(session.module.stats(gpu_id)?.stopped == 0)
        })?;
        match report {
            Some(report) => Ok(report),
            None => bail!("the load has no report"),
        }
    }
}

/// What the counters have that they should not.
fn objection(before: &Node, now: &Node) -> Result<()> {
    if now.state != ARMED {
        let why = now.refusal.as_ref().or(now.last_failure.as_ref());
        let why = why.map_or("see the kernel log", String::as_str);
        bail!("the node is {}: {why}", now.state);
    }
    for (name, old, new) in [
        ("failures", before.failures, now.failures),
        ("handed_over", before.handed_over, now.handed_over),
    ] {
        ensure!(
            old == new,
            "the counter {name} has gone from {old} to {new}: {}",
            now.last_failure.as_deref().unwrap_or("see the kernel log")
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_of_failures_that_moves_is_a_surprise() {
        let before = Node {
            state: ARMED.into(),
            failures: 3,
            ..Node::default()
        };
        assert!(objection(&before, &before).is_ok());
        let failed = Node {
            failures: 4,
            last_failure: Some("why".into()),
            ..before.clone()
        };
        let text = objection(&before, &failed).unwrap_err().to_string();
        assert_eq!(text, "the counter failures has gone from 3 to 4: why");
        let handed_over = Node {
            handed_over: 1,
            ..before.clone()
        };
        assert!(objection(&before, &handed_over).is_err());
        let disarmed = Node {
            state: "disarmed".into(),
            ..before.clone()
        };
        let text = objection(&before, &disarmed).unwrap_err().to_string();
        assert!(text.contains("the node is disarmed"), "{text}");
    }
}
