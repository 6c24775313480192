// SPDX-License-Identifier: GPL-2.0-only
//! The configuration of one step: parameters and rules.

use core::fmt;

use crate::settings::choices::Mode;
use crate::settings::digits::whole;
use crate::settings::parameter::ChoiceSpec;
use crate::settings::parameter::Number;
use crate::settings::parameter::Unit;
use crate::settings::parameter::CHOICES;
use crate::settings::parameter::NUMBERS;
use crate::settings::parameter::NUMBER_COUNT;
use crate::settings::parameter::TIMESLICE_MAX;
use crate::settings::parameter::TIMESLICE_NAME;
use crate::settings::set_error::SetError;
use crate::terms::priority::Priority;
use crate::terms::priority::UserPriority;
use crate::terms::priority::LEVELS;
use crate::terms::rule::RuleEffect;
use crate::terms::rule::RuleId;
use crate::terms::time::Nanos;

/// The configuration of one step.
///
/// It is a plain value: the engine keeps one for the module and hands it to
/// every step, so that a parameter takes effect with the next pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config<'r> {
    /// How much the policy may do.
    pub mode: Mode,
    /// How far the priority that a program asks for counts.
    pub user_priority: UserPriority,
    /// What the rules do, in ascending order of their numbers.
    pub rules: &'r [RuleEffect],
    numbers: [u32; NUMBER_COUNT],
    timeslices: [u32; LEVELS],
}

impl Config<'static> {
    /// Every parameter at its default, and no rules.
    #[expect(
        clippy::indexing_slicing,
        reason = "evaluated by the compiler, which would report it"
    )]
    pub const fn new() -> Config<'static> {
        const DEFAULTS: [u32; NUMBER_COUNT] = {
            let mut numbers = [0; NUMBER_COUNT];
            let mut i = 0;
            while i < NUMBER_COUNT {
                numbers[i] = NUMBERS[i].default;
                i += 1;
            }
            numbers
        };
        Config {
            mode: Mode::Observe,
            user_priority: UserPriority::Auto,
            rules: &[],
            numbers: DEFAULTS,
            timeslices: [0; LEVELS],
        }
    }
}

impl Default for Config<'static> {
    fn default() -> Self {
        Config::new()
    }
}

impl Config<'_> {
    /// The same configuration with these rules, which must be in ascending
    /// order of their numbers: a rule out of order is not found.
    pub const fn with_rules(self, rules: &[RuleEffect]) -> Config<'_> {
        Config {
            rules,
            mode: self.mode,
            user_priority: self.user_priority,
            numbers: self.numbers,
            timeslices: self.timeslices,
        }
    }

    /// The value of a numeric parameter, in its unit.
    #[inline]
    pub fn get(&self, number: Number) -> u32 {
        self.numbers
            .get(index(number))
            .copied()
            .unwrap_or(number.spec().default)
    }

    /// Sets a numeric parameter.
    pub fn set(&mut self, number: Number, value: u32) -> Result<(), SetError> {
        let spec = number.spec();
        if value < spec.min || value > spec.max {
            return Err(SetError::OutOfRange {
                min: spec.min,
                max: spec.max,
            });
        }
        if let Some(place) = self.numbers.get_mut(index(number)) {
            *place = value;
        }
        Ok(())
    }

    /// The duration that a parameter stands for; zero for one that is a count.
    #[inline]
    pub fn duration(&self, number: Number) -> Nanos {
        number.spec().duration(self.get(number))
    }

    /// The timeslice of a level; zero takes no turns.
    #[inline]
    pub fn timeslice(&self, level: Priority) -> Nanos {
        Nanos::from_micros(self.timeslices.get(level.index()).copied().unwrap_or(0))
    }

    /// Sets the timeslices of all levels, in microseconds.
    pub fn set_timeslices(&mut self, micros: [u32; LEVELS]) -> Result<(), SetError> {
        if micros.iter().any(|&value| value > TIMESLICE_MAX) {
            return Err(SetError::OutOfRange {
                min: 0,
                max: TIMESLICE_MAX,
            });
        }
        self.timeslices = micros;
        Ok(())
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
    /// `sampler` and `backend` are words of the driver side and unknown here.
    pub fn set_text(&mut self, name: &str, text: &str) -> Result<(), SetError> {
        let text = text.trim_ascii();
        match name {
            "mode" => self.mode = Mode::named(text).ok_or(SetError::Invalid)?,
            "user_priority" => self.user_priority = user_priority(text)?,
            TIMESLICE_NAME => self.set_timeslices(timeslices(text.as_bytes())?)?,
            _ => {
                let spec = NUMBERS
                    .iter()
                    .find(|spec| spec.name == name)
                    .ok_or(SetError::Unknown)?;
                self.set(spec.number, whole(text.as_bytes(), spec.min, spec.max)?)?;
            }
        }
        Ok(())
    }

    /// Writes a parameter as [`Config::set_text`] reads it.
    ///
    /// The outer error says that there is no such parameter here.
    pub fn write_text(
        &self,
        name: &str,
        out: &mut dyn fmt::Write,
    ) -> Result<fmt::Result, SetError> {
        Ok(match name {
            "mode" => out.write_str(self.mode.name()),
            "user_priority" => match self.user_priority {
                UserPriority::Auto => out.write_str("auto"),
                UserPriority::Honour => out.write_str("honour"),
                UserPriority::Cap(cap) => write!(out, "cap:{}", cap.level()),
                UserPriority::Ignore => out.write_str("ignore"),
            },
            TIMESLICE_NAME => self.write_timeslices(out),
            _ => {
                let spec = NUMBERS
                    .iter()
                    .find(|spec| spec.name == name)
                    .ok_or(SetError::Unknown)?;
                write!(out, "{}", self.get(spec.number))
            }
        })
    }

    fn write_timeslices(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let mut values = self.timeslices.iter();
        let Some(first) = values.next() else {
            return Ok(());
        };
        write!(out, "{first}")?;
        if values.clone().all(|value| value == first) {
            return Ok(());
        }
        for value in values {
            write!(out, ",{value}")?;
        }
        Ok(())
    }
}

