// SPDX-License-Identifier: GPL-2.0-only

//! The copy of the sources in which each bug can be switched on.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{ensure, Context, Result};

use crate::bugs::Bug;

/// What is added to a file of the copy, so that the chosen bug is known everywhere.
const ADDED: [(&str, &str); 2] = [
    (
        "rust/kfd/kfd.rs",
        "\nextern \"C\" {\n    static gp_bug: u32;\n}\n\n\
         /// Whether a bug is the chosen one.\n\
         pub fn bug(number: u32) -> bool {\n    \
             // SAFETY: The shim has it, and nobody writes it once the module is loaded.\n    \
             unsafe { (&raw const gp_bug).read_volatile() == number }\n}\n",
    ),
    (
        "bindings/settings.c",
        "\n#include <linux/moduleparam.h>\n\
         unsigned int gp_bug;\nmodule_param_named(bug, gp_bug, uint, 0);\n",
    ),
];

/// Where C files hear of the chosen bug: before the first thing that they define.
const C_DECLARATION: &str = "extern unsigned int gp_bug;\n";

/// What is put into the copy for another text, because it takes most of a suite's time,
/// and what a bug does in a thousand rounds it does in a few.
const SHORTENED: [(&str, &str, &str); 2] = [
    ("tests/kunit/direct.rs", "0..1000usize", "0..14usize"),
    ("tests/kunit/transaction.rs", "0..1000usize", "0..14usize"),
];

/// A text in a file, with what takes its place for each of some bugs.
struct Place<'b> {
    from: &'b str,
    /// Numbers and texts.
    bugs: Vec<(usize, &'b str)>,
}

/// Whether a text is whole statements, and no expression.
fn is_statements(text: &str) -> bool {
    text.ends_with([';', '}'])
}

impl Place<'_> {
    /// The text with its switches.
    fn switched(&self, file: &str) -> String {
        let in_c = file.ends_with(".c");
        let mut text = String::new();
        for (number, to) in &self.bugs {
            let chosen = match file {
                _ if in_c => format!("gp_bug == {number}"),
                _ if file.starts_with("rust/kfd/") => format!("crate::bug({number})"),
                _ => format!("kfd::bug({number})"),
            };
            let branch = match in_c {
                true if is_statements(self.from) => format!("if ({chosen}) {{ {to} }} else "),
                true => format!("{chosen} ? ({to}) : "),
                false => format!("if {chosen} {{ {to} }} else "),
            };
            text += &branch;
        }
        let from = self.from;
        match (in_c, is_statements(from)) {
            (true, false) => format!("({text}({from}))"),
            (false, false) => format!("({text}{{ {from} }})"),
            (_, true) => format!("{text}{{ {from} }}"),
        }
    }
}

/// The places of the bugs in each file. Bugs in the same place share it.
fn places(bugs: &[Bug]) -> BTreeMap<&str, Vec<Place<'_>>> {
    let mut places: BTreeMap<&str, Vec<Place<'_>>> = BTreeMap::new();
    for (number, Bug(_, file, from, to, _)) in (1..).zip(bugs) {
        let in_file = places.entry(file).or_default();
        match in_file.iter_mut().find(|place| place.from == *from) {
            Some(place) => place.bugs.push((number, to)),
            None => in_file.push(Place {
                from,
                bugs: vec![(number, to)],
            }),
        }
    }
    places
}

/// A file with a switch for each bug in it.
///
/// # Errors
///
/// A text that is not there just once, or that lies within that of another bug.
fn with_switches(file: &str, source: &str, places: &[Place<'_>]) -> Result<String> {
    let mut found = Vec::new();
    for place in places {
        let times = source.matches(place.from).count();
        ensure!(
            times == 1,
            "{file}: {:?} is there {times} times",
            place.from
        );
        found.push((source.find(place.from).unwrap_or(0), place));
    }
    found.sort_by_key(|(at, _)| *at);
    let mut text = String::new();
    let mut done = 0;
    for (at, place) in found {
        ensure!(
            at >= done,
            "{file}: {:?} is within that of another bug",
            place.from
        );
        text += &source[done..at];
        text += &place.switched(file);
        done = at + place.from.len();
    }
    Ok(text + &source[done..])
}

/// Puts the switches into a copy of the sources.
///
/// # Errors
///
/// As [`with_switches`], or a file that cannot be read or written.
pub fn put_switches(project: &Path, copy: &Path, bugs: &[Bug]) -> Result<()> {
    let places = places(bugs);
    let mut files: Vec<&str> = places.keys().copied().collect();
    files.extend(ADDED.map(|(file, _)| file));
    files.sort_unstable();
    files.dedup();
    for file in files {
        let source = fs::read_to_string(project.join(file)).with_context(|| file.to_owned())?;
        let mut text = with_switches(file, &source, places.get(file).map_or(&[], |all| all))?;
        for (_, added) in ADDED.iter().filter(|(to, _)| *to == file) {
            text += added;
        }
        if file.ends_with(".c") {
            let first = text
                .find("\n#include")
                .context("a C file without headers")?;
            text.insert_str(first + 1, C_DECLARATION);
        }
        let place = copy.join(file);
        // The build goes by time.
        if fs::read_to_string(&place).ok().as_deref() != Some(&text) {
            fs::write(&place, text).with_context(|| file.to_owned())?;
        }
    }
    Ok(())
}

/// Has the suites of the copy take less time.
///
/// # Errors
///
/// A text that is not there just once, or a file that cannot be read or written.
pub fn shorten(copy: &Path) -> Result<()> {
    for (file, from, to) in SHORTENED {
        let place = copy.join(file);
        let source = fs::read_to_string(&place).with_context(|| file.to_owned())?;
        ensure!(
            source.matches(from).count() == 1,
            "{file}: {from:?} is not there once"
        );
        fs::write(&place, source.replace(from, to)).with_context(|| file.to_owned())?;
    }
    Ok(())
}

/// Checks that each bug has its one place.
///
/// # Errors
///
/// As [`with_switches`], or a file that cannot be read.
pub fn check(project: &Path, bugs: &[Bug]) -> Result<()> {
    for (file, places) in places(bugs) {
        let source = fs::read_to_string(project.join(file)).with_context(|| file.to_owned())?;
        with_switches(file, &source, &places)?;
    }
    Ok(())
}
