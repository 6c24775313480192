// SPDX-License-Identifier: GPL-2.0-only
//! The rules of the kernel that rules with names stand for, now and as what is named
//! comes and goes.
//!
//! A rule for containers may be for several cgroups, and the kernel's rules have one
//! each. They get numbers of their own: from the number of the rule in the file up to
//! the next rule's, so that they come before and after the same rules as that one. A
//! cgroup keeps its number as long as it is there.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use crate::act::apply::{differences, make};
use crate::act::resolve::{Answer, Finder};
use crate::act::typed::add_all;
use crate::configuration::config::{Config, PLACE};
use crate::configuration::noted::{applied, given, note_given, Given};
use crate::host::tree::{Host, Refusal};
use crate::module::difference::Difference;
use crate::module::kernel::{InForce, Kernel, State};
use crate::words::names::Name;
use crate::words::rule::{Rule, Subject, MOST_RULES};

/// What becomes of other rules that have the numbers of those that are to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others<'g> {
    /// They are replaced, as by everything that is applied.
    Give,
    /// They stay, and their numbers are not taken. Others are all that were not added
    /// for names.
    Stay(&'g Given),
}

impl Others<'_> {
    fn are_kept(&self, rule: &Rule) -> bool {
        match self {
            Others::Give => false,
            Others::Stay(given) => !given.contains(&rule.to_string()),
        }
    }
}

/// A rule with a name that waits for something, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub rule: Rule,
    pub why: String,
}

impl std::fmt::Display for Waiting {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "rule '{}' waits: {}", self.rule, self.why)
    }
}

/// A rule with a name, and the numbers that it may give to rules of the kernel.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) rule: Rule,
    name: Name,
    pub(crate) last: u32,
}

impl Block {
    /// Whether a rule of the kernel may be one that this one stands for: it does the
    /// same, for a cgroup, and has one of the numbers.
    pub(crate) fn has(&self, rule: &Rule) -> bool {
        (self.rule.id..=self.last).contains(&rule.id)
            && matches!(rule.subject, Subject::Cgroup(_))
            && (&self.rule.node, &self.rule.effect) == (&rule.node, &rule.effect)
    }

    fn with(&self, id: u32, path: &[u8]) -> Rule {
        Rule {
            id,
            subject: Subject::Cgroup(path.to_vec()),
            ..self.rule.clone()
        }
    }

    /// Rules for these cgroups, at most so many. Those that are in force stay, and the
    /// others get the lowest numbers that are left.
    fn spread(&self, paths: &[Vec<u8>], now: &State, others: Others<'_>, most: usize) -> Vec<Rule> {
        let mut rules: Vec<Rule> = Vec::new();
        let mut taken = BTreeSet::new();
        for InForce { rule, dead } in &now.rules {
            let Subject::Cgroup(path) = &rule.subject else {
                continue;
            };
            let is_there = rules.iter().any(|one| one.subject == rule.subject);
            if self.has(rule) && !dead && paths.contains(path) && !is_there && rules.len() < most {
                taken.insert(rule.id);
                rules.push(rule.clone());
            }
        }
        if others != Others::Give {
            let is_foreign = |rule: &Rule| !self.has(rule) || others.are_kept(rule);
            let foreign = now.rules.iter().filter(|one| is_foreign(&one.rule));
            taken.extend(foreign.map(|one| one.rule.id));
        }
        let mut free = (self.rule.id..=self.last).filter(|id| !taken.contains(id));
        for path in paths {
            let subject = Subject::Cgroup(path.clone());
            if rules.len() >= most || rules.iter().any(|one| one.subject == subject) {
                continue;
            }
            let Some(id) = free.next() else { break };
            rules.push(self.with(id, path));
        }
        rules.sort_by_key(|rule| rule.id);
        rules
    }
}

/// A configuration as the kernel would have it at this moment.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Without names.
    pub config: Config,
    pub waiting: Vec<Waiting>,
    pub(crate) blocks: Vec<Block>,
}

impl Resolved {
    pub fn new(
        config: &Config,
        now: &State,
        others: Others<'_>,
        find: &mut dyn FnMut(&Name) -> Answer,
    ) -> Resolved {
        let blocks = blocks(&config.rules);
        let mut plain = config.clone();
        plain
            .rules
            .retain(|rule| !matches!(rule.subject, Subject::Named(_)));
        let mut resolved = Resolved {
            config: plain,
            waiting: Vec::new(),
            blocks,
        };
        let foreign = now
            .rules
            .iter()
            .filter(|one| resolved.origin(&one.rule).is_none() || others.are_kept(&one.rule));
        let mut room = MOST_RULES.saturating_sub(match others {
            Others::Give => resolved.config.rules.len(),
            Others::Stay(_) => foreign.count(),
        });
        for block in &resolved.blocks {
            let (paths, why) = match find(&block.name) {
                Answer::Paths(paths) => (paths, None),
                Answer::Nothing(why) => (Vec::new(), Some(why)),
                Answer::Partly {
                    mut paths,
                    unknown,
                    why,
                } => {
                    let kept = in_force(block, now).into_iter();
                    paths.extend(kept.filter(|path| unknown.contains(path)));
                    (paths, Some(why))
                }
                // What is in force is better than nothing.
                Answer::Unknown(why) => (in_force(block, now), Some(why)),
            };
            let rules = block.spread(&paths, now, others, room);
            let why =
                why.or_else(|| left_over(block, paths.len() - rules.len(), room, rules.len()));
            resolved.waiting.extend(why.map(|why| Waiting {
                rule: block.rule.clone(),
                why,
            }));
            // One that somebody has typed may do for this one, and was counted above.
            room = room.saturating_sub(rules.len());
            resolved.config.rules.extend(rules);
        }
        resolved.config.rules.sort_by_key(|rule| rule.id);
        resolved
    }

