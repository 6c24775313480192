// SPDX-License-Identifier: GPL-2.0-only
//! Names and paths as the words of a rule have them.

/// Bytes as a rule has them: what would end a word, what is no text and the
/// percent sign itself are escaped.
pub fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for &byte in bytes {
        match byte {
            b'%' | b'"' | b'\\' => text.push_str(&format!("%{byte:02X}")),
            0x21..=0x7e => text.push(char::from(byte)),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}
