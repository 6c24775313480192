// SPDX-License-Identifier: GPL-2.0-only
//! Every input that is kept, once more, and the shapes that break readers.

use std::collections::BTreeSet;
use std::fs;

use gpreempt_fuzz::{corpus, TARGETS};

#[test]
fn kept_inputs_break_no_property() {
    for target in TARGETS {
        let file = corpus::directory()
            .join(target.name)
            .with_extension("corpus");
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
        let inputs = corpus::parse(&text).unwrap_or_else(|error| panic!("{file:?}: {error:#}"));
        assert!(!inputs.is_empty(), "{file:?} has no input");
        for input in inputs {
            (target.run)(&input);
        }
    }
}

#[test]
fn inputs_of_one_byte_break_no_property() {
    for target in TARGETS {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            for length in [0, 1, 3, 64, target.longest] {
                (target.run)(&vec![byte; length]);
            }
        }
    }
}

#[test]
fn there_is_a_target_for_each_file_of_inputs() {
    let files: BTreeSet<String> = fs::read_dir(corpus::directory())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".corpus"))
        .collect();
    let targets = TARGETS
        .iter()
        .map(|target| format!("{}.corpus", target.name))
        .collect();
    assert_eq!(files, targets);
}
