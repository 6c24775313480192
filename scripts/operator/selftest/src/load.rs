// SPDX-License-Identifier: GPL-2.0-only
//! A load of the self test's own: a process of this program that runs the workload's
//! queues, each workgroup of which is counted.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use gpu_workload::control::{self, Request};
use gpu_workload::group;
use gpu_workload::hsa::Place;
use gpu_workload::report::{Event, QueueIdentity, RunReport};
use gpu_workload::spec::{Arrival, Cost, KernelSpec, QueueSpec, Ring, RunSpec};

/// The names of its two queues.
pub const HEAVY: &str = "heavy";
pub const URGENT: &str = "urgent";
/// Levels that are as far apart as they can be.
pub const LOWEST: u32 = 0;
pub const HIGHEST: u32 = 15;
/// Registers with which eight workgroups of four waves fill a compute unit.
pub const REGISTERS: u32 = 64;
pub const FILLING: u32 = 8;
/// A unit's local memory: a workgroup that takes all of it has the unit for itself.
const LOCAL_MEMORY: u32 = 64 << 10;
const WAVE: u16 = 64;
/// Longer than any run.
const NEVER_NS: u64 = 3_600_000_000_000;

/// How the GPU's kernels and clock are: those of a real one, or the virtual one's.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Which of the GPUs that ROCr shows.
    pub gpu: usize,
    /// How much slower than the host's clock the GPU's is.
    pub dilation: u32,
    pub machine_code: bool,
    pub timeout: Duration,
}

impl Machine {
    pub fn run(&self, queues: Vec<QueueSpec>) -> RunSpec {
        let mut run = RunSpec {
            queues,
            dependencies: Vec::new(),
            dilation: self.dilation,
            seed: 1,
            gpu: self.gpu,
            request_timeout_ms: self.timeout.as_millis() as u64,
            samples: true,
        };
        for queue in &mut run.queues {
            queue.kernel.machine_code = self.machine_code;
        }
        run
    }
}

fn queue(name: &str, priority: u32, workgroups: u32, cost_ns: u64) -> QueueSpec {
    QueueSpec {
        name: name.into(),
        group: name.into(),
        priority,
        percentage: 100,
        ring_packets: 128,
        ring: Ring::default(),
        workgroups,
        workgroup_size: 4 * WAVE,
        cost_ns: Cost::Nanoseconds(cost_ns),
        demand: 0,
        kernel: KernelSpec::default(),
        dispatches_per_request: 1,
        then: Vec::new(),
        arrival: Arrival::ClosedLoop {
            depth: 1,
            think_ns: 0,
        },
        one_at_a_time: false,
        preparation_ns: 0,
        hint: false,
        batched: false,
        unwritten_guest_ns: 0,
        real_time: false,
        start_ns: 0,
        requests: None,
        duration_ns: Some(NEVER_NS),
        ordered: true,
        drain: true,
        place: Place::Host,
    }
}

/// So many small requests at once, and then nothing until it is told to stop.
pub fn a_few(requests: usize) -> QueueSpec {
    let mut times_ns = vec![0; requests];
    times_ns.push(NEVER_NS / 2);
    QueueSpec {
        arrival: Arrival::Trace { times_ns },
        ..queue("few", LOWEST, 4, 10_000)
    }
}

/// Idle queues that never get work.
pub fn idle(name: &str) -> QueueSpec {
    QueueSpec {
        start_ns: NEVER_NS / 2,
        ..queue(name, LOWEST, 1, 1_000)
    }
}

/// One kernel whose workgroups take a unit each, with as little state as that takes.
fn whole_units(queue: QueueSpec) -> QueueSpec {
    QueueSpec {
        workgroup_size: WAVE,
        kernel: KernelSpec {
            vector_registers: 8,
            lds_bytes: LOCAL_MEMORY,
            ..KernelSpec::default()
        },
        requests: Some(1),
        ..queue
    }
}

/// One kernel that holds every unit.
pub fn holder(units: u32, cost_ns: u64) -> QueueSpec {
    whole_units(queue(HEAVY, LOWEST, units, cost_ns))
}

/// A kernel that can run only where nothing holds a unit.
pub fn waiter(start_ns: u64) -> QueueSpec {
    QueueSpec {
        start_ns,
        ..whole_units(queue(URGENT, HIGHEST, 1, 10_000))
    }
}

