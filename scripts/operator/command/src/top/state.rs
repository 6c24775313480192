// SPDX-License-Identifier: GPL-2.0-only
//! What the view knows and how looks change it. Nothing is read or written here.

use std::collections::BTreeMap;
use std::time::Duration;

use gpreempt_operator::host::tables::{Node, ShownRule};
use gpreempt_operator::host::tree::Refusal;

use super::draft::Draft;
use super::latency::History;
use super::layout::{layout, Layout};
use super::look::Look;
use super::question::Change;
use super::rows::{self, Column, Row, Sort};
use super::spent::{Accounts, Key};
use super::text::wrapped;
use crate::clean::clean;

/// What the table lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    Queues,
    Processes,
    Rules,
}

/// What keys are for at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    Table,
    Filter,
    Help,
    Modes,
    Draft(Draft),
    /// A change, and the question that was asked.
    Question(Change, String),
}

/// A line of the table, by what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Id {
    Row(Key),
    Rule(u32),
}

pub struct State {
    pub view: View,
    pub entry: Entry,
    pub sort: Sort,
    pub filter: String,
    /// The lines that the filter leaves, in order; the rules in the view of rules.
    pub rows: Vec<Row>,
    pub rules: Vec<ShownRule>,
    /// Which line is selected, and which is the first that is seen.
    pub selected: usize,
    pub first: usize,
    /// What was selected by hand, so that it is followed.
    followed: Option<Id>,
    pub look: Option<Look>,
    /// Why the last look was not possible.
    pub failure: Option<String>,
    accounts: Accounts,
    pub histories: BTreeMap<(String, u64), History>,
    pub message: Option<String>,
    pub paused: bool,
    pub interval: Duration,
    /// Columns and lines of the terminal.
    pub size: (u16, u16),
    /// The time since the view was opened, by which everything else is measured.
    pub now: Duration,
    looked: Option<Duration>,
    asked: Option<Duration>,
}

/// The intervals that the keys go through, in milliseconds. A look waits for a pass of
/// each node and delays the next, so that there is a least one.
pub const INTERVALS: [u64; 9] = [100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000];
/// How much longer than the interval a look may take before that is said.
const PATIENCE: Duration = Duration::from_secs(3);

impl State {
    pub fn new(interval: Duration, size: (u16, u16)) -> State {
        State {
            view: View::Queues,
            entry: Entry::Table,
            sort: Sort::by(Column::Priority),
            filter: String::new(),
            rows: Vec::new(),
            rules: Vec::new(),
            selected: 0,
            first: 0,
            followed: None,
            look: None,
            failure: None,
            accounts: Accounts::default(),
            histories: BTreeMap::new(),
            message: None,
            paused: false,
            interval: interval.max(Duration::from_millis(INTERVALS[0])),
            size,
            now: Duration::ZERO,
            looked: None,
            asked: None,
        }
    }

    /// Whether it is time for a look, which is then taken to be under way.
    pub fn is_due(&mut self) -> bool {
        let next = self
            .looked
            .map_or(Duration::ZERO, |last| last + self.interval);
        let due = self.asked.is_none() && !self.paused && self.now >= next;
        if due {
            self.asked = Some(self.now);
        }
        due
    }

    /// Has the next look be due at once, also in a pause.
    pub fn ask(&mut self) {
        self.asked.get_or_insert(self.now);
    }

    /// For how long a look has been under way, where that is strange.
    pub fn unanswered(&self) -> Option<Duration> {
        let taken = self.now.saturating_sub(self.asked?);
        (taken > self.interval.min(PATIENCE) + PATIENCE).then_some(taken)
    }

    /// Takes in what a look has found.
    pub fn take(&mut self, found: Result<Look, Refusal>) {
        let whole = self
            .looked
            .map_or(Duration::ZERO, |last| self.now.saturating_sub(last));
        self.asked = None;
        self.looked = Some(self.now);
        match found {
            Ok(look) => {
                self.remember(&look, whole);
                let mut news = Vec::new();
                if self.failure.take().is_some() {
                    news.push("the module can be read again".to_owned());
                }
                let before = self.look.as_ref().map(|look| &look.lacks);
                if before != Some(&look.lacks) {
                    news.extend(look.lacks.as_deref().map(clean));
                }
                if !news.is_empty() {
                    self.message = Some(news.join("; "));
                }
                self.look = Some(look);
            }
            Err(refusal) => {
                // What was seen before is no longer so.
                self.failure = Some(clean(&refusal.0));
                self.look = None;
                self.accounts = Accounts::default();
                self.histories.clear();
            }
        }
        self.refresh();
    }

    fn remember(&mut self, look: &Look, whole: Duration) {
        let nanos = u64::try_from(whole.as_nanos()).unwrap_or(u64::MAX);
        self.accounts.take(&look.queues, nanos);
        let mut histories = BTreeMap::new();
        for node in &look.nodes {
            let key = (node.gpu.clone(), node.node);
            let own = |other: &&_| matches_node(node, other);
            let mut history = self.histories.remove(&key).unwrap_or_default();
            history.take(self.now, whole, node, look.latencies.iter().find(own));
            histories.insert(key, history);
        }
        self.histories = histories;
    }

    /// What became of a change.
    pub fn changed(&mut self, change: &Change, result: Result<(), Refusal>) {
        self.message = Some(match result {
            Ok(()) => format!("written: '{}' to {}", change.words(), change.file()),
            Err(refusal) => format!("refused: {}", clean(&refusal.0)),
        });
        self.refresh();
    }

