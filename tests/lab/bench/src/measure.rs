// SPDX-License-Identifier: GPL-2.0-only
//! Runs a load in a guest under one contender and reads what came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use e2e_runner::background::{Background, Expect};
use e2e_runner::guest::Guest;
use e2e_runner::load::{queue, report, Load};
use e2e_runner::module::Module;
use gpu_workload::report::{QueueIdentity, RunReport, Sample};
use gpu_workload::spec::{QueueSpec, RunSpec};
use serde_json::{json, Value};
use vgpu_model::{HiqAction, HiqRecord, QueueId, TimelineRecord};

use crate::contender::{command_line, scheduler_time, Contender, URGENT_PRIORITY};
use crate::load::DILATION;
use crate::measurement::{account, Measurement};
use crate::probes;
use crate::split::Logs;

/// The priority that KFD gives a queue which asks for none.
const NORMAL_PRIORITY: u32 = 7;
/// The hardware class that KFD puts such queues into.
const URGENT_CLASS: u32 = 2;
/// More queues than the firmware has slots for.
const IDLE_QUEUES: usize = 25;
/// A safety net only.
const PATIENCE: Duration = Duration::from_secs(1200);

/// Where the device's logs were read up to.
#[derive(Default)]
struct Marks {
    packets: u64,
    timeline: u64,
}

/// A guest in which contenders take turns.
pub struct Arena {
    pub guest: Guest,
    marks: Marks,
    probes: bool,
}

/// One run with its raw material.
pub struct Run {
    pub measurement: Measurement,
    pub report: RunReport,
    pub packets: Vec<HiqRecord>,
    pub timeline: Vec<TimelineRecord>,
    /// What the module, where it took part, told in debugfs at the end.
    pub tables: BTreeMap<String, Value>,
}

impl Arena {
    /// A guest, with probes in its driver if wanted.
    pub fn new(mut guest: Guest, probes: bool) -> Result<Arena> {
        if probes {
            probes::set(&mut guest)?;
        }
        Ok(Arena {
            guest,
            marks: Marks::default(),
            probes,
        })
    }

    /// Runs a load to its end under a contender, the module with these settings
    /// for others than the defaults, while others run on other nodes. `watch` is called after
    /// each second of the guest, about.
    pub fn run(
        &mut self,
        spec: &RunSpec,
        beside: &[RunSpec],
        contender: Contender,
        settings: &[(&str, u32)],
        mut watch: impl FnMut(&mut Guest) -> Result<()>,
    ) -> Result<Run> {
        self.logs()?;
        if self.probes {
            probes::clear(&mut self.guest)?;
        }
        let crowd = (contender == Contender::Quanta)
            .then(|| crowd(&mut self.guest))
            .transpose()?;
        let module = contender
            .parameters(settings, DILATION)
            .map(|parameters| Module::load(&mut self.guest, &parameters))
            .transpose()?;

        let mut start = |spec| {
            let specification = serde_json::to_value(only(spec, contender))?;
            Load::start(&mut self.guest, specification)
        };
        let beside: Vec<Load> = beside.iter().map(&mut start).collect::<Result<_>>()?;
        let load = start(spec)?;
        if let Some(module) = module.as_ref().filter(|_| contender.by_rule()) {
            let all = beside.iter().chain([&load]);
            let queues: Vec<_> = all.flat_map(|load| load.queues.clone()).collect();
            for rule in rules(&queues, spec) {
                module.add_rule(&mut self.guest, &rule)?;
            }
        }
        let begin = Instant::now();
        let since = self.guest.device.now()?;
        let before = thread_time(&mut self.guest)?;
        let scheduler = scheduler(&mut self.guest, &load, contender)?;
        let finished = loop {
            if let Some(finished) = load.wait(&mut self.guest, Duration::from_secs(1))? {
                break finished;
            }
            ensure!(begin.elapsed() < PATIENCE, "the load does not end");
            watch(&mut self.guest)?;
        };
        let elapsed = (self.guest.device.now()? - since) * DILATION;
        let after = thread_time(&mut self.guest)?;
        let report = report(&finished)?;
        for other in &beside {
            other.stop(&mut self.guest)?;
        }
        let one_node = beside.is_empty();
        for other in beside {
            other.finish(&mut self.guest)?;
        }
        let own_time = scheduler
            .map(|scheduler| scheduler.succeed(&mut self.guest, PATIENCE))
            .transpose()?
            .map(|text| scheduler_time(&text))
            .transpose()?;
        let processor = own_time
            .or(module.is_some().then(|| after - before))
            .map(|time| time as f64 / elapsed.as_nanos() as f64);

        if let Some(crowd) = crowd {
            crowd.stop(&mut self.guest)?;
            crowd.finish(&mut self.guest)?;
        }
        let mut tables = BTreeMap::new();
        if let Some(module) = module {
            tables = self.tables()?;
            module.unload(&mut self.guest)?;
        }
        let mut run = self.evaluate(report, processor, spec)?;
        if !one_node {
            // The records do not say of which node they are.
            run.measurement.preemptions.clear();
        }
        Ok(Run { tables, ..run })
    }

