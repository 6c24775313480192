// SPDX-License-Identifier: GPL-2.0-only
//! Why a process ran, waited or was stopped, in sentences, from the decisions that the
//! module remembers and from what it sees now.

mod words;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::host::tables::{Event, LeftOut, Node, Queue};
use crate::host::tree::{Host, Refusal};
use crate::module::kernel::{Kernel, State};
use crate::words::rule::Rule;
use words::{cause, times};
pub use words::{duration, reason_in_words};

/// A sentence, and what is to be changed where it should be otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sentence {
    pub text: String,
    /// Parameters with their values, as in `max_stop_ms=100`, and rules as they are
    /// written.
    pub decided_by: Vec<String>,
}

/// What is known of a process.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    pub pid: i64,
    /// How many decisions are remembered of all processes, and over what time.
    pub decisions: usize,
    pub span_ns: u64,
    pub sentences: Vec<Sentence>,
}

/// Explains a process of this host.
pub fn explain(host: &Host, pid: i64) -> Result<Explanation, Refusal> {
    let queues = host.queues()?;
    let known = Known {
        pid,
        nodes: host.stats()?.nodes,
        events: host.events()?.events,
        queues: queues.queues,
        left_out: queues.left_out,
        state: host.state()?,
    };
    known.explanation()
}

struct Known {
    pid: i64,
    nodes: Vec<Node>,
    events: Vec<Event>,
    queues: Vec<Queue>,
    left_out: Vec<LeftOut>,
    state: State,
}

impl Known {
    fn explanation(&self) -> Result<Explanation, Refusal> {
        let mut sentences = self.now();
        sentences.extend(self.suffered());
        sentences.extend(self.caused());
        if sentences.is_empty() {
            return Err(Refusal(format!(
                "process {} has no compute queue in view, and no remembered decision is about it: \
                 'gpreempt queues' lists who has some",
                self.pid
            )));
        }
        sentences.extend(self.around());
        let earliest = self.events.iter().map(|event| event.time_ns).min();
        let latest = self.events.iter().map(|event| event.time_ns).max();
        Ok(Explanation {
            pid: self.pid,
            decisions: self.events.len(),
            span_ns: latest.unwrap_or(0) - earliest.unwrap_or(0),
            sentences,
        })
    }

    /// Parameters with their values on the GPUs that the process has to do with.
    fn values(&self, names: &[&str]) -> Vec<String> {
        let queues = self.queues.iter().map(|queue| (queue.pid, &queue.gpu));
        let events = self.events.iter().map(|event| (event.pid, &event.gpu));
        let own = queues.chain(events).filter(|(pid, _)| *pid == self.pid);
        self.values_on(&own.map(|(_, gpu)| gpu.as_str()).collect(), names)
    }

    /// Parameters with their values on some GPUs.
    fn values_on(&self, gpus: &BTreeSet<&str>, names: &[&str]) -> Vec<String> {
        let own = |gpu: &str, name: &str| match name {
            "mode" => self.state.gpus.get(gpu)?.as_ref(),
            _ => None,
        };
        let mut all = Vec::new();
        for name in names {
            let value = self.state.parameters.get(*name);
            let shared = gpus.is_empty() || gpus.iter().any(|gpu| own(gpu, name).is_none());
            all.extend(
                value
                    .filter(|_| shared)
                    .map(|value| format!("{name}={value}")),
            );
            for gpu in gpus {
                let value = own(gpu, name);
                all.extend(value.map(|value| format!("{name}={value} on {gpu} alone")));
            }
        }
        all
    }

    /// The name of a process, where it still has a queue.
    fn named(&self, pid: i64) -> String {
        match self.queues.iter().find(|queue| queue.pid == pid) {
            Some(queue) => format!("{} ({pid})", queue.comm),
            None => format!("process {pid}"),
        }
    }

    /// The rule that a queue has.
    fn rule_of(&self, queue: &Queue) -> Option<&Rule> {
        let id = queue.rule?;
        let mut all = self.state.rules.iter().map(|known| &known.rule);
        all.find(|rule| u64::from(rule.id) == id)
    }

