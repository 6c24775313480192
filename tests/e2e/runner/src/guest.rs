// SPDX-License-Identifier: GPL-2.0-only
//! A guest with its virtual GPU, as a scenario uses it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Error, Result};
use e2e_protocol::{LogLine, Program};
use serde::de::DeserializeOwned;
use tempfile::TempDir;

use crate::agent::Agent;
use crate::background::Register;
use crate::cache::{gate, module, program, Cache};
use crate::device::{Device, Shape};
use crate::emulator;
use crate::failed::NotStarted;
use crate::image::{write_disk, Image};
use crate::log::Expected;
use crate::machine::{console, Console, Machine, Slot};
use crate::partitions::Partitions;
use crate::snapshot::Snapshot;
use crate::storm::Plan;

/// How long the driver may take for a GPU that was plugged in.
const PROBE_PATIENCE: Duration = Duration::from_secs(300);
/// Where the disk's files are in the guest.
pub const FILES: &str = "/files";

pub struct Guest {
    pub machine: Machine,
    pub device: Device,
    /// The other GPUs that a scenario has plugged in.
    pub others: Vec<Device>,
    pub shape: Shape,
    pub image: Image,
    /// How often scenarios that count on repetition repeat.
    pub cycles: u32,
    /// Parameters of the module besides a scenario's own.
    pub parameters: String,
    /// What the suite of storms does.
    pub storm: Plan,
    /// What was started and not yet waited for.
    pub background: Register,
    last_unique: u64,
    expected: Expected,
    log_mark: u64,
    // Dropped last, because the sockets of everything above are in it.
    directory: TempDir,
}

impl Guest {
    /// Restores a guest, making its snapshot first if there is none, and plugs
    /// GPU and disk in.
    pub fn start(
        cache: &Cache,
        image: &Image,
        shape: &Shape,
        cycles: u32,
        at: Console,
    ) -> Result<Guest> {
        let snapshot = Snapshot::of(image, cache)?;
        let directory = tempfile::Builder::new().prefix("gpreempt-").tempdir()?;
        let start = || {
            let disk = directory.path().join("disk");
            write_disk(&disk, &Self::files(image)?)?;
            let device = Device::start(shape, image.clock, directory.path(), "gpu")?;
            let mut machine = Machine::restore(image, &snapshot, directory.path(), at)
                .inspect_err(|_| snapshot.discard())?;
            machine.plug_gpu(Slot::Gpu(0), device.socket())?;
            machine.plug_disk(Slot::Disk, &disk)?;
            Ok((machine, device))
        };
        let (machine, device) = match start() {
            Ok(started) => started,
            Err(error) => return Err(not_started(directory, &error)),
        };
        let mut guest = Guest {
            machine,
            device,
            others: Vec::new(),
            shape: shape.clone(),
            image: image.clone(),
            cycles,
            parameters: String::new(),
            storm: Plan::default(),
            background: Register::default(),
            last_unique: 0,
            expected: Expected::default(),
            log_mark: 0,
            directory,
        };
        match guest.wait_for_devices() {
            Ok(()) => Ok(guest),
            Err(error) => {
                let error = error.context(guest.last_words());
                Err(not_started(guest.directory, &error))
            }
        }
    }

    fn wait_for_devices(&mut self) -> Result<()> {
        self.wait_for_gpus(1)?;
        Partitions::restore(self)?;
        self.unpack(Slot::Disk, FILES)
    }

    fn unpack(&mut self, slot: Slot, place: &str) -> Result<()> {
        self.wait_until("the disk is there", PROBE_PATIENCE, |guest| {
            let added = guest.agent().list(&slot.added_devices());
            Ok(added.is_ok_and(|names| names.iter().any(|name| name == Slot::ADDED)))
        })?;
        self.agent().unpack(&slot.device(), place)
    }

    /// The modules of this kernel, when they are built, and the guest's programs.
    fn files(image: &Image) -> Result<BTreeMap<String, PathBuf>> {
        let mut files = BTreeMap::new();
        for name in ["workload", "kfdctl", "storm"] {
            files.insert(name.into(), program(name)?);
        }
        let release = &image.kernel.release;
        let own = image
            .kernel
            .own_module()
            .map_or_else(|| module(release), Ok)?;
        for (name, module) in [("amd_gpreempt.ko", own), ("unbind_gate.ko", gate(release)?)] {
            if module.exists() {
                files.insert(name.into(), module);
            }
        }
        Ok(files)
    }

    /// What QEMU has said.
    pub fn emulator_said(&self) -> Result<String> {
        Machine::said(self.directory.path())
    }

    /// Unpacks more files into a directory of the guest; the keys are their names there.
    pub fn add_files(&mut self, files: &BTreeMap<String, PathBuf>, place: &str) -> Result<()> {
        let disk = self.directory.path().join("second-disk");
        write_disk(&disk, files)?;
        self.machine.plug_disk(Slot::SecondDisk, &disk)?;
        self.unpack(Slot::SecondDisk, place)?;
        self.machine.unplug_disk(Slot::SecondDisk)
    }

    pub fn agent(&mut self) -> &mut Agent {
        &mut self.machine.agent
    }

    /// A number that this guest has not seen, for names.
    pub fn unique(&mut self) -> u64 {
        self.last_unique += 1;
        self.last_unique
    }

    /// The directory with the console, the sockets and the logs.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// What the console has printed, where it is a file.
    fn console(&self) -> String {
        fs::read_to_string(console(self.directory.path())).unwrap_or_default()
    }

