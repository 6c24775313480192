// SPDX-License-Identifier: GPL-2.0-only
//! What rules want to know of a document: its code, links, headings and tables.

use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd};

use crate::tree::Kind;

/// Text that is set as code: a piece within a sentence, or a line of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    pub text: String,
    pub line: usize,
    pub place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Sentence,
    /// A block, with the word behind its fence.
    Block(String),
}

/// A link or a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub target: String,
    pub line: usize,
}

/// A cell of a table under the head of its column, in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    pub head: String,
    /// All its words.
    pub text: String,
    /// Its words that are set as code.
    pub code: Vec<String>,
    /// Its words that are emphasised.
    pub emphasised: Vec<String>,
    pub line: usize,
}

/// A document.
#[derive(Default)]
pub struct Page {
    pub path: String,
    pub lines: Vec<String>,
    pub code: Vec<Code>,
    pub links: Vec<Link>,
    /// The names by which links reach its headings.
    pub anchors: BTreeSet<String>,
    pub cells: Vec<Cell>,
    /// Items that a manual page lists as messages.
    pub diagnostics: Vec<Code>,
    /// Lines of tables and code, which are as long as they are.
    pub unbreakable: BTreeSet<usize>,
    pub is_markdown: bool,
}

impl Page {
    /// Reads a document, by its path from the top of the tree.
    pub fn read(path: &str, kind: Kind, text: &str) -> Page {
        let mut page = Page {
            path: path.to_owned(),
            lines: text.lines().map(str::to_owned).collect(),
            is_markdown: kind == Kind::Markdown,
            ..Page::default()
        };
        if page.is_markdown {
            Reader::new(&mut page, text).read();
        } else {
            page.read_manual();
        }
        page
    }

    /// Takes what the macros for files, commands and literal text mark, and the
    /// items of lists of diagnostics.
    fn read_manual(&mut self) {
        let mut in_diagnostics = false;
        for (at, text) in self.lines.iter().enumerate() {
            let line = at + 1;
            let mut words = text.split_whitespace();
            let name = words.next().unwrap_or("");
            let rest: Vec<&str> = words.filter(|word| *word != "Ns").collect();
            let code = |text: String| Code {
                text,
                line,
                place: Place::Sentence,
            };
            match name {
                ".Bl" => in_diagnostics = rest.contains(&"-diag"),
                ".El" => in_diagnostics = false,
                ".It" if in_diagnostics => self.diagnostics.push(code(rest.join(" "))),
                ".Pa" => {
                    let glued = text.contains(" Ns ");
                    let names = rest.iter().filter(|word| !matches!(**word, "Pa" | "Ar"));
                    let names: Vec<&str> = names.copied().collect();
                    if glued {
                        self.code.push(code(names.concat()));
                    } else {
                        self.code
                            .extend(names.iter().map(|name| code((*name).to_owned())));
                    }
                }
                ".Cm" | ".Ql" | ".Li" | ".Dl" => self.code.push(code(rest.join(" "))),
                _ => {}
            }
        }
    }
}

/// Follows the events of a Markdown parser.
struct Reader<'a> {
    page: &'a mut Page,
    text: &'a str,
    /// Where each line begins.
    begins: Vec<usize>,
    block: Option<String>,
    heading: Option<String>,
    heads: Vec<String>,
    in_head: bool,
    cell: Option<Cell>,
    column: usize,
    emphasis: Option<String>,
}

impl<'a> Reader<'a> {
    fn new(page: &'a mut Page, text: &'a str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Reader {
            page,
            text,
            begins: std::iter::once(0).chain(ends).collect(),
            block: None,
            heading: None,
            heads: Vec::new(),
            in_head: false,
            cell: None,
            column: 0,
            emphasis: None,
        }
    }

    fn line(&self, at: usize) -> usize {
        self.begins.partition_point(|begin| *begin <= at)
    }

