// SPDX-License-Identifier: GPL-2.0-only

//! Whether a driver is laid out as the one that the module was built for, as far as
//! anything here uses it: each line of `bindings/kfd-fields.txt`, as the build has
//! found it, against the type information of the driver that is loaded.
//!
//! Pure, so that the host tests it against drivers that are changed on purpose, and
//! the build makes sure that the driver it builds for passes.

#![forbid(unsafe_code)]

use super::type_info::Class;
use super::type_info::Damage;
use super::type_info::TypeInfo;
use core::fmt;

/// What the build has found out about a structure, an enumeration or a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected<'e> {
    pub(crate) class: Class,
    pub(crate) owner: &'e str,
    pub(crate) fact: Fact<'e>,
}

/// What the build has found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact<'e> {
    /// The size of a structure.
    Bytes(u64),
    /// Where a field is, its size, and the size of its elements with their number if it
    /// is an array.
    Field {
        path: &'e str,
        offset: u64,
        bytes: u64,
        elements: Option<(u64, u64)>,
    },
    /// There is no such field, which is not expected of every driver.
    #[allow(dead_code, reason = "in the generated list, if at all")]
    NoField(&'e str),
    /// The value that an enumeration gives to a name.
    Value(&'e str, i64),
    /// Which functions a field points to.
    Pointer { path: &'e str, signature: &'e str },
    /// What the function is like.
    Signature(&'e str),
}

/// How a driver differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference<'e> {
    /// In something that is used.
    Used(Expected<'e>, Found),
    /// Its type information makes no sense.
    Damaged(Damage),
}

/// What was found where something else is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Missing,
    Present,
    Offset(u64),
    Bytes(u64),
    Elements(Option<(u64, u64)>),
    Value(i64),
    OtherSignature,
}

impl From<Damage> for Difference<'_> {
    fn from(damage: Damage) -> Self {
        Difference::Damaged(damage)
    }
}

/// A list of what is expected of a driver, and what has become of it so far.
pub(crate) struct Comparison<'m, 'e> {
    expected: &'m [Expected<'e>],
    /// Which of them were met.
    met: &'m mut [bool],
    difference: Option<Difference<'e>>,
}

impl<'m, 'e> Comparison<'m, 'e> {
    /// A comparison that has not begun. The expectations come sorted by
    /// [`Expected::order`], and `met` has room for a note about each.
    pub(crate) fn new(expected: &'m [Expected<'e>], met: &'m mut [bool]) -> Self {
        met.fill(false);
        Self {
            expected,
            met,
            difference: None,
        }
    }

    /// How the driver differs, if it does.
    pub(crate) fn difference(self) -> Option<Difference<'e>> {
        self.difference
    }

    /// Compares what has a name. `of_base`: it is the kernel's, which counts where the
    /// driver has none of its own.
    fn see(&mut self, info: &TypeInfo<'_>, class: Class, name: &[u8], id: u32, of_base: bool) {
        if self.difference.is_some() {
            return;
        }
        for at in group(self.expected, class, name) {
            let (Some(expected), Some(met)) = (self.expected.get(at), self.met.get_mut(at)) else {
                continue;
            };
            if of_base && (class == Class::Function || *met) {
                continue;
            }
            if let Err(difference) = expected.fits(info, id) {
                self.difference = Some(difference);
                return;
            }
            *met = true;
        }
    }

    /// Looks for what was not met.
    fn close(&mut self) {
        if self.difference.is_some() {
            return;
        }
        let mut open = self.expected.iter().zip(self.met.iter());
        let missing = open.find(|(expected, &met)| {
            let absent = matches!(expected.fact, Fact::NoField(_));
            !met && !absent
        });
        self.difference = missing.map(|(expected, _)| Difference::Used(*expected, Found::Missing));
    }
}

/// Compares a driver with lists of what is expected of it, in one walk.
///
/// A driver often holds the same structure several times: all of them have to fit.
/// What it has none of may be the kernel's.
pub(crate) fn compare(info: &TypeInfo<'_>, comparisons: &mut [Comparison<'_, '_>]) {
    let mut walk = |info: &TypeInfo<'_>, of_base| {
        info.each_named(|class, name, id| {
            for one in comparisons.iter_mut() {
                one.see(info, class, name, id, of_base);
            }
            Ok::<(), Damage>(())
        })
    };
    let walked =
        walk(info, false).and_then(|()| info.base().map_or(Ok(()), |base| walk(base, true)));
    for one in comparisons {
        match walked {
            Ok(()) => one.close(),
            Err(damage) => {
                one.difference.get_or_insert(damage.into());
            }
        }
    }
}

