// SPDX-License-Identifier: GPL-2.0-only

//! What counts as found, as missing, as another and as ambiguous, in made-up types.

use super::maker::*;
use crate::fields::{Ask, Bytes, Form, Need, Row};
use crate::look::Kernel;
use crate::resolve::{Differences, LockBytes};
use crate::type_info::Class;

const LOCKS: LockBytes = LockBytes {
    mutex: 24,
    semaphore: 40,
};

pub const fn row(class: Class, owner: &'static str, ask: Ask) -> Row {
    let need = Need::Always;
    Row {
        class,
        owner,
        ask,
        need,
    }
}

pub const fn field(owner: &'static str, path: &'static str, form: Form) -> Row {
    let at = None;
    row(Class::Structure, owner, Ask::Field { path, form, at })
}

const fn optional(row: Row) -> Row {
    let need = Need::Optional;
    Row { need, ..row }
}

/// What is found out, or why it cannot be.
pub fn resolve(
    kernel: &[u8],
    driver: &[u8],
    rows: &[Row],
) -> Result<(Vec<Option<i64>>, Differences), String> {
    let kernel = Kernel::new(kernel).map_err(|damage| damage.why())?;
    let resolved = kernel.resolve(driver, rows, LOCKS);
    let (findings, differences) = resolved.map_err(|damage| damage.why())?;
    let findings = findings.into_iter().map(|finding| finding.get());
    Ok((findings.collect(), differences))
}

/// The same of a driver that needs nothing of its kernel.
pub fn ask(maker: &Maker, rows: &[Row]) -> Result<Vec<Option<i64>>, String> {
    let nothing = Maker::new().finish();
    let (findings, differences) = resolve(&nothing, &maker.finish(), rows)?;
    match differences.always {
        None => Ok(findings),
        Some(difference) => Err(difference.to_string()),
    }
}

pub fn refused(maker: &Maker, row: Row) -> String {
    match ask(maker, &[row]) {
        Ok(found) => panic!("{row} is taken: {found:?}"),
        Err(why) => why,
    }
}

pub fn simple() -> (Maker, u32) {
    let mut maker = Maker::driver();
    let int = maker.int("int", 4);
    (maker, int)
}

pub const INT: Form = Form::Number(4);

#[test]
fn names_hide_behind_typedefs_and_qualifiers() {
    let (mut maker, int) = simple();
    let number = maker.alias(TYPEDEF, "number_t", int);
    let inner = maker.structure("", 8, &[("x", int, 0), ("y", number, 4)]);
    let inner = maker.alias(TYPEDEF, "inner_t", inner);
    let inner = maker.alias(CONST, "", inner);
    maker.structure("outer", 16, &[("skipped", int, 0), ("in", inner, 8)]);
    assert_eq!(
        ask(
            &maker,
            &[
                field("outer", "in.y", INT),
                field("outer", "in", Form::Part(""))
            ]
        ),
        Ok(vec![Some(12), Some(8)])
    );
}

#[test]
fn members_without_a_name_add_their_own_place() {
    let (mut maker, int) = simple();
    let deep = maker.structure("", 8, &[("a", int, 0), ("b", int, 4)]);
    let either = maker.composite(UNION, "", 8, &[("whole", int, 0), ("", deep, 0)]);
    maker.structure("outer", 24, &[("first", int, 0), ("", either, 16)]);
    assert_eq!(ask(&maker, &[field("outer", "b", INT)]), Ok(vec![Some(20)]));
}

#[test]
fn what_is_missing_is_named() {
    let (mut maker, int) = simple();
    maker.structure("outer", 4, &[("a", int, 0)]);
    for (missing, name) in [
        (
            field("outer", "gone", INT),
            "outer.gone, a number of 4 bytes, is missing",
        ),
        (
            field("nowhere", "a", Form::Pointer),
            "nowhere.a, a pointer, is missing",
        ),
        (
            field("outer", "a.b", Form::Part("list_head")),
            "outer.a.b, a struct list_head, is missing",
        ),
        (
            row(Class::Structure, "inner", Ask::Bytes(Bytes::Exactly(4))),
            "struct inner is missing",
        ),
        (
            row(Class::Function, "act", Ask::Signature("void()")),
            "act() is missing",
        ),
        (
            row(Class::Enumeration, "kinds", Ask::Value("A", None)),
            "A of enum kinds is missing",
        ),
    ] {
        let why = refused(&maker, missing);
        assert!(why.starts_with(name), "{why}");
    }
}

