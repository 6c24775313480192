// SPDX-License-Identifier: GPL-2.0-only

//! The operator's rules: which processes are urgent, and which are left alone.

#![forbid(unsafe_code)]

use crate::{
    driver::process::{Identity, Program, COMM_LEN},
    kernel::{cgroup::Cgroup, compat::*, wake},
};
use gpreempt_policy::{
    unescaped, NodeName, Priority, RuleEffect, RuleText, SetError, Subject, LEVELS,
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{Acquire, Atomic, Relaxed, Release},
        Mutex, MutexGuard,
    },
};

/// The most rules that there may be.
pub const MOST_RULES: usize = 256;

/// Which processes a rule is for.
enum Matches {
    Program(Program),
    Comm([u8; COMM_LEN]),
    Cgroup(Cgroup),
}

/// A rule.
struct Rule {
    /// Of several that match, the one of the lowest number counts.
    id: u32,
    effect: RuleEffect,
    matches: Matches,
    /// The only node on which it counts: the GPU's address, and the node's number in it.
    node: Option<(KVec<u8>, u32)>,
    /// As it was written.
    text: KVec<u8>,
}

impl Rule {
    fn node(&self) -> Option<NodeName<'_>> {
        let (gpu, index) = self.node.as_ref()?;
        let gpu = core::str::from_utf8(gpu).ok()?;
        Some(NodeName { gpu, index: *index })
    }

    fn counts_on(&self, node: NodeName<'_>) -> bool {
        self.node.is_none() || self.node() == Some(node)
    }

    fn is_for(&self, identity: &Identity) -> bool {
        match &self.matches {
            Matches::Program(program) => identity.program == *program && program.has_its_pid(),
            Matches::Comm(comm) => identity.comm == *comm,
            Matches::Cgroup(cgroup) => identity
                .cgroup
                .as_ref()
                .is_some_and(|other| cgroup.alive() && cgroup.holds(other)),
        }
    }

    /// The process that it is for is gone, and with it the rule.
    fn is_over(&self) -> bool {
        match &self.matches {
            Matches::Program(program) => !program.has_its_pid(),
            Matches::Comm(_) | Matches::Cgroup(_) => false,
        }
    }
}

/// What a rule is, for a table to read.
pub struct RuleView<'a> {
    /// Its number.
    pub id: u32,
    /// What it does.
    pub effect: &'a RuleEffect,
    /// As it was written.
    pub text: &'a str,
    /// The only node on which it counts.
    pub node: Option<NodeName<'a>>,
    /// The number of its cgroup, if it is for one.
    pub cgroup: Option<u64>,
    /// Its cgroup has been removed, so that it matches nothing any more.
    pub dead: bool,
}

/// The rule that counts for a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched {
    /// Its number.
    pub id: u32,
    /// What it does.
    pub effect: RuleEffect,
}

/// All rules, in the order of their numbers.
#[pin_data]
pub struct Rules {
    #[pin]
    rules: Mutex<KVec<Rule>>,
    /// The highest level that any of them gives, or more than there are. It is the same for
    /// all nodes, whatever rules count there: where an administrator says who is urgent, nobody
    /// is to claim more anywhere.
    highest: Atomic<u32>,
    /// Changes with the rules, after that.
    generation: Atomic<u32>,
}

/// What stands for no level at all.
const NO_LEVEL: u32 = LEVELS as u32;

