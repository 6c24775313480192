// SPDX-License-Identifier: GPL-2.0-only
//! What a table of instructions is made of: for each shape, which operands an
//! instruction has, in the order in which assembly text names them, what else its
//! encoding accepts, and the operations of that shape with their numbers.

use super::operation::Operation;

/// How wide an operand is, and how its constants are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The number of 32-bit registers.
    pub dwords: u8,
    pub number: Number,
    pub signs: Signs,
}

/// What an operand of 16 bits does with a constant; wider ones are all `Wide`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    Wide,
    Integer16,
    Float16,
    /// Two numbers of 16 bits, side by side.
    Pair,
}

/// What the sign bits of the longer encodings do to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signs {
    /// They are part of no valid instruction.
    Refused,
    /// The magnitude is taken, then the sign is changed.
    Float,
    /// The sign bit asks for sign extension; the magnitude bit has no meaning.
    Extend,
    /// They are accepted and have no meaning.
    Ignored,
}

const fn kind(dwords: u8, number: Number, signs: Signs) -> Kind {
    Kind {
        dwords,
        number,
        signs,
    }
}

pub const B32: Kind = kind(1, Number::Wide, Signs::Refused);
pub const B64: Kind = kind(2, Number::Wide, Signs::Refused);
pub const B96: Kind = kind(3, Number::Wide, Signs::Refused);
pub const B128: Kind = kind(4, Number::Wide, Signs::Refused);
pub const B256: Kind = kind(8, Number::Wide, Signs::Refused);
pub const B512: Kind = kind(16, Number::Wide, Signs::Refused);
pub const B1024: Kind = kind(32, Number::Wide, Signs::Refused);
pub const F32: Kind = kind(1, Number::Wide, Signs::Float);
pub const F64: Kind = kind(2, Number::Wide, Signs::Float);
pub const F16: Kind = kind(1, Number::Float16, Signs::Float);
pub const P16: Kind = kind(1, Number::Pair, Signs::Refused);
pub const FLOAT_P16: Kind = kind(1, Number::Pair, Signs::Float);
pub const I16: Kind = kind(1, Number::Integer16, Signs::Refused);
pub const SEXT_B32: Kind = kind(1, Number::Wide, Signs::Extend);
pub const LOOSE_B32: Kind = kind(1, Number::Wide, Signs::Ignored);
pub const LOOSE_I16: Kind = kind(1, Number::Integer16, Signs::Ignored);

/// What an operand is to its instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// What is written, in the family's usual field.
    Destination,
    /// The scalar result beside the vector one.
    ScalarDestination,
    /// A source, counted from zero.
    Source(u8),
    /// VCC, which has no field.
    Vcc,
    /// The 32 bits behind the instruction.
    Literal,
    /// The 16 bits in the instruction.
    Immediate,
    /// What a memory instruction reads or writes, counted from zero.
    Data(u8),
    /// The number in the data field, which names no register.
    DataCode,
    /// The address, or the scalar registers that hold its base.
    Address,
    /// The scalar part of an address: a register or a number.
    Offset,
}

/// Which registers an operand may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Whatever nine bits can name.
    Any,
    Scalar,
    /// A scalar register other than EXEC, and no constant.
    ScalarRegister,
    Vector,
    /// A vector register, or one of the scalar registers that are only read.
    VectorOrSpecial,
    Accumulation,
    /// A vector or accumulation register, by a bit elsewhere in the encoding.
    VectorOrAccumulation,
    /// As `VectorOrAccumulation`, or a constant.
    MatrixAddend,
}

/// One operand of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub role: Role,
    pub class: Class,
    pub kind: Kind,
}

macro_rules! slots {
    ($($name:ident = $role:expr, $class:ident;)*) => {
        $(pub const fn $name(kind: Kind) -> Slot {
            Slot { role: $role, class: Class::$class, kind }
        })*
    };
}