/// Kernels that fill the GPU, one after the other, until they are told to stop.
pub fn heavy(units: u32, registers: u32, cost_ns: u64) -> QueueSpec {
    QueueSpec {
        kernel: KernelSpec {
            vector_registers: registers,
            ..KernelSpec::default()
        },
        arrival: Arrival::ClosedLoop {
            depth: 2,
            think_ns: 0,
        },
        ..queue(HEAVY, LOWEST, FILLING * units, cost_ns)
    }
}

/// Short kernels of full size at a fixed rate, until they are told to stop.
pub fn urgent(units: u32, period_ns: u64, start_ns: u64) -> QueueSpec {
    QueueSpec {
        kernel: KernelSpec {
            vector_registers: REGISTERS,
            ..KernelSpec::default()
        },
        arrival: Arrival::FixedRate { period_ns },
        start_ns,
        ..queue(URGENT, HIGHEST, FILLING * units, 50_000)
    }
}

/// The bytes that a save of a GPU full of such workgroups moves.
pub fn state_bytes(units: u32, registers: u32) -> u64 {
    const WAVES: u64 = 4;
    const OF_A_WAVE: u64 = 640;
    const OF_A_REGISTER: u64 = 256;
    let wave = OF_A_WAVE + OF_A_REGISTER * u64::from(registers);
    u64::from(units) * u64::from(FILLING) * WAVES * wave
}

/// A load that runs. It is killed when it is dropped before its end.
pub struct Load {
    child: Child,
    events: Receiver<Result<Event>>,
    sockets: PathBuf,
    pub queues: Vec<QueueIdentity>,
}

impl Load {
    /// Starts a load; its queues exist when [`Load::ready`] says so.
    pub fn start(spec: &RunSpec) -> Result<Load> {
        let sockets =
            std::env::temp_dir().join(format!("gpreempt-selftest-{}", std::process::id()));
        let program = std::env::current_exe().context("finding this program")?;
        let mut child = Command::new(program)
            .arg("load")
            .arg(&sockets)
            // It would number the GPUs otherwise.
            .env_remove("ROCR_VISIBLE_DEVICES")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the load")?;
        let mut input = child.stdin.take().context("the load has no input")?;
        writeln!(input, "{}", serde_json::to_string(spec)?)?;
        let output = child.stdout.take().context("the load has no output")?;
        let (told, events) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let event = line.map_err(Into::into).and_then(|line| {
                    serde_json::from_str(&line).with_context(|| format!("the load printed {line}"))
                });
                if told.send(event).is_err() {
                    break;
                }
            }
        });
        Ok(Load {
            child,
            events,
            sockets,
            queues: Vec::new(),
        })
    }

    /// Whether all queues exist by now.
    pub fn ready(&mut self, patience: Duration) -> Result<bool> {
        match self.event(patience)? {
            None => Ok(false),
            Some(Event::Ready { queues }) => {
                self.queues = queues;
                Ok(true)
            }
            Some(Event::Report(report)) => bail!("the load ended at once: {}", wrong(&report)),
        }
    }

    /// The report, once there is one. Every workgroup must have run exactly once.
    pub fn finished(&mut self, patience: Duration) -> Result<Option<RunReport>> {
        match self.event(patience)? {
            None => Ok(None),
            Some(Event::Ready { .. }) => bail!("the load is ready twice"),
            Some(Event::Report(report)) => {
                ensure!(report.ok, "{}", wrong(&report));
                Ok(Some(report))
            }
        }
    }

    fn event(&mut self, patience: Duration) -> Result<Option<Event>> {
        match self.events.recv_timeout(patience) {
            Ok(event) => event.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.child.wait()?;
                bail!("the load ended without a report ({status})")
            }
        }
    }

    pub fn identity(&self, queue: &str) -> Result<&QueueIdentity> {
        self.queues
            .iter()
            .find(|identity| identity.name == queue)
            .with_context(|| format!("the load has no queue {queue}"))
    }

    fn ask(&self, group: &str, request: &Request) -> Result<serde_json::Value> {
        control::call(&self.sockets.join(format!("{group}.sock")), request)
    }

    /// Read and write index of a queue, as its own process sees them.
    pub fn indices(&self, queue: &str) -> Result<(u64, u64)> {
        let identity = self.identity(queue)?;
        let all = self.ask(&identity.group, &Request::Status)?;
        let status = all.as_array().into_iter().flatten();
        let status = status.into_iter().find(|status| status["name"] == queue);
        let indices =
            status.and_then(|status| serde_json::from_value(status["indices"].clone()).ok());
        indices.with_context(|| format!("no indices of queue {queue} in {all}"))
    }

    /// Takes a queue off the run list and puts it back, by the driver's own call.
    pub fn off_and_on(&self, queue: &str) -> Result<()> {
        let group = &self.identity(queue)?.group;
        for percentage in [0, 100] {
            let request = Request::Update {
                queue: queue.into(),
                percentage: Some(percentage),
                priority: None,
            };
            self.ask(group, &request)?;
        }
        Ok(())
    }

    /// Lets no queue submit more, so that the load comes to its end.
    pub fn stop(&self) -> Result<()> {
        let mut groups: Vec<&str> = self
            .queues
            .iter()
            .map(|queue| queue.group.as_str())
            .collect();
        groups.dedup();
        for group in groups {
            self.ask(group, &Request::Stop { queue: None })?;
        }
        Ok(())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // Fails when it has ended by itself. Its own processes die with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.sockets);
    }
}

