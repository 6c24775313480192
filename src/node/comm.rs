// SPDX-License-Identifier: GPL-2.0-only

//! Command names as people read them: their programs may put anything into them.

use kernel::fmt;

/// A command name as text, with a question mark for what cannot be printed.
pub(crate) struct Comm<'a>(pub(crate) &'a [u8]);

impl Comm<'_> {
    fn bytes(&self) -> impl Iterator<Item = u8> + '_ {
        self.0.iter().copied().take_while(|&byte| byte != 0)
    }
}

impl fmt::Display for Comm<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        use core::fmt::Write;
        for byte in self.bytes() {
            let plain = byte.is_ascii_graphic();
            out.write_char(if plain { char::from(byte) } else { '?' })?;
        }
        Ok(())
    }
}
