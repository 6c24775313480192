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

use crate::apply::{as_shown, differences, make, Difference};
use crate::config::{Config, PLACE};
use crate::host::{Host, Refusal};
use crate::kernel::{InForce, Kernel, State};
use crate::names::Name;
use crate::noted::{applied, given, note_given, Given};
use crate::resolve::{Answer, Finder};
use crate::rule::{Rule, Subject, MOST_RULES};
use crate::typed::add_all;

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
struct Block {
    rule: Rule,
    name: Name,
    last: u32,
}

impl Block {
    /// Whether a rule of the kernel may be one that this one stands for: it does the
    /// same, for a cgroup, and has one of the numbers.
    fn has(&self, rule: &Rule) -> bool {
        let mut own = self.rule.effect;
        own.id = rule.effect.id;
        (self.rule.id()..=self.last).contains(&rule.id())
            && matches!(rule.subject, Subject::Cgroup(_))
            && own == rule.effect
    }

    fn with(&self, id: u32, path: &[u8]) -> Rule {
        let mut effect = self.rule.effect;
        effect.id.0 = id;
        Rule {
            subject: Subject::Cgroup(path.to_vec()),
            effect,
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
                taken.insert(rule.id());
                rules.push(rule.clone());
            }
        }
        if others != Others::Give {
            let is_foreign = |rule: &Rule| !self.has(rule) || others.are_kept(rule);
            let foreign = now.rules.iter().filter(|one| is_foreign(&one.rule));
            taken.extend(foreign.map(|one| one.rule.id()));
        }
        let mut free = (self.rule.id()..=self.last).filter(|id| !taken.contains(id));
        for path in paths {
            let subject = Subject::Cgroup(path.clone());
            if rules.len() >= most || rules.iter().any(|one| one.subject == subject) {
                continue;
            }
            let Some(id) = free.next() else { break };
            rules.push(self.with(id, path));
        }
        rules.sort_by_key(Rule::id);
        rules
    }
}

/// A configuration as the kernel would have it at this moment.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Without names.
    pub config: Config,
    pub waiting: Vec<Waiting>,
    blocks: Vec<Block>,
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
        resolved.config.rules.sort_by_key(Rule::id);
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
    fn cause(&self, difference: &Difference, given: &Given) -> Option<&Rule> {
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
            block.rule.id(),
            block.last
        ),
    })
}

/// The cgroups for which a rule is in force now.
fn in_force(block: &Block, now: &State) -> Vec<Vec<u8>> {
    let own = now.rules.iter().filter(|one| !one.dead);
    let own = own.filter(|one| block.has(&one.rule));
    own.filter_map(|one| match &one.rule.subject {
        Subject::Cgroup(path) => Some(path.clone()),
        _ => None,
    })
    .collect()
}

/// The rules with names, each with the numbers up to the next rule's. `rules` are in
/// the order of their numbers.
fn blocks(rules: &[Rule]) -> Vec<Block> {
    let most = u32::try_from(MOST_RULES).unwrap_or(u32::MAX);
    let block = |(place, rule): (usize, &Rule)| {
        let Subject::Named(name) = &rule.subject else {
            return None;
        };
        let next = rules.get(place + 1).map(|next| next.id() - 1);
        let last = rule.id().saturating_add(most - 1);
        Some(Block {
            rule: rule.clone(),
            name: name.clone(),
            last: match name.is_for_several() {
                true => next.map_or(last, |next| next.min(last)),
                false => rule.id(),
            },
        })
    };
    rules.iter().enumerate().filter_map(block).collect()
}

/// How a configuration compares with what is in force.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    pub differences: Vec<String>,
    /// What is no difference, since it is followed.
    pub waiting: Vec<String>,
}

