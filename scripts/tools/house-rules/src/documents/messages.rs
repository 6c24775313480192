// SPDX-License-Identifier: GPL-2.0-only
//! Messages and names of scenarios that documents quote.
//!
//! Code of three words or more that reads as a sentence and is no command is taken
//! for one of the two. A message is also what stands in a column whose head ends
//! with "says" (as code, if anything there is), a line of a block with the word
//! `log` behind its fence, code in double quotes, and an item of a
//! list of diagnostics in a manual page. Three dots leave something out, and a
//! semicolon may divide two messages.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use anyhow::Result;

use super::literals;
use super::page::{Code, Page, Place};
use crate::breach::Breach;
use crate::house::{
    COMMANDS, EXAMPLES, MESSAGE_BLOCK, MESSAGE_COLUMN_END, MESSAGE_SOURCES, SCENARIO_COLUMNS,
    SCENARIO_SOURCES,
};
use crate::tree::{is_below, Tree};

/// Quotations that no source prints, and scenarios that no test has.
pub fn check(tree: &Tree, pages: &[Page]) -> Result<Vec<Breach>> {
    let sources = Sources::read(tree)?;
    let mut printed = Printed::of(&sources);
    let scenarios = scenarios(tree, &sources)?;
    let mut breaches = Vec::new();
    for page in pages {
        for (message, line) in quoted(page) {
            if !printed.says(&message) {
                let what = format!("nothing prints \"{message}\": quote what the source says");
                breaches.push(Breach::new(&page.path, line, "messages", what));
            }
        }
        for code in page.code.iter().filter(|code| is_speech(code)) {
            if !scenarios.contains(&code.text) && !printed.says(&code.text) {
                let what = format!(
                    "nothing prints \"{0}\", and no test has that name: quote what the source says",
                    code.text
                );
                breaches.push(Breach::new(&page.path, code.line, "messages", what));
            }
        }
        for (name, line) in scenarios_named(page) {
            if !scenarios.contains(&name) {
                let what = format!("no test has the name '{name}'");
                breaches.push(Breach::new(&page.path, line, "scenarios", what));
            }
        }
    }
    Ok(breaches)
}

/// The texts in the files below some folders, which are read once.
struct Sources(Vec<(String, Vec<String>)>);

impl Sources {
    fn read(tree: &Tree) -> Result<Sources> {
        let folders = [MESSAGE_SOURCES, SCENARIO_SOURCES].concat();
        let mut sources = Vec::new();
        for file in tree.below(&folders) {
            let texts = literals::of(file.kind, &tree.text(&file.path)?);
            sources.push((file.path.clone(), texts));
        }
        Ok(Sources(sources))
    }

    fn below<'a>(&'a self, folders: &'a [&str]) -> impl Iterator<Item = &'a String> {
        let sources = self.0.iter().filter(|(path, _)| is_below(path, folders));
        sources.flat_map(|(_, texts)| texts)
    }
}

/// The names of scenarios: texts, and functions with their words as a sentence.
fn scenarios(tree: &Tree, sources: &Sources) -> Result<BTreeSet<String>> {
    let mut names: BTreeSet<String> = sources.below(SCENARIO_SOURCES).cloned().collect();
    for file in tree
        .below(SCENARIO_SOURCES)
        .filter(|file| file.kind.is_code())
    {
        let text = tree.text(&file.path)?;
        let words = text.split(|c: char| c != '_' && !c.is_alphanumeric());
        names.extend(
            words
                .filter(|word| word.contains('_'))
                .map(|word| word.replace('_', " ")),
        );
    }
    Ok(names)
}

/// Whether code within a sentence reads as a sentence itself.
fn is_speech(code: &Code) -> bool {
    let first = code.text.split(' ').next().unwrap_or("");
    let is_prose = |c: char| c.is_alphanumeric() || " ,.:;'-_>%".contains(c);
    code.place == Place::Sentence
        && code.text.split_whitespace().count() > 2
        && code.text.chars().all(is_prose)
        && !code.text.split(' ').any(|word| word.starts_with('-'))
        && !COMMANDS.contains(&first)
        && !EXAMPLES.contains(&code.text.as_str())
}

