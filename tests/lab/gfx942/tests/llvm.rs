// SPDX-License-Identifier: GPL-2.0-only
//! The decoder against LLVM: `tests/data/gfx942/instructions.txt` has machine code
//! and what LLVM says of it, and `scripts/tools/machine-code` makes it.

use std::collections::BTreeMap;
use std::process::Command;

use gfx942::code::{decode, Encoding, Instruction, Operation};

const TABLE: &str = include_str!("../../../data/gfx942/instructions.txt");
const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../scripts/tools/machine-code"
);
/// What the table says of bytes that are no instruction.
const NONE: &str = "-";

struct Case {
    bytes: Vec<u8>,
    text: &'static str,
}

fn cases() -> impl Iterator<Item = Case> {
    TABLE.lines().map(|line| {
        let mut parts = line.splitn(3, ' ');
        let mut word = || u32::from_str_radix(parts.next().unwrap(), 16).unwrap();
        let bytes = [word().to_le_bytes(), word().to_le_bytes()].concat();
        let text = parts.next().unwrap();
        Case { bytes, text }
    })
}

fn instructions() -> impl Iterator<Item = Instruction> {
    cases().filter_map(|case| decode(&case.bytes).ok())
}

#[test]
fn the_text_of_every_case_is_that_of_llvm() {
    let mut wrong = Vec::new();
    for case in cases() {
        let text = decode(&case.bytes).map_or_else(|_| NONE.to_string(), |of| of.to_string());
        if text != case.text {
            wrong.push(format!(
                "{:02x?}: LLVM: {}, here: {text}",
                case.bytes, case.text
            ));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_operation_that_the_decoder_knows_is_in_the_table() {
    let seen: Vec<Operation> = instructions().map(|of| of.operation).collect();
    let missing: Vec<&str> = Operation::ALL
        .iter()
        .filter(|operation| !seen.contains(operation))
        .map(|operation| operation.name())
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn every_encoding_has_valid_and_invalid_cases_in_the_table() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for instruction in instructions() {
        *counts
            .entry(format!("{:?}", instruction.encoding))
            .or_default() += 1;
    }
    for encoding in [Encoding::Sdwa, Encoding::Dpp, Encoding::Vop3, Encoding::Mai] {
        assert!(counts[&format!("{encoding:?}")] > 90, "{counts:?}");
    }
    assert_eq!(counts.len(), 20, "{counts:?}");
    assert!(cases().filter(|case| case.text == NONE).count() > 1000);
}

#[test]
fn an_instruction_that_is_cut_short_is_none() {
    for case in cases().filter(|case| case.text != NONE) {
        let size = usize::from(decode(&case.bytes).unwrap().size);
        for length in 0..size {
            assert!(decode(&case.bytes[..length]).is_err(), "{}", case.text);
        }
        let alone = decode(&case.bytes[..size]).unwrap();
        assert_eq!(alone.to_string(), case.text);
    }
}

#[test]
fn the_table_is_what_llvm_says() {
    assert!(
        std::env::var_os("GP_INSIDE_ROOT").is_some(),
        "this asks LLVM, which the project's root has: run it by scripts/setup/in-root"
    );
    let run = Command::new(SCRIPT).arg("--check").output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(
        run.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&run.stderr)
    );
}