/// What is wrong with the work of a load.
fn wrong(report: &RunReport) -> String {
    let died = report
        .died
        .iter()
        .map(|death| format!("the process of {}: {}", death.group, death.reason));
    let queues = report
        .queues
        .iter()
        .filter(|queue| !queue.is_clean())
        .map(|queue| {
            let name = &queue.identity.name;
            match &queue.failure {
                Some(failure) => format!("queue {name}: {failure}"),
                None => format!(
                    "queue {name}: {} workgroups are lost and {} ran more than once",
                    queue.workgroups.lost, queue.workgroups.repeated
                ),
            }
        });
    let all: Vec<String> = died.chain(queues).collect();
    if all.is_empty() {
        return "the load says that something is wrong, and not what".into();
    }
    all.join("; ")
}

/// The load's own side: the specification on standard input, events on standard output.
pub fn serve(sockets: &Path) -> Result<()> {
    // Without the self test nobody would end it.
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
    let mut text = String::new();
    std::io::stdin().lock().read_line(&mut text)?;
    let spec = RunSpec::parse(&text).context("the specification of a load")?;
    std::fs::create_dir_all(sockets).with_context(|| sockets.display().to_string())?;
    let mut say = |event: &Event| -> Result<()> {
        let mut output = std::io::stdout().lock();
        writeln!(output, "{}", serde_json::to_string(event)?)?;
        Ok(output.flush()?)
    };
    let report = group::run(&spec, &["group"], Some(sockets), &mut say)?;
    say(&Event::Report(report))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu_workload::report::Death;

    const MACHINE: Machine = Machine {
        gpu: 0,
        dilation: 1,
        machine_code: true,
        timeout: Duration::from_secs(1),
    };

    #[test]
    fn every_load_is_a_legal_run_with_the_kernels_of_its_machine() {
        let all = [
            vec![a_few(3)],
            vec![idle("a"), idle("b")],
            vec![holder(304, 1_000), waiter(500)],
            vec![heavy(304, REGISTERS, 1_000), urgent(304, 1_000, 10)],
        ];
        for queues in all {
            let run = MACHINE.run(queues);
            let text = serde_json::to_string(&run).unwrap();
            let read = RunSpec::parse(&text).unwrap();
            assert!(read.queues.iter().all(|queue| queue.kernel.machine_code));
        }
    }

    #[test]
    fn a_full_unit_has_the_state_that_the_driver_reserves() {
        assert_eq!(state_bytes(1, 64), 32 * (640 + 64 * 256));
        assert!(state_bytes(1, 8) < state_bytes(1, 16));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let mut report = RunReport {
            ok: false,
            queues: Vec::new(),
            died: vec![Death {
                group: "heavy".into(),
                reason: "it was killed".into(),
            }],
        };
        assert_eq!(wrong(&report), "the process of heavy: it was killed");
        report.died.clear();
        assert!(!wrong(&report).is_empty());
    }
}
