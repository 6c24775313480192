// SPDX-License-Identifier: GPL-2.0-only

//! Any bytes at all come to an answer: never to a crash, a loop without end, or memory by
//! a count that the data makes up.

use super::maker::*;
use super::real::{data, locks};
use super::rules::{field, resolve, row};
use crate::fields::{Ask, Bytes, Form, Row, ROWS};
use crate::look::Kernel;
use crate::type_info::Class;

/// Copies of the data, by turns cut off and with bits flipped, the same ones each time.
fn damaged_copies(whole: &[u8], rounds: usize) -> impl Iterator<Item = Vec<u8>> + '_ {
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

const LIKE: &str = "int(outer *, int[])";

/// What reaches all of [`sample`].
const SAMPLE_ROWS: &[Row] = &[
    field("outer", "y", Form::Number(4)),
    field("outer", "list", Form::Array(3, 4)),
    row(Class::Structure, "outer", Ask::Bytes(Bytes::AtMost(64))),
    row(Class::Enumeration, "kinds", Ask::Value("B", None)),
    row(
        Class::Structure,
        "ops",
        Ask::Pointer {
            path: "act",
            signature: LIKE,
        },
    ),
    row(Class::Function, "act", Ask::Signature(LIKE)),
];

/// A little of everything: of a kernel, and of a driver.
fn sample() -> (Vec<u8>, Vec<u8>) {
    let mut base = Maker::new();
    let int = base.int("int", 4);
    let name = base.alias(TYPEDEF, "number", int);
    let mut maker = Maker::over(&base);
    let array = maker.array(name, 3);
    let anonymous = maker.structure("", 8, &[("x", int, 0), ("y", name, 4)]);
    let outer = maker.structure("outer", 32, &[("list", array, 0), ("", anonymous, 16)]);
    let pointer = maker.pointer(outer);
    let prototype = maker.prototype(int, &[pointer, array]);
    let operation = maker.pointer(prototype);
    maker.structure("ops", 8, &[("act", operation, 0)]);
    maker.alias(FUNCTION, "act", prototype);
    maker.enumeration("kinds", 0, &[("A", 0), ("B", 7)]);
    (base.finish(), maker.finish())
}

fn fits(kernel: &[u8], driver: &[u8]) -> bool {
    let resolved = resolve(kernel, driver, SAMPLE_ROWS);
    resolved.is_ok_and(|(_, differences)| differences.always.is_none())
}

/// Has a test try each of two data with the other as it should be.
fn each(mut test: impl FnMut(&[u8], &dyn Fn(&[u8]) -> bool)) {
    let (kernel, driver) = sample();
    assert!(fits(&kernel, &driver));
    test(&kernel, &|damaged| fits(damaged, &driver));
    test(&driver, &|damaged| fits(&kernel, damaged));
}

#[test]
fn cut_off_at_every_length() {
    each(|whole, fits| {
        for length in 0..whole.len() {
            assert!(!fits(&whole[..length]), "{length}");
        }
    });
}

#[test]
fn every_bit_flipped_and_every_byte_replaced() {
    each(|whole, fits| {
        for at in 0..whole.len() {
            let flips = (0..8).map(|bit| whole[at] ^ (1 << bit));
            for byte in flips.chain([0, 1, 0x7f, 0x80, 0xff]) {
                let mut damaged = whole.to_vec();
                damaged[at] = byte;
                // Some damage is a good description of another driver.
                fits(&damaged);
            }
        }
    });
}

#[test]
fn every_word_out_of_range() {
    each(|whole, fits| {
        for at in (0..whole.len() - 4).step_by(4) {
            for word in [0, 1, 0xffff, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
                let mut damaged = whole.to_vec();
                damaged[at..at + 4].copy_from_slice(&u32::to_le_bytes(word));
                fits(&damaged);
            }
        }
    });
}

#[test]
fn damage_anywhere_in_a_real_driver_comes_to_an_answer() {
    let (base, whole) = (data("vmlinux", "7.3.4"), data("amdgpu", "7.3.4"));
    let kernel = Kernel::new(&base).unwrap();
    let (mut refused, rounds) = (0, 40);
    for damaged in damaged_copies(&whole, rounds) {
        let resolved = kernel.resolve(&damaged, ROWS, locks("7.3.4"));
        let fits = resolved.is_ok_and(|(_, differences)| differences.always.is_none());
        refused += usize::from(!fits);
    }
    assert!(refused >= rounds / 2, "{refused} of {rounds} refused");
}

/// Why the only field of a made-up structure cannot be had.
fn refused(maker: &Maker, form: Form) -> String {
    let nothing = Maker::new().finish();
    let rows = [field("outer", "a", form)];
    match resolve(&nothing, &maker.finish(), &rows) {
        Ok((_, differences)) => differences.always.unwrap().to_string(),
        Err(damage) => damage,
    }
}

