// SPDX-License-Identifier: GPL-2.0-only

//! Five builds of the real driver, against what another program finds in them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fields::{Ask, Bytes, Form, Need, Row, NAMES, ROWS};
use crate::look::{report, Kernel};
use crate::resolve::{Differences, Finding, LockBytes};
use crate::trim::{asked, trim};
use crate::type_info::Class;

pub const VERSIONS: [&str; 5] = ["6.12.107", "6.16.12", "6.18.15", "7.2.12", "7.3.4"];

fn data_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/btf")
}

pub fn data(what: &str, version: &str) -> Vec<u8> {
    let file = data_folder().join(format!("{what}-{version}.btf.xz"));
    let unpacked = Command::new("xz").arg("-dc").arg(file).output().unwrap();
    assert!(unpacked.status.success(), "{unpacked:?}");
    unpacked.stdout
}

/// The locks of Debian's kernels.
pub fn locks(version: &str) -> LockBytes {
    match version {
        "6.12.107" | "6.16.12" | "6.18.15" => LockBytes {
            mutex: 32,
            semaphore: 40,
        },
        _ => LockBytes {
            mutex: 24,
            semaphore: 32,
        },
    }
}

fn resolve(version: &str, rows: &[Row]) -> (Vec<Finding>, Differences) {
    let (base, driver) = (data("vmlinux", version), data("amdgpu", version));
    let kernel = Kernel::new(&base).unwrap();
    kernel.resolve(&driver, rows, locks(version)).unwrap()
}

/// What the other program has found: names with a value for each version.
fn table() -> Vec<(String, Vec<Option<i64>>)> {
    let text = std::fs::read_to_string(data_folder().join("expected-offsets.txt")).unwrap();
    let value = |text: &str| match (text, text.strip_prefix("0x")) {
        ("-", _) => None,
        (_, Some(hex)) => Some(i64::from_str_radix(hex, 16).unwrap()),
        (decimal, None) => Some(decimal.parse().unwrap()),
    };
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let rows = lines.map(|line| {
        let mut columns = line.split_whitespace();
        let name = columns.next().unwrap().to_owned();
        (name, columns.map(value).collect())
    });
    rows.collect()
}

/// How the other program's table names what a row is about.
fn name_of(row: &Row) -> Option<String> {
    let owner = row.owner;
    match row.ask {
        Ask::Bytes(_) => Some(owner.to_owned()),
        Ask::Field { path, .. } | Ask::Pointer { path, .. } => Some(format!("{owner}.{path}")),
        Ask::Value(name, _) => Some(format!("{owner}.{name}")),
        Ask::Signature(_) => None,
    }
}

/// A row for something that the fake of the KUnit suites has besides.
fn other_row(name: &str) -> Row {
    let (class, need) = (Class::Structure, Need::Always);
    let name: &'static str = name.to_owned().leak();
    let (owner, ask) = match name.split_once('.') {
        None => (name, Ask::Bytes(Bytes::AtMost(u64::MAX))),
        Some((owner, path)) => (
            owner,
            Ask::Field {
                path,
                form: Form::Number(4),
                at: None,
            },
        ),
    };
    Row {
        class,
        owner,
        ask,
        need,
    }
}

#[test]
fn everything_is_where_another_program_found_it() {
    let table = table();
    let row_of = |name: &str| {
        let known = ROWS
            .iter()
            .find(|row| name_of(row).as_deref() == Some(name));
        *known.unwrap_or(&other_row(name))
    };
    let rows: Vec<Row> = table.iter().map(|(name, _)| row_of(name)).collect();
    for (column, version) in VERSIONS.iter().enumerate() {
        let (findings, _) = resolve(version, &rows);
        for ((name, values), finding) in table.iter().zip(findings) {
            assert_eq!(values.len(), VERSIONS.len(), "{name}");
            assert_eq!(finding.get(), values[column], "{name} in {version}");
        }
    }
}

#[test]
fn the_other_program_was_asked_for_everything() {
    let table = table();
    // Types of the kernel's own, which the shim compares, and what each driver has to
    // have in the same place.
    let elsewhere = ["list_head", "mutex", "rw_semaphore"];
    for row in ROWS.iter().filter(|row| !elsewhere.contains(&row.owner)) {
        let name = name_of(row);
        let is_there = name.is_none_or(|name| table.iter().any(|(other, _)| *other == name));
        assert!(
            is_there,
            "{row} is not in tests/data/btf/expected-offsets.txt"
        );
    }
}

