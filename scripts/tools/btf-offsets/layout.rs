// SPDX-License-Identifier: GPL-2.0-only

//! What has been found out: named constants, and what the module compares.

use crate::expected::Expected;

/// All constants, in the order of the list.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout<'a> {
    pub constants: Vec<Constant>,
    /// What the module compares with the driver that it meets, in its order.
    pub expected: Vec<Expected<'a>>,
    /// What it compares besides before it uses `transaction=direct`.
    pub direct: Vec<Expected<'a>>,
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

impl Value {
    /// The same of something that not every kernel has.
    pub fn optional(self) -> Self {
        match self {
            Value::Offset(at) => Value::OptionalOffset(Some(at)),
            Value::Amount(count) => Value::OptionalAmount(Some(count)),
            Value::Enumerator(value) => Value::OptionalEnumerator(Some(value)),
            optional => optional,
        }
    }
}