    /// Whether it died of a fault of the emulator, and not of anything in it.
    pub fn ended_by_emulator(&self) -> bool {
        emulator::ran_stale_code(&self.console())
    }

    /// The end of the console and of the kernel log, which say why a guest did not start.
    fn last_words(&mut self) -> String {
        const MOST: usize = 20;
        let console = self.console();
        let log = self.agent().log(0).unwrap_or_default().0;
        let console = console.lines().map(str::to_owned).collect::<Vec<_>>();
        let log = log.into_iter().map(|line| line.text).collect::<Vec<_>>();
        let end = |lines: &[String]| lines[lines.len().saturating_sub(MOST)..].join("\n");
        format!(
            "the console ends:\n{}\nthe log ends:\n{}",
            end(&console),
            end(&log)
        )
    }

    fn gpus_are_up(&mut self, count: usize) -> Result<bool> {
        let nodes = "/sys/class/kfd/kfd/topology/nodes";
        let mut found = 0;
        for node in self.agent().list(nodes).unwrap_or_default() {
            let path = format!("{nodes}/{node}/gpu_id");
            // A node that is being added cannot be read yet.
            let id = self.agent().read_file(&path).unwrap_or_default();
            if !["", "0"].contains(&id.trim()) {
                found += 1;
            }
        }
        let render = self.agent().list("/dev/dri").unwrap_or_default();
        let devices = render
            .iter()
            .filter(|name| name.starts_with("renderD"))
            .count();
        Ok(found >= count && devices >= count)
    }

    /// Plugs a second GPU of the same shape in and waits until it is up.
    pub fn add_second_gpu(&mut self) -> Result<()> {
        let shape = self.shape.clone();
        self.plug_other_gpu(&shape)?;
        self.wait_for_gpus(2)
    }

    /// Plugs one more GPU in.
    pub fn plug_other_gpu(&mut self, shape: &Shape) -> Result<()> {
        let number = 1 + u32::try_from(self.others.len())?;
        let name = format!("gpu{}", number + 1);
        let device = Device::start(shape, self.image.clock, self.directory.path(), &name)?;
        self.machine.plug_gpu(Slot::Gpu(number), device.socket())?;
        self.others.push(device);
        Ok(())
    }

    /// The GPU of a number, of which 0 is the first.
    pub fn gpu(&mut self, number: u32) -> Result<&mut Device> {
        match number.checked_sub(1) {
            None => Ok(&mut self.device),
            Some(other) => {
                let device = self.others.get_mut(other as usize);
                device.with_context(|| format!("there is no GPU {number}"))
            }
        }
    }

    /// Waits until the driver has that many GPUs.
    pub fn wait_for_gpus(&mut self, count: usize) -> Result<()> {
        let what = format!("{count} GPUs are up");
        self.wait_until(&what, PROBE_PATIENCE, |guest| guest.gpus_are_up(count))
    }

    /// Polls until the condition holds. The patience is a safety net: no test
    /// depends on how long anything takes.
    pub fn wait_until(
        &mut self,
        what: &str,
        patience: Duration,
        mut check: impl FnMut(&mut Guest) -> Result<bool>,
    ) -> Result<()> {
        let start = Instant::now();
        while !check(self)? {
            if start.elapsed() > patience {
                bail!("gave up waiting until {what}");
            }
            self.agent().pause(Duration::from_millis(50))?;
        }
        Ok(())
    }

    /// Runs a program of the disk that must succeed, and reads the JSON that it
    /// prints.
    pub fn json<T: DeserializeOwned>(&mut self, line: &[&str], patience: Duration) -> Result<T> {
        let text = self.agent().check(on_disk(line), patience)?;
        serde_json::from_str(&text).with_context(|| format!("'{}' printed {text}", line.join(" ")))
    }

    /// Waits until the kernel log of this scenario has a line with this text.
    pub fn wait_for_log(&mut self, text: &str, patience: Duration) -> Result<()> {
        self.wait_until(&format!("the kernel says '{text}'"), patience, |guest| {
            Ok(guest.times_in_log(text)? > 0)
        })
    }

    /// How many lines of this scenario's kernel log have this text.
    pub fn times_in_log(&mut self, text: &str) -> Result<usize> {
        let from = self.log_mark;
        let (lines, _) = self.agent().log(from)?;
        Ok(lines.iter().filter(|line| line.text.contains(text)).count())
    }

    /// Accepts lines of the kernel log with this text as part of the scenario.
    pub fn expect_log(&mut self, text: &str) {
        self.expected.texts.push(text.into());
    }

    /// Accepts a warning of the stock driver's function `warner`, with `caller` in its
    /// trace, as part of the scenario.
    pub fn expect_warning(&mut self, warner: &'static str, caller: &'static str) {
        self.expected.warnings.push((warner, caller));
    }

    /// The kernel log since the last call, and what was expected of it.
    pub fn take_log(&mut self) -> Result<(Vec<LogLine>, Expected)> {
        let from = self.log_mark;
        let (lines, next) = self.agent().log(from)?;
        self.log_mark = next;
        Ok((lines, std::mem::take(&mut self.expected)))
    }
}

/// Why there is no guest, with the files of its machine.
fn not_started(directory: TempDir, error: &Error) -> Error {
    let reason = format!("{error:#}");
    NotStarted { directory, reason }.into()
}

/// A program of the disk with its arguments.
pub fn on_disk(line: &[&str]) -> Program {
    let (program, arguments) = line.split_first().unwrap_or((&"", &[]));
    Program {
        program: format!("{FILES}/{program}"),
        arguments: arguments.iter().map(|&word| word.into()).collect(),
        ..Program::default()
    }
}
