// SPDX-License-Identifier: GPL-2.0-only
//! A configuration: what is to be in force on a host, as a TOML file says it.
//!
//! The file is the whole of it. A parameter that it does not name has its
//! default, no GPU has a mode of its own but those that it names, and a rule
//! that it does not have is not there. Only who may give hints is left as it is
//! where the file does not say.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::Read;
use std::path::Path;

use gpreempt_policy::{RuleText, SetError};
use toml::de::{DeTable, DeValue};
use toml::Spanned;

use crate::host::tree::{cannot, Refusal};
use crate::words::gone;
use crate::words::gpu::{self, OwnModes};
use crate::words::names::Words;
use crate::words::parameters::{self, Parameters};
use crate::words::rule::{Rule, MOST_RULES};
use crate::words::setting::{is_gone, parameter};
use crate::words::table::{in_order, Fault, Name, Reader, Value};

/// Where the file is on a host, without the first slash.
pub const PLACE: &str = "etc/amd-gpreempt/config.toml";

/// The longest file in bytes, with room for as many rules as there can be and for
/// remarks.
const LONGEST: u64 = 1 << 20;

/// A configuration that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// All of them, `mode` too.
    pub parameters: Parameters,
    /// The GPUs that have modes of their own.
    pub gpus: OwnModes,
    /// In the order of their numbers.
    pub rules: Vec<Rule>,
    /// Who may give hints, if the file says so.
    pub access: Option<Access>,
    /// What the file says that is gone, in the order of the lines; the rest counts.
    pub gone: Vec<Fault>,
}

/// The owner, the group and the mode of a device file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    pub owner: String,
    pub group: String,
    pub mode: u32,
}

impl fmt::Display for Access {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{} {:04o}", self.owner, self.group, self.mode)
    }
}

/// Why there is no configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The file cannot be read.
    Unreadable(Refusal),
    /// It says what it should not, in the order of the lines.
    Faults(Vec<Fault>),
}

/// The names in the file, besides the parameters.
const TOP: [&str; 5] = ["mode", "parameters", "gpu", "hints", "rule"];
const HINTS: [&str; 3] = ["owner", "group", "mode"];
const RULE: [&str; 12] = [
    "id",
    "comm",
    "cgroup",
    "unit",
    "container",
    "label",
    "user",
    "node",
    "prio",
    "timeslice_us",
    "stop_budget_ms",
    "exempt",
];

