// SPDX-License-Identifier: GPL-2.0-only

//! Where the fields of the driver's structures are, taken by
//! `scripts/tools/btf-offsets` from the type information of the very `amdgpu.ko` that
//! the module is built for.

#![forbid(unsafe_code)]
#![allow(dead_code, unreachable_pub, reason = "generated for the shim as well")]

include!(env!("GP_LAYOUT"));
