// SPDX-License-Identifier: GPL-2.0-only
//! The module's parameters in a guest whose GPU clock is dilated.
//!
//! Parameters are times of the host's clock. On hardware that is also the GPU's
//! clock; here the guest's runs faster by the dilation. Each default is turned
//! into what means the same GPU time as on hardware: times are stretched, and a share
//! of the time stays the share that it is.

use gpreempt_policy::{Number, NumberSpec, Unit, NUMBERS};

/// What a default becomes in a guest that is so many times slower.
fn in_guest(spec: &NumberSpec, dilation: u32) -> u32 {
    match spec.number {
        Number::StopBudget => spec.default,
        _ if spec.unit == Unit::Count => spec.default,
        _ => spec.default.saturating_mul(dilation).min(spec.max),
    }
}

/// The module's parameters for a guest, as insmod takes them.
pub fn stretched(dilation: u32) -> String {
    NUMBERS
        .iter()
        .map(|spec| format!("{}={}", spec.name, in_guest(spec, dilation)))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The same with other values, which are given as on hardware.
pub fn with(dilation: u32, others: &[(Number, u32)]) -> String {
    let more = others.iter().map(|&(number, default)| {
        let spec = NumberSpec {
            default,
            ..number.spec()
        };
        format!(" {}={}", spec.name, in_guest(&spec, dilation))
    });
    // Of a parameter that is given twice the kernel takes the last.
    stretched(dilation) + &more.collect::<String>()
}

/// The defaults that were in force, as a person reads them.
pub fn in_force() -> String {
    [
        Number::PollInterval,
        Number::Grace,
        Number::MinRun,
        Number::MaxStop,
        Number::StopBudget,
        Number::RuleOverhead,
        Number::ClaimOverhead,
    ]
    .map(|number| format!("{}={}", number.spec().name, number.spec().default))
    .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpreempt_policy::Config;

    fn value(settings: &str, name: &str) -> u32 {
        settings
            .split(' ')
            .filter_map(|word| word.split_once('='))
            .filter(|(found, _)| *found == name)
            .map(|(_, value)| value.parse().unwrap())
            .last()
            .unwrap()
    }

    #[test]
    fn every_value_is_one_that_the_module_takes() {
        let mut config = Config::new();
        for setting in stretched(32).split(' ') {
            let (name, value) = setting.split_once('=').unwrap();
            config.set_text(name, value).unwrap();
        }
    }

    #[test]
    fn times_are_stretched_and_a_share_stays() {
        let settings = stretched(32);
        let default = |number: Number| number.spec().default;
        let poll = Number::PollInterval;
        assert_eq!(value(&settings, poll.spec().name), 32 * default(poll));
        let budget = Number::StopBudget;
        assert_eq!(value(&settings, budget.spec().name), default(budget));
        let count = Number::RuleOverhead;
        assert_eq!(value(&settings, count.spec().name), default(count));
    }

    #[test]
    fn without_dilation_everything_is_the_default() {
        let settings = stretched(1);
        for spec in NUMBERS {
            assert_eq!(value(&settings, spec.name), spec.default, "{}", spec.name);
        }
    }

    #[test]
    fn another_value_takes_the_place_of_the_default() {
        let settings = with(32, &[(Number::PollInterval, 50)]);
        assert_eq!(value(&settings, "poll_interval_us"), 1600);
        assert_eq!(
            value(&settings, "min_run_us"),
            value(&stretched(32), "min_run_us")
        );
    }
}
