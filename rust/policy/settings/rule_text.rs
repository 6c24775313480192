// SPDX-License-Identifier: GPL-2.0-only

//! The text of a rule, as an operator writes it.
//!
//! `ID pid=N|comm=NAME|cgroup=PATH [prio=N] [timeslice_us=N]
//! [stop_budget_ms=N] [exempt]`, words apart by spaces; `%XX` in a name or path stands for the
//! byte with that number. Pure, so that the host can test it.

use crate::settings::digits::byte;
use crate::settings::digits::whole;
use crate::settings::parameter::Number;
use crate::settings::parameter::TIMESLICE_MAX;
use crate::terms::priority::Priority;
use crate::terms::rule::RuleEffect;
use crate::terms::rule::RuleId;
use crate::terms::time::Nanos;
use core::fmt;

/// The longest command name, which the kernel cuts off there.
const COMM_MAX: usize = 15;
/// The longest path of a cgroup.
const PATH_MAX: usize = 1024;

/// Which processes a rule is for. Names and paths are as written, with escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'t> {
    /// The process with a number, in the initial namespace.
    Pid(i32),
    /// Processes with a command name.
    Comm(&'t str),
    /// Processes in a cgroup or below it.
    Cgroup(&'t str),
}

/// A rule that was understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleText<'t> {
    /// Which processes it is for.
    pub subject: Subject<'t>,
    /// What it does, with its number.
    pub effect: RuleEffect,
}

/// Why a rule was not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleError {
    /// It does not begin with a number.
    Id,
    /// It does not say which processes it is for.
    NoSubject,
    /// It says so twice.
    TwoSubjects,
    /// A word is none of those that there are.
    Word,
    /// A word is there twice.
    Twice,
    /// The number of a process is not one.
    Pid,
    /// A command name is empty or too long.
    Comm,
    /// A cgroup's path is empty, too long, or does not begin with a slash.
    Cgroup,
    /// A percent sign is not followed by two hexadecimal digits, or stands for
    /// zero.
    Escape,
    /// A priority is not one.
    Priority,
    /// A time is not a number of microseconds, or too long.
    Time,
    /// It promises a share of the GPU, which this module no longer does.
    Reservation,
    /// A budget of stopped time is not one.
    StopBudget,
    /// It changes nothing.
    NoEffect,
    /// It exempts the process and changes something as well.
    ExemptAndMore,
}

impl fmt::Display for RuleError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            RuleError::Id => "begin with the rule's number, 0 to 4294967295",
            RuleError::NoSubject => "name a process: pid=, comm= or cgroup=",
            RuleError::TwoSubjects => "give only one of pid=, comm= and cgroup=",
            RuleError::Word => {
                "words are pid= comm= cgroup= prio= timeslice_us= stop_budget_ms= exempt"
            }
            RuleError::Twice => "a word is there twice",
            RuleError::Pid => "pid= takes the number of a process, from 1",
            RuleError::Comm => "comm= takes a command name of 1 to 15 bytes",
            RuleError::Cgroup => "cgroup= takes a path of at most 1024 bytes that begins with /",
            RuleError::Escape => "% must be followed by two hexadecimal digits other than 00",
            RuleError::Priority => "prio= takes a number from 0 to 15",
            RuleError::Time => "times are whole microseconds, at most 10000000",
            RuleError::Reservation => {
                "period_us= and budget_us= are gone: give prio= for a level and timeslice_us= for turns within it"
            }
            RuleError::StopBudget => "stop_budget_ms= takes a number from 1 to 1000",
            RuleError::NoEffect => {
                "say what it does: prio=, timeslice_us=, stop_budget_ms= or exempt"
            }
            RuleError::ExemptAndMore => "exempt goes with nothing else",
        })
    }
}

