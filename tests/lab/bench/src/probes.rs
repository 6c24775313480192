// SPDX-License-Identifier: GPL-2.0-only
//! Probes in the guest's kernel: when somebody calls the driver to take queues
//! off the GPU and to put them back.
//!
//! They are on the two functions of the driver that the module calls, by the
//! kernel's own tracing, so that the module needs nothing for it.

use anyhow::{Context, Result};
use e2e_runner::guest::Guest;
use gpu_workload::clock::{gpu_at, Moment};

use crate::split::Call;

const TRACING: &str = "/sys/kernel/tracing";
const PROBES: [(&str, &str); 4] = [
    ("p:bench/unmap_begins", "debug_lock_and_unmap"),
    ("r:bench/unmap_ends", "debug_lock_and_unmap"),
    ("p:bench/map_begins", "debug_map_and_unlock"),
    ("r:bench/map_ends", "debug_map_and_unlock"),
];

/// Sets the probes. The clock is the one that the GPU's is related to.
pub fn set(guest: &mut Guest) -> Result<()> {
    let mut lines = format!(
        "[ -e {TRACING}/trace ] || mount -t tracefs tracefs {TRACING}\n\
         cd {TRACING}\n echo mono_raw > trace_clock\n"
    );
    for (probe, function) in PROBES {
        lines += &format!("echo '{probe} amdgpu:{function}' >> kprobe_events\n");
    }
    lines += "echo 1 > events/bench/enable\n";
    guest
        .agent()
        .shell(&lines)
        .map(|_| ())
        .context("cannot probe the driver")
}

/// Forgets what was seen so far.
pub fn clear(guest: &mut Guest) -> Result<()> {
    guest
        .agent()
        .shell(&format!("echo > {TRACING}/trace"))
        .map(|_| ())
}

/// The calls since then, by the GPU's clock.
pub fn calls(guest: &mut Guest, moments: &[Moment]) -> Result<Vec<Call>> {
    let text = guest.agent().read_file(&format!("{TRACING}/trace"))?;
    Ok(parse(&text, moments))
}

/// Reads a trace: a call is four events of one thread, one after the other.
fn parse(text: &str, moments: &[Moment]) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut seen: Vec<(&str, u64)> = Vec::new();
    for (name, time) in text.lines().filter_map(event) {
        let expected = PROBES[seen.len()].0.split_once('/').map(|(_, name)| name);
        if expected != Some(name) {
            seen.clear();
            if !PROBES[0].0.ends_with(name) {
                continue;
            }
        }
        seen.push((name, time));
        if seen.len() == PROBES.len() {
            let times: Option<Vec<u64>> = seen
                .iter()
                .map(|&(_, time)| gpu_at(moments, time))
                .collect();
            if let Some([begin, unmapped, map, end]) = times.as_deref() {
                calls.push(Call {
                    begin: *begin,
                    unmapped: *unmapped,
                    map: *map,
                    end: *end,
                });
            }
            seen.clear();
        }
    }
    calls
}

/// Name and nanoseconds of a line such as
/// `gpreempt-312 [001] ..... 12.345678: unmap_begins: (debug_lock_and_unmap+0x0/0x90 [amdgpu])`.
fn event(line: &str) -> Option<(&str, u64)> {
    if line.starts_with('#') {
        return None;
    }
    let (head, rest) = line.split_once(": ")?;
    let (seconds, micros) = head.rsplit(' ').next()?.split_once('.')?;
    let seconds: u64 = seconds.parse().ok()?;
    let micros: u64 = micros.parse().ok()?;
    let name = rest.split(':').next()?;
    Some((name, seconds * 1_000_000_000 + micros * 1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The GPU's clock is the guest's by 10.
    const MOMENTS: [Moment; 2] = [
        Moment {
            guest_ns: 0,
            gpu_ns: 0,
        },
        Moment {
            guest_ns: 10_000_000_000,
            gpu_ns: 1_000_000_000,
        },
    ];

    fn line(name: &str, micros: u64) -> String {
        format!("  amd_gpreempt/0-312   [001] ..... 1.{micros:06}: {name}: (x+0x0/0x90 [amdgpu])\n")
    }

    fn call(start: u64) -> String {
        ["unmap_begins", "unmap_ends", "map_begins", "map_ends"]
            .iter()
            .zip(start..)
            .map(|(name, time)| line(name, time))
            .collect()
    }

    #[test]
    fn four_events_are_a_call() {
        let text = format!("# tracer: nop\n#\n{}{}", call(10), call(500_000));
        let calls = parse(&text, &MOMENTS);
        assert_eq!(calls.len(), 2);
        assert_eq!(
            calls[0],
            Call {
                begin: 100_001_000,
                unmapped: 100_001_100,
                map: 100_001_200,
                end: 100_001_300,
            }
        );
    }

    #[test]
    fn a_torn_call_is_left_out() {
        let torn = call(10);
        let (_, torn) = torn.split_once('\n').unwrap();
        assert_eq!(parse(&format!("{torn}{}", call(50)), &MOMENTS).len(), 1);
        let half = line("unmap_begins", 5);
        assert_eq!(parse(&format!("{half}{}", call(50)), &MOMENTS).len(), 1);
        assert_eq!(parse(&half, &MOMENTS), []);
    }

    #[test]
    fn other_lines_are_no_events() {
        for text in [
            "",
            "# entries",
            "nonsense: 5",
            "a-1 [000] ..... x.y: z: (q)",
        ] {
            assert_eq!(parse(text, &MOMENTS), [], "{text}");
        }
    }

    #[test]
    fn without_the_clocks_there_are_no_times() {
        assert_eq!(parse(&call(10), &[]), []);
    }
}
