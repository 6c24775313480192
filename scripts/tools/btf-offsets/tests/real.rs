// SPDX-License-Identifier: GPL-2.0-only

//! Five builds of the real driver, against offsets that another program took.

use std::path::PathBuf;

use super::damaged::damaged_copies;
use crate::btf::Btf;
use crate::layout::{Layout, Value};
use crate::{fields, input, resolve};

pub const VERSIONS: [&str; 5] = ["6.12.107", "6.16.12", "6.18.15", "7.2.12", "7.3.4"];

fn project(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../..")
        .join(path)
}

pub fn data(what: &str, version: &str) -> Vec<u8> {
    input::read_btf(&project(&format!("tests/data/btf/{what}-{version}.btf.xz"))).unwrap()
}

pub fn field_list() -> String {
    input::read_text(&project("bindings/kfd-fields.txt")).unwrap()
}

fn layout(version: &str) -> Layout<'static> {
    let (base, module) = (data("vmlinux", version), data("amdgpu", version));
    let base = Btf::parse(&base, None).unwrap();
    let btf = Btf::parse(&module, Some(&base)).unwrap();
    // What is found names what the list does.
    let list: &'static str = field_list().leak();
    resolve::resolve(&btf, &fields::parse(list).unwrap()).unwrap()
}

fn value(layout: &Layout<'_>, name: &str) -> Option<u64> {
    let found = layout
        .constants
        .iter()
        .find(|constant| constant.name == name);
    match found
        .unwrap_or_else(|| panic!("{name} is not in the layout"))
        .value
    {
        Value::Offset(value) | Value::Amount(value) => Some(value),
        Value::OptionalOffset(value) | Value::OptionalAmount(value) => value,
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn every_field_stands_where_another_program_found_it() {
    let table = input::read_text(&project("tests/data/btf/expected-offsets.txt")).unwrap();
    let layouts = VERSIONS.map(layout);
    let mut compared = 0;
    for row in table.lines().filter(|line| !line.starts_with('#')) {
        let mut columns = row.split_whitespace();
        let path = columns.next().unwrap();
        let mut name = path.replace('.', "_").to_ascii_uppercase();
        if !path.contains('.') {
            name += "_SIZE";
        }
        for ((layout, version), expected) in layouts.iter().zip(VERSIONS).zip(columns) {
            let expected = match (expected, expected.strip_prefix("0x")) {
                ("-", _) => None,
                (_, Some(hex)) => Some(u64::from_str_radix(hex, 16).unwrap()),
                (decimal, None) => Some(decimal.parse().unwrap()),
            };
            assert_eq!(value(layout, &name), expected, "{path} in {version}");
            compared += 1;
        }
    }
    assert_eq!(compared, 139 * VERSIONS.len(), "rows of the table");
}

#[test]
fn arrays_of_two_dimensions_divide_evenly_by_the_number_of_blocks() {
    for version in VERSIONS {
        let layout = layout(version);
        let blocks = layout
            .constants
            .iter()
            .find(|constant| constant.name == "MAX_HWIP");
        let Some(Value::Enumerator(blocks)) = blocks.map(|constant| constant.value) else {
            panic!("no MAX_HWIP in {version}");
        };
        for array in [
            "AMDGPU_DEVICE_IP_VERSIONS_LEN",
            "AMDGPU_DEVICE_REG_OFFSET_LEN",
        ] {
            let len = value(&layout, array).unwrap();
            assert_eq!(len % blocks as u64, 0, "{array} in {version}");
            let instances = if version < "7" { 44 } else { 48 };
            assert_eq!(len / blocks as u64, instances, "{array} in {version}");
        }
    }
}

#[test]
fn the_driver_has_renumbered_its_queue_types() {
    let xgmi = |version| {
        let layout = layout(version);
        let found = layout
            .constants
            .into_iter()
            .find(|c| c.name == "KFD_QUEUE_TYPE_SDMA_XGMI");
        found.map(|constant| constant.value)
    };
    assert_eq!(xgmi("6.18.15"), Some(Value::Enumerator(4)));
    assert_eq!(xgmi("7.2.12"), Some(Value::Enumerator(3)));
}

#[test]
fn types_over_the_base_of_another_kernel_are_refused() {
    let (base, module) = (data("vmlinux", "7.2.12"), data("amdgpu", "7.3.4"));
    let base = Btf::parse(&base, None).unwrap();
    let list = field_list();
    let resolved = Btf::parse(&module, Some(&base))
        .and_then(|btf| resolve::resolve(&btf, &fields::parse(&list).unwrap()));
    assert!(resolved.is_err());
}

/// A sweep over the whole real driver is far too slow; these spots are fixed.
#[test]
fn damage_anywhere_in_a_real_driver_never_crashes() {
    let (base, whole) = (data("vmlinux", "7.3.4"), data("amdgpu", "7.3.4"));
    let base = Btf::parse(&base, None).unwrap();
    let list = field_list();
    let list = fields::parse(&list).unwrap();
    let (mut refused, rounds) = (0, 40);
    for damaged in damaged_copies(&whole, rounds) {
        let result =
            Btf::parse(&damaged, Some(&base)).and_then(|btf| resolve::resolve(&btf, &list));
        refused += usize::from(result.is_err());
    }
    assert!(refused >= rounds / 2, "{refused} of {rounds} refused");
}
