// SPDX-License-Identifier: GPL-2.0-only

//! Where in a driver's type information something is said, so that tests can change it.
//! It takes the data for good, and is no part of what is tested.

use crate::bytes::{count, kind, places, word};

/// Where a member of a structure is said to be: its name, type and place, four bytes each.
#[derive(Clone, Copy)]
pub struct Member(pub usize);

/// A driver's type information, which goes on from a kernel's.
pub struct Types<'a> {
    base: &'a [u8],
    own: &'a [u8],
    base_types: u32,
    /// Where each of the driver's own types is.
    places: Vec<usize>,
}

const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const FUNCTION: u32 = 12;

/// A copy with a word changed.
pub fn with(data: &mut [u8], at: usize, change: impl Fn(u32) -> u32) {
    let changed = change(word(data, at));
    data[at..at + 4].copy_from_slice(&changed.to_le_bytes());
}

impl<'a> Types<'a> {
    pub fn new(base: &'a [u8], own: &'a [u8]) -> Self {
        Self {
            base,
            own,
            base_types: places(base).len() as u32,
            places: places(own),
        }
    }

    fn name(&self, at: u32) -> &str {
        let base_length = word(self.base, 20);
        let (data, at) = match at.checked_sub(base_length) {
            Some(own) => (self.own, own),
            None => (self.base, at),
        };
        let begin = (word(data, 4) + word(data, 16) + at) as usize;
        let length = data[begin..].iter().position(|&byte| byte == 0).unwrap();
        std::str::from_utf8(&data[begin..begin + length]).unwrap()
    }

    fn kind(&self, at: usize) -> u32 {
        kind(self.own, at)
    }

    fn count(&self, at: usize) -> usize {
        count(self.own, at)
    }

    fn named(&self, kinds: &[u32], name: &str) -> Vec<usize> {
        let is_it =
            |&at: &usize| kinds.contains(&self.kind(at)) && self.name(word(self.own, at)) == name;
        self.places.iter().copied().filter(is_it).collect()
    }

    /// Where each structure of a name is.
    pub fn structures(&self, name: &str) -> Vec<usize> {
        self.named(&[STRUCT, UNION], name)
    }

    /// Where each function of a name is.
    pub fn functions(&self, name: &str) -> Vec<usize> {
        self.named(&[FUNCTION], name)
    }

    /// The number of the type at a place.
    pub fn number(&self, at: usize) -> u32 {
        let index = self.places.iter().position(|&place| place == at).unwrap();
        self.base_types + 1 + index as u32
    }

    /// Where each enumeration of a name has a value: its name and the value.
    pub fn values(&self, owner: &str, name: &str) -> Vec<usize> {
        let of = |at: usize| (0..self.count(at)).map(move |index| at + 12 + 8 * index);
        let all = self.named(&[ENUM], owner).into_iter().flat_map(of);
        all.filter(|&at| self.name(word(self.own, at)) == name)
            .collect()
    }

    /// The structure behind other names of a type, if it is one of the driver's own.
    fn structure(&self, mut number: u32) -> Option<usize> {
        loop {
            let index = number.checked_sub(self.base_types + 1)?;
            let at = *self.places.get(index as usize)?;
            match self.kind(at) {
                STRUCT | UNION => return Some(at),
                8..=11 | 18 => number = word(self.own, at + 8),
                _ => return None,
            }
        }
    }

    fn member(&self, at: usize, name: &str) -> Option<Member> {
        (0..self.count(at)).find_map(|index| {
            let member = at + 12 + 12 * index;
            let its = self.name(word(self.own, member));
            if its == name {
                return Some(Member(member));
            }
            let inner = its.is_empty().then(|| word(self.own, member + 4));
            self.member(self.structure(inner?)?, name)
        })
    }

    /// Where each structure of a name says where the last member of a path is.
    pub fn members(&self, owner: &str, path: &str) -> Vec<Member> {
        let of = |at: usize| {
            let mut at = Some(at);
            let mut found = None;
            for name in path.split('.') {
                found = self.member(at?, name);
                at = self.structure(word(self.own, found?.0 + 4));
            }
            found
        };
        self.structures(owner).into_iter().filter_map(of).collect()
    }
}
