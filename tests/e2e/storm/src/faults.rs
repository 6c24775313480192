// SPDX-License-Identifier: GPL-2.0-only
//! Which processes had a page fault on the GPU, as the driver says in the kernel's log: it
//! takes their queues off the GPU for ever, so that their work never ends.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use anyhow::{Context, Result};
use nix::fcntl::OFlag;

/// How long the kernel holds back lines that come in great numbers, 0 for not at all.
const PRINT_RATE: &str = "/proc/sys/kernel/printk_ratelimit";
/// The most that one read of the log returns.
const RECORD: usize = 8192;

pub struct Faults {
    log: File,
    processes: BTreeSet<i32>,
}

impl Faults {
    /// Those from now on, of which the log must not leave any out: where many come at once,
    /// the kernel prints ten in five seconds.
    pub fn new() -> Result<Faults> {
        fs::write(PRINT_RATE, "0").context(PRINT_RATE)?;
        let mut log = OpenOptions::new()
            .read(true)
            .custom_flags(OFlag::O_NONBLOCK.bits())
            .open("/dev/kmsg")
            .context("opening the kernel's log")?;
        log.seek(SeekFrom::End(0))?;
        Ok(Faults {
            log,
            processes: BTreeSet::new(),
        })
    }

    /// Takes in what the log has by now.
    pub fn follow(&mut self) -> Result<()> {
        let mut record = [0; RECORD];
        loop {
            match self.log.read(&mut record) {
                Ok(length) => {
                    let text = String::from_utf8_lossy(&record[..length]);
                    self.processes.extend(faulted(&text));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // Records were overwritten before they were read.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                Err(error) => return Err(error).context("reading the kernel's log"),
            }
        }
    }

    pub fn has(&self, process: i32) -> bool {
        self.processes.contains(&process)
    }
}

/// The process that a line says had a page fault.
fn faulted(line: &str) -> Option<i32> {
    let (_, process) = line.split_once(" Process ")?;
    let (_, numbers) = process.split_once(" pid ")?;
    let (process, _) = numbers.split_once(" thread ")?;
    process.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_names_the_process() {
        let line = "3,1201,80450913,-;amdgpu 0000:01:00.0:  Process storm pid 1182 thread storm pid 1182\n";
        assert_eq!(faulted(line), Some(1182));
        for other in [
            "amdgpu 0000:01:00.0: [gfxhub0] no-retry page fault (src_id:0 ring:16 vmid:3 pasid:433)",
            "amdgpu: process pid 1174 DQM create queue type 3 failed. ret -12",
            "amdgpu 0000:01:00.0:  Process storm pid x thread storm pid x",
            "",
        ] {
            assert_eq!(faulted(other), None, "{other}");
        }
    }
}
