// SPDX-License-Identifier: GPL-2.0-only
//! What a memory instruction moves, by its name.

use std::sync::LazyLock;

use super::super::by_operation::ByOperation;
use super::atomic::Change;
use crate::code::Operation;

/// The half of a register that a load of 16 bits writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    Lower,
    Upper,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    pub bytes: u8,
    pub signed: bool,
    pub half: Option<Half>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    Load(Load),
    Store { bytes: u8, upper: bool },
    Change { change: Change, bytes: u8 },
}

/// How many bytes, and whether they have a sign.
fn kind(name: &str) -> Option<(u8, bool)> {
    Some(match name {
        "ubyte" | "u8" | "byte" | "b8" => (1, false),
        "sbyte" | "i8" => (1, true),
        "ushort" | "u16" | "short" | "b16" => (2, false),
        "sshort" | "i16" => (2, true),
        "dword" | "b32" => (4, false),
        "dwordx2" | "b64" => (8, false),
        "dwordx3" | "b96" => (12, false),
        "dwordx4" | "b128" => (16, false),
        _ => return None,
    })
}

/// A load or a store by its name without its beginning.
pub fn load(of: &str) -> Option<Load> {
    let (name, half) = match (of.strip_suffix("_d16"), of.strip_suffix("_d16_hi")) {
        (Some(name), _) => (name, Some(Half::Lower)),
        (_, Some(name)) => (name, Some(Half::Upper)),
        _ => (of, None),
    };
    let (bytes, signed) = kind(name)?;
    Some(Load {
        bytes,
        signed,
        half,
    })
}

pub fn store(of: &str) -> Option<Transfer> {
    let (name, upper) = match of.strip_suffix("_d16_hi") {
        Some(name) => (name, true),
        None => (of, false),
    };
    let (bytes, _) = kind(name)?;
    Some(Transfer::Store { bytes, upper })
}

static ALL: LazyLock<ByOperation<Transfer>> = LazyLock::new(|| ByOperation::new(Transfer::named));

impl Transfer {
    /// What an instruction of FLAT, GLOBAL, SCRATCH or MUBUF moves.
    pub fn of(operation: Operation) -> Option<Self> {
        ALL.get(operation)
    }

    fn named(operation: Operation) -> Option<Self> {
        let (_, name) = operation.name().split_once('_')?;
        if let Some(of) = name.strip_prefix("load_") {
            return load(of.strip_prefix("lds_").unwrap_or(of)).map(Self::Load);
        }
        if let Some(of) = name.strip_prefix("store_") {
            return store(of);
        }
        let (change, bytes) = Change::of(name.strip_prefix("atomic_")?)?;
        Some(Self::Change { change, bytes })
    }

    pub const fn bytes(self) -> u8 {
        match self {
            Self::Load(load) => load.bytes,
            Self::Store { bytes, .. } | Self::Change { bytes, .. } => bytes,
        }
    }
}