#[test]
fn optional_fields_may_be_absent_but_not_another() {
    let (mut maker, int) = simple();
    maker.structure("outer", 4, &[("a", int, 0)]);
    assert_eq!(
        ask(
            &maker,
            &[
                optional(field("outer", "a", INT)),
                optional(field("outer", "b", INT)),
                optional(field("x", "y", INT)),
            ]
        ),
        Ok(vec![Some(0), None, None])
    );
    let other = optional(field("outer", "a", Form::Number(2)));
    assert_eq!(refused(&maker, other), "outer.a has 4 bytes instead of 2");
}

#[test]
fn what_one_option_needs_refuses_that_alone() {
    let (mut maker, int) = simple();
    maker.structure("outer", 4, &[("a", int, 0)]);
    let need = Need::Direct;
    let rows = [
        field("outer", "a", INT),
        Row {
            need,
            ..field("outer", "b", INT)
        },
        Row {
            need,
            ..field("outer", "c", INT)
        },
    ];
    let nothing = Maker::new().finish();
    let (findings, differences) = resolve(&nothing, &maker.finish(), &rows).unwrap();
    assert_eq!(findings, [Some(0), None, None]);
    assert_eq!(differences.always, None);
    let direct = differences.direct.unwrap();
    assert_eq!(direct.row, rows[1]);
}

#[test]
fn all_definitions_say_the_same() {
    let (mut maker, int) = simple();
    let again = maker.int("int", 4);
    maker.structure("twice", 8, &[("a", int, 0), ("b", int, 4)]);
    maker.structure("twice", 8, &[("a", again, 0), ("b", again, 4)]);
    // Copies of a type may have copies of their members' types.
    assert_eq!(ask(&maker, &[field("twice", "b", INT)]), Ok(vec![Some(4)]));

    maker.structure("twice", 8, &[("b", int, 0), ("a", int, 4)]);
    assert_eq!(
        refused(&maker, field("twice", "b", INT)),
        "twice.b differs between its definitions"
    );
    // Where they agree, they may be used.
    let size = row(Class::Structure, "twice", Ask::Bytes(Bytes::Exactly(8)));
    assert_eq!(ask(&maker, &[size]), Ok(vec![Some(8)]));

    // A copy without the field is a difference even where it is optional.
    maker.structure("partly", 8, &[("a", int, 0)]);
    maker.structure("partly", 8, &[]);
    for ask in [
        field("partly", "a", INT),
        optional(field("partly", "a", INT)),
    ] {
        assert_eq!(
            refused(&maker, ask),
            "partly.a differs between its definitions"
        );
    }
}

#[test]
fn declarations_are_no_definitions() {
    let (mut maker, int) = simple();
    let name = maker.name("outer");
    let forward = maker.raw(name, FORWARD << 24, 0, &[]);
    let pointer = maker.pointer(forward);
    let members = [("a", int, 0), ("next", pointer, 8), ("odd", forward, 16)];
    maker.structure("outer", 24, &members);
    let good = [
        field("outer", "next", Form::Pointer),
        field("outer", "a", INT),
    ];
    assert_eq!(ask(&maker, &good), Ok(vec![Some(8), Some(0)]));
    assert_eq!(
        refused(&maker, field("outer", "odd", Form::Part("outer"))),
        "outer.odd cannot be read: a type has no size"
    );
}

#[test]
fn values_may_be_negative_or_wide() {
    let mut maker = Maker::driver();
    maker.enumeration("plain", 0, &[("ONE", 1), ("TOP", u32::MAX)]);
    maker.enumeration("signed", KIND_FLAG, &[("MINUS", u32::MAX)]);
    let (wide, big) = (maker.name("wide"), maker.name("BIG"));
    maker.raw(wide, (ENUM64 << 24) | 1, 8, &[big, 5, 1]);
    let value = |owner, name, value| row(Class::Enumeration, owner, Ask::Value(name, value));
    assert_eq!(
        ask(
            &maker,
            &[
                value("plain", "ONE", Some(1)),
                value("plain", "TOP", None),
                value("signed", "MINUS", Some(-1)),
                value("wide", "BIG", None),
                optional(value("plain", "GONE", None)),
            ]
        ),
        Ok(vec![
            Some(1),
            Some(0xffff_ffff),
            Some(-1),
            Some(0x1_0000_0005),
            None
        ])
    );
    let other = value("plain", "ONE", Some(2));
    assert_eq!(
        refused(&maker, other),
        "ONE of enum plain is 1 instead of 2"
    );
}

