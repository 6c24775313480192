// SPDX-License-Identifier: GPL-2.0
//! The module's parameters in a guest whose GPU clock is dilated.
//!
//! Parameters are times of the host's clock. On hardware that is also the GPU's
//! clock; here the guest's runs faster by the dilation, so each default is
//! stretched by it, and means the same GPU time as on hardware.

use gpreempt_policy::{Unit, NUMBERS};

/// The module's parameters for a guest, as insmod takes them.
pub fn stretched(dilation: u32) -> String {
    NUMBERS
        .iter()
        .filter(|spec| spec.unit != Unit::Count)
        .map(|spec| {
            let value = spec.default.saturating_mul(dilation).min(spec.max);
            format!("{}={value}", spec.name)
        })
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpreempt_policy::Config;

    #[test]
    fn every_value_is_one_that_the_module_takes() {
        let mut config = Config::new();
        for setting in stretched(32).split(' ') {
            let (name, value) = setting.split_once('=').unwrap();
            config.set_text(name, value).unwrap();
        }
    }
}