    /// What bounds the stopped time that a process may cause on a node: a rule that says so,
    /// else the parameter, which does not count for a priority that a rule gives.
    fn budget_of(&self, pid: i64, (gpu, node): (&str, u64)) -> Vec<String> {
        let is_own = |queue: &&Queue| queue.pid == pid && (&*queue.gpu, queue.node) == (gpu, node);
        let mut own = self.queues.iter().filter(is_own);
        let rule = own.find_map(|queue| self.rule_of(queue));
        match rule {
            Some(rule) if rule.effect.stop_budget.is_some() => vec![rule.to_string()],
            Some(rule) if rule.effect.priority.is_some() => Vec::new(),
            _ => self.values(&["stop_budget_ms"]),
        }
    }

    /// What bounds the stopped time of those for which a process was stopped until
    /// their budget was spent.
    fn spent_budgets(&self) -> Vec<String> {
        let of_budget = |event: &&Event| event.pid == self.pid && event.reason == "budget";
        let mut all: Vec<String> = Vec::new();
        for event in self.events.iter().filter(of_budget) {
            let whom = event.beneficiary.as_ref().map_or(0, |whom| whom.pid);
            all.extend(self.budget_of(whom, (&event.gpu, event.node)));
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Where a priority comes from.
    fn priority(&self, queue: &Queue) -> (String, Vec<String>) {
        let (own, effective) = (queue.prio, queue.eff_prio);
        if let Some(rule) = queue.rule {
            let text = self.rule_of(queue);
            let text = text.map_or_else(|| format!("rule {rule}"), Rule::to_string);
            return (
                format!("priority {effective} by rule {rule} (its own is {own})"),
                vec![text],
            );
        }
        match own == effective {
            true => (format!("priority {own}, its own"), Vec::new()),
            false => (
                format!("priority {effective} (its own is {own})"),
                self.values_on(&BTreeSet::from([queue.gpu.as_str()]), &["user_priority"]),
            ),
        }
    }

    /// What its queues do now.
    fn now(&self) -> Vec<Sentence> {
        let own = self.queues.iter().filter(|queue| queue.pid == self.pid);
        let left_out = self.left_out.iter().filter(|left| left.pid == self.pid);
        let mut all: Vec<Sentence> = own.map(|queue| self.state_of(queue)).collect();
        all.extend(left_out.map(|left| Sentence {
            text: format!(
                "On {}/{} {} of its {} queues are left alone for want of room: they are neither \
                 stopped nor waited for.",
                left.gpu, left.node, left.left_out, left.queues
            ),
            decided_by: Vec::new(),
        }));
        all
    }

    fn state_of(&self, queue: &Queue) -> Sentence {
        let (priority, mut decided_by) = self.priority(queue);
        let (does, names): (String, &[&str]) = match queue.state.as_str() {
            _ if !queue.contends => (
                "takes no part: a rule exempts it, it belongs to the runtime, or it cannot be \
                 stopped"
                    .to_owned(),
                &[],
            ),
            "idle" => ("has nothing to do".to_owned(), &[]),
            "running" => ("runs, or may be running".to_owned(), &[]),
            "waiting" => self.waits(queue),
            "stopped" => self.is_stopped(queue),
            "starting" => ("is about to be put back on the GPU".to_owned(), &[]),
            "held" => (
                "is kept off by something else: evicted memory, a debugger, a checkpoint or a reset"
                    .to_owned(),
                &[],
            ),
            other => (format!("is {other}"), &[]),
        };
        // Where a rule decides the budget, the parameter does not.
        let budget = self.budget_of(queue.pid, (&queue.gpu, queue.node));
        let counts =
            |value: &String| !value.starts_with("stop_budget_ms=") || budget.contains(value);
        let gpu = BTreeSet::from([queue.gpu.as_str()]);
        decided_by.extend(self.values_on(&gpu, names).into_iter().filter(counts));
        Sentence {
            text: format!(
                "Queue {} of {} on {}/{} {does}; it has {priority}, has run for {} and was \
                 stopped for {}.",
                queue.queue,
                queue.comm,
                queue.gpu,
                queue.node,
                duration(queue.run_ns),
                duration(queue.stopped_ns)
            ),
            decided_by,
        }
    }

    /// Behind whom a queue waits.
    fn waits(&self, queue: &Queue) -> (String, &'static [&'static str]) {
        let beside = |other: &&Queue| {
            other.gpu == queue.gpu
                && other.node == queue.node
                && other.state == "running"
                && other.pid != queue.pid
        };
        let running: Vec<&Queue> = self.queues.iter().filter(beside).collect();
        let above = running.iter().max_by_key(|other| other.eff_prio);
        match above {
            Some(other) if other.eff_prio > queue.eff_prio => (
                format!(
                    "waits behind {} (priority {}), which may keep the GPU",
                    self.named(other.pid),
                    other.eff_prio
                ),
                &[],
            ),
            Some(other) if other.eff_prio == queue.eff_prio => (
                format!(
                    "waits beside {} of the same priority",
                    self.named(other.pid)
                ),
                &["timeslice_us"],
            ),
            Some(other) => (
                format!(
                    "waits while {} of lower priority {} runs, and a stop for it is due",
                    self.named(other.pid),
                    other.eff_prio
                ),
                &[
                    "mode",
                    "grace_us",
                    "min_run_us",
                    "rule_overhead_percent",
                    "claim_overhead_percent",
                    "stop_budget_ms",
                ],
            ),
            None => ("waits, and no other process is seen to run".to_owned(), &[]),
        }
    }

    /// Why a stopped queue is stopped, by its last stop.
    fn is_stopped(&self, queue: &Queue) -> (String, &'static [&'static str]) {
        let of_it = |event: &&Event| {
            event.pid == queue.pid
                && event.queue == queue.queue
                && event.gpu == queue.gpu
                && event.node == queue.node
                && event.action == "stop"
        };
        let last = self.events.iter().filter(of_it);
        let Some(last) = last.max_by_key(|event| event.time_ns) else {
            return (
                "is stopped, by a decision that is no longer remembered".to_owned(),
                &["max_stop_ms"],
            );
        };
        let whom = last.beneficiary.as_ref();
        let whom = whom.map_or(String::new(), |whom| {
            format!(", for {}", self.named(whom.pid))
        });
        let (why, names) = cause(&last.reason);
        let verb = match last.fate.as_str() {
            "observed" => "would be stopped if the mode were enforce",
            _ => "is stopped",
        };
        (format!("{verb}{whom}, because {why}"), names)
    }