    /// The module's tables that tell of what it has done.
    fn tables(&mut self) -> Result<BTreeMap<String, Value>> {
        let mut read = |name: &str| {
            let path = format!("/sys/kernel/debug/amd_gpreempt/{name}.json");
            let text = self.guest.agent().read_file(&path)?;
            Ok((name.to_owned(), serde_json::from_str(&text)?))
        };
        ["events", "latency", "stats"]
            .into_iter()
            .map(&mut read)
            .collect()
    }

    /// What the device has logged since the last call.
    fn logs(&mut self) -> Result<(Vec<HiqRecord>, Vec<TimelineRecord>)> {
        let packets = self.guest.device.hiq(self.marks.packets)?;
        let timeline = self.guest.device.timeline(self.marks.timeline)?;
        if let Some(last) = packets.last() {
            self.marks.packets = last.sequence + 1;
        }
        if let Some(last) = timeline.last() {
            self.marks.timeline = last.sequence + 1;
        }
        Ok((packets, timeline))
    }

    fn evaluate(
        &mut self,
        report: RunReport,
        processor: Option<f64>,
        spec: &RunSpec,
    ) -> Result<Run> {
        let clients = &urgent_clients(spec);
        let (packets, timeline) = self.logs()?;
        let urgent: BTreeSet<QueueId> = self
            .guest
            .device
            .queues()?
            .into_iter()
            .filter(|queue| queue.pipe_priority == URGENT_CLASS)
            .map(|queue| queue.queue)
            .collect();
        let moments = report
            .queues
            .first()
            .map(|queue| queue.clock.moments.clone())
            .unwrap_or_default();
        let calls = if self.probes {
            probes::calls(&mut self.guest, &moments)?
        } else {
            Vec::new()
        };
        let requests: Vec<Sample> = report
            .queues
            .iter()
            .filter(|queue| clients.contains(&queue.identity.name))
            .flat_map(|queue| queue.samples.iter().copied())
            .collect();
        let preemptions = Logs {
            packets: &packets,
            timeline: &timeline,
            urgent: &urgent,
            requests: &requests,
            calls: &calls,
        }
        .preemptions();
        let transactions = packets
            .iter()
            .filter(|packet| matches!(packet.action, HiqAction::Unmap { .. }))
            .count() as u64;
        let measurement = Measurement {
            transactions,
            packets: packets.len() as u64,
            processor,
            preemptions,
            duration_ns: duration(spec),
            ..account(&report, clients)
        };
        Ok(Run {
            measurement,
            report,
            packets,
            timeline,
            tables: BTreeMap::new(),
        })
    }
}

/// The urgent queues of a load.
fn urgent_queues(spec: &RunSpec) -> impl Iterator<Item = &QueueSpec> {
    spec.queues
        .iter()
        .filter(|queue| queue.priority >= URGENT_PRIORITY)
}

/// The names of the urgent queues of a load, whatever a contender makes of their priority.
pub fn urgent_clients(spec: &RunSpec) -> BTreeSet<String> {
    urgent_queues(spec)
        .map(|queue| queue.name.clone())
        .collect()
}

/// For how long urgent requests arrive.
pub fn duration(spec: &RunSpec) -> u64 {
    let durations = urgent_queues(spec).filter_map(|queue| queue.duration_ns);
    durations.max().unwrap_or(0)
}

/// An operator's rules: one for each process with an urgent queue.
pub fn rules(queues: &[QueueIdentity], spec: &RunSpec) -> Vec<String> {
    let clients = urgent_clients(spec);
    let urgent = queues.iter().filter(|queue| clients.contains(&queue.name));
    let levels: BTreeMap<u32, u32> = urgent.map(|queue| (queue.pid, queue.priority)).collect();
    (1..)
        .zip(levels)
        .map(|(number, (pid, priority)): (u32, _)| format!("{number} pid={pid} prio={priority}"))
        .collect()
}

