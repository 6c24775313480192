// SPDX-License-Identifier: GPL-2.0-only

//! Damaged data gives an error that says what is wrong.  It never crashes, hangs
//! or takes memory by a count that the data makes up.

use super::maker::*;
use super::rules::ask;
use crate::btf::Btf;
use crate::fields;
use crate::resolve::resolve;

/// Copies of the data, by turns cut off and with bits flipped, the same ones each time.
pub(super) fn damaged_copies(whole: &[u8], rounds: usize) -> impl Iterator<Item = Vec<u8>> + '_ {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random as usize
    };
    (0..rounds).map(move |round| {
        let mut damaged = whole.to_vec();
        if round % 2 == 0 {
            damaged.truncate(next() % whole.len());
        } else {
            for _ in 0..1 + next() % 2000 {
                let at = next() % damaged.len();
                damaged[at] ^= 1 << (next() % 8);
            }
        }
        damaged
    })
}

fn parse_error(data: &[u8]) -> String {
    Btf::parse(data, None).expect_err("damaged data were taken")
}

/// A little of everything, and a list that reaches all of it.
fn sample() -> (Vec<u8>, &'static str) {
    let mut maker = Maker::new();
    let int = maker.int("int", 4);
    let name = maker.alias(TYPEDEF, "number", int);
    let array = maker.array(name, 3);
    let anonymous = maker.structure("", 8, &[("x", int, 0), ("y", name, 4)]);
    let outer = maker.structure("outer", 32, &[("list", array, 0), ("", anonymous, 16)]);
    let pointer = maker.pointer(outer);
    let prototype = maker.prototype(int, &[pointer, array]);
    let operation = maker.pointer(prototype);
    maker.structure("ops", 8, &[("act", operation, 0)]);
    maker.alias(FUNCTION, "act", prototype);
    maker.enumeration("kinds", 0, &[("A", 0), ("B", 7)]);
    let list = "field outer.y 4\nfield outer.list 4[]\nstruct outer *\nenumerator kinds.B *\n\
                pointer ops.act int(outer *, int[])\nfunction act int(outer *, int[])";
    (maker.finish(), list)
}

fn resolves(data: &[u8], list: &str) -> bool {
    let list = fields::parse(list).unwrap();
    Btf::parse(data, None)
        .and_then(|btf| resolve(&btf, &list))
        .is_ok()
}

#[test]
fn cut_off_at_every_length() {
    let (whole, list) = sample();
    assert!(resolves(&whole, list));
    for len in 0..whole.len() {
        let error = parse_error(&whole[..len]);
        assert!(error.contains("BTF"), "{len}: {error}");
    }
}

#[test]
fn every_bit_flipped_and_every_byte_replaced() {
    let (whole, list) = sample();
    for at in 0..whole.len() {
        let flips = (0..8).map(|bit| whole[at] ^ (1 << bit));
        for byte in flips.chain([0, 1, 0x7f, 0x80, 0xff]) {
            let mut damaged = whole.clone();
            damaged[at] = byte;
            // Some damage is a good description of another layout.
            resolves(&damaged, list);
        }
    }
}

#[test]
fn every_word_out_of_range() {
    let (whole, list) = sample();
    for at in (0..whole.len() - 4).step_by(4) {
        for word in [0, 1, 0xffff, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
            let mut damaged = whole.clone();
            damaged[at..at + 4].copy_from_slice(&u32::to_le_bytes(word));
            resolves(&damaged, list);
        }
    }
}

#[test]
fn a_header_that_is_none() {
    let (whole, _) = sample();
    let with = |at: usize, bytes: &[u8]| {
        let mut damaged = whole.clone();
        damaged[at..at + bytes.len()].copy_from_slice(bytes);
        parse_error(&damaged)
    };
    assert!(parse_error(b"").contains("empty"));
    assert!(with(0, b"\x7fE").contains("not BTF: it starts with 7f45"));
    assert!(with(0, b"\xeb\x9f").contains("big-endian"));
    assert!(with(2, &[2]).contains("unknown version"));
    assert!(with(4, &8_u32.to_le_bytes()).contains("a header of 8 bytes"));
    assert!(with(4, &u32::MAX.to_le_bytes()).contains("header is cut off"));
    for section in [8, 12, 16, 20] {
        assert!(
            with(section, &u32::MAX.to_le_bytes()).contains("beyond the end"),
            "{section}"
        );
    }
    assert!(with(whole.len() - 1, b"x").contains("zero byte"));
}

