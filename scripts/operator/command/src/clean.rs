// SPDX-License-Identifier: GPL-2.0-only
//! Words as they may be shown on a terminal.

/// A line without what a terminal would take for a command and what would not be seen.
/// Programs choose their names, and whoever makes a file chooses its name.
pub fn clean(text: &str) -> String {
    text.chars().map(harmless).collect()
}

fn harmless(character: char) -> char {
    match character {
        '\'' | '"' | '\\' => character,
        _ if character.escape_debug().len() > 1 => '?',
        _ => character,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_command_the_terminal_and_nothing_in_it_is_unseen() {
        for (name, shown) in [
            ("train\u{1b}[2J", "train?[2J"),
            ("a\u{9b}2J\u{7f}\r\n\t\0", "a?2J?????"),
            ("a\u{202e}b\u{200b}c\u{301}", "a?b?c?"),
            ("it's \"\\\" ü", "it's \"\\\" ü"),
        ] {
            assert_eq!(clean(name), shown);
        }
    }
}
