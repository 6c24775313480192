// SPDX-License-Identifier: GPL-2.0-only
//! What the module does on a host, as metrics.

use std::collections::BTreeMap;

use crate::act::compare::compare_noted;
use crate::configuration::config::{Config, Wrong, PLACE};
use crate::host::ledger::{self, Amount, Ledger, Sighting};
use crate::host::tables::{Histogram, Latencies, Node, Queue, Stats};
use crate::host::tree::{Host, Refusal};
use crate::host::workload::Workload;
use crate::module::kernel::Kernel;
use crate::report::metrics::{Kind, Label, Metric, Number, Value};

/// How many workloads have names of their own unless somebody says otherwise.
pub const MOST_WORKLOADS: usize = 20;
/// The states of a node, and those of a queue.
pub const NODE_STATES: [&str; 5] = ["armed", "refused", "backing-off", "silent", "disarmed"];
const QUEUE_STATES: [&str; 6] = ["idle", "running", "waiting", "stopped", "starting", "held"];
/// The bounds of histograms, as powers of two of nanoseconds: from a microsecond to 17
/// seconds, of which each second one is shown.
const BOUNDS: std::ops::RangeInclusive<u32> = 5..=17;

/// All metrics, and why the module could not be read if it could not.
pub fn collect(host: &Host, ledger: &mut Ledger, most: usize) -> (Vec<Metric>, Option<Refusal>) {
    let mut up = Metric::new(
        "amd_gpreempt_up",
        Kind::Gauge,
        "Whether the module is loaded and its tables can be read.",
    );
    match look(host, ledger, most) {
        Ok(mut metrics) => {
            up.add(Vec::new(), Number::Whole(1));
            metrics.insert(0, up);
            (metrics, None)
        }
        Err(refusal) => {
            up.add(Vec::new(), Number::Whole(0));
            (vec![up], Some(refusal))
        }
    }
}

fn look(host: &Host, ledger: &mut Ledger, most: usize) -> Result<Vec<Metric>, Refusal> {
    let Stats { nodes } = host.stats()?;
    let latencies = host.latencies()?;
    let queues = host.queues()?.queues;
    let mut metrics = states(&nodes);
    metrics.extend(numbers(&nodes));
    metrics.extend(histograms(&latencies));
    metrics.extend(workloads(host, &queues, ledger, most));
    metrics.extend(in_force(host)?);
    metrics.extend(configuration(host));
    Ok(metrics)
}

fn of_node(gpu: &str, node: u64) -> Vec<Label> {
    vec![("gpu", gpu.to_owned()), ("node", node.to_string())]
}

/// One of several words, as a number for each that is 1 for it alone.
fn one_of(metric: &mut Metric, labels: &[Label], name: &'static str, words: &[&str], word: &str) {
    for known in words {
        let mut labels = labels.to_vec();
        labels.push((name, (*known).to_owned()));
        metric.add(labels, Number::Whole(u64::from(*known == word)));
    }
}

fn states(nodes: &[Node]) -> Vec<Metric> {
    let mut state = Metric::new(
        "amd_gpreempt_node_state",
        Kind::Gauge,
        "The state of a node: 1 for the one that it is in.",
    );
    let mut mode = Metric::new(
        "amd_gpreempt_node_mode",
        Kind::Gauge,
        "The mode in force on a node: 1 for the one that it is.",
    );
    let mut info = Metric::new(
        "amd_gpreempt_node_info",
        Kind::Gauge,
        "How a node is scheduled; always 1.",
    );
    for node in nodes {
        let labels = of_node(&node.gpu, node.node);
        one_of(&mut state, &labels, "state", &NODE_STATES, &node.state);
        one_of(
            &mut mode,
            &labels,
            "mode",
            &["off", "observe", "enforce"],
            &node.mode,
        );
        let mut labels = labels;
        labels.extend([
            ("sampler", node.sampler.clone()),
            ("backend", node.backend.clone()),
            ("transaction", node.transaction.clone()),
        ]);
        info.add(labels, Number::Whole(1));
    }
    vec![state, mode, info]
}

