// SPDX-License-Identifier: GPL-2.0-only

//! What counts as found, as missing, as changed and as ambiguous.

use super::maker::*;
use crate::btf::Btf;
use crate::fields;
use crate::layout::{Constant, Value};
use crate::resolve::resolve;

/// Resolves a list in one piece of made-up BTF.
pub fn ask(maker: &Maker, list: &str) -> Result<Vec<Constant>, String> {
    let data = maker.finish();
    let btf = Btf::parse(&data, None)?;
    resolve(&btf, &fields::parse(list).unwrap()).map(|layout| layout.constants)
}

fn values(maker: &Maker, list: &str) -> Vec<(String, Value)> {
    let constants = ask(maker, list).unwrap();
    constants
        .into_iter()
        .map(|constant| (constant.name, constant.value))
        .collect()
}

fn named(name: &str, value: Value) -> (String, Value) {
    (name.into(), value)
}

fn simple() -> (Maker, u32) {
    let mut maker = Maker::new();
    let int = maker.int("int", 4);
    (maker, int)
}

#[test]
fn names_hide_behind_typedefs_and_qualifiers() {
    let (mut maker, int) = simple();
    let inner = maker.structure("", 8, &[("x", int, 0), ("y", int, 4)]);
    let inner = maker.alias(TYPEDEF, "inner_t", inner);
    let inner = maker.alias(CONST, "", inner);
    maker.structure("outer", 16, &[("skipped", int, 0), ("in", inner, 8)]);
    assert_eq!(
        values(&maker, "field outer.in.y 4\nfield outer.in *"),
        [
            named("OUTER_IN_Y", Value::Offset(12)),
            named("OUTER_IN", Value::Offset(8)),
            named("OUTER_IN_BYTES", Value::Amount(8)),
        ]
    );
}

#[test]
fn anonymous_members_add_their_own_offset() {
    let (mut maker, int) = simple();
    let deep = maker.structure("", 8, &[("a", int, 0), ("b", int, 4)]);
    let either = maker.composite(UNION, "", 8, &[("whole", int, 0), ("", deep, 0)]);
    maker.structure("outer", 24, &[("first", int, 0), ("", either, 16)]);
    assert_eq!(
        values(&maker, "field outer.b 4"),
        [named("OUTER_B", Value::Offset(20))]
    );
}

#[test]
fn a_missing_field_is_named_and_so_is_a_missing_structure() {
    let (mut maker, int) = simple();
    maker.structure("outer", 4, &[("a", int, 0)]);
    let error = ask(
        &maker,
        "field outer.gone 4\nfield nowhere.a 4\nfield outer.a.b 4",
    )
    .unwrap_err();
    assert!(error.contains("outer.gone is missing"), "{error}");
    assert!(
        error.contains("nowhere.a is missing: there is no struct nowhere"),
        "{error}"
    );
    assert!(error.contains("outer.a.b is missing"), "{error}");
}

#[test]
fn a_changed_size_is_named() {
    let (mut maker, int) = simple();
    let array = maker.array(int, 3);
    maker.structure("outer", 16, &[("a", int, 0), ("list", array, 4)]);
    for (line, expected) in [
        ("field outer.a 8", "outer.a has 4 bytes, expected are 8"),
        (
            "field outer.list 8[3]",
            "outer.list has elements of 4 bytes, expected are 8",
        ),
        (
            "field outer.list 4[4]",
            "outer.list has 3 elements, expected are 4",
        ),
        ("field outer.a 4[]", "outer.a is no array"),
        (
            "struct outer 24",
            "struct outer has 16 bytes, expected are 24",
        ),
        ("struct inner 24", "struct inner is missing"),
    ] {
        let error = ask(&maker, line).unwrap_err();
        assert!(error.contains(expected), "{line}: {error}");
    }
}