/// A load as it runs under a contender.
pub fn only(spec: &RunSpec, contender: Contender) -> RunSpec {
    let mut spec = spec.clone();
    match contender {
        Contender::Alone => spec
            .queues
            .retain(|queue| queue.priority >= URGENT_PRIORITY),
        Contender::Nobody => {
            for queue in &mut spec.queues {
                queue.priority = NORMAL_PRIORITY;
            }
        }
        Contender::Hints => {
            for queue in &mut spec.queues {
                queue.hint = queue.priority >= URGENT_PRIORITY;
            }
        }
        _ => {}
    }
    spec
}

/// Idle queues that make the firmware take turns.
fn crowd(guest: &mut Guest) -> Result<Load> {
    const NEVER_NS: u64 = 3_600_000_000_000;
    let queues: Vec<Value> = (0..IDLE_QUEUES)
        .map(|index| {
            let more =
                json!({"group": "crowd", "start_ns": NEVER_NS, "requests": 1, "ring_packets": 128});
            queue(&format!("idle{index}"), 1, 1_000, more)
        })
        .collect();
    Load::start(guest, json!({"queues": queues}))
}

/// Starts a contender that is a program.
fn scheduler(guest: &mut Guest, load: &Load, contender: Contender) -> Result<Option<Background>> {
    let socket = |queue: &QueueIdentity| load.socket(&queue.name);
    let Some(line) = command_line(contender, DILATION, &load.queues, socket)? else {
        return Ok(None);
    };
    let words = std::iter::once("kfdctl").chain(line.iter().map(String::as_str));
    Background::start(guest, &words.collect::<Vec<_>>(), Expect::Success).map(Some)
}

/// Processor time of the module's threads so far, in nanoseconds of the guest.
fn thread_time(guest: &mut Guest) -> Result<u64> {
    const LINE: &str = "for p in /proc/[0-9]*; do \
        case $(cat $p/comm 2>/dev/null) in gp/*) cat $p/schedstat;; esac; done";
    let text = guest.agent().shell(LINE)?;
    text.lines()
        .map(|line| {
            let time = line.split(' ').next().unwrap_or_default();
            time.parse::<u64>()
                .with_context(|| format!("a thread's time is {line:?}"))
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{heavy, run, urgent};

    #[test]
    fn alone_is_the_urgent_part() {
        let both = run(vec![urgent(1_000), heavy(1_000)]);
        assert_eq!(only(&both, Contender::Alone).queues.len(), 1);
        assert_eq!(only(&both, Contender::Classes).queues.len(), 2);
    }

    #[test]
    fn under_none_all_queues_are_equal_and_the_urgent_ones_still_known() {
        let both = run(vec![urgent(1_000), heavy(1_000)]);
        let priorities = |contender| -> Vec<u32> {
            let spec = only(&both, contender);
            spec.queues.iter().map(|queue| queue.priority).collect()
        };
        assert_eq!(priorities(Contender::Nobody), [7, 7]);
        assert_eq!(priorities(Contender::Classes), [12, 2]);
        assert_eq!(urgent_clients(&both).len(), 1);
    }

    #[test]
    fn urgent_clients_give_hints_under_that_name_alone() {
        let both = run(vec![urgent(1_000), heavy(1_000)]);
        for contender in Contender::ALL {
            let spec = only(&both, contender);
            let hints: Vec<bool> = spec.queues.iter().map(|queue| queue.hint).collect();
            let wanted = contender == Contender::Hints;
            assert_eq!(hints[0], wanted, "{contender:?}");
            assert!(!hints[1..].contains(&true), "{contender:?}");
        }
    }

    #[test]
    fn a_run_lasts_as_long_as_its_urgent_clients() {
        let both = run(vec![urgent(1_000), heavy(9_000), urgent(2_000)]);
        assert_eq!(duration(&both), 2_000);
        assert_eq!(duration(&only(&both, Contender::Nobody)), 0);
    }

    #[test]
    fn each_urgent_process_gets_a_rule() {
        let both = run(vec![urgent(1_000), heavy(1_000)]);
        let identity = |name: &str, pid, priority| QueueIdentity {
            name: name.into(),
            group: name.into(),
            pid,
            gpu_id: 1,
            queue_id: 0,
            priority,
        };
        let queues = [
            identity("inference", 11, 12),
            identity("inference", 11, 12),
            identity("training", 10, 2),
        ];
        assert_eq!(rules(&queues, &both), ["1 pid=11 prio=12"]);
    }
}