    /// The rule with a name that a rule of the kernel may stand for.
    pub fn origin(&self, rule: &Rule) -> Option<&Rule> {
        let mut blocks = self.blocks.iter();
        blocks
            .find(|block| block.has(rule))
            .map(|block| &block.rule)
    }

    /// The rules of the kernel that stand for names.
    pub fn given(&self) -> Given {
        let all = self.config.rules.iter();
        let own = all.filter(|rule| self.origin(rule).is_some());
        own.map(Rule::to_string).collect()
    }

    /// The rule with a name to which a difference is due, where it is due to nothing
    /// else and only what was added for a name has to go.
    pub(crate) fn cause(&self, difference: &Difference, given: &Given) -> Option<&Rule> {
        match difference {
            Difference::Rule { wanted, now } => {
                let origin = self.origin(wanted)?;
                let same = |now: &InForce| {
                    self.origin(&now.rule) == Some(origin) && given.contains(&now.rule.to_string())
                };
                now.as_ref().is_none_or(same).then_some(origin)
            }
            Difference::Extra(rule) if given.contains(&rule.to_string()) => self.origin(rule),
            _ => None,
        }
    }
}

/// Why not all cgroups have rules.
fn left_over(block: &Block, without: usize, room: usize, with: usize) -> Option<String> {
    if without == 0 {
        return None;
    }
    Some(match room == with {
        true => format!("there can be {MOST_RULES} rules, and {without} more are needed"),
        false => format!(
            "{without} more cgroups have that name than the numbers {} to {} allow: \
             give the next rule a higher number",
            block.rule.id, block.last
        ),
    })
}

/// The cgroups for which a rule is in force now.
fn in_force(block: &Block, now: &State) -> Vec<Vec<u8>> {
    let own = now.rules.iter().filter(|one| !one.dead);
    let own = own.filter(|one| block.has(&one.rule));
    own.filter_map(|one| path(&one.rule)).collect()
}

/// The cgroup for which a rule is.
fn path(rule: &Rule) -> Option<Vec<u8>> {
    match &rule.subject {
        Subject::Cgroup(path) => Some(path.clone()),
        _ => None,
    }
}

/// The rules with names, each with the numbers up to the next rule's. `rules` are in
/// the order of their numbers.
pub(crate) fn blocks(rules: &[Rule]) -> Vec<Block> {
    let most = u32::try_from(MOST_RULES).unwrap_or(u32::MAX);
    let block = |(place, rule): (usize, &Rule)| {
        let Subject::Named(name) = &rule.subject else {
            return None;
        };
        let next = rules.get(place + 1).map(|next| next.id - 1);
        let last = rule.id.saturating_add(most - 1);
        Some(Block {
            rule: rule.clone(),
            name: name.clone(),
            last: match name.is_for_several() {
                true => next.map_or(last, |next| next.min(last)),
                false => rule.id,
            },
        })
    };
    rules.iter().enumerate().filter_map(block).collect()
}

/// What has the name for which a rule is in force, as it was applied.
pub struct Names {
    blocks: Vec<Block>,
    given: Given,
}

impl Names {
    pub fn applied(host: &Host) -> Names {
        Names {
            blocks: blocks(&applied(host).unwrap_or_default().rules),
            given: given(host).unwrap_or_default(),
        }
    }

    /// The numbers that each may give to rules of the kernel.
    pub fn numbers(&self) -> Vec<RangeInclusive<u32>> {
        let blocks = self.blocks.iter();
        blocks.map(|block| block.rule.id..=block.last).collect()
    }

    pub fn of(&self, rule: &Rule) -> Option<String> {
        let own = self.given.contains(&rule.to_string());
        let block = self.blocks.iter().find(|block| own && block.has(rule))?;
        Some(block.name.to_string())
    }
}

/// What the names of a configuration stand for.
pub struct Found(BTreeMap<Name, Answer>);

impl Found {
    /// What the names stand for that are followed.
    pub fn followed(host: &Host) -> Result<Found, Refusal> {
        Ok(Found::new(host, &applied(host)?))
    }

