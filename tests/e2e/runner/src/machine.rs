// SPDX-License-Identifier: GPL-2.0-only
//! QEMU: a guest without a GPU, its snapshot, and what is plugged into it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{json, Value};

use crate::agent::Agent;
use crate::cache::program;
use crate::image::{Clock, Image};
use crate::qmp::{connect, Qmp};
use crate::snapshot::Snapshot;

/// An emulated boot with the load of amdgpu takes a minute on a quiet machine.
const BOOT_PATIENCE: Duration = Duration::from_secs(900);
const START_PATIENCE: Duration = Duration::from_secs(300);
/// How long QEMU may take to end once it takes no commands any more.
const END_PATIENCE: Duration = Duration::from_secs(2);
/// How many ports there are for disks.
const DISKS: u32 = 2;

/// What QEMU says, among a machine's files.
const LOG: &str = "qemu.log";

/// How long a guest may take to let go of a disk. It waits some seconds, in case the
/// operator presses the button again.
const UNPLUG_PATIENCE: Duration = Duration::from_secs(60);

/// Where devices are plugged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The GPU of this number, for which the image has to have room.
    Gpu(u32),
    Disk,
    SecondDisk,
}

impl Slot {
    /// What a device is called behind its port.
    pub const ADDED: &str = "00.0";

    /// The number of its port.
    fn port(self) -> u32 {
        match self {
            Slot::Gpu(0) => 0,
            Slot::Disk => 1,
            Slot::Gpu(1) => 2,
            Slot::SecondDisk => 3,
            Slot::Gpu(number) => number + 2,
        }
    }

    fn bus(self) -> String {
        format!("port{}", self.port())
    }

    /// The guest numbers the bus behind each port, the root's being 0.
    fn guest_bus(self) -> u32 {
        self.port() + 1
    }

    /// What the guest calls a device that is plugged in here.
    pub fn address(self) -> String {
        format!("0000:{:02x}:{}", self.guest_bus(), Slot::ADDED)
    }

    /// Where it is in the guest's sysfs.
    pub fn device(self) -> String {
        format!("/sys/bus/pci/devices/{}", self.address())
    }

    /// A directory of the guest that has [`Slot::ADDED`] from when the device has its
    /// addresses. Its directory in sysfs is there before.
    pub fn added_devices(self) -> String {
        format!("/proc/bus/pci/{:02}", self.guest_bus())
    }
}

/// Where the guest's serial console goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Console {
    /// To a file among the machine's.
    File,
    /// To the terminal that the runner was started at, and from it.
    Terminal,
}

pub struct Machine {
    process: Child,
    /// Whether its clock is its own, which it shares with its GPUs.
    own_clock: bool,
    qmp: Qmp,
    pub agent: Agent,
}

