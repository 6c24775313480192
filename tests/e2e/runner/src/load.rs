// SPDX-License-Identifier: GPL-2.0-only
//! Loads on the guest's GPU, every workgroup of which is counted.

use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use e2e_protocol::{Finished, Program, Status};
use gpu_workload::report::{Event, QueueIdentity, RunReport};
use gpu_workload::spec::RunSpec;
use serde_json::{json, Value};
use vgpu_server::clock::HOST_DILATION;

use crate::background::{Background, Expect};
use crate::guest::{on_disk, Guest};
use crate::image::Clock;

/// Guest nanoseconds for each GPU nanosecond, in guests that follow the host's clock.
pub const DILATION: u32 = HOST_DILATION;
/// Where the control sockets of running loads are in the guest.
const CONTROL: &str = "/tmp/control";
const PATIENCE: Duration = Duration::from_secs(600);

/// How a load is started.
struct Line<'a> {
    /// A program of the disk.
    program: &'a str,
    environment: &'a [(&'a str, &'a str)],
}

impl Default for Line<'_> {
    fn default() -> Self {
        Line {
            program: "workload",
            environment: &[],
        }
    }
}

/// A load that was started.
pub struct Load {
    program: Background,
    control: String,
    /// Its queues, once they exist.
    pub queues: Vec<QueueIdentity>,
}

impl Load {
    /// Starts a load and waits until all its queues exist. The scenario must see to
    /// its end.
    pub fn start(guest: &mut Guest, specification: Value) -> Result<Load> {
        Load::start_as(guest, "workload", specification)
    }

    /// The same, by a program of the disk that may have another name.
    pub fn start_as(guest: &mut Guest, program: &str, specification: Value) -> Result<Load> {
        let line = Line {
            program,
            ..Line::default()
        };
        Load::launch_as(guest, line, specification, Expect::Success)?.ready(guest)
    }

    /// The same, with save areas that the driver does not move when video memory runs
    /// short: it can lose the waves in those that it moves (docs/virtual-gpu.md).
    pub fn start_settled(guest: &mut Guest, specification: Value) -> Result<Load> {
        let line = Line {
            environment: &[("HSA_USE_SVM", "0")],
            ..Line::default()
        };
        Load::launch_as(guest, line, specification, Expect::Success)?.ready(guest)
    }

    fn ready(mut self, guest: &mut Guest) -> Result<Load> {
        self.wait_until_ready(guest)?;
        Ok(self)
    }

    /// Starts a load and goes on at once. It may be one that fails, where that is
    /// expected.
    pub fn launch(guest: &mut Guest, specification: Value, expect: Expect) -> Result<Load> {
        Load::launch_as(guest, Line::default(), specification, expect)
    }

    fn launch_as(
        guest: &mut Guest,
        how: Line,
        specification: Value,
        expect: Expect,
    ) -> Result<Load> {
        let specification = complete(specification, guest.image.clock)?;
        // No load meets the sockets of another.
        let control = format!("{CONTROL}.{}", guest.unique());
        let line = [how.program, "run", "--control", &control, "--spec", "-"];
        let program = Program {
            // It can be longer than an argument.
            input: specification,
            environment: how
                .environment
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect(),
            ..on_disk(&line)
        };
        Ok(Load {
            program: Background::program(guest, program, expect)?,
            control,
            queues: Vec::new(),
        })
    }

    /// Waits until all queues exist. A load that ends before is an error.
    pub fn wait_until_ready(&mut self, guest: &mut Guest) -> Result<()> {
        guest.wait_until("the load is ready", PATIENCE, |guest| {
            let text = self.program.output(guest)?;
            for event in events(&text)? {
                if let Event::Ready { queues } = event {
                    self.queues = queues;
                }
            }
            if self.queues.is_empty() {
                if let Some(finished) = self.program.wait(guest, Duration::ZERO)? {
                    bail!("before it was ready, {}", ended(&finished));
                }
            }
            Ok(!self.queues.is_empty())
        })
    }

    /// The process that owns a queue.
    pub fn pid(&self, queue: &str) -> Result<u32> {
        self.identity(queue).map(|identity| identity.pid)
    }

    pub fn identity(&self, queue: &str) -> Result<&QueueIdentity> {
        self.queues
            .iter()
            .find(|identity| identity.name == queue)
            .with_context(|| format!("the load has no queue '{queue}'"))
    }

    /// The control socket of a queue's process.
    pub fn socket(&self, queue: &str) -> Result<String> {
        Ok(format!(
            "{}/{}.sock",
            self.control,
            self.identity(queue)?.group
        ))
    }