#[test]
fn functions_have_the_type_that_they_are_called_with() {
    let (mut maker, int) = simple();
    let manager = maker.structure("manager", 8, &[("a", int, 0)]);
    let pointer = maker.pointer(manager);
    let constant = maker.alias(CONST, "", int);
    let prototype = maker.prototype(int, &[pointer, constant]);
    let nothing = maker.prototype(0, &[]);
    let operation = maker.pointer(prototype);
    maker.alias(FUNCTION, "act", prototype);
    maker.alias(FUNCTION, "rest", nothing);
    maker.structure(
        "ops",
        24,
        &[("act", operation, 8), ("data", pointer, 0), ("n", int, 16)],
    );
    let function = |owner, like| row(Class::Function, owner, Ask::Signature(like));
    let points = |path, signature| row(Class::Structure, "ops", Ask::Pointer { path, signature });
    assert_eq!(
        ask(
            &maker,
            &[
                function("act", "int(manager *, int)"),
                points("act", "int(manager *, int)"),
                function("rest", "void()"),
            ]
        ),
        Ok(vec![Some(0), Some(8), Some(0)])
    );
    for (other, why) in [
        (
            function("act", "int(manager *)"),
            "act() is not int(manager *)",
        ),
        (points("act", "void()"), "ops.act is not void()"),
        (points("data", "void()"), "ops.data is not void()"),
        (points("n", "void()"), "ops.n is something else"),
    ] {
        assert_eq!(refused(&maker, other), why);
    }
    let gone = refused(&maker, points("gone", "void()"));
    assert!(
        gone.starts_with("ops.gone, a pointer to a function, is missing"),
        "{gone}"
    );
}

#[test]
fn integers_have_the_names_that_either_compiler_gives_them() {
    const LIKE: &str = "short int(short int, short unsigned int, long int, long unsigned int, \
                        long long int, long long unsigned int)";
    let with = |names: [&str; 6]| {
        let mut maker = Maker::driver();
        let integers = names.map(|name| maker.int(name, 8));
        let prototype = maker.prototype(integers[0], &integers);
        maker.alias(FUNCTION, "act", prototype);
        maker
    };
    let gcc = with([
        "short int",
        "short unsigned int",
        "long int",
        "long unsigned int",
        "long long int",
        "long long unsigned int",
    ]);
    let clang = with([
        "short",
        "unsigned short",
        "long",
        "unsigned long",
        "long long",
        "unsigned long long",
    ]);
    let function = row(Class::Function, "act", Ask::Signature(LIKE));
    for maker in [gcc, clang] {
        assert_eq!(ask(&maker, &[function]), Ok(vec![Some(0)]));
    }
    // Another integer is another type, however it is called.
    refused(
        &with(["short", "short", "long", "long", "long", "long"]),
        function,
    );
}

#[test]
fn the_driver_comes_before_its_kernel() {
    let mut base = Maker::new();
    let int = base.int("int", 4);
    base.structure("both", 4, &[("a", int, 0)]);
    let lock = base.structure("lock", 24, &[("word", int, 8)]);
    let prototype = base.prototype(0, &[]);
    base.alias(FUNCTION, "act", prototype);
    let mut own = Maker::over(&base);
    own.structure("both", 32, &[("held", lock, 0), ("a", int, 28)]);
    let rows = [
        field("both", "a", INT),
        field("both", "held.word", INT),
        row(Class::Structure, "lock", Ask::Bytes(Bytes::Exactly(24))),
    ];
    let (findings, differences) = resolve(&base.finish(), &own.finish(), &rows).unwrap();
    assert_eq!(
        (findings, differences.always),
        (vec![Some(28), Some(8), Some(24)], None)
    );
    // A function of the kernel's is none of the driver's.
    let function = row(Class::Function, "act", Ask::Signature("void()"));
    let (_, differences) = resolve(&base.finish(), &own.finish(), &[function]).unwrap();
    assert!(differences.always.is_some());
}
