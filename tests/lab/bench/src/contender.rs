// SPDX-License-Identifier: GPL-2.0-only
//! Who schedules: what the benchmark compares.

use anyhow::{Context, Result};
use gpu_workload::report::QueueIdentity;
use gpu_workload::spec::{QueueSpec, RunSpec};
use serde_json::Value;

use crate::settings;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Contender {
    /// The urgent clients without the others: the lower bound.
    Alone,
    /// KFD as it is, with all queues at one priority.
    Nobody,
    /// KFD as it is, with the priorities of the queues, of which it makes pipe classes.
    Classes,
    /// KFD with so many queues that its firmware takes turns.
    Quanta,
    /// A program that polls, and suspends and resumes through the debugger.
    Poller,
    /// A program that polls, destroys queues and submits their work again.
    Reset,
    /// The module, to which a rule says who is urgent.
    Module(Backend),
    /// The module without a rule: the urgent clients claim their priority.
    Claimed,
    /// The module with `transaction=direct`.
    Direct,
    /// The same, to which urgent clients also say when they begin to prepare a request.
    Hints,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Backend {
    Hws,
    Mqd,
}

pub const STRICT: Contender = Contender::Module(Backend::Hws);

impl Backend {
    fn word(self) -> &'static str {
        match self {
            Backend::Hws => "hws",
            Backend::Mqd => "mqd",
        }
    }
}

impl Contender {
    pub const ALL: [Contender; 11] = [
        Contender::Alone,
        Contender::Nobody,
        Contender::Classes,
        Contender::Quanta,
        Contender::Poller,
        Contender::Reset,
        Contender::Claimed,
        STRICT,
        Contender::Direct,
        Contender::Hints,
        Contender::Module(Backend::Mqd),
    ];

    /// As tables and the command line name it.
    pub fn name(self) -> &'static str {
        match self {
            Contender::Alone => "alone",
            Contender::Nobody => "none",
            Contender::Classes => "classes",
            Contender::Quanta => "quanta",
            Contender::Poller => "poller",
            Contender::Reset => "reset",
            Contender::Claimed => "claimed",
            Contender::Direct => "direct",
            Contender::Hints => "hints",
            Contender::Module(Backend::Hws) => "strict",
            Contender::Module(Backend::Mqd) => "mqd",
        }
    }

    pub fn by_name(name: &str) -> Option<Contender> {
        Self::ALL
            .into_iter()
            .find(|contender| contender.name() == name)
    }

    /// What it is, in a few words.
    pub fn what(self) -> &'static str {
        match self {
            Contender::Alone => "the urgent clients without the others",
            Contender::Nobody => "KFD as it is, all queues at one priority",
            Contender::Classes => "KFD as it is, with the queues' priorities",
            Contender::Quanta => "KFD with 25 idle queues more, so that its firmware takes turns",
            Contender::Poller => {
                "a program that polls each 100 us, and suspends and resumes by KFD's debugger interface"
            }
            Contender::Reset => {
                "a program that polls each 100 us, destroys queues and submits their work again"
            }
            Contender::Claimed => "amd_gpreempt as it is installed, without a rule",
            Contender::Direct => "amd_gpreempt, transaction=direct",
            Contender::Hints => {
                "amd_gpreempt, transaction=direct, and a hint when an urgent client begins to prepare a request"
            }
            Contender::Module(Backend::Hws) => {
                "amd_gpreempt as it is installed, with a rule for each urgent client"
            }
            Contender::Module(Backend::Mqd) => {
                "amd_gpreempt, backend=mqd, in a boot of its own with sched_policy=2"
            }
        }
    }

    /// The module's parameters where time is so dilated, when it takes part, with
    /// some others than the defaults.
    pub fn parameters(self, others: &[(&str, u32)], dilation: u32) -> Option<String> {
        let (backend, transaction) = match self {
            Contender::Module(backend) => (backend, "driver"),
            Contender::Claimed => (Backend::Hws, "driver"),
            Contender::Direct | Contender::Hints => (Backend::Hws, "direct"),
            _ => return None,
        };
        Some(format!(
            "mode=enforce backend={} transaction={transaction} {}",
            backend.word(),
            settings::with(dilation, others)
        ))
    }

    /// Whether it is this module, in whatever way.
    pub fn is_module(self) -> bool {
        self.parameters(&[], 1).is_some()
    }

    /// Whether an operator's rules say who is urgent.
    pub fn by_rule(self) -> bool {
        self.is_module() && self != Contender::Claimed
    }

    /// Whether it is something of its own under a load. Where an urgent client prepares
    /// nothing, a hint comes with the doorbell and tells nothing that the doorbell does not.
    pub fn means_something(self, spec: &RunSpec) -> bool {
        let urgent = |queue: &&QueueSpec| queue.priority >= URGENT_PRIORITY;
        self != Contender::Hints
            || spec
                .queues
                .iter()
                .filter(urgent)
                .any(|queue| queue.preparation_ns > 0)
    }
}

