// SPDX-License-Identifier: GPL-2.0-only
//! The lines of the table: queues, or processes with all their queues.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use gpreempt_operator::host::tables::{Event, LeftOut, Queue};
use gpreempt_operator::report::explain::reason_in_words;

use super::look::Look;
use super::spent::{Accounts, Key, Spent};
use crate::clean::clean;

/// A column, by which the table can be sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Gpu,
    Pid,
    Program,
    Queue,
    Priority,
    Rule,
    State,
    Time,
    Stopped,
    Stops,
}

pub const COLUMNS: [Column; 10] = [
    Column::Gpu,
    Column::Pid,
    Column::Program,
    Column::Queue,
    Column::Priority,
    Column::Rule,
    Column::State,
    Column::Time,
    Column::Stopped,
    Column::Stops,
];

impl Column {
    /// Whether the greatest comes first unless somebody says otherwise.
    pub fn falls(self) -> bool {
        matches!(
            self,
            Column::Priority | Column::Time | Column::Stopped | Column::Stops
        )
    }

    fn compare(self, one: &Row, other: &Row) -> Ordering {
        let running = |row: &Row| row.spent.map_or(0, |spent| spent.percent(spent.running));
        match self {
            Column::Gpu => (&one.gpu, one.key.node).cmp(&(&other.gpu, other.key.node)),
            Column::Pid => one.key.pid.cmp(&other.key.pid),
            Column::Program => one.program.cmp(&other.program),
            Column::Queue => one.number.cmp(&other.number),
            Column::Priority => one.priority.cmp(&other.priority),
            Column::Rule => one
                .rule
                .is_none()
                .cmp(&other.rule.is_none())
                .then(one.rule.cmp(&other.rule)),
            Column::State => one.state.cmp(&other.state),
            Column::Time => running(one).cmp(&running(other)),
            Column::Stopped => one.stopped_ns.cmp(&other.stopped_ns),
            Column::Stops => one.stops.cmp(&other.stops),
        }
    }
}

/// By which column, and whether the greatest comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    pub column: Column,
    pub falling: bool,
}

impl Sort {
    pub fn by(column: Column) -> Sort {
        Sort {
            column,
            falling: column.falls(),
        }
    }

    pub fn apply(self, rows: &mut [Row]) {
        rows.sort_by(|one, other| {
            let order = self.column.compare(one, other);
            let order = if self.falling { order.reverse() } else { order };
            order.then_with(|| one.key.cmp(&other.key))
        });
    }
}

/// A queue, or a process.
#[derive(Clone, Debug)]
pub struct Row {
    pub key: Key,
    /// The nodes, as they are shown.
    pub gpu: String,
    pub program: String,
    /// The name's bytes, for a rule.
    pub comm: Option<Vec<u8>>,
    /// As the kernel has it, not as it may be shown.
    pub cgroup: String,
    /// The queue's number, or how many the process has.
    pub number: u64,
    pub priority: u64,
    pub rule: Option<u64>,
    pub state: String,
    /// It takes part in preemption.
    pub contends: bool,
    pub spent: Option<Spent>,
    pub stopped_ns: u64,
    pub stops: u64,
    pub run_ns: u64,
    /// Whom it waits or is stopped for, in few words.
    pub whom: String,
    /// Why it is in this state, in a sentence without a stop.
    pub why: String,
}

impl Row {
    /// Whether each word is in something that is shown of it.
    pub fn matches(&self, filter: &str) -> bool {
        let own = format!(
            "{} {} {} {} {}",
            self.gpu, self.key.pid, self.program, self.cgroup, self.state
        )
        .to_lowercase();
        let filter = filter.to_lowercase();
        filter.split_whitespace().all(|word| own.contains(word))
    }
}

