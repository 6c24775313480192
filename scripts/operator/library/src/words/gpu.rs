// SPDX-License-Identifier: GPL-2.0-only
//! How much the module does, for all GPUs and for single ones, and how that is written.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

use gpreempt_policy::{CHOICES, MOST_GPUS};

use crate::words::gone;
use crate::words::setting::{is_gone, parameter};
use crate::words::table::{in_order, shown, Reader};

/// The modes that GPUs have of their own, by their addresses.
pub type OwnModes = BTreeMap<String, String>;

/// The mode for all GPUs, and those that single GPUs have of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modes {
    pub all: String,
    pub own: OwnModes,
}

/// How much the module does in a mode.
pub fn activity(mode: &str) -> usize {
    const ORDER: [&str; 3] = ["off", "observe", "enforce"];
    debug_assert!(CHOICES[0].words.iter().all(|word| ORDER.contains(word)));
    ORDER.iter().position(|word| *word == mode).unwrap_or(0)
}

/// The address of a GPU on the PCI bus as the kernel writes it, or what would be right.
pub fn address(text: &str) -> Result<String, String> {
    let lower = text.to_ascii_lowercase();
    let whole = || {
        let (domain, rest) = lower.split_once(':')?;
        let (bus, rest) = rest.split_once(':')?;
        let (device, function) = rest.split_once('.')?;
        let number = |digits: &str| match digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            true => u32::from_str_radix(digits, 16).ok(),
            false => None,
        };
        let good = (4..=8).contains(&domain.len())
            && (domain.len() == 4 || !domain.starts_with('0'))
            && bus.len() == 2
            && device.len() == 2
            && function.len() == 1
            && number(domain).is_some()
            && number(bus).is_some()
            && number(device).is_some_and(|device| device < 32)
            && number(function).is_some_and(|function| function < 8);
        good.then(|| lower.clone())
    };
    whole().ok_or_else(|| {
        format!(
            "'{}' is not the address of a GPU: write it as 'gpreempt status' shows it, \
             for example \"0000:c1:00.0\"",
            shown(text)
        )
    })
}

/// Understands the tables of all GPUs.
pub(crate) fn take(reader: &mut Reader<'_>, gpus: &DeTable<'_>) -> OwnModes {
    let mut all = OwnModes::new();
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for (name, value) in in_order(gpus) {
        let at = name.span().start;
        let address = match address(name.get_ref()) {
            Ok(address) => address,
            Err(remedy) => {
                reader.fault(at, remedy);
                continue;
            }
        };
        let DeValue::Table(table) = value.get_ref() else {
            reader.fault(at, format!("a GPU is a table: write [gpu.\"{address}\"]"));
            continue;
        };
        if let Some(line) = lines.insert(address.clone(), reader.line(at)) {
            let what = format!("line {line} has GPU {address} already: put the two together");
            reader.fault(at, what);
            continue;
        }
        if lines.len() == MOST_GPUS + 1 {
            let what =
                format!("{MOST_GPUS} GPUs at most can have modes of their own: take some out");
            reader.fault(at, what);
        }
        // A table that says nothing is no difference to none.
        if let Some(mode) = mode(reader, table) {
            all.insert(address, mode);
        }
    }
    all
}

fn mode(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Option<String> {
    let mut mode = None;
    for (name, value) in in_order(table) {
        match name.get_ref().as_ref() {
            "mode" => mode = parameter(reader, "mode", value),
            _ if is_gone(reader, name, value) => {}
            other => match gone::of_one_gpu(other) {
                Some(gone) => reader.gone(name.span().start, gone.to_string()),
                None => reader.unknown(name, "in the table of a GPU", &["mode"]),
            },
        }
    }
    mode
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_as_the_kernel_writes_it() {
        for good in [
            "0000:c1:00.0",
            "ffff:ff:1f.7",
            "10000:01:00.0",
            "ffffffff:00:00.0",
        ] {
            assert_eq!(address(good).as_deref(), Ok(good));
        }
        assert_eq!(address("0000:C1:0A.0").as_deref(), Ok("0000:c1:0a.0"));
        for bad in [
            "",
            "c1:00.0",
            "000:c1:00.0",
            "00000:c1:00.0",
            "100000000:c1:00.0",
            "0000:c1:00",
            "0000:c1:00.8",
            "0000:c1:20.0",
            "0000:c1:0.0",
            "0000:c1:000.0",
            "0000:1:00.0",
            "0000:0c1:00.0",
            "0000:c1:00.00",
            "0000:c1:00.",
            "0000:g1:00.0",
            "0000:+1:00.0",
            "0000:c1:+1.0",
            "0000:c1:00.0 ",
            "0000:c1:00.0/",
            "../x:c1:00.0",
            "card0",
        ] {
            let said = address(bad).unwrap_err();
            assert!(said.contains("0000:c1:00.0"), "{bad}: {said}");
        }
    }
}
