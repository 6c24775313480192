// SPDX-License-Identifier: GPL-2.0-only
//! Words in the columns of a terminal.

use ratatui::text::Span;

/// How many columns of the terminal a text takes.
pub fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// The beginning of a text that takes so many columns at most.
pub fn cut(text: &str, most: usize) -> String {
    let mut short = String::new();
    let mut taken = 0;
    for character in text.chars() {
        taken += width(character.encode_utf8(&mut [0; 4]));
        if taken > most {
            break;
        }
        short.push(character);
    }
    short
}

/// A text in exactly so many columns.
pub fn left(text: &str, columns: usize) -> String {
    let mut field = cut(text, columns);
    field.extend(std::iter::repeat_n(' ', columns - width(&field)));
    field
}

/// The same with the text at the right end.
pub fn right(text: &str, columns: usize) -> String {
    let field = cut(text, columns);
    let mut padded: String = std::iter::repeat_n(' ', columns - width(&field)).collect();
    padded.push_str(&field);
    padded
}

/// A text as lines of so many columns at most, broken at spaces where there are any.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let mut word = word;
        if !line.is_empty() && width(&line) + 1 + width(word) > columns {
            lines.push(std::mem::take(&mut line));
        } else if !line.is_empty() {
            line.push(' ');
        }
        while width(word) > columns {
            let start = cut(word, columns);
            if start.is_empty() {
                return lines;
            }
            word = &word[start.len()..];
            lines.push(start);
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// A number for each second.
pub fn rate(per_second: f64) -> String {
    match per_second {
        none if none <= 0.0 => "0".to_owned(),
        few if few < 9.95 => format!("{few:.1}"),
        many => format!("{many:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_its_width_whatever_is_in_it() {
        assert_eq!(left("ab", 4), "ab  ");
        assert_eq!(right("ab", 4), "  ab");
        assert_eq!(left("abcde", 4), "abcd");
        assert_eq!(left("ab", 0), "");
        assert_eq!(left("日本", 3), "日 ", "a half of a character is none");
        assert_eq!(right("日本", 3), " 日");
    }

    #[test]
    fn lines_are_broken_at_spaces_and_lose_nothing() {
        assert_eq!(wrapped("a bc def", 4), ["a bc", "def"]);
        assert_eq!(wrapped("a bcd", 4), ["a", "bcd"]);
        assert_eq!(wrapped("a bcdefghi", 4), ["a", "bcde", "fghi"]);
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(wrapped("ab", 1), ["a", "b", ""][..2]);
        assert!(wrapped("日本", 1).is_empty(), "there is no room for any");
        assert!(wrapped("ab", 0).is_empty());
    }

    #[test]
    fn a_rate_is_short() {
        for (number, text) in [
            (0.0, "0"),
            (-1.0, "0"),
            (0.04, "0.0"),
            (9.94, "9.9"),
            (9.95, "10"),
            (1234.5, "1234"),
        ] {
            assert_eq!(rate(number), text);
        }
    }
}
