// SPDX-License-Identifier: GPL-2.0-only
//! The module as a configuration meets it: it may refuse any step.

use std::collections::BTreeSet;

use gpreempt_operator::act::apply::apply;
use gpreempt_operator::configuration::config::{Access, Config};
use gpreempt_operator::host::tree::Refusal;
use gpreempt_operator::module::kernel::{Added, InForce, Kernel, State};
use gpreempt_operator::words::gpu::activity;
use gpreempt_operator::words::parameters;
use gpreempt_operator::words::rule::{Rule, Subject, MOST_RULES};

/// The module as it behaves towards who writes its files.
#[derive(Clone)]
pub struct Module {
    pub state: State,
    /// Paths of the cgroups that there are.
    pub cgroups: BTreeSet<Vec<u8>>,
    /// Processes that end before the next change is tried.
    pub ending: BTreeSet<i32>,
    /// The rule that somebody else deletes when anything changes.
    pub deleted: Option<u32>,
    /// Each change that was tried, in order.
    pub tried: Vec<String>,
    /// Which of these is refused, counted from 0, and from when on all are.
    pub refused: Option<usize>,
    pub all_refused_from: Option<usize>,
    /// A GPU that goes before the change of that number is tried.
    pub going: Option<(usize, &'static str)>,
    /// The change of that number, and the mode that somebody sets right after it.
    pub braked: Option<(usize, &'static str)>,
    /// The modes of the GPUs at first and after each change.
    pub modes: Vec<Vec<usize>>,
}

/// The GPUs that there are.
pub const GPUS: [&str; 2] = ["0000:01:00.0", "0000:02:00.0"];

impl Module {
    pub fn new() -> Module {
        Module {
            state: State {
                parameters: parameters::defaults(),
                gpus: GPUS.map(|gpu| (gpu.to_owned(), None)).into(),
                rules: Vec::new(),
                access: Some(access(0o600)),
            },
            cgroups: BTreeSet::from([b"/a".to_vec(), b"/b".to_vec()]),
            ending: BTreeSet::new(),
            deleted: None,
            tried: Vec::new(),
            refused: None,
            going: None,
            braked: None,
            all_refused_from: None,
            modes: Vec::new(),
        }
    }

    /// How much is done on each GPU.
    pub fn note_modes(&mut self) {
        let all = &self.state.parameters["mode"];
        let of = |own: &Option<String>| activity(own.as_ref().unwrap_or(all));
        self.modes.push(self.state.gpus.values().map(of).collect());
    }

    pub fn with(text: &str) -> Module {
        let mut module = Module::new();
        apply(&mut module, &config(text)).unwrap();
        module.tried.clear();
        module
    }

    pub fn step(&mut self, what: String) -> Result<(), Refusal> {
        let number = self.tried.len();
        self.tried.push(what.clone());
        if let Some((_, gpu)) = self.going.filter(|(at, _)| *at == number) {
            self.state.gpus.remove(gpu);
        }
        if let Some((_, mode)) = self.braked.filter(|(at, _)| *at == number) {
            self.state.parameters.insert("mode", mode.to_owned());
            for own in self.state.gpus.values_mut() {
                *own = own.take().filter(|own| activity(own) <= activity(mode));
            }
        }
        let ending = &self.ending;
        let stays =
            |one: &InForce| !matches!(&one.rule.subject, Subject::Pid(pid) if ending.contains(pid));
        self.state.rules.retain(stays);
        let deleted = self.deleted;
        let stays = |one: &InForce| Some(one.rule.id) != deleted;
        self.state.rules.retain(stays);
        let refused = self.refused == Some(number)
            || self.all_refused_from.is_some_and(|from| number >= from);
        match refused {
            true => Err(Refusal(format!("refused {what}"))),
            false => Ok(()),
        }
    }
}

impl Kernel for Module {
    fn state(&self) -> Result<State, Refusal> {
        Ok(self.state.clone())
    }

    fn set_parameter(&mut self, name: &str, value: &str) -> Result<(), Refusal> {
        self.step(format!("{name}={value}"))?;
        let name = parameters::names().find(|known| *known == name).unwrap();
        self.state.parameters.insert(name, value.to_owned());
        self.note_modes();
        Ok(())
    }

    fn is_there(&self, gpu: &str) -> bool {
        self.state.gpus.contains_key(gpu)
    }

    fn set_own(&mut self, gpu: &str, mode: Option<&str>) -> Result<(), Refusal> {
        self.step(format!("{gpu}/mode={}", mode.unwrap_or("module")))?;
        let Some(own) = self.state.gpus.get_mut(gpu) else {
            return Err(Refusal(format!("there is no {gpu}")));
        };
        *own = mode.map(str::to_owned);
        self.note_modes();
        Ok(())
    }

    fn add_rule(&mut self, rule: &Rule) -> Result<Added, Refusal> {
        self.step(format!("add {rule}"))?;
        if let Subject::Cgroup(path) = &rule.subject {
            if !self.cgroups.contains(path) {
                return Ok(Added::NoCgroup);
            }
        }
        if matches!(&rule.subject, Subject::Pid(pid) if self.ending.contains(pid)) {
            return Ok(Added::NoProcess);
        }
        self.state.rules.retain(|one| one.rule.id != rule.id);
        if self.state.rules.len() >= MOST_RULES {
            return Err(Refusal::new("no room"));
        }
        let rule = rule.clone();
        self.state.rules.push(InForce { rule, dead: false });
        self.state.rules.sort_by_key(|one| one.rule.id);
        Ok(Added::InForce)
    }

    fn delete_rule(&mut self, id: u32) -> Result<(), Refusal> {
        self.step(format!("del {id}"))?;
        let before = self.state.rules.len();
        self.state.rules.retain(|one| one.rule.id != id);
        match self.state.rules.len() < before {
            true => Ok(()),
            false => Err(Refusal::new("there is no such rule")),
        }
    }

    fn set_access(&mut self, access: &Access) -> Result<(), Refusal> {
        self.step(format!("access {access}"))?;
        self.state.access = Some(access.clone());
        Ok(())
    }
}

pub fn access(mode: u32) -> Access {
    Access {
        owner: "root".into(),
        group: "root".into(),
        mode,
    }
}

pub fn config(text: &str) -> Config {
    Config::parse(text).unwrap_or_else(|faults| panic!("{text}: {faults:?}"))
}