/// What queues are explained with.
struct Beside<'l> {
    look: &'l Look,
    names: BTreeMap<i64, &'l str>,
    /// The last decision to stop each queue.
    stops: BTreeMap<(&'l str, u64, i64, u64), &'l Event>,
    /// The most urgent queues that run on each node, of two processes.
    running: BTreeMap<(&'l str, u64), Vec<&'l Queue>>,
}

impl<'l> Beside<'l> {
    fn of(look: &'l Look) -> Beside<'l> {
        let mut stops: BTreeMap<_, &Event> = BTreeMap::new();
        for event in look.events.iter().filter(|event| event.action == "stop") {
            let key = (event.gpu.as_str(), event.node, event.pid, event.queue);
            let last = stops.entry(key).or_insert(event);
            if last.time_ns < event.time_ns {
                *last = event;
            }
        }
        let mut running: BTreeMap<_, Vec<&Queue>> = BTreeMap::new();
        for queue in look.queues.iter().filter(|queue| queue.state == "running") {
            let on_node = running.entry((queue.gpu.as_str(), queue.node)).or_default();
            on_node.push(queue);
            on_node.sort_by_key(|queue| (std::cmp::Reverse(queue.eff_prio), queue.pid));
            on_node.dedup_by_key(|queue| queue.pid);
            on_node.truncate(2);
        }
        let names = look.queues.iter();
        Beside {
            look,
            names: names
                .map(|queue| (queue.pid, queue.comm.as_str()))
                .collect(),
            stops,
            running,
        }
    }

    fn named(&self, pid: i64) -> String {
        match self.names.get(&pid) {
            Some(name) => format!("{} ({pid})", clean(name)),
            None => format!("process {pid}"),
        }
    }

    /// Whom a queue waits or is stopped for, and why.
    fn explain(&self, queue: &Queue) -> (String, String) {
        let none = String::new();
        if !queue.contends {
            let why = "takes no part: a rule exempts it, it belongs to the runtime, or it cannot \
                       be stopped";
            return (none, format!("{}; it {why}", clean(&queue.state)));
        }
        match queue.state.as_str() {
            "stopped" => self.is_stopped(queue),
            "waiting" => {
                let on_node = self.running.get(&(queue.gpu.as_str(), queue.node));
                let other = on_node.and_then(|all| all.iter().find(|other| other.pid != queue.pid));
                match other {
                    Some(other) => {
                        let name = self.named(other.pid);
                        let why = format!("waits while {name} runs with priority {}", other.eff_prio);
                        (name, why)
                    }
                    None => (none, "waits, and no other process runs on its node".into()),
                }
            }
            "idle" => (none, "has nothing to do".into()),
            "running" => (none, "runs, or may be running".into()),
            "starting" => (none, "is about to be put back on the GPU".into()),
            "held" => (
                none,
                "is kept off by something else: evicted memory, a debugger, a checkpoint or a reset"
                    .into(),
            ),
            other => (none, format!("is {}", clean(other))),
        }
    }

    /// The last decision to stop a queue.
    fn stop(&self, queue: &Queue) -> Option<&'l Event> {
        let key = (queue.gpu.as_str(), queue.node, queue.pid, queue.queue);
        self.stops.get(&key).copied()
    }

    /// Whom a decision was for, and the decision in words.
    fn decision(&self, event: &Event) -> (String, String) {
        let would = match event.fate.as_str() {
            "observed" => "would be stopped",
            _ => "stopped",
        };
        let because = reason_in_words(&event.reason);
        match &event.beneficiary {
            Some(whom) => {
                let name = self.named(whom.pid);
                let why = format!("{would} for {name}, since {because}");
                (name, why)
            }
            None => (String::new(), format!("{would}, since {because}")),
        }
    }

    fn is_stopped(&self, queue: &Queue) -> (String, String) {
        match self.stop(queue) {
            Some(event) => self.decision(event),
            None => {
                let why = "stopped; why is not among the last 512 decisions of its node";
                (String::new(), why.into())
            }
        }
    }

    fn row(&self, queue: &Queue, accounts: &Accounts) -> Row {
        let key = Key::of(queue);
        let (mut whom, mut why) = self.explain(queue);
        let spent = accounts.of_late(&key);
        // Stops are often shorter than the time between two looks.
        let was_stopped = spent.is_some_and(|spent| spent.stopped > 0);
        if was_stopped && matches!(queue.state.as_str(), "running" | "idle" | "starting") {
            if let Some(event) = self.stop(queue) {
                let lately;
                (whom, lately) = self.decision(event);
                why.push_str(&format!("; lately {lately}"));
            }
        }
        Row {
            gpu: short(&queue.gpu, queue.node),
            program: clean(&queue.comm),
            comm: queue.comm_bytes(),
            cgroup: self
                .look
                .cgroups
                .get(&queue.pid)
                .cloned()
                .unwrap_or_default(),
            number: queue.queue,
            priority: queue.eff_prio,
            rule: queue.rule,
            state: clean(&queue.state),
            contends: queue.contends,
            spent,
            stopped_ns: queue.stopped_ns.saturating_add(accounts.open(&key)),
            stops: queue.stops,
            run_ns: queue.run_ns,
            whom,
            why,
            key,
        }
    }
}

/// A node of a GPU, without the domain that almost all have.
pub fn short(gpu: &str, node: u64) -> String {
    let address = gpu.strip_prefix("0000:").unwrap_or(gpu);
    format!("{}/{node}", clean(address))
}

/// A row for each queue.
pub fn queues(look: &Look, accounts: &Accounts) -> Vec<Row> {
    let beside = Beside::of(look);
    let rows = look.queues.iter();
    rows.map(|queue| beside.row(queue, accounts)).collect()
}

/// A row for each process, on all nodes together.
pub fn processes(look: &Look, accounts: &Accounts) -> Vec<Row> {
    let mut of: BTreeMap<i64, Vec<Row>> = BTreeMap::new();
    for row in queues(look, accounts) {
        of.entry(row.key.pid).or_default().push(row);
    }
    let mut left_out: BTreeMap<i64, Vec<&LeftOut>> = BTreeMap::new();
    for left in &look.left_out {
        left_out.entry(left.pid).or_default().push(left);
    }
    let mut rows: Vec<Row> = Vec::new();
    for (pid, own) in of {
        let left = left_out.remove(&pid).unwrap_or_default();
        rows.extend(process(own, &left));
    }
    rows.extend(left_out.values().filter_map(|left| unseen(left)));
    rows
}

/// How urgent it is to tell an operator of a state.
fn weight(state: &str) -> usize {
    let known = ["idle", "running", "starting", "held", "waiting", "stopped"];
    known.iter().position(|known| *known == state).unwrap_or(0)
}

/// A process of its queues.
fn process(mut own: Vec<Row>, left: &[&LeftOut]) -> Option<Row> {
    own.sort_by_key(|row| std::cmp::Reverse(weight(&row.state)));
    let mut states: Vec<(char, usize)> = Vec::new();
    for row in own.iter().filter(|row| row.state != "idle") {
        let letter = row.state.chars().next().unwrap_or('?');
        // Both have the same letter, and it is of the stopped ones that nothing is said.
        let letter = if row.state == "starting" { 'b' } else { letter };
        match states.iter_mut().find(|(known, _)| *known == letter) {
            Some((_, number)) => *number += 1,
            None => states.push((letter, 1)),
        }
    }
    let words: Vec<String> = states
        .iter()
        .map(|(letter, number)| format!("{number}{letter}"))
        .collect();
    let mut gpus: Vec<&str> = own.iter().map(|row| row.gpu.as_str()).collect();
    gpus.sort_unstable();
    gpus.dedup();
    let gpu = match gpus.as_slice() {
        [one] => (*one).to_owned(),
        several => format!("{} nodes", several.len()),
    };
    let mut spent: Option<Spent> = None;
    for part in own.iter().filter_map(|row| row.spent) {
        spent.get_or_insert_default().add(part);
    }
    let sum = |part: fn(&Row) -> u64| own.iter().map(part).fold(0, u64::saturating_add);
    let left_alone: u64 = left
        .iter()
        .map(|left| left.left_out)
        .fold(0, u64::saturating_add);
    let first = own.first()?;
    let mut why = match own.len() {
        1 => first.why.clone(),
        _ => format!("its queue {} {}", first.number, first.why),
    };
    if left_alone > 0 {
        why.push_str(&format!(
            "; {left_alone} more queues are left alone for want of room"
        ));
    }
    Some(Row {
        key: Key {
            gpu: String::new(),
            node: 0,
            queue: 0,
            ..first.key.clone()
        },
        gpu,
        number: own.len() as u64,
        priority: own.iter().map(|row| row.priority).max()?,
        rule: own.iter().find_map(|row| row.rule),
        state: match own.len() {
            1 => first.state.clone(),
            _ if words.is_empty() => "idle".into(),
            _ => words.join(" "),
        },
        contends: own.iter().any(|row| row.contends),
        spent,
        stopped_ns: sum(|row| row.stopped_ns),
        stops: sum(|row| row.stops),
        run_ns: sum(|row| row.run_ns),
        why,
        ..first.clone()
    })
}

/// A process of which no queue is in view.
fn unseen(left: &[&LeftOut]) -> Option<Row> {
    let first = left.first()?;
    let number: u64 = left
        .iter()
        .map(|left| left.left_out)
        .fold(0, u64::saturating_add);
    Some(Row {
        key: Key {
            gpu: String::new(),
            node: 0,
            pid: first.pid,
            queue: 0,
        },
        gpu: short(&first.gpu, first.node),
        program: clean(&first.comm),
        comm: None,
        cgroup: String::new(),
        number: 0,
        priority: 0,
        rule: None,
        state: "unseen".into(),
        contends: false,
        spent: None,
        stopped_ns: 0,
        stops: 0,
        run_ns: 0,
        whom: String::new(),
        why: format!("its {number} queues are left alone for want of room"),
    })
}