impl Machine {
    /// The version of QEMU, which a snapshot depends on.
    pub fn version() -> Result<String> {
        let output = Command::new("qemu-system-x86_64")
            .arg("--version")
            .output()
            .context("cannot run qemu-system-x86_64")?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The command line, as far as a snapshot depends on it.
    pub fn shape(image: &Image) -> Vec<String> {
        let memory = format!(
            "memory-backend-memfd,id=ram,size={}M,share=on",
            image.memory_mib
        );
        let size = format!("{}M", image.memory_mib);
        let processors = image.processors.to_string();
        let mut arguments: Vec<String> = [
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-no-reboot",
            "-machine",
            "q35,memory-backend=ram",
            "-cpu",
            "qemu64",
            "-smp",
            &processors,
            "-m",
            &size,
            "-object",
            &memory,
            "-device",
            // The guest's processors access it themselves, at times of their own.
            "virtio-serial-pci,id=serial,ioeventfd=off",
            "-device",
            "virtserialport,bus=serial.0,chardev=agent,name=agent",
        ]
        .map(String::from)
        .into();
        let time: &[&str] = match image.clock.is_own() {
            true => &[
                "-accel",
                "tcg,thread=single",
                "-icount",
                "shift=0,sleep=off",
                "-rtc",
                "clock=vm",
                "-seed",
                "1",
            ],
            false => &["-accel", "tcg,thread=multi"],
        };
        arguments.extend(time.iter().copied().map(String::from));
        for port in 0..DISKS + image.gpus {
            // Room for video memory of 4 GiB on every port but the disks'.
            let disks = [Slot::Disk, Slot::SecondDisk].map(Slot::port);
            let reserve = if disks.contains(&port) { "2G" } else { "8G" };
            arguments.push("-device".into());
            arguments.push(format!(
                "pcie-root-port,id=port{port},chassis={0},slot={0},pref64-reserve={reserve},mem-reserve=32M",
                port + 1
            ));
        }
        arguments
    }

    fn start(image: &Image, directory: &Path, console: Console, more: &[&str]) -> Result<Machine> {
        let path = |name: &str| directory.join(name);
        let chardev = |kind: &str, id: &str, name: &str| {
            format!("{kind},id={id},path={}", path(name).display())
        };
        let mut command = Command::new("qemu-system-x86_64");
        command
            .args(Self::shape(image))
            .arg("-chardev")
            .arg(match console {
                Console::File => chardev("file", "console", "console"),
                Console::Terminal => "stdio,id=console,signal=off".into(),
            })
            .args(["-serial", "chardev:console"])
            .arg("-chardev")
            .arg(chardev("socket", "agent", "agent") + ",server=on,wait=off")
            .arg("-qmp")
            .arg(format!("unix:{},server=on,wait=off", path("qmp").display()))
            .args(more)
            .stderr(File::create(path(LOG))?);
        let mut libraries = vec![program("libbus_atomics.so")?];
        if image.clock.is_own() {
            libraries.push(program("libguest_clock.so")?);
            // While it boots, it has to get on without questions.
            if more.contains(&"-incoming") {
                command.env("GUEST_CLOCK_AGENT", path("agent"));
            }
        }
        let libraries: Vec<String> = libraries
            .iter()
            .map(|library| library.display().to_string())
            .collect();
        command.env("LD_PRELOAD", libraries.join(":"));
        if let Some(seed) = image.seed {
            command.env("GUEST_CLOCK_SEED", seed.to_string());
        }
        if let Some(longest) = image.holds_us {
            command.env("GUEST_CLOCK_HOLDS_US", longest.to_string());
        }
        if image.clock == Clock::Hurried {
            command.env("GUEST_CLOCK_HURRIES", "1");
        }
        if console == Console::File {
            command.stdin(Stdio::null()).stdout(Stdio::null());
        }
        let process = command.spawn().context("cannot start QEMU")?;
        let said = || {
            let text = Machine::said(directory).unwrap_or_default();
            format!("QEMU did not start; it said: {text}")
        };
        let qmp = Qmp::connect(&path("qmp"), START_PATIENCE).with_context(said)?;
        let agent = Agent::new(
            connect(&path("agent"), START_PATIENCE)?,
            image.clock.is_own(),
        )?;
        Ok(Machine {
            process,
            own_clock: image.clock.is_own(),
            qmp,
            agent,
        })
    }

    /// Boots the image and saves the machine in a directory as soon as its agent
    /// is there.
    pub fn make_snapshot(image: &Image, work: &Path) -> Result<()> {
        let initramfs = work.join("initramfs");
        image.write(&initramfs)?;
        let kernel = image.kernel.image.join("vmlinuz");
        let text = |path: &Path| path.display().to_string();
        let arguments = [
            "-kernel",
            &text(&kernel),
            "-initrd",
            &text(&initramfs),
            "-append",
            &image.command_line(),
        ]
        .map(String::from);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut machine = Machine::start(image, work, Console::File, &arguments)?;
        let saved = machine.boot_and_save(&work.join("state"));
        saved.with_context(|| {
            let console = fs::read_to_string(work.join("console")).unwrap_or_default();
            let lines: Vec<&str> = console.lines().rev().take(30).collect();
            let lines: Vec<&str> = lines.into_iter().rev().collect();
            format!(
                "the guest does not start; {}; its console ends:\n{}",
                machine.fate(work),
                lines.join("\n")
            )
        })
    }

    /// What has become of QEMU, after something went wrong.
    fn fate(&mut self, directory: &Path) -> String {
        let end = Instant::now() + END_PATIENCE;
        let status = loop {
            match self.process.try_wait() {
                Ok(None) if Instant::now() < end => thread::sleep(Duration::from_millis(20)),
                other => break other,
            }
        };
        let said = Machine::said(directory).unwrap_or_default();
        match status {
            Ok(Some(status)) => format!("QEMU ended with {status} and said: {said}"),
            _ => format!("QEMU is there and said: {said}"),
        }
    }

    /// The file is whole when the migration has ended. What QEMU does after that does not
    /// matter: it ends with this machine, and has been seen to end by itself.
    fn boot_and_save(&mut self, state: &Path) -> Result<()> {
        self.agent.wait_for_hello(BOOT_PATIENCE)?;
        self.qmp.execute("stop", Value::Null)?;
        self.qmp.set_memory_layout()?;
        let uri = format!("file:{}", state.display());
        self.qmp.execute("migrate", json!({"uri": uri}))?;
        self.qmp.finish_migration(START_PATIENCE)
    }

    /// A running machine from a snapshot.
    pub fn restore(
        image: &Image,
        snapshot: &Snapshot,
        directory: &Path,
        console: Console,
    ) -> Result<Machine> {
        let mut machine = Machine::start(image, directory, console, &["-incoming", "defer"])?;
        machine.qmp.set_memory_layout()?;
        let uri = format!("file:{}", snapshot.state().display());
        machine
            .qmp
            .execute("migrate-incoming", json!({"uri": uri}))?;
        let start = std::time::Instant::now();
        loop {
            let status = machine.qmp.execute("query-status", Value::Null)?;
            if status["status"] != "inmigrate" {
                break;
            }
            anyhow::ensure!(
                start.elapsed() < START_PATIENCE,
                "the snapshot does not load"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        // A guest with a clock of its own begins with a question.
        let asked = machine.agent.ask_for_hello()?;
        machine.qmp.execute("cont", Value::Null)?;
        machine.agent.hello(&asked, START_PATIENCE)?;
        Ok(machine)
    }

    /// What QEMU has said since a machine was started in this directory.
    pub fn said(directory: &Path) -> Result<String> {
        fs::read_to_string(directory.join(LOG)).context("QEMU has no log")
    }

    /// QEMU's process.
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// Plugs a virtual GPU in.
    pub fn plug_gpu(&mut self, slot: Slot, socket: &Path) -> Result<()> {
        // By this name the library with the clock finds the device of a socket.
        let id = socket.file_stem().and_then(OsStr::to_str);
        self.qmp.execute(
            "device_add",
            json!({
                "driver": "vfio-user-pci", "id": id, "bus": slot.bus(),
                "x-msg-timeout": 120_000,
                // A write has its time, which the GPU looks up when it has the message.
                "x-no-posted-writes": self.own_clock,
                "socket": {"type": "unix", "path": socket},
            }),
        )?;
        Ok(())
    }

    /// Plugs a file in, as the memory of a device: a power of two of bytes.
    pub fn plug_disk(&mut self, slot: Slot, file: &Path) -> Result<()> {
        let (memory, id) = (
            format!("file-{}", slot.bus()),
            format!("disk-{}", slot.bus()),
        );
        self.forget_disk(&memory)?;
        let bytes = fs::metadata(file)?.len();
        self.qmp.execute(
            "object-add",
            json!({"qom-type": "memory-backend-file", "id": memory, "mem-path": file,
                   "size": bytes, "share": true}),
        )?;
        self.qmp.execute(
            "device_add",
            json!({"driver": "ivshmem-plain", "id": id, "bus": slot.bus(), "memdev": memory}),
        )?;
        Ok(())
    }

    /// Gives up the file that was in a slot before, if there was one, as soon as the guest
    /// has let go of it.
    fn forget_disk(&mut self, memory: &str) -> Result<()> {
        let end = Instant::now() + UNPLUG_PATIENCE;
        loop {
            match self.qmp.execute("object-del", json!({"id": memory})) {
                Ok(_) => return Ok(()),
                Err(error) if error.to_string().contains("not found") => return Ok(()),
                Err(error) if Instant::now() >= end => {
                    return Err(error).context("the guest keeps the disk that was there before")
                }
                Err(_) => self.agent.pause(Duration::from_millis(100))?,
            }
        }
    }

    /// Takes a disk out again. The guest has the last word on when.
    pub fn unplug_disk(&mut self, slot: Slot) -> Result<()> {
        let id = format!("disk-{}", slot.bus());
        self.qmp.execute("device_del", json!({"id": id}))?;
        Ok(())
    }
}

impl Machine {
    /// Lets QEMU end by itself, which gives a terminal back as it was.
    pub fn quit(&mut self) -> Result<()> {
        self.qmp.execute("quit", Value::Null)?;
        self.process.wait()?;
        Ok(())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The console of a machine whose files are in a directory.
pub fn console(directory: &Path) -> PathBuf {
    directory.join("console")
}
