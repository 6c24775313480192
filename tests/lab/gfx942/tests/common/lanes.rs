// SPDX-License-Identifier: GPL-2.0-only
//! One instruction on many numbers: each lane has its own.

use gfx942::wave::{HardwareRegister, Wave, LANES};

use super::done;

/// Sources as nine bits name them, each of two registers, and the result's register.
pub const FIRST: u32 = 0x104;
pub const SECOND: u32 = 0x106;
pub const THIRD: u32 = 0x108;
pub const RESULT: u32 = 10;

/// All subnormal numbers, rounding to the nearest, IEEE's rules.
pub const IEEE: u32 = 0x2f0;

/// What every lane gets as its result, after as many waves as are needed.
pub fn results<const N: usize>(code: &[u32], mode: u32, inputs: &[[u64; N]]) -> Vec<u64> {
    let mut found = Vec::new();
    for some in inputs.chunks(LANES) {
        let mut wave = Wave::new(0);
        wave.set_hardware(HardwareRegister::Mode, mode);
        wave.set_exec(u64::MAX >> (LANES - some.len()));
        for (lane, numbers) in some.iter().enumerate() {
            for (register, number) in (4..).step_by(2).zip(numbers) {
                wave.set_vector(register, lane, *number as u32);
                wave.set_vector(register + 1, lane, (number >> 32) as u32);
            }
        }
        done(&mut wave, code);
        found.extend((0..some.len()).map(|lane| {
            let upper = u64::from(wave.vector(RESULT as u8 + 1, lane));
            u64::from(wave.vector(RESULT as u8, lane)) | (upper << 32)
        }));
    }
    found
}

/// Numbers without an order, the same each time.
pub fn random(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        // An xorshift generator.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
}

/// The mask that a comparison puts into the scalar registers 20 and 21, for each lane.
pub fn mask(code: &[u32], inputs: &[[u64; 3]]) -> Vec<bool> {
    let mut wave = Wave::new(0);
    wave.set_hardware(HardwareRegister::Mode, IEEE);
    for (lane, numbers) in inputs.iter().enumerate() {
        for (register, number) in (4..).step_by(2).zip(numbers) {
            wave.set_vector(register, lane, *number as u32);
            wave.set_vector(register + 1, lane, (number >> 32) as u32);
        }
    }
    done(&mut wave, code);
    let mask = wave.scalar_pair(20);
    (0..inputs.len())
        .map(|lane| (mask >> lane) & 1 != 0)
        .collect()
}
