// SPDX-License-Identifier: GPL-2.0-only

//! What has been found out: named constants, and a hash over all of them.

use std::fmt::Write;

/// All constants, in the order of the list.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    pub constants: Vec<Constant>,
    /// Bytes of the module's BTF, by which a running module is recognised.
    pub btf_size: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Constant {
    pub name: String,
    /// What it says, as a sentence for the generated file.
    pub meaning: String,
    pub value: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Where a field stands in its structure.
    Offset(u64),
    /// Likewise, for a field that not every kernel has.
    OptionalOffset(Option<u64>),
    /// A size in bytes or a number of elements.
    Amount(u64),
    OptionalAmount(Option<u64>),
    Enumerator(i64),
    OptionalEnumerator(Option<i64>),
}

impl Layout {
    /// The 64-bit FNV-1a hash over the names and values, in their order.
    pub fn hash(&self) -> u64 {
        let mut text = format!("btf_size={}\n", self.btf_size);
        for Constant { name, value, .. } in &self.constants {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name}={value:?}");
        }
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }
}
