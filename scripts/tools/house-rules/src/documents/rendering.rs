// SPDX-License-Identifier: GPL-2.0-only
//! Marks of Markdown that a reader sees as they are, and words that no reader sees.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::page::Page;
use crate::breach::Breach;

/// Tables, links and code that are none when they are rendered, words that are taken for
/// HTML, and rows of tables with more or fewer cells than the head.
pub fn check(pages: &[Page]) -> Vec<Breach> {
    let markdown = pages.iter().filter(|page| page.is_markdown);
    markdown.flat_map(of_page).collect()
}

fn of_page(page: &Page) -> Vec<Breach> {
    let text = page.lines.join("\n");
    let mut seen = Seen {
        text: &text,
        columns: 0,
        plain: String::new(),
        began: 0,
        found: Vec::new(),
    };
    let mut in_code = false;
    for (event, range) in Parser::new_ext(&text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Start(Tag::Table(columns)) => seen.columns = columns.len(),
            Event::Start(Tag::TableHead | Tag::TableRow) => seen.row(range),
            Event::Start(Tag::Paragraph | Tag::Item | Tag::TableCell | Tag::Heading { .. }) => {
                seen.end(range.start);
            }
            // A table within an item is behind its words.
            Event::End(
                TagEnd::Paragraph | TagEnd::Item | TagEnd::TableCell | TagEnd::Heading(_),
            ) => {
                seen.end(range.end);
            }
            Event::Text(words) if !in_code => seen.plain.push_str(&words),
            Event::SoftBreak | Event::HardBreak => seen.plain.push('\n'),
            // What is set as code stands for itself.
            Event::Code(_) => seen.plain.push('x'),
            Event::Html(words) | Event::InlineHtml(words) if !words.starts_with("<!--") => {
                let what = format!("'{}' is taken for HTML: set it as code", words.trim());
                seen.found.push((range.start, what));
            }
            _ => {}
        }
    }
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    seen.found
        .into_iter()
        .map(|(at, what)| Breach::new(&page.path, line(at), "rendering", what))
        .collect()
}

/// What the parser has come to.
struct Seen<'a> {
    text: &'a str,
    /// Of the table.
    columns: usize,
    /// The words of a paragraph or a cell as they are rendered, and where it began.
    plain: String,
    began: usize,
    found: Vec<(usize, String)>,
}

impl Seen<'_> {
    fn row(&mut self, range: Range<usize>) {
        let row = self.text[range.clone()].trim();
        let row = row.trim_start_matches('|');
        let row = row.strip_suffix('|').unwrap_or(row);
        let bars = row.match_indices('|');
        let cells = bars.filter(|(at, _)| !row[..*at].ends_with('\\')).count() + 1;
        if cells != self.columns {
            let what = format!(
                "this row has {cells} cells and its table has {}: write '\\|' for a bar in a cell",
                self.columns
            );
            self.found.push((range.start, what));
        }
    }

    /// Ends a paragraph, and says what of it was meant as something else.
    fn end(&mut self, next: usize) {
        let plain = std::mem::take(&mut self.plain);
        let signs = [
            (
                "|--",
                "this is no table: a row is one line, and before the head is an empty one",
            ),
            ("](", "this is no link"),
            ("][", "this is no link"),
            ("`", "this mark of code has no other"),
            ("**", "this mark has no other"),
        ];
        for (sign, what) in signs {
            if plain.contains(sign) {
                self.found.push((self.began, what.to_owned()));
            }
        }
        self.began = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{places, tree};
    use crate::tree::Kind;

    fn breaches(text: &str) -> Vec<String> {
        let page = Page::read("a.md", Kind::Markdown, text);
        check(&[page]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_renders_is_left_alone() {
        let text =
            "# A `b`\n\nOne [link](b.md#c), and\n[over two\nlines](b.md) `a|--b`, 2 * 3.\n\n\
            - item\n\n  | a | b |\n  |---|---|\n  | `x \\| y` | [z](w) |\n\n      [no](link |---|\n\n\
            ```\n| a |---| <b> `\n```\n<!-- said to nobody -->\n";
        assert_eq!(breaches(text), [""; 0]);
    }

    #[test]
    fn a_table_that_was_wrapped_is_none() {
        let text =
            "1. item:\n\n   | `fate` | look at | |---|---| | `done` | the GPU | |\n   `no` | b |\n";
        let found = breaches(text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("a.md:3") && found[0].contains("this is no table"));
        let text = "Words\n| a | b |\n|---|\n";
        assert_eq!(breaches(text).len(), 1);
    }

    #[test]
    fn links_and_code_that_do_not_end_are_found() {
        assert_eq!(breaches("[a](b c)\n").len(), 1);
        assert_eq!(breaches("[a][b]\n").len(), 1);
        assert_eq!(breaches("so `it goes\n\nand on`\n").len(), 2);
        assert_eq!(breaches("**so\n").len(), 1);
        assert_eq!(breaches("| a |\n|---|\n| `b |\n").len(), 1);
    }

    #[test]
    fn words_that_vanish_are_found() {
        let found = breaches("one\n\nthe folder of <address> is\n");
        assert!(found.len() == 1 && found[0].contains("a.md:3"), "{found:?}");
    }

    #[test]
    fn rows_have_the_cells_of_the_head() {
        let found = breaches("| a | b |\n|---|---|\n| c | d |\n| e | `f|g` |\n| h |\n");
        let rows: Vec<&String> = found
            .iter()
            .filter(|what| what.contains("this row"))
            .collect();
        assert_eq!(rows.len(), 2, "{found:?}");
        assert!(rows[0].contains("a.md:4") && rows[1].contains("a.md:5"));
    }

    #[test]
    fn it_is_a_rule_of_documents() {
        let found = crate::documents::check(&tree(&[("a.md", "[a](b c)\n")])).unwrap();
        assert_eq!(places(&found), ["a.md:1 rendering"]);
    }
}
