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

/// A named list of JSON objects, in an object with the schema's version. `fill` is
/// given a function to call before each object.
pub(super) fn list(
    out: &SeqFile,
    name: &str,
    fill: impl FnOnce(&mut dyn FnMut()) -> Result,
) -> Result {
    seq_print!(out, "{{\"schema\":{}", SCHEMA);
    let result = member(out, name, fill);
    seq_print!(out, "}}\n");
    result
}

/// Two such lists in one object.
pub(super) fn two_lists(
    out: &SeqFile,
    (name, fill): (&str, impl FnOnce(&mut dyn FnMut()) -> Result),
    (other_name, fill_other): (&str, impl FnOnce(&mut dyn FnMut()) -> Result),
) -> Result {
    seq_print!(out, "{{\"schema\":{}", SCHEMA);
    let result = member(out, name, fill).and_then(|()| member(out, other_name, fill_other));
    seq_print!(out, "}}\n");
    result
}

/// A list as a member of an object, behind another member.
fn member(out: &SeqFile, name: &str, fill: impl FnOnce(&mut dyn FnMut()) -> Result) -> Result {
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
