// SPDX-License-Identifier: GPL-2.0-only
//! Reading the tables of a TOML file, with the place of whatever is wrong.

use std::borrow::Cow;

use toml::de::{DeTable, DeValue};
use toml::Spanned;

use crate::words::place::place;

/// Something wrong in a file, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    pub what: String,
}

/// A value of the file with its place.
pub type Value<'t> = Spanned<DeValue<'t>>;
/// A name in the file with its place.
pub type Name<'t> = Spanned<Cow<'t, str>>;

/// After how many faults no more are said, since a file that is none has as many
/// as it has lines.
pub const MOST_FAULTS: usize = 100;

/// The text that is read, and what was found wrong with it.
pub struct Reader<'t> {
    text: &'t str,
    pub faults: Vec<Fault>,
    /// What it says that is gone, which is no fault.
    pub gone: Vec<Fault>,
}

impl<'t> Reader<'t> {
    pub fn new(text: &'t str) -> Reader<'t> {
        Reader {
            text,
            faults: Vec::new(),
            gone: Vec::new(),
        }
    }

    /// Notes what is wrong at a byte of the text.
    pub fn fault(&mut self, at: usize, what: impl Into<String>) {
        if self.faults.len() > MOST_FAULTS {
            return;
        }
        let (line, column) = place(self.text, at);
        let what = match self.faults.len() {
            MOST_FAULTS => "more is wrong: mend what was said until here first".to_owned(),
            _ => what.into(),
        };
        let fault = Fault { line, column, what };
        // The parser says at the end once more what each of many brackets lacks.
        if self.faults.last() != Some(&fault) {
            self.faults.push(fault);
        }
    }

    /// Notes what is said of something at a byte of the text that is gone.
    pub fn gone(&mut self, at: usize, what: String) {
        let (line, column) = place(self.text, at);
        self.gone.push(Fault { line, column, what });
    }

    /// The line of a byte.
    pub fn line(&self, at: usize) -> usize {
        place(self.text, at).0
    }

    /// Notes that a table has no such name, with the one that was probably meant.
    pub fn unknown(&mut self, name: &Name<'_>, table: &str, names: &[&str]) {
        let written: &str = name.get_ref();
        let near = names
            .iter()
            .map(|known| (strsim::damerau_levenshtein(written, known), known))
            .min();
        let advice = match near {
            Some((distance, known)) if distance <= 1 + known.len() / 4 => {
                format!("did you mean '{known}'?")
            }
            _ if names.len() > 12 => "amd_gpreempt(4) lists what there is".to_owned(),
            _ => format!("there are: {}", names.join(", ")),
        };
        let what = format!("there is no '{}' {table}; {advice}", shown(written));
        self.fault(name.span().start, what);
    }

    /// A whole number.
    pub fn whole(&mut self, name: &str, value: &Value<'_>) -> Option<i64> {
        let whole = match value.get_ref() {
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        if whole.is_none() {
            self.fault(value.span().start, format!("'{name}' takes a whole number"));
        }
        whole
    }

    /// A text.
    pub fn string<'v>(&mut self, name: &str, value: &'v Value<'_>) -> Option<&'v str> {
        match value.get_ref() {
            DeValue::String(text) => Some(text),
            _ => {
                let what = format!("'{name}' takes a text in quotation marks");
                self.fault(value.span().start, what);
                None
            }
        }
    }
}

/// A word of the file as it may be repeated in one line.
pub fn shown(text: &str) -> String {
    let short: String = text.chars().take(60).collect();
    short.escape_debug().to_string().replace("\\'", "'")
}

/// A table's entries as they stand in the file.
pub(crate) fn in_order<'a, 't>(table: &'a DeTable<'t>) -> Vec<(&'a Name<'t>, &'a Value<'t>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}
