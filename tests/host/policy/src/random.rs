// SPDX-License-Identifier: GPL-2.0-only
//! Randomness for the programs that live through lives by themselves.

/// xorshift64*: fast, and the same for the same seed.
pub struct Random(u64);

impl Random {
    /// The randomness of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.max(1))
    }

    /// Any number.
    #[allow(clippy::should_implement_trait)] // It never ends.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `end`; zero where that is none.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end.max(1)
    }

    /// So many bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| (self.next() >> 33) as u8).collect()
    }
}
