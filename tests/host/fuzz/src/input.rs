// SPDX-License-Identifier: GPL-2.0-only
//! An input, taken apart from its beginning. At its end everything is zero, so
//! that each input means something.

pub struct Input<'i>(&'i [u8]);

impl<'i> Input<'i> {
    pub fn new(bytes: &'i [u8]) -> Input<'i> {
        Input(bytes)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next bytes, as many as there are.
    pub fn bytes(&mut self, count: usize) -> &'i [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let taken = self.bytes(N);
        array[..taken.len()].copy_from_slice(taken);
        array
    }

    pub fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.array())
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// A number below a bound.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::from(self.u16()) % bound
    }

    /// All that is left, as words.
    pub fn words(&mut self) -> Vec<u32> {
        let bytes = self.bytes(usize::MAX);
        bytes
            .chunks(4)
            .map(|chunk| {
                let mut word = [0; 4];
                word[..chunk.len()].copy_from_slice(chunk);
                u32::from_le_bytes(word)
            })
            .collect()
    }
}
