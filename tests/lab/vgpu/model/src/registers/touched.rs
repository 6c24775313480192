// SPDX-License-Identifier: GPL-2.0-only
//! Which registers were accessed, and whether the stock driver is known to do so.
//!
//! A register that the model does not treat specially only keeps what was written
//! to it. That is right for those of the list, each of which was looked at; one
//! that is not there may need more, so the tests refuse it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::table::sdma;
use super::{place, Place};

/// `BLOCK ADDRESS NAME` a line.
const LIST: &str = include_str!("known.txt");

/// What a register's address counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Block {
    /// An accelerator die, by the address in the first one.
    Gc,
    /// An SDMA engine, its rings for users by the first one.
    Sdma,
    /// The whole aperture.
    Other,
    /// Outside the aperture, through index and data registers.
    Far,
}

impl Block {
    fn named(name: &str) -> Option<Block> {
        Some(match name {
            "gc" => Block::Gc,
            "sdma" => Block::Sdma,
            "other" => Block::Other,
            "far" => Block::Far,
            _ => return None,
        })
    }
}

/// A register that was accessed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterReport {
    pub block: Block,
    /// In dwords.
    pub register: u32,
    /// Its name, if the stock driver is known to access it.
    pub name: Option<String>,
    pub read: bool,
    pub written: bool,
}

#[derive(Clone, Copy, Default)]
struct Access {
    read: bool,
    written: bool,
}

#[derive(Clone, Default)]
pub struct Touched(BTreeMap<(Block, u32), Access>);

impl Touched {
    pub fn read(&mut self, address: u32) {
        self.0.entry(key(address)).or_default().read = true;
    }

    pub fn written(&mut self, address: u32) {
        self.0.entry(key(address)).or_default().written = true;
    }

    /// An access through index and data registers, by the full address, of which the upper
    /// two bits say which I/O die is meant.
    pub fn far(&mut self, address: u32, is_write: bool) {
        let address = address & 0x3fff_ffff;
        let access = self.0.entry((Block::Far, address)).or_default();
        access.read |= !is_write;
        access.written |= is_write;
    }

    pub fn report(&self) -> Vec<RegisterReport> {
        self.0
            .iter()
            .map(|(&(block, register), access)| RegisterReport {
                block,
                register,
                name: known().get(&(block, register)).map(|&name| name.into()),
                read: access.read,
                written: access.written,
            })
            .collect()
    }
}

/// What a register in the aperture is called.
pub fn named(address: u32) -> (Block, u32, Option<&'static str>) {
    let key = key(address);
    (key.0, key.1, known().get(&key).copied())
}

fn key(address: u32) -> (Block, u32) {
    match place(address) {
        Place::Graphics { register, .. } => (Block::Gc, register),
        Place::Sdma { offset, .. } => (Block::Sdma, in_first_ring(offset)),
        Place::Other(address) => (Block::Other, address),
    }
}

/// The rings that users may get all look like the first.
fn in_first_ring(offset: u32) -> u32 {
    let rings = sdma::RLC0..sdma::RLC0 + sdma::RLC_COUNT * sdma::RING_SPAN;
    if rings.contains(&offset) {
        sdma::RLC0 + (offset - sdma::RLC0) % sdma::RING_SPAN
    } else {
        offset
    }
}

fn entry(line: &'static str) -> Option<((Block, u32), &'static str)> {
    let mut words = line.split_whitespace();
    let block = Block::named(words.next()?)?;
    let address = u32::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    Some(((block, address), words.next()?))
}

/// The names of the registers that the stock driver is known to access.
fn known() -> &'static BTreeMap<(Block, u32), &'static str> {
    static KNOWN: OnceLock<BTreeMap<(Block, u32), &str>> = OnceLock::new();
    KNOWN.get_or_init(|| LIST.lines().filter_map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::super::table::{athub, base, gc, header, ih, mmhub, mp, nbio};
    use super::super::{sdma_base, xcc_base, SDMA0_BASE};
    use super::*;

    #[test]
    fn every_line_of_the_list_is_an_entry_of_its_own() {
        let mut last = None;
        for line in LIST.lines().filter(|line| !line.starts_with('#')) {
            let (key, name) = entry(line).unwrap_or_else(|| panic!("'{line}'"));
            assert!(
                last < Some(key),
                "'{line}' is not behind the line before it"
            );
            assert_eq!(
                line,
                format!("{} {name}", line[..line.len() - name.len()].trim_end())
            );
            last = Some(key);
        }
        assert!(last.is_some());
    }

    #[test]
    fn all_dies_and_engines_have_the_same_registers() {
        let mut touched = Touched::default();
        touched.read(xcc_base(0) + gc::CP_HQD_ACTIVE);
        touched.written(xcc_base(7) + gc::CP_HQD_ACTIVE);
        touched.read(sdma_base(0) + 0x80);
        touched.read(sdma_base(3) + 0x80);
        touched.written(SDMA0_BASE + sdma::RLC0 + 7 * sdma::RING_SPAN + sdma::RB_CNTL);
        touched.read(mp::MP0_SMN_C2PMSG_33);
        touched.far(mp::MP0_SMN_C2PMSG_33 | (3 << 30), true);
        let report = touched.report();
        let seen: Vec<_> = report
            .iter()
            .map(|one| (one.block, one.register, one.read, one.written))
            .collect();
        assert_eq!(
            seen,
            [
                (Block::Gc, gc::CP_HQD_ACTIVE, true, true),
                (Block::Sdma, 0x80, true, false),
                (Block::Sdma, sdma::RLC0, false, true),
                (Block::Other, mp::MP0_SMN_C2PMSG_33, true, false),
                (Block::Far, mp::MP0_SMN_C2PMSG_33, false, true),
            ]
        );
        assert_eq!(report[0].name.as_deref(), Some("CP_HQD_ACTIVE"));
        assert_eq!(report[4].name, None);
    }

    /// With VGPU_ASIC_REG, as for the table.
    #[test]
    fn names_are_those_of_the_driver() {
        let headers = [
            (gc::HEADER, base::GC),
            (mmhub::HEADER, base::MMHUB),
            (athub::HEADER, base::ATHUB),
            (nbio::HEADER, base::NBIO),
            (mp::HEADER, base::MP),
            (ih::HEADER, base::OSSSYS),
            ("hdp/hdp_4_4_2_offset.h", base::HDP),
            ("smuio/smuio_13_0_3_offset.h", base::SMUIO),
            ("sdma/sdma_4_4_2_offset.h", base::SDMA0),
        ];
        let numbers: Vec<_> = headers
            .into_iter()
            .filter_map(|(path, bases)| Some((header(path)?, bases)))
            .collect();
        if numbers.is_empty() {
            return;
        }
        for (&(block, register), name) in known() {
            let ours = name.contains(|letter: char| letter.is_ascii_lowercase());
            let (prefix, address) = match block {
                Block::Sdma => ("regSDMA_", SDMA0_BASE + register),
                _ => ("reg", register),
            };
            let is_driver_s = numbers.iter().any(|(numbers, bases)| {
                let number = |name: String| numbers.get(&name).copied();
                let offset = number(format!("{prefix}{name}"));
                let index = number(format!("{prefix}{name}_BASE_IDX"));
                let base = index.and_then(|index| bases.get(index as usize));
                offset
                    .zip(base)
                    .is_some_and(|(offset, base)| offset + base == address)
            });
            assert!(ours || is_driver_s, "{block:?} {register:#06x} {name}");
        }
    }
}
