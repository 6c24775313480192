// SPDX-License-Identifier: GPL-2.0-only
//! Layouts in memory that the driver and the GPU share.

pub mod aql;
pub mod descriptor;
pub mod pm4;
pub mod shader;