/// Reads a number of a node.
type Reader = fn(&Node) -> u64;

/// The numbers of a node that grow.
const COUNTERS: [(&str, &str, Reader); 12] = [
    ("amd_gpreempt_passes", "Looks at the queues.", |node| {
        node.passes
    }),
    (
        "amd_gpreempt_missed_passes",
        "Looks that were not possible.",
        |node| node.missed,
    ),
    (
        "amd_gpreempt_inversions",
        "Inversions found, each counted once.",
        |node| node.inversions,
    ),
    (
        "amd_gpreempt_observed_decisions",
        "Decisions that were not to be carried out.",
        |node| node.observed,
    ),
    ("amd_gpreempt_stops", "Queues stopped.", |node| node.stops),
    ("amd_gpreempt_starts", "Queues started again.", |node| {
        node.starts
    }),
    (
        "amd_gpreempt_transactions",
        "Transactions with the driver.",
        |node| node.transactions,
    ),
    (
        "amd_gpreempt_failures",
        "Transactions that failed or could not be tried.",
        |node| node.failures,
    ),
    (
        "amd_gpreempt_handed_over",
        "Transactions that were left to the driver's own unmapping.",
        |node| node.handed_over,
    ),
    (
        "amd_gpreempt_waited_for",
        "Transactions before which it was waited for packets that were being written.",
        |node| node.waited_for,
    ),
    (
        "amd_gpreempt_unwritten",
        "Transactions that were sent before all packets were written.",
        |node| node.unwritten,
    ),
    (
        "amd_gpreempt_healed",
        "Stopped queues that the driver itself has started.",
        |node| node.healed,
    ),
];

/// The numbers of a node that come and go.
const GAUGES: [(&str, &str, Reader); 4] = [
    ("amd_gpreempt_queues", "Compute queues in view.", |node| {
        node.queues
    }),
    ("amd_gpreempt_copy_queues", "Queues for copies.", |node| {
        node.copy_queues
    }),
    ("amd_gpreempt_processes", "Processes with queues.", |node| {
        node.processes
    }),
    (
        "amd_gpreempt_exempt_queues",
        "Queues that are left alone for want of room.",
        |node| node.exempt,
    ),
];

fn numbers(nodes: &[Node]) -> Vec<Metric> {
    let counters = COUNTERS.iter().map(|row| (row, Kind::Counter));
    let gauges = GAUGES.iter().map(|row| (row, Kind::Gauge));
    let mut metrics: Vec<Metric> = counters
        .chain(gauges)
        .map(|(&(name, help, read), kind)| {
            let mut metric = Metric::new(name, kind, help);
            for node in nodes {
                metric.add(of_node(&node.gpu, node.node), Number::Whole(read(node)));
            }
            metric
        })
        .collect();
    let mut states = Metric::new(
        "amd_gpreempt_queues_by_state",
        Kind::Gauge,
        "Queues that run, wait without any progress, or are stopped.",
    );
    let mut hints = Metric::new(
        "amd_gpreempt_hints",
        Kind::Counter,
        "Hints of programs, by what became of them.",
    );
    for node in nodes {
        let put = |metric: &mut Metric, name, word: &str, number| {
            let mut labels = of_node(&node.gpu, node.node);
            labels.push((name, word.to_owned()));
            metric.add(labels, Number::Whole(number));
        };
        put(&mut states, "state", "running", node.running);
        put(&mut states, "state", "waiting", node.waiting);
        put(&mut states, "state", "stopped", node.stopped);
        put(&mut hints, "fate", "seen", node.hints);
        put(&mut hints, "fate", "honoured", node.hints_honoured);
        put(&mut hints, "fate", "expired", node.hints_expired);
        put(&mut hints, "fate", "over-budget", node.hints_over_budget);
        put(&mut hints, "fate", "ignored", node.hints_ignored);
    }
    metrics.extend([states, hints]);
    metrics
}

