// SPDX-License-Identifier: GPL-2.0-only
//! The configuration of one step: parameters and rules.

use core::fmt;

use crate::settings::parameter::{Numbers, NUMBERS, TIMESLICE_MAX, TIMESLICE_NAME};
use crate::settings::value::{whole, Mode, SetError};
use crate::terms::rule::{RuleEffect, RuleId};
use crate::terms::{Nanos, Priority, UserPriority, LEVELS};

/// The configuration of one step.
///
/// It is a plain value: the module keeps one and hands it to
/// every step, so that a parameter takes effect with the next pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config<'r> {
    /// How much the policy may do.
    pub mode: Mode,
    /// How far the priority that a program asks for counts.
    pub user_priority: UserPriority,
    /// What the rules do, in ascending order of their numbers.
    pub rules: &'r [RuleEffect],
    /// The numeric parameters.
    pub numbers: Numbers,
    /// The timeslice of each level in microseconds; zero takes no turns.
    pub timeslices: [u32; LEVELS],
}

impl Config<'static> {
    /// Every parameter at its default, and no rules.
    #[allow(clippy::new_without_default)] // It is for constants, too.
    pub const fn new() -> Config<'static> {
        Config {
            mode: Mode::Observe,
            user_priority: UserPriority::Auto,
            rules: &[],
            numbers: Numbers::DEFAULT,
            timeslices: [0; LEVELS],
        }
    }

    /// The same configuration with these rules, which must be in ascending
    /// order of their numbers: a rule out of order is not found.
    pub const fn with_rules(self, rules: &[RuleEffect]) -> Config<'_> {
        Config { rules, ..self }
    }
}

impl Config<'_> {
    /// The timeslice of a level; zero takes no turns.
    #[inline]
    pub fn timeslice(&self, level: Priority) -> Nanos {
        Nanos::from_micros(self.timeslices.get(level.index()).copied().unwrap_or(0))
    }

    /// What a rule does, if there is such a rule.
    pub fn rule(&self, id: RuleId) -> Option<&RuleEffect> {
        // By halves, since `core`'s search adds indices, which can panic in a
        // kernel that checks for overflow.
        let mut rules = self.rules;
        while rules.len() > 1 {
            let (low, high) = rules.split_at_checked(rules.len() / 2)?;
            rules = match high.first() {
                Some(first) if first.id <= id => high,
                _ => low,
            };
        }
        rules.first().filter(|rule| rule.id == id)
    }

    /// Sets a parameter from the text that an operator wrote. Space around the
    /// text is ignored; on an error nothing changes.
    ///
    /// `sampler`, `backend` and `transaction` are words of the driver side and unknown here.
    pub fn set_text(&mut self, name: &str, text: &str) -> Result<(), SetError> {
        let text = text.trim_ascii();
        match name {
            "mode" => self.mode = Mode::named(text).ok_or(SetError::NO_VALUE)?,
            "user_priority" => self.user_priority = user_priority(text)?,
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
            let highest = u32::from(Priority::HIGHEST.level());
            let level = Priority::new(whole(level, 0, highest)?);
            UserPriority::Cap(level.ok_or(SetError::NO_VALUE)?)
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
    match parts.next() {
        None => Ok(slices),
        Some(_) => Err(SetError::NO_VALUE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(config: &Config<'_>, name: &str) -> String {
        let mut text = String::new();
        config.write_text(name, &mut text).unwrap();
        text
    }

    #[test]
    fn every_number_takes_its_range_and_nothing_else() {
        for spec in NUMBERS {
            let mut config = Config::new();
            assert_eq!(text(&config, spec.name), spec.default.to_string());
            assert!(spec.min <= spec.default && spec.default <= spec.max);
            let range = SetError::OutOfRange(spec.min, spec.max);
            for good in [spec.min, spec.max] {
                config.set_text(spec.name, &format!(" {good}\n")).unwrap();
                assert_eq!(*(spec.place)(&mut config.numbers), good);
                assert_eq!(text(&config, spec.name), good.to_string());
            }
            let before = config;
            for bad in [u64::from(spec.max) + 1, u64::from(u32::MAX) + 1, u64::MAX] {
                assert_eq!(config.set_text(spec.name, &bad.to_string()), Err(range));
            }
            for bad in ["", " ", "-1", "+1", "1.5", "0x10", "1 2", "ten", "\u{661}"] {
                assert_eq!(config.set_text(spec.name, bad), Err(SetError::NO_VALUE));
            }
            assert_eq!(config, before);
        }
    }

    #[test]
    fn words_are_read_as_they_are_written() {
        let mut config = Config::new();
        for (name, words) in [
            ("mode", &["off", "observe", "enforce"][..]),
            (
                "user_priority",
                &["auto", "honour", "cap:0", "cap:15", "ignore"],
            ),
        ] {
            for word in words {
                config.set_text(name, word).unwrap();
                assert_eq!(text(&config, name), *word);
            }
            assert_eq!(config.set_text(name, "other"), Err(SetError::NO_VALUE));
        }
        let range = SetError::OutOfRange(0, 15);
        assert_eq!(config.set_text("user_priority", "cap:16"), Err(range));
        assert_eq!(
            config.set_text("user_priority", "cap:"),
            Err(SetError::NO_VALUE)
        );
        assert_eq!(config.set_text("backend", "hws"), Err(SetError::Unknown));
        assert_eq!(config.set_text("", ""), Err(SetError::Unknown));
    }

    #[test]
    fn timeslices_are_one_or_sixteen() {
        let mut config = Config::new();
        config.set_text(TIMESLICE_NAME, "500").unwrap();
        assert_eq!(config.timeslice(Priority::HIGHEST), Nanos(500_000));
        assert_eq!(text(&config, TIMESLICE_NAME), "500");
        let sixteen = "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15";
        config.set_text(TIMESLICE_NAME, sixteen).unwrap();
        assert_eq!(config.timeslice(Priority::NORMAL), Nanos(7_000));
        assert_eq!(text(&config, TIMESLICE_NAME), sixteen);
        for bad in [
            "",
            ",",
            "1,2",
            "1,",
            "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14",
            "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
        ] {
            assert_eq!(
                config.set_text(TIMESLICE_NAME, bad),
                Err(SetError::NO_VALUE),
                "{bad}"
            );
        }
        let range = SetError::OutOfRange(0, TIMESLICE_MAX);
        for bad in ["10000001", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,10000001"] {
            assert_eq!(config.set_text(TIMESLICE_NAME, bad), Err(range));
        }
        config.set_text(TIMESLICE_NAME, "10000000").unwrap();
    }

    #[test]
    fn a_number_is_refused_below_and_above_its_range() {
        for spec in NUMBERS {
            let mut config = Config::new();
            let range = SetError::OutOfRange(spec.min, spec.max);
            let outside = [spec.min.checked_sub(1), spec.max.checked_add(1)];
            for value in outside.into_iter().flatten() {
                let set = config.set_text(spec.name, &value.to_string());
                assert_eq!(set, Err(range), "{}", spec.name);
            }
        }
    }

    #[test]
    fn what_is_unknown_is_not_written() {
        let mut text = String::new();
        assert!(Config::new().write_text("backend", &mut text).is_err());
        assert_eq!(text, "");
    }
}
