// SPDX-License-Identifier: GPL-2.0-only

//! The text of a rule, as an operator writes it.
//!
//! `ID pid=N|comm=NAME|cgroup=PATH [node=GPU/N] [prio=N] [timeslice_us=N]
//! [stop_budget_ms=N] [exempt]`, words apart by spaces; `%XX` in a name or path stands for the
//! byte with that number. Pure, so that the host can test it.

use crate::settings::parameter::TIMESLICE_MAX;
use crate::settings::value::{whole, SetError};
use crate::terms::{Nanos, Priority, RuleEffect};

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

/// A node of a GPU: the whole of it, or one of the partitions that it is divided into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeName<'t> {
    /// The GPU's PCI address, as the kernel writes it.
    pub gpu: &'t str,
    /// The node's number in the GPU.
    pub index: u32,
}

/// A rule that was understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleText<'t> {
    /// Its number. Of several rules that match, the lowest number wins.
    pub id: u32,
    /// Which processes it is for.
    pub subject: Subject<'t>,
    /// The only node on which it counts.
    pub node: Option<NodeName<'t>>,
    /// What it does.
    pub effect: RuleEffect,
}

impl<'t> RuleText<'t> {
    /// It does not begin with a number.
    pub const NO_ID: SetError = SetError::Invalid("begin with the rule's number, 0 to 4294967295");
    /// It does not say which processes it is for.
    pub const NO_SUBJECT: SetError = SetError::Invalid("name a process: pid=, comm= or cgroup=");
    /// A word is there twice, or it says twice which processes it is for.
    pub const TWICE: SetError =
        SetError::Invalid("give each word once, and only one of pid=, comm= and cgroup=");
    /// It changes nothing.
    pub const NO_EFFECT: SetError =
        SetError::Invalid("say what it does: prio=, timeslice_us=, stop_budget_ms= or exempt");
    /// It exempts the process and changes something as well.
    pub const EXEMPT_AND_MORE: SetError = SetError::Invalid("exempt goes with nothing else");
    const NO_WORD: SetError = SetError::Invalid(
        "words are pid= comm= cgroup= node= prio= timeslice_us= stop_budget_ms= exempt",
    );

    /// Understands a rule.
    pub fn parse(text: &'t str) -> Result<Self, SetError> {
        let mut words = text.split_ascii_whitespace();
        let id = whole(words.next().unwrap_or_default(), 0, u32::MAX).or(Err(Self::NO_ID))?;
        let (mut subject, mut on, mut effect) = (None, None, RuleEffect::default());
        for word in words {
            let (name, text) = cut(word, b'=').unwrap_or((word, ""));
            let twice = match name {
                "pid" => subject.replace(pid(text)?).is_some(),
                "comm" => subject.replace(comm(text)?).is_some(),
                "cgroup" => subject.replace(cgroup(text)?).is_some(),
                "node" => on.replace(node(text)?).is_some(),
                "prio" => effect.priority.replace(priority(text)?).is_some(),
                "timeslice_us" => effect.timeslice.replace(time(text)?).is_some(),
                "stop_budget_ms" => effect.stop_budget.replace(budget(text)?).is_some(),
                "exempt" if word == name => core::mem::replace(&mut effect.exempt, true),
                _ => return Err(Self::NO_WORD),
            };
            if twice {
                return Err(Self::TWICE);
            }
        }
        let changes =
            effect.priority.is_some() || effect.timeslice.is_some() || effect.stop_budget.is_some();
        match (effect.exempt, changes) {
            (false, false) => Err(Self::NO_EFFECT),
            (true, true) => Err(Self::EXEMPT_AND_MORE),
            _ => Ok(RuleText {
                id,
                subject: subject.ok_or(Self::NO_SUBJECT)?,
                node: on,
                effect,
            }),
        }
    }
}