impl Rules {
    /// No rules.
    pub fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            rules <- kernel::new_mutex!(KVec::new(), "amd_gpreempt_rules"),
            highest: Atomic::new(NO_LEVEL),
            generation: Atomic::new(1),
        })
    }

    /// Changes with the rules. Read it before anything else of them: what is of a later
    /// generation is then only found out once more.
    pub fn generation(&self) -> u32 {
        self.generation.load(Acquire)
    }

    /// The highest level that any rule gives.
    pub fn highest(&self) -> Option<Priority> {
        Priority::new(self.highest.load(Relaxed))
    }

    /// Adds a rule; one with the same number is replaced. Says in the log why
    /// one is refused.
    pub fn add(&self, text: &str) -> Result {
        let refuse = |error: SetError| {
            pr_err!("rule '{}' refused: {}\n", text.trim(), Plain(error));
            EINVAL
        };
        let parsed = RuleText::parse(text).map_err(refuse)?;
        let rule = Rule {
            id: parsed.id,
            effect: parsed.effect,
            matches: matches(&parsed.subject, text.trim())?,
            node: match parsed.node {
                Some(node) => Some((bytes(node.gpu.bytes())?, node.index)),
                None => None,
            },
            text: bytes(text.trim().bytes())?,
        };
        let mut rules = self.rules.lock();
        // Those that are over take nobody's place.
        self.sweep(&mut rules);
        match rules.binary_search_by_key(&rule.id, |rule| rule.id) {
            Ok(at) => {
                if let Some(place) = rules.get_mut(at) {
                    *place = rule;
                }
            }
            Err(_) if rules.len() >= MOST_RULES => {
                pr_err!(
                    "rule '{}' refused: there are {} already\n",
                    text.trim(),
                    MOST_RULES
                );
                return Err(ENOSPC);
            }
            Err(at) => {
                rules.reserve(1, GFP_KERNEL)?;
                let _ = rules.insert_within_capacity(at, rule);
            }
        }
        self.change(rules);
        Ok(())
    }

    /// Deletes the rule with a number.
    pub fn del(&self, text: &str) -> Result {
        let text = text.trim();
        let id: u32 = text.parse().map_err(|_| {
            pr_err!("'{}' is not the number of a rule\n", text);
            EINVAL
        })?;
        // One that is over can still be deleted, by who does not know that it is.
        let mut rules = self.rules.lock();
        let Ok(at) = rules.binary_search_by_key(&id, |rule| rule.id) else {
            pr_err!("there is no rule {}\n", text);
            return Err(ENOENT);
        };
        let removed = rules.remove(at);
        self.change(rules);
        drop(removed);
        Ok(())
    }

    /// Drops the rules of processes that are gone. Queues can outlive theirs, in a context
    /// whose file another process has, so whoever has found such a rule looks again.
    fn sweep(&self, rules: &mut KVec<Rule>) {
        let before = rules.len();
        rules.retain(|rule| !rule.is_over());
        if rules.len() != before {
            self.publish(rules);
        }
    }

    /// Has everybody look at changed rules.
    fn change(&self, rules: MutexGuard<'_, KVec<Rule>>) {
        self.publish(&rules);
        drop(rules);
        wake::all();
    }

    /// Makes a change known. The lock is held until its generation counts.
    fn publish(&self, rules: &[Rule]) {
        let levels = rules.iter().filter_map(|rule| rule.effect.priority);
        let highest = levels.max().map_or(NO_LEVEL, |level| level.level().into());
        self.highest.store(highest, Relaxed);
        self.generation.fetch_add(1, Release);
    }

    /// The rule of the lowest number that is for a process on a node.
    pub fn find(&self, identity: &Identity, node: NodeName<'_>) -> Option<Matched> {
        let rules = self.rules.lock();
        let mut there = rules.iter().filter(|rule| rule.counts_on(node));
        let found = there.find(|rule| rule.is_for(identity))?;
        Some(Matched {
            id: found.id,
            effect: found.effect,
        })
    }

    /// Calls a function for each rule, in order.
    ///
    /// The rule of a process that is gone matches nobody any more, so that it is enough
    /// that nobody sees it: it goes when the rules are looked at or one is added.
    pub fn each(&self, mut f: impl FnMut(RuleView<'_>)) {
        let mut rules = self.rules.lock();
        self.sweep(&mut rules);
        for rule in rules.iter() {
            let cgroup = match &rule.matches {
                Matches::Cgroup(cgroup) => Some(cgroup),
                Matches::Program(_) | Matches::Comm(_) => None,
            };
            f(RuleView {
                id: rule.id,
                effect: &rule.effect,
                text: core::str::from_utf8(&rule.text).unwrap_or("?"),
                node: rule.node(),
                cgroup: cgroup.map(Cgroup::number),
                dead: cgroup.is_some_and(|cgroup| !cgroup.alive()),
            });
        }
    }
}

/// Looks up what a rule matches.
fn matches(subject: &Subject<'_>, text: &str) -> Result<Matches> {
    Ok(match subject {
        Subject::Pid(pid) => {
            let program = Program::with_pid(*pid).ok_or_else(|| {
                pr_err!("rule '{}' refused: there is no process {}\n", text, pid);
                ESRCH
            })?;
            Matches::Program(program)
        }
        Subject::Comm(name) => {
            let mut comm = [0; COMM_LEN];
            for (to, from) in comm.iter_mut().zip(unescaped(name).map_err(|_| EINVAL)?) {
                *to = from;
            }
            Matches::Comm(comm)
        }
        Subject::Cgroup(path) => {
            let mut path = bytes(unescaped(path).map_err(|_| EINVAL)?)?;
            path.push(0, GFP_KERNEL)?;
            let path = CStr::from_bytes_with_nul(&path).map_err(|_| EINVAL)?;
            let cgroup = Cgroup::find(path).inspect_err(|_| {
                pr_err!(
                    "rule refused: there is no cgroup {}\n",
                    path.to_str().unwrap_or("?")
                );
            })?;
            Matches::Cgroup(cgroup)
        }
    })
}

/// The bytes of an iterator.
fn bytes(from: impl Iterator<Item = u8>) -> Result<KVec<u8>> {
    let mut all = KVec::new();
    for byte in from {
        all.push(byte, GFP_KERNEL)?;
    }
    Ok(all)
}