#[test]
fn types_that_are_made_of_themselves_are_damage() {
    let mut nested = Maker::driver();
    let own = nested.next_id();
    nested.structure("outer", 32, &[("", own, 0)]);
    // Not deep enough to be a loop, but 40 members each.
    let mut wide = Maker::driver();
    let mut inner = wide.structure("", 8, &[]);
    for _ in 0..6 {
        inner = wide.structure("", 8, &[("", inner, 0); 40]);
    }
    wide.structure("outer", 32, &[("", inner, 0)]);
    let mut round = Maker::driver();
    let id = round.next_id();
    round.alias(TYPEDEF, "round", id + 1);
    round.alias(CONST, "", id);
    round.structure("outer", 32, &[("a", id, 0)]);
    let mut arrays = Maker::driver();
    let array = arrays.next_id();
    arrays.array(array, 1);
    arrays.structure("outer", 32, &[("a", array, 0)]);
    for maker in [nested, wide, round, arrays] {
        assert_eq!(
            refused(&maker, Form::Number(4)),
            "outer.a cannot be read: a type is made of itself"
        );
    }
    let mut pointers = Maker::driver();
    let pointer = pointers.next_id();
    pointers.pointer(pointer);
    let prototype = pointers.prototype(pointer, &[]);
    pointers.alias(FUNCTION, "act", prototype);
    let rows = [row(Class::Function, "act", Ask::Signature("void()"))];
    let nothing = Maker::new().finish();
    let (_, differences) = resolve(&nothing, &pointers.finish(), &rows).unwrap();
    assert_eq!(
        differences.always.unwrap().to_string(),
        "act() cannot be read: a type is made of itself"
    );
}

#[test]
fn numbers_and_names_out_of_range_are_damage() {
    let mut maker = Maker::driver();
    maker.structure("outer", 8, &[("a", 4711, 0)]);
    let why = refused(&maker, Form::Number(4));
    assert_eq!(why, "outer.a cannot be read: a type is not among the types");

    let mut maker = Maker::driver();
    let outer = maker.name("outer");
    maker.raw(outer, (STRUCT << 24) | 1, 8, &[4711, 1, 0]);
    let why = refused(&maker, Form::Number(4));
    assert_eq!(why, "outer.a cannot be read: a name is not among the names");

    let mut maker = Maker::driver();
    maker.raw(4711, STRUCT << 24, 8, &[]);
    assert_eq!(
        refused(&maker, Form::Pointer),
        "a name is not among the names"
    );

    let mut maker = Maker::driver();
    maker.structure("outer", 8, &[("a", 0, 0)]);
    let why = refused(&maker, Form::Pointer);
    assert_eq!(why, "outer.a cannot be read: a type has no size");
}

#[test]
fn counts_that_the_data_cannot_hold_are_damage() {
    let mut maker = Maker::driver();
    maker.raw(0, (STRUCT << 24) | 0xffff, 8, &[]);
    assert_eq!(refused(&maker, Form::Pointer), "a type is cut off");

    let mut maker = Maker::driver();
    let int = maker.int("int", u32::MAX);
    let mut array = maker.array(int, u32::MAX);
    array = maker.array(array, u32::MAX);
    maker.structure("outer", 8, &[("a", array, 0)]);
    let why = refused(&maker, Form::Array(1, 1));
    assert_eq!(why, "outer.a cannot be read: a type has no size");
}

#[test]
fn an_unknown_kind_is_damage() {
    let mut maker = Maker::driver();
    maker.raw(0, 31 << 24, 0, &[]);
    assert_eq!(
        refused(&maker, Form::Pointer),
        "a type is of an unknown kind"
    );
}

#[test]
fn a_header_that_is_none_is_damage() {
    let (_, whole) = sample();
    let nothing = Maker::new().finish();
    let with = |at: usize, bytes: &[u8]| {
        let mut damaged = whole.clone();
        damaged[at..at + bytes.len()].copy_from_slice(bytes);
        resolve(&nothing, &damaged, SAMPLE_ROWS).unwrap_err()
    };
    let none = "it does not begin as type information does";
    assert_eq!(resolve(&nothing, b"", SAMPLE_ROWS).unwrap_err(), none);
    for (at, bytes) in [(0, &b"\x7fE"[..]), (0, b"\xeb\x9f"), (2, &[2]), (4, &[8])] {
        assert_eq!(with(at, bytes), none, "{at}");
    }
    for at in [4, 8, 12, 16, 20] {
        assert_eq!(with(at, &u32::MAX.to_le_bytes()), none, "{at}");
    }
    assert_eq!(with(whole.len() - 1, b"x"), none);
}
