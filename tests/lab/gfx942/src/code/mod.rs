// SPDX-License-Identifier: GPL-2.0-only
//! From bytes to instructions, and from instructions to text.

mod bits;
mod buffer;
mod decode;
mod flat;
mod instruction;
mod operand;
mod operation;
mod packed;
mod parts;
mod registers;
mod scalar;
mod share;
mod table;
mod tables;
mod text;
mod vector;
mod vop3;

pub use decode::{decode, Undecoded};
pub use instruction::{
    Access, Arithmetic, Encoding, Exchange, Instruction, Lanes, Matrix, Modifiers, Pairs, Part,
    Parts, Unused,
};
pub use operand::Operand;
pub use operation::Operation;
pub(crate) use table::{Class, Role};
pub use table::{Kind, Number, Signs};
