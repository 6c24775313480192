// SPDX-License-Identifier: GPL-2.0-only
//! The module's parameters in a guest whose GPU clock is dilated.
//!
//! Parameters are times of the host's clock. On hardware that is also the GPU's
//! clock; here the guest's runs faster by the dilation. Each default is turned
//! into what means the same GPU time as on hardware: times are stretched, and a share
//! of the time stays the share that it is.

use gpreempt_policy::{NumberSpec, NUMBERS};

/// What a default becomes in a guest that is so many times slower.
fn in_guest(spec: &NumberSpec, dilation: u32) -> u32 {
    match (spec.name, spec.unit) {
        ("stop_budget_ms", _) | (_, "") => spec.default,
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
pub fn with(dilation: u32, others: &[(&str, u32)]) -> String {
    let more = others.iter().filter_map(|&(name, default)| {
        let spec = NumberSpec {
            default,
            ..*of(name)?
        };
        Some(format!(" {name}={}", in_guest(&spec, dilation)))
    });
    // Of a parameter that is given twice the kernel takes the last.
    stretched(dilation) + &more.collect::<String>()
}

/// The defaults that were in force, as a person reads them.
pub fn in_force() -> String {
    [
        "poll_interval_us",
        "grace_us",
        "min_run_us",
        "max_stop_ms",
        "stop_budget_ms",
        "rule_overhead_percent",
        "claim_overhead_percent",
    ]
    .iter()
    .filter_map(|name| of(name))
    .map(|spec| format!("{}={}", spec.name, spec.default))
    .collect::<Vec<_>>()
    .join(" ")
}

fn of(name: &str) -> Option<&'static NumberSpec> {
    NUMBERS.iter().find(|spec| spec.name == name)
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
        for (name, factor) in [
            ("poll_interval_us", 32),
            ("stop_budget_ms", 1),
            ("rule_overhead_percent", 1),
        ] {
            let default = of(name).unwrap().default;
            assert_eq!(value(&settings, name), factor * default, "{name}");
        }
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
        let settings = with(32, &[("poll_interval_us", 50)]);
        assert_eq!(value(&settings, "poll_interval_us"), 1600);
        assert_eq!(
            value(&settings, "min_run_us"),
            value(&stretched(32), "min_run_us")
        );
    }
}
