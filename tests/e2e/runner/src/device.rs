// SPDX-License-Identifier: GPL-2.0-only
//! The virtual GPU's process, and its control socket.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Stdio};
use std::time::Duration;

use anyhow::{bail, Context, Result};
use serde::de::DeserializeOwned;
use serde::Deserialize;
use serde_json::Value;
use vgpu_model::{
    Began, Faults, ForbiddenReport, HiqRecord, Moment, Pace, Product, QueueKind, QueueReport,
    ReadPointer, RegisterReport, StaleReport, StateDump, StopReport, TimelineRecord, Worlds,
};
use vgpu_server::control::Command;

use crate::cache::program;
use crate::image::Clock;
use crate::partitions::Partitions;
use crate::qmp::connect;

/// The shape of a virtual GPU.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    pub product: Product,
    /// Accelerator dies.
    pub xcc: u32,
    /// Compute units of each of a die's four shader engines.
    pub cu_per_sh: u32,
    pub vram_mib: u32,
    /// Engines for copies.
    pub sdma: u32,
    /// Parts of video memory.
    pub memory_partitions: u32,
    /// A virtual function, as a guest has it.
    pub virtual_function: bool,
    /// How the driver has divided it before a scenario begins.
    pub partitions: Partitions,
}

impl Shape {
    /// A shape of so many dies whose queues' save areas fit a small guest.
    pub fn new(xcc: u32) -> Shape {
        Shape {
            product: Product::default(),
            xcc,
            cu_per_sh: if xcc == 1 { 10 } else { 2 },
            vram_mib: 4096,
            sdma: 1,
            memory_partitions: 1,
            virtual_function: false,
            partitions: Partitions::Spx,
        }
    }

    /// The nodes that it is to the driver.
    pub fn nodes(&self) -> u32 {
        self.partitions.count(self.xcc)
    }

    /// The dies of each node.
    pub fn dies(&self) -> u32 {
        self.xcc / self.nodes()
    }

    /// Workgroups of the default size that fill every compute unit of a node.
    pub fn full(&self) -> u32 {
        const WORKGROUPS_OF_A_UNIT: u32 = 8;
        4 * self.cu_per_sh * self.dies() * WORKGROUPS_OF_A_UNIT
    }
}

pub struct Device {
    process: Child,
    socket: PathBuf,
    control: BufReader<UnixStream>,
}

impl Device {
    /// Starts a GPU whose sockets and log are in `directory`, under `name`.
    pub fn start(shape: &Shape, clock: Clock, directory: &Path, name: &str) -> Result<Device> {
        let socket = directory.join(format!("{name}.socket"));
        let control = directory.join(format!("{name}.control"));
        let log = directory.join(format!("{name}.log"));
        let process = Process::new(program("vgpu")?)
            .arg("--socket")
            .arg(&socket)
            .arg("--control")
            .arg(&control)
            .args(["--product", shape.product.facts().name])
            .args(["--xcc", &shape.xcc.to_string()])
            .args(["--cu-per-sh", &shape.cu_per_sh.to_string()])
            .args(["--vram-mib", &shape.vram_mib.to_string()])
            .args(["--sdma", &shape.sdma.to_string()])
            .args(["--memory-partitions", &shape.memory_partitions.to_string()])
            .args(["--clock", clock.of()])
            .args(shape.virtual_function.then_some("--virtual-function"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()
            .context("cannot start the virtual GPU")?;
        let patience = Duration::from_secs(20);
        let control = connect(&control, patience)?;
        control.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Device {
            process,
            socket,
            control: BufReader::new(control),
        })
    }

    /// The process in which it is.
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// The socket that QEMU connects to.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    fn ask<T: DeserializeOwned>(&mut self, command: Command) -> Result<T> {
        let line = serde_json::to_string(&command)?;
        writeln!(self.control.get_mut(), "{line}").context("the virtual GPU has ended")?;
        let mut reply = String::new();
        self.control
            .read_line(&mut reply)
            .context("the virtual GPU does not answer")?;
        let mut reply: Value = serde_json::from_str(&reply).context("the virtual GPU has ended")?;
        match reply.get_mut("ok") {
            Some(value) => Ok(serde_json::from_value(value.take())?),
            None => bail!("the virtual GPU refuses {line}: {}", reply["error"]),
        }
    }