fn histograms(latencies: &Latencies) -> Vec<Metric> {
    let mut wait = Metric::new(
        "amd_gpreempt_detection_seconds",
        Kind::Histogram,
        "How long urgent work had waited when it was decided to stop something for it.",
    );
    let mut transaction = Metric::new(
        "amd_gpreempt_transaction_seconds",
        Kind::Histogram,
        "What transactions take: unmap with the saving of waves, edit, and map.",
    );
    let mut stopped = Metric::new(
        "amd_gpreempt_stopped_seconds",
        Kind::Histogram,
        "How long queues were stopped.",
    );
    let mut pass = Metric::new(
        "amd_gpreempt_pass_seconds",
        Kind::Histogram,
        "What passes take: the look alone, and the whole.",
    );
    for node in &latencies.nodes {
        let put = |metric: &mut Metric, part: Option<&str>, histogram: &Histogram| {
            let mut labels = of_node(&node.gpu, node.node);
            labels.extend(part.map(|part| ("part", part.to_owned())));
            metric.samples.push((labels, value(histogram)));
        };
        put(&mut wait, None, &node.detection);
        put(&mut transaction, Some("unmap"), &node.unmap);
        put(&mut transaction, Some("edit"), &node.edit);
        put(&mut transaction, Some("map"), &node.map);
        put(&mut stopped, None, &node.stopped);
        put(&mut pass, Some("look"), &node.look);
        put(&mut pass, Some("whole"), &node.pass);
    }
    vec![wait, transaction, stopped, pass]
}

/// A bound is the longest duration that is short of a power of two, since the module
/// counts one of exactly that power with the longer ones.
fn value(histogram: &Histogram) -> Value {
    let bounds = BOUNDS.map(|half| 1u64 << (2 * half));
    Value::Histogram {
        bounds: bounds
            .map(|power| (power - 1, histogram.below(power)))
            .collect(),
        count: histogram.count,
        sum: histogram.sum_ns,
    }
}

/// What the queues of one workload on one node are now.
#[derive(Default)]
struct Now {
    states: BTreeMap<String, u64>,
    most_urgent: u64,
}

/// The labels of a workload on a node; those of all without a name have none.
fn of_workload(node: &ledger::Node, workload: Option<&Workload>) -> Vec<Label> {
    let mut labels = of_node(&node.0, node.1);
    let (kind, name) = workload.map_or(("other", ""), |own| (own.kind.name(), &own.name));
    labels.extend([("kind", kind.to_owned()), ("workload", name.to_owned())]);
    labels
}

fn workloads(host: &Host, queues: &[Queue], ledger: &mut Ledger, most: usize) -> Vec<Metric> {
    let mut known: BTreeMap<i64, Workload> = BTreeMap::new();
    let look: Vec<Sighting> = queues
        .iter()
        .map(|queue| {
            let own = known.entry(queue.pid);
            let own = own.or_insert_with(|| Workload::of(host, queue.pid, &queue.comm));
            sighting(queue, own.clone())
        })
        .collect();
    ledger.add(&look, most);
    let mut now: BTreeMap<(ledger::Node, Option<Workload>), Now> = BTreeMap::new();
    for (sighting, queue) in look.iter().zip(queues) {
        let own = Some(&sighting.workload).filter(|own| ledger.is_shown(own));
        let now = now.entry((sighting.queue.node.clone(), own.cloned()));
        let now = now.or_default();
        *now.states.entry(queue.state.clone()).or_default() += 1;
        now.most_urgent = now.most_urgent.max(queue.eff_prio);
    }
    let mut metrics = sums(ledger);
    metrics.extend(present(&now));
    metrics
}

fn sighting(queue: &Queue, workload: Workload) -> Sighting {
    Sighting {
        queue: ledger::Queue {
            node: (queue.gpu.clone(), queue.node),
            pid: queue.pid,
            queue: queue.queue,
        },
        workload,
        amount: Amount {
            run_ns: queue.run_ns,
            stopped_ns: queue.stopped_ns,
            stops: queue.stops,
        },
    }
}