/// The messages that a page marks as such, and their lines.
fn quoted(page: &Page) -> Vec<(String, usize)> {
    let mut quoted = Vec::new();
    for cell in &page.cells {
        if !cell.head.ends_with(MESSAGE_COLUMN_END) {
            continue;
        }
        if cell.code.is_empty() {
            quoted.push((cell.text.clone(), cell.line));
        }
        quoted.extend(cell.code.iter().map(|text| (text.clone(), cell.line)));
    }
    for code in &page.code {
        let inner = code
            .text
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'));
        match (&code.place, inner) {
            (Place::Block(word), _) if word == MESSAGE_BLOCK => {
                quoted.push((code.text.clone(), code.line))
            }
            (Place::Sentence, Some(text)) => quoted.push((text.to_owned(), code.line)),
            _ => {}
        }
    }
    quoted.extend(
        page.diagnostics
            .iter()
            .map(|code| (code.text.clone(), code.line)),
    );
    quoted.retain(|(text, _)| text.contains(char::is_alphabetic));
    quoted
        .into_iter()
        .map(|(text, line)| (text.trim().trim_matches('"').to_owned(), line))
        .collect()
}

/// What is emphasised where names of scenarios are; a single word is only stressed.
fn scenarios_named(page: &Page) -> Vec<(String, usize)> {
    let cells = page
        .cells
        .iter()
        .filter(|cell| SCENARIO_COLUMNS.contains(&cell.head.as_str()));
    cells
        .flat_map(|cell| cell.emphasised.iter().map(|name| (name.clone(), cell.line)))
        .filter(|(name, _)| name.contains(' '))
        .collect()
}

/// A part of a text that is printed: as it stands, or a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Words(String),
    Value,
}

/// A text, and its words of three letters or more.
struct Text {
    parts: Vec<Part>,
    words: BTreeSet<String>,
}

/// Everything that the sources print and that has words of its own.
struct Printed {
    texts: Vec<Rc<Text>>,
    /// What is known to be printed as a value of another text.
    values: BTreeMap<(String, bool), bool>,
}

impl Printed {
    fn of(sources: &Sources) -> Printed {
        let texts = sources.below(MESSAGE_SOURCES).map(|text| {
            let parts = parts(text.trim());
            let words = parts.iter().flat_map(|part| match part {
                Part::Words(text) => long_words(text),
                Part::Value => BTreeSet::new(),
            });
            let words = words.map(str::to_owned).collect();
            Rc::new(Text { parts, words })
        });
        Printed {
            texts: texts.filter(|text| !text.words.is_empty()).collect(),
            values: BTreeMap::new(),
        }
    }

    /// Whether a message is printed, as a whole, or each part of it between three
    /// dots, or each of several messages that a semicolon divides.
    fn says(&mut self, message: &str) -> bool {
        self.says_all(message)
            || ["...", "; "].into_iter().any(|mark| {
                let pieces: Vec<&str> = message
                    .split(mark)
                    .map(str::trim)
                    .filter(|piece| piece.contains(char::is_alphabetic))
                    .collect();
                pieces.len() > 1 && pieces.iter().all(|piece| self.says_all(piece))
            })
    }

    /// The texts that have a word in common with a message.
    fn candidates(&self, message: &str) -> Vec<Rc<Text>> {
        let words = long_words(message);
        let texts = self.texts.iter();
        texts
            .filter(|text| words.iter().any(|word| text.words.contains(*word)))
            .cloned()
            .collect()
    }

    /// Whether a message is part of a text, with values where that has them.
    fn says_all(&mut self, message: &str) -> bool {
        self.candidates(message).into_iter().any(|text| {
            (0..text.parts.len()).any(|first| self.says_from(message, &text.parts[first..]))
        })
    }

