// SPDX-License-Identifier: GPL-2.0-only

//! What the module does when it is loaded, with rows of anybody's choice.

use std::fmt::Write;

use crate::fields::{Ask, Bytes, Need, Row, NAMES, ROWS};
use crate::resolve::{order, Differences, Finding, LockBytes, Resolution};
use crate::type_info::{Class, Damage, Sections, TypeInfo};

/// A kernel's type information, taken apart.
pub struct Kernel<'a> {
    sections: Sections<'a>,
    places: Vec<u32>,
}

impl<'a> Kernel<'a> {
    pub fn new(data: &'a [u8]) -> Result<Self, Damage> {
        let sections = Sections::of(data)?;
        let mut places = vec![0; sections.count()];
        TypeInfo::new(sections, &mut places, None)?;
        Ok(Self { sections, places })
    }

    /// Looks rows up in the types of a driver for this kernel.
    pub fn resolve(
        &self,
        driver: &[u8],
        rows: &[Row],
        locks: LockBytes,
    ) -> Result<(Vec<Finding>, Differences), Damage> {
        let mut places = self.places.clone();
        let base = TypeInfo::new(self.sections, &mut places, None)?;
        let sections = Sections::of(driver)?;
        let mut places = vec![0; sections.count()];
        let driver = TypeInfo::new(sections, &mut places, Some(&base))?;
        let mut numbers: Vec<u16> = (0..).take(rows.len()).collect();
        numbers.sort_by_key(|&number| order(rows, number));
        let mut findings = vec![Finding::Unmet; rows.len()];
        let resolution = Resolution::new(rows, &numbers, &mut findings, locks);
        let differences = resolution.resolve(&driver)?;
        Ok((findings, differences))
    }

    /// How large the kernel's locks are, by its own types, for want of its headers.
    pub fn locks(&self) -> Result<LockBytes, Damage> {
        let rows = ["mutex", "rw_semaphore"].map(|owner| Row {
            class: Class::Structure,
            owner,
            ask: Ask::Bytes(Bytes::AtMost(u64::MAX)),
            need: Need::Optional,
        });
        let none = LockBytes {
            mutex: 0,
            semaphore: 0,
        };
        let (findings, _) = self.resolve(&NO_TYPES, &rows, none)?;
        let bytes = |at: usize| findings[at].get().unwrap_or(0).unsigned_abs();
        Ok(LockBytes {
            mutex: bytes(0),
            semaphore: bytes(1),
        })
    }
}

/// Type information without a type.
const NO_TYPES: [u8; 25] = {
    let mut data = [0; 25];
    (data[0], data[1], data[2], data[4], data[20]) = (0x9f, 0xeb, 1, 24, 1);
    data
};

/// Where a driver has everything, or why the module cannot be used with it.
pub fn report(kernel: &[u8], driver: &[u8]) -> Result<String, String> {
    let damaged = |damage: Damage| format!("the type information is damaged: {}", damage.why());
    let kernel = Kernel::new(kernel).map_err(damaged)?;
    let locks = kernel.locks().map_err(damaged)?;
    let (findings, differences) = kernel.resolve(driver, ROWS, locks).map_err(damaged)?;
    if let Some(difference) = differences.always {
        return Err(format!(
            "the module cannot be used with this driver: {difference}"
        ));
    }
    let mut text = String::new();
    for ((name, row), finding) in NAMES.iter().zip(ROWS).zip(&findings) {
        // Writing to a string cannot fail.
        let _ = match (finding.get(), row.ask) {
            (Some(at), Ask::Field { .. } | Ask::Pointer { .. }) => {
                writeln!(text, "{name:<56} {at:#x}")
            }
            (Some(found), _) => writeln!(text, "{name:<56} {found}"),
            (None, _) => writeln!(text, "{name:<56} absent"),
        };
    }
    if let Some(difference) = differences.direct {
        let _ = writeln!(text, "transaction=direct cannot be used: {difference}");
    }
    Ok(text)
}
