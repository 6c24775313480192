// SPDX-License-Identifier: GPL-2.0-only
//! How long it takes from the first look at the queues to the packet that takes
//! them off the hardware, by probes on the two functions in question.

use anyhow::{Context, Result};
use e2e_runner::guest::Guest;

const TRACING: &str = "/sys/kernel/tracing";
/// A look takes the queue manager's lock first of all; the packet is written to
/// the ring at the end of the driver's function.
const PROBES: &[&str] = &[
    "p:cost/look amd_gpreempt:gp_dqm_lock",
    "r:cost/sent amdgpu:pm_send_unmap_queue",
];

/// The probes, in force.
pub struct Probes;

impl Probes {
    pub fn start(guest: &mut Guest) -> Result<Probes> {
        let mut lines = vec![format!("cd {TRACING}"), "echo mono > trace_clock".into()];
        lines.extend(
            PROBES
                .iter()
                .map(|probe| format!("echo '{probe}' >> kprobe_events")),
        );
        lines.push("echo 1 > events/cost/enable".into());
        lines.push("echo > trace".into());
        let script = lines.join(" && ");
        guest
            .agent()
            .shell(&script)
            .context("the kernel does not take the probes")?;
        Ok(Probes)
    }

    /// Ends them. Returns the microseconds from each look to its packet.
    pub fn finish(self, guest: &mut Guest) -> Result<Vec<f64>> {
        let script = format!(
            "cd {TRACING} && echo 0 > events/cost/enable && cat trace && echo > kprobe_events"
        );
        let trace = guest.agent().shell(&script)?;
        Ok(times(&trace))
    }
}

/// A pass that ends in a packet takes the lock twice before it: to look, and to
/// see that there still is something to do.
fn times(trace: &str) -> Vec<f64> {
    let mut looks = [None; 2];
    let mut times = Vec::new();
    for line in trace
        .lines()
        .filter(|line| line.trim_start().starts_with("gp/"))
    {
        let Some((at, what)) = event(line) else {
            continue;
        };
        if what.starts_with("look:") {
            looks = [looks[1], Some(at)];
        } else if let Some(look) = looks[0].take() {
            times.push((at - look) * 1e6);
            looks[1] = None;
        }
    }
    times
}

/// Seconds and what follows them in a line of the trace.
fn event(line: &str) -> Option<(f64, &str)> {
    let (before, what) = line.split_once(": ")?;
    let at = before.split_whitespace().last()?.parse().ok()?;
    Some((at, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_the_first_look_of_a_pass_to_its_packet() {
        let trace = "\
# tracer: nop
  gp/0000:01:00.0-9   [000] .....    10.000100: look: (gp_dqm_lock+0x0/0x10)
  gp/0000:01:00.0-9   [000] .....    10.001000: look: (gp_dqm_lock+0x0/0x10)
  gp/0000:01:00.0-9   [000] .....    10.001200: look: (gp_dqm_lock+0x0/0x10)
       workload-7     [001] .....    10.001250: sent: (a <- pm_send_unmap_queue)
  gp/0000:01:00.0-9   [000] .....    10.001300: sent: (a <- pm_send_unmap_queue)
  gp/0000:01:00.0-9   [000] .....    10.002000: look: (gp_dqm_lock+0x0/0x10)
";
        let found = times(trace);
        assert_eq!(found.len(), 1);
        assert!((found[0] - 300.0).abs() < 0.01, "{found:?}");
    }
}