    /// Whether a message begins within the first of some parts and goes on from
    /// there. At least half of it must be in the text itself, or in one that is
    /// printed as a value of it.
    fn says_from(&mut self, message: &str, parts: &[Part]) -> bool {
        let wanted = letters(message);
        let is_enough = |said: Option<usize>| said.is_some_and(|said| said * 2 >= wanted);
        match &parts[0] {
            Part::Value => is_enough(self.follow(message, parts, false)),
            Part::Words(words) => word_starts(words).any(|from| {
                let mut rest = parts.to_vec();
                rest[0] = Part::Words(words[from..].to_owned());
                is_enough(self.follow(message, &rest, false))
            }),
        }
    }

    /// How many letters of a message the parts say, if they say it from here; to
    /// the end, if it must be `whole`.
    fn follow(&mut self, message: &str, parts: &[Part], whole: bool) -> Option<usize> {
        let Some((first, rest)) = parts.split_first() else {
            return message.is_empty().then_some(0);
        };
        if message.is_empty() && !whole {
            return Some(0);
        }
        match first {
            Part::Words(words) => {
                if let Some(behind) = message.strip_prefix(words.as_str()) {
                    return Some(letters(words) + self.follow(behind, rest, whole)?);
                }
                (!whole && words.starts_with(message)).then(|| letters(message))
            }
            Part::Value => {
                let ends: Vec<usize> = (0..=message.len())
                    .filter(|end| message.is_char_boundary(*end))
                    .filter(|end| may_follow(&message[*end..], rest, whole))
                    .collect();
                ends.into_iter()
                    .rev()
                    .filter_map(|end| {
                        let (value, behind) = message.split_at(end);
                        let said = self.value(value, whole || !behind.is_empty())?;
                        Some(said + self.follow(behind, rest, whole)?)
                    })
                    .max()
            }
        }
    }

    /// How many letters of a value are those of a text that is printed in its place,
    /// all of it if it must be `whole`; none if it is no value.
    fn value(&mut self, value: &str, whole: bool) -> Option<usize> {
        let is_sentence = value.contains(' ') && !value.starts_with(' ') && !value.ends_with(' ');
        if !is_sentence {
            return (!value.contains(char::is_whitespace)).then_some(0);
        }
        let key = (value.to_owned(), whole);
        if let Some(known) = self.values.get(&key) {
            return known.then(|| letters(value));
        }
        // What is asked for below is not answered by itself.
        self.values.insert(key.clone(), false);
        let wanted = letters(value);
        let known = self.candidates(value).into_iter().any(|text| {
            let said = self.follow(value, &text.parts, whole);
            said.is_some_and(|said| said * 2 >= wanted)
        });
        self.values.insert(key, known);
        known.then_some(wanted)
    }
}

/// Whether the rest of a message can be what follows a value.
fn may_follow(message: &str, parts: &[Part], whole: bool) -> bool {
    match parts.first() {
        None => message.is_empty(),
        Some(Part::Value) => true,
        Some(Part::Words(words)) => {
            message.starts_with(words.as_str()) || (!whole && words.starts_with(message))
        }
    }
}

/// Small letters, which are those of words and not of names in capitals.
fn letters(text: &str) -> usize {
    text.chars().filter(|c| c.is_lowercase()).count()
}

/// Words that say something.
fn long_words(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_alphabetic());
    words.filter(|word| word.len() > 2).collect()
}

/// Where words begin.
fn word_starts(text: &str) -> impl Iterator<Item = usize> + '_ {
    let mut before = ' ';
    text.char_indices().filter_map(move |(at, c)| {
        let starts = !before.is_alphanumeric() && !c.is_whitespace();
        before = c;
        starts.then_some(at)
    })
}