    /// What was decided about it, by what, why and for whom.
    fn suffered(&self) -> Vec<Sentence> {
        let mut kinds: BTreeMap<(&str, &str, &str, Option<i64>), Vec<u64>> = BTreeMap::new();
        for event in self.events.iter().filter(|event| event.pid == self.pid) {
            let whom = event.beneficiary.as_ref().map(|whom| whom.pid);
            let whom = whom.filter(|_| event.action == "stop");
            let kind = (
                event.action.as_str(),
                event.reason.as_str(),
                event.fate.as_str(),
                whom,
            );
            kinds.entry(kind).or_default().push(event.age_ns);
        }
        // Stops come first.
        let sentence = |((action, reason, fate, whom), ages): (_, Vec<u64>)| {
            self.decided((action, reason, fate), whom, ages)
        };
        kinds.into_iter().rev().map(sentence).collect()
    }

    fn decided(
        &self,
        (action, reason, fate): (&str, &str, &str),
        whom: Option<i64>,
        mut ages: Vec<u64>,
    ) -> Sentence {
        ages.sort_unstable();
        let middle = duration(ages.get(ages.len() / 2).copied().unwrap_or(0));
        let (why, names) = cause(reason);
        let done = match (action, fate) {
            ("stop", "done") => "It was stopped",
            ("stop", "observed") => "It would have been stopped, if the mode were enforce,",
            ("stop", "failed") => "It could not be stopped",
            ("stop", _) => "It was to be stopped, but there was nothing to do,",
            (_, "done") => "It was started again",
            (_, "observed") => "It would have been started again",
            (_, "failed") => "It could not be started",
            (_, _) => "It was to be started, but there was nothing to do,",
        };
        let whom = whom.map_or(String::new(), |pid| format!(" for {}", self.named(pid)));
        let age = match action {
            "stop" => format!("which had then lasted {middle} (median)"),
            _ => format!("after {middle} (median)"),
        };
        let mut decided_by = match reason {
            "budget" => self.spent_budgets(),
            _ => self.values(names),
        };
        if ["inversion", "exempt"].contains(&reason) {
            decided_by.extend(self.rules_of(self.pid));
        }
        Sentence {
            text: format!(
                "{done} {}{whom} because {why} ({reason}), {age}.",
                times(ages.len())
            ),
            decided_by,
        }
    }