slots! {
    sdst = Role::ScalarDestination, Scalar;
    vdst = Role::Destination, Vector;
    adst = Role::Destination, Accumulation;
    mdst = Role::Destination, VectorOrAccumulation;
    src0 = Role::Source(0), Any;
    src1 = Role::Source(1), Any;
    src2 = Role::Source(2), Any;
    ssrc0 = Role::Source(0), Scalar;
    ssrc1 = Role::Source(1), Scalar;
    rsrc0 = Role::Source(0), ScalarRegister;
    rsrc2 = Role::Source(2), ScalarRegister;
    vsrc0 = Role::Source(0), Vector;
    xsrc0 = Role::Source(0), VectorOrSpecial;
    vsrc1 = Role::Source(1), Vector;
    vsrc2 = Role::Source(2), Vector;
    asrc0 = Role::Source(0), Accumulation;
    msrc0 = Role::Source(0), VectorOrAccumulation;
    msrc1 = Role::Source(1), VectorOrAccumulation;
    msrc2 = Role::Source(2), MatrixAddend;
    sdata = Role::Data(0), Scalar;
    sbase = Role::Address, Scalar;
    address = Role::Address, Vector;
    data0 = Role::Data(0), VectorOrAccumulation;
    data1 = Role::Data(1), VectorOrAccumulation;
}

macro_rules! bare_slots {
    ($($name:ident = $role:ident, $class:ident, $kind:expr;)*) => {
        $(pub const fn $name() -> Slot {
            Slot { role: Role::$role, class: Class::$class, kind: $kind }
        })*
    };
}

bare_slots! {
    vcc = Vcc, Scalar, B64;
    literal = Literal, Any, B32;
    simm16 = Immediate, Any, B32;
    offset = Offset, Scalar, B32;
    data_code = DataCode, Scalar, B32;
}

/// What the encodings of a shape accept besides operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties(u16);

macro_rules! properties {
    ($($(#[$doc:meta])* $name:ident, $has:ident = $bit:literal;)*) => {
        impl Properties {
            pub const NONE: Self = Self(0);
            $(
                /// The same, and
                $(#[$doc])*
                pub const fn $name(self) -> Self {
                    Self(self.0 | 1 << $bit)
                }

                $(#[$doc])*
                pub const fn $has(self) -> bool {
                    self.0 & 1 << $bit != 0
                }
            )*
        }
    };
}

properties! {
    /// has a form that takes parts of registers.
    sdwa, has_sdwa = 0;
    /// has a form that takes another lane's registers.
    dpp, has_dpp = 1;
    /// can limit its result to a range.
    clamp, has_clamp = 2;
    /// can multiply or halve its result.
    multiplier, has_multiplier = 3;
    /// can take the upper halves of its operands.
    selects, has_selects = 4;
    /// writes whole registers, even in the form that takes parts of them.
    whole_destination, has_whole_destination = 5;
    /// has two offsets of eight bits.
    two_offsets, has_two_offsets = 6;
    /// is about what all compute units share.
    global_share, has_global_share = 7;
    /// reads, changes and writes at once, and can return what it read.
    atomic, has_atomic = 8;
    /// can move data to the local share.
    lds, has_lds = 9;
    /// only moves data from or to the local share.
    lds_only, has_lds_only = 10;
    /// has no address.
    no_address, has_no_address = 11;
}

/// The operations that have the same operands.
#[derive(Debug, PartialEq, Eq)]
pub struct Shape {
    pub slots: &'static [Slot],
    pub properties: Properties,
    /// Their numbers in the encoding.
    pub operations: &'static [(u16, Operation)],
}

/// Writes a table as lines of `[operands] properties { number operation, ... }`.
macro_rules! shapes {
    ($name:ident: $([$($slot:expr),*] $($property:ident)* {
        $($number:literal $operation:ident),* $(,)?
    })*) => {
        pub const $name: &[Shape] = &[$(Shape {
            slots: &[$($slot),*],
            properties: Properties::NONE$(.$property())*,
            operations: &[$(($number, Operation::$operation)),*],
        }),*];
    };
}
pub(super) use shapes;

/// A table by number, for looking up.
pub struct Index(Vec<Option<(Operation, &'static Shape)>>);

impl Index {
    pub fn new(shapes: &'static [Shape]) -> Self {
        let mut entries = Vec::new();
        for shape in shapes {
            for &(number, operation) in shape.operations {
                let number = usize::from(number);
                if entries.len() <= number {
                    entries.resize(number + 1, None);
                }
                entries[number] = Some((operation, shape));
            }
        }
        Self(entries)
    }

    pub fn find(&self, number: u32) -> Option<(Operation, &'static Shape)> {
        *self.0.get(number as usize)?
    }

    pub fn has(&self, operation: Operation) -> bool {
        self.0.iter().flatten().any(|entry| entry.0 == operation)
    }
}