impl Config {
    /// Every parameter at its default, and no rules.
    pub fn new() -> Config {
        Config {
            parameters: parameters::defaults(),
            gpus: OwnModes::new(),
            rules: Vec::new(),
            access: None,
            gone: Vec::new(),
        }
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Config, Wrong> {
        let mut bytes = Vec::new();
        fs::File::open(path)
            .and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes))
            .map_err(|error| Wrong::Unreadable(cannot("read", path, &error)))?;
        if bytes.len() as u64 > LONGEST {
            return Err(Wrong::Unreadable(Refusal(format!(
                "{} is longer than {LONGEST} bytes: name a configuration, which is shorter",
                path.display()
            ))));
        }
        Config::parse_bytes(&bytes).map_err(Wrong::Faults)
    }

    /// Understands the bytes of a file.
    pub fn parse_bytes(bytes: &[u8]) -> Result<Config, Vec<Fault>> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Config::parse(text),
            Err(error) => {
                let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
                let mut reader = Reader::new(&good);
                reader.fault(
                    good.len(),
                    "this is not UTF-8: write the file as plain text",
                );
                Err(reader.faults)
            }
        }
    }

    /// Understands the text of a file, or says everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Config, Vec<Fault>> {
        let mut reader = Reader::new(text);
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            let at = error.span().map_or(0, |span| span.start);
            let message = error.message().lines().collect::<Vec<_>>().join("; ");
            reader.fault(at, format!("this is not TOML: {message}"));
        }
        // What is left of a broken file would only lead to more complaints.
        if !errors.is_empty() {
            return Err(reader.faults);
        }
        let mut config = Config::new();
        for (name, value) in in_order(table.get_ref()) {
            config.take(&mut reader, name, value);
        }
        config.rules.sort_by_key(|rule| rule.id);
        config.gone = in_lines(reader.gone);
        if reader.faults.is_empty() {
            return Ok(config);
        }
        Err(in_lines(reader.faults))
    }

    fn take(&mut self, reader: &mut Reader<'_>, name: &Name<'_>, value: &Value<'_>) {
        let at = value.span().start;
        match (name.get_ref().as_ref(), value.get_ref()) {
            ("mode", _) => self.take_parameter(reader, "mode", value),
            ("parameters", DeValue::Table(table)) => {
                for (name, value) in in_order(table) {
                    self.take_named(reader, name, value);
                }
            }
            ("hints", DeValue::Table(table)) => {
                self.access = Some(access(reader, table));
            }
            ("rule", DeValue::Array(rules)) => self.take_rules(reader, rules),
            ("parameters" | "hints", _) => {
                let name = name.get_ref();
                reader.fault(at, format!("'{name}' is a table: write [{name}]"));
            }
            ("rule", _) => reader.fault(at, "there can be several rules: write [[rule]]"),
            ("gpu", DeValue::Table(gpus)) => self.gpus = gpu::take(reader, gpus),
            ("gpu", _) => reader.fault(
                at,
                "there can be several GPUs: write [gpu.\"0000:c1:00.0\"]",
            ),
            _ if is_gone(reader, name, value) => {}
            (known, _) if parameters::names().any(|name| name == known) => reader.fault(
                name.span().start,
                format!("'{known}' is a parameter: write it below [parameters]"),
            ),
            _ => reader.unknown(name, "at the top of the file", &TOP),
        }
    }

    fn take_named(&mut self, reader: &mut Reader<'_>, name: &Name<'_>, value: &Value<'_>) {
        if is_gone(reader, name, value) {
            return;
        }
        let known: Vec<&'static str> = parameters::names().filter(|name| *name != "mode").collect();
        match known.iter().find(|known| **known == name.get_ref()) {
            Some(known) => self.take_parameter(reader, known, value),
            None if name.get_ref() == "mode" => reader.fault(
                name.span().start,
                "'mode' stands at the top of the file: write it before the first [table]",
            ),
            None => reader.unknown(name, "among the parameters", &known),
        }
    }

    fn take_parameter(&mut self, reader: &mut Reader<'_>, name: &'static str, value: &Value<'_>) {
        if let Some(value) = parameter(reader, name, value) {
            self.parameters.insert(name, value);
        }
    }

    fn take_rules(&mut self, reader: &mut Reader<'_>, rules: &[Value<'_>]) {
        let mut lines: BTreeMap<u32, usize> = BTreeMap::new();
        for value in rules {
            let at = value.span().start;
            let DeValue::Table(table) = value.get_ref() else {
                reader.fault(at, "a rule is a table: write [[rule]]");
                continue;
            };
            let Some(rule) = rule(reader, table, at) else {
                continue;
            };
            match lines.insert(rule.id, reader.line(at)) {
                Some(line) => reader.fault(
                    at,
                    format!("line {line} has rule {} already: give another id", rule.id),
                ),
                None => self.rules.push(rule),
            }
        }
        if let Some(value) = rules.get(MOST_RULES) {
            let what = format!("there can be at most {MOST_RULES} rules: take some out");
            reader.fault(value.span().start, what);
        }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::new()
    }
}

fn in_lines(mut faults: Vec<Fault>) -> Vec<Fault> {
    faults.sort_by_key(|fault| (fault.line, fault.column));
    faults
}

/// Who may give hints: root alone, but for what the table says.
fn access(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Access {
    let mut access = Access {
        owner: "root".into(),
        group: "root".into(),
        mode: 0o600,
    };
    for (name, value) in in_order(table) {
        let at = value.span().start;
        match name.get_ref().as_ref() {
            word @ ("owner" | "group") => {
                let Some(text) = reader.string(word, value) else {
                    continue;
                };
                // The last number stands for leaving the owner as it is.
                let no_change = text.parse() == Ok(u32::MAX);
                let strange = |c: char| c.is_control() || c == ':';
                if text.is_empty() || text.contains(strange) || no_change {
                    reader.fault(
                        at,
                        format!("'{word}' takes a name, as in /etc/{}", file(word)),
                    );
                    continue;
                }
                let place = match word {
                    "owner" => &mut access.owner,
                    _ => &mut access.group,
                };
                text.clone_into(place);
            }
            "mode" => match octal(value) {
                Some(mode) => access.mode = mode,
                None => reader.fault(at, "'mode' takes an octal number such as \"0660\""),
            },
            _ => reader.unknown(name, "in [hints]", &HINTS),
        }
    }
    access
}

fn file(word: &str) -> &'static str {
    if word == "owner" {
        "passwd"
    } else {
        "group"
    }
}