fn sums(ledger: &Ledger) -> Vec<Metric> {
    let mut run = Metric::new(
        "amd_gpreempt_workload_run_seconds",
        Kind::Counter,
        "How long queues of a workload have run, added up over its queues.",
    );
    let mut stopped = Metric::new(
        "amd_gpreempt_workload_stopped_seconds",
        Kind::Counter,
        "How long queues of a workload were stopped, added up over its queues.",
    );
    let mut stops = Metric::new(
        "amd_gpreempt_workload_stops",
        Kind::Counter,
        "How often queues of a workload were stopped.",
    );
    let named = ledger.named();
    let named = named.map(|(own, node, amount)| (of_workload(node, Some(own)), amount));
    let others = ledger.others();
    let others = others.map(|(node, amount)| (of_workload(node, None), amount));
    for (labels, amount) in named.chain(others) {
        run.add(labels.clone(), Number::Nanos(amount.run_ns));
        stopped.add(labels.clone(), Number::Nanos(amount.stopped_ns));
        stops.add(labels, Number::Whole(amount.stops));
    }
    vec![run, stopped, stops]
}

fn present(now: &BTreeMap<(ledger::Node, Option<Workload>), Now>) -> Vec<Metric> {
    let mut states = Metric::new(
        "amd_gpreempt_workload_queues",
        Kind::Gauge,
        "The queues of a workload, by state.",
    );
    let mut urgency = Metric::new(
        "amd_gpreempt_workload_priority",
        Kind::Gauge,
        "The highest priority in force among the queues of a workload.",
    );
    for ((node, own), now) in now {
        let labels = of_workload(node, own.as_ref());
        for state in QUEUE_STATES {
            let mut labels = labels.clone();
            labels.push(("state", state.to_owned()));
            let number = now.states.get(state).copied().unwrap_or(0);
            states.add(labels, Number::Whole(number));
        }
        urgency.add(labels, Number::Whole(now.most_urgent));
    }
    vec![states, urgency]
}

/// The parameters and rules in force.
fn in_force(host: &Host) -> Result<Vec<Metric>, Refusal> {
    let state = host.state()?;
    let mut numbers = Metric::new(
        "amd_gpreempt_parameter",
        Kind::Gauge,
        "The parameters in force that are numbers, in the unit that the name has.",
    );
    let mut words = Metric::new(
        "amd_gpreempt_parameter_info",
        Kind::Gauge,
        "The parameters in force that are words or lists; always 1.",
    );
    for (name, value) in state.parameters {
        let mut labels = vec![("name", name.to_owned())];
        match value.parse() {
            Ok(number) => numbers.add(labels, Number::Whole(number)),
            Err(_) => {
                labels.push(("value", value));
                words.add(labels, Number::Whole(1));
            }
        }
    }
    let mut own = Metric::new(
        "amd_gpreempt_own_mode_info",
        Kind::Gauge,
        "The GPUs that have modes of their own; always 1.",
    );
    for (gpu, mode) in state.gpus {
        if let Some(mode) = mode {
            own.add(vec![("gpu", gpu), ("mode", mode)], Number::Whole(1));
        }
    }
    let mut rules = Metric::new(
        "amd_gpreempt_rules",
        Kind::Gauge,
        "Rules, by whether their cgroup is still there.",
    );
    for (word, dead) in [("live", false), ("dead", true)] {
        let count = state.rules.iter().filter(|rule| rule.dead == dead).count();
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        rules.add(vec![("state", word.to_owned())], Number::Whole(count));
    }
    Ok(vec![numbers, words, own, rules])
}

/// How the host's configuration compares with what is in force, if it has one.
fn configuration(host: &Host) -> Vec<Metric> {
    let mut good = Metric::new(
        "amd_gpreempt_configuration_in_force",
        Kind::Gauge,
        "Whether the host's configuration is right and in force.",
    );
    let path = host.path(PLACE);
    let holds = match Config::read(&path) {
        Ok(config) => compare_noted(host, &config).is_ok_and(|found| found.differences.is_empty()),
        Err(Wrong::Unreadable(_)) if !path.exists() => return Vec::new(),
        Err(_) => false,
    };
    good.add(Vec::new(), Number::Whole(u64::from(holds)));
    vec![good]
}
