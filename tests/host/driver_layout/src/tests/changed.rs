// SPDX-License-Identifier: GPL-2.0-only

//! A real driver of which one thing at a time is gone or another: it is refused by the
//! name of that, or `transaction=direct` is.

use super::edit::{with, Types};
use super::real::{data, locks};
use crate::fields::{Ask, Form, Need, Row, ROWS};
use crate::forms::How;
use crate::look::Kernel;
use crate::resolve::{Difference, Differences};

const VERSION: &str = "7.3.4";

/// One thing that may be wrong with what a row is about, and what is to be said of it.
struct Change {
    what: &'static str,
    /// Where, and what becomes of the word there.
    at: Vec<usize>,
    word: Box<dyn Fn(u32) -> u32>,
    is_named: fn(How) -> bool,
}

fn change(
    what: &'static str,
    at: impl IntoIterator<Item = usize>,
    word: impl Fn(u32) -> u32 + 'static,
    is_named: fn(How) -> bool,
) -> Change {
    Change {
        what,
        at: at.into_iter().collect(),
        word: Box::new(word),
        is_named,
    }
}

/// A name without its first letter is none that anybody asks for.
fn renamed(at: impl IntoIterator<Item = usize>) -> Change {
    change("gone", at, |name| name + 1, |how| how == How::Missing)
}

/// What may be wrong with a row.
fn changes(types: &Types<'_>, row: &Row) -> Vec<Change> {
    let other = types.number(types.structures("kfd_dev")[0]);
    let is_far = |how| matches!(how, How::Outside(..));
    let is_crooked = |how| matches!(how, How::Misaligned(_));
    let is_another = |how| matches!(how, How::OtherForm | How::Bytes(..));
    match row.ask {
        Ask::Field { path, .. } | Ask::Pointer { path, .. } => {
            let members = types.members(row.owner, path);
            let at = |word: usize| members.iter().map(move |member| member.0 + 4 * word);
            // The upper bits are the width of a part of a word.
            let far = |place: u32| (place & 0xff00_0000) | 0xff_ffc0;
            let mut changes = vec![
                renamed(at(0)),
                change("far away", at(2), far, is_far),
                change("another type", at(1), move |_| other, is_another),
            ];
            if !matches!(
                row.ask,
                Ask::Field {
                    form: Form::Number(1),
                    ..
                }
            ) {
                changes.push(change("a byte on", at(2), |place| place + 8, is_crooked));
            }
            changes
        }
        Ask::Value(name, expected) => {
            let values = types.values(row.owner, name);
            let mut changes = vec![renamed(values.iter().copied())];
            if expected.is_some() {
                let at = values.iter().map(|at| at + 4);
                let is_value = |how| matches!(how, How::Value(..));
                changes.push(change("another value", at, |value| value + 64, is_value));
            }
            changes
        }
        Ask::Signature(_) => {
            let functions = types.functions(row.owner);
            let at = functions.iter().map(|at| at + 8);
            let is_like = |how| how == How::OtherSignature;
            vec![
                renamed(functions.iter().copied()),
                change("another type", at, |_| 0, is_like),
            ]
        }
        Ask::Bytes(_) => {
            let at = types.structures(row.owner).into_iter().map(|at| at + 8);
            let is_size = |how| matches!(how, How::Bytes(..) | How::TooLarge(..));
            vec![change("another size", at, |size| size + 128, is_size)]
        }
    }
}

/// What is wrong with a driver, for all rows and for `transaction=direct`.
fn differences(kernel: &Kernel<'_>, driver: &[u8]) -> Differences {
    let (_, differences) = kernel.resolve(driver, ROWS, locks(VERSION)).unwrap();
    differences
}

#[test]
fn each_thing_that_is_gone_or_another_is_named() {
    let (base, driver) = (data("vmlinux", VERSION), data("amdgpu", VERSION));
    let kernel = Kernel::new(&base).unwrap();
    let types = Types::new(&base, &driver);
    // The kernel's own types, which are compared with its headers.
    let of_kernel = ["list_head", "mutex", "rw_semaphore"];
    let mut tried = 0;
    for row in ROWS.iter().filter(|row| !of_kernel.contains(&row.owner)) {
        for Change {
            what,
            at,
            word,
            is_named,
        } in changes(&types, row)
        {
            assert!(!at.is_empty(), "{row} is not there to be {what}");
            let mut changed = driver.clone();
            for at in at {
                with(&mut changed, at, &word);
            }
            let found = differences(&kernel, &changed);
            let named = |difference: Option<Difference>| {
                difference.is_some_and(|one| one.row == *row && is_named(one.how))
            };
            let as_it_should = match row.need {
                Need::Direct => found.always.is_none() && named(found.direct),
                Need::Optional if what == "gone" => found.always.is_none(),
                _ => named(found.always),
            };
            let text = |one: Option<Difference>| one.map(|one| one.to_string());
            let (always, direct) = (text(found.always), text(found.direct));
            assert!(as_it_should, "{row}, {what}: {always:?}, {direct:?}");
            tried += 1;
        }
    }
    assert!(tried > 3 * ROWS.len(), "{tried} changes");
}

#[test]
fn what_is_missing_is_said_with_its_form_and_where_it_is_to_be_had() {
    let (base, driver) = (data("vmlinux", VERSION), data("amdgpu", VERSION));
    let kernel = Kernel::new(&base).unwrap();
    let types = Types::new(&base, &driver);
    let without = |owner: &str, path: &str| {
        let mut changed = driver.clone();
        for member in types.members(owner, path) {
            with(&mut changed, member.0, |name| name + 1);
        }
        differences(&kernel, &changed)
    };
    let always = without("device_queue_manager", "sched_halt").always;
    assert_eq!(
        always.unwrap().to_string(),
        "device_queue_manager.sched_halt, a number of 1 byte, is missing; Linux 6.12 and \
         newer, and amdgpu-dkms 6.16.13 of ROCm, have it"
    );
    let direct = without("device_queue_manager", "fence_gpu_addr").direct;
    assert_eq!(
        direct.unwrap().to_string(),
        "device_queue_manager.fence_gpu_addr, a number of 8 bytes, is missing; Linux 6.16 \
         and newer have it"
    );
}

#[test]
fn of_several_differences_the_first_of_the_table_is_named() {
    let (base, driver) = (data("vmlinux", VERSION), data("amdgpu", VERSION));
    let kernel = Kernel::new(&base).unwrap();
    let types = Types::new(&base, &driver);
    let mut changed = driver.clone();
    for (owner, path) in [
        ("queue", "mqd"),
        ("kfd_dev", "num_nodes"),
        ("v9_mqd", "cp_hqd_pq_rptr"),
    ] {
        for member in types.members(owner, path) {
            with(&mut changed, member.0, |name| name + 1);
        }
    }
    let named = differences(&kernel, &changed).always.unwrap().row;
    assert_eq!(named.to_string(), "kfd_dev.num_nodes");
}