/// Compares a configuration with what is in force. What comes and goes under a name
/// that was applied is no difference.
pub fn compare(host: &Host, config: &Config) -> Result<Comparison, Refusal> {
    let now = host.state()?;
    let resolved = Found::new(host, config).resolve(config, &now);
    let applied = applied(host).unwrap_or_default();
    let given = given(host).unwrap_or_default();
    let is_applied = |rule: &Rule| applied.rules.contains(rule);
    let mut comparison = Comparison::default();
    for block in resolved.blocks.iter().filter(|one| !is_applied(&one.rule)) {
        let text = format!("rule '{}' has not been applied", block.rule);
        comparison.differences.push(text);
    }
    let waiting = resolved.waiting.iter().filter(|one| is_applied(&one.rule));
    comparison.waiting.extend(waiting.map(Waiting::to_string));
    let shown = as_shown(host, &resolved.config);
    for difference in differences(&now, &shown) {
        match resolved.cause(&difference, &given) {
            Some(rule) if is_applied(rule) => comparison.waiting.push(format!(
                "{difference}, until '{}' is followed the next time",
                rule_name(rule)
            )),
            _ if matches!(difference, Difference::Absent(_)) => {
                comparison.waiting.push(difference.to_string());
            }
            _ => comparison.differences.push(difference.to_string()),
        }
    }
    for block in blocks(&applied.rules) {
        if !config.rules.contains(&block.rule) {
            let rule = block.rule;
            let text = format!("rule '{rule}' is followed and should not be");
            comparison.differences.push(text);
        }
    }
    Ok(comparison)
}

fn rule_name(rule: &Rule) -> String {
    match &rule.subject {
        Subject::Named(name) => name.to_string(),
        _ => rule.to_string(),
    }
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
        blocks.map(|block| block.rule.id()..=block.last).collect()
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

/// Adds a rule that somebody has typed, for what its name stands for now: for all of
/// it, or nothing.
pub fn add(host: &mut Host, rule: &Rule) -> Result<(), Refusal> {
    let Subject::Named(name) = &rule.subject else {
        return host.add_rule(rule).map(|_| ());
    };
    let now = host.state()?;
    let paths = match Finder::new(host).find(name) {
        Answer::Paths(paths) => paths,
        Answer::Nothing(why) | Answer::Unknown(why) => {
            return Err(Refusal(format!(
                "{name}: {why}; to have it waited for, write the rule to /{PLACE}"
            )));
        }
    };
    let others = now.rules.iter().map(|one| one.rule.clone());
    let mut rules: Vec<Rule> = others.filter(|one| one.id() > rule.id()).collect();
    rules.push(rule.clone());
    // A rule that this one may stand for is no neighbour of it.
    let own = blocks(std::slice::from_ref(rule));
    rules.retain(|one| !own.iter().any(|block| block.has(one)));
    rules.sort_by_key(Rule::id);
    for block in blocks(&rules).iter().filter(|block| block.rule == *rule) {
        let added = block.spread(&paths, &now, Others::Give, MOST_RULES);
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

/// Puts the names that were applied in the place of the rules that they stand for,
/// unless what is in force contradicts them.
pub fn names_again(host: &Host, now: &State, saved: &mut Config) {
    let (Ok(applied), Ok(given)) = (applied(host), given(host)) else {
        return;
    };
    let resolved = Found::new(host, &applied).resolve(&applied, now);
    for block in &resolved.blocks {
        let is_in_force = |rule: &Rule| {
            let mut all = now.rules.iter();
            all.any(|one| one.rule == *rule && !one.dead)
        };
        let mut own = resolved.config.rules.iter().filter(|rule| block.has(rule));
        let is_own = |rule: &Rule| block.has(rule) && given.contains(&rule.to_string());
        let others = saved.rules.iter().filter(|rule| !is_own(rule));
        let numbers = block.rule.id()..=block.last;
        let is_free = !others.map(Rule::id).any(|id| numbers.contains(&id));
        if is_free && own.all(is_in_force) {
            saved.rules.retain(|rule| !is_own(rule));
            saved.rules.push(block.rule.clone());
        }
    }
    saved.rules.sort_by_key(Rule::id);
}
