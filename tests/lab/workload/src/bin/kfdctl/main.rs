// SPDX-License-Identifier: GPL-2.0-only
//! Calls KFD's ioctls for the tests: on a workload's queues through its control
//! socket, on another process as a debugger, on video memory as a graphics client.
//! The command line is in one file because it is one declaration.

mod contexts;
mod debug;
mod session;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{bail, ensure, Result};
use clap::{Args, Parser, Subcommand};
use gpu_workload::control::{self, Request};
use gpu_workload::hint::Page;
use gpu_workload::kfd::context::Context;
use gpu_workload::kfd::ioctl::Kfd;
use gpu_workload::kfd::pressure::Pressure;
use gpu_workload::kfd::sysfs;
use gpu_workload::pm4;
use gpu_workload::poller::Settings;
use gpu_workload::user_scheduler::{self, Resettable, Scheduled};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
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
    /// ALLOC_QUEUE_GWS: the queue takes part in cooperative launches
    Cooperate {
        #[arg(long)]
        socket: PathBuf,
        #[arg(long)]
        queue: String,
    },
    /// GET_QUEUE_WAVE_STATE of a queue at 0 percent
    WaveState {
        #[arg(long)]
        socket: PathBuf,
        #[arg(long)]
        queue: String,
    },
    /// Have a workload tell the module that a request is being prepared
    Hint {
        #[arg(long)]
        socket: PathBuf,
        #[arg(long)]
        queue: String,
        #[arg(long, default_value_t = 1)]
        times: u32,
        /// Guest time after each
        #[arg(long, default_value_t = 0)]
        pause_us: u64,
    },
    /// Map the module's page for hints, and unmap it again
    HintPage,
    /// Let a workload submit no more
    Stop {
        #[arg(long)]
        socket: PathBuf,
        #[arg(long)]
        queue: Option<String>,
    },
    /// Have KFD evict and restore a workload's process, by taking pages away that
    /// its GPU may use
    Invalidate {
        #[arg(long)]
        socket: PathBuf,
    },
    /// Give a workload's process another command name
    Rename {
        #[arg(long)]
        socket: PathBuf,
        #[arg(long)]
        name: String,
        /// Name one of its threads so, which is not the main one
        #[arg(long)]
        thread: bool,
    },
    /// Destroy a workload's queue with its unfinished work
    Hold {
        #[arg(long)]
        socket: PathBuf,
        #[arg(long)]
        queue: String,
    },
    /// Make a held queue again and submit its unfinished work once more
    Release {
        #[arg(long)]
        socket: PathBuf,
        #[arg(long)]
        queue: String,
    },
    /// Schedule queues by priority from user space, suspending and resuming them
    /// as a debugger, until the processes end or SIGTERM comes
    Poll {
        /// PID:QUEUE:PRIORITY, once for each queue
        #[arg(long = "queue", value_parser = scheduled, required = true)]
        queues: Vec<Scheduled>,
        #[command(flatten)]
        pace: Pace,
    },
    /// Schedule queues by priority from user space, destroying and making them
    /// again, until the processes end or SIGTERM comes
    ResetResubmit {
        /// SOCKET:NAME:PRIORITY, once for each queue
        #[arg(long = "queue", value_parser = resettable, required = true)]
        queues: Vec<Resettable>,
        #[command(flatten)]
        pace: Pace,
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
    /// Debug a process: suspend its queues once, and say where in a piece of code the
    /// saved waves are
    Look {
        #[arg(long)]
        pid: u32,
        /// Address of the code
        #[arg(long)]
        code: u64,
        #[arg(long)]
        bytes: u64,
    },
    /// Debug a process as AMD's debugger does, step by step: each begins when the file
    /// GO.NUMBER is there, and prints a line
    Session {
        /// The process; without it, one is started that makes a queue
        #[arg(long, requires = "queue")]
        pid: Option<u32>,
        /// KFD queue id
        #[arg(long)]
        queue: Option<u32>,
        #[arg(long)]
        node: u32,
        #[arg(long)]
        go: String,
    },
    /// Do with the main context what the input says, line by line
    #[command(hide = true)]
    Debuggee {
        #[arg(long)]
        node: u32,
    },
    /// Make a queue in a context beside the program's main one. It has no work on the
    /// GPU; in the program's memory its pointers say that it has. It is there until this
    /// program is killed
    Context {
        #[arg(long)]
        node: u32,
        #[arg(long, default_value_t = 15)]
        priority: u32,
        /// Execute this program anew so many times, keeping the context, and make
        /// another one each time
        #[arg(long, default_value_t = 0)]
        executions: u32,
        /// Then end the main thread, so that another one alone is left
        #[arg(long)]
        end_main: bool,
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
    /// Create queues that never get work, in a context beside the program's main one;
    /// they are held until this program is killed
    Idle {
        #[arg(long)]
        node: u32,
        #[arg(long)]
        queues: usize,
    },
    /// Create queues of the lowest priority that hang as often as they are started; they
    /// are held until this program is killed
    Hanging {
        #[arg(long)]
        node: u32,
        #[arg(long)]
        queues: usize,
    },
    /// Ask for queues that the driver refuses
    Refused {
        #[arg(long)]
        node: u32,
        #[arg(long)]
        calls: u64,
    },
    /// Use a queue of PM4 packets, of the lowest priority: each round waits in a
    /// buffer for a while and then writes a word
    Pm4 {
        #[arg(long, default_value_t = 100)]
        rounds: usize,
        #[arg(long, default_value_t = 20)]
        hold_ms: u64,
        /// How long a round may take after that
        #[arg(long, default_value_t = 120)]
        patience_s: u64,
    },
}

/// Guest times of the user-space schedulers.
#[derive(Args)]
struct Pace {
    #[arg(long, default_value_t = 1000)]
    interval_us: u64,
    /// A queue whose pointers stand still for this long is idle
    #[arg(long, default_value_t = 3000)]
    calm_us: u64,
    /// No queue is stopped longer
    #[arg(long, default_value_t = 1000)]
    max_stop_ms: u64,
}

impl Pace {
    fn settings(&self) -> Settings {
        Settings {
            calm_ns: self.calm_us * 1000,
            max_stop_ns: self.max_stop_ms * 1_000_000,
        }
    }

    fn interval(&self) -> Duration {
        Duration::from_micros(self.interval_us)
    }
}

fn scheduled(text: &str) -> Result<Scheduled> {
    let parts: Vec<u32> = text.split(':').map(str::parse).collect::<Result<_, _>>()?;
    match parts[..] {
        [pid, queue, priority] => Ok(Scheduled {
            queue: (pid, queue),
            priority,
        }),
        _ => bail!("not PID:QUEUE:PRIORITY"),
    }
}

fn resettable(text: &str) -> Result<Resettable> {
    let mut parts = text.rsplitn(3, ':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(priority), Some(name), Some(socket)) => Ok(Resettable {
            socket: socket.into(),
            name: name.to_owned(),
            priority: priority.parse()?,
        }),
        _ => bail!("not SOCKET:NAME:PRIORITY"),
    }
}

