// SPDX-License-Identifier: GPL-2.0-only
//! Queues that the runtime does not make, in the main context or in one beside it.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{self, Command};
use std::thread;

use anyhow::{bail, Result};
use gpu_workload::kfd::context::Context;
use serde_json::json;

/// Creates queues in a context, and holds them until this program is killed.
pub fn hold_queues(
    context: &Context,
    queues: usize,
    create: impl Fn(&Context) -> Result<u32>,
) -> Result<serde_json::Value> {
    for _ in 0..queues {
        create(context)?;
    }
    println!("{}", json!({ "held": queues }));
    std::io::stdout().flush()?;
    loop {
        thread::park();
    }
}

/// Asks for queues that the driver refuses, and tells how many it did refuse.
pub fn ask_for_refused_queues(node: u32, calls: u64) -> Result<serde_json::Value> {
    let context = Context::main(node)?;
    let refused = (0..calls).filter(|_| context.is_refused_queue()).count();
    Ok(json!({ "refused": refused }))
}

/// Makes a context with a queue that looks busy to who reads the program's memory.
pub fn with_queue(
    node: u32,
    priority: u32,
    executions: u32,
    end_main: bool,
) -> Result<serde_json::Value> {
    const PACKETS: u64 = 8;
    let context = Context::create(node)?;
    let queue = context.create_queue(priority, PACKETS)?;
    if let Some(left) = executions.checked_sub(1) {
        context.keep_over_exec()?;
        let error = Command::new(std::env::current_exe()?)
            .args(["context", "--node", &node.to_string()])
            .args(["--priority", &priority.to_string()])
            .args(["--executions", &left.to_string()])
            .exec();
        bail!("executing this program anew: {error}");
    }
    println!("{}", json!({ "pid": process::id(), "queue": queue }));
    std::io::stdout().flush()?;
    let stay = || loop {
        thread::park();
    };
    if !end_main {
        stay();
    }
    thread::spawn(stay);
    // SAFETY: It ends this thread, which has lent nothing to the other one.
    unsafe { nix::libc::syscall(nix::libc::SYS_exit, 0) };
    unreachable!("the main thread has ended")
}
