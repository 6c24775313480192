// SPDX-License-Identifier: GPL-2.0-only
//! Probes in the guest's kernel: when somebody calls the driver to take queues
//! off the GPU and to put them back.
//!
//! They are on functions of the driver that the module calls, by the kernel's own
//! tracing, so that the module needs nothing for it.

use anyhow::{Context, Result};
use e2e_runner::guest::Guest;
use gpu_workload::clock::{gpu_at, Moment};

use crate::split::Call;

const TRACING: &str = "/sys/kernel/tracing";
const UNMAP_BEGINS: &str = "unmap_begins";
const UNMAP_ENDS: &str = "unmap_ends";
const MAP_BEGINS: &str = "map_begins";
const MAP_ENDS: &str = "map_ends";
/// With `transaction=direct` the first and the last thing that the module asks of the
/// driver while it takes queues off is to tell the firmware how long waves may go on, and
/// to put that back. The driver's own function does both in between.
const GRACE_SET: &str = "grace_set";
const GRACE_RESET: &str = "grace_reset";
/// The second argument of the function that does it: KFD_DEQUEUE_WAIT_SET_SCH_WAVE and
/// KFD_DEQUEUE_WAIT_RESET.
const SET: u32 = 3;
const RESET: u32 = 2;

struct Probe {
    name: &'static str,
    function: &'static str,
    /// At the function's end, and not at its beginning.
    returns: bool,
    /// Of calls with this second argument alone.
    argument: Option<u32>,
}

const fn probe(name: &'static str, function: &'static str) -> Probe {
    Probe {
        name,
        function,
        returns: false,
        argument: None,
    }
}

const PROBES: [Probe; 6] = [
    probe(UNMAP_BEGINS, "debug_lock_and_unmap"),
    Probe {
        returns: true,
        ..probe(UNMAP_ENDS, "debug_lock_and_unmap")
    },
    probe(MAP_BEGINS, "debug_map_and_unlock"),
    Probe {
        returns: true,
        ..probe(MAP_ENDS, "debug_map_and_unlock")
    },
    Probe {
        argument: Some(SET),
        ..probe(GRACE_SET, "pm_config_dequeue_wait_counts")
    },
    Probe {
        argument: Some(RESET),
        ..probe(GRACE_RESET, "pm_config_dequeue_wait_counts")
    },
];

impl Probe {
    /// The lines of a shell that set it, in the folder of tracing.
    fn lines(&self) -> String {
        let Probe { name, function, .. } = self;
        let kind = if self.returns { 'r' } else { 'p' };
        let Some(value) = self.argument else {
            return format!("echo '{kind}:bench/{name} amdgpu:{function}' >> kprobe_events\n");
        };
        format!(
            "echo '{kind}:bench/{name} amdgpu:{function} second=$arg2:u32' >> kprobe_events\n\
             echo 'second=={value}' > events/bench/{name}/filter\n"
        )
    }
}

/// Sets the probes. The clock is the one that the GPU's is related to.
pub fn set(guest: &mut Guest) -> Result<()> {
    let mut lines = format!(
        "[ -e {TRACING}/trace ] || mount -t tracefs tracefs {TRACING}\n\
         cd {TRACING}\n echo mono_raw > trace_clock\n"
    );
    lines.extend(PROBES.iter().map(Probe::lines));
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

/// How far a call has come, with the times of what was seen of it.
enum Progress {
    Nothing,
    /// In the driver's function.
    Unmapping(u64),
    /// In the module's own.
    Direct(u64),
    Unmapped([u64; 2]),
    Mapping([u64; 3]),
}

impl Progress {
    /// Takes in an event, and says so when a call has ended.
    fn after(self, name: &str, time: u64) -> (Progress, Option<[u64; 4]>) {
        let next = match (self, name) {
            (_, UNMAP_BEGINS) => Progress::Unmapping(time),
            (Progress::Unmapping(begin), GRACE_SET | GRACE_RESET) => Progress::Unmapping(begin),
            (Progress::Unmapping(begin), UNMAP_ENDS) | (Progress::Direct(begin), GRACE_RESET) => {
                Progress::Unmapped([begin, time])
            }
            (_, GRACE_SET) => Progress::Direct(time),
            (Progress::Unmapped([begin, unmapped]), MAP_BEGINS) => {
                Progress::Mapping([begin, unmapped, time])
            }
            (Progress::Mapping([begin, unmapped, map]), MAP_ENDS) => {
                return (Progress::Nothing, Some([begin, unmapped, map, time]));
            }
            _ => Progress::Nothing,
        };
        (next, None)
    }
}

/// Reads a trace: the events of a call are of one thread, one after the other.
fn parse(text: &str, moments: &[Moment]) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut progress = Progress::Nothing;
    for (name, time) in text.lines().filter_map(event) {
        let (next, ended) = progress.after(name, time);
        progress = next;
        let times = ended.map(|times| times.map(|time| gpu_at(moments, time)));
        if let Some([Some(begin), Some(unmapped), Some(map), Some(end)]) = times {
            calls.push(Call {
                begin,
                unmapped,
                map,
                end,
            });
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

    fn lines(names: &[&str], start: u64) -> String {
        let each = names.iter().zip(start..);
        each.map(|(name, time)| line(name, time)).collect()
    }

    fn call(start: u64) -> String {
        lines(&[UNMAP_BEGINS, UNMAP_ENDS, MAP_BEGINS, MAP_ENDS], start)
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
    fn the_module_s_own_unmapping_is_a_call() {
        let own = |start| lines(&[GRACE_SET, GRACE_RESET, MAP_BEGINS, MAP_ENDS], start);
        let expected = Call {
            begin: 100_001_000,
            unmapped: 100_001_100,
            map: 100_001_200,
            end: 100_001_300,
        };
        assert_eq!(parse(&own(10), &MOMENTS), [expected]);
        // What the driver does in its function is no call of its own.
        let inside = [
            UNMAP_BEGINS,
            GRACE_SET,
            GRACE_RESET,
            UNMAP_ENDS,
            MAP_BEGINS,
            MAP_ENDS,
        ];
        let [whole] = parse(&lines(&inside, 10), &MOMENTS)[..] else {
            panic!("not one call");
        };
        assert_eq!((whole.begin, whole.unmapped), (100_001_000, 100_001_300));
        // What is given up is followed by the driver's function; what the driver does for
        // other reasons by no mapping of this kind.
        let given_up = lines(&[GRACE_SET, GRACE_RESET], 1);
        let text = format!("{given_up}{}{given_up}{}", call(10), own(50));
        assert_eq!(parse(&text, &MOMENTS).len(), 2);
        assert_eq!(parse(&given_up, &MOMENTS), []);
    }

    #[test]
    fn a_probe_may_be_of_calls_with_one_argument_alone() {
        let [.., reset] = PROBES;
        assert_eq!(
            reset.lines(),
            "echo 'p:bench/grace_reset amdgpu:pm_config_dequeue_wait_counts second=$arg2:u32' >> \
             kprobe_events\necho 'second==2' > events/bench/grace_reset/filter\n"
        );
    }

    #[test]
    fn a_torn_call_is_left_out() {
        let torn = call(10);
        let (_, torn) = torn.split_once('\n').unwrap();
        assert_eq!(parse(&format!("{torn}{}", call(50)), &MOMENTS).len(), 1);
        let half = line(UNMAP_BEGINS, 5);
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
