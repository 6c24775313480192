// SPDX-License-Identifier: GPL-2.0-only
//! The generated parts of the documents.
//!
//! The policy crate holds the one table of parameters, and runs of scenarios leave what has
//! passed, those of the matrix of faults what they have found. What people read about them is written from there, so that
//! it cannot say anything else.

mod faults;
mod runs;

use anyhow::{bail, Result};
use gpreempt_policy::{
    ChoiceSpec, NumberSpec, CHOICES, NUMBERS, TIMESLICE_HELP, TIMESLICE_MAX, TIMESLICE_NAME,
};

/// What stands before and after the part about parameters, in any comment syntax.
const PARAMETERS: [&str; 2] = ["parameters: begin", "parameters: end"];
/// The same of the part about faults.
const FAULTS: [&str; 2] = ["faults: begin", "faults: end"];
/// The same of the part about what was run.
const RUNS: [&str; 2] = ["runs: begin", "runs: end"];

/// A document with a generated part, and how that part is written.
pub struct Document {
    /// The path from the top of the tree.
    pub path: &'static str,
    marks: [&'static str; 2],
    render: fn() -> String,
}

/// Every document that has a generated part.
pub const DOCUMENTS: &[Document] = &[
    Document {
        path: "docs/man/amd_gpreempt.4",
        marks: PARAMETERS,
        render: manual,
    },
    Document {
        path: "docs/ABI/testing/sysfs-module-amd_gpreempt",
        marks: PARAMETERS,
        render: abi,
    },
    Document {
        path: "docs/parameters.md",
        marks: PARAMETERS,
        render: markdown,
    },
    Document {
        path: "docs/fault-states.md",
        marks: FAULTS,
        render: faults::table,
    },
    Document {
        path: "docs/runs.md",
        marks: RUNS,
        render: runs::table,
    },
];

impl Document {
    /// The document with its generated part written anew.
    pub fn renew(&self, text: &str) -> Result<String> {
        replace(text, self.marks, &(self.render)())
    }
}

/// Puts `part` between the line that begins the generated part and the line
/// that ends it.
fn replace(text: &str, [first, last]: [&str; 2], part: &str) -> Result<String> {
    let lines: Vec<&str> = text.lines().collect();
    let find = |mark| lines.iter().position(|line| line.contains(mark));
    let (Some(begin), Some(end)) = (find(first), find(last)) else {
        bail!("no line with '{first}' and a later one with '{last}'");
    };
    if end < begin {
        bail!("the line with '{last}' stands before the one with '{first}'");
    }
    let mut out = lines[..=begin].join("\n");
    out.push('\n');
    out.push_str(part);
    out.push_str(&lines[end..].join("\n"));
    out.push('\n');
    Ok(out)
}

/// One parameter as the documents describe it.
struct Entry {
    name: &'static str,
    default: String,
    values: String,
    help: &'static str,
}

impl From<&ChoiceSpec> for Entry {
    fn from(choice: &ChoiceSpec) -> Entry {
        Entry {
            name: choice.name,
            default: choice.words[0].to_string(),
            values: choice.words.join(", "),
            help: choice.help,
        }
    }
}

impl From<&NumberSpec> for Entry {
    fn from(number: &NumberSpec) -> Entry {
        let values = format!("{} to {} {}", number.min, number.max, number.unit);
        Entry {
            name: number.name,
            default: number.default.to_string(),
            values: values.trim_end().to_owned(),
            help: number.help,
        }
    }
}

fn entries() -> Vec<Entry> {
    let timeslice = Entry {
        name: TIMESLICE_NAME,
        default: "0".to_string(),
        values: format!("0 to {TIMESLICE_MAX} us, once or 16 times"),
        help: TIMESLICE_HELP,
    };
    CHOICES
        .iter()
        .map(Entry::from)
        .chain([timeslice])
        .chain(NUMBERS.iter().map(Entry::from))
        .collect()
}

/// The entries one after the other, each as `form` words it.
fn each(form: impl Fn(Entry) -> String) -> String {
    entries().into_iter().map(form).collect::<Vec<_>>().concat()
}

fn manual() -> String {
    each(|entry| {
        format!(
            ".It Cm {}\n{}\nValues: {}.\nDefault: {}.\n",
            entry.name,
            entry.help.replace(". ", ".\n"),
            entry.values,
            entry.default
        )
    })
}

fn abi() -> String {
    each(|entry| {
        format!(
            "What:\t\t/sys/module/amd_gpreempt/parameters/{}\n\
                 KernelVersion:\t7.2\n\
                 Description:\t(RW) {}\n\
                 \t\tValues: {}. Default: {}.\n\
                 \t\tA value that is none of these is refused with EINVAL, a\n\
                 \t\tnumber outside the range with ERANGE; the old one stays.\n\n",
            entry.name,
            wrap(entry.help),
            entry.values,
            entry.default
        )
    })
}

/// Breaks a sentence into lines of the ABI documents' description column.
fn wrap(text: &str) -> String {
    let mut out = String::new();
    let mut column = 5;
    for word in text.split(' ') {
        if column + word.len() > 60 {
            out.push_str("\n\t\t");
            column = 0;
        } else if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        column += word.len() + 1;
    }
    out
}

fn markdown() -> String {
    let rows = each(|entry| {
        format!(
            "| `{}` | {} | {} | {} |\n",
            entry.name, entry.default, entry.values, entry.help
        )
    });
    format!("\n| parameter | default | values | meaning |\n|---|---|---|---|\n{rows}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_part_between_the_marks_changes() {
        let text = "head\n# parameters: begin\nold\n# parameters: end\ntail\n";
        assert_eq!(
            replace(text, PARAMETERS, "new\n").unwrap(),
            "head\n# parameters: begin\nnew\n# parameters: end\ntail\n"
        );
    }

    #[test]
    fn a_document_without_both_marks_in_order_is_refused() {
        for text in [
            "",
            "parameters: begin\n",
            "parameters: end\n",
            "parameters: end\nparameters: begin\n",
        ] {
            assert!(replace(text, PARAMETERS, "new\n").is_err(), "{text:?}");
        }
    }

    #[test]
    fn every_parameter_is_listed_once() {
        let names: Vec<&str> = entries().iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), NUMBERS.len() + CHOICES.len() + 1);
        for name in &names {
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1);
        }
    }
}