/// Where the expectations of one name are.
fn group(expected: &[Expected<'_>], class: Class, name: &[u8]) -> core::ops::Range<usize> {
    let from = expected.partition_point(|one| one.order() < (class, name));
    let to = expected.partition_point(|one| one.order() <= (class, name));
    from..to
}

impl<'e> Expected<'e> {
    /// The order in which expectations are compared.
    pub(crate) fn order(&self) -> (Class, &'e [u8]) {
        (self.class, self.owner.as_bytes())
    }

    /// Compares one definition.
    fn fits(&self, info: &TypeInfo<'_>, id: u32) -> Result<(), Difference<'e>> {
        match self.found(info, id)? {
            None => Ok(()),
            Some(found) => Err(Difference::Used(*self, found)),
        }
    }

    /// What is there instead, if anything is.
    fn found(&self, info: &TypeInfo<'_>, id: u32) -> Result<Option<Found>, Damage> {
        match self.fact {
            Fact::Bytes(bytes) => {
                let found = info.size(id)?;
                Ok((found != bytes).then_some(Found::Bytes(found)))
            }
            Fact::Field {
                path,
                offset,
                bytes,
                elements,
            } => {
                let Some(field) = info.field(id, path)? else {
                    return Ok(Some(Found::Missing));
                };
                let Some(found) = field.offset() else {
                    return Ok(Some(Found::Missing));
                };
                let found = (found, info.size(field.id())?, field.elements(info)?);
                Ok(if found.0 != offset {
                    Some(Found::Offset(found.0))
                } else if found.1 != bytes {
                    Some(Found::Bytes(found.1))
                } else {
                    (found.2 != elements).then_some(Found::Elements(found.2))
                })
            }
            Fact::NoField(path) => Ok(info.field(id, path)?.map(|_| Found::Present)),
            Fact::Value(name, value) => Ok(match info.value(id, name)? {
                Some(found) => (found != value).then_some(Found::Value(found)),
                None => Some(Found::Missing),
            }),
            Fact::Pointer { path, signature } => {
                let Some(field) = info.field(id, path)? else {
                    return Ok(Some(Found::Missing));
                };
                self.is_like(info, field.id(), signature)
            }
            Fact::Signature(signature) => self.is_like(info, id, signature),
        }
    }

    fn is_like(
        &self,
        info: &TypeInfo<'_>,
        id: u32,
        signature: &str,
    ) -> Result<Option<Found>, Damage> {
        let same = match info.prototype(id)? {
            Some(prototype) => prototype.is(signature)?,
            None => false,
        };
        Ok((!same).then_some(Found::OtherSignature))
    }
}

impl fmt::Display for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let owner = self.owner;
        match self.fact {
            Fact::Bytes(_) => write!(f, "struct {owner}"),
            Fact::Field { path, .. } | Fact::NoField(path) | Fact::Pointer { path, .. } => {
                write!(f, "{owner}.{path}")
            }
            Fact::Value(name, _) => write!(f, "{name} of enum {owner}"),
            Fact::Signature(_) => write!(f, "{owner}()"),
        }
    }
}

/// As the rest of a sentence about the driver.
impl fmt::Display for Difference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (expected, found) = match self {
            Difference::Used(expected, found) => (expected, found),
            Difference::Damaged(damage) => {
                return write!(f, "its type information is damaged: {}", damage.why())
            }
        };
        match (found, expected.fact) {
            (Found::Missing, _) => write!(f, "{expected} is missing"),
            (Found::Present, _) => write!(f, "{expected} is there"),
            (Found::Offset(found), Fact::Field { offset, .. }) => {
                write!(f, "{expected} is at {found:#x} instead of {offset:#x}")
            }
            (Found::Bytes(found), Fact::Field { bytes, .. } | Fact::Bytes(bytes)) => {
                write!(f, "{expected} has {found} bytes instead of {bytes}")
            }
            (Found::Elements(_), _) => write!(f, "{expected} is another array"),
            (Found::Value(found), Fact::Value(_, value)) => {
                write!(f, "{expected} is {found} instead of {value}")
            }
            (_, Fact::Pointer { signature, .. } | Fact::Signature(signature)) => {
                write!(f, "{expected} is not {signature}")
            }
            _ => write!(f, "{expected} is another"),
        }
    }
}
