// SPDX-License-Identifier: GPL-2.0-only
//! The kernel module's reader of type information, and its comparison of a driver
//! with what the build has found out.

#[allow(dead_code, reason = "it is the module's, which uses more of it")]
#[path = "../../../../../rust/kfd/driver/expected.rs"]
mod expected;
#[allow(dead_code, reason = "it is the module's, which uses more of it")]
#[path = "../../../../../rust/kfd/driver/prototype.rs"]
mod prototype;
#[allow(dead_code, reason = "it is the module's, which uses more of it")]
#[allow(clippy::module_inception, reason = "it has the name of its file")]
#[path = "../../../../../rust/kfd/driver/type_info.rs"]
mod type_info;

use expected::{compare, Comparison, Expected, Fact};
use type_info::{Class, Sections, TypeInfo};

use crate::input::Input;

const fn about(class: Class, owner: &'static str, fact: Fact<'static>) -> Expected<'static> {
    Expected { class, owner, fact }
}

/// What is looked for, one of each kind, in the order in which it is compared.
const EXPECTED: &[Expected<'static>] = &[
    about(
        Class::Structure,
        "ops",
        Fact::Pointer {
            path: "act",
            signature: "int(outer *, int[])",
        },
    ),
    about(Class::Structure, "outer", Fact::Bytes(32)),
    about(
        Class::Structure,
        "outer",
        Fact::Field {
            path: "list",
            offset: 0,
            bytes: 12,
            elements: Some((4, 3)),
        },
    ),
    about(
        Class::Structure,
        "outer",
        Fact::Field {
            path: "y",
            offset: 20,
            bytes: 4,
            elements: None,
        },
    ),
    about(Class::Structure, "outer", Fact::NoField("z")),
    about(Class::Enumeration, "kinds", Fact::Value("B", 7)),
    about(
        Class::Function,
        "act",
        Fact::Signature("int(outer *, int[])"),
    ),
];

/// The kernel's type information, then a driver's.
pub fn sections(input: &[u8]) {
    let mut input = Input::new(input);
    let length = usize::from(input.u16());
    let base = input.bytes(length);
    let module = input.bytes(usize::MAX);
    let Ok(base) = Sections::of(base) else {
        return;
    };
    let mut base_places = vec![0; base.count()];
    let Ok(base) = TypeInfo::new(base, &mut base_places, None) else {
        return;
    };
    judge(&base);
    let Ok(module) = Sections::of(module) else {
        return;
    };
    let mut places = vec![0; module.count()];
    if let Ok(module) = TypeInfo::new(module, &mut places, Some(&base)) {
        judge(&module);
    }
}

/// A difference is told in words, and the one that is told does not depend on which
/// other lists are compared in the same walk.
fn judge(info: &TypeInfo<'_>) {
    let mut alone = [false; EXPECTED.len()];
    let mut lists = [Comparison::new(EXPECTED, &mut alone)];
    compare(info, &mut lists);
    let [alone] = lists.map(|list| list.difference().map(|one| one.to_string()));
    let mut rooms = ([false; EXPECTED.len()], [false; 2]);
    let mut lists = [
        Comparison::new(&EXPECTED[5..], &mut rooms.1),
        Comparison::new(EXPECTED, &mut rooms.0),
    ];
    compare(info, &mut lists);
    let [_, beside] = lists.map(|list| list.difference().map(|one| one.to_string()));
    assert_eq!(alone, beside);
    assert_ne!(alone.as_deref(), Some(""));
}