#[test]
fn dimensions_of_an_array_are_multiplied() {
    let (mut maker, int) = simple();
    let row = maker.array(int, 48);
    let row = maker.alias(TYPEDEF, "row_t", row);
    let table = maker.array(row, 38);
    maker.structure("outer", 38 * 48 * 4, &[("table", table, 0)]);
    assert_eq!(
        values(&maker, "field outer.table 4[]"),
        [
            named("OUTER_TABLE", Value::Offset(0)),
            named("OUTER_TABLE_LEN", Value::Amount(1824))
        ]
    );
}

#[test]
fn optional_fields_may_be_absent_but_not_changed() {
    let (mut maker, int) = simple();
    maker.structure("outer", 4, &[("a", int, 0)]);
    assert_eq!(
        values(
            &maker,
            "field outer.a 4 optional\nfield outer.b 4 optional\nfield x.y * optional"
        ),
        [
            named("OUTER_A", Value::OptionalOffset(Some(0))),
            named("OUTER_B", Value::OptionalOffset(None)),
            named("X_Y", Value::OptionalOffset(None)),
            named("X_Y_BYTES", Value::OptionalAmount(None)),
        ]
    );
    assert!(ask(&maker, "field outer.a 2 optional").is_err());
}

#[test]
fn definitions_of_one_structure_must_agree() {
    let (mut maker, int) = simple();
    let again = maker.int("int", 4);
    maker.structure("twice", 8, &[("a", int, 0), ("b", int, 4)]);
    maker.structure("twice", 8, &[("a", again, 0), ("b", again, 4)]);
    // Copies of a type may have copies of their members' types.
    assert!(ask(&maker, "field twice.b 4\nstruct twice 8").is_ok());

    maker.structure("twice", 8, &[("b", int, 0), ("a", int, 4)]);
    let error = ask(&maker, "field twice.b 4").unwrap_err();
    assert!(
        error.contains("twice.b its definitions disagree"),
        "{error}"
    );
    // Where they agree, they may be used.
    assert!(ask(&maker, "struct twice 8").is_ok());

    let short = maker.int("short", 2);
    maker.structure("thrice", 8, &[("a", int, 0)]);
    maker.structure("thrice", 8, &[("a", short, 0)]);
    assert!(ask(&maker, "field thrice.a *")
        .unwrap_err()
        .contains("disagree"));
    // A copy that lacks the field is a disagreement even where it is optional.
    maker.structure("partly", 8, &[("a", int, 0)]);
    maker.structure("partly", 8, &[]);
    assert!(ask(&maker, "field partly.a 4 optional")
        .unwrap_err()
        .contains("disagree"));
}

#[test]
fn declarations_are_no_definitions() {
    let (mut maker, int) = simple();
    let name = maker.name("outer");
    let forward = maker.raw(name, FORWARD << 24, 0, &[]);
    let pointer = maker.pointer(forward);
    maker.structure(
        "outer",
        16,
        &[("a", int, 0), ("next", pointer, 8), ("odd", forward, 12)],
    );
    assert!(ask(&maker, "field outer.next 8\nfield outer.a 4").is_ok());
    let error = ask(&maker, "field outer.odd *").unwrap_err();
    assert!(error.contains("only declared"), "{error}");
}

#[test]
fn bit_fields_have_no_offset() {
    let mut maker = Maker::new();
    let int = maker.int("int", 4);
    let (outer, flag, plain) = (maker.name("outer"), maker.name("flag"), maker.name("plain"));
    let payload = [flag, int, (1 << 24) | 3, plain, int, 32];
    maker.raw(outer, KIND_FLAG | (STRUCT << 24) | 2, 8, &payload);
    let error = ask(&maker, "field outer.flag 4").unwrap_err();
    assert!(error.contains("outer.flag is a bit-field"), "{error}");
    assert_eq!(
        values(&maker, "field outer.plain 4"),
        [named("OUTER_PLAIN", Value::Offset(4))]
    );
}

