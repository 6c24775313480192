// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's trace of the module: its tracepoints, and a mark at the end of
//! each pass, so that a decision can be dated in passes and not by a clock.

use anyhow::{Context, Result};

use crate::guest::Guest;

const TRACING: &str = "/sys/kernel/tracing";
/// What a monitor thread does after each pass: it sleeps, or lets others run.
const PASS_ENDS: [&str; 2] = ["gp_sleep", "gp_thread_yield"];

/// One line of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A pass has ended.
    Pass,
    /// One of the module's tracepoints, without the `gp_` of its name.
    Event {
        name: String,
        fields: Vec<(String, String)>,
    },
}

impl Mark {
    pub fn is(&self, wanted: &str) -> bool {
        matches!(self, Mark::Event { name, .. } if name == wanted)
    }

    /// A field of a tracepoint.
    pub fn field(&self, wanted: &str) -> Option<&str> {
        match self {
            Mark::Pass => None,
            Mark::Event { fields, .. } => fields
                .iter()
                .find(|(name, _)| name == wanted)
                .map(|(_, value)| value.as_str()),
        }
    }

    pub fn number(&self, wanted: &str) -> Option<u64> {
        self.field(wanted)?.parse().ok()
    }
}

/// When, in microseconds of the guest's clock, and what.
pub type Line = (u64, Mark);

/// Starts to trace; the module must be loaded.
pub fn start(guest: &mut Guest) -> Result<()> {
    let mut script =
        format!("cd {TRACING}; echo 0 >tracing_on; echo mono >trace_clock; echo >trace;");
    script.push_str("echo 4096 >buffer_size_kb;");
    for function in PASS_ENDS {
        script.push_str(&format!(
            "echo 'p:gpreempt_passes/{function} amd_gpreempt:{function}' >>kprobe_events;"
        ));
    }
    script.push_str(
        "echo 1 >events/gpreempt_passes/enable; echo 1 >events/amd_gpreempt/enable; echo 1 >tracing_on",
    );
    guest.agent().shell(&script).map(|_| ())
}

/// The trace so far.
pub fn read(guest: &mut Guest) -> Result<Vec<Line>> {
    let text = guest
        .agent()
        .shell(&format!("grep -v '^#' {TRACING}/trace || true"))?;
    text.lines().map(parse).collect()
}

/// Ends what [`start`] began; before the module is unloaded.
pub fn stop(guest: &mut Guest) -> Result<()> {
    guest
        .agent()
        .shell(&format!(
            "cd {TRACING}; echo 0 >tracing_on; echo 0 >events/amd_gpreempt/enable; \
             echo 0 >events/gpreempt_passes/enable; echo >kprobe_events; echo >trace; \
             echo local >trace_clock"
        ))
        .map(|_| ())
}

/// A line as `THREAD [CPU] FLAGS SECONDS.MICROSECONDS: NAME: TEXT`.
fn parse(line: &str) -> Result<Line> {
    let understood = || {
        let mut parts = line.splitn(3, ": ");
        let (seconds, micros) = parts.next()?.split_whitespace().last()?.split_once('.')?;
        let time = seconds.parse::<u64>().ok()? * 1_000_000 + micros.parse::<u64>().ok()?;
        let name = parts.next()?.trim();
        let text = parts.next().unwrap_or("");
        if PASS_ENDS.contains(&name) {
            return Some((time, Mark::Pass));
        }
        let fields = text
            .split_whitespace()
            .filter_map(|word| word.split_once('='))
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let name = name.strip_prefix("gp_")?.into();
        Some((time, Mark::Event { name, fields }))
    };
    understood().with_context(|| format!("a line of the trace is '{line}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_and_events_are_told_apart() {
        let pass = "  gp/0000:01:00.0-77  [001] d..2.  12.000345: gp_sleep: (gp_sleep+0x0/0x80 [amd_gpreempt])";
        assert_eq!(parse(pass).unwrap(), (12_000_345, Mark::Pass));
        let stop = "  gp/0000:01:00.0-77  [001] .....  12.000400: gp_stop: gpu_id=5 node=0 pid=9 queue_id=1 prio=0 eff_prio=0 reason=inversion age_ns=20100";
        let (time, mark) = parse(stop).unwrap();
        assert_eq!(time, 12_000_400);
        assert!(mark.is("stop") && !mark.is("start"));
        assert_eq!(mark.field("reason"), Some("inversion"));
        assert_eq!(mark.number("age_ns"), Some(20_100));
        assert_eq!(mark.number("reason"), None);
        assert!(parse("nonsense").is_err());
    }
}
