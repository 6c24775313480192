// SPDX-License-Identifier: GPL-2.0-only
//! LLVM's fuzzer for one target, which `GP_FUZZ` names; the arguments are the
//! fuzzer's own. `scripts/test/fuzz` builds and runs it.
#![no_main]

use std::sync::OnceLock;

use gpreempt_fuzz::{target, Target};
use libfuzzer_sys::fuzz_target;

static TARGET: OnceLock<&'static Target> = OnceLock::new();

fn chosen() -> &'static Target {
    let name = std::env::var("GP_FUZZ").unwrap_or_default();
    target(&name).unwrap_or_else(|| {
        eprintln!(
            "fuzzer: there is no target '{name}': set GP_FUZZ to one that 'corpus list' names"
        );
        std::process::exit(2)
    })
}

fuzz_target!(|input: &[u8]| (TARGET.get_or_init(chosen).run)(input));