    pub fn queues(&mut self) -> Result<Vec<QueueReport>> {
        self.ask(Command::Queues)
    }

    /// The accounts of the compute queues that are mapped now.
    pub fn mapped(&mut self) -> Result<Vec<QueueReport>> {
        let mut queues = self.queues()?;
        queues.retain(|queue| queue.mapped.is_some() && queue.kind == QueueKind::Aql);
        Ok(queues)
    }

    /// The GPU's time.
    pub fn now(&mut self) -> Result<Duration> {
        let clock: Time = self.ask(Command::Clock)?;
        Ok(Duration::from_nanos(clock.now))
    }

    pub fn state(&mut self) -> Result<StateDump> {
        self.ask(Command::State)
    }

    pub fn hiq(&mut self, from: u64) -> Result<Vec<HiqRecord>> {
        self.ask(Command::Hiq { from })
    }

    /// The number that the next packet on the firmware's ring will have.
    pub fn hiq_mark(&mut self) -> Result<u64> {
        Ok(self.hiq(0)?.last().map_or(0, |record| record.sequence + 1))
    }

    pub fn timeline(&mut self, from: u64) -> Result<Vec<TimelineRecord>> {
        self.ask(Command::Timeline { from })
    }

    /// The timeline in the trace-event format.
    pub fn trace(&mut self) -> Result<Value> {
        self.ask(Command::Trace { from: 0 })
    }

    /// The registers that were accessed so far.
    pub fn registers(&mut self) -> Result<Vec<RegisterReport>> {
        self.ask(Command::Registers)
    }

    /// The registers that a virtual function's guest was refused so far.
    pub fn forbidden(&mut self) -> Result<Vec<ForbiddenReport>> {
        self.ask(Command::Forbidden)
    }

    /// Says when the read pointers of AQL queues move from now on.
    pub fn set_read_pointer(&mut self, when: ReadPointer) -> Result<()> {
        self.ask(Command::SetReadPointer { when })
    }

    /// Sets how many nanoseconds an AQL packet takes from now on.
    pub fn set_aql_packet(&mut self, nanos: u64) -> Result<()> {
        self.ask(Command::SetAqlPacket { nanos })
    }

    /// Where in machine code waves were when they were saved.
    pub fn stops(&mut self) -> Result<Vec<StopReport>> {
        self.ask(Command::Stops)
    }

    /// Sets how fast waves of machine code go on.
    pub fn set_pace(&mut self, pace: Pace) -> Result<()> {
        self.ask(Command::SetPace { pace })
    }

    /// Sets how a virtual function takes turns with others.
    pub fn set_worlds(&mut self, worlds: Option<Worlds>) -> Result<()> {
        self.ask(Command::SetWorlds { worlds })
    }

    /// The host of a virtual function resets the GPU, once the guest is ready for it.
    pub fn host_reset(&mut self) -> Result<()> {
        self.ask(Command::HostReset)
    }

    /// Begins strict mode, with nothing cached, or ends it.
    pub fn set_strict(&mut self, strict: bool) -> Result<()> {
        self.ask(Command::SetStrict { strict })
    }

    /// What strict mode has found, if it is on.
    pub fn stale(&mut self) -> Result<Option<StaleReport>> {
        self.ask(Command::Stale)
    }

    /// Replaces the faults in force, and forgets those that wait for their moment.
    pub fn set_faults(&mut self, faults: Faults) -> Result<()> {
        self.ask(Command::SetFaults { faults })
    }

    /// Replaces the faults in force at the next such moment.
    pub fn set_faults_at(&mut self, moment: Moment, faults: Faults) -> Result<()> {
        self.ask(Command::SetFaultsAt { moment, faults })
    }

    /// When the faults began that last waited for their moment.
    pub fn faults_began(&mut self) -> Result<Option<Began>> {
        self.ask(Command::FaultsBegan)
    }
}

/// What the control socket says of the clock.
#[derive(Deserialize)]
struct Time {
    now: u64,
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
