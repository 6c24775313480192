// SPDX-License-Identifier: GPL-2.0-only

//! Words and JSON in a file.

use kernel::{fmt, prelude::*, seq_file::SeqFile, seq_print};

/// The version of everything that is written as JSON.
pub(super) const SCHEMA: u32 = 1;

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

/// An object with the schema's version and members behind that.
pub(super) fn object(out: &SeqFile, members: impl FnOnce() -> Result) -> Result {
    seq_print!(out, "{{\"schema\":{}", SCHEMA);
    let result = members();
    seq_print!(out, "}}\n");
    result
}

/// Such an object with one list.
pub(super) fn list(
    out: &SeqFile,
    name: &str,
    fill: impl FnOnce(&mut dyn FnMut()) -> Result,
) -> Result {
    object(out, || member(out, name, fill))
}

/// A list of objects as a member, behind another one. `fill` is given a function to call
/// before each object.
pub(super) fn member(
    out: &SeqFile,
    name: &str,
    fill: impl FnOnce(&mut dyn FnMut()) -> Result,
) -> Result {
    seq_print!(out, ",\"{}\":[", name);
    let mut first = true;
    let result = fill(&mut || {
        if !first {
            seq_print!(out, ",");
        }
        first = false;
        seq_print!(out, "\n");
    });
    seq_print!(out, "\n]");
    result
}
