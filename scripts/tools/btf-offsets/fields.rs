// SPDX-License-Identifier: GPL-2.0-only

//! The list of what is taken from BTF: one line each, in four columns.
//!
//! ```text
//! struct      NAME         SIZE              [optional]
//! field       STRUCT.PATH  SIZE | COUNTS     [optional]
//! enumerator  ENUM.NAME    VALUE             [optional]
//! pointer     STRUCT.PATH  RETURN(ARGUMENT, ...)
//! function    NAME         RETURN(ARGUMENT, ...)
//! ```
//!
//! SIZE is in bytes, VALUE a number; `*` leaves either open.  COUNTS is the size
//! of an element and, in brackets, the number of elements, which may be left
//! out: `8[4]`, `4[]`.  `#` starts a comment.
//!
//! `direct` in front of a line says that `transaction=direct` alone needs it: a driver
//! that is otherwise there does not stop the build, and all its constants are optional.

/// What one line asks for.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    pub item: Item<'a>,
    pub optional: bool,
    pub part: Part,
}

/// Which part of the module needs a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The whole module.
    Whole,
    /// `transaction=direct` alone.
    Direct,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Item<'a> {
    Struct {
        name: &'a str,
        size: Option<u64>,
    },
    Field {
        owner: &'a str,
        path: &'a str,
        extent: Extent,
    },
    Enumerator {
        owner: &'a str,
        name: &'a str,
        value: Option<i64>,
    },
    /// A field that points to a function.
    Pointer {
        owner: &'a str,
        path: &'a str,
        signature: &'a str,
    },
    Function {
        name: &'a str,
        signature: &'a str,
    },
}

/// What the list says about the size of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Any size, which then becomes a constant too.
    Open,
    Bytes(u64),
    Array {
        element: u64,
        count: Option<u64>,
    },
}

/// Reads the list.  An error starts with the number of its line.
pub fn parse(text: &str) -> Result<Vec<Entry<'_>>, String> {
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            entries.push(parse_line(line).map_err(|e| format!("{}: {e}", index + 1))?);
        }
    }
    if entries.is_empty() {
        return Err("1: the list of fields is empty".into());
    }
    Ok(entries)
}

fn column(text: &str) -> (&str, &str) {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (first, rest.trim_start())
}

/// Identifiers become constants, so nothing else is allowed in a name.
fn check_name(name: &str) -> Result<(), String> {
    let word = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    if name.split('.').all(word) {
        Ok(())
    } else {
        Err(format!("'{name}' is no name of a structure or field"))
    }
}

fn parse_line(line: &str) -> Result<Entry<'_>, String> {
    let (part, line) = match column(line) {
        ("direct", rest) => (Part::Direct, rest),
        _ => (Part::Whole, line),
    };
    let (kind, rest) = column(line);
    let (name, rest) = column(rest);
    if name.is_empty() || rest.is_empty() {
        return Err(format!(
            "'{line}' lacks a column: kind, name, then what is expected"
        ));
    }
    check_name(name)?;
    let dotted = || {
        name.split_once('.')
            .ok_or(format!("'{name}' lacks the name of its owner"))
    };
    let plain = || match name.contains('.') {
        true => Err(format!("'{name}' is a path where a plain name is expected")),
        false => Ok(name),
    };

    let signature = rest;
    let (expected, optional) = match kind {
        "pointer" | "function" => (rest, false),
        _ => sized(rest)?,
    };
    let item = match kind {
        "pointer" => {
            let (owner, path) = dotted()?;
            Item::Pointer {
                owner,
                path,
                signature,
            }
        }
        "function" => Item::Function {
            name: plain()?,
            signature,
        },
        "struct" => Item::Struct {
            name: plain()?,
            size: open(expected, number)?,
        },
        "field" => {
            let (owner, path) = dotted()?;
            Item::Field {
                owner,
                path,
                extent: extent(expected)?,
            }
        }
        "enumerator" => {
            let (owner, name) = dotted()?;
            let value = |text: &str| text.parse().map_err(|_| format!("'{text}' is no value"));
            Item::Enumerator {
                owner,
                name,
                value: open(expected, value)?,
            }
        }
        other => {
            return Err(format!(
                "'{other}' is not one of struct, field, enumerator, pointer and function"
            ))
        }
    };
    Ok(Entry {
        item,
        optional,
        part,
    })
}

/// A size or a value, and whether it is of something that not every kernel has.
fn sized(rest: &str) -> Result<(&str, bool), String> {
    match column(rest) {
        (expected, "") => Ok((expected, false)),
        (expected, "optional") => Ok((expected, true)),
        (_, other) => Err(format!("'{other}' is not 'optional'")),
    }
}

fn open<T>(text: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    match text {
        "*" => Ok(None),
        _ => parse(text).map(Some),
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("'{text}' is no size"))
}

fn extent(text: &str) -> Result<Extent, String> {
    if let Some((element, count)) = text.strip_suffix(']').and_then(|text| text.split_once('[')) {
        let count = if count.is_empty() {
            None
        } else {
            Some(number(count)?)
        };
        return Ok(Extent::Array {
            element: number(element)?,
            count,
        });
    }
    Ok(open(text, number)?.map_or(Extent::Open, Extent::Bytes))
}
