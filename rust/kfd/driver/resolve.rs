// SPDX-License-Identifier: GPL-2.0-only

//! Looks rows of the table (`fields.rs`) up in the type information of a driver, and makes
//! sure that each place is one in which such a field can be: a wrong one would have the
//! module change memory that it does not mean.
//!
//! Pure, so that the host tests it against real drivers, against drivers that are changed
//! on purpose, and against any bytes at all.

#![forbid(unsafe_code)]

use super::{
    fields::{Ask, Bytes, Form, Need, Row},
    forms::{is_like, place, How},
    type_info::{Class, Damage, TypeInfo},
};
use core::fmt;

/// How many bytes the kernel's locks have, by its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LockBytes {
    pub(crate) mutex: u64,
    pub(crate) semaphore: u64,
}

/// What a row has come to so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Finding {
    /// What it is about was not met.
    #[default]
    Unmet,
    /// It was met in the driver's own types or, where it has none, in the kernel's. There
    /// is no such field in it, or the place, value or size was found.
    Met { of_base: bool, found: Option<i64> },
}

impl Finding {
    /// The place, value or size, if there is one.
    pub(crate) fn get(self) -> Option<i64> {
        match self {
            Finding::Met { found, .. } => found,
            Finding::Unmet => None,
        }
    }
}

/// How a driver differs from what a row has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) row: Row,
    pub(crate) how: How,
}

/// What the rows have come to, of which a driver without the first difference can be used,
/// and one without the second for `transaction=direct` as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Differences {
    pub(crate) always: Option<Difference>,
    pub(crate) direct: Option<Difference>,
}

/// Rows that are being looked up in one walk over the types.
pub(crate) struct Resolution<'r> {
    rows: &'r [Row],
    /// The numbers of the rows, sorted by class and owner.
    order: &'r [u16],
    findings: &'r mut [Finding],
    locks: LockBytes,
    /// The rows in which the driver differs, if it does, of which the first one counts.
    always: Option<(usize, How)>,
    direct: Option<(usize, How)>,
}

/// The order in which rows are looked up, to sort their numbers by.
pub(crate) fn order(rows: &[Row], number: u16) -> Option<(Class, &'static [u8])> {
    let row = rows.get(usize::from(number))?;
    Some((row.class, row.owner.as_bytes()))
}

impl<'r> Resolution<'r> {
    /// `order` has the number of each row, sorted by [`order`], and `findings` has room for
    /// each.
    pub(crate) fn new(
        rows: &'r [Row],
        order: &'r [u16],
        findings: &'r mut [Finding],
        locks: LockBytes,
    ) -> Self {
        findings.fill(Finding::Unmet);
        Self {
            rows,
            order,
            findings,
            locks,
            always: None,
            direct: None,
        }
    }

    /// Looks all rows up in the types of a driver, in one walk.
    ///
    /// A driver often holds the same structure several times: all of them have to say the
    /// same. What it has none of may be the kernel's.
    pub(crate) fn resolve(mut self, info: &TypeInfo<'_>) -> Result<Differences, Damage> {
        let mut walk = |info: &TypeInfo<'_>, of_base| {
            info.each_named(|class, name, id| {
                self.see(info, (class, name), id, of_base);
                Ok::<(), Damage>(())
            })
        };
        walk(info, false)?;
        if let Some(base) = info.base() {
            walk(base, true)?;
        }
        for (number, row) in self.rows.iter().enumerate() {
            let finding = self.findings.get(number).copied().unwrap_or_default();
            if finding.get().is_none() && row.need != Need::Optional {
                self.differs(number, How::Missing);
            }
        }
        let named = |(number, how): (usize, How)| {
            let row = *self.rows.get(number)?;
            Some(Difference { row, how })
        };
        Ok(Differences {
            always: self.always.and_then(named),
            direct: self.direct.and_then(named),
        })
    }

    /// Looks up what has a name. `of_base`: it is the kernel's, which counts where the
    /// driver has none of its own.
    fn see(&mut self, info: &TypeInfo<'_>, name: (Class, &[u8]), id: u32, of_base: bool) {
        let (rows, wanted) = (self.rows, Some(name));
        let from = self.order.partition_point(|&at| order(rows, at) < wanted);
        let of_name = self.order.iter().skip(from);
        for number in of_name.take_while(|&&at| order(rows, at) == wanted) {
            let number = usize::from(*number);
            let (Some(row), Some(before)) = (rows.get(number), self.findings.get(number)) else {
                continue;
            };
            let before = *before;
            let own_was_met = matches!(before, Finding::Met { of_base: false, .. });
            if of_base && (row.class == Class::Function || own_was_met) {
                continue;
            }
            match row.look_up(info, id, self.locks) {
                Err(how) => self.differs(number, how),
                Ok(found) => {
                    let now = Finding::Met { of_base, found };
                    if before != Finding::Unmet && before != now {
                        self.differs(number, How::Ambiguous);
                    } else if let Some(finding) = self.findings.get_mut(number) {
                        *finding = now;
                    }
                }
            }
        }
    }

    /// Notes that the driver differs in a row, which then has come to nothing.
    fn differs(&mut self, number: usize, how: How) {
        let direct = self.rows.get(number).map(|row| row.need) == Some(Need::Direct);
        let first = if direct {
            &mut self.direct
        } else {
            &mut self.always
        };
        if first.is_none_or(|(other, _)| number < other) {
            *first = Some((number, how));
        }
    }
}

