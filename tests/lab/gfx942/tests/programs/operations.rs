// SPDX-License-Identifier: GPL-2.0-only
//! The types of random programs and what they calculate, as `operations.txt` has it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

const TABLE: &str = include_str!("operations.txt");

/// The types of variables, and how many elements the ones of several have.
pub const TYPES: [&str; 22] = [
    "u32", "i32", "u64", "i64", "u16", "i16", "u8", "i8", "f32", "f64", "f16", "i16x2", "u16x2",
    "u8x4", "u32x2", "u64x2", "f16x2", "f16x4", "f32x2", "f32x4", "f64x2", "i32x4",
];

/// The types that a capital letter stands for.
fn class(letter: &str) -> Option<&'static [&'static str]> {
    Some(match letter {
        "I" | "K" => &["u32", "i32", "u64", "i64", "u16", "i16", "u8", "i8"],
        "U" => &["u32", "u64", "u16", "u8"],
        "S" => &["i32", "i64", "i16", "i8"],
        "F" | "E" => &["f32", "f64", "f16"],
        "V" => &["i16x2", "u16x2", "u8x4", "u32x2", "u64x2", "i32x4"],
        "G" => &["f16x2", "f16x4", "f32x2", "f32x4", "f64x2"],
        _ => return None,
    })
}

/// The bits of an integer.
fn bits(of: &str) -> &str {
    of.trim_start_matches(['i', 'u', 'f'])
        .split('x')
        .next()
        .unwrap()
}

/// The type of what several are of.
fn element(of: &str) -> &str {
    of.split('x').next().unwrap()
}

/// How many elements a type has.
fn count(of: &str) -> usize {
    of.split_once('x')
        .map_or(1, |(_, count)| count.parse().unwrap())
}

/// An operation on certain types: a function of the program's text.
pub struct Operation {
    pub name: String,
    pub sources: Vec<&'static str>,
    /// The definition of the function.
    pub text: String,
}

/// The expression with types in the place of letters.
fn filled(expression: &str, result: &str, first: &str) -> String {
    let mut text = String::new();
    let mut rest = expression;
    while let Some(at) = rest.find(|of: char| of.is_ascii_alphanumeric() || of == '_') {
        let (before, from) = rest.split_at(at);
        let end = from.find(|of: char| !of.is_ascii_alphanumeric() && of != '_');
        let (word, after) = from.split_at(end.unwrap_or(from.len()));
        text.push_str(before);
        text.push_str(&match word {
            "BITS" => bits(result).to_string(),
            "COUNT" => count(result).to_string(),
            "ELEMENT" => element(result).to_string(),
            // How the elements after two are turned.
            "ORDER" => ["", ", 2", ", 3, 2"][count(result) - 2].to_string(),
            "fused_ELEMENT_f" => format!("fused_{}", element(result)),
            "least_ELEMENT_f" => format!("least_{}", element(result)),
            "most_ELEMENT_f" => format!("most_{}", element(result)),
            "T" => result.to_string(),
            "J" => first.to_string(),
            word => word
                .replace("_T", &format!("_{result}"))
                .replace("_J", &format!("_{first}")),
        });
        rest = after;
    }
    text + rest
}

/// All that a line stands for.
fn line_operations(line: &'static str) -> Vec<(&'static str, Operation)> {
    let (head, body) = line.split_once(" => ").unwrap();
    let (device, host) = body.split_once(" host=> ").unwrap_or((body, ""));
    let words: Vec<&str> = head.split(' ').collect();
    let of = |word: &'static str| class(word).map_or_else(|| vec![word], <[_]>::to_vec);
    let mut found = Vec::new();
    for result in of(words[0]) {
        let plain = |word| match word {
            "T" => result,
            "ELEMENT" => element(result),
            word => word,
        };
        for first in of(plain(words[2])) {
            let source = |word: &&'static str| match *word {
                "J" => first,
                word => plain(word),
            };
            let sources: Vec<&str> = [first]
                .into_iter()
                .chain(words[3..].iter().map(source))
                .collect();
            let name = format!("{}_{result}_{}", words[1], sources.join("_"));
            let fill = |text: &str| filled(text, result, first);
            let parameters: Vec<String> = sources
                .iter()
                .zip(["a", "b", "c"])
                .map(|(of, name)| format!("{of} {name}"))
                .collect();
            let value = match host {
                "" => fill(device),
                host => format!("DEVICE(({}), ({}))", fill(device), fill(host)),
            };
            let text = format!(
                "ALWAYS {result} {name}({}) {{ typedef {result} result; return ({result})({value}); }}\n",
                parameters.join(", ")
            );
            found.push((
                result,
                Operation {
                    name,
                    sources,
                    text,
                },
            ));
        }
    }
    found
}

/// The operations by the type of their result.
pub static OPERATIONS: LazyLock<BTreeMap<&'static str, Vec<Operation>>> = LazyLock::new(|| {
    let mut by_result: BTreeMap<&str, Vec<Operation>> = BTreeMap::new();
    let lines = TABLE
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    for (result, operation) in lines.flat_map(line_operations) {
        by_result.entry(result).or_default().push(operation);
    }
    by_result
});
