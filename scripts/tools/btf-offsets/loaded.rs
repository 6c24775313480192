// SPDX-License-Identifier: GPL-2.0-only

//! What the module will do when it is loaded: the same comparison, by the same source.

use crate::expected::{compare, Expected};
use crate::type_info::{Sections, TypeInfo};

/// Compares a driver with what was found out about one. An error says what differs.
pub fn check(base: &[u8], module: &[u8], expected: &[Expected<'_>]) -> Result<(), String> {
    let damaged = |damage: crate::type_info::Damage| damage.why().to_owned();
    let base = Sections::of(base).map_err(damaged)?;
    let mut base_places = vec![0; base.count()];
    let base = TypeInfo::new(base, &mut base_places, None).map_err(damaged)?;
    let module = Sections::of(module).map_err(damaged)?;
    let mut places = vec![0; module.count()];
    let module = TypeInfo::new(module, &mut places, Some(&base)).map_err(damaged)?;
    let mut met = vec![false; expected.len()];
    compare(&module, expected, &mut met).map_err(|difference| difference.to_string())
}
