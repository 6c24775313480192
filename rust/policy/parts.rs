// SPDX-License-Identifier: GPL-2.0-only
//! What several rooms build on.

pub(crate) mod lengths;
pub(crate) mod table;
