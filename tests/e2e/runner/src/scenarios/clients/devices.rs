// SPDX-License-Identifier: GPL-2.0-only
//! A program in HIP that uses all devices which its runtime has.

use anyhow::{ensure, Result};

use super::{behind, started, with_programs, PATIENCE};
use crate::guest::Guest;

/// Has a program use each device that the runtime has, twice, and returns how many there
/// are. To the GPU it is another process on each.
pub fn devices(guest: &mut Guest) -> Result<u32> {
    const DEVICES: &str = "devices";
    let mut numbers = Vec::new();
    with_programs(guest, |guest| {
        let place = format!("/tmp/clients-{}", guest.unique());
        let files = format!("mkdir {place}; touch {place}/go {place}/{DEVICES}");
        guest.agent().shell(&files)?;
        let mut program = started("clients");
        program.arguments.extend([place, DEVICES.into()]);
        let text = guest.agent().check(program, PATIENCE)?;
        numbers = behind(&text, DEVICES);
        Ok(())
    })?;
    let both_same = numbers.len() == 2 && numbers[0] == numbers[1];
    ensure!(both_same, "two rounds left {numbers:?}");
    Ok(u32::from_str_radix(&numbers[0], 16)?)
}
