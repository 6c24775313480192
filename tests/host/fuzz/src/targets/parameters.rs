// SPDX-License-Identifier: GPL-2.0-only
//! The text of a parameter.

use gpreempt_policy::{Config, CHOICES, NUMBERS, TIMESLICE_NAME};

/// A text is taken whole, and then it is what is shown; or nothing changes.
pub fn text(input: &[u8]) {
    let Some((&which, text)) = input.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let names: Vec<&str> = NUMBERS
        .iter()
        .map(|number| number.name)
        .chain(CHOICES.iter().map(|choice| choice.name))
        .chain([TIMESLICE_NAME, "no such parameter"])
        .collect();
    let name = names[usize::from(which) % names.len()];
    let mut config = Config::new();
    if config.set_text(name, text).is_err() {
        assert_eq!(config, Config::new(), "{name}={text:?} was refused");
        return;
    }
    let mut written = String::new();
    assert_eq!(config.write_text(name, &mut written), Ok(()), "{name}");
    let mut again = Config::new();
    assert_eq!(again.set_text(name, &written), Ok(()), "{name}={written}");
    assert_eq!(again, config, "{name}={text:?}");
}
