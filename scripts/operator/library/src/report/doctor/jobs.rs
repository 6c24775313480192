// SPDX-License-Identifier: GPL-2.0-only
//! What the doctor tells of the programs that use the GPUs: nothing that is wrong with the
//! host, but what may not be as an operator thinks it is.

use std::fs;
use std::io::Read;

use crate::host::tables::Node;
use crate::host::tree::Host;

/// Where KFD has a folder for each program.
const PROGRAMS: &str = "sys/class/kfd/kfd/proc";
/// Where the cgroups are.
const CGROUPS: &str = "sys/fs/cgroup";
/// For how many queues a node has places.
const PLACES: u64 = 24;
/// How much of an environment is read: programs make their own.
const MOST: u64 = 256 << 10;

/// What is to be known, and why.
pub(super) type Known = (String, &'static str);

/// What is to be known of all of them.
pub(super) fn known(host: &Host, nodes: &[Node]) -> Vec<Known> {
    let mut findings: Vec<Known> = nodes
        .iter()
        .filter(|node| node.queues > PLACES)
        .map(|node| {
            (
                format!(
                    "{} node {} has {} queues and places for {PLACES}",
                    node.gpu, node.node, node.queues
                ),
                "the scheduler takes turns, and a transaction saves and maps all of them; a \
                 smaller GPU_MAX_HW_QUEUES in the environment of HIP programs makes fewer",
            )
        })
        .collect();
    let swaps = swaps(host);
    for pid in host.numbers(PROGRAMS) {
        let name = host.try_read(&format!("proc/{pid}/comm"));
        let who = format!("process {pid} ({})", shown(name.unwrap_or_default().trim()));
        if ignores_priorities(host, pid) {
            findings.push((
                format!("{who} has DEBUG_HIP_IGNORE_STREAM_PRIORITY set"),
                "HIP gives all its queues the same priority in KFD; name it in a rule where it \
                 is to have another one",
            ));
        }
        if let Some(limit) = limit(host, pid).filter(|_| swaps) {
            findings.push((
                format!("{who} may be swapped out at its limit, {}", shown(&limit)),
                "the driver takes its queues off the GPU whenever pages are taken that the GPU \
                 uses, also those in which waves are saved, and can lose waves where two such \
                 areas move at once, also without this module; a memory.swap.max of 0 keeps \
                 them",
            ));
        }
    }
    findings
}

/// What a program has named, as one line of plain letters.
fn shown(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .collect()
}

/// Whether a program was started so that HIP does without priorities.
fn ignores_priorities(host: &Host, pid: u32) -> bool {
    let mut environment = Vec::new();
    let file = fs::File::open(host.path(format!("proc/{pid}/environ")));
    let read = file.and_then(|file| file.take(MOST).read_to_end(&mut environment));
    let value = environment
        .split(|&byte| byte == 0)
        .find_map(|word| word.strip_prefix(b"DEBUG_HIP_IGNORE_STREAM_PRIORITY="));
    read.is_ok() && value.is_some_and(|value| !matches!(value, b"" | b"0"))
}

/// Whether memory that no file has can go anywhere.
fn swaps(host: &Host) -> bool {
    let table = host.try_read("proc/swaps").unwrap_or_default();
    // The first line is the heads of the columns.
    table.lines().nth(1).is_some()
}

/// The file of the limit by which pages are taken from a program, the lowest one above it.
fn limit(host: &Host, pid: u32) -> Option<String> {
    let groups = host.try_read(&format!("proc/{pid}/cgroup"))?;
    let mut group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mut found = None;
    while let Some(end) = group.rfind('/').filter(|_| group != "/") {
        let file = |name: &str| format!("{CGROUPS}{group}/{name}");
        let is = |name: &str, words: &[&str]| {
            let value = host.try_read(&file(name));
            value.is_some_and(|value| words.contains(&value.trim()))
        };
        if is("memory.swap.max", &["0"]) {
            return None;
        }
        for name in ["memory.max", "memory.high"] {
            let is_there = host.path(file(name)).exists();
            if found.is_none() && is_there && !is(name, &["max", ""]) {
                found = Some(format!("/{}", file(name)));
            }
        }
        group = &group[..end];
    }
    found
}
