// SPDX-License-Identifier: GPL-2.0-only

//! What the module will do when it is loaded: the same comparison, by the same source.

use crate::expected::{compare, Comparison, Expected};
use crate::type_info::{Damage, Sections, TypeInfo};

/// Compares a driver with what was found out about one. An error says what differs.
pub fn check(base: &[u8], module: &[u8], expected: &[Expected<'_>]) -> Result<(), String> {
    let [checked] = check_each(base, module, [expected]);
    checked
}

/// The same with several lists, each of which has a result of its own.
pub fn check_each<const LISTS: usize>(
    base: &[u8],
    module: &[u8],
    lists: [&[Expected<'_>]; LISTS],
) -> [Result<(), String>; LISTS] {
    let mut met = lists.map(|expected| vec![false; expected.len()]);
    let mut met = met.iter_mut();
    let mut comparisons = lists.map(|expected| {
        let room = met.next().expect("as many rooms as lists");
        Comparison::new(expected, room)
    });
    match walk(base, module, &mut comparisons) {
        Ok(()) => comparisons.map(|comparison| match comparison.difference() {
            None => Ok(()),
            Some(difference) => Err(difference.to_string()),
        }),
        Err(damage) => lists.map(|_| Err(damage.why().to_owned())),
    }
}

fn walk(base: &[u8], module: &[u8], comparisons: &mut [Comparison<'_, '_>]) -> Result<(), Damage> {
    let base = Sections::of(base)?;
    let mut base_places = vec![0; base.count()];
    let base = TypeInfo::new(base, &mut base_places, None)?;
    let module = Sections::of(module)?;
    let mut places = vec![0; module.count()];
    let module = TypeInfo::new(module, &mut places, Some(&base))?;
    compare(&module, comparisons);
    Ok(())
}
