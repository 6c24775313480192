// SPDX-License-Identifier: GPL-2.0-only

//! Type information without what nobody asks for: that of a driver is half a megabyte, of
//! which the module looks at a few dozen types.
//!
//! Types keep their numbers. One that is not needed becomes the shortest that there is,
//! without a name. What is needed is each type of a name that is asked for, and those of
//! the compute driver's queues, which may be asked for next; each with all that lies within
//! it. What a pointer leads to keeps its name and size alone.

use std::collections::{BTreeMap, HashSet};

use crate::bytes::{count, kind, places, word};
use crate::fields::ROWS;

/// How the names of types begin that are kept besides.
const NEAR: [&str; 6] = [
    "kfd_",
    "queue",
    "qcm_",
    "device_queue_",
    "mqd_",
    "packet_manager",
];

const HEADER: usize = 24;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const FORWARD: u32 = 7;
const FUNCTION: u32 = 12;
const PROTOTYPE: u32 = 13;
const ENUM64: u32 = 19;

/// How much of a type is needed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Depth {
    Nothing,
    /// Its name and size.
    Shallow,
    /// With all that lies within it.
    Whole,
}

/// One of the two parts: the kernel's, or the driver's.
struct Part<'a> {
    data: &'a [u8],
    places: Vec<usize>,
    needed: Vec<Depth>,
    /// The names that are kept, by where they are, with where they go.
    names: BTreeMap<u32, u32>,
}

impl<'a> Part<'a> {
    fn new(data: &'a [u8]) -> Self {
        let places = places(data);
        Self {
            data,
            needed: vec![Depth::Nothing; places.len()],
            places,
            names: BTreeMap::from([(0, 0)]),
        }
    }

    fn name_bytes(&self) -> u32 {
        word(self.data, 20)
    }

    fn name(&self, at: u32) -> &'a [u8] {
        let begin = (word(self.data, 4) + word(self.data, 16) + at) as usize;
        let rest = &self.data[begin..];
        &rest[..rest.iter().position(|&byte| byte == 0).unwrap_or(0)]
    }

    /// Gives the names that are kept their places. Returns the names' text.
    fn place_names(&mut self) -> Vec<u8> {
        let mut text = Vec::new();
        let names: Vec<u32> = self.names.keys().copied().collect();
        for at in names {
            self.names.insert(at, text.len() as u32);
            text.extend_from_slice(self.name(at));
            text.push(0);
        }
        text
    }
}

/// A kernel's type information and a driver's, which goes on from it.
struct Both<'a> {
    kernel: Part<'a>,
    driver: Part<'a>,
}

impl<'a> Both<'a> {
    /// The part that a type is in, and its index there; none of `void`.
    fn find(&mut self, number: u32) -> Option<(&mut Part<'a>, usize)> {
        let index = number.checked_sub(1)? as usize;
        let kernels = self.kernel.places.len();
        Some(match index.checked_sub(kernels) {
            Some(own) => (&mut self.driver, own),
            None => (&mut self.kernel, index),
        })
    }

    fn name(&self, at: u32) -> &'a [u8] {
        match at.checked_sub(self.kernel.name_bytes()) {
            Some(own) => self.driver.name(own),
            None => self.kernel.name(at),
        }
    }

    fn keep_name(&mut self, at: u32) {
        match at.checked_sub(self.kernel.name_bytes()) {
            Some(own) => self.driver.names.insert(own, 0),
            None => self.kernel.names.insert(at, 0),
        };
    }

    /// Notes that so much of a type is needed, and what that needs in turn.
    fn need(&mut self, number: u32, depth: Depth) {
        let Some((part, index)) = self.find(number) else {
            return;
        };
        let (data, at) = (part.data, part.places[index]);
        let kind = kind(data, at);
        let is_open = matches!(kind, STRUCT | UNION | ENUM | ENUM64);
        let depth = if is_open { depth } else { Depth::Whole };
        if part.needed[index] >= depth {
            return;
        }
        part.needed[index] = depth;
        self.keep_name(word(data, at));
        if depth == Depth::Shallow {
            return;
        }
        let count = count(data, at);
        let of = word(data, at + 8);
        match kind {
            POINTER => self.need(of, Depth::Shallow),
            ARRAY => {
                self.need(word(data, at + 12), Depth::Whole);
                self.need(word(data, at + 16), Depth::Whole);
            }
            STRUCT | UNION => {
                for member in (0..count).map(|index| at + 12 + 12 * index) {
                    self.keep_name(word(data, member));
                    self.need(word(data, member + 4), Depth::Whole);
                }
            }
            ENUM => (0..count).for_each(|index| self.keep_name(word(data, at + 12 + 8 * index))),
            ENUM64 => (0..count).for_each(|index| self.keep_name(word(data, at + 12 + 12 * index))),
            PROTOTYPE => {
                self.need(of, Depth::Shallow);
                for parameter in (0..count).map(|index| at + 12 + 8 * index) {
                    self.keep_name(word(data, parameter));
                    self.need(word(data, parameter + 4), Depth::Shallow);
                }
            }
            // Other names of a type need as much as the type is asked for.
            8..=11 | 18 => self.need(of, depth),
            FUNCTION => self.need(of, Depth::Whole),
            _ => {}
        }
    }
}

