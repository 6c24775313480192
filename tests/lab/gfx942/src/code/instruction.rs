// SPDX-License-Identifier: GPL-2.0-only
//! One instruction, as the decoder hands it to whoever executes or prints it.

use super::operand::Operand;
use super::operation::Operation;
use super::table::{Properties, Role, Shape, Slot};

/// The form in which an instruction is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    Sop2,
    Sopk,
    Sop1,
    Sopc,
    Sopp,
    Smem,
    Vop1,
    Vop2,
    Vopc,
    Vop3,
    Vop3p,
    Mai,
    Sdwa,
    Dpp,
    Ds,
    Flat,
    Global,
    Scratch,
    Mubuf,
    Mtbuf,
}

/// What the longer vector encodings say about sources and result. The bits of a
/// mask are sources, counted from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arithmetic {
    pub absolute: u8,
    pub negative: u8,
    /// Sources that are extended by their sign.
    pub extend: u8,
    /// Sources whose upper half is taken; bit 3 is the destination.
    pub select: u8,
    pub clamp: bool,
    /// 1: times two, 2: times four, 3: half.
    pub multiplier: u8,
}

/// What an instruction on pairs says about the halves of its sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Sources whose upper half is used for the lower result.
    pub select_low: u8,
    /// Sources whose upper half is used for the upper result.
    pub select_high: u8,
    pub negative_low: u8,
    pub negative_high: u8,
    pub clamp: bool,
}

impl Pairs {
    /// Lower halves make the lower result, upper halves the upper one.
    pub const WHOLE: Self = Self {
        select_low: 0,
        select_high: 0b111,
        negative_low: 0,
        negative_high: 0,
        clamp: false,
    };
}

/// What a matrix instruction says about which blocks and lanes it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    pub broadcast_size: u8,
    pub broadcast_block: u8,
    pub lane_pattern: u8,
}

/// Which part of a register is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Byte(u8),
    Word(u8),
    Whole,
}

/// What becomes of the part of the destination that is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unused {
    Zero,
    Sign,
    Keep,
}

/// The form with parts of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    pub arithmetic: Arithmetic,
    pub destination: Part,
    pub unused: Unused,
    pub sources: [Part; 2],
}

/// From which lane a lane takes its first source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    QuadPermutation([u8; 4]),
    RowShiftLeft(u8),
    RowShiftRight(u8),
    RowRotateRight(u8),
    WaveShiftLeft,
    WaveRotateLeft,
    WaveShiftRight,
    WaveRotateRight,
    RowMirror,
    RowHalfMirror,
    RowBroadcast15,
    RowBroadcast31,
    RowBroadcast(u8),
}

/// The form with another lane's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    pub arithmetic: Arithmetic,
    pub exchange: Exchange,
    pub row_mask: u8,
    pub bank_mask: u8,
    /// A lane without a partner takes zero instead of doing nothing.
    pub zero_outside: bool,
}

/// What an instruction says about its way to memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    pub offset: i32,
    /// The second of two offsets, in the local share.
    pub second_offset: u8,
    pub sc0: bool,
    pub sc1: bool,
    pub nt: bool,
    /// Scalar accesses: past the cache, or with the old value as a result.
    pub glc: bool,
    pub lds: bool,
    /// Scalar accesses: whether a register is added to the offset.
    pub with_register: bool,
    /// Buffers: whether the address has an offset and an index.
    pub offen: bool,
    pub idxen: bool,
    /// Typed buffers: the format of a number and of the data.
    pub data_format: u8,
    pub number_format: u8,
}

/// What an instruction says besides its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modifiers {
    None,
    Arithmetic(Arithmetic),
    Pairs(Pairs),
    Matrix(Matrix),
    Parts(Parts),
    Lanes(Lanes),
    Access(Access),
}

/// The most operands of an instruction.
const OPERANDS: usize = 6;

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub operation: Operation,
    pub encoding: Encoding,
    /// How many bytes it has: 4 or 8.
    pub size: u8,
    pub modifiers: Modifiers,
    pub(super) shape: &'static Shape,
    operands: [Operand; OPERANDS],
    roles: [Option<Role>; OPERANDS],
    count: u8,
}

impl Instruction {
    pub(super) fn new(entry: (Operation, &'static Shape), encoding: Encoding, size: u8) -> Self {
        Self {
            operation: entry.0,
            encoding,
            size,
            modifiers: Modifiers::None,
            shape: entry.1,
            operands: [Operand::Off; OPERANDS],
            roles: [None; OPERANDS],
            count: 0,
        }
    }

    pub(super) fn push(&mut self, role: Role, operand: Operand) {
        let at = usize::from(self.count);
        if let (Some(place), Some(of)) = (self.operands.get_mut(at), self.roles.get_mut(at)) {
            *place = operand;
            *of = Some(role);
            self.count += 1;
        }
    }

    /// Adds an operand for each slot of the shape, as `of` finds it; none if one of
    /// them is not valid.
    pub(super) fn fill(&mut self, of: impl Fn(&Slot) -> Option<Operand>) -> Option<()> {
        for slot in self.shape.slots {
            self.push(slot.role, of(slot)?);
        }
        Some(())
    }

    /// The operands in the order in which assembly text names them.
    pub fn operands(&self) -> &[Operand] {
        &self.operands[..usize::from(self.count)]
    }

    /// The first operand of this role.
    pub(crate) fn operand_of(&self, role: Role) -> Option<Operand> {
        let found = self.with_roles().find(|(of, _)| *of == role);
        found.map(|(_, operand)| operand)
    }

    /// What the shape says of the operand of this role.
    pub(crate) fn slot(&self, role: Role) -> Option<&'static Slot> {
        self.shape.slots.iter().find(|slot| slot.role == role)
    }

    /// The same with other vector registers for the sources and results that are chosen.
    pub(crate) fn with_registers_moved(mut self, by: u8, chosen: impl Fn(Role) -> bool) -> Self {
        for (operand, role) in self.operands.iter_mut().zip(self.roles) {
            if let (Operand::Vector { first, .. } | Operand::Accumulation { first, .. }, true) =
                (operand, role.is_some_and(&chosen))
            {
                *first = first.saturating_add(by);
            }
        }
        self
    }

    pub(crate) fn properties(&self) -> Properties {
        self.shape.properties
    }

    pub(super) fn with_roles(&self) -> impl Iterator<Item = (Role, Operand)> + '_ {
        self.roles
            .iter()
            .zip(self.operands())
            .filter_map(|(role, operand)| Some(((*role)?, *operand)))
    }
}