    pub fn new(host: &Host, config: &Config) -> Found {
        let mut finder = Finder::new(host);
        let blocks = blocks(&config.rules).into_iter();
        Found(
            blocks
                .map(|block| (block.name.clone(), finder.find(&block.name)))
                .collect(),
        )
    }

    /// What they stood for when they were last followed.
    pub fn noted(host: &Host, config: &Config) -> Result<Found, Refusal> {
        let given = given(host)?;
        let rules: Vec<Rule> = given
            .iter()
            .filter_map(|one| Rule::parse(one).ok())
            .collect();
        let blocks = blocks(&config.rules).into_iter();
        let answer = |block: &Block| {
            let own = rules.iter().filter(|rule| block.has(rule));
            Answer::Paths(own.filter_map(path).collect())
        };
        Ok(Found(
            blocks
                .map(|block| (block.name.clone(), answer(&block)))
                .collect(),
        ))
    }

    fn of(&self, name: &Name) -> Answer {
        let answer = self.0.get(name).cloned();
        answer.unwrap_or_else(|| Answer::Unknown("it is looked for the next time".into()))
    }

    /// A configuration as the kernel of this host would have it.
    pub fn resolve(&self, config: &Config, now: &State) -> Resolved {
        Resolved::new(config, now, Others::Give, &mut |name| self.of(name))
    }
}

/// What was done for the names that were applied.
#[derive(Debug, Default)]
pub struct Followed {
    pub changes: Vec<Difference>,
    pub waiting: Vec<Waiting>,
    /// What the kernel has refused, each for its rule alone.
    pub refused: Vec<Refusal>,
}

/// Has the rules follow what is there now under the names that were applied. Nothing
/// else is changed, and no other rule; one that is refused keeps no other waiting.
pub fn follow(host: &mut Host, found: &Found) -> Result<Followed, Refusal> {
    let config = applied(host)?;
    let now = host.state()?;
    let noted = given(host)?;
    let is_in_force = |text: &String| now.rules.iter().any(|one| one.rule.to_string() == *text);
    let mut own: Given = noted
        .iter()
        .filter(|text| is_in_force(text))
        .cloned()
        .collect();
    let resolved = Resolved::new(&config, &now, Others::Stay(&own), &mut |name| {
        found.of(name)
    });
    let mut due = differences(&now, &resolved.config);
    due.retain(|difference| resolved.cause(difference, &own).is_some());
    let mut followed = Followed {
        waiting: resolved.waiting,
        ..Followed::default()
    };
    if config.rules.is_empty() {
        return Ok(followed);
    }
    // They are noted before they are there, so that none is forgotten.
    let added = due.iter().filter_map(|difference| match difference {
        Difference::Rule { wanted, .. } => Some(wanted.to_string()),
        _ => None,
    });
    own.extend(added);
    if own != noted {
        note_given(host, &own)?;
    }
    for difference in due {
        match make(host, &now, vec![difference.clone()]) {
            Ok(applied) => followed.changes.extend(applied.changes),
            Err(refusal) => followed
                .refused
                .push(Refusal(format!("{difference}: {refusal}"))),
        }
    }
    Ok(followed)
}

/// The cgroups that the name of a rule stands for, which somebody types.
pub fn look_up(host: &Host, rule: &Rule) -> Result<Vec<Vec<u8>>, Refusal> {
    let Subject::Named(name) = &rule.subject else {
        return Ok(Vec::new());
    };
    match Finder::new(host).find(name) {
        Answer::Paths(paths) | Answer::Partly { paths, .. } => Ok(paths),
        Answer::Nothing(why) | Answer::Unknown(why) => Err(Refusal(format!(
            "{name}: {why}; to have it waited for, write the rule to /{PLACE}"
        ))),
    }
}

/// Adds a rule that somebody has typed, for these cgroups, which its name stands for: for
/// all of it, or nothing.
pub fn add(host: &mut Host, rule: &Rule, paths: &[Vec<u8>]) -> Result<(), Refusal> {
    let Subject::Named(name) = &rule.subject else {
        return host.add_rule(rule).map(|_| ());
    };
    let now = host.state()?;
    let others = now.rules.iter().map(|one| one.rule.clone());
    let mut rules: Vec<Rule> = others.filter(|one| one.id > rule.id).collect();
    rules.push(rule.clone());
    // A rule that this one may stand for is no neighbour of it.
    let own = blocks(std::slice::from_ref(rule));
    rules.retain(|one| !own.iter().any(|block| block.has(one)));
    rules.sort_by_key(|rule| rule.id);
    for block in blocks(&rules).iter().filter(|block| block.rule == *rule) {
        let added = block.spread(paths, &now, Others::Give, MOST_RULES);
        if added.len() < paths.len() {
            let why = left_over(block, paths.len() - added.len(), MOST_RULES, added.len());
            return Err(Refusal(format!("{name}: {}", why.unwrap_or_default())));
        }
        if !add_all(host, &now, added)? {
            return Err(Refusal(format!(
                "{name} has just ended: nothing was added for it"
            )));
        }
    }
    Ok(())
}
