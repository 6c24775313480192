// SPDX-License-Identifier: GPL-2.0-only
//! Matrix instructions against the plain product: where the elements of factors and
//! results are, as AMD publishes it for each shape.

use crate::common::lanes::random;
use crate::common::{done, named, run, vop1};
use gfx942::wave::{HardwareRegister, Outcome, Wave, LANES};

pub const FIRST: u8 = 2;
pub const SECOND: u8 = 8;
pub const ADDEND: u8 = 64;
pub const RESULT: u8 = 128;

/// Whether factors and result are accumulation registers.
pub fn code(name: &str, accumulates: bool) -> Vec<u32> {
    named(name, |number| {
        let sources = u32::from(ADDEND) + 256;
        vec![
            (0x1a7 << 23)
                | ((number & 0x7f) << 16)
                | (u32::from(accumulates) << 15)
                | u32::from(RESULT),
            (sources << 18) | ((u32::from(SECOND) + 256) << 9) | (u32::from(FIRST) + 256),
        ]
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Single,
    Half,
    Brain,
    Byte,
    /// Of eight bits: four of an exponent, or five.
    Eight(u32),
    Double,
}

/// The bits of a small integer.
fn bits(kind: Kind, value: i32) -> u64 {
    let single = (value as f32).to_bits();
    match kind {
        Kind::Single => single.into(),
        Kind::Brain => u64::from(single >> 16),
        Kind::Byte => u64::from(value as u8),
        Kind::Eight(_) if value == 0 => 0,
        Kind::Eight(exponent) => {
            // The exponents' bias is larger by one than IEEE's would be.
            let bias = 1 << (exponent - 1);
            let of_single = (single & 0x7fff_ffff) - ((127 - bias) << 23);
            u64::from(((single >> 24) & 0x80) | (of_single >> (16 + exponent)))
        }
        Kind::Double => f64::from(value).to_bits(),
        // The exponent has another bias, and the fraction 13 bits less.
        Kind::Half if value == 0 => 0,
        Kind::Half => {
            u64::from(((single >> 16) & 0x8000) | (((single & 0x7fff_ffff) - (112 << 23)) >> 13))
        }
    }
}

const fn width(kind: Kind) -> usize {
    match kind {
        Kind::Byte | Kind::Eight(_) => 8,
        Kind::Half | Kind::Brain => 16,
        Kind::Single => 32,
        Kind::Double => 64,
    }
}

/// Rows (and columns), depth, blocks, how many neighbours in the sum's direction a lane
/// has, and the kind of the factors.
type Shape = (&'static str, usize, usize, usize, usize, Kind);

const SHAPES: [Shape; 32] = [
    ("v_mfma_f32_32x32x1_2b_f32", 32, 1, 2, 1, Kind::Single),
    ("v_mfma_f32_16x16x1_4b_f32", 16, 1, 4, 1, Kind::Single),
    ("v_mfma_f32_4x4x1_16b_f32", 4, 1, 16, 1, Kind::Single),
    ("v_mfma_f32_32x32x2_f32", 32, 2, 1, 1, Kind::Single),
    ("v_mfma_f32_16x16x4_f32", 16, 4, 1, 1, Kind::Single),
    ("v_mfma_f32_32x32x4_xf32", 32, 4, 1, 2, Kind::Single),
    ("v_mfma_f32_16x16x8_xf32", 16, 8, 1, 2, Kind::Single),
    ("v_mfma_f32_32x32x4_2b_f16", 32, 4, 2, 4, Kind::Half),
    ("v_mfma_f32_16x16x4_4b_f16", 16, 4, 4, 4, Kind::Half),
    ("v_mfma_f32_4x4x4_16b_f16", 4, 4, 16, 4, Kind::Half),
    ("v_mfma_f32_32x32x8_f16", 32, 8, 1, 4, Kind::Half),
    ("v_mfma_f32_16x16x16_f16", 16, 16, 1, 4, Kind::Half),
    ("v_mfma_f32_32x32x4_2b_bf16", 32, 4, 2, 4, Kind::Brain),
    ("v_mfma_f32_16x16x4_4b_bf16", 16, 4, 4, 4, Kind::Brain),
    ("v_mfma_f32_4x4x4_16b_bf16", 4, 4, 16, 4, Kind::Brain),
    ("v_mfma_f32_32x32x8_bf16", 32, 8, 1, 4, Kind::Brain),
    ("v_mfma_f32_16x16x16_bf16", 16, 16, 1, 4, Kind::Brain),
    ("v_mfma_i32_32x32x4_2b_i8", 32, 4, 2, 4, Kind::Byte),
    ("v_mfma_i32_16x16x4_4b_i8", 16, 4, 4, 4, Kind::Byte),
    ("v_mfma_i32_4x4x4_16b_i8", 4, 4, 16, 4, Kind::Byte),
    ("v_mfma_i32_32x32x16_i8", 32, 16, 1, 8, Kind::Byte),
    ("v_mfma_i32_16x16x32_i8", 16, 32, 1, 8, Kind::Byte),
    ("v_mfma_f32_32x32x16_fp8_fp8", 32, 16, 1, 8, Kind::Eight(4)),
    ("v_mfma_f32_32x32x16_fp8_bf8", 32, 16, 1, 8, Kind::Eight(4)),
    ("v_mfma_f32_32x32x16_bf8_fp8", 32, 16, 1, 8, Kind::Eight(5)),
    ("v_mfma_f32_32x32x16_bf8_bf8", 32, 16, 1, 8, Kind::Eight(5)),
    ("v_mfma_f32_16x16x32_fp8_fp8", 16, 32, 1, 8, Kind::Eight(4)),
    ("v_mfma_f32_16x16x32_fp8_bf8", 16, 32, 1, 8, Kind::Eight(4)),
    ("v_mfma_f32_16x16x32_bf8_fp8", 16, 32, 1, 8, Kind::Eight(5)),
    ("v_mfma_f32_16x16x32_bf8_bf8", 16, 32, 1, 8, Kind::Eight(5)),
    ("v_mfma_f64_16x16x4_f64", 16, 4, 1, 1, Kind::Double),
    ("v_mfma_f64_4x4x4_4b_f64", 4, 4, 4, 1, Kind::Double),
];

/// The kind of the second factor, which the end of the name says.
fn second_kind(name: &str, first: Kind) -> Kind {
    match name.rsplit('_').next() {
        Some("fp8") => Kind::Eight(4),
        Some("bf8") => Kind::Eight(5),
        _ => first,
    }
}

/// Where the published tables have a result's element: its lane and its register,
/// counted in elements.
fn place(size: usize, kind: Kind, block: usize, row: usize, column: usize) -> (usize, usize) {
    match size {
        // Four rows in a lane; 32 lanes further the next four; then the next registers.
        32 => (
            column + 32 * (row / 4 % 2),
            row % 4 + 4 * (row / 8) + 16 * block,
        ),
        16 if kind == Kind::Double => (column + 16 * (row % 4), row / 4),
        // The blocks lie beside each other.
        4 if kind == Kind::Double => (column + 4 * block + 16 * row, 0),
        16 => (column + 16 * (row / 4), row % 4 + 4 * block),
        // Each four lanes have a block.
        _ => (column + 4 * block, row),
    }
}

/// Puts an element into a register, counted from the first of the operand.
fn put(wave: &mut Wave, first: u8, (lane, at): (usize, usize), value: u64, width: usize) {
    let from = at * width;
    let register = first + (from / 32) as u8;
    if width == 64 {
        wave.set_vector(register, lane, value as u32);
        wave.set_vector(register + 1, lane, (value >> 32) as u32);
    } else {
        let old = wave.vector(register, lane);
        wave.set_vector(register, lane, old | ((value as u32) << (from % 32)));
    }
}

#[test]
fn each_shape_gives_the_plain_product() {
    for (name, size, depth, blocks, own, kind) in SHAPES {
        let mut values = random(size as u64 * 77 + depth as u64).map(|bits| (bits % 15) as i32 - 7);
        let mut wave = Wave::new(0);
        let result_width = width(kind).max(32);
        let sums = if kind == Kind::Byte { None } else { Some(kind) };
        let result_bits = |value: i32| match sums {
            None => u64::from(value as u32),
            Some(Kind::Double) => f64::from(value).to_bits(),
            Some(_) => (value as f32).to_bits().into(),
        };
        let mut expected = Vec::new();
        for block in 0..blocks {
            let mut factor = |count: usize| -> Vec<i32> { values.by_ref().take(count).collect() };
            let (a, b, c) = (
                factor(size * depth),
                factor(size * depth),
                factor(size * size),
            );
            for at in 0..size {
                for k in 0..depth {
                    let lane = match (size, kind) {
                        (4, Kind::Double) => at + 4 * block + 16 * k,
                        _ => at + size * (k / own) + size * (depth / own) * block,
                    };
                    let left = bits(kind, a[at * depth + k]);
                    let right = bits(second_kind(name, kind), b[at * depth + k]);
                    put(&mut wave, FIRST, (lane, k % own), left, width(kind));
                    put(&mut wave, SECOND, (lane, k % own), right, width(kind));
                }
            }
            for row in 0..size {
                for column in 0..size {
                    let place = place(size, kind, block, row, column);
                    let sum: i32 = (0..depth)
                        .map(|k| a[row * depth + k] * b[column * depth + k])
                        .sum();
                    let start = c[row * size + column];
                    put(&mut wave, ADDEND, place, result_bits(start), result_width);
                    expected.push((place, result_bits(start + sum)));
                }
            }
        }
        assert_eq!(expected.len(), size * size * blocks);
        // All lanes take part, whatever EXEC has.
        wave.set_exec(0);
        done(&mut wave, &code(name, false));
        for ((lane, at), value) in expected {
            let register = RESULT + (at * result_width / 32) as u8;
            let upper = match result_width {
                64 => u64::from(wave.vector(register + 1, lane)) << 32,
                _ => 0,
            };
            let found = u64::from(wave.vector(register, lane)) | upper;
            assert_eq!(found, value, "{name} lane {lane} element {at}");
        }
    }
}

/// What an instruction says of broadcasts: their size, the block, and the pattern of lanes.
fn with(code: &[u32], size: u32, block: u32, pattern: u32) -> Vec<u32> {
    vec![
        code[0] | (size << 8) | (block << 11),
        code[1] | (pattern << 29),
    ]
}

/// A wave with small numbers of the kind in all registers of an instruction.
fn full(kind: Kind, seed: u64) -> Wave {
    let mut values = random(seed).map(|value| (value % 15) as i32 - 7);
    let mut wave = Wave::new(0);
    for (first, registers) in [(FIRST, 4), (SECOND, 4), (ADDEND, 32)] {
        let kind = match kind {
            _ if first != ADDEND || kind == Kind::Double => kind,
            Kind::Byte => Kind::Byte,
            _ => Kind::Single,
        };
        let width = width(kind);
        for lane in 0..LANES {
            for at in 0..registers * 32 / width {
                let value = bits(kind, values.next().unwrap());
                put(&mut wave, first, (lane, at), value, width);
            }
        }
    }
    wave
}

/// The same wave whose lanes have what others have of a factor.
fn moved(wave: &Wave, first: u8, from: impl Fn(usize) -> usize) -> Wave {
    let mut moved = wave.clone();
    for register in first..first + 4 {
        for lane in 0..LANES {
            moved.set_vector(register, lane, wave.vector(register, from(lane)));
        }
    }
    moved
}

fn product(mut wave: Wave, code: &[u32]) -> Vec<u32> {
    done(&mut wave, code);
    let results = (RESULT..RESULT + 32).flat_map(|register| wave.lanes(register));
    results.collect()
}

#[test]
fn blocks_of_the_first_factor_are_broadcast() {
    let mut tried = 0;
    for (name, _, _, blocks, _, kind) in SHAPES {
        let plain = code(name, false);
        let wave = full(kind, 7);
        for size in 1..5 {
            for block in 0..1 << size {
                let broadcast = with(&plain, size, block, 0);
                let is_wider = 1 << size > blocks || kind == Kind::Double;
                if is_wider {
                    let outcome = run(&mut wave.clone(), &broadcast);
                    assert!(matches!(outcome, Outcome::Illegal { .. }), "{name}");
                    continue;
                }
                // AMD's list: of each so many blocks all have the one that is chosen.
                let lanes = LANES / blocks;
                let same = moved(&wave, FIRST, |lane| {
                    let group = (lane / lanes) >> size << size;
                    (group + block as usize) * lanes + lane % lanes
                });
                let expected = product(same, &plain);
                assert_eq!(product(wave.clone(), &broadcast), expected, "{name}");
                tried += 1;
            }
        }
        // A block that is not among so many is none.
        let outcome = run(&mut wave.clone(), &with(&plain, 0, 1, 0));
        assert!(matches!(outcome, Outcome::Illegal { .. }), "{name}");
    }
    assert_eq!(tried, 4 * (2 + (2 + 4) + (2 + 4 + 8 + 16)));
}

#[test]
fn lanes_of_the_second_factor_are_turned_and_broadcast() {
    let patterns: [fn(usize) -> usize; 7] = [
        |lane| lane & 31,
        |lane| lane | 32,
        |lane| if lane < 48 { lane + 16 } else { lane - 48 },
        |lane| lane & 15,
        |lane| lane & 15 | 16,
        |lane| lane & 15 | 32,
        |lane| lane & 15 | 48,
    ];
    for (name, _, _, blocks, _, kind) in SHAPES {
        let plain = code(name, false);
        let wave = full(kind, 9);
        for (pattern, from) in (1..).zip(patterns) {
            let turned = with(&plain, 0, 0, pattern);
            let expected = match kind {
                // Of doubles the signs of both factors and of the addend change.
                Kind::Double => {
                    let mut other = wave.clone();
                    for (at, first) in [FIRST, SECOND, ADDEND].into_iter().enumerate() {
                        for register in (first + 1..first + 8).step_by(2) {
                            let sign = ((pattern >> at) & 1) << 31;
                            let lanes = wave.lanes(register).map(|upper| upper ^ sign);
                            for (lane, upper) in lanes.into_iter().enumerate() {
                                other.set_vector(register, lane, upper);
                            }
                        }
                        // The second factor begins where the first ends.
                        if first == FIRST {
                            for register in SECOND..FIRST + 8 {
                                for lane in 0..LANES {
                                    let old = wave.vector(register, lane);
                                    other.set_vector(register, lane, old);
                                }
                            }
                        }
                    }
                    product(other, &plain)
                }
                _ if blocks == 1 && kind != Kind::Single => {
                    let outcome = run(&mut wave.clone(), &turned);
                    assert!(matches!(outcome, Outcome::Illegal { .. }), "{name}");
                    continue;
                }
                _ => product(moved(&wave, SECOND, from), &plain),
            };
            assert_eq!(product(wave.clone(), &turned), expected, "{name} {pattern}");
        }
    }
}

#[test]
fn mode_says_whether_single_factors_can_be_subnormal() {
    let tiny = f32::from_bits(1 << 20);
    let large = 2.0_f32.powi(100);
    for (mode, value) in [(0xf0, tiny * large), (0, 0.0)] {
        let mut wave = Wave::new(0);
        wave.set_hardware(HardwareRegister::Mode, mode);
        for lane in 0..LANES {
            wave.set_vector(FIRST, lane, tiny.to_bits());
            wave.set_vector(SECOND, lane, large.to_bits());
            // The addend is not asked.
            wave.set_vector(ADDEND, lane, tiny.to_bits());
        }
        done(&mut wave, &code("v_mfma_f32_4x4x1_16b_f32", false));
        let found = f32::from_bits(wave.vector(RESULT, 5));
        assert_eq!(found.to_bits(), (value + tiny).to_bits(), "{mode:x}");
    }
}

/// Rows (and columns), depth, and the kind of the factors.
const SPARSE: [(&str, usize, usize, Kind); 14] = [
    ("v_smfmac_f32_16x16x32_f16", 16, 32, Kind::Half),
    ("v_smfmac_f32_32x32x16_f16", 32, 16, Kind::Half),
    ("v_smfmac_f32_16x16x32_bf16", 16, 32, Kind::Brain),
    ("v_smfmac_f32_32x32x16_bf16", 32, 16, Kind::Brain),
    ("v_smfmac_i32_16x16x64_i8", 16, 64, Kind::Byte),
    ("v_smfmac_i32_32x32x32_i8", 32, 32, Kind::Byte),
    ("v_smfmac_f32_16x16x64_bf8_bf8", 16, 64, Kind::Eight(5)),
    ("v_smfmac_f32_16x16x64_bf8_fp8", 16, 64, Kind::Eight(5)),
    ("v_smfmac_f32_16x16x64_fp8_bf8", 16, 64, Kind::Eight(4)),
    ("v_smfmac_f32_16x16x64_fp8_fp8", 16, 64, Kind::Eight(4)),
    ("v_smfmac_f32_32x32x32_bf8_bf8", 32, 32, Kind::Eight(5)),
    ("v_smfmac_f32_32x32x32_bf8_fp8", 32, 32, Kind::Eight(5)),
    ("v_smfmac_f32_32x32x32_fp8_bf8", 32, 32, Kind::Eight(4)),
    ("v_smfmac_f32_32x32x32_fp8_fp8", 32, 32, Kind::Eight(4)),
];

#[test]
fn sparse_factors_give_the_plain_product() {
    for (name, size, depth, kind) in SPARSE {
        // Two of each four elements are not zero, by one of six pairs of places.
        let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
        // Lanes that have the same row follow each other by so many.
        let own = size * depth / LANES;
        let sets = 32 / own;
        for (size_field, set_field) in (0..sets as u32).map(|set| (0, set)).chain([(1, 1)]) {
            let set = if size_field == 0 { set_field } else { 0 };
            let mut wave = Wave::new(0);
            let mut values = random(u64::from(set) + 5).map(|bits| (bits % 15) as i32 - 7);
            let mut choices = random(u64::from(set) + 6);
            let mut first = vec![vec![0; depth]; size];
            let mut second = vec![vec![0; depth]; size];
            for lane in 0..LANES {
                let (line, from) = (lane % size, lane / size * own);
                let mut indices = choices.next().unwrap() as u32;
                for group in 0..own / 4 {
                    let (one, other) = pairs[choices.next().unwrap() as usize % pairs.len()];
                    for (at, place) in [(2 * group, one), (2 * group + 1, other)] {
                        let value = values.next().unwrap();
                        first[line][from + 4 * group + place] = value;
                        put(&mut wave, FIRST, (lane, at), bits(kind, value), width(kind));
                        let shift = 2 * at as u32 + set * own as u32;
                        indices = indices & !(3 << shift) | ((place as u32) << shift);
                    }
                }
                wave.set_vector(ADDEND, lane, indices);
                for at in 0..own {
                    let value = values.next().unwrap();
                    second[line][from + at] = value;
                    let of = bits(second_kind(name, kind), value);
                    put(&mut wave, SECOND, (lane, at), of, width(kind));
                }
            }
            let mut expected = Vec::new();
            for (row, left) in first.iter().enumerate() {
                for (column, right) in second.iter().enumerate() {
                    let (lane, at) = place(size, kind, 0, row, column);
                    let products = left.iter().zip(right);
                    let sum: i32 = products.map(|(a, b)| a * b).sum();
                    let start = values.next().unwrap();
                    let result = |value: i32| match kind {
                        Kind::Byte => value as u32,
                        _ => (value as f32).to_bits(),
                    };
                    wave.set_vector(RESULT + at as u8, lane, result(start));
                    expected.push((lane, at, result(start + sum)));
                }
            }
            wave.set_exec(0);
            done(
                &mut wave,
                &with(&code(name, false), size_field, set_field, 0),
            );
            for (lane, at, value) in expected {
                let found = wave.vector(RESULT + at as u8, lane);
                assert_eq!(found, value, "{name} set {set} lane {lane} element {at}");
            }
        }
    }
}

#[test]
fn results_can_go_to_accumulation_registers_and_from_there() {
    let mut wave = Wave::new(0);
    for lane in 0..LANES {
        wave.set_vector(FIRST, lane, 2.0_f32.to_bits());
        wave.set_vector(SECOND, lane, 3.0_f32.to_bits());
        for at in 0..4 {
            wave.set_accumulator(ADDEND + at, lane, 1.0_f32.to_bits());
        }
    }
    done(&mut wave, &code("v_mfma_f32_16x16x4_f32", true));
    for lane in 0..LANES {
        assert_eq!(wave.accumulator(RESULT + 3, lane), 25.0_f32.to_bits());
        assert_eq!(wave.vector(RESULT + 3, lane), 0);
    }
    wave.set_exec(6);
    let moves = |name: &str, to: u32, source: u32| {
        named(name, |number| {
            vec![
                (0x1a7 << 23) | ((number & 0x7f) << 16) | 0x4000 | to,
                0x1800_0000 | source,
            ]
        })
    };
    done(
        &mut wave,
        &moves("v_accvgpr_read_b32", 7, 256 + u32::from(RESULT)),
    );
    assert_eq!(
        [0, 1, 2].map(|lane| wave.vector(7, lane)),
        [0, 25, 25].map(|of| (of as f32).to_bits())
    );
    done(&mut wave, &moves("v_accvgpr_write_b32", 9, 256 + 7));
    done(&mut wave, &vop1("v_accvgpr_mov_b32", 10, 256 + 9));
    assert_eq!(
        [0, 1, 3].map(|lane| wave.accumulator(10, lane)),
        [0, 25, 0].map(|of| (of as f32).to_bits())
    );
    done(&mut wave, &moves("v_accvgpr_write_b32", 11, 128 + 5));
    assert_eq!(wave.accumulator(11, 1), 5);
    // Two registers change places.
    wave.set_vector(20, 1, 77);
    done(&mut wave, &vop1("v_swap_b32", 7, 256 + 20));
    assert_eq!(
        (wave.vector(7, 1), wave.vector(20, 1)),
        (77, 25.0_f32.to_bits())
    );
}