#[test]
fn enumerators_may_be_negative_or_wide() {
    let mut maker = Maker::new();
    maker.enumeration("plain", 0, &[("ONE", 1), ("TOP", u32::MAX)]);
    maker.enumeration("signed", KIND_FLAG, &[("MINUS", u32::MAX)]);
    let (wide, big) = (maker.name("wide"), maker.name("BIG"));
    maker.raw(wide, (ENUM64 << 24) | 1, 8, &[big, 5, 1]);
    assert_eq!(
        values(
            &maker,
            "enumerator plain.ONE 1\nenumerator plain.TOP *\nenumerator signed.MINUS -1\n\
             enumerator wide.BIG *\nenumerator plain.GONE * optional"
        ),
        [
            named("ONE", Value::Enumerator(1)),
            named("TOP", Value::Enumerator(0xffff_ffff)),
            named("MINUS", Value::Enumerator(-1)),
            named("BIG", Value::Enumerator(0x1_0000_0005)),
            named("GONE", Value::OptionalEnumerator(None)),
        ]
    );
    let error = ask(&maker, "enumerator plain.ONE 2\nenumerator plain.GONE *").unwrap_err();
    assert!(
        error.contains("enum plain: ONE is 1, expected is 2"),
        "{error}"
    );
    assert!(error.contains("enum plain: GONE is missing"), "{error}");
}

#[test]
fn functions_must_be_declared_as_expected() {
    let (mut maker, int) = simple();
    let manager = maker.structure("manager", 8, &[("a", int, 0)]);
    let pointer = maker.pointer(manager);
    let constant = maker.alias(CONST, "", int);
    let prototype = maker.prototype(int, &[pointer, constant]);
    let nothing = maker.prototype(0, &[]);
    let operation = maker.pointer(prototype);
    maker.alias(FUNCTION, "act", prototype);
    maker.alias(FUNCTION, "rest", nothing);
    maker.structure("ops", 16, &[("act", operation, 8), ("data", pointer, 0)]);

    let good = "function act int(manager *, int)\npointer ops.act int(manager *, int)\n\
                function rest void()";
    assert_eq!(values(&maker, good), [named("OPS_ACT", Value::Offset(8))]);
    for (line, expected) in [
        (
            "function act int(manager *)",
            "function act is int(manager *, int)",
        ),
        (
            "pointer ops.act void()",
            "ops.act is int(manager *, int), expected is void()",
        ),
        (
            "pointer ops.data void()",
            "ops.data is missing, or is no function",
        ),
        ("function gone void()", "function gone is missing"),
    ] {
        let error = ask(&maker, line).unwrap_err();
        assert!(error.contains(expected), "{line}: {error}");
    }
}

#[test]
fn the_module_comes_before_its_base() {
    let mut base_maker = Maker::new();
    let int = base_maker.int("int", 4);
    base_maker.structure("both", 4, &[("a", int, 0)]);
    let lock = base_maker.structure("lock", 24, &[("word", int, 8)]);
    let mut maker = Maker::over(&base_maker);
    maker.structure("both", 32, &[("held", lock, 4), ("a", int, 28)]);

    let (base, module) = (base_maker.finish(), maker.finish());
    let base = Btf::parse(&base, None).unwrap();
    let btf = Btf::parse(&module, Some(&base)).unwrap();
    let list = "field both.a 4\nfield both.held.word 4\nstruct lock 24";
    let layout = resolve(&btf, &fields::parse(list).unwrap()).unwrap();
    let found: Vec<_> = layout
        .constants
        .iter()
        .map(|constant| constant.value)
        .collect();
    assert_eq!(
        found,
        [Value::Offset(28), Value::Offset(12), Value::Amount(24)]
    );
}

#[test]
fn two_lines_for_one_constant_are_refused() {
    let (mut maker, int) = simple();
    let inner = maker.structure("", 4, &[("c", int, 0)]);
    maker.structure("a", 4, &[("b", inner, 0), ("b_c", int, 0)]);
    let error = ask(&maker, "field a.b.c 4\nfield a.b_c 4").unwrap_err();
    assert!(
        error.contains("two lines of the list give the constant A_B_C"),
        "{error}"
    );
}
