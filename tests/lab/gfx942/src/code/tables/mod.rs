// SPDX-License-Identifier: GPL-2.0-only
//! The instructions that there are, one table for each encoding.

mod compare;
mod memory;
mod packed;
mod scalar;
mod share;
mod vector;
mod vop3;

use std::sync::LazyLock;

use super::table::Index;

macro_rules! indexes {
    ($($name:ident = $room:ident;)*) => {
        $(pub static $name: LazyLock<Index> = LazyLock::new(|| Index::new($room::$name));)*
    };
}

indexes! {
    SOP2 = scalar;
    SOPK = scalar;
    SOP1 = scalar;
    SOPC = scalar;
    SOPP = scalar;
    SMEM = memory;
    VOP1 = vector;
    VOP2 = vector;
    VOPC = compare;
    VOP3 = vop3;
    VOP3P = packed;
    MAI = packed;
    DS = share;
    FLAT = memory;
    MUBUF = memory;
    MTBUF = memory;
}
