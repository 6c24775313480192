// SPDX-License-Identifier: GPL-2.0-only

//! Words and JSON in a file.

use kernel::fmt;
use kernel::prelude::*;
use kernel::seq_file::SeqFile;
use kernel::seq_print;

/// The version of everything that is written as JSON.
pub(super) const SCHEMA: u32 = 1;

/// A command name as text, with a question mark for what cannot be printed.
pub(super) struct Comm<'a>(pub(super) &'a [u8]);

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

/// Text as a JSON string.
pub(super) struct Quoted<'a>(pub(super) &'a [u8]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        use core::fmt::Write;
        out.write_char('"')?;
        for byte in self.0.iter().copied().take_while(|&byte| byte != 0) {
            match byte {
                b'"' | b'\\' => {
                    out.write_char('\\')?;
                    out.write_char(char::from(byte))?;
                }
                b' '..=b'~' => out.write_char(char::from(byte))?,
                _ => {
                    let digits = b"0123456789abcdef";
                    let digit = |value: u8| digits.get(usize::from(value)).copied().unwrap_or(b'0');
                    out.write_str("\\u00")?;
                    out.write_char(char::from(digit(byte >> 4)))?;
                    out.write_char(char::from(digit(byte & 15)))?;
                }
            }
        }
        out.write_char('"')
    }
}

/// A named list of JSON objects, in an object with the schema's version. `fill` is
/// given a function to call before each object.
pub(super) fn list(
    out: &SeqFile,
    name: &str,
    fill: impl FnOnce(&mut dyn FnMut()) -> Result,
) -> Result {
    seq_print!(out, "{{\"schema\":{},\"{}\":[", SCHEMA, name);
    let mut first = true;
    let result = fill(&mut || {
        if !first {
            seq_print!(out, ",");
        }
        first = false;
        seq_print!(out, "\n");
    });
    seq_print!(out, "\n]}}\n");
    result
}