#[test]
fn each_real_driver_can_be_used() {
    for version in VERSIONS {
        let (findings, differences) = resolve(version, ROWS);
        assert_eq!(differences.always, None, "{version}");
        // What 6.12 has not is what is said to come later.
        let direct = differences.direct.map(|difference| difference.to_string());
        assert_eq!(
            direct.is_none(),
            version != "6.12.107",
            "{version}: {direct:?}"
        );
        let needed = ROWS
            .iter()
            .zip(&findings)
            .filter(|(row, _)| row.need == Need::Always);
        for (row, finding) in needed {
            assert!(finding.get().is_some(), "{row} in {version}");
        }
    }
}

#[test]
fn the_module_has_room_for_every_queue_with_some_to_spare() {
    for version in VERSIONS {
        let (findings, _) = resolve(version, &[other_row("queue")]);
        let bytes = findings[0].get().unwrap();
        assert!(
            bytes + 64 <= crate::fields::MOST_QUEUE_BYTES as i64,
            "{version}: {bytes}"
        );
    }
}

#[test]
fn a_driver_over_the_base_of_another_kernel_is_refused() {
    let (base, driver) = (data("vmlinux", "7.2.12"), data("amdgpu", "7.3.4"));
    let kernel = Kernel::new(&base).unwrap();
    let resolved = kernel.resolve(&driver, ROWS, locks("7.3.4"));
    assert!(resolved.is_err() || resolved.is_ok_and(|(_, found)| found.always.is_some()));
}

#[test]
fn locks_of_another_size_are_refused() {
    for (version, other) in [("7.3.4", "6.12.107"), ("6.12.107", "7.3.4")] {
        let (base, driver) = (data("vmlinux", version), data("amdgpu", version));
        let kernel = Kernel::new(&base).unwrap();
        let (_, differences) = kernel.resolve(&driver, ROWS, locks(other)).unwrap();
        let (own, others) = (locks(version).mutex, locks(other).mutex);
        assert_eq!(
            differences.always.unwrap().to_string(),
            format!("struct mutex has {own} bytes instead of {others}")
        );
    }
}

/// And the trim leaves its own work as it is.
#[test]
fn of_the_types_those_are_kept_that_are_asked_for() {
    let table = std::fs::read_to_string(data_folder().join("expected-offsets.txt")).unwrap();
    for version in VERSIONS {
        let (base, driver) = (data("vmlinux", version), data("amdgpu", version));
        let (kept_base, kept_driver) = trim(&base, &driver, &asked(&table));
        assert!(
            kept_base == base,
            "vmlinux-{version}.btf has more than that"
        );
        assert!(
            kept_driver == driver,
            "amdgpu-{version}.btf has more than that"
        );
        let (base, driver) = trim(&base, &driver, &HashSet::new());
        let kernel = Kernel::new(&base).unwrap();
        let (_, differences) = kernel.resolve(&driver, ROWS, locks(version)).unwrap();
        assert!(differences.always.is_some(), "nothing was asked for");
    }
}

#[test]
fn the_program_says_what_it_finds() {
    let (base, driver) = (data("vmlinux", "7.3.4"), data("amdgpu", "7.3.4"));
    let text = report(&base, &driver).unwrap();
    assert_eq!(text.lines().count(), NAMES.len(), "{text}");
    let line = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_whitespace().last())
    };
    assert_eq!(line("QUEUE_PROPERTIES_IS_ACTIVE "), Some("0x50"));
    assert_eq!(line("KFD_QUEUE_TYPE_SDMA_XGMI "), Some("3"));
    let (base, driver) = (data("vmlinux", "6.12.107"), data("amdgpu", "6.12.107"));
    let text = report(&base, &driver).unwrap();
    assert!(
        text.contains("transaction=direct cannot be used: "),
        "{text}"
    );
    assert!(report(&base, b"").unwrap_err().contains("is damaged"));
    assert!(report(&driver, &driver).is_err());
}