/// A queue of this priority or above is an urgent client's.
pub const URGENT_PRIORITY: u32 = 11;

/// How often the contenders that are programs look, in GPU time.
const POLL_NS: u64 = 100_000;
/// A queue whose pointers stand still for so long is idle.
const CALM_NS: u64 = 300_000;
const MAX_STOP_NS: u64 = 100_000_000;

/// The processor time that such a program says at its end that it took.
pub fn scheduler_time(printed: &str) -> Result<u64> {
    let account: Value = serde_json::from_str(printed)?;
    account["cpu_ns"].as_u64().context("no processor time")
}

/// The command line, after `kfdctl`, of a contender that is a program. A queue's
/// socket is that of its process.
pub fn command_line(
    contender: Contender,
    dilation: u32,
    queues: &[QueueIdentity],
    socket: impl Fn(&QueueIdentity) -> Result<String>,
) -> Result<Option<Vec<String>>> {
    let command = match contender {
        Contender::Poller => "poll",
        Contender::Reset => "reset-resubmit",
        _ => return Ok(None),
    };
    let mut line = vec![command.to_owned()];
    for (option, gpu_ns, unit) in [
        ("--interval-us", POLL_NS, 1_000),
        ("--calm-us", CALM_NS, 1_000),
        ("--max-stop-ms", MAX_STOP_NS, 1_000_000),
    ] {
        let time = gpu_ns * u64::from(dilation) / unit;
        line.extend([option.to_owned(), time.to_string()]);
    }
    for queue in queues {
        let name = if contender == Contender::Poller {
            format!("{}:{}:{}", queue.pid, queue.queue_id, queue.priority)
        } else {
            format!("{}:{}:{}", socket(queue)?, queue.name, queue.priority)
        };
        line.extend(["--queue".to_owned(), name]);
    }
    Ok(Some(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpreempt_policy::{choice, NUMBERS};
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_its_own_and_is_found() {
        let names: BTreeSet<&str> = Contender::ALL.map(Contender::name).into();
        assert_eq!(names.len(), Contender::ALL.len());
        for contender in Contender::ALL {
            assert_eq!(Contender::by_name(contender.name()), Some(contender));
            assert!(!contender.what().is_empty());
        }
        assert_eq!(Contender::by_name("nobody"), None);
    }

    #[test]
    fn a_program_is_told_the_queues_and_the_dilated_times() {
        let queue = QueueIdentity {
            name: "q".into(),
            group: "g".into(),
            pid: 12,
            gpu_id: 1,
            queue_id: 3,
            priority: 11,
        };
        let line = |contender| {
            command_line(contender, 32, &[queue.clone()], |_| Ok("/s".into()))
                .unwrap()
                .map(|line| line.join(" "))
        };
        assert_eq!(
            line(Contender::Poller).unwrap(),
            "poll --interval-us 3200 --calm-us 9600 --max-stop-ms 3200 --queue 12:3:11"
        );
        assert!(line(Contender::Reset).unwrap().ends_with("--queue /s:q:11"));
        assert_eq!(line(STRICT), None);
    }

    #[test]
    fn the_parameters_are_those_that_the_module_has() {
        let none: Vec<&str> = Contender::ALL
            .into_iter()
            .filter(|contender| contender.parameters(&[], 32).is_none())
            .map(Contender::name)
            .collect();
        assert_eq!(
            none,
            ["alone", "none", "classes", "quanta", "poller", "reset"]
        );
        for parameters in Contender::ALL.iter().filter_map(|c| c.parameters(&[], 32)) {
            for setting in parameters.split_whitespace() {
                let (name, value) = setting.split_once('=').unwrap();
                match choice(name) {
                    Some(choice) => assert!(choice.words.contains(&value), "{setting}"),
                    None => assert!(NUMBERS.iter().any(|spec| spec.name == name), "{name}"),
                }
            }
        }
    }

    #[test]
    fn every_way_to_use_the_module_is_by_rule_but_one() {
        let all = Contender::ALL;
        let module: Vec<&str> = all
            .into_iter()
            .filter(|c| c.is_module())
            .map(Contender::name)
            .collect();
        let ruled: Vec<&str> = all
            .into_iter()
            .filter(|c| c.by_rule())
            .map(Contender::name)
            .collect();
        assert_eq!(module[..4], ["claimed", "strict", "direct", "hints"]);
        assert_eq!(ruled, module[1..]);
        for contender in [Contender::Direct, Contender::Hints] {
            let direct = contender.parameters(&[], 32).unwrap();
            assert!(direct.contains("transaction=direct"), "{direct}");
        }
        let strict = STRICT.parameters(&[], 32).unwrap();
        assert!(strict.contains("transaction=driver"), "{strict}");
    }
}