impl Row {
    /// What a definition says; nothing if it has no such field or value.
    fn look_up(&self, info: &TypeInfo<'_>, id: u32, locks: LockBytes) -> Result<Option<i64>, How> {
        let found = match self.ask {
            Ask::Bytes(bytes) => Some(bytes.of(info.size(id)?, locks)?),
            Ask::Field { path, form, at } => {
                let found = place(info, id, path, form)?;
                match (found, at) {
                    (Some(found), Some(at)) if found != at => {
                        return Err(How::Elsewhere(found, at))
                    }
                    _ => found,
                }
            }
            Ask::Pointer { path, signature } => {
                let found = place(info, id, path, Form::Pointer)?;
                if let Some(field) = info.field(id, path)? {
                    is_like(info, field.id(), signature)?;
                }
                found
            }
            Ask::Value(name, expected) => {
                let found = info.value(id, name)?;
                return match (found, expected) {
                    (Some(found), Some(expected)) if found != expected => {
                        Err(How::Value(found, expected))
                    }
                    _ => Ok(found),
                };
            }
            Ask::Signature(signature) => {
                is_like(info, id, signature)?;
                Some(0)
            }
        };
        let found = found.map(i64::try_from).transpose();
        found.map_err(|_| How::Damaged(Damage::Size))
    }
}

impl Bytes {
    /// So many bytes, if they are as they should be.
    fn of(self, found: u64, locks: LockBytes) -> Result<u64, How> {
        let expected = match self {
            Bytes::Exactly(bytes) => bytes,
            Bytes::AtMost(most) if found > most => return Err(How::TooLarge(found, most)),
            Bytes::AtMost(_) => found,
            Bytes::AsMutex => locks.mutex,
            Bytes::AsSemaphore => locks.semaphore,
        };
        if found == expected {
            Ok(found)
        } else {
            Err(How::Bytes(found, expected))
        }
    }
}

/// What it is about.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let owner = self.owner;
        match self.ask {
            Ask::Bytes(_) => write!(f, "struct {owner}"),
            Ask::Field { path, .. } | Ask::Pointer { path, .. } => write!(f, "{owner}.{path}"),
            Ask::Value(name, _) => write!(f, "{name} of enum {owner}"),
            Ask::Signature(_) => write!(f, "{owner}()"),
        }
    }
}

impl Row {
    /// Which drivers have it, for people who look for one.
    fn known_drivers(&self) -> &'static str {
        match self.need {
            Need::Direct => "Linux 6.16 and newer",
            _ => "Linux 6.12 and newer, and amdgpu-dkms 6.16.13 of ROCm,",
        }
    }
}

/// As the rest of a sentence about the driver.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = &self.row;
        match (self.how, row.ask) {
            (How::Missing, ask) => {
                write!(f, "{row}")?;
                match ask {
                    Ask::Field { form, .. } => write!(f, ", {form},")?,
                    Ask::Pointer { .. } => write!(f, ", a pointer to a function,")?,
                    _ => {}
                }
                write!(f, " is missing; {} have it", row.known_drivers())
            }
            (How::Bytes(found, bytes), Ask::Field { form, .. }) if form.is_array() => {
                write!(f, "{row} has elements of {found} bytes instead of {bytes}")
            }
            (How::Bytes(found, bytes), _) => {
                write!(f, "{row} has {found} bytes instead of {bytes}")
            }
            (How::TooLarge(found, most), _) => {
                write!(
                    f,
                    "{row} has {found} bytes, more than the {most} that there is room for"
                )
            }
            (How::OtherForm, Ask::Field { form, .. }) => write!(f, "{row} is not {form}"),
            (How::Elements(found, count), _) => {
                write!(f, "{row} has {found} elements instead of {count}")
            }
            (How::Bits, _) => write!(f, "{row} is a part of a word"),
            (How::Misaligned(at), Ask::Field { form, .. }) => {
                write!(f, "{row} is at {at:#x}, which is no place for {form}")
            }
            (How::Outside(at, whole), _) => {
                write!(
                    f,
                    "{row} at {at:#x} is not within its structure, which has {whole} bytes"
                )
            }
            (How::Elsewhere(found, at), _) => {
                write!(f, "{row} is at {found:#x} instead of {at:#x}")
            }
            (How::Value(found, value), _) => write!(f, "{row} is {found} instead of {value}"),
            (How::OtherSignature, Ask::Pointer { signature, .. } | Ask::Signature(signature)) => {
                write!(f, "{row} is not {signature}")
            }
            (How::Ambiguous, _) => write!(f, "{row} differs between its definitions"),
            (How::Damaged(damage), _) => write!(f, "{row} cannot be read: {}", damage.why()),
            (How::OtherForm | How::OtherSignature, _) => write!(f, "{row} is something else"),
            (How::Misaligned(at), _) => write!(f, "{row} is at {at:#x}, which is no place for it"),
        }
    }
}
