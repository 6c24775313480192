// SPDX-License-Identifier: GPL-2.0-only
//! The configuration of one step: parameters and rules.

use core::fmt;

use crate::settings::parameter::{choice, Numbers, NUMBERS, TIMESLICE_MAX, TIMESLICE_NAME};
use crate::settings::value::{whole, BackendKind, Mode, SamplerKind, SetError, TransactionKind};
use crate::terms::{Nanos, Priority, UserPriority, LEVELS};

/// How many times as often one looks while an urgent request may come.
const ALERT: u64 = 5;

/// How many times as seldom one looks while nothing can be inverted.
const IDLE: u64 = 10;

/// How many times as seldom again one looks where nothing has had any work for a while, and
/// no less than once a second for that reason: each look at 24 queues takes some 8 us.
const QUIET: u64 = 10;

/// How many times as much of the time claims may spend where no rule gives a level: nobody
/// is named whom they could disturb.
const WITHOUT_RULES: u64 = 24;

/// The configuration of one step.
///
/// It is a plain value: the module keeps one and hands it to
/// every step, so that a parameter takes effect with the next pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How much the policy may do.
    pub mode: Mode,
    /// How far the priority that a program asks for counts.
    pub user_priority: UserPriority,
    /// The highest level that any of the rules gives.
    pub highest_rule: Option<Priority>,
    /// The numeric parameters.
    pub numbers: Numbers,
    /// The timeslice of each level in microseconds; zero takes no turns.
    pub timeslices: [u32; LEVELS],
    /// How queues are watched: the driver side's, as the next two are.
    pub sampler: SamplerKind,
    /// How they are stopped and started.
    pub backend: BackendKind,
    /// How they are taken off the hardware for a transaction.
    pub transaction: TransactionKind,
}

impl Config {
    /// Every parameter at its default, and no rules.
    #[allow(clippy::new_without_default)] // It is for constants, too.
    pub const fn new() -> Config {
        Config {
            mode: Mode::Observe,
            user_priority: UserPriority::Auto,
            highest_rule: None,
            numbers: Numbers::DEFAULT,
            timeslices: [0; LEVELS],
            sampler: SamplerKind::Auto,
            backend: BackendKind::Hws,
            transaction: TransactionKind::Driver,
        }
    }

    /// The timeslice of a level; zero takes no turns.
    #[inline]
    pub fn timeslice(&self, level: Priority) -> Nanos {
        Nanos::from_micros(self.timeslices.get(level.index()).copied().unwrap_or(0))
    }

    /// Sets a parameter from the text that an operator wrote. Space around the
    /// text is ignored; on an error nothing changes.
    pub fn set_text(&mut self, name: &str, text: &str) -> Result<(), SetError> {
        let text = text.trim_ascii();
        let refused = || choice(name).map_or(SetError::NO_VALUE, |choice| choice.refuse(text));
        match name {
            "mode" => self.mode = Mode::named(text).ok_or_else(refused)?,
            "user_priority" => self.user_priority = user_priority(text)?,
            "sampler" => self.sampler = SamplerKind::named(text).ok_or_else(refused)?,
            "backend" => self.backend = BackendKind::named(text).ok_or_else(refused)?,
            "transaction" => self.transaction = TransactionKind::named(text).ok_or_else(refused)?,
            TIMESLICE_NAME => self.timeslices = timeslices(text)?,
            _ => {
                let spec = NUMBERS.iter().find(|spec| spec.name == name);
                let spec = spec.ok_or(SetError::Unknown)?;
                *(spec.place)(&mut self.numbers) = whole(text, spec.min, spec.max)?;
            }
        }
        Ok(())
    }

