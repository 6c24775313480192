// SPDX-License-Identifier: GPL-2.0-only
//! Another amdgpu than the stock one: the guest's own file with a name in it
//! changed, so that the module meets a driver that lacks what it looks for.

use anyhow::{ensure, Context, Result};

use crate::guest::Guest;
use crate::image::AMDGPU;

/// Where the changed file is put in the guest.
pub const CHANGED: &str = "/tmp/changed.ko";
/// How a signature at the end of a module begins; a changed file must have none.
const SIGNATURE: &[u8] = b"~Module signature appended~\n";

/// What is renamed. The last letter changes, so that nothing moves.
#[derive(Clone, Copy, Debug)]
pub enum Name {
    Symbol(&'static str),
    Section(&'static str),
    /// In the type information, wherever it stands alone.
    Field(&'static str),
}

/// Makes a copy of amdgpu's file in the guest with one name changed.
pub fn make(guest: &mut Guest, name: Name) -> Result<()> {
    let file = guest.image.amdgpu_file()?;
    let places = match name {
        Name::Symbol(symbol) => names_in(&file, ".strtab", symbol)?,
        Name::Section(section) => vec![section_name(&file, section)?],
        Name::Field(field) => names_in(&file, ".BTF", field)?,
    };
    let length = signed_part(&file)?;
    let mut script = format!("cp {AMDGPU} {CHANGED}; truncate -s {length} {CHANGED};");
    for at in places {
        script.push_str(&format!(
            "printf _ | dd of={CHANGED} bs=1 seek={at} conv=notrunc 2>/dev/null;"
        ));
    }
    guest.agent().shell(&script).map(|_| ())
}

/// The length without a signature.
fn signed_part(file: &[u8]) -> Result<usize> {
    let Some(rest) = file.strip_suffix(SIGNATURE) else {
        return Ok(file.len());
    };
    // struct module_signature is in front, with the signature's length last.
    let length = rest
        .last_chunk::<4>()
        .map(|bytes| u32::from_be_bytes(*bytes) as usize)
        .context("a module of nothing but a signature")?;
    rest.len()
        .checked_sub(12 + length)
        .context("a signature longer than its module")
}

struct Section {
    name: usize,
    offset: usize,
    size: usize,
}

/// The section headers, and which of them has the sections' names.
fn sections(file: &[u8]) -> Result<(Vec<Section>, usize)> {
    const SHOFF: usize = 0x28;
    const SHNUM: usize = 0x3c;
    const SHSTRNDX: usize = 0x3e;
    const ENTRY: usize = 64;
    ensure!(
        file.starts_with(b"\x7fELF\x02\x01"),
        "amdgpu is no ELF file"
    );
    let start = number(file, SHOFF, 8)?;
    let sections = (0..number(file, SHNUM, 2)?)
        .map(|index| {
            let header = start + index * ENTRY;
            Ok(Section {
                name: number(file, header, 4)?,
                offset: number(file, header + 0x18, 8)?,
                size: number(file, header + 0x20, 8)?,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    Ok((sections, number(file, SHSTRNDX, 2)?))
}

fn number(file: &[u8], at: usize, bytes: usize) -> Result<usize> {
    let field = file
        .get(at..at + bytes)
        .context("amdgpu's file is cut off")?;
    let value = field
        .iter()
        .rev()
        .fold(0_u64, |value, byte| (value << 8) | u64::from(*byte));
    Ok(usize::try_from(value)?)
}

/// Where the last letter of a section's name is.
fn section_name(file: &[u8], name: &str) -> Result<usize> {
    let (sections, names) = sections(file)?;
    let names = sections.get(names).context("no names of sections")?.offset;
    sections
        .iter()
        .map(|section| names + section.name)
        .find(|&at| is_name(file, at, name))
        .map(|at| at + name.len() - 1)
        .with_context(|| format!("amdgpu has no section {name}"))
}

/// Where the last letters of a name are in a section. It may be the end of a longer
/// one: the linker has names share their ends.
fn names_in(file: &[u8], section: &str, name: &str) -> Result<Vec<usize>> {
    let (sections, names) = sections(file)?;
    let names = sections.get(names).context("no names of sections")?.offset;
    let strings = sections
        .iter()
        .find(|found| is_name(file, names + found.name, section))
        .with_context(|| format!("amdgpu has no section {section}"))?;
    let places: Vec<usize> = (strings.offset..strings.offset + strings.size)
        .filter(|&at| is_name(file, at, name))
        .map(|at| at + name.len() - 1)
        .collect();
    ensure!(!places.is_empty(), "amdgpu has no {name} in {section}");
    Ok(places)
}

/// Whether a name, with the zero at its end, is at a place.
fn is_name(file: &[u8], at: usize, name: &str) -> bool {
    file.get(at..)
        .and_then(|rest| rest.strip_prefix(name.as_bytes()))
        .is_some_and(|rest| rest.first() == Some(&0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_cut_off_with_what_describes_it() {
        assert_eq!(signed_part(b"module").unwrap(), 6);
        let mut signed = b"module".to_vec();
        signed.extend([7; 5]);
        signed.extend([0; 8]);
        signed.extend(5_u32.to_be_bytes());
        signed.extend(SIGNATURE);
        assert_eq!(signed_part(&signed).unwrap(), 6);
        assert!(signed_part(&signed[12..]).is_err());
    }

    #[test]
    fn a_name_is_whole_and_ends() {
        let file = b"\0debug_map\0debug\0";
        assert!(is_name(file, 1, "debug_map"));
        assert!(!is_name(file, 1, "debug"));
        assert!(is_name(file, 11, "debug"));
        assert!(!is_name(file, 40, "debug"));
    }
}
