// SPDX-License-Identifier: GPL-2.0-only
//! Lines and columns of a text.

/// The line and the column of a byte, both from 1; a column is a character.
pub fn place(text: &str, byte: usize) -> (usize, usize) {
    let mut at = byte.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_lines_and_characters_from_one() {
        let text = "ab\nüx\n";
        assert_eq!(place(text, 0), (1, 1));
        assert_eq!(place(text, 2), (1, 3));
        assert_eq!(place(text, 3), (2, 1));
        assert_eq!(place(text, 4), (2, 1), "within a character");
        assert_eq!(place(text, 5), (2, 2));
        assert_eq!(place(text, 7), (3, 1));
        assert_eq!(place(text, 700), (3, 1));
        assert_eq!(place("", 0), (1, 1));
    }
}
