// SPDX-License-Identifier: GPL-2.0-only

//! A list of bugs in the driver's side of the module, and whether the KUnit suites notice
//! each of them.
//!
//! They are all compiled into one test module, which does what it should unless a number
//! is given to it: so the list takes one build, and one load of the module for each bug.

pub mod bugs;
pub mod guest;
pub mod tree;