/// The types of a part as they are after the trim.
fn types(both: &Both<'_>, part: &Part<'_>, kernel_names: u32) -> Vec<u8> {
    let name = |at: u32| match at.checked_sub(both.kernel.name_bytes()) {
        Some(own) => kernel_names + both.driver.names[&own],
        None => both.kernel.names[&at],
    };
    let mut types = Vec::new();
    let mut put = |word: u32| types.extend_from_slice(&word.to_le_bytes());
    let ends = part.places.iter().skip(1).copied();
    let last = HEADER + word(part.data, 12) as usize;
    for ((&at, end), &depth) in part.places.iter().zip(ends.chain([last])).zip(&part.needed) {
        let info = word(part.data, at + 4);
        if depth == Depth::Nothing {
            [0, FORWARD << 24, 0].map(&mut put);
            continue;
        }
        put(name(word(part.data, at)));
        if depth == Depth::Shallow {
            put(info & !0xffff);
            put(word(part.data, at + 8));
            continue;
        }
        put(info);
        put(word(part.data, at + 8));
        // Which of the words that follow are names.
        let every = match kind(part.data, at) {
            STRUCT | UNION | ENUM64 => Some(3),
            ENUM | PROTOTYPE => Some(2),
            _ => None,
        };
        for (index, place) in (at + 12..end).step_by(4).enumerate() {
            let value = word(part.data, place);
            let is_name = every.is_some_and(|every| index % every == 0);
            put(if is_name { name(value) } else { value });
        }
    }
    types
}

fn file(types: &[u8], names: &[u8]) -> Vec<u8> {
    let mut data = vec![0x9f, 0xeb, 1, 0];
    let lengths = [HEADER, 0, types.len(), types.len(), names.len()];
    for length in lengths {
        data.extend_from_slice(&(length as u32).to_le_bytes());
    }
    data.extend_from_slice(types);
    data.extend_from_slice(names);
    data
}

/// The names that somebody asks for: the module, and the table of what it has to find.
pub fn asked(table: &str) -> HashSet<&str> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    let tables = lines.filter_map(|line| line.split([' ', '.']).next());
    tables.chain(ROWS.iter().map(|row| row.owner)).collect()
}

/// The kernel's and the driver's type information with what is in these names alone.
pub fn trim(kernel: &[u8], driver: &[u8], asked: &HashSet<&str>) -> (Vec<u8>, Vec<u8>) {
    let mut both = Both {
        kernel: Part::new(kernel),
        driver: Part::new(driver),
    };
    let kernels = both.kernel.places.len() as u32;
    for number in 1..=kernels + both.driver.places.len() as u32 {
        let Some((part, index)) = both.find(number) else {
            continue;
        };
        let (data, at) = (part.data, part.places[index]);
        let kind = kind(data, at);
        let name = both.name(word(data, at));
        let name = std::str::from_utf8(name).unwrap_or("");
        let is_near = number > kernels && NEAR.iter().any(|near| name.starts_with(near));
        let is_kept = asked.contains(name) || is_near;
        if is_kept && matches!(kind, STRUCT | UNION | ENUM | ENUM64 | FUNCTION) {
            both.need(number, Depth::Whole);
        }
    }
    let kernel_names = both.kernel.place_names();
    let driver_names = both.driver.place_names();
    let length = kernel_names.len() as u32;
    let kernel = file(&types(&both, &both.kernel, length), &kernel_names);
    let driver = file(&types(&both, &both.driver, length), &driver_names);
    (kernel, driver)
}