    /// Makes the lines of the table anew, and keeps the selected one selected.
    pub fn refresh(&mut self) {
        let none = Look::default();
        let look = self.look.as_ref().unwrap_or(&none);
        self.rows = match self.view {
            View::Queues => rows::queues(look, &self.accounts),
            View::Processes => rows::processes(look, &self.accounts),
            View::Rules => Vec::new(),
        };
        self.rows.retain(|row| row.matches(&self.filter));
        self.sort.apply(&mut self.rows);
        self.rules = match self.view {
            View::Rules => look.rules.clone(),
            View::Queues | View::Processes => Vec::new(),
        };
        let filter = self.filter.to_lowercase();
        self.rules.retain(|rule| {
            let text = rule.text.to_lowercase();
            filter.split_whitespace().all(|word| text.contains(word))
        });
        self.rules.sort_by_key(|rule| rule.id);
        let followed = self.followed.clone();
        let at =
            followed.and_then(|id| (0..self.lines()).find(|at| self.id(*at).as_ref() == Some(&id)));
        match (at, &self.followed) {
            (Some(at), _) => self.selected = at,
            (None, None) => self.selected = 0,
            (None, Some(_)) => {}
        }
        self.settle();
    }

    /// How many lines the table has.
    pub fn lines(&self) -> usize {
        match self.view {
            View::Queues | View::Processes => self.rows.len(),
            View::Rules => self.rules.len(),
        }
    }

    fn id(&self, line: usize) -> Option<Id> {
        match self.view {
            View::Queues | View::Processes => {
                self.rows.get(line).map(|row| Id::Row(row.key.clone()))
            }
            View::Rules => self.rules.get(line).map(|rule| Id::Rule(rule.id)),
        }
    }

    /// The selected queue or process.
    pub fn row(&self) -> Option<&Row> {
        self.rows.get(self.selected)
    }

    /// Selects a line, or the nearest that there is.
    pub fn select(&mut self, line: usize) {
        self.selected = line.min(self.lines().saturating_sub(1));
        self.followed = self.id(self.selected);
        self.settle();
    }

    /// Selects the first line, whatever comes to be there.
    pub fn select_first(&mut self) {
        self.selected = 0;
        self.followed = None;
        self.settle();
    }

    /// Sees to it that the selected line is there and seen.
    pub fn settle(&mut self) {
        self.selected = self.selected.min(self.lines().saturating_sub(1));
        let page = self.page();
        self.first = self.first.min(self.lines().saturating_sub(page));
        if self.selected < self.first {
            self.first = self.selected;
        }
        if self.selected >= self.first + page {
            self.first = self.selected + 1 - page;
        }
    }

    /// How many lines of the table are seen at a time.
    pub fn page(&self) -> usize {
        usize::from(self.layout().body).max(1)
    }

    pub fn layout(&self) -> Layout {
        let nodes = self.look.as_ref().map_or(0, |look| match look.nodes.len() {
            // That there is none is said.
            0 => 1,
            nodes => {
                1 + nodes
                    + look
                        .nodes
                        .iter()
                        .filter(|node| trouble(node).is_some())
                        .count()
            }
        });
        let foot = match self.entry {
            Entry::Help => 1,
            _ => self.foot().len(),
        };
        layout(self.size.1, foot, nodes)
    }

    /// The last lines: a question, an entry, a message, or what the keys do.
    pub fn foot(&self) -> Vec<String> {
        let columns = usize::from(self.size.0);
        match &self.entry {
            Entry::Question(_, question) => wrapped(question, columns),
            Entry::Filter => wrapped(
                &format!(
                    "filter: {}_  (Enter keeps it, Esc clears it)",
                    clean(&self.filter)
                ),
                columns,
            ),
            Entry::Modes => wrapped(
                "Which mode?  1 off  2 observe  3 enforce  (Esc: as it is)",
                columns,
            ),
            Entry::Draft(draft) => wrapped(&draft_line(draft), columns),
            Entry::Table | Entry::Help => match &self.message {
                Some(message) => wrapped(message, columns),
                None => vec![self.keys()],
            },
        }
    }

    fn keys(&self) -> String {
        let keys = "q:quit ?:help Tab:processes /:filter a:add d:delete r:rules m:mode p:pause";
        let keys = match self.view {
            View::Queues => keys.to_owned(),
            View::Processes => keys.replace("processes", "queues"),
            View::Rules => "q:quit ?:help r:back /:filter d:delete m:mode p:pause".to_owned(),
        };
        match self.filter.is_empty() {
            true => keys,
            false => format!(
                "filter '{}': {} lines, Esc clears it  {keys}",
                clean(&self.filter),
                self.lines()
            ),
        }
    }

    /// Whether the whole question can be read.
    pub fn question_fits(&self) -> bool {
        let lines = self.foot().len();
        lines > 0 && lines <= usize::from(self.size.1)
    }
}

fn draft_line(draft: &Draft) -> String {
    let says = match draft.rule() {
        Ok(_) => "Enter asks".to_owned(),
        Err(error) => error,
    };
    format!(
        "rule: {}_  ({says}; Tab: pid, comm, cgroup; Up: prio, exempt; Esc: none)",
        draft.text
    )
}

fn matches_node(node: &Node, latencies: &gpreempt_operator::host::tables::NodeLatencies) -> bool {
    (&node.gpu, node.node) == (&latencies.gpu, latencies.node)
}

/// What is wrong with a node.
pub fn trouble(node: &Node) -> Option<String> {
    let there = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let last = there(&node.last_failure);
    let text = match (there(&node.refusal), last) {
        (Some(refusal), _) => format!("refused: {refusal}"),
        (None, Some(failure)) if node.state == "disarmed" => {
            format!("'gpreempt status' says how to arm it; last failure: {failure}")
        }
        (None, Some(failure)) => format!("last failure: {failure}"),
        (None, None) if node.state == "disarmed" => "'gpreempt status' says how to arm it".into(),
        (None, None) => return None,
    };
    Some(clean(&text))
}
