// SPDX-License-Identifier: GPL-2.0-only

//! Whether a field is what the table says that it is, and in a place in which such a field
//! can be. Pure, like the type information that it is found in.

#![forbid(unsafe_code)]

use super::{
    fields::Form,
    type_info::{Damage, Kind, TypeInfo},
};
use core::fmt;

/// What is there instead of what the table says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Missing,
    /// So many bytes instead of others.
    Bytes(u64, u64),
    /// More bytes than there is room for.
    TooLarge(u64, u64),
    /// Something else than the form says.
    OtherForm,
    /// So many elements instead of others.
    Elements(u64, u64),
    /// A part of a word, which has no place.
    Bits,
    /// In a place where no field of its form can be.
    Misaligned(u64),
    /// In a place that is not within its structure, which has so many bytes.
    Outside(u64, u64),
    /// In another place than it has to be.
    Elsewhere(u64, u64),
    /// Another value.
    Value(i64, i64),
    OtherSignature,
    /// Two definitions of the same name say different things.
    Ambiguous,
    /// The type information makes no sense there.
    Damaged(Damage),
}

impl From<Damage> for How {
    fn from(damage: Damage) -> Self {
        How::Damaged(damage)
    }
}

impl TypeInfo<'_> {
    fn kind(&self, id: u32) -> Result<Option<Kind>, Damage> {
        Ok(self.behind(id)?.map(|(_, ty)| ty.kind))
    }

    /// Whether a type is a pointer.
    pub(crate) fn is_pointer(&self, id: u32) -> Result<bool, Damage> {
        Ok(self.kind(id)? == Some(Kind::Pointer))
    }

    /// Whether a type is an integer, a `bool` or an enumeration.
    pub(crate) fn is_number(&self, id: u32) -> Result<bool, Damage> {
        let kind = self.kind(id)?;
        Ok(matches!(
            kind,
            Some(Kind::Integer | Kind::Enum | Kind::Enum64)
        ))
    }

    /// Whether a type is a structure or a union, of a name if one is given.
    pub(crate) fn is_composite(&self, id: u32, called: Option<&[u8]>) -> Result<bool, Damage> {
        Ok(match self.behind(id)? {
            Some((info, ty)) if ty.kind == Kind::Composite => match called {
                Some(called) => info.name(ty.name)? == called,
                None => true,
            },
            _ => false,
        })
    }
}

/// Where a field of a structure is, which is as its form says and wholly inside.
pub(super) fn place(
    info: &TypeInfo<'_>,
    id: u32,
    path: &str,
    form: Form,
) -> Result<Option<u64>, How> {
    let Some(field) = info.field(id, path)? else {
        return Ok(None);
    };
    let at = field.offset().ok_or(How::Bits)?;
    form.fits(info, field.id())?;
    if at % form.alignment() != 0 {
        return Err(How::Misaligned(at));
    }
    let whole = info.size(id)?;
    let end = at.checked_add(info.size(field.id())?);
    if end.is_none_or(|end| end > whole) {
        return Err(How::Outside(at, whole));
    }
    Ok(Some(at))
}

impl Form {
    /// Compares a type.
    fn fits(self, info: &TypeInfo<'_>, id: u32) -> Result<(), How> {
        let (bytes, elements) = (info.size(id)?, info.elements(id)?);
        let (is_form, expected) = match self {
            Form::Pointer => (info.is_pointer(id)?, 8),
            Form::Number(bytes) => (info.is_number(id)?, bytes),
            Form::Counter => (info.is_composite(id, None)?, 4),
            Form::Array(count, of) => match elements {
                Some((_, found)) if found != count => return Err(How::Elements(found, count)),
                Some((found, _)) if found != of => return Err(How::Bytes(found, of)),
                _ => (elements.is_some(), bytes),
            },
            Form::Part(name) => (info.is_composite(id, Some(name.as_bytes()))?, bytes),
        };
        if !is_form {
            return Err(How::OtherForm);
        }
        if bytes != expected {
            return Err(How::Bytes(bytes, expected));
        }
        Ok(())
    }

    pub(super) fn is_array(self) -> bool {
        matches!(self, Form::Array(..))
    }

    /// By how many bytes such a field is aligned.
    fn alignment(self) -> u64 {
        match self {
            Form::Pointer | Form::Part(_) => 8,
            Form::Counter => 4,
            Form::Number(bytes) | Form::Array(_, bytes) => bytes.max(1),
        }
    }
}

/// Whether a function, or what a field points to, has a type.
pub(super) fn is_like(info: &TypeInfo<'_>, id: u32, signature: &str) -> Result<(), How> {
    match info.prototype(id)? {
        Some(prototype) if prototype.is(signature)? => Ok(()),
        _ => Err(How::OtherSignature),
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Form::Pointer => write!(f, "a pointer"),
            Form::Number(1) => write!(f, "a number of 1 byte"),
            Form::Number(bytes) => write!(f, "a number of {bytes} bytes"),
            Form::Counter => write!(f, "a counter of 4 bytes"),
            Form::Array(count, of) => write!(f, "an array of {count} elements of {of} bytes"),
            Form::Part(name) => write!(f, "a struct {name}"),
        }
    }
}
