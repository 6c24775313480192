// SPDX-License-Identifier: GPL-2.0-only

//! What the module makes of the driver that it meets, by its own source: it takes the
//! one that it was built for, refuses every other one by the name of what differs, and
//! survives any bytes at all.

use super::damaged::damaged_copies;
use super::maker::*;
use super::real::{data, field_list, VERSIONS};
use crate::btf::Btf;
use crate::expected::Expected;
use crate::{fields, loaded, resolve};

/// What the build finds out about a driver. A list lives as long as the tests.
fn expected(base: &[u8], module: &[u8], list: &'static str) -> Vec<Expected<'static>> {
    let base = Btf::parse(base, None).unwrap();
    let btf = Btf::parse(module, Some(&base)).unwrap();
    let list = fields::parse(list).unwrap();
    resolve::resolve(&btf, &list).unwrap().expected
}

fn real_list() -> &'static str {
    field_list().leak()
}

/// A copy with two names of the same length exchanged, wherever they stand alone.
fn exchanged(data: &[u8], one: &str, other: &str) -> Vec<u8> {
    assert_eq!(one.len(), other.len());
    let whole = |name: &str| [&[0], name.as_bytes(), &[0]].concat();
    let (one, other) = (whole(one), whole(other));
    let mut changed = data.to_vec();
    let mut found = [0; 2];
    for at in 0..data.len() - one.len() {
        let here = &data[at..at + one.len()];
        let (count, name) = match here {
            _ if here == one => (&mut found[0], &other),
            _ if here == other => (&mut found[1], &one),
            _ => continue,
        };
        *count += 1;
        changed[at..at + name.len()].copy_from_slice(name);
    }
    assert!(
        found.iter().all(|&count| count > 0),
        "{found:?} places of the names"
    );
    changed
}

#[test]
fn each_real_driver_is_taken_by_its_own_module_and_by_no_other() {
    let list = real_list();
    let drivers = VERSIONS.map(|version| (data("vmlinux", version), data("amdgpu", version)));
    for (built, (base, module)) in drivers.iter().enumerate() {
        let expected = expected(base, module, list);
        for (met, (base, module)) in drivers.iter().enumerate() {
            let result = loaded::check(base, module, &expected);
            assert_eq!(
                result.is_ok(),
                built == met,
                "{} beside {}: {result:?}",
                VERSIONS[built],
                VERSIONS[met]
            );
        }
    }
}

#[test]
fn a_real_driver_with_two_fields_exchanged_is_refused_by_their_name() {
    let (base, module) = (data("vmlinux", "7.3.4"), data("amdgpu", "7.3.4"));
    let expected = expected(&base, &module, real_list());
    let other = exchanged(&module, "mqd", "gws");
    let error = loaded::check(&base, &other, &expected).unwrap_err();
    assert!(
        error.starts_with("queue.mqd is at 0x") && error.contains(" instead of 0x"),
        "{error}"
    );
}

#[test]
fn a_real_driver_with_a_function_replaced_is_refused_by_its_name() {
    let (base, module) = (data("vmlinux", "7.3.4"), data("amdgpu", "7.3.4"));
    let expected = expected(&base, &module, real_list());
    // Of the same length, and of another type.
    let other = exchanged(&module, "debug_map_and_unlock", "kfd_destroy_mqd_sdma");
    let error = loaded::check(&base, &other, &expected).unwrap_err();
    assert_eq!(
        error,
        "debug_map_and_unlock() is not int(device_queue_manager *)"
    );
}

#[test]
fn what_one_option_needs_stops_neither_the_build_nor_the_load() {
    let (base, module) = (data("vmlinux", "7.3.4"), data("amdgpu", "7.3.4"));
    let list = fields::parse(real_list()).unwrap();
    // Another type, in a function; and no such field.
    for (changed, why) in [
        (
            exchanged(&module, "pm_release_ib", "kfd_is_locked"),
            "pm_release_ib() is not void(packet_manager *)",
        ),
        (
            exchanged(&module, "fence_gpu_addr", "gpu_vm_support"),
            "device_queue_manager.fence_gpu_addr is missing",
        ),
    ] {
        let base_types = Btf::parse(&base, None).unwrap();
        let resolved = |module: &[u8]| {
            let types = Btf::parse(module, Some(&base_types)).unwrap();
            resolve::resolve(&types, &list).unwrap()
        };
        let usual = resolved(&module);
        assert!(usual.direct.len() >= 15, "{:?}", usual.direct);
        loaded::check(&base, &module, &usual.direct).unwrap();
        // Loaded beside the changed one, and built for it. One walk for both lists, in
        // whatever order, and neither result is the other's.
        for layout in [usual, resolved(&changed)] {
            let (others, direct) = (&*layout.expected, &*layout.direct);
            let refused = Err(why.to_owned());
            assert_eq!(
                loaded::check_each(&base, &changed, [others, direct]),
                [Ok(()), refused.clone()]
            );
            assert_eq!(
                loaded::check_each(&base, &changed, [direct, others]),
                [refused, Ok(())]
            );
        }
    }
}