    /// Has `kfdctl` do something to a queue from within its process.
    pub fn control(&self, guest: &mut Guest, queue: &str, arguments: &[&str]) -> Result<Value> {
        let socket = self.socket(queue)?;
        let (command, rest) = arguments
            .split_first()
            .context("kfdctl without a command")?;
        let mut line = vec!["kfdctl", command, "--socket", &socket];
        // These are about all queues of the process.
        if !["status", "invalidate", "rename"].contains(command) {
            line.extend(["--queue", queue]);
        }
        line.extend(rest);
        guest.json(&line, PATIENCE)
    }

    /// Requests of a queue that are complete by now.
    pub fn completed(&self, guest: &mut Guest, queue: &str) -> Result<u64> {
        let all = self.control(guest, queue, &["status"])?;
        all.as_array()
            .into_iter()
            .flatten()
            .find(|status| status["name"] == queue)
            .and_then(|status| status["completed"].as_u64())
            .with_context(|| format!("no status of queue '{queue}' in {all}"))
    }

    /// Lets no queue submit more, so that the load comes to its end. If a process of it is
    /// gone, the load has something to say.
    pub fn stop(&self, guest: &mut Guest) -> Result<()> {
        for queue in &self.queues {
            if let Err(error) = self.control(guest, &queue.name, &["stop"]) {
                let finished = self.kill(guest)?;
                return Err(error.context(ended(&finished)));
            }
        }
        Ok(())
    }

    /// Waits for the load to end in any way.
    pub fn end(&self, guest: &mut Guest) -> Result<Finished> {
        self.program.end(guest, PATIENCE)
    }

    /// Waits up to that time for the load to end in any way; `None` if it still runs.
    pub fn wait(&self, guest: &mut Guest, time: Duration) -> Result<Option<Finished>> {
        self.program.wait(guest, time)
    }

    /// Waits for the end, at which every workgroup must have run exactly once.
    pub fn finish(self, guest: &mut Guest) -> Result<RunReport> {
        let finished = self.end(guest)?;
        let report = report(&finished)?;
        ensure!(
            report.ok && finished.status == Status::Exited(0),
            ended(&finished)
        );
        Ok(report)
    }

    /// Ends the processes of the load by force, and returns how it ended.
    pub fn kill(&self, guest: &mut Guest) -> Result<Finished> {
        self.program.stop(guest)
    }
}

/// How a load has ended that should not have, or not yet.
fn ended(finished: &Finished) -> String {
    let Finished {
        status,
        stdout,
        stderr,
    } = finished;
    format!("the load ended with {status:?}: {stdout}\n{stderr}")
}

/// What a load that has ended reports.
pub fn report(finished: &Finished) -> Result<RunReport> {
    let report = events(&finished.stdout)?
        .into_iter()
        .find_map(|event| match event {
            Event::Report(report) => Some(report),
            Event::Ready { .. } => None,
        });
    report.with_context(|| {
        format!(
            "the load ended with {:?} and no report: {}",
            finished.status, finished.stderr
        )
    })
}

/// Runs a load to its end, at which every workgroup must have run exactly once.
pub fn run(guest: &mut Guest, specification: Value) -> Result<RunReport> {
    Load::launch(guest, specification, Expect::Success)?.finish(guest)
}

/// A queue of a specification that keeps `depth` requests outstanding. More
/// fields replace what stands here.
pub fn queue(name: &str, workgroups: u32, cost_ns: u64, more: Value) -> Value {
    let mut queue = json!({
        "name": name, "workgroups": workgroups, "cost_ns": cost_ns,
        "arrival": {"closed_loop": {"depth": 1}},
    });
    extend(&mut queue, &more);
    queue
}

/// Adds fields to a JSON object, or replaces those that stand there.
pub fn extend(object: &mut Value, more: &Value) {
    if let (Some(object), Some(more)) = (object.as_object_mut(), more.as_object()) {
        object.extend(more.clone());
    }
}

/// Checks a specification here, where a mistake is easier to see.
fn complete(mut specification: Value, clock: Clock) -> Result<String> {
    specification["dilation"] = clock.dilation().into();
    let text = specification.to_string();
    RunSpec::parse(&text)?;
    Ok(text)
}

fn events(text: &str) -> Result<Vec<Event>> {
    // The last line may not be complete while the load runs.
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    complete
        .lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("the load printed {line}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_not_read_yet() {
        let ready = r#"{"event":"ready","queues":[]}"#;
        assert_eq!(events(&ready[..10]).unwrap().len(), 0);
        assert_eq!(events(&format!("{ready}\n{{")).unwrap().len(), 1);
        assert!(events("nonsense\n").is_err());
    }

    #[test]
    fn a_queue_takes_what_is_said_about_it() {
        let queue = queue("a", 4, 10, json!({"priority": 3, "requests": 2}));
        assert_eq!(
            (&queue["priority"], &queue["workgroups"]),
            (&json!(3), &json!(4))
        );
        assert!(complete(json!({"queues": [queue]}), Clock::Host).is_ok());
        assert!(complete(json!({"queues": []}), Clock::Host).is_err());
    }
}