/// What is before and after the first mark. What core has for that could panic.
fn cut(word: &str, mark: u8) -> Option<(&str, &str)> {
    let mut bytes = (0..word.len()).zip(word.bytes());
    let (at, _) = bytes.find(|(_, byte)| *byte == mark)?;
    Some((word.get(..at)?, word.get(at.checked_add(1)?..)?))
}

fn pid(text: &str) -> Result<Subject<'_>, SetError> {
    let wrong = SetError::Invalid("pid= takes the number of a process, from 1");
    let pid = i32::try_from(whole(text, 1, u32::MAX).or(Err(wrong))?);
    pid.map(Subject::Pid).or(Err(wrong))
}

fn comm(text: &str) -> Result<Subject<'_>, SetError> {
    let wrong = SetError::Invalid("comm= takes a command name of 1 to 15 bytes");
    let fits = (1..=15).contains(&length(text)?);
    fits.then_some(Subject::Comm(text)).ok_or(wrong)
}

fn cgroup(text: &str) -> Result<Subject<'_>, SetError> {
    let wrong = SetError::Invalid("cgroup= takes a path of at most 1024 bytes that begins with /");
    let fits = unescaped(text)?.next() == Some(b'/') && length(text)? <= 1024;
    fits.then_some(Subject::Cgroup(text)).ok_or(wrong)
}

fn node(text: &str) -> Result<NodeName<'_>, SetError> {
    let wrong = SetError::Invalid("node= takes a GPU and a node's number, as in 0000:c1:00.0/0");
    let (gpu, index) = cut(text, b'/').ok_or(wrong)?;
    let index = whole(index, 0, 63).or(Err(wrong))?;
    // From its end, since there are domains of up to eight digits.
    let fits = |(at, byte): (usize, u8)| match at {
        1 => byte == b'.',
        4 | 7 => byte == b':',
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    };
    let mut bytes = (0..gpu.len()).zip(gpu.bytes().rev());
    let is_address = (12..=16).contains(&gpu.len()) && bytes.all(fits);
    is_address.then_some(NodeName { gpu, index }).ok_or(wrong)
}

fn priority(text: &str) -> Result<Priority, SetError> {
    let wrong = SetError::Invalid("prio= takes a number from 0 to 15");
    Priority::new(whole(text, 0, 15).or(Err(wrong))?).ok_or(wrong)
}

fn time(text: &str) -> Result<Nanos, SetError> {
    let wrong = SetError::Invalid("times are whole microseconds, at most 10000000");
    let time = whole(text, 0, TIMESLICE_MAX).or(Err(wrong));
    time.map(Nanos::from_micros)
}

fn budget(text: &str) -> Result<Nanos, SetError> {
    let wrong = SetError::Invalid("stop_budget_ms= takes a number from 1 to 1000");
    let budget = whole(text, 1, 1000).or(Err(wrong));
    budget.map(Nanos::from_millis)
}

/// How many bytes a name or path stands for.
fn length(text: &str) -> Result<usize, SetError> {
    Ok(unescaped(text)?.fold(0, |count: usize, _| count.saturating_add(1)))
}

/// The bytes that a name or path stands for.
pub fn unescaped(text: &str) -> Result<impl Iterator<Item = u8> + '_, SetError> {
    let wrong = SetError::Invalid("% must be followed by two hexadecimal digits other than 00");
    let mut rest = text.as_bytes().iter();
    while rest.any(|byte| *byte == b'%') {
        byte(rest.as_slice()).ok_or(wrong)?;
    }
    let mut bytes = text.bytes();
    Ok(core::iter::from_fn(move || match bytes.next()? {
        b'%' => byte(&[bytes.next()?, bytes.next()?]),
        plain => Some(plain),
    }))
}

/// The byte that a text begins with in two hexadecimal digits, if it is not zero.
fn byte(text: &[u8]) -> Option<u8> {
    let digit = |digit: u8| u8::try_from(char::from(digit).to_digit(16)?).ok();
    let [high, low, ..] = *text else {
        return None;
    };
    Some(digit(high)?.wrapping_shl(4) | digit(low)?).filter(|byte| *byte != 0)
}
