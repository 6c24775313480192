// SPDX-License-Identifier: GPL-2.0-only

//! The kernel's complaints: warnings, bugs, locking and memory errors, leaks.

use crate::ktap;

/// How a complaint begins.  Lockdep, RCU and the sleep checks all say WARNING or
/// BUG first.
const STARTS: &[&str] = &[
    "WARNING: ",
    "BUG: ",
    "BUG ",
    "kernel BUG at ",
    "Oops: ",
    "Oops - ",
    "general protection fault",
    "Kernel panic - ",
    "INFO: task ",
    "INFO: trying to register non-static key",
    "INFO: lockdep is turned off",
    "INFO: rcu_",
    "rcu: INFO: ",
    "ODEBUG: ",
    "UBSAN: ",
    LEAK,
    "list_add corruption",
    "list_del corruption",
    "refcount_t: ",
    "stack segment: ",
    "divide error: ",
    "invalid opcode: ",
    "traps: PANIC",
    "watchdog: BUG: ",
    "------------[ cut here ]------------",
];
/// Said by Rust code, with the name of its module before it.
const PANIC: &str = "panicked at ";

/// How much of a complaint is shown.
const SHOWN: usize = 14;
/// Where a complaint that does not say its end is taken to end.
const LONGEST: usize = 100;

const LEAK: &str = "unreferenced object ";

fn begins(text: &str) -> bool {
    STARTS.iter().any(|start| text.starts_with(start)) || text.contains(PANIC)
}

/// Each complaint in the log, as its first lines.  All leaks are one complaint.
pub fn find(lines: &[&str]) -> Vec<Vec<String>> {
    let mut splats: Vec<Vec<String>> = Vec::new();
    let mut inside = 0_usize;
    let mut leaks = 0_usize;
    for line in lines {
        let text = line.trim();
        if ktap::is_protocol(line) || line.starts_with("kunit: ") {
            inside = 0;
            continue;
        }
        if text.starts_with(LEAK) {
            leaks += 1;
            // Only the first is shown; the rest of the others goes by unseen.
            inside = 0;
            if leaks > 1 {
                continue;
            }
        } else if inside > 0 {
            if let Some(splat) = splats.last_mut() {
                if splat.len() < SHOWN && !text.is_empty() {
                    splat.push(text.into());
                }
            }
            inside = if text.starts_with("---[ end trace") {
                0
            } else {
                inside - 1
            };
            continue;
        }
        // The notes of a test may quote anything.
        let note = text.starts_with("# ") || ktap::depth(line) > 0;
        if !note && begins(text) {
            splats.push(vec![text.into()]);
            inside = LONGEST;
        }
    }
    if let Some(leak) = splats.iter_mut().find(|splat| splat[0].starts_with(LEAK)) {
        leak.insert(
            0,
            format!("{leaks} pieces of memory were lost; the first is"),
        );
    }
    splats
}
