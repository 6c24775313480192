// SPDX-License-Identifier: GPL-2.0-only
//! What vector comparisons of integers say of one lane's numbers.

use std::cmp::Ordering;

use crate::code::Operation;

/// How the numbers of a comparison are meant.
#[derive(Clone, Copy)]
enum Meant {
    Signed32,
    Unsigned32,
    Signed64,
    Unsigned64,
}

/// The parts of a comparison's name: what holds, and of what.
fn parts(operation: Operation) -> Option<(&'static str, Meant, bool)> {
    let name = operation.name();
    let (rest, sets_exec) = match name.strip_prefix("v_cmpx_") {
        Some(rest) => (rest, true),
        None => (name.strip_prefix("v_cmp_")?, false),
    };
    let (relation, of) = rest.split_once('_')?;
    let meant = match of {
        "i32" => Meant::Signed32,
        "u32" => Meant::Unsigned32,
        "i64" => Meant::Signed64,
        "u64" => Meant::Unsigned64,
        _ => return None,
    };
    Some((relation, meant, sets_exec))
}

/// A comparison that an operation makes.
#[derive(Clone, Copy)]
pub struct Comparison {
    relation: &'static str,
    meant: Meant,
    /// Whether EXEC becomes the result too.
    pub sets_exec: bool,
}

impl Comparison {
    pub fn of(operation: Operation) -> Option<Self> {
        let (relation, meant, sets_exec) = parts(operation)?;
        Some(Self {
            relation,
            meant,
            sets_exec,
        })
    }

    pub fn holds(self, first: u64, second: u64) -> bool {
        let order = match self.meant {
            Meant::Signed32 => (first as i32).cmp(&(second as i32)),
            Meant::Unsigned32 => (first as u32).cmp(&(second as u32)),
            Meant::Signed64 => (first as i64).cmp(&(second as i64)),
            Meant::Unsigned64 => first.cmp(&second),
        };
        match self.relation {
            "lt" => order == Ordering::Less,
            "eq" => order == Ordering::Equal,
            "le" => order != Ordering::Greater,
            "gt" => order == Ordering::Greater,
            "ne" => order != Ordering::Equal,
            "ge" => order != Ordering::Less,
            relation => relation == "t",
        }
    }
}
