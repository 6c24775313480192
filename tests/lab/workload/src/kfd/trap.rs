// SPDX-License-Identifier: GPL-2.0-only
//! What a debugger asks of KFD. Each call returns all that the driver says, so that two
//! sessions can be compared.

use nix::Result;
use serde::Serialize;

use super::ioctl::{Kfd, QueueSnapshot};

/// KFD_EC_MASK of EC_QUEUE_NEW and of EC_PROCESS_RUNTIME.
pub const QUEUE_NEW: u64 = 1 << 30;
pub const PROCESS_RUNTIME: u64 = 1 << 47;
/// Their numbers.
pub const QUEUE_NEW_CODE: u32 = 31;
pub const PROCESS_RUNTIME_CODE: u32 = 48;

/// `struct kfd_dbg_device_info_entry` in words.
const DEVICE_WORDS: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Devices {
    pub count: u32,
    pub entry_bytes: u32,
    pub words: Vec<u32>,
}

/// What has happened, and to which queue of which GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DebugEvent {
    pub exceptions: u64,
    pub gpu_id: u32,
    pub queue_id: u32,
}

/// Which traps were forced before, and which can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Override {
    pub before: u32,
    pub supported: u32,
}

/// The number of queues that a call has suspended or resumed, and its word on each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moved {
    pub count: i32,
    pub words: Vec<u32>,
}

/// What a debugger operation said of one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueStatus {
    Done,
    /// The hardware could not do it.
    Failed,
    /// No such queue, or it is new or being destroyed.
    Invalid,
}

impl Moved {
    /// What it says of each.
    pub fn statuses(self) -> Vec<QueueStatus> {
        self.words.into_iter().map(queue_status).collect()
    }
}

/// The driver marks the ids of the queues on which an operation failed.
fn queue_status(id: u32) -> QueueStatus {
    if id & (1 << 31) != 0 {
        QueueStatus::Invalid
    } else if id & (1 << 30) != 0 {
        QueueStatus::Failed
    } else {
        QueueStatus::Done
    }
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | (u64::from(high) << 32)
}

fn parts(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

impl Kfd {
    pub fn trap_runtime_event(&self, pid: u32, exceptions: u64) -> Result<()> {
        self.debug_trap(pid, 2, [exceptions, 0, 0]).map(drop)
    }

    pub fn trap_exceptions(&self, pid: u32, exceptions: u64) -> Result<()> {
        self.debug_trap(pid, 3, [exceptions, 0, 0]).map(drop)
    }

    pub fn trap_override(&self, pid: u32, mode: u32, traps: u32, asked: u32) -> Result<Override> {
        let arguments = [pair(mode, traps), asked.into(), 0];
        let (_, answer) = self.debug_trap(pid, 4, arguments)?;
        Ok(Override {
            before: parts(answer[0]).1,
            supported: parts(answer[1]).0,
        })
    }

    pub fn trap_launch_mode(&self, pid: u32, mode: u32) -> Result<()> {
        self.debug_trap(pid, 5, [mode.into(), 0, 0]).map(drop)
    }

    /// Clears the exceptions of the queues that it suspends.
    pub fn trap_suspend(&self, pid: u32, queues: &[u32], exceptions: u64) -> Result<Moved> {
        let mut words = queues.to_vec();
        let pointer = words.as_mut_ptr() as u64;
        let (count, _) = self.debug_trap(pid, 6, [exceptions, pointer, words.len() as u64])?;
        Ok(Moved { count, words })
    }

    /// Resumes these queues, or all that are suspended.
    pub fn trap_resume(&self, pid: u32, queues: Option<&[u32]>) -> Result<Moved> {
        let mut words = queues.unwrap_or_default().to_vec();
        let pointer = match queues {
            Some(_) => words.as_mut_ptr() as u64,
            None => 0,
        };
        let (count, _) = self.debug_trap(pid, 7, [pointer, words.len() as u64, 0])?;
        Ok(Moved { count, words })
    }

    /// Returns the number of the watchpoint.
    pub fn trap_watch(&self, pid: u32, gpu_id: u32, address: u64, mask: u32) -> Result<u32> {
        const ALL: u32 = 3;
        let (_, answer) = self.debug_trap(pid, 8, [address, pair(ALL, mask), gpu_id.into()])?;
        Ok(parts(answer[2]).1)
    }

    pub fn trap_unwatch(&self, pid: u32, gpu_id: u32, watchpoint: u32) -> Result<()> {
        self.debug_trap(pid, 9, [pair(gpu_id, watchpoint), 0, 0])
            .map(drop)
    }

    /// Returns the flags that were set before.
    pub fn trap_flags(&self, pid: u32, flags: u32) -> Result<u32> {
        let (_, answer) = self.debug_trap(pid, 10, [flags.into(), 0, 0])?;
        Ok(parts(answer[0]).0)
    }

    /// What has happened and is not cleared yet, of which it clears some.
    pub fn trap_event(&self, pid: u32, clear: u64) -> Result<DebugEvent> {
        let (_, answer) = self.debug_trap(pid, 11, [clear, 0, 0])?;
        let (gpu_id, queue_id) = parts(answer[1]);
        Ok(DebugEvent {
            exceptions: answer[0],
            gpu_id,
            queue_id,
        })
    }

    /// The words of an exception of a queue, a GPU or the process. Of the runtime's the
    /// first two are an address.
    pub fn trap_exception(&self, pid: u32, source: u32, code: u32) -> Result<Vec<u32>> {
        let mut words = vec![0u32; 4];
        let pointer = words.as_mut_ptr() as u64;
        let bytes = size_of_val(&words[..]) as u32;
        let arguments = [pointer, pair(bytes, source), pair(code, 0)];
        let (_, answer) = self.debug_trap(pid, 12, arguments)?;
        words.truncate(parts(answer[1]).0 as usize / size_of::<u32>());
        Ok(words)
    }

    /// All queues, of whose exceptions it clears some.
    pub fn trap_queues(&self, pid: u32, clear: u64) -> Result<Vec<QueueSnapshot>> {
        let mut queues = vec![QueueSnapshot::default(); 1024];
        let pointer = queues.as_mut_ptr() as u64;
        let size = pair(queues.len() as u32, size_of::<QueueSnapshot>() as u32);
        let (_, answer) = self.debug_trap(pid, 13, [clear, pointer, size])?;
        queues.truncate(parts(answer[2]).0 as usize);
        Ok(queues)
    }

    pub fn trap_devices(&self, pid: u32, clear: u64) -> Result<Devices> {
        let mut words = vec![0u32; DEVICE_WORDS];
        let pointer = words.as_mut_ptr() as u64;
        let size = pair(1, size_of_val(&words[..]) as u32);
        let (_, answer) = self.debug_trap(pid, 14, [clear, pointer, size])?;
        let (count, entry_bytes) = parts(answer[2]);
        Ok(Devices {
            count,
            entry_bytes,
            words,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_bits_are_told_apart() {
        assert_eq!(queue_status(5), QueueStatus::Done);
        assert_eq!(queue_status(5 | (1 << 30)), QueueStatus::Failed);
        assert_eq!(queue_status(5 | (1 << 31)), QueueStatus::Invalid);
        assert_eq!(queue_status(5 | (3 << 30)), QueueStatus::Invalid);
    }
}
