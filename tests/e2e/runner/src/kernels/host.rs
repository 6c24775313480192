// SPDX-License-Identifier: GPL-2.0-only
//! What each kernel calculates, calculated by the host. Floating point is of small
//! whole numbers, so that no order of sums matters.

use super::Data;

/// Numbers without an order, the same for the same seed.
fn random(seed: u64) -> impl Iterator<Item = u32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        // An xorshift generator.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as u32
    })
}

fn numbers(seed: u64, count: usize) -> Vec<u32> {
    random(seed).take(count).collect()
}

/// Whole numbers from -8 to 7.
fn small(seed: u64, count: usize) -> Vec<i32> {
    let all = random(seed).map(|bits| (bits % 16) as i32 - 8);
    all.take(count).collect()
}

fn singles(of: &[i32]) -> Vec<u32> {
    of.iter().map(|value| (*value as f32).to_bits()).collect()
}

/// The half of a small whole number.
fn half(value: i32) -> u32 {
    let sign = u32::from(value < 0) << 15;
    let magnitude = value.unsigned_abs();
    match magnitude.checked_ilog2() {
        None => sign,
        Some(exponent) => {
            let fraction = (magnitude << (10 - exponent)) & 0x3ff;
            sign | ((15 + exponent) << 10) | fraction
        }
    }
}

fn halves_of(of: &[i32]) -> Vec<u32> {
    let pairs = of.chunks(2);
    pairs
        .map(|pair| half(pair[0]) | (half(pair[1]) << 16))
        .collect()
}

fn multiplied(a: &[i32], b: &[i32], (rows, depth, columns): (usize, usize, usize)) -> Vec<u32> {
    let element = |at: usize| {
        let (row, column) = (at / columns, at % columns);
        let products = (0..depth).map(|k| a[row * depth + k] * b[k * columns + column]);
        (products.sum::<i32>() as f32).to_bits()
    };
    (0..rows * columns).map(element).collect()
}

/// What `large` of kernels.s leaves for each item.
pub fn large(groups: u32) -> Vec<u32> {
    const BYTES: u32 = 160 << 10;
    const ITEMS: u32 = 64;
    const FACTOR: u32 = 0x9e37_79b1;
    let of_item = |group: u32, item: u32| {
        let places = (item * 4..BYTES).step_by(4 * ITEMS as usize);
        places.fold(0u32, |sum, place| {
            let value = place.wrapping_mul(FACTOR).wrapping_add(group);
            sum.wrapping_mul(31).wrapping_add(value)
        })
    };
    let items = (0..groups).flat_map(|group| (0..ITEMS).map(move |item| (group, item)));
    items.map(|(group, item)| of_item(group, item)).collect()
}

/// What `state` of kernels.s leaves for each item.
pub fn state(groups: u32) -> Vec<u32> {
    const EXEC: [u32; 2] = [0x0f0f_1234, 0x7654_f0f0];
    const MODE: u32 = 0xa5;
    let of_item = |group: u32, item: u32| {
        let scalar = |at: u32| group.wrapping_add(0x1000 + at);
        let mut sum = scalar(22);
        let mut add = |value: u32| sum = sum.wrapping_mul(31).wrapping_add(value);
        // VCC, M0 and the address of scratch.
        [23, 20, 24, 25].map(|at| add(scalar(at)));
        // The first says that the condition was kept.
        add(0x11);
        (7..102).for_each(|at| add(scalar(at)));
        add(MODE);
        EXEC.map(&mut add);
        let mut sums = sum;
        let mut add = |value: u32| sums = sums.wrapping_mul(31).wrapping_add(value);
        let vector = |at: u32| item.wrapping_add(0x2000 + at);
        let lane = item % 64;
        let active = (EXEC[(lane / 32) as usize] >> (lane % 32)) & 1 != 0;
        let more = if active { vector(27) } else { 0 };
        add(item);
        (2..26).for_each(|at| add(vector(at)));
        add(vector(26).wrapping_add(more));
        add(vector(27));
        add(vector(28).wrapping_add(more));
        // From local memory, and the addresses there.
        add(0x2009 + (item ^ 64));
        add(item * 4);
        add((item * 4) ^ 0x100);
        (8..24).for_each(|at| add(vector(at)));
        add(vector(9));
        sums
    };
    (0..groups)
        .flat_map(|group| (0..128).map(move |item| of_item(group, item)))
        .collect()
}

pub fn add(count: u32, seed: u64) -> Data {
    let (a, b) = (small(seed, count as usize), small(seed + 1, count as usize));
    let sums: Vec<i32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    Data {
        buffers: [singles(&a), singles(&b), vec![0; count as usize]],
        results: singles(&sums),
        number: count,
    }
}

/// A kernel of the numbers in one buffer.
fn of_numbers(a: Vec<u32>, results: Vec<u32>) -> Data {
    Data {
        number: a.len() as u32,
        buffers: [a, vec![0], vec![0; results.len()]],
        results,
    }
}

pub fn reduce(count: u32, seed: u64) -> Data {
    let a = numbers(seed, count as usize);
    let sum = a.iter().fold(0, |sum: u32, value| sum.wrapping_add(*value));
    of_numbers(a, vec![sum])
}

/// For four workgroups, each of whose items counts several numbers.
pub fn histogram(seed: u64) -> Data {
    let a = numbers(seed, 3500);
    let mut bins = vec![0; 64];
    for value in &a {
        bins[*value as usize % 64] += 1;
    }
    of_numbers(a, bins)
}

pub fn scan(count: u32, seed: u64) -> Data {
    let a = numbers(seed, count as usize);
    let mut sums = Vec::with_capacity(a.len());
    for group in a.chunks(256) {
        let mut sum = 0_u32;
        sums.extend(group.iter().map(|value| {
            sum = sum.wrapping_add(*value);
            sum
        }));
    }
    of_numbers(a, sums)
}

/// As many tiles of 16 by 16 as there are workgroups, or what is there of a square.
pub fn product(groups: u32, seed: u64) -> Data {
    let size = 16 * groups.isqrt() as usize;
    let (a, b) = (small(seed, size * size), small(seed + 1, size * size));
    Data {
        buffers: [singles(&a), singles(&b), vec![0; size * size]],
        results: multiplied(&a, &b, (size, size, size)),
        number: size as u32,
    }
}

pub fn halves(seed: u64) -> Data {
    let depth = 64;
    let (a, b) = (small(seed, 16 * depth), small(seed + 1, 16 * depth));
    Data {
        buffers: [halves_of(&a), halves_of(&b), vec![0; 256]],
        results: multiplied(&a, &b, (16, depth, 16)),
        number: depth as u32,
    }
}

/// What is chosen by numbers that nobody knows before, from an array of each item's own.
pub fn scratch(count: u32, seed: u64) -> Data {
    let small = |seed| numbers(seed, count as usize).into_iter().map(|of| of >> 3);
    let (a, b): (Vec<u32>, Vec<u32>) = (small(seed).collect(), small(seed + 1).collect());
    let of_item = |at: usize| {
        let mut own: Vec<u32> = (0..37).map(|of| of * at as u32).collect();
        own[a[at] as usize % 37] += 5;
        own[b[at] as usize % 37] ^= 9;
        let of = |value: u32| own[value as usize % 37];
        of(a[at] + b[at]) + of(a[at]) + of(b[at])
    };
    let results = (0..count as usize).map(of_item).collect();
    Data {
        buffers: [a, b, vec![0; count as usize]],
        results,
        number: count,
    }
}
