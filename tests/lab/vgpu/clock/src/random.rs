// SPDX-License-Identifier: GPL-2.0-only
//! Numbers that follow from a seed: the usual generator with 64 bits (Knuth's MMIX).

/// The environment's word for the seed. What depends on which processor comes first happens
/// in another way with another one, and in the same way with the same.
const SEED: &str = "GUEST_CLOCK_SEED";

pub fn seed() -> Option<u64> {
    std::env::var(SEED).ok()?.parse().ok()
}

pub struct Random(pub u64);

impl Random {
    /// A number below the limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        // The upper bits are the good ones.
        (self.0 >> 33) % limit
    }
}
