// SPDX-License-Identifier: GPL-2.0-only
//! The kernel module's reader of type information, and how it looks up in it where a
//! driver has its fields.

#[allow(dead_code, reason = "it is the module's, which uses more of it")]
#[path = "../../../../../rust/kfd/driver/fields.rs"]
mod fields;
#[path = "../../../../../rust/kfd/driver/forms.rs"]
mod forms;
#[path = "../../../../../rust/kfd/driver/prototype.rs"]
mod prototype;
#[path = "../../../../../rust/kfd/driver/resolve.rs"]
mod resolve;
#[allow(clippy::module_inception, reason = "it has the name of its file")]
#[path = "../../../../../rust/kfd/driver/type_info.rs"]
mod type_info;

use fields::{Ask, Bytes, Form, Need, Row};
use resolve::{order, Finding, LockBytes, Resolution};
use type_info::{Class, Sections, TypeInfo};

use crate::input::Input;

const fn about(class: Class, owner: &'static str, ask: Ask) -> Row {
    let need = Need::Always;
    Row {
        class,
        owner,
        ask,
        need,
    }
}

const fn field(path: &'static str, form: Form, need: Need) -> Row {
    let at = None;
    let row = about(Class::Structure, "outer", Ask::Field { path, form, at });
    Row { need, ..row }
}

/// How large `outer` may be.
const MOST_BYTES: u64 = 64;

/// What is looked for, some of each kind.
const ROWS: &[Row] = &[
    field("y", Form::Number(4), Need::Always),
    field("list", Form::Array(3, 4), Need::Always),
    field("z", Form::Pointer, Need::Optional),
    field("w", Form::Counter, Need::Direct),
    field("v", Form::Part("inner"), Need::Direct),
    about(
        Class::Structure,
        "ops",
        Ask::Pointer {
            path: "act",
            signature: "int(outer *, int[])",
        },
    ),
    about(
        Class::Structure,
        "outer",
        Ask::Bytes(Bytes::AtMost(MOST_BYTES)),
    ),
    about(Class::Enumeration, "kinds", Ask::Value("B", Some(7))),
    about(
        Class::Function,
        "act",
        Ask::Signature("int(outer *, int[])"),
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

/// A difference is told in words. Where there is none, each field lies wholly within the
/// largest structure that is taken, in a place where one of its form can be.
fn judge(info: &TypeInfo<'_>) {
    let mut numbers: Vec<u16> = (0..).take(ROWS.len()).collect();
    numbers.sort_by_key(|&number| order(ROWS, number));
    let mut findings = [Finding::Unmet; ROWS.len()];
    let locks = LockBytes {
        mutex: 24,
        semaphore: 40,
    };
    let resolution = Resolution::new(ROWS, &numbers, &mut findings, locks);
    let Ok(differences) = resolution.resolve(info) else {
        return;
    };
    for difference in [differences.always, differences.direct]
        .into_iter()
        .flatten()
    {
        assert_ne!(difference.to_string(), "");
    }
    if differences.always.is_some() {
        return;
    }
    for (row, finding) in ROWS.iter().zip(findings) {
        let found = finding.get().map(i64::unsigned_abs);
        match (row.ask, found) {
            (Ask::Field { form, .. }, Some(at)) => {
                let (bytes, aligned) = match form {
                    Form::Number(bytes) => (bytes, bytes),
                    Form::Array(count, bytes) => (count * bytes, bytes),
                    Form::Pointer => (8, 8),
                    Form::Counter => (4, 4),
                    Form::Part(_) => (0, 8),
                };
                assert!(
                    at + bytes <= MOST_BYTES && at % aligned == 0,
                    "{row} at {at}"
                );
            }
            (_, None) => assert_ne!(row.need, Need::Always, "{row}"),
            _ => {}
        }
    }
}