    /// Writes a parameter as [`Config::set_text`] reads it. One that is unknown here
    /// is an error.
    pub fn write_text(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        match (name, self.user_priority) {
            ("mode", _) => out.write_str(self.mode.name()),
            ("user_priority", UserPriority::Auto) => out.write_str("auto"),
            ("user_priority", UserPriority::Honour) => out.write_str("honour"),
            ("user_priority", UserPriority::Cap(cap)) => write!(out, "cap:{}", cap.level()),
            ("user_priority", UserPriority::Ignore) => out.write_str("ignore"),
            ("sampler", _) => out.write_str(self.sampler.name()),
            ("backend", _) => out.write_str(self.backend.name()),
            ("transaction", _) => out.write_str(self.transaction.name()),
            (TIMESLICE_NAME, _) => {
                let [first, others @ ..] = &self.timeslices;
                write!(out, "{first}")?;
                let differs = others.iter().any(|other| other != first);
                let mut others = others.iter().filter(|_| differs);
                others.try_for_each(|other| write!(out, ",{other}"))
            }
            _ => {
                let spec = NUMBERS.iter().find(|spec| spec.name == name);
                let mut numbers = self.numbers;
                write!(out, "{}", (spec.ok_or(fmt::Error)?.place)(&mut numbers))
            }
        }
    }
}

fn user_priority(text: &str) -> Result<UserPriority, SetError> {
    Ok(match text {
        "auto" => UserPriority::Auto,
        "honour" => UserPriority::Honour,
        "ignore" => UserPriority::Ignore,
        _ => {
            let level = text.strip_prefix("cap:").ok_or(SetError::NO_VALUE)?;
            UserPriority::Cap(Priority::new(whole(level, 0, 15)?).ok_or(SetError::NO_VALUE)?)
        }
    })
}

/// One timeslice for all levels, or 16 separated by commas.
fn timeslices(text: &str) -> Result<[u32; LEVELS], SetError> {
    if !text.bytes().any(|byte| byte == b',') {
        return Ok([whole(text, 0, TIMESLICE_MAX)?; LEVELS]);
    }
    let mut parts = text.as_bytes().split(|byte| *byte == b',');
    let mut slices = [0; LEVELS];
    for slice in &mut slices {
        let part = parts.next().ok_or(SetError::NO_VALUE)?;
        *slice = whole(part.trim_ascii(), 0, TIMESLICE_MAX)?;
    }
    parts.next().map_or(Ok(slices), |_| Err(SetError::NO_VALUE))
}

/// The parameters of one step.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Time between two looks: where something may be inverted soon, where it may be at
    /// all, where it cannot be, and where nothing has had any work for a while.
    pub(crate) alert: Nanos,
    pub(crate) poll: Nanos,
    pub(crate) idle: Nanos,
    pub(crate) quiet: Nanos,
    pub(crate) grace: Nanos,
    pub(crate) max_stop: Nanos,
    pub(crate) min_run: Nanos,
    pub(crate) no_progress: Nanos,
    pub(crate) hint: Nanos,
    pub(crate) budget: Nanos,
    /// The shares of the time that transactions may take, in percent.
    pub(crate) rule_overhead: u64,
    pub(crate) claim_overhead: u64,
}

impl Limits {
    pub(crate) fn new(config: &Config) -> Limits {
        let numbers = &config.numbers;
        let poll = Nanos::from_micros(numbers.poll_interval_us);
        let idle = poll.times(IDLE);
        let claims = u64::from(numbers.claim_overhead_percent);
        Limits {
            alert: Nanos(poll.0 / ALERT),
            poll,
            idle,
            quiet: idle.max(idle.times(QUIET).min(Nanos::SECOND)),
            grace: Nanos::from_micros(numbers.grace_us),
            max_stop: Nanos::from_millis(numbers.max_stop_ms),
            min_run: Nanos::from_micros(numbers.min_run_us),
            no_progress: Nanos::from_millis(numbers.noprogress_ms),
            hint: Nanos::from_micros(numbers.hint_limit_us),
            budget: Nanos::from_millis(numbers.stop_budget_ms),
            rule_overhead: u64::from(numbers.rule_overhead_percent),
            claim_overhead: match config.highest_rule {
                Some(_) => claims,
                None => claims.saturating_mul(WITHOUT_RULES).min(100),
            },
        }
    }
}
