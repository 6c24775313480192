// SPDX-License-Identifier: GPL-2.0
//! The module's parser of rules, for tests on the host.

#[path = "../../../../rust/kfd/rule_text.rs"]
pub mod rule_text;
