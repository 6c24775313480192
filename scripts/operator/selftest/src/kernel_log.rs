// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel says while the self test runs.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use anyhow::{Context, Result};
use nix::libc::{EPIPE, O_NONBLOCK};

/// Messages of these levels and of those below are errors, and of the module also warnings.
const ERROR: u32 = 3;
const WARNING: u32 = 4;
/// Whose errors are about the GPU.
const SUBJECTS: &[&str] = &["amdgpu", "kfd", "amd_gpreempt", "[drm]"];
/// What no clean run says at any level.
const BAD: &[&str] = &[
    "WARNING:",
    "BUG:",
    "Oops",
    "general protection fault",
    "blocked for more than",
    "soft lockup",
    "rcu: INFO",
    "GPU reset",
    "is reset",
    "preemption failed",
    "page fault",
];

/// The log from now on.
pub struct KernelLog(File);

impl KernelLog {
    pub fn from_now() -> Result<KernelLog> {
        let mut file = OpenOptions::new()
            .read(true)
            .custom_flags(O_NONBLOCK)
            .open("/dev/kmsg")
            .context("/dev/kmsg: only root can read the kernel log")?;
        file.seek(SeekFrom::End(0)).context("/dev/kmsg")?;
        Ok(KernelLog(file))
    }

    /// What it has said since the last call that should not be, first things first.
    pub fn objections(&mut self) -> Result<Vec<String>> {
        let mut all = Vec::new();
        while let Some(record) = self.next()? {
            all.extend(objection(&record));
        }
        Ok(all)
    }

    fn next(&mut self) -> Result<Option<String>> {
        let mut buffer = [0; 8192];
        loop {
            match self.0.read(&mut buffer) {
                Ok(read) => return Ok(Some(String::from_utf8_lossy(&buffer[..read]).into())),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                // The record was overwritten before it was read: the next one is there.
                Err(error) if error.raw_os_error() == Some(EPIPE) => {}
                Err(error) => return Err(error).context("reading /dev/kmsg"),
            }
        }
    }
}

/// The text of a record that should not be there.
fn objection(record: &str) -> Option<String> {
    let (prefix, text) = record.split_once(';')?;
    let level = prefix.split(',').next()?.parse::<u32>().ok()? & 7;
    let text = text.lines().next().unwrap_or_default();
    let about = |subject: &&str| text.contains(subject);
    let bad = BAD.iter().any(|bad| text.contains(bad));
    let error = level <= ERROR && SUBJECTS.iter().any(about);
    let warning = level <= WARNING && text.starts_with("amd_gpreempt");
    (bad || error || warning).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_driver_and_warnings_of_the_module_are_objected_to() {
        for record in [
            "3,1,2,-;amdgpu 0000:01:00.0: amdgpu: something\n DEVICE=x\n",
            "4,1,2,-;amd_gpreempt: the queues could not be taken off the GPU\n",
            "6,1,2,-;amdgpu 0000:01:00.0: amdgpu: GPU reset(1) succeeded!\n",
            "4,1,2,-;WARNING: CPU: 1 PID: 7 at mm/page_alloc.c:41\n",
            // The upper bits are the facility.
            "11,1,2,-;kfd kfd: amdgpu: oh\n",
        ] {
            assert!(objection(record).is_some(), "{record}");
        }
        for record in [
            "6,1,2,-;amd_gpreempt: 0000:01:00.0 node 0: mode enforce\n",
            "3,1,2,-;usb 1-1: device descriptor read/64, error -71\n",
            "4,1,2,-;amdgpu: Runlist is getting oversubscribed\n",
            "no record",
            "",
        ] {
            assert_eq!(objection(record), None, "{record}");
        }
    }

    #[test]
    fn an_objection_is_one_line() {
        let text = objection("3,1,2,-;amdgpu: a\n SUBSYSTEM=pci\n").unwrap();
        assert_eq!(text, "amdgpu: a");
    }
}
