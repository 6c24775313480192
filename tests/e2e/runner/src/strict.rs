// SPDX-License-Identifier: GPL-2.0-only
//! Strict mode of the virtual GPU, in which only the driver's flushes empty a cache of
//! translations.

use std::env;

use anyhow::{bail, Context, Result};

use crate::guest::Guest;

/// `GP_STRICT=1` runs every scenario in strict mode.
pub fn always() -> bool {
    env::var_os("GP_STRICT").is_some()
}

/// Runs a scenario in strict mode, in which no access may meet a translation that the
/// driver has changed since.
pub fn strictly(guest: &mut Guest, run: fn(&mut Guest) -> Result<()>) -> Result<()> {
    guest.device.set_strict(true)?;
    let outcome = run(guest).and_then(|()| guest.device.stale());
    if !always() {
        guest.device.set_strict(false)?;
    }
    let found = outcome?.context("strict mode was off")?;
    if found.accesses > 0 {
        let first = serde_json::to_string_pretty(&found.first)?;
        bail!(
            "{} accesses met an old translation: {first}",
            found.accesses
        );
    }
    Ok(())
}
