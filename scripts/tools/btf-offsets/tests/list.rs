// SPDX-License-Identifier: GPL-2.0-only

//! The list of fields, and the files that come out.

use crate::fields::{parse, Entry, Extent, Item, Part};
use crate::layout::{Constant, Layout, Value};
use crate::{emit, fields};

#[test]
fn lines_of_every_sort() {
    let text = "# a comment\n\nstruct a *\nfield a.b.c 4[2] optional # why\n\
                enumerator e.X -1\npointer a.f int(a *, void *)\nfunction f void()\n";
    let field = Extent::Array {
        element: 4,
        count: Some(2),
    };
    let expected = [
        (
            Item::Struct {
                name: "a",
                size: None,
            },
            false,
        ),
        (
            Item::Field {
                owner: "a",
                path: "b.c",
                extent: field,
            },
            true,
        ),
        (
            Item::Enumerator {
                owner: "e",
                name: "X",
                value: Some(-1),
            },
            false,
        ),
        (
            Item::Pointer {
                owner: "a",
                path: "f",
                signature: "int(a *, void *)",
            },
            false,
        ),
        (
            Item::Function {
                name: "f",
                signature: "void()",
            },
            false,
        ),
    ];
    let expected = expected.map(|(item, optional)| Entry {
        item,
        optional,
        part: Part::Whole,
    });
    assert_eq!(parse(text).unwrap(), expected);
}

#[test]
fn a_line_of_one_option_is_told_apart() {
    let list = parse("direct function f void()\nfunction g void()\n").unwrap();
    let parts: Vec<Part> = list.iter().map(|entry| entry.part).collect();
    assert_eq!(parts, [Part::Direct, Part::Whole]);
    assert!(parse("direct\n").unwrap_err().contains("lacks a column"));
    assert!(parse("direct field\n")
        .unwrap_err()
        .contains("lacks a column"));
}

#[test]
fn wrong_lines_are_named_by_their_number() {
    for (line, expected) in [
        ("field a.b", "lacks a column"),
        ("field", "lacks a column"),
        ("field ab 4", "'ab' lacks the name of its owner"),
        ("field a..b 4", "'a..b' is no name"),
        ("field a.b! 4", "'a.b!' is no name"),
        ("field a.b four", "'four' is no size"),
        ("field a.b -4", "'-4' is no size"),
        ("field a.b 4[x]", "'x' is no size"),
        ("field a.b 4 maybe", "'maybe' is not 'optional'"),
        ("struct a.b 4", "'a.b' is a path"),
        ("enumerator e.X y", "'y' is no value"),
        ("member a.b 4", "'member' is not one of"),
    ] {
        let error = parse(&format!("struct a *\n{line}\n")).unwrap_err();
        assert!(
            error.starts_with("2: ") && error.contains(expected),
            "{line}: {error}"
        );
    }
    assert!(parse("# nothing\n").unwrap_err().contains("empty"));
}

#[test]
fn the_real_list_has_no_line_twice() {
    let text = super::real::field_list();
    let list = fields::parse(&text).unwrap();
    for (index, entry) in list.iter().enumerate() {
        assert!(
            !list[..index].contains(entry),
            "{entry:?} stands there twice"
        );
    }
}

fn layout() -> Layout<'static> {
    let constant = |name: &str, value| Constant {
        name: name.into(),
        meaning: "M.".into(),
        value,
    };
    Layout {
        expected: Vec::new(),
        direct: Vec::new(),
        constants: vec![
            constant("A_B", Value::Offset(16)),
            constant("A_SIZE", Value::Amount(32)),
            constant("KIND", Value::Enumerator(-3)),
            constant("A_NEW", Value::OptionalOffset(Some(8))),
            constant("A_OLD", Value::OptionalOffset(None)),
        ],
    }
}

#[test]
fn rust_and_c_say_the_same() {
    let rust = emit::rust(&layout(), "amdgpu.ko");
    for line in [
        "pub const A_B: usize = 0x10;",
        "pub const A_SIZE: usize = 32;",
        "pub const KIND: i64 = -3;",
        "pub const A_NEW: Option<usize> = Some(0x8);",
        "pub const HAVE_A_NEW: bool = true;",
        "pub const A_OLD: Option<usize> = None;",
        "pub const HAVE_A_OLD: bool = false;",
    ] {
        assert!(
            rust.lines().any(|found| found == line),
            "{line} is not in\n{rust}"
        );
    }
    let c = emit::c(&layout(), "amdgpu.ko");
    for line in [
        "#define GP_A_B 0x10",
        "#define GP_A_SIZE 32",
        "#define GP_KIND -3",
        "#define GP_HAVE_A_NEW 1",
        "#define GP_A_NEW 0x8",
        "#define GP_HAVE_A_OLD 0",
    ] {
        assert!(
            c.lines().any(|found| found == line),
            "{line} is not in\n{c}"
        );
    }
    assert!(!c.contains("define GP_A_OLD"), "{c}");
}
