// SPDX-License-Identifier: GPL-2.0-only
//! The operator's configuration file.

use gpreempt_operator::configuration::config::Config;
use gpreempt_operator::configuration::file_text;

/// A file is understood, or each fault has a place in it and words; and what was
/// understood means the same when it is written again.
pub fn file(input: &[u8]) {
    match Config::parse_bytes(input) {
        Err(faults) => {
            assert!(!faults.is_empty(), "refused without a reason");
            let lines = input.iter().filter(|byte| **byte == b'\n').count() + 1;
            for fault in faults {
                assert!((1..=lines).contains(&fault.line), "{fault:?}");
                assert!((1..=input.len() + 1).contains(&fault.column), "{fault:?}");
                let is_a_line = !fault.what.is_empty() && !fault.what.contains(char::is_control);
                assert!(is_a_line, "{fault:?}");
            }
        }
        Ok(mut config) => {
            // What is gone is said and not written.
            config.gone.clear();
            let text = file_text::toml(&config);
            assert_eq!(Config::parse(&text), Ok(config), "{text}");
        }
    }
}
