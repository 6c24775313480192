// SPDX-License-Identifier: GPL-2.0-only

//! Finds a section of a 64-bit little-endian ELF file, as kernels and modules
//! for x86-64 are.  Every offset in the file is checked before it is used.

pub const MAGIC: &[u8] = b"\x7fELF";

const SHT_NOBITS: u64 = 8;
const SHF_COMPRESSED: u64 = 1 << 11;
const SECTION_HEADER_LEN: u64 = 64;

fn bytes(data: &[u8], at: u64, len: u64) -> Option<&[u8]> {
    let start = usize::try_from(at).ok()?;
    data.get(start..start.checked_add(usize::try_from(len).ok()?)?)
}

fn number(data: &[u8], at: u64, len: u64) -> Option<u64> {
    let mut value = [0; 8];
    value
        .get_mut(..len as usize)?
        .copy_from_slice(bytes(data, at, len)?);
    Some(u64::from_le_bytes(value))
}

/// The contents of the section `name`, or `None` where the file has none.
pub fn section<'a>(data: &'a [u8], name: &str) -> Result<Option<&'a [u8]>, String> {
    if !data.starts_with(MAGIC) {
        return Err("not an ELF file".into());
    }
    // EI_CLASS and EI_DATA: 64 bits, little-endian.
    if data.get(4..6) != Some(&[2, 1]) {
        return Err("not an ELF file of a 64-bit little-endian machine".into());
    }
    find(data, name).unwrap_or_else(|| {
        Err("damaged ELF file: its section headers point beyond the end of the data".into())
    })
}

/// `None` means that something points beyond the end.
fn find<'a>(data: &'a [u8], name: &str) -> Option<Result<Option<&'a [u8]>, String>> {
    let table = number(data, 0x28, 8)?;
    let entry_len = number(data, 0x3a, 2)?;
    let mut count = number(data, 0x3c, 2)?;
    let mut names_index = number(data, 0x3e, 2)?;
    if table == 0 {
        return Some(Ok(None));
    }
    if entry_len < SECTION_HEADER_LEN {
        return Some(Err(format!(
            "damaged ELF file: section headers of {entry_len} bytes"
        )));
    }
    let header = |index: u64| bytes(data, table.checked_add(index.checked_mul(entry_len)?)?, 64);
    // Numbers that do not fit in 16 bits stand in section 0.
    if count == 0 {
        count = number(header(0)?, 0x20, 8)?;
    }
    if names_index == 0xffff {
        names_index = number(header(0)?, 0x28, 4)?;
    }
    let contents = |header: &[u8]| bytes(data, number(header, 0x18, 8)?, number(header, 0x20, 8)?);
    let names = contents(header(names_index)?)?;
    for index in 0..count {
        let header = header(index)?;
        let start = usize::try_from(number(header, 0, 4)?).ok()?;
        let rest = names.get(start..)?;
        if rest
            .strip_prefix(name.as_bytes())
            .is_none_or(|rest| rest.first() != Some(&0))
        {
            continue;
        }
        if number(header, 8, 8)? & SHF_COMPRESSED != 0 {
            return Some(Err(format!(
                "its {name} section is compressed, as no kernel build does"
            )));
        }
        if number(header, 4, 4)? == SHT_NOBITS {
            return Some(Err(format!(
                "its {name} section has been stripped of its contents"
            )));
        }
        return Some(Ok(Some(contents(header)?)));
    }
    Some(Ok(None))
}
