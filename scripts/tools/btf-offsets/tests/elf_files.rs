// SPDX-License-Identifier: GPL-2.0-only

//! Sections of good and damaged ELF files.

use crate::elf::section;

const NAMES: &[u8] = b"\0.names\0.BTF\0.empty\0.BTF.base\0";

/// A file of one section for each `(name, flags, contents)`, after section 0 and
/// the names.
fn file(sections: &[(&str, u64, &[u8])]) -> Vec<u8> {
    let name_at = |name: &str| {
        let whole = format!("\0{name}\0");
        let at = NAMES
            .windows(whole.len())
            .position(|part| part == whole.as_bytes());
        at.unwrap() as u32 + 1
    };
    let mut data = vec![0; 64];
    data[..6].copy_from_slice(b"\x7fELF\x02\x01");
    let mut headers = vec![[0; 64]];
    let all = [(".names", 0, NAMES)]
        .into_iter()
        .chain(sections.iter().copied());
    for (name, flags, contents) in all {
        let mut header = [0; 64];
        header[..4].copy_from_slice(&name_at(name).to_le_bytes());
        header[4..8].copy_from_slice(&1_u32.to_le_bytes());
        header[8..16].copy_from_slice(&u64::to_le_bytes(flags));
        header[24..32].copy_from_slice(&(data.len() as u64).to_le_bytes());
        header[32..40].copy_from_slice(&(contents.len() as u64).to_le_bytes());
        data.extend_from_slice(contents);
        headers.push(header);
    }
    let table = data.len() as u64;
    data[0x28..0x30].copy_from_slice(&table.to_le_bytes());
    data[0x3a..0x3c].copy_from_slice(&64_u16.to_le_bytes());
    data[0x3c..0x3e].copy_from_slice(&(headers.len() as u16).to_le_bytes());
    data[0x3e..0x40].copy_from_slice(&1_u16.to_le_bytes());
    data.extend(headers.concat());
    data
}

#[test]
fn a_section_is_found_by_its_whole_name() {
    let data = file(&[
        (".BTF.base", 0, b"base"),
        (".empty", 0, b""),
        (".BTF", 0, b"types"),
    ]);
    assert_eq!(section(&data, ".BTF"), Ok(Some(b"types".as_slice())));
    assert_eq!(section(&data, ".BTF.base"), Ok(Some(b"base".as_slice())));
    assert_eq!(section(&data, ".empty"), Ok(Some(b"".as_slice())));
    assert_eq!(section(&data, ".text"), Ok(None));
    assert_eq!(section(&data, ".BT"), Ok(None));
}

#[test]
fn counts_too_large_for_the_header_stand_in_section_0() {
    let mut data = file(&[(".BTF", 0, b"types")]);
    let table = u64::from_le_bytes(data[0x28..0x30].try_into().unwrap()) as usize;
    data[0x3c..0x3e].fill(0);
    data[0x3e..0x40].fill(0xff);
    data[table + 0x20] = 3;
    data[table + 0x28] = 1;
    assert_eq!(section(&data, ".BTF"), Ok(Some(b"types".as_slice())));
}

#[test]
fn other_files_are_refused() {
    assert!(section(b"#!/bin/sh", ".BTF")
        .unwrap_err()
        .contains("not an ELF file"));
    let mut data = file(&[]);
    data[5] = 2;
    assert!(section(&data, ".BTF")
        .unwrap_err()
        .contains("little-endian"));
    data[4..6].copy_from_slice(&[1, 1]);
    assert!(section(&data, ".BTF").unwrap_err().contains("64-bit"));
    let compressed = file(&[(".BTF", 1 << 11, b"types")]);
    assert!(section(&compressed, ".BTF")
        .unwrap_err()
        .contains("compressed"));
}

#[test]
fn cut_off_at_every_length_and_every_byte_replaced() {
    let whole = file(&[(".BTF", 0, b"types")]);
    for len in 0..whole.len() {
        let found = section(&whole[..len], ".BTF");
        assert!(found.is_err(), "{len}: {found:?}");
    }
    for at in 0..whole.len() {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] = byte;
            // Only a crash or a hang would be wrong.
            let _ = section(&damaged, ".BTF");
        }
    }
}