#[test]
fn loops_end() {
    let mut maker = Maker::new();
    let id = maker.next_id();
    maker.alias(TYPEDEF, "round", id + 1);
    maker.alias(CONST, "", id);
    let array = maker.next_id();
    maker.array(array, 1);
    let pointer = maker.next_id();
    maker.pointer(pointer);
    let prototype = maker.prototype(pointer, &[]);
    maker.alias(FUNCTION, "act", prototype);
    maker.structure("outer", 8, &[("a", id, 0), ("b", array, 0)]);
    for (line, expected) in [
        ("field outer.a 8", "a loop of typedefs"),
        ("field outer.b 8", "a loop of arrays"),
        ("field outer.b 8[]", "a loop of arrays"),
        ("function act void()", "a loop of pointers"),
    ] {
        let error = ask(&maker, line).unwrap_err();
        assert!(error.contains(expected), "{line}: {error}");
    }
}

#[test]
fn anonymous_members_without_end_do_not_hang() {
    let mut maker = Maker::new();
    let own = maker.next_id();
    maker.structure("own", 8, &[("", own, 0)]);
    assert!(ask(&maker, "field own.x 4")
        .unwrap_err()
        .contains("without end"));

    // Not deep enough to be a loop, but 40 members each: 40^12 ways.
    let mut maker = Maker::new();
    let mut inner = maker.structure("", 8, &[]);
    for _ in 0..12 {
        inner = maker.structure("", 8, &[("", inner, 0); 40]);
    }
    maker.structure("wide", 8, &[("", inner, 0)]);
    assert!(ask(&maker, "field wide.x 4")
        .unwrap_err()
        .contains("without end"));
}

#[test]
fn ids_and_names_out_of_range() {
    let mut maker = Maker::new();
    maker.structure("outer", 8, &[("a", 4711, 0), ("nothing", 0, 0)]);
    assert!(ask(&maker, "field outer.a 8")
        .unwrap_err()
        .contains("there is no type 4711"));
    assert!(ask(&maker, "field outer.nothing *")
        .unwrap_err()
        .contains("void"));

    let mut maker = Maker::new();
    maker.raw(4711, STRUCT << 24, 8, &[]);
    assert!(parse_error(&maker.finish()).contains("a name at 4711"));

    let mut maker = Maker::new();
    let outer = maker.name("outer");
    maker.raw(outer, (STRUCT << 24) | 1, 8, &[4711, 1, 0]);
    assert!(ask(&maker, "field outer.x 8")
        .unwrap_err()
        .contains("a name at 4711"));
}

#[test]
fn counts_that_the_data_cannot_hold() {
    let mut maker = Maker::new();
    maker.raw(0, (STRUCT << 24) | 0xffff, 8, &[]);
    assert!(parse_error(&maker.finish()).contains("type 1 is cut off"));

    let mut maker = Maker::new();
    let int = maker.int("int", u32::MAX);
    let mut array = maker.array(int, u32::MAX);
    array = maker.array(array, u32::MAX);
    maker.structure("outer", 8, &[("a", array, 0)]);
    assert!(ask(&maker, "field outer.a 8")
        .unwrap_err()
        .contains("larger than memory"));
}

#[test]
fn an_unknown_kind_is_refused() {
    let mut maker = Maker::new();
    maker.raw(0, 31 << 24, 0, &[]);
    assert!(parse_error(&maker.finish()).contains("type 1 is of kind 31"));
}

#[test]
fn a_name_that_is_no_text_is_refused() {
    let mut maker = Maker::new();
    maker.structure("outer", 8, &[]);
    let mut data = maker.finish();
    let at = data.len() - 3;
    data[at] = 0xff;
    assert!(parse_error(&data).contains("is no text"));
}