#[test]
fn each_real_driver_can_be_built_for_whatever_one_option_needs() {
    for version in VERSIONS {
        let (base, module) = (data("vmlinux", version), data("amdgpu", version));
        let base_types = Btf::parse(&base, None).unwrap();
        let types = Btf::parse(&module, Some(&base_types)).unwrap();
        let list = fields::parse(real_list()).unwrap();
        let layout = resolve::resolve(&types, &list).unwrap();
        let direct = loaded::check(&base, &module, &layout.direct);
        let known = version.starts_with("7.");
        assert!(direct.is_ok() || !known, "{version}: {direct:?}");
    }
}

/// A small driver of which each part can be another.
struct Driver {
    size: u32,
    first: u32,
    second: u32,
    wide: bool,
    count: u32,
    value: u32,
    returns_pointer: bool,
    extra: bool,
    with_function: bool,
    twice: bool,
}

const USUAL: Driver = Driver {
    size: 32,
    first: 0,
    second: 4,
    wide: false,
    count: 3,
    value: 7,
    returns_pointer: false,
    extra: false,
    with_function: true,
    twice: false,
};

const LIST: &str =
    "struct queue *\nfield queue.first 4\nfield queue.second *\nfield queue.list *\n\
                    field queue.later 4 optional\nenumerator kinds.B *\n\
                    pointer ops.act int(queue *, int[] **)\nfunction act int(queue *, int[] **)";

impl Driver {
    fn make(&self) -> (Vec<u8>, Vec<u8>) {
        let mut base = Maker::new();
        let int = base.int("int", 4);
        let long = base.int("long", 8);
        let mut maker = Maker::over(&base);
        let array = maker.array(int, self.count);
        let second = if self.wide { long } else { int };
        let mut members = vec![("first", int, self.first), ("second", second, self.second)];
        // Within a member without a name.
        let inner = maker.structure("", 12, &[("list", array, 0)]);
        members.push(("", inner, 16));
        if self.extra {
            members.push(("later", int, 28));
        }
        if self.twice {
            maker.structure("queue", self.size, &members);
            members[0].2 += 1;
        }
        let queue = maker.structure("queue", self.size, &members);
        let queue = maker.alias(TYPEDEF, "queue_t", queue);
        let pointer = maker.pointer(queue);
        let mut argument = maker.array(int, 2);
        for _ in 0..2 {
            argument = maker.pointer(argument);
        }
        let returns = if self.returns_pointer { pointer } else { int };
        let prototype = maker.prototype(returns, &[pointer, argument]);
        let operation = maker.pointer(prototype);
        maker.structure("ops", 8, &[("act", operation, 0)]);
        maker.enumeration("kinds", 0, &[("A", 0), ("B", self.value)]);
        if self.with_function {
            maker.alias(FUNCTION, "act", prototype);
        }
        (base.finish(), maker.finish())
    }
}

/// What the module that was built for the usual one says of another.
fn said_of(other: &Driver) -> Result<(), String> {
    let (base, module) = USUAL.make();
    let expected = expected(&base, &module, LIST);
    let (base, module) = other.make();
    loaded::check(&base, &module, &expected)
}

#[test]
fn what_differs_is_named() {
    assert_eq!(said_of(&USUAL), Ok(()));
    let cases = [
        (
            Driver {
                first: 4,
                second: 0,
                ..USUAL
            },
            "queue.first is at 0x4 instead of 0x0",
        ),
        (
            Driver { second: 8, ..USUAL },
            "queue.second is at 0x8 instead of 0x4",
        ),
        (
            Driver {
                wide: true,
                ..USUAL
            },
            "queue.second has 8 bytes instead of 4",
        ),
        (
            Driver { size: 40, ..USUAL },
            "struct queue has 40 bytes instead of 32",
        ),
        (
            Driver { count: 2, ..USUAL },
            "queue.list has 8 bytes instead of 12",
        ),
        (
            Driver {
                extra: true,
                ..USUAL
            },
            "queue.later is there",
        ),
        (
            Driver { value: 8, ..USUAL },
            "B of enum kinds is 8 instead of 7",
        ),
        (
            Driver {
                returns_pointer: true,
                ..USUAL
            },
            "ops.act is not int(queue *, int[] **)",
        ),
        (
            Driver {
                with_function: false,
                ..USUAL
            },
            "act() is missing",
        ),
        // Two definitions, one of which fits.
        (
            Driver {
                twice: true,
                ..USUAL
            },
            "queue.first is at 0x1 instead of 0x0",
        ),
    ];
    for (other, expected) in cases {
        assert_eq!(said_of(&other), Err(expected.to_owned()));
    }
}

