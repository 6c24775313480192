// SPDX-License-Identifier: GPL-2.0-only

//! Writes a layout as Rust, as C, or as a table to read.

use std::fmt::Write;

use crate::expected::Expected;
use crate::layout::{Layout, Value};

// Writing to a string cannot fail, so that the results of `writeln!` say nothing.

/// Rust constants, to be taken in by `include!`.
pub fn rust(layout: &Layout<'_>, module: &str) -> String {
    let mut out = format!(
        "// SPDX-License-Identifier: GPL-2.0-only\n\
         // Made by scripts/tools/btf-offsets from the type information of {module}. Do not edit.\n"
    );
    for constant in &layout.constants {
        let name = &constant.name;
        let (of_type, value, have) = match constant.value {
            Value::Offset(at) => ("usize", format!("{at:#x}"), None),
            Value::Amount(count) => ("usize", count.to_string(), None),
            Value::Enumerator(value) => ("i64", value.to_string(), None),
            Value::OptionalOffset(at) => (
                "Option<usize>",
                option(at.map(|at| format!("{at:#x}"))),
                Some(at.is_some()),
            ),
            Value::OptionalAmount(count) => ("Option<usize>", option(count), Some(count.is_some())),
            Value::OptionalEnumerator(value) => {
                ("Option<i64>", option(value), Some(value.is_some()))
            }
        };
        let _ = writeln!(
            out,
            "/// {}\npub const {name}: {of_type} = {value};",
            constant.meaning
        );
        if let Some(have) = have {
            let _ = writeln!(out, "/// Whether there is a [`{name}`].");
            let _ = writeln!(out, "pub const HAVE_{name}: bool = {have};");
        }
    }
    out
}

fn option<T: std::fmt::Display>(value: Option<T>) -> String {
    value.map_or("None".into(), |value| format!("Some({value})"))
}

/// What the module compares with the driver that it meets, for `include!`.
pub fn expected(layout: &Layout<'_>, module: &str) -> String {
    let mut out = format!(
        "// SPDX-License-Identifier: GPL-2.0-only\n\
         // Made by scripts/tools/btf-offsets from the type information of {module}. Do not edit.\n"
    );
    for (name, meaning, list) in [
        (
            "EXPECTED",
            "What the driver has to be like, as far as anything uses it.",
            &layout.expected,
        ),
        (
            "EXPECTED_DIRECT",
            "What it has to be like besides for `transaction=direct`.",
            &layout.direct,
        ),
    ] {
        let count = list.len();
        let _ = writeln!(
            out,
            "/// {meaning}\nconst {name}: [Expected<'static>; {count}] = ["
        );
        for Expected { class, owner, fact } in list {
            let _ = writeln!(
                out,
                "    Expected {{ class: Class::{class:?}, owner: {owner:?}, fact: Fact::{fact:?} }},"
            );
        }
        out += "];\n";
    }
    out
}

/// C macros, with the prefix of the module's C names.
pub fn c(layout: &Layout<'_>, module: &str) -> String {
    let mut out = format!(
        "/* SPDX-License-Identifier: GPL-2.0-only */\n\
         /* Made by scripts/tools/btf-offsets from the type information of {module}. Do not edit. */\n\
         #ifndef GP_KFD_LAYOUT_H\n#define GP_KFD_LAYOUT_H\n\n"
    );
    for constant in &layout.constants {
        let name = &constant.name;
        let (value, optional) = match constant.value {
            Value::Offset(at) => (Some(format!("{at:#x}")), false),
            Value::Amount(count) => (Some(count.to_string()), false),
            Value::Enumerator(value) => (Some(value.to_string()), false),
            Value::OptionalOffset(at) => (at.map(|at| format!("{at:#x}")), true),
            Value::OptionalAmount(count) => (count.map(|count| count.to_string()), true),
            Value::OptionalEnumerator(value) => (value.map(|value| value.to_string()), true),
        };
        if optional {
            let _ = writeln!(out, "#define GP_HAVE_{name} {}", u8::from(value.is_some()));
        }
        if let Some(value) = value {
            let _ = writeln!(out, "#define GP_{name} {value}");
        }
    }
    out + "\n#endif /* GP_KFD_LAYOUT_H */\n"
}

/// One line for each constant.
pub fn table(layout: &Layout<'_>) -> String {
    let mut out = String::new();
    for constant in &layout.constants {
        let value = match constant.value {
            Value::Offset(at) | Value::OptionalOffset(Some(at)) => format!("{at:#x}"),
            Value::Amount(count) | Value::OptionalAmount(Some(count)) => count.to_string(),
            Value::Enumerator(value) | Value::OptionalEnumerator(Some(value)) => value.to_string(),
            Value::OptionalOffset(None)
            | Value::OptionalAmount(None)
            | Value::OptionalEnumerator(None) => "absent".into(),
        };
        let _ = writeln!(out, "{:<56} {value}", constant.name);
    }
    out
}
