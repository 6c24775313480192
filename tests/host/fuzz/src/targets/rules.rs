// SPDX-License-Identifier: GPL-2.0-only
//! The text of a rule, as anybody with the right to write rules may write it.

use gpreempt_policy::{unescaped, RuleText, Subject};

/// A text is a rule, or is refused with a reason; and a rule means the same
/// however its words are apart.
pub fn text(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    match RuleText::parse(text) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(rule) => {
            let name = match rule.subject {
                Subject::Pid(pid) => {
                    assert!(pid > 0);
                    ""
                }
                Subject::Comm(name) | Subject::Cgroup(name) => name,
            };
            if let Some(node) = rule.node {
                let is_plain = |byte: u8| byte.is_ascii_hexdigit() || b":.".contains(&byte);
                assert!(node.gpu.bytes().all(is_plain) && node.index < 64);
            }
            let bytes = unescaped(name).expect("it was taken").count();
            assert!(bytes <= name.len() && bytes <= 1024);
            let spaced: Vec<&str> = text.split_ascii_whitespace().collect();
            let spaced = spaced.join(" \t ");
            assert_eq!(RuleText::parse(&spaced), Ok(rule), "{spaced:?}");
        }
    }
}
