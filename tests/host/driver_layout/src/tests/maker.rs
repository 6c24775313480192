// SPDX-License-Identifier: GPL-2.0-only

//! Makes small BTF for tests.

/// Kinds by their numbers in the format.
pub const INT: u32 = 1;
pub const POINTER: u32 = 2;
pub const ARRAY: u32 = 3;
pub const STRUCT: u32 = 4;
pub const UNION: u32 = 5;
pub const ENUM: u32 = 6;
pub const FORWARD: u32 = 7;
pub const TYPEDEF: u32 = 8;
pub const CONST: u32 = 10;
pub const FUNCTION: u32 = 12;
pub const PROTOTYPE: u32 = 13;
pub const ENUM64: u32 = 19;

/// The bit that says that member offsets hold bit-field widths too, or that an
/// enumeration is signed.
pub const KIND_FLAG: u32 = 1 << 31;

pub struct Maker {
    types: Vec<u8>,
    strings: Vec<u8>,
    next_id: u32,
    first_string: u32,
}

impl Maker {
    pub fn new() -> Self {
        Self {
            types: Vec::new(),
            strings: vec![0],
            next_id: 1,
            first_string: 0,
        }
    }

    /// What goes on from a kernel without types.
    pub fn driver() -> Self {
        Self::over(&Self::new())
    }

    /// Goes on where `base` ends.
    pub fn over(base: &Maker) -> Self {
        Self {
            next_id: base.next_id,
            first_string: base.first_string + base.strings.len() as u32,
            ..Self::new()
        }
    }

    pub fn next_id(&self) -> u32 {
        self.next_id
    }

    pub fn name(&mut self, name: &str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        let at = self.first_string + self.strings.len() as u32;
        self.strings.extend_from_slice(name.as_bytes());
        self.strings.push(0);
        at
    }

    /// Adds a type of which everything may be wrong.
    pub fn raw(&mut self, name: u32, info: u32, size_or_type: u32, payload: &[u32]) -> u32 {
        for word in [name, info, size_or_type].iter().chain(payload) {
            self.types.extend_from_slice(&word.to_le_bytes());
        }
        self.next_id += 1;
        self.next_id - 1
    }

    pub fn int(&mut self, name: &str, size: u32) -> u32 {
        let name = self.name(name);
        self.raw(name, INT << 24, size, &[size.wrapping_mul(8)])
    }

    pub fn alias(&mut self, kind: u32, name: &str, target: u32) -> u32 {
        let name = self.name(name);
        self.raw(name, kind << 24, target, &[])
    }

    pub fn pointer(&mut self, target: u32) -> u32 {
        self.alias(POINTER, "", target)
    }

    pub fn array(&mut self, element: u32, count: u32) -> u32 {
        self.raw(0, ARRAY << 24, 0, &[element, 0, count])
    }

    /// A structure of members given as name, type and offset in bytes.
    pub fn structure(&mut self, name: &str, size: u32, members: &[(&str, u32, u32)]) -> u32 {
        self.composite(STRUCT, name, size, members)
    }

    pub fn composite(
        &mut self,
        kind: u32,
        name: &str,
        size: u32,
        members: &[(&str, u32, u32)],
    ) -> u32 {
        let name = self.name(name);
        let mut payload = Vec::new();
        for &(member, type_id, offset) in members {
            payload.extend([self.name(member), type_id, offset * 8]);
        }
        self.raw(name, (kind << 24) | members.len() as u32, size, &payload)
    }

    pub fn enumeration(&mut self, name: &str, flag: u32, values: &[(&str, u32)]) -> u32 {
        let name = self.name(name);
        let mut payload = Vec::new();
        for &(enumerator, value) in values {
            payload.extend([self.name(enumerator), value]);
        }
        self.raw(name, flag | (ENUM << 24) | values.len() as u32, 4, &payload)
    }

    pub fn prototype(&mut self, returns: u32, parameters: &[u32]) -> u32 {
        let payload: Vec<u32> = parameters
            .iter()
            .flat_map(|&parameter| [0, parameter])
            .collect();
        self.raw(
            0,
            (PROTOTYPE << 24) | parameters.len() as u32,
            returns,
            &payload,
        )
    }

    pub fn finish(&self) -> Vec<u8> {
        let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
        let mut data = vec![0x9f, 0xeb, 1, 0];
        for word in [24, 0, types, types, strings] {
            data.extend_from_slice(&u32::to_le_bytes(word));
        }
        data.extend_from_slice(&self.types);
        data.extend_from_slice(&self.strings);
        data
    }
}