/// Whether this process has been asked to end. SIGTERM must not end it as it is,
/// since queues may be stopped.
fn termination() -> Result<impl Fn() -> bool> {
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGTERM);
    mask.thread_block()?;
    let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
    Ok(move || matches!(signals.read_signal(), Ok(Some(_))))
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
        What::Cooperate { socket, queue } => control::call(&socket, &Request::Cooperate { queue }),
        What::WaveState { socket, queue } => control::call(&socket, &Request::WaveState { queue }),
        What::Hint {
            socket,
            queue,
            times,
            pause_us,
        } => control::call(
            &socket,
            &Request::Hint {
                queue,
                times,
                pause_us,
            },
        ),
        What::HintPage => Page::open().map(|_| json!({})),
        What::Stop { socket, queue } => control::call(&socket, &Request::Stop { queue }),
        What::Invalidate { socket } => control::call(&socket, &Request::Invalidate),
        What::Rename {
            socket,
            name,
            thread,
        } => control::call(&socket, &Request::Rename { name, thread }),
        What::Hold { socket, queue } => control::call(&socket, &Request::Hold { queue }),
        What::Release { socket, queue } => control::call(&socket, &Request::Release { queue }),
        What::Poll { queues, pace } => {
            let ended = termination()?;
            let account =
                user_scheduler::by_debugger(&queues, pace.settings(), pace.interval(), ended)?;
            Ok(serde_json::to_value(account)?)
        }
        What::ResetResubmit { queues, pace } => {
            let ended = termination()?;
            let account =
                user_scheduler::by_reset(&queues, pace.settings(), pace.interval(), ended)?;
            Ok(serde_json::to_value(account)?)
        }
        What::Debug {
            pid,
            queues,
            cycles,
            suspended_ms,
            running_ms,
            attach_only,
        } => {
            let cycles = if attach_only { 0 } else { cycles };
            debug::debug(pid, queues, cycles, suspended_ms, running_ms)
        }
        What::Look { pid, code, bytes } => debug::look(pid, &(code..code + bytes)),
        What::Session {
            pid,
            queue,
            node,
            go,
        } => match pid.zip(queue) {
            Some((pid, queue)) => session::attached(pid, node, queue, &go),
            None => session::launched(node, &go),
        },
        What::Debuggee { node } => session::debuggee(node),
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
        What::Idle { node, queues } => {
            contexts::hold_queues(&Context::create(node)?, queues, |context| {
                context.create_queue(0, 0)
            })
        }
        What::Hanging { node, queues } => {
            contexts::hold_queues(&Context::main(node)?, queues, |context| {
                context.create_hanging_queue(0)
            })
        }
        What::Refused { node, calls } => contexts::ask_for_refused_queues(node, calls),
        What::Context {
            node,
            priority,
            executions,
            end_main,
        } => contexts::with_queue(node, priority, executions, end_main),
        What::Pm4 {
            rounds,
            hold_ms,
            patience_s,
        } => {
            ensure!(rounds > 0, "--rounds must be above 0");
            let hold = Duration::from_millis(hold_ms);
            let outcome = pm4::run(0, rounds, hold, Duration::from_secs(patience_s))?;
            Ok(serde_json::to_value(outcome)?)
        }
        What::AvailableMemory { node } => {
            let available = Kfd::open()?.available_memory(sysfs::gpu_id(node)?)?;
            Ok(json!({ "available": available }))
        }
    }
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
    fn queues_to_schedule_are_three_parts() {
        let queue = scheduled("12:3:15").unwrap();
        assert_eq!((queue.queue, queue.priority), ((12, 3), 15));
        let queue = resettable("/tmp/a:b.sock:name:4").unwrap();
        assert_eq!(queue.socket, PathBuf::from("/tmp/a:b.sock"));
        assert_eq!((queue.name.as_str(), queue.priority), ("name", 4));
        for bad in ["", "1:2", "1:2:3:4", "a:b:c"] {
            assert!(scheduled(bad).is_err(), "{bad}");
        }
        for bad in ["", "name:4", "s:name:x"] {
            assert!(resettable(bad).is_err(), "{bad}");
        }
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
