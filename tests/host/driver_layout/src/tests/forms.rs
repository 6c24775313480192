// SPDX-License-Identifier: GPL-2.0-only

//! Which fields are of a form, where one can be, and how large structures are, in made-up
//! types.

use super::maker::*;
use super::rules::{ask, field, refused, row, simple, INT};
use crate::fields::{Ask, Bytes, Form};
use crate::type_info::Class;

#[test]
fn a_field_is_of_its_form() {
    let (mut maker, int) = simple();
    let float = maker.raw(0, 16 << 24, 4, &[]);
    let array = maker.array(int, 3);
    let pointer = maker.pointer(int);
    let list = maker.structure(
        "list_head",
        16,
        &[("next", pointer, 0), ("prev", pointer, 8)],
    );
    let counter = maker.structure("", 4, &[("counter", int, 0)]);
    let kind = maker.enumeration("kind", 0, &[("A", 0)]);
    let members = [
        ("number", int, 0),
        ("kind", kind, 4),
        ("pointer", pointer, 8),
        ("list", list, 16),
        ("counter", counter, 32),
        ("array", array, 36),
        ("float", float, 48),
    ];
    maker.structure("outer", 56, &members);
    let forms = [
        ("number", INT),
        ("pointer", Form::Pointer),
        ("list", Form::Part("list_head")),
        ("counter", Form::Counter),
        ("array", Form::Array(3, 4)),
    ];
    for (member, _, at) in members {
        for (of, form) in forms {
            let fits = of == member || (member == "kind" && of == "number");
            let found = ask(&maker, &[field("outer", member, form)]);
            assert_eq!(found.is_ok(), fits, "{member} as {form}: {found:?}");
            if fits {
                assert_eq!(found, Ok(vec![Some(at.into())]), "{member}");
            }
        }
    }
    for (other, why) in [
        (
            field("outer", "number", Form::Number(8)),
            "outer.number has 4 bytes instead of 8",
        ),
        (
            field("outer", "number", Form::Pointer),
            "outer.number is not a pointer",
        ),
        (
            field("outer", "pointer", INT),
            "outer.pointer is not a number of 4 bytes",
        ),
        (
            field("outer", "list", Form::Part("mutex")),
            "outer.list is not a struct mutex",
        ),
        (
            field("outer", "list", Form::Counter),
            "outer.list has 16 bytes instead of 4",
        ),
        (
            field("outer", "array", Form::Array(4, 4)),
            "outer.array has 3 elements instead of 4",
        ),
        (
            field("outer", "array", Form::Array(3, 8)),
            "outer.array has elements of 4 bytes instead of 8",
        ),
        (
            field("outer", "number", Form::Array(1, 4)),
            "outer.number is not an array of 1 elements of 4 bytes",
        ),
    ] {
        assert_eq!(refused(&maker, other), why);
    }
}

#[test]
fn dimensions_of_an_array_are_multiplied() {
    let (mut maker, int) = simple();
    let row = maker.array(int, 48);
    let row = maker.alias(TYPEDEF, "row_t", row);
    let table = maker.array(row, 38);
    maker.structure("outer", 38 * 48 * 4, &[("table", table, 0)]);
    let form = Form::Array(38 * 48, 4);
    assert_eq!(
        ask(&maker, &[field("outer", "table", form)]),
        Ok(vec![Some(0)])
    );
}

#[test]
fn a_field_is_where_one_can_be() {
    let (mut maker, int) = simple();
    let pointer = maker.pointer(int);
    let list = maker.structure(
        "list_head",
        16,
        &[("next", pointer, 0), ("prev", pointer, 8)],
    );
    let members = [
        ("crooked", int, 2),
        ("half", pointer, 4),
        ("list", list, 12),
        ("last", int, 28),
        ("beyond", int, 32),
        ("across", pointer, 24),
        ("after", pointer, 32),
    ];
    maker.structure("outer", 32, &members);
    for (other, why) in [
        (
            field("outer", "crooked", INT),
            "outer.crooked is at 0x2, which is no place for a number of 4 bytes",
        ),
        (
            field("outer", "half", Form::Pointer),
            "outer.half is at 0x4, which is no place for a pointer",
        ),
        (
            field("outer", "list", Form::Part("list_head")),
            "outer.list is at 0xc, which is no place for a struct list_head",
        ),
        (
            field("outer", "beyond", INT),
            "outer.beyond at 0x20 is not within its structure, which has 32 bytes",
        ),
        (
            field("outer", "after", Form::Pointer),
            "outer.after at 0x20 is not within its structure, which has 32 bytes",
        ),
    ] {
        assert_eq!(refused(&maker, other), why);
    }
    assert_eq!(
        ask(&maker, &[field("outer", "last", INT)]),
        Ok(vec![Some(28)])
    );
    assert_eq!(
        ask(&maker, &[field("outer", "across", Form::Pointer)]),
        Ok(vec![Some(24)])
    );
}

#[test]
fn a_place_that_is_known_is_compared() {
    let (mut maker, int) = simple();
    maker.structure("outer", 8, &[("a", int, 0), ("b", int, 4)]);
    let at = |at| {
        let (path, form, at) = ("b", INT, Some(at));
        row(Class::Structure, "outer", Ask::Field { path, form, at })
    };
    assert_eq!(ask(&maker, &[at(4)]), Ok(vec![Some(4)]));
    assert_eq!(refused(&maker, at(0)), "outer.b is at 0x4 instead of 0x0");
}

#[test]
fn parts_of_words_have_no_place() {
    let mut maker = Maker::driver();
    let int = maker.int("int", 4);
    let (outer, flag, plain) = (maker.name("outer"), maker.name("flag"), maker.name("plain"));
    let payload = [flag, int, (1 << 24) | 3, plain, int, 32];
    maker.raw(outer, KIND_FLAG | (STRUCT << 24) | 2, 8, &payload);
    assert_eq!(
        refused(&maker, field("outer", "flag", INT)),
        "outer.flag is a part of a word"
    );
    assert_eq!(
        ask(&maker, &[field("outer", "plain", INT)]),
        Ok(vec![Some(4)])
    );
}

#[test]
fn sizes_are_compared_as_is_asked() {
    let (mut maker, int) = simple();
    for (name, size) in [("outer", 16), ("mutex", 24), ("rw_semaphore", 32)] {
        maker.structure(name, size, &[("a", int, 0)]);
    }
    let bytes = |owner, bytes| row(Class::Structure, owner, Ask::Bytes(bytes));
    assert_eq!(
        ask(
            &maker,
            &[
                bytes("outer", Bytes::Exactly(16)),
                bytes("outer", Bytes::AtMost(16)),
                bytes("mutex", Bytes::AsMutex)
            ]
        ),
        Ok(vec![Some(16), Some(16), Some(24)])
    );
    for (other, why) in [
        (
            bytes("outer", Bytes::Exactly(24)),
            "struct outer has 16 bytes instead of 24",
        ),
        (
            bytes("outer", Bytes::AtMost(15)),
            "struct outer has 16 bytes, more than the 15 that there is room for",
        ),
        (
            bytes("outer", Bytes::AsMutex),
            "struct outer has 16 bytes instead of 24",
        ),
        (
            bytes("rw_semaphore", Bytes::AsSemaphore),
            "struct rw_semaphore has 32 bytes instead of 40",
        ),
    ] {
        assert_eq!(refused(&maker, other), why);
    }
}
