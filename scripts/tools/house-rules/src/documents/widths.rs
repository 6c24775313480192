// SPDX-License-Identifier: GPL-2.0-only
//! Lines of Markdown that are too long to read side by side.

use super::page::Page;
use crate::breach::Breach;
use crate::house::LINE_WIDTH;

/// Lines that could be broken and are not.
pub fn check(pages: &[Page]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for page in pages.iter().filter(|page| page.is_markdown) {
        for (at, text) in page.lines.iter().enumerate() {
            let width = text.chars().count();
            if width > LINE_WIDTH && !page.unbreakable.contains(&(at + 1)) && can_break(text) {
                let what = format!("{width} characters, {LINE_WIDTH} are the most: break the line");
                breaches.push(Breach::new(&page.path, at + 1, "line-width", what));
            }
        }
    }
    breaches
}

/// Whether more than a mark of a list stands before the word that is too long.
fn can_break(text: &str) -> bool {
    let kept: String = text.chars().take(LINE_WIDTH).collect();
    kept.split_whitespace()
        .filter(|word| word.contains(char::is_alphanumeric))
        .count()
        > 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::places;
    use crate::tree::Kind;

    fn found(text: &str) -> Vec<String> {
        places(&check(&[Page::read("a.md", Kind::Markdown, text)]))
    }

    #[test]
    fn a_line_of_121_characters_is_too_long() {
        assert_eq!(found(&format!("word {}", "é".repeat(115))), [""; 0]);
        assert_eq!(
            found(&format!("word {}", "é".repeat(116))),
            ["a.md:1 line-width"]
        );
    }

    #[test]
    fn tables_code_and_single_words_may_be_longer() {
        let long = "x".repeat(130);
        let text = format!(
            "| a |\n|---|\n| b {long} |\n\n    a {long}\n\n```\na {long}\n```\n\n- {long}\n"
        );
        assert_eq!(found(&text), [""; 0]);
    }
}