/// The type information of a kernel where each integer is passed to a function.
fn with_integers(names: [&str; 6]) -> (Vec<u8>, Vec<u8>) {
    let mut base = Maker::new();
    let integers = names.map(|name| base.int(name, 8));
    let mut maker = Maker::over(&base);
    let prototype = maker.prototype(integers[0], &integers);
    maker.alias(FUNCTION, "act", prototype);
    (base.finish(), maker.finish())
}

#[test]
fn integers_have_the_names_that_either_compiler_gives_them() {
    const LIST: &str = "function act short int(short int, short unsigned int, long int, \
        long unsigned int, long long int, long long unsigned int)";
    let gcc = with_integers([
        "short int",
        "short unsigned int",
        "long int",
        "long unsigned int",
        "long long int",
        "long long unsigned int",
    ]);
    let clang = with_integers([
        "short",
        "unsigned short",
        "long",
        "unsigned long",
        "long long",
        "unsigned long long",
    ]);
    for (base, module) in [&gcc, &clang] {
        let expected = expected(base, module, LIST);
        for (base, module) in [&gcc, &clang] {
            assert_eq!(loaded::check(base, module, &expected), Ok(()));
        }
    }
    // Another integer is another type, however it is called.
    let (base, module) = with_integers(["short", "short", "long", "long", "long", "long"]);
    let expected = expected(&gcc.0, &gcc.1, LIST);
    assert!(loaded::check(&base, &module, &expected).is_err());
}

#[test]
fn any_bytes_come_to_an_answer() {
    let (base, module) = USUAL.make();
    let expected = expected(&base, &module, LIST);
    assert_eq!(loaded::check(&base, &module, &expected), Ok(()));
    for whole in [&base, &module] {
        let check = |damaged: &[u8]| match whole == &base {
            true => loaded::check(damaged, &module, &expected),
            false => loaded::check(&base, damaged, &expected),
        };
        for length in 0..whole.len() {
            assert!(check(&whole[..length]).is_err(), "{length}");
        }
        for at in 0..whole.len() {
            let flips = (0..8).map(|bit| whole[at] ^ (1 << bit));
            for byte in flips.chain([0, 1, 0x7f, 0x80, 0xff]) {
                let mut damaged = whole.clone();
                damaged[at] = byte;
                let _ = check(&damaged);
            }
        }
        for at in (0..whole.len() - 4).step_by(4) {
            for word in [0, 1, 0xffff, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
                let mut damaged = whole.clone();
                damaged[at..at + 4].copy_from_slice(&u32::to_le_bytes(word));
                let _ = check(&damaged);
            }
        }
    }
}

#[test]
fn damage_anywhere_in_a_real_driver_comes_to_an_answer() {
    let (base, whole) = (data("vmlinux", "7.3.4"), data("amdgpu", "7.3.4"));
    let expected = expected(&base, &whole, real_list());
    let (mut refused, rounds) = (0, 40);
    for damaged in damaged_copies(&whole, rounds) {
        refused += usize::from(loaded::check(&base, &damaged, &expected).is_err());
    }
    assert!(refused >= rounds / 2, "{refused} of {rounds} refused");
}

#[test]
fn types_that_are_made_of_themselves_are_damage() {
    let (base, module) = USUAL.make();
    let expected = expected(&base, &module, LIST);
    let small = Maker::new();
    let mut nested = Maker::over(&small);
    let own = nested.next_id();
    nested.structure("queue", 32, &[("", own, 0)]);
    let mut wide = Maker::over(&small);
    let mut inner = wide.structure("", 8, &[]);
    for _ in 0..6 {
        inner = wide.structure("", 8, &[("", inner, 0); 40]);
    }
    wide.structure("queue", 32, &[("", inner, 0)]);
    let mut round = Maker::over(&small);
    let id = round.next_id();
    round.alias(TYPEDEF, "round", id + 1);
    round.alias(CONST, "", id);
    round.structure("queue", 32, &[("first", id, 0)]);
    for maker in [nested, wide, round] {
        let error = loaded::check(&small.finish(), &maker.finish(), &expected).unwrap_err();
        assert_eq!(
            error,
            "its type information is damaged: a type is made of itself"
        );
    }
}