    fn read(mut self) {
        let options = Options::ENABLE_TABLES;
        for (event, range) in Parser::new_ext(self.text, options).into_offset_iter() {
            match event {
                Event::Start(tag) => self.start(tag, range),
                Event::End(tag) => self.end(tag),
                Event::Text(text) => self.add_text(&text, range.start),
                Event::Code(text) => self.add_code(&text, range.start),
                Event::SoftBreak | Event::HardBreak => self.add_words(" "),
                _ => {}
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        let line = self.line(range.start);
        match tag {
            Tag::CodeBlock(kind) => {
                self.keep_long(range);
                self.block = Some(match kind {
                    CodeBlockKind::Fenced(word) => word.to_string(),
                    CodeBlockKind::Indented => String::new(),
                });
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.add_link(&dest_url, line);
            }
            Tag::Heading { .. } => self.heading = Some(String::new()),
            Tag::Table(_) => {
                self.keep_long(range);
                self.heads.clear();
            }
            Tag::TableHead => {
                self.in_head = true;
                self.column = 0;
            }
            Tag::TableRow => self.column = 0,
            Tag::TableCell => {
                self.cell = Some(Cell {
                    line,
                    ..Cell::default()
                });
            }
            Tag::Emphasis => self.emphasis = Some(String::new()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::CodeBlock => self.block = None,
            TagEnd::Heading(_) => {
                if let Some(heading) = self.heading.take() {
                    self.add_anchor(&heading);
                }
            }
            TagEnd::TableHead => self.in_head = false,
            TagEnd::TableCell => self.end_cell(),
            TagEnd::Emphasis => {
                if let (Some(words), Some(cell)) = (self.emphasis.take(), &mut self.cell) {
                    cell.emphasised.push(words);
                }
            }
            _ => {}
        }
    }

    fn end_cell(&mut self) {
        let Some(mut cell) = self.cell.take() else {
            return;
        };
        if self.in_head {
            self.heads.push(cell.text.to_lowercase());
        } else {
            cell.head = self.heads.get(self.column).cloned().unwrap_or_default();
            self.page.cells.push(cell);
        }
        self.column += 1;
    }

    fn keep_long(&mut self, range: Range<usize>) {
        let last = self.line(range.end.saturating_sub(1).max(range.start));
        self.page.unbreakable.extend(self.line(range.start)..=last);
    }

    fn add_link(&mut self, target: &CowStr<'_>, line: usize) {
        self.page.links.push(Link {
            target: target.to_string(),
            line,
        });
    }

    fn add_words(&mut self, words: &str) {
        for text in [&mut self.heading, &mut self.emphasis]
            .into_iter()
            .flatten()
        {
            text.push_str(words);
        }
        if let Some(cell) = &mut self.cell {
            cell.text.push_str(words);
        }
    }

    fn add_text(&mut self, text: &str, at: usize) {
        let Some(language) = self.block.clone() else {
            self.add_words(text);
            return;
        };
        let first = self.line(at);
        for (number, line) in text.lines().enumerate() {
            self.page.code.push(Code {
                text: line.to_owned(),
                line: first + number,
                place: Place::Block(language.clone()),
            });
        }
    }

    fn add_code(&mut self, text: &str, at: usize) {
        self.add_words(text);
        if let Some(cell) = &mut self.cell {
            cell.code.push(text.to_owned());
        }
        self.page.code.push(Code {
            text: text.to_owned(),
            line: self.line(at),
            place: Place::Sentence,
        });
    }

    /// The name by which GitHub and others reach a heading.
    fn add_anchor(&mut self, heading: &str) {
        let kept = heading.trim().chars().filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        });
        let name: String = kept.flat_map(char::to_lowercase).collect();
        let mut anchor = name.clone();
        let mut number = 0;
        while !self.page.anchors.insert(anchor.clone()) {
            number += 1;
            anchor = format!("{name}-{number}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_links_headings_and_tables_are_found_with_their_lines() {
        let text = "# Lock order, `x`\n\nSee [that](a.md#b)\nand `make test`.\n\n    make demo\n\n\
            ```log\none\ntwo\n```\n\n| It says | why |\n|---|---|\n| *so it is* `a` | b |\n\n# Lock order, x\n";
        let page = Page::read("docs/a.md", Kind::Markdown, text);
        assert_eq!(
            page.links,
            [Link {
                target: "a.md#b".into(),
                line: 3
            }]
        );
        let code: Vec<(&str, usize)> = page
            .code
            .iter()
            .map(|code| (code.text.as_str(), code.line))
            .collect();
        assert_eq!(
            code,
            [
                ("x", 1),
                ("make test", 4),
                ("make demo", 6),
                ("one", 9),
                ("two", 10),
                ("a", 15)
            ]
        );
        assert_eq!(page.code[4].place, Place::Block("log".into()));
        assert!(page.anchors.contains("lock-order-x") && page.anchors.contains("lock-order-x-1"));
        assert_eq!(page.cells[0].head, "it says");
        assert_eq!(page.cells[0].text, "so it is a");
        assert_eq!(page.cells[0].emphasised, ["so it is"]);
        assert_eq!(page.cells[1].head, "why");
        assert!(page.unbreakable.contains(&6) && page.unbreakable.contains(&15));
        assert!(!page.unbreakable.contains(&4) && !page.unbreakable.contains(&17));
    }

    #[test]
    fn files_words_and_messages_of_a_manual_page_are_found() {
        let text =
            ".Pa /sys/a , b\n.Pa gpu_ Ns Ar address Ns Pa /node Ns Ar number Ns Pa /\n.Bl -diag\n\
            .It the queue is gone\nSo it is.\n.El\n.It Pa /sys/c\n.Ql armed\n";
        let page = Page::read("docs/man/a.4", Kind::Manual, text);
        let code: Vec<&str> = page.code.iter().map(|code| code.text.as_str()).collect();
        assert_eq!(
            code,
            ["/sys/a", ",", "b", "gpu_address/nodenumber/", "armed"]
        );
        assert_eq!(page.diagnostics[0].text, "the queue is gone");
    }
}
