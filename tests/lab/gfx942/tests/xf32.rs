// SPDX-License-Identifier: GPL-2.0-only
//! Matrix instructions on xf32, against the product of singles that are cut off.

use crate::common::done;
use crate::matrix::{code, ADDEND, FIRST, RESULT, SECOND};
use gfx942::wave::{Wave, LANES};

#[test]
fn of_xf32_a_fraction_of_ten_bits_counts() {
    let single = |name: &str| name == "v_mfma_f32_16x16x4_f32";
    for name in [
        "v_mfma_f32_32x32x4_xf32",
        "v_mfma_f32_16x16x8_xf32",
        "v_mfma_f32_16x16x4_f32",
    ] {
        let mut wave = Wave::new(0);
        // One step of the sum has a product; the addend keeps all its bits.
        let most = 0x3f80_1fff;
        let addend = f32::from_bits(0x3380_0001);
        for lane in 0..16 {
            wave.set_vector(FIRST, lane, most | (1 << 31));
            wave.set_vector(SECOND, lane, 1.0_f32.to_bits() + (1 << 13));
        }
        for register in ADDEND..ADDEND + 16 {
            for lane in 0..LANES {
                wave.set_vector(register, lane, addend.to_bits());
            }
        }
        done(&mut wave, &code(name, false));
        let first = if single(name) {
            f32::from_bits(most)
        } else {
            1.0
        };
        let expected = (-first).mul_add(f32::from_bits(0x3f80_2000), addend);
        assert_eq!(f32::from_bits(wave.vector(RESULT, 0)), expected, "{name}");
    }
}