    /// The rules that queues of a process have now.
    fn rules_of(&self, pid: i64) -> Vec<String> {
        let own = self.queues.iter().filter(|queue| queue.pid == pid);
        let mut rules: Vec<u64> = own.filter_map(|queue| queue.rule).collect();
        rules.sort_unstable();
        rules.dedup();
        let known = |id: u64| {
            let mut all = self.state.rules.iter();
            let of_it = all.find(|known| u64::from(known.rule.id) == id)?;
            Some(of_it.rule.to_string())
        };
        rules.into_iter().filter_map(known).collect()
    }

    /// Who was stopped for it.
    fn caused(&self) -> Vec<Sentence> {
        let mut victims: BTreeMap<(i64, &str, &str), usize> = BTreeMap::new();
        for event in self.events.iter().filter(|event| event.action == "stop") {
            let whom = event.beneficiary.as_ref().map(|whom| whom.pid);
            if whom == Some(self.pid) && event.pid != self.pid {
                let kind = (event.pid, event.reason.as_str(), event.fate.as_str());
                *victims.entry(kind).or_default() += 1;
            }
        }
        let sentence = |((pid, reason, fate), count): ((i64, &str, &str), usize)| {
            let was = match fate {
                "observed" => "would have been stopped",
                "done" => "was stopped",
                _ => "was to be stopped",
            };
            let mut decided_by = self.values(cause(reason).1);
            decided_by.extend(self.rules_of(self.pid));
            Sentence {
                text: format!(
                    "{} {was} for it {} ({reason}).",
                    self.named(pid),
                    times(count)
                ),
                decided_by,
            }
        };
        victims.into_iter().map(sentence).collect()
    }

    /// What holds for every process of its nodes.
    fn around(&self) -> Vec<Sentence> {
        let own = |node: &&Node| {
            let here = |gpu: &str, number: u64| gpu == node.gpu && number == node.node;
            let has = |queue: &Queue| queue.pid == self.pid && here(&queue.gpu, queue.node);
            self.queues.iter().any(has)
        };
        let mut all = Vec::new();
        for node in self.nodes.iter().filter(own) {
            let mut say = |text: String, decided_by| all.push(Sentence { text, decided_by });
            if node.state != "armed" {
                let why = node.refusal.as_ref().or(node.last_failure.as_ref());
                let why = why.map_or(String::new(), |why| format!(" ({why})"));
                say(
                    format!(
                        "{} node {} is {}{why}, so that nothing is stopped there.",
                        node.gpu, node.node, node.state
                    ),
                    Vec::new(),
                );
            }
            if node.mode != "enforce" {
                say(
                    format!(
                        "In the mode {} nothing is stopped on {} node {}.",
                        node.mode, node.gpu, node.node
                    ),
                    vec![format!("mode={}", node.mode)],
                );
            }
        }
        all
    }
}
