// SPDX-License-Identifier: GPL-2.0-only

//! Messages in the kernel's log.

use crate::bindings;
use core::{fmt, fmt::Write};

/// As much as the kernel takes of a message. The rest is left out.
const LONGEST: usize = 992;

/// Room for one message.
struct Message {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.length..).unwrap_or_default();
        let fits = text.len().min(room.len());
        for (place, byte) in room.iter_mut().zip(text.bytes()) {
            *place = byte;
        }
        self.length += fits;
        Ok(())
    }
}

/// Writes a message of a level, a digit, in one piece.
#[doc(hidden)]
#[inline(never)]
pub fn print(level: u8, arguments: fmt::Arguments<'_>) {
    let mut message = Message {
        bytes: [0; LONGEST],
        length: 0,
    };
    // What cannot be formatted ends the message.
    let _ = message.write_fmt(arguments);
    // SAFETY: So many bytes are there.
    unsafe { bindings::gp_rt_print(level, message.bytes.as_ptr(), message.length) }
}

/// An error, for the log.
#[macro_export]
macro_rules! pr_err {
    ($($arguments:tt)*) => { $crate::print::print(b'3', $crate::fmt!($($arguments)*)) };
}

/// A warning, for the log.
#[macro_export]
macro_rules! pr_warn {
    ($($arguments:tt)*) => { $crate::print::print(b'4', $crate::fmt!($($arguments)*)) };
}

/// Something to know, for the log.
#[macro_export]
macro_rules! pr_info {
    ($($arguments:tt)*) => { $crate::print::print(b'6', $crate::fmt!($($arguments)*)) };
}

/// A text with values, not written yet.
#[macro_export]
macro_rules! fmt {
    ($($arguments:tt)*) => { ::core::format_args!($($arguments)*) };
}
