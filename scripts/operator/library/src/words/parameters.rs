// SPDX-License-Identifier: GPL-2.0-only
//! The module's parameters, by the policy's one table.

use std::collections::BTreeMap;

use gpreempt_policy::{choice, Config, SetError, CHOICES, NUMBERS, TIMESLICE_MAX, TIMESLICE_NAME};

/// A value for every parameter, as the kernel writes it.
pub type Parameters = BTreeMap<&'static str, String>;

/// The names of all parameters.
pub fn names() -> impl Iterator<Item = &'static str> {
    CHOICES
        .iter()
        .map(|choice| choice.name)
        .chain([TIMESLICE_NAME])
        .chain(NUMBERS.iter().map(|number| number.name))
}

/// What every parameter is without a setting.
pub fn defaults() -> Parameters {
    names().map(|name| (name, default(name))).collect()
}

fn default(name: &str) -> String {
    shown(&Config::new(), name).unwrap_or_default()
}

/// The value as the kernel writes it, or what would be right.
pub fn canonical(name: &str, value: &str) -> Result<String, String> {
    let mut config = Config::new();
    match config.set_text(name, value) {
        Ok(()) => Ok(shown(&config, name).unwrap_or_else(|| value.trim().to_owned())),
        Err(SetError::OutOfRange(min, max)) => Err(format!("give a number from {min} to {max}")),
        Err(SetError::Gone(instead)) => Err(instead.to_owned()),
        Err(error) => match choice(name) {
            Some(choice) => Err(one_of(choice.words)),
            None if name == TIMESLICE_NAME => Err(format!(
                "give a number of microseconds from 0 to {TIMESLICE_MAX}, or 16 of them"
            )),
            None if error == SetError::Unknown => Err(error.to_string()),
            None => Err(range(name)),
        },
    }
}

fn range(name: &str) -> String {
    match NUMBERS.iter().find(|number| number.name == name) {
        Some(number) => format!("give a number from {} to {}", number.min, number.max),
        None => SetError::Unknown.to_string(),
    }
}

fn one_of(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    match words.split_last() {
        Some((last, [])) => format!("give {last}"),
        Some((last, others)) => format!("give {} or {last}", others.join(", ")),
        None => String::new(),
    }
}

fn shown(config: &Config, name: &str) -> Option<String> {
    let mut text = String::new();
    config.write_text(name, &mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_what_the_kernel_would_write() {
        let all = defaults();
        assert_eq!(all.len(), CHOICES.len() + 1 + NUMBERS.len());
        for (name, value) in &all {
            assert_eq!(canonical(name, value).as_ref(), Ok(value), "{name}");
        }
    }

    #[test]
    fn a_value_that_is_none_is_refused_with_what_would_be_right() {
        let wrong = |name, value| canonical(name, value).unwrap_err();
        assert_eq!(wrong("mode", "on"), "give 'observe', 'enforce' or 'off'");
        assert_eq!(wrong("backend", "hsw"), "give 'hws' or 'mqd'");
        assert!(wrong("backend", "process").starts_with("give backend=hws, or backend=mqd where"));
        assert_eq!(wrong("grace_us", "x"), "give a number from 0 to 1000000");
        assert_eq!(
            wrong("poll_interval_us", "19"),
            "give a number from 20 to 1000000"
        );
        assert!(wrong("timeslice_us", "1,2").contains("or 16 of them"));
        assert_eq!(wrong("speed", "1"), "there is no such parameter");
    }

    #[test]
    fn the_same_value_is_written_in_one_way() {
        let equal = ["5"; 16].join(",");
        assert_eq!(canonical("timeslice_us", &equal).unwrap(), "5");
        assert_eq!(canonical("sampler", "mmio\n").unwrap(), "mmio");
        assert_eq!(canonical("user_priority", "cap:07").unwrap(), "cap:7");
    }
}
