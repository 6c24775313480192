// SPDX-License-Identifier: GPL-2.0-only
//! Executing an instruction. Where a file is named for it, the operations that were
//! executed are written there, for the test that wants every one of them to be tried.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::{LazyLock, Mutex};

use gfx942::code::decode;
use gfx942::wave::{Memory, Outcome, Wave};

/// The variable that names the file.
pub const EXECUTED: &str = "GFX942_EXECUTED";

static FILE: LazyLock<Option<File>> = LazyLock::new(|| {
    let file = std::env::var_os(EXECUTED)?;
    let opened = OpenOptions::new().append(true).open(file);
    Some(opened.expect("the file for the operations that are executed"))
});
static SEEN: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

/// The operation that the wave has come to.
fn next(wave: &Wave, memory: &mut impl Memory) -> Option<&'static str> {
    let mut bytes = [0; 8];
    let size = match memory.fetch(wave.pc, &mut bytes) {
        Ok(()) => 8,
        Err(_) => 4,
    };
    memory.fetch(wave.pc, &mut bytes[..size]).ok()?;
    let instruction = decode(&bytes[..size]).ok()?;
    Some(instruction.operation.name())
}

pub fn step(wave: &mut Wave, memory: &mut impl Memory) -> Outcome {
    let operation = FILE.as_ref().and_then(|_| next(wave, memory));
    let outcome = wave.step(memory);
    let is_done = !matches!(outcome, Outcome::Illegal { .. } | Outcome::Fault(_));
    if let (true, Some(name), Some(mut file)) = (is_done, operation, FILE.as_ref()) {
        if SEEN.lock().unwrap().insert(name) {
            file.write_all(format!("{name}\n").as_bytes()).unwrap();
        }
    }
    outcome
}