/// Divides a text at `{...}`, `%d`, `$name` and the like.
fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut words = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match value_at(rest) {
            Some(end) => {
                if !words.is_empty() {
                    parts.push(Part::Words(std::mem::take(&mut words)));
                }
                if parts.last() != Some(&Part::Value) {
                    parts.push(Part::Value);
                }
                rest = &rest[end..];
            }
            None => {
                words.push(if first == '\n' || first == '\t' {
                    ' '
                } else {
                    first
                });
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    if !words.is_empty() {
        parts.push(Part::Words(words));
    }
    parts
}

/// The length of the value with which a text begins.
fn value_at(text: &str) -> Option<usize> {
    let end_of = |from: usize, is_end: fn(char) -> bool| {
        text[from..].find(is_end).map_or(text.len(), |at| from + at)
    };
    if text.starts_with("{{") {
        return None;
    }
    if text.starts_with('{') || text.starts_with("${") {
        return text.find('}').map(|at| at + 1);
    }
    if text.starts_with("$(") {
        return text.find(')').map(|at| at + 1);
    }
    let behind = text.get(1..).and_then(|text| text.chars().next());
    match (text.chars().next()?, behind?) {
        ('$', c) if c.is_alphanumeric() || c == '_' => {
            Some(end_of(1, |c| !c.is_alphanumeric() && c != '_'))
        }
        ('%', c) if c.is_ascii_alphanumeric() => {
            let letter = end_of(1, |c| c.is_ascii_alphabetic() && c != 'l' && c != 'z');
            Some((letter + 1).min(text.len()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::documents;
    use crate::testing::{places, tree};

    const SOURCE: (&str, &str) = (
        "src/a.rs",
        "fn f() {\n    say!(\"{} node {}: left alone: {}\\n\", a, b, why());\n    \
            say!(\"{} node {}: left stopped: queue {} of process {}; \\\n        call {}\", a);\n}\n\
            fn why() -> &'static str { \"waves cannot be saved: load amdgpu with cwsr_enable=1\" }\n\
            // \"the queue exploded\"\n",
    );

    fn found(text: &str) -> Vec<String> {
        let files = [
            SOURCE,
            ("a.md", text),
            (
                "tests/host/b.rs",
                "const NAME: &str = \"it works twice\";\nfn it_does_so() {}",
            ),
        ];
        places(&documents::check(&tree(&files)).unwrap())
    }

    #[test]
    fn quoted_messages_are_printed() {
        let text = "`\"left stopped: queue ... of process ...\"`, `\"waves cannot be saved\"`,\n\
            `\"gpu node NUMBER: left alone: waves cannot be saved: load amdgpu\"`, `\"left stopped: ... call ...\"`,\n\
            `left stopped: queue ... of process ...`, `it works twice`, `gpreempt mode off`, `two words`,\n\n\
            | it says | b |\n|---|---|\n| left alone: WHY | x y z |\n| \"cannot be saved\", or `left stopped` | x |\n\n\
            ```log\n0000:c1:00.0 node 0: left stopped: queue 12 of process 34; call 7\n```\n";
        assert_eq!(found(text), [""; 0]);
    }

    #[test]
    fn a_message_that_nothing_prints_is_named() {
        let text = "`\"the queue exploded\"`\n`left stopped: process 3`\n\n| It says |\n|---|\n\
            | counters differ |\n\n```log\ngpu node 0: left alone: nobody knows why\n```\n";
        assert_eq!(
            found(text),
            [1, 2, 6, 9].map(|line| format!("a.md:{line} messages"))
        );
    }

    #[test]
    fn values_alone_say_nothing() {
        let files = [
            ("src/a.rs", "fn f() { say!(\"the {} {}\", a, b) }"),
            ("a.md", "`the counters differ`\n`the A B`\n"),
        ];
        let found = documents::check(&tree(&files)).unwrap();
        assert_eq!(places(&found), ["a.md:1 messages"]);
    }

    #[test]
    fn a_list_of_diagnostics_in_a_manual_page_quotes_messages() {
        let text = ".Bl -diag\n.It waves cannot be saved\n.It waves are lost\n.El\n";
        let found = documents::check(&tree(&[SOURCE, ("docs/man/a.4", text)])).unwrap();
        assert_eq!(places(&found), ["docs/man/a.4:3 messages"]);
    }

    #[test]
    fn emphasised_scenarios_exist() {
        let text = "| hazard | proof |\n|---|---|\n| *not this one* | *open*, *it works twice*, *it does so* |\n";
        assert_eq!(found(text), [""; 0]);
        let text = "| hazard | proof |\n|---|---|\n| a | *it works once* |\n";
        assert_eq!(found(text), ["a.md:3 scenarios"]);
    }
}
