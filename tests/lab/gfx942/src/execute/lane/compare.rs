// SPDX-License-Identifier: GPL-2.0-only
//! What vector comparisons say of one lane's numbers.

use std::cmp::Ordering;
use std::sync::LazyLock;

use super::super::by_operation::ByOperation;
use super::modes::Modes;
use crate::code::Operation;
use crate::float::{Format, DOUBLE, HALF, SINGLE};

/// How the numbers of a comparison are meant.
#[derive(Clone, Copy)]
enum Meant {
    Signed(u32),
    Unsigned(u32),
    Float(Format),
}

impl Meant {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "i16" => Self::Signed(16),
            "i32" => Self::Signed(32),
            "i64" => Self::Signed(64),
            "u16" => Self::Unsigned(16),
            "u32" => Self::Unsigned(32),
            "u64" => Self::Unsigned(64),
            "f16" => Self::Float(HALF),
            "f32" => Self::Float(SINGLE),
            "f64" => Self::Float(DOUBLE),
            _ => return None,
        })
    }

    /// Which number is larger; none if one of them is no number.
    fn order(self, first: u64, second: u64, modes: &Modes) -> Option<Ordering> {
        match self {
            Self::Unsigned(bits) => {
                let left = first << (64 - bits);
                Some(left.cmp(&(second << (64 - bits))))
            }
            Self::Signed(bits) => {
                let wide = |value: u64| (value << (64 - bits)) as i64;
                Some(wide(first).cmp(&wide(second)))
            }
            Self::Float(format) => {
                let ordered = |bits: u64| {
                    let bits = modes.input(format, bits);
                    let magnitude = format.magnitude(bits) as i64;
                    let number = match format.is_negative(bits) {
                        true => -magnitude,
                        false => magnitude,
                    };
                    (!format.is_nan(bits)).then_some(number)
                };
                Some(ordered(first)?.cmp(&ordered(second)?))
            }
        }
    }
}

/// What is asked of the order.
#[derive(Clone, Copy)]
enum Relation {
    /// Whether it is smaller, equal, larger, or there is none.
    Order([bool; 4]),
    /// Which kinds of numbers the first is, by a bit for each in the second.
    Class,
}

impl Relation {
    fn of(name: &str) -> Option<Self> {
        let plain = |name: &str| {
            Some(match name {
                "f" => [false, false, false],
                "lt" => [true, false, false],
                "eq" => [false, true, false],
                "le" => [true, true, false],
                "gt" => [false, false, true],
                "lg" | "ne" => [true, false, true],
                "ge" => [false, true, true],
                "o" | "t" => [true, true, true],
                _ => return None,
            })
        };
        if let Some([smaller, equal, larger]) = plain(name) {
            return Some(Self::Order([smaller, equal, larger, false]));
        }
        Some(match name {
            "class" => Self::Class,
            "u" => Self::Order([false, false, false, true]),
            "tru" => Self::Order([true; 4]),
            "neq" => Self::Order([true, false, true, true]),
            name => {
                let [smaller, equal, larger] = plain(name.strip_prefix('n')?)?;
                Self::Order([!smaller, !equal, !larger, true])
            }
        })
    }
}

/// A comparison that an operation makes.
#[derive(Clone, Copy)]
pub struct Comparison {
    relation: Relation,
    meant: Meant,
    /// Whether EXEC becomes the result too.
    pub sets_exec: bool,
}

/// The bit for the kind of number that this is.
fn class(format: Format, bits: u64) -> u32 {
    let negative = format.is_negative(bits);
    let of = |below: u32, above: u32| if negative { below } else { above };
    if format.is_signaling(bits) {
        0
    } else if format.is_nan(bits) {
        1
    } else if format.is_infinite(bits) {
        of(2, 9)
    } else if format.is_zero(bits) {
        of(5, 6)
    } else if format.is_subnormal(bits) {
        of(4, 7)
    } else {
        of(3, 8)
    }
}

static ALL: LazyLock<ByOperation<Comparison>> =
    LazyLock::new(|| ByOperation::new(Comparison::named));

impl Comparison {
    pub fn of(operation: Operation) -> Option<Self> {
        ALL.get(operation)
    }

    fn named(operation: Operation) -> Option<Self> {
        let name = operation.name();
        let (rest, sets_exec) = match name.strip_prefix("v_cmpx_") {
            Some(rest) => (rest, true),
            None => (name.strip_prefix("v_cmp_")?, false),
        };
        let (relation, of) = rest.split_once('_')?;
        Some(Self {
            relation: Relation::of(relation)?,
            meant: Meant::of(of)?,
            sets_exec,
        })
    }

    pub fn holds(self, first: u64, second: u64, modes: &Modes) -> bool {
        match (self.relation, self.meant) {
            (Relation::Class, Meant::Float(format)) => (second >> class(format, first)) & 1 != 0,
            (Relation::Class, _) => false,
            (Relation::Order([smaller, equal, larger, none]), meant) => {
                match meant.order(first, second, modes) {
                    Some(Ordering::Less) => smaller,
                    Some(Ordering::Equal) => equal,
                    Some(Ordering::Greater) => larger,
                    None => none,
                }
            }
        }
    }
}
