// SPDX-License-Identifier: GPL-2.0-only
//! What the decoder knows and nothing executes: the list in `docs/machine-code.md`. All
//! that is executed is tried by another test of this program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use crate::common::recorded::EXECUTED;
use gfx942::code::decode;
use gfx942::wave::{Fault, Memory, Outcome, Wave};

const TABLE: &str = include_str!("../../../data/gfx942/instructions.txt");

/// How the names begin of operations that are not executed in any encoding.
const NOT_EXECUTED: [&str; 27] = [
    "v_screen_partition_4se_b32",
    "tbuffer_",
    "buffer_load_format_",
    "buffer_store_format_",
    "buffer_store_lds_dword",
    "s_scratch_",
    "s_atomic_",
    "s_buffer_atomic_",
    "s_atc_probe",
    "s_dcache_discard",
    "ds_gws_barrier",
    "ds_gws_sema_release_all",
    "ds_wrap_rtn_b32",
    "ds_condxchg32_rtn_b64",
    "ds_read_addtid_b32",
    "ds_write_addtid_b32",
    "s_cbranch_g_fork",
    "s_cbranch_i_fork",
    "s_cbranch_join",
    "s_setkill",
    "s_sendmsghalt",
    "s_wakeup",
    "s_endpgm_ordered_ps_done",
    "s_cbranch_cdbgsys",
    "s_cbranch_cdbguser",
    "s_cbranch_cdbgsys_or_user",
    "s_cbranch_cdbgsys_and_user",
];

/// One instruction at zero, and zeros elsewhere.
struct One(Vec<u8>, [u32; 64]);

impl Memory for One {
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        for (at, byte) in (address..).zip(into) {
            *byte = usize::try_from(at).map_or(0, |at| self.0.get(at).copied().unwrap_or(0));
        }
        Ok(())
    }

    fn write(&mut self, _: u64, _: &[u8]) -> Result<(), Fault> {
        Ok(())
    }

    fn counters(&mut self) -> &mut [u32] {
        &mut self.1
    }
}

fn is_listed(name: &str) -> bool {
    NOT_EXECUTED
        .iter()
        .any(|beginning| name.starts_with(beginning))
}

/// Whether each operation of the table is executed in any of its cases.
fn executed() -> BTreeMap<&'static str, bool> {
    let mut executed: BTreeMap<&str, bool> = BTreeMap::new();
    for line in TABLE.lines().filter(|line| !line.ends_with(" -")) {
        let words = line.split(' ').take(2);
        let bytes: Vec<u8> = words
            .flat_map(|word| u32::from_str_radix(word, 16).unwrap().to_le_bytes())
            .collect();
        let name = decode(&bytes).unwrap().operation.name();
        let mut wave = Wave::new(0);
        // Some instructions are the trap handler's alone.
        wave.begin_handler(0);
        let outcome = wave.step(&mut One(bytes, [1; 64]));
        let is_known = !matches!(outcome, Outcome::Illegal { .. });
        *executed.entry(name).or_default() |= is_known;
    }
    executed
}

#[test]
fn what_is_not_executed_is_listed_and_nothing_else_is() {
    let executed = executed();
    // Cases that LLVM knows can be beyond what is executed: modifiers, registers that
    // are none. One case that is executed is enough.
    let by_chance: BTreeSet<&str> = MODIFIED.into_iter().collect();
    let missing: Vec<&&str> = executed
        .iter()
        .filter(|(name, known)| !**known && !is_listed(name) && !by_chance.contains(*name))
        .map(|(name, _)| name)
        .collect();
    assert!(
        missing.is_empty(),
        "not executed, and not listed: {missing:?}"
    );
    let listed: Vec<&&str> = executed
        .iter()
        .filter(|(name, known)| **known && is_listed(name))
        .map(|(name, _)| name)
        .collect();
    assert!(listed.is_empty(), "listed, and executed: {listed:?}");
}

/// Matrix instructions of which the table has none without a broadcast; another test
/// executes them.
const MODIFIED: [&str; 8] = [
    "v_mfma_f32_16x16x32_bf8_fp8",
    "v_mfma_f32_16x16x32_fp8_bf8",
    "v_mfma_f32_32x32x16_fp8_fp8",
    "v_mfma_f32_16x16x1_4b_f32",
    "v_mfma_f32_32x32x2_f32",
    "v_mfma_f32_32x32x4_2b_bf16",
    "v_mfma_f32_32x32x8_f16",
    "v_mfma_f64_16x16x4_f64",
];

/// Runs the other tests of this program and asks which operations they executed. Where one
/// of them fails it says so itself.
#[test]
fn every_operation_is_tried_with_an_expectation_of_its_own() {
    const THIS: &str = "every_operation_is_tried_with_an_expectation_of_its_own";
    let name = format!("executed-{}", std::process::id());
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&file, "").unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args(["--skip", THIS])
        .env(EXECUTED, &file)
        .output()
        .unwrap();
    let tried = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let tried: BTreeSet<&str> = tried.lines().collect();
    let missing: Vec<&str> = executed()
        .into_iter()
        .filter(|(name, is_known)| *is_known && !tried.contains(name))
        .map(|(name, _)| name)
        .collect();
    assert!(missing.is_empty(), "without a test: {missing:?}");
}
