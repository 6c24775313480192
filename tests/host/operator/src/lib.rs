// SPDX-License-Identifier: GPL-2.0-only
//! Tests of the operator's command; see `tests/`.
