// SPDX-License-Identifier: GPL-2.0
//! Calls KFD's ioctls for the tests: on a workload's queues through its control
//! socket, on another process as a debugger, on video memory as a graphics client.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{ensure, Result};
use clap::{Parser, Subcommand};
use gpu_workload::control::{self, Request};
use gpu_workload::kfd::debugger::Session;
use gpu_workload::kfd::ioctl::{Kfd, QueueStatus};
use gpu_workload::kfd::pressure::Pressure;
use gpu_workload::kfd::sysfs;
use serde_json::json;

#[derive(Parser)]
#[command(about = "KFD's ioctls for tests")]
struct Arguments {
    #[command(subcommand)]
    command: What,
}

#[derive(Subcommand)]
enum What {
    /// List the processes and queues that KFD shows in sysfs
    Queues,
    /// Ask a workload how far its queues are
    Status {
        #[arg(long)]
        socket: PathBuf,
    },
    /// UPDATE_QUEUE: what is not given stays as it is
    Update {
        #[arg(long)]
        socket: PathBuf,
        #[arg(long)]
        queue: String,
        #[arg(long)]
        percentage: Option<u32>,
        #[arg(long)]
        priority: Option<u32>,
    },
    /// SET_CU_MASK, 32 compute units a word
    CuMask {
        #[arg(long)]
        socket: PathBuf,
        #[arg(long)]
        queue: String,
        /// Words in hexadecimal, lowest compute units first
        #[arg(long, value_delimiter = ',', value_parser = hexadecimal, required = true)]
        mask: Vec<u32>,
    },
    /// GET_QUEUE_WAVE_STATE of a queue at 0 percent
    WaveState {
        #[arg(long)]
        socket: PathBuf,
        #[arg(long)]
        queue: String,
    },
    /// Let a workload submit no more
    Stop {
        #[arg(long)]
        socket: PathBuf,
        #[arg(long)]
        queue: Option<String>,
    },
    /// Debug a process: suspend its queues and resume them, so many times
    Debug {
        #[arg(long)]
        pid: u32,
        /// KFD queue ids; all queues when none are given
        #[arg(long, value_delimiter = ',')]
        queues: Vec<u32>,
        #[arg(long, default_value_t = 1)]
        cycles: u32,
        /// Guest time between suspend and resume
        #[arg(long, default_value_t = 0)]
        suspended_ms: u64,
        /// Guest time between resume and suspend
        #[arg(long, default_value_t = 0)]
        running_ms: u64,
        /// Only attach and detach
        #[arg(long)]
        attach_only: bool,
    },
    /// Allocate video memory as a graphics client, so that compute processes are
    /// evicted; it is held until this program is killed
    VramPressure {
        #[arg(long)]
        bytes: u64,
        #[arg(long, default_value_t = 64 << 20)]
        piece: u64,
        #[arg(long)]
        render_node: Option<PathBuf>,
    },
    /// Bytes of video memory that KFD would still give out
    AvailableMemory {
        #[arg(long)]
        node: u32,
    },
}

fn hexadecimal(text: &str) -> Result<u32, std::num::ParseIntError> {
    u32::from_str_radix(text.trim_start_matches("0x"), 16)
}

fn main() -> ExitCode {
    match perform(Arguments::parse().command) {
        Ok(answer) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("kfdctl: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(what: What) -> Result<serde_json::Value> {
    match what {
        What::Queues => {
            let mut all = serde_json::Map::new();
            for pid in sysfs::processes()? {
                all.insert(pid.to_string(), serde_json::to_value(sysfs::queues(pid)?)?);
            }
            Ok(all.into())
        }
        What::Status { socket } => control::call(&socket, &Request::Status),
        What::Update {
            socket,
            queue,
            percentage,
            priority,
        } => control::call(
            &socket,
            &Request::Update {
                queue,
                percentage,
                priority,
            },
        ),
        What::CuMask {
            socket,
            queue,
            mask,
        } => control::call(&socket, &Request::CuMask { queue, mask }),
        What::WaveState { socket, queue } => control::call(&socket, &Request::WaveState { queue }),
        What::Stop { socket, queue } => control::call(&socket, &Request::Stop { queue }),
        What::Debug {
            pid,
            queues,
            cycles,
            suspended_ms,
            running_ms,
            attach_only,
        } => {
            let cycles = if attach_only { 0 } else { cycles };
            debug(pid, queues, cycles, suspended_ms, running_ms)
        }
        What::VramPressure {
            bytes,
            piece,
            render_node,
        } => {
            ensure!(piece > 0, "--piece must be above 0");
            let mut pressure = Pressure::open(render_node)?;
            let held = pressure.allocate(bytes, piece)?;
            println!("{}", json!({ "held": held }));
            std::io::stdout().flush()?;
            loop {
                thread::park();
            }
        }
        What::AvailableMemory { node } => {
            let available = Kfd::open()?.available_memory(sysfs::gpu_id(node)?)?;
            Ok(json!({ "available": available }))
        }
    }
}

fn debug(
    pid: u32,
    mut queues: Vec<u32>,
    cycles: u32,
    suspended_ms: u64,
    running_ms: u64,
) -> Result<serde_json::Value> {
    let kfd = Kfd::open()?;
    let mut session = Session::attach(&kfd, pid)?;
    let found = session.queues()?;
    if queues.is_empty() {
        queues = found.iter().map(|queue| queue.queue_id).collect();
    }
    let mut done = 0;
    for cycle in 0..cycles {
        let suspended = session.suspend(&queues)?;
        thread::sleep(Duration::from_millis(suspended_ms));
        let resumed = session.resume(&queues)?;
        for (what, statuses) in [("suspend", suspended), ("resume", resumed)] {
            for (queue, status) in queues.iter().zip(statuses) {
                ensure!(
                    status == QueueStatus::Done,
                    "cycle {cycle}: {what} of queue {queue}: {status:?}"
                );
            }
        }
        done += 1;
        thread::sleep(Duration::from_millis(running_ms));
    }
    Ok(json!({ "pid": pid, "queues": found, "cycles": done }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn masks_are_hexadecimal_words() {
        let arguments = Arguments::try_parse_from([
            "kfdctl",
            "cu-mask",
            "--socket",
            "s",
            "--queue",
            "q",
            "--mask",
            "ff,0x10,0",
        ]);
        match arguments.unwrap().command {
            What::CuMask { mask, .. } => assert_eq!(mask, [0xff, 0x10, 0]),
            _ => panic!("another command"),
        }
        for bad in ["", "zz", "1ffffffff"] {
            let arguments = [
                "kfdctl", "cu-mask", "--socket", "s", "--queue", "q", "--mask", bad,
            ];
            assert!(Arguments::try_parse_from(arguments).is_err(), "{bad}");
        }
    }
}
