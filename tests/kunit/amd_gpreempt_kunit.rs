// SPDX-License-Identifier: GPL-2.0-only

//! The tests that need a kernel, as a module of their own.
//!
//! It links the same crates as `amd_gpreempt.ko`, so that the product carries no
//! test code and the tests need no GPU.  The kernel runs the suites when the
//! module has been loaded; `scripts/test/kunit` boots the kernel and reads the result.

use kernel::prelude::*;

mod check;
mod contexts;
mod cost;
mod crowd;
mod direct;
mod failure;
mod fake;
mod grid;
mod heads;
mod hint;
mod misfit;
mod policy;
mod record_cases;
mod registers;
mod roster_cases;
mod scene;
mod settings;
mod single;
mod sort;
mod transaction;
mod unwritten_cases;
mod updates;
mod walk;

/// What the suites test of the module itself.
#[allow(dead_code)] // The product uses the rest of it.
#[path = "../../src/node"]
mod node {
    pub(crate) mod histogram;
    pub(crate) mod observation;
    pub(crate) mod places;
    pub(crate) mod record;
    pub(crate) mod roster;
    pub(crate) mod storage;
    pub(crate) mod unwritten;
}

/// Does nothing but be there while the suites run.
struct Suites;

module! {
    type: Suites,
    name: "amd_gpreempt_kunit",
    authors: ["The AMD GPREEMPT authors"],
    description: "KUnit suites of amd_gpreempt",
    license: "GPL",
}

impl kernel::Module for Suites {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(Self)
    }
}