fn octal(value: &Spanned<DeValue<'_>>) -> Option<u32> {
    let digits = match value.get_ref() {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) if number.radix() == 8 => number.as_str().to_owned(),
        _ => return None,
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    u32::from_str_radix(&digits, 8)
        .ok()
        .filter(|mode| *mode <= 0o777)
}

/// A rule, of which every part is tried by itself first, so that a fault is said
/// where it is.
fn rule(reader: &mut Reader<'_>, table: &DeTable<'_>, at: usize) -> Option<Rule> {
    let (before, gone_before) = (reader.faults.len(), reader.gone.len());
    let mut id = None;
    let (mut words, mut names) = (String::new(), Words::default());
    for (name, value) in in_order(table) {
        let word: &str = name.get_ref();
        match word {
            "id" => id = reader.whole("id", value),
            "comm" | "cgroup" => {
                if let Some(text) = reader.string(word, value) {
                    let text = one_word(text);
                    take_word(reader, &mut words, value, (word, &text), " exempt");
                }
            }
            "node" => {
                if let Some(text) = reader.string(word, value) {
                    let text = one_word(text);
                    take_word(reader, &mut words, value, (word, &text), " pid=1 exempt");
                }
            }
            "unit" | "container" | "label" | "user" => {
                if let Some(text) = reader.string(word, value) {
                    if let Err(what) = names.take(word, &one_word(text)) {
                        reader.fault(value.span().start, what);
                    }
                }
            }
            "prio" | "timeslice_us" | "stop_budget_ms" => {
                if let Some(number) = reader.whole(word, value) {
                    let number = number.to_string();
                    take_word(reader, &mut words, value, (word, &number), " pid=1");
                }
            }
            "exempt" => match value.get_ref() {
                DeValue::Boolean(true) => words.push_str(" exempt"),
                DeValue::Boolean(false) => {}
                _ => reader.fault(value.span().start, "'exempt' takes true or false"),
            },
            "pid" => reader.fault(
                name.span().start,
                "a process number does not outlive its process: \
                 use 'comm' or 'cgroup', or type 'gpreempt rules add'",
            ),
            _ => match gone::word_of_rule(word) {
                Some(gone) => reader.gone(name.span().start, gone.to_string()),
                None => reader.unknown(name, "in a rule", &RULE),
            },
        }
    }
    if reader.faults.len() > before {
        return None;
    }
    let Some(id) = id else {
        reader.fault(at, "the rule has no number: add 'id = 10'");
        return None;
    };
    match Rule::named(&format!("{id}{words}"), names.name()) {
        Ok(rule) => Some(rule),
        Err(RuleText::NO_EFFECT) if reader.gone.len() > gone_before => {
            reader.gone(
                at,
                format!("rule {id} does nothing without what is gone and is left out"),
            );
            None
        }
        Err(error) => {
            reader.fault(at, complaint(error));
            None
        }
    }
}

fn take_word(
    reader: &mut Reader<'_>,
    words: &mut String,
    value: &Value<'_>,
    (word, text): (&str, &str),
    rest: &str,
) {
    match Rule::parse(&format!("1 {word}={text}{rest}")) {
        Ok(_) => words.push_str(&format!(" {word}={text}")),
        Err(error) => reader.fault(value.span().start, complaint(error)),
    }
}

/// A text as one word of a rule. An escape stays what it is.
fn one_word(text: &str) -> String {
    let mut word = String::new();
    for character in text.chars() {
        if character.is_ascii_graphic() || !character.is_ascii() {
            word.push(character);
        } else {
            word.push_str(&format!("%{:02X}", u32::from(character)));
        }
    }
    word
}

/// What is wrong with a rule, in the words of the file.
fn complaint(error: SetError) -> String {
    match error {
        RuleText::NO_ID => "'id' takes a number from 0 to 4294967295".into(),
        RuleText::NO_SUBJECT => {
            "the rule is for nobody: add 'cgroup', 'comm', 'unit', 'container', 'label' or 'user'"
                .into()
        }
        RuleText::TWICE => {
            "give only one of 'cgroup', 'comm' and the name of a unit, container, label or user"
                .into()
        }
        RuleText::NO_EFFECT => "the rule does nothing: \
             add 'prio', 'timeslice_us', 'stop_budget_ms' or 'exempt'"
            .into(),
        RuleText::EXEMPT_AND_MORE => "'exempt' goes with nothing else: take the rest out".into(),
        other => other.to_string().replace('=', ""),
    }
}