impl<'t> RuleText<'t> {
    /// Understands a rule.
    pub fn parse(text: &'t str) -> Result<Self, RuleError> {
        let mut words = text.split_ascii_whitespace();
        let id = number(words.next().ok_or(RuleError::Id)?).ok_or(RuleError::Id)?;
        let mut subject = None;
        let mut effect = RuleEffect::new(RuleId(id));
        for word in words {
            let (name, value) = match cut(word, b'=') {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            match (name, value) {
                ("pid", Some(value)) => set_subject(&mut subject, pid(value)?)?,
                ("comm", Some(value)) => set_subject(&mut subject, comm(value)?)?,
                ("cgroup", Some(value)) => set_subject(&mut subject, cgroup(value)?)?,
                ("prio", Some(value)) => set(&mut effect.priority, priority(value)?)?,
                ("timeslice_us", Some(value)) => set(&mut effect.timeslice, time(value)?)?,
                ("period_us" | "budget_us", Some(_)) => return Err(RuleError::Reservation),
                ("stop_budget_ms", Some(value)) => {
                    set(&mut effect.stop_budget, stop_budget(value)?)?
                }
                ("exempt", None) if effect.exempt => return Err(RuleError::Twice),
                ("exempt", None) => effect.exempt = true,
                _ => return Err(RuleError::Word),
            }
        }
        let changes =
            effect.priority.is_some() || effect.timeslice.is_some() || effect.stop_budget.is_some();
        match (effect.exempt, changes) {
            (false, false) => Err(RuleError::NoEffect),
            (true, true) => Err(RuleError::ExemptAndMore),
            _ => Ok(RuleText {
                subject: subject.ok_or(RuleError::NoSubject)?,
                effect,
            }),
        }
    }
}

fn set<T>(place: &mut Option<T>, value: T) -> Result<(), RuleError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(RuleError::Twice),
    }
}

fn set_subject<'t>(place: &mut Option<Subject<'t>>, value: Subject<'t>) -> Result<(), RuleError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(RuleError::TwoSubjects),
    }
}

/// What stands before and after the first of these ASCII characters.
fn cut(text: &str, mark: u8) -> Option<(&str, &str)> {
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == mark {
            let before = text.len().saturating_sub(rest.len());
            let from = text.len().saturating_sub(after.len());
            return Some((text.get(..before)?, text.get(from..)?));
        }
        rest = after;
    }
    None
}

/// A number of decimal digits and nothing else.
fn number(text: &str) -> Option<u32> {
    whole(text.as_bytes(), 0, u32::MAX).ok()
}

fn pid(text: &str) -> Result<Subject<'_>, RuleError> {
    number(text)
        .and_then(|pid| i32::try_from(pid).ok())
        .filter(|&pid| pid > 0)
        .map(Subject::Pid)
        .ok_or(RuleError::Pid)
}

fn comm(text: &str) -> Result<Subject<'_>, RuleError> {
    match length(text)? {
        1..=COMM_MAX => Ok(Subject::Comm(text)),
        _ => Err(RuleError::Comm),
    }
}

fn cgroup(text: &str) -> Result<Subject<'_>, RuleError> {
    let absolute = unescaped(text)?.next() == Some(b'/');
    if absolute && length(text)? <= PATH_MAX {
        Ok(Subject::Cgroup(text))
    } else {
        Err(RuleError::Cgroup)
    }
}

fn priority(text: &str) -> Result<Priority, RuleError> {
    number(text)
        .and_then(Priority::new)
        .ok_or(RuleError::Priority)
}

fn time(text: &str) -> Result<Nanos, RuleError> {
    number(text)
        .filter(|&micros| micros <= TIMESLICE_MAX)
        .map(Nanos::from_micros)
        .ok_or(RuleError::Time)
}

/// In the bounds of the parameter that it replaces.
fn stop_budget(text: &str) -> Result<Nanos, RuleError> {
    let spec = Number::StopBudget.spec();
    whole(text.as_bytes(), spec.min, spec.max)
        .map(|value| spec.duration(value))
        .map_err(|_| RuleError::StopBudget)
}

/// How many bytes a name or path stands for.
fn length(text: &str) -> Result<usize, RuleError> {
    Ok(unescaped(text)?.fold(0usize, |count, _| count.saturating_add(1)))
}

/// The bytes that a name or path stands for.
pub fn unescaped(text: &str) -> Result<impl Iterator<Item = u8> + '_, RuleError> {
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = match (first, after) {
            (b'%', [high, low, after @ ..]) => match byte([*high, *low]) {
                None | Some(0) => return Err(RuleError::Escape),
                Some(_) => after,
            },
            (b'%', _) => return Err(RuleError::Escape),
            _ => after,
        };
    }
    let mut bytes = text.bytes();
    Ok(core::iter::from_fn(move || match bytes.next()? {
        b'%' => byte([bytes.next()?, bytes.next()?]),
        plain => Some(plain),
    }))
}