/// The place of a parameter in the table.
#[inline]
fn index(number: Number) -> usize {
    #[expect(clippy::as_conversions, reason = "an enum without fields")]
    let index = number as usize;
    index
}

fn user_priority(text: &str) -> Result<UserPriority, SetError> {
    match text {
        "auto" => Ok(UserPriority::Auto),
        "honour" => Ok(UserPriority::Honour),
        "ignore" => Ok(UserPriority::Ignore),
        _ => {
            let level = text.strip_prefix("cap:").ok_or(SetError::Invalid)?;
            let highest = u32::from(Priority::HIGHEST.level());
            let level = whole(level.as_bytes(), 0, highest)?;
            Priority::new(level)
                .map(UserPriority::Cap)
                .ok_or(SetError::Invalid)
        }
    }
}

/// One timeslice for all levels, or 16 separated by commas.
fn timeslices(text: &[u8]) -> Result<[u32; LEVELS], SetError> {
    let mut parts = text.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    let first = whole(parts.next().unwrap_or_default(), 0, TIMESLICE_MAX)?;
    let mut slices = [first; LEVELS];
    let Some(second) = parts.next() else {
        return Ok(slices);
    };
    let mut others = core::iter::once(second).chain(parts);
    for slice in slices.iter_mut().skip(1) {
        let part = others.next().ok_or(SetError::Invalid)?;
        *slice = whole(part, 0, TIMESLICE_MAX)?;
    }
    match others.next() {
        None => Ok(slices),
        Some(_) => Err(SetError::Invalid),
    }
}

/// The table's entry of a parameter that is a word.
pub fn choice(name: &str) -> Option<&'static ChoiceSpec> {
    CHOICES.iter().find(|choice| choice.name == name)
}

/// The name of a unit, for tables.
pub const fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Micros => "us",
        Unit::Millis => "ms",
        Unit::Count => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(config: &Config<'_>, name: &str) -> String {
        let mut text = String::new();
        config.write_text(name, &mut text).unwrap().unwrap();
        text
    }

    #[test]
    fn every_number_takes_its_range_and_nothing_else() {
        for spec in NUMBERS {
            let mut config = Config::new();
            assert_eq!(text(&config, spec.name), spec.default.to_string());
            assert!(spec.min <= spec.default && spec.default <= spec.max);
            let range = SetError::OutOfRange {
                min: spec.min,
                max: spec.max,
            };
            for good in [spec.min, spec.max] {
                config.set_text(spec.name, &format!(" {good}\n")).unwrap();
                assert_eq!(config.get(spec.number), good);
                assert_eq!(text(&config, spec.name), good.to_string());
            }
            let before = config;
            for bad in [u64::from(spec.max) + 1, u64::from(u32::MAX) + 1, u64::MAX] {
                assert_eq!(config.set_text(spec.name, &bad.to_string()), Err(range));
            }
            for bad in ["", " ", "-1", "+1", "1.5", "0x10", "1 2", "ten", "\u{661}"] {
                assert_eq!(config.set_text(spec.name, bad), Err(SetError::Invalid));
            }
            assert_eq!(config, before);
        }
    }

    #[test]
    fn every_number_has_its_unit_in_its_name() {
        for spec in NUMBERS {
            let ends = match spec.unit {
                Unit::Micros => spec.name.ends_with("_us"),
                Unit::Millis => spec.name.ends_with("_ms"),
                Unit::Count => !spec.name.ends_with("_us") && !spec.name.ends_with("_ms"),
            };
            assert!(ends, "{}", spec.name);
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
            assert_eq!(config.set_text(name, "other"), Err(SetError::Invalid));
        }
        let range = SetError::OutOfRange { min: 0, max: 15 };
        assert_eq!(config.set_text("user_priority", "cap:16"), Err(range));
        assert_eq!(
            config.set_text("user_priority", "cap:"),
            Err(SetError::Invalid)
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
                Err(SetError::Invalid),
                "{bad}"
            );
        }
        let range = SetError::OutOfRange {
            min: 0,
            max: TIMESLICE_MAX,
        };
        assert_eq!(config.set_text(TIMESLICE_NAME, "10000001"), Err(range));
    }

    #[test]
    fn a_number_is_refused_below_and_above_its_range() {
        for spec in NUMBERS {
            let mut config = Config::new();
            let range = SetError::OutOfRange {
                min: spec.min,
                max: spec.max,
            };
            let outside = [spec.min.checked_sub(1), spec.max.checked_add(1)];
            for value in outside.into_iter().flatten() {
                assert_eq!(config.set(spec.number, value), Err(range), "{}", spec.name);
            }
        }
        let mut config = Config::new();
        assert_eq!(config.set_timeslices([TIMESLICE_MAX; LEVELS]), Ok(()));
        assert!(config.set_timeslices([TIMESLICE_MAX + 1; LEVELS]).is_err());
    }

    #[test]
    fn each_word_has_its_entry() {
        for spec in CHOICES {
            assert_eq!(choice(spec.name).map(|found| found.name), Some(spec.name));
        }
        assert!(choice("none").is_none());
    }
}
