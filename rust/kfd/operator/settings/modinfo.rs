// SPDX-License-Identifier: GPL-2.0-only

//! What modinfo says about the parameters, written at compile time from the
//! policy's tables: `parm=NAME:HELP` and `parmtype=NAME:TYPE`, each ended by a
//! zero.

#![forbid(unsafe_code)]

use gpreempt_policy::{CHOICES, NUMBERS, TIMESLICE_HELP, TIMESLICE_MAX, TIMESLICE_NAME};

/// Bytes written one after the other; with no room it only counts.
struct Text<const N: usize> {
    bytes: [u8; N],
    used: usize,
}

impl<const N: usize> Text<N> {
    const fn byte(mut self, byte: u8) -> Self {
        if self.used < N {
            self.bytes[self.used] = byte;
        }
        self.used += 1;
        self
    }

    const fn text(mut self, text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            self = self.byte(bytes[at]);
            at += 1;
        }
        self
    }

    const fn number(self, value: u32) -> Self {
        let before = if value >= 10 {
            self.number(value / 10)
        } else {
            self
        };
        before.byte(b'0' + (value % 10) as u8)
    }

    const fn range(self, default: u32, min: u32, max: u32, unit: &str) -> Self {
        let text = self.text(" (").number(min).text(" to ").number(max);
        let text = if unit.is_empty() {
            text
        } else {
            text.text(" ").text(unit)
        };
        text.text(", default ").number(default).text(")")
    }

    const fn begin(self, name: &str, help: &str) -> Self {
        self.text("parm=").text(name).text(":").text(help)
    }

    const fn end(self, name: &str, of_type: &str) -> Self {
        self.byte(0)
            .text("parmtype=")
            .text(name)
            .text(":")
            .text(of_type)
            .byte(0)
    }
}

/// The whole section, or its length when there is no room.
const fn section<const N: usize>() -> Text<N> {
    let mut text = Text {
        bytes: [0; N],
        used: 0,
    };
    let mut at = 0;
    while at < NUMBERS.len() {
        let number = &NUMBERS[at];
        text = text
            .begin(number.name, number.help)
            .range(number.default, number.min, number.max, number.unit)
            .end(number.name, "uint");
        at += 1;
    }
    let mut at = 0;
    while at < CHOICES.len() {
        let choice = &CHOICES[at];
        text = text
            .begin(choice.name, choice.help)
            .text(" (default ")
            .text(choice.words[0]);
        text = text.text(")").end(choice.name, "string");
        at += 1;
    }
    text.begin(TIMESLICE_NAME, TIMESLICE_HELP)
        .range(0, 0, TIMESLICE_MAX, "us")
        .end(TIMESLICE_NAME, "string")
}

const LENGTH: usize = section::<0>().used;

/// The section's content.
pub(super) const BYTES: [u8; LENGTH] = section::<LENGTH>().bytes;
