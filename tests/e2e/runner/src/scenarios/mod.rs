// SPDX-License-Identifier: GPL-2.0
//! All scenarios, by what they are about.

mod probe;

use crate::scenario::Scenario;

/// Every scenario of every suite.
pub fn all() -> impl Iterator<Item = &'static Scenario> {
    [probe::SCENARIOS].into_iter().flatten()
}
