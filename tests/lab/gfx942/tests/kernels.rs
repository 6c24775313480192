// SPDX-License-Identifier: GPL-2.0-only
//! Compiled kernels, run as workgroups, against what the host calculates.

use std::sync::LazyLock;

use crate::common::device::launch;
use crate::common::object::Object;

/// Kernels as they are without optimization, and with it.
static OBJECTS: LazyLock<[Object; 2]> = LazyLock::new(|| ["-O0", "-O2"].map(Object::compile));

/// Not a whole number of workgroups, so that the last has lanes without work.
const COUNT: usize = 300;
const GROUPS: u32 = 2;

/// What numbers are in memory.
trait InMemory: Copy + Default {
    fn bytes(self) -> Vec<u8>;
    fn of(bytes: &[u8]) -> Self;
}

macro_rules! in_memory {
    ($($of:ty)*) => {
        $(impl InMemory for $of {
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }

            fn of(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().unwrap())
            }
        })*
    };
}

in_memory! { u8 i16 u16 u32 i32 i64 f32 f64 }

fn bytes<T: InMemory>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(|value| value.bytes()).collect()
}

/// The third buffer after a kernel has run, as each of the compiler's levels has it.
fn results<A: InMemory, B: InMemory, T: InMemory>(
    name: &str,
    groups: u32,
    (a, b): (&[A], &[B]),
    count: usize,
    number: u32,
) -> Vec<Vec<T>> {
    let size = T::default().bytes().len();
    let run = |object: &Object| {
        let buffers = [bytes(a), bytes(b), vec![0; count * size]];
        let [_, _, to] = launch(object, name, groups, buffers, number);
        to.chunks(size).map(T::of).collect()
    };
    OBJECTS.iter().map(run).collect()
}

/// Numbers without an order, the same each time.
fn random(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        // An xorshift generator.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
}

const SINGLES: [f32; 14] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    3.0,
    1e-45,
    -1e-40,
    f32::MIN_POSITIVE,
    f32::MAX,
    f32::MIN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    1e-30,
];

/// All pairs of boundary cases, then random bits.
fn singles() -> (Vec<f32>, Vec<f32>) {
    let boundaries = SINGLES
        .iter()
        .flat_map(|a| SINGLES.iter().map(|b| (*a, *b)));
    let others = random(9).map(|bits| {
        let of = |bits: u64| f32::from_bits(bits as u32);
        (of(bits), of(bits >> 32))
    });
    boundaries.chain(others).take(COUNT).unzip()
}

fn same_single(found: f32, expected: f32) -> bool {
    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan()
}

#[track_caller]
fn all_singles(name: &str, expected: impl Fn(f32, f32) -> f32) {
    let (a, b) = singles();
    for found in results::<_, _, f32>(name, GROUPS, (&a, &b), COUNT, COUNT as u32) {
        for ((a, b), found) in a.iter().zip(&b).zip(found) {
            let expected = expected(*a, *b);
            assert!(
                same_single(found, expected),
                "{name} of {a:e} and {b:e}: {found:e}, not {expected:e}"
            );
        }
    }
}

#[test]
fn singles_are_added() {
    all_singles("add", |a, b| a + b);
}

#[test]
fn quotients_of_singles_are_those_of_ieee() {
    all_singles("divide", |a, b| a / b);
}

#[test]
fn roots_of_singles_are_those_of_ieee() {
    all_singles("root", |a, _| a.sqrt());
}

#[test]
fn quotients_of_doubles_are_those_of_ieee() {
    let some = [
        0.0,
        -0.0,
        1.0,
        -3.0,
        5e-324,
        -1e-310,
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::INFINITY,
        f64::NAN,
        1e-200,
        1e200,
    ];
    let boundaries = some.iter().flat_map(|a| some.iter().map(|b| (*a, *b)));
    let mut others = random(11).map(f64::from_bits);
    let others = std::iter::from_fn(|| Some((others.next()?, others.next()?)));
    let (a, b): (Vec<f64>, Vec<f64>) = boundaries.chain(others).take(COUNT).unzip();
    for found in results::<_, _, f64>("divide_double", GROUPS, (&a, &b), COUNT, COUNT as u32) {
        for ((a, b), found) in a.iter().zip(&b).zip(found) {
            let same = found.to_bits() == (a / b).to_bits() || found.is_nan() && (a / b).is_nan();
            assert!(same, "{a:e} by {b:e}: {found:e}, not {:e}", a / b);
        }
    }
}

#[test]
fn long_integers_are_divided() {
    let (mut a, mut b): (Vec<i64>, Vec<i64>) = (Vec::new(), Vec::new());
    for (at, bits) in random(5).take(2 * COUNT).enumerate() {
        let value = (bits >> (at % 61)) as i64 | 1;
        if at % 2 == 0 { &mut a } else { &mut b }.push(if at % 3 == 0 { -value } else { value });
    }
    for found in results::<_, _, i64>("divide_long", GROUPS, (&a, &b), COUNT, COUNT as u32) {
        for ((a, b), found) in a.iter().zip(&b).zip(found) {
            assert_eq!(
                found,
                a.wrapping_div(*b).wrapping_add(a.wrapping_rem(*b)),
                "{a} {b}"
            );
        }
    }
}

#[test]
fn pairs_of_halves_are_multiplied_and_added() {
    // Small integers, whose halves are these bits; the sums are exact.
    let half = |value: u32| -> u16 {
        match value {
            0 => 0,
            _ => {
                let exponent = value.ilog2();
                (((15 + exponent) << 10) | ((value << (10 - exponent)) & 0x3ff)) as u16
            }
        }
    };
    let values = |seed| random(seed).map(|bits| (bits % 32) as u32).take(2 * COUNT);
    let (a, b): (Vec<u32>, Vec<u32>) = (values(3).collect(), values(4).collect());
    let halves = |of: &[u32]| of.iter().map(|value| half(*value)).collect::<Vec<u16>>();
    let sources = (halves(&a), halves(&b));
    let sources = (sources.0.as_slice(), sources.1.as_slice());
    for found in results::<_, _, u16>("halves", GROUPS, sources, 2 * COUNT, COUNT as u32) {
        for ((a, b), found) in a.iter().zip(&b).zip(found) {
            assert_eq!(found, half(a * b + a), "{a} {b}");
        }
    }
}

#[test]
fn bytes_and_words_are_calculated_with() {
    let a: Vec<u8> = random(7).map(|bits| bits as u8).take(COUNT).collect();
    let b: Vec<i16> = random(8).map(|bits| bits as i16).take(COUNT).collect();
    for found in results::<_, _, u8>("bytes", GROUPS, (&a, &b), COUNT, COUNT as u32) {
        for ((a, b), found) in a.iter().zip(&b).zip(found) {
            assert_eq!(found, (i32::from(*a) * 3 + (i32::from(*b) >> 2)) as u8);
        }
    }
}

#[test]
fn floating_point_becomes_integers() {
    let a: Vec<f32> = random(1)
        .map(|bits| (bits as i32 / 2) as f32 / 1000.0)
        .take(COUNT)
        .collect();
    let b: Vec<f64> = random(2)
        .map(|bits| (bits as i64 / 4) as f64 / 100.0)
        .take(COUNT)
        .collect();
    for found in results::<_, _, i64>("to_integers", GROUPS, (&a, &b), COUNT, COUNT as u32) {
        for ((a, b), found) in a.iter().zip(&b).zip(found) {
            assert_eq!(found, (i64::from(*a as i32) << 32) ^ (*b as i64), "{a} {b}");
        }
    }
}

fn integers(seed: u64) -> Vec<i32> {
    random(seed)
        .map(|bits| (bits as i32).wrapping_abs() / 2)
        .take(COUNT)
        .collect()
}

#[test]
fn a_reduction_adds_up_all_workgroups() {
    let a = integers(21);
    let expected = a.iter().fold(0_i32, |sum, value| sum.wrapping_add(*value));
    for found in results::<_, i32, i32>("reduce", GROUPS, (&a, &[]), 1, COUNT as u32) {
        assert_eq!(found, [expected]);
    }
}

#[test]
fn atomics_leave_what_no_order_changes() {
    let a = integers(22);
    let mut expected = [0; 6];
    for value in &a {
        expected[0] = i32::wrapping_add(expected[0], *value);
        expected[1] = expected[1].max(*value);
        expected[2 + (*value as usize & 3)] ^= value;
    }
    for found in results::<_, i32, i32>("count_all", GROUPS, (&a, &[]), 6, COUNT as u32) {
        assert_eq!(found, expected);
    }
}

#[test]
fn lanes_add_up_what_others_have() {
    let a = integers(23);
    for found in results::<_, i32, i32>("prefix", GROUPS, (&a, &[]), COUNT, COUNT as u32) {
        let mut sum = 0_i32;
        for (at, found) in found.into_iter().enumerate() {
            sum = if at % 64 == 0 {
                a[at]
            } else {
                sum.wrapping_add(a[at])
            };
            assert_eq!(found, sum, "{at}");
        }
    }
}

#[test]
fn values_are_counted() {
    let a = integers(28);
    let mut expected = [0; 64];
    for value in &a {
        expected[*value as usize & 63] += 1;
    }
    for found in results::<_, i32, i32>("histogram", GROUPS, (&a, &[]), 64, COUNT as u32) {
        assert_eq!(found, expected);
    }
}

#[test]
fn a_workgroup_adds_up_to_each_item() {
    let a = integers(29);
    for found in results::<_, i32, i32>("scan", GROUPS, (&a, &[]), COUNT, COUNT as u32) {
        let mut sum = 0_i32;
        for (at, found) in found.into_iter().enumerate() {
            sum = if at % 256 == 0 {
                a[at]
            } else {
                sum.wrapping_add(a[at])
            };
            assert_eq!(found, sum, "{at}");
        }
    }
}

#[test]
fn scratch_is_each_lanes_own() {
    let (a, b) = (integers(24), integers(25));
    for found in results::<_, _, i32>("scratch", GROUPS, (&a, &b), COUNT, COUNT as u32) {
        for (at, found) in found.into_iter().enumerate() {
            let mut own: Vec<i32> = (0..37).map(|of| of * at as i32).collect();
            own[a[at] as usize % 37] += 5;
            own[b[at] as usize % 37] ^= 9;
            let third = a[at].wrapping_add(b[at]);
            let of = |value: i32| own[value as usize % 37];
            assert_eq!(found, of(third) + of(a[at]) + of(b[at]), "{at}");
        }
    }
}

#[test]
fn functions_are_called() {
    let (a, b) = (integers(26), integers(27));
    for found in results::<_, _, i32>("calls", GROUPS, (&a, &b), COUNT, COUNT as u32) {
        for ((a, b), found) in a.iter().zip(&b).zip(found) {
            let other = b.wrapping_add(*a);
            assert_eq!(
                found,
                a.wrapping_mul(7).wrapping_sub(other).wrapping_add(other)
            );
        }
    }
}

/// The product of two matrices of small integers, which is exact in any order.
fn plain(a: &[i32], b: &[i32], (rows, depth, columns): (usize, usize, usize)) -> Vec<f32> {
    let element = |at: usize| {
        let (row, column) = (at / columns, at % columns);
        let sum: i32 = (0..depth)
            .map(|k| a[row * depth + k] * b[k * columns + column])
            .sum();
        sum as f32
    };
    (0..rows * columns).map(element).collect()
}

fn small(seed: u64, count: usize) -> Vec<i32> {
    random(seed)
        .map(|bits| (bits % 16) as i32 - 8)
        .take(count)
        .collect()
}

#[test]
fn matrices_are_multiplied_through_the_local_share() {
    let size = 32;
    let (a, b) = (small(31, size * size), small(32, size * size));
    let floats = |of: &[i32]| of.iter().map(|value| *value as f32).collect::<Vec<f32>>();
    let sources = (floats(&a), floats(&b));
    let sources = (sources.0.as_slice(), sources.1.as_slice());
    for found in results::<_, _, f32>("product", 4, sources, size * size, size as u32) {
        assert_eq!(found, plain(&a, &b, (size, size, size)));
    }
}

/// The bits of a small integer in a format with so many bits of fraction and this bias.
fn narrow(value: i32, fraction: u32, bias: u32) -> u16 {
    let magnitude = value.unsigned_abs();
    let sign = u16::from(value < 0) << 15;
    match magnitude.checked_ilog2() {
        None => sign,
        Some(exponent) => {
            let bits = (bias + exponent) << fraction;
            let rest = (magnitude << (fraction - exponent)) & ((1 << fraction) - 1);
            sign | (bits | rest) as u16
        }
    }
}

#[test]
fn the_matrix_unit_gives_the_plain_product() {
    let depth = 32;
    let (a, b) = (small(33, 16 * depth), small(34, 16 * depth));
    let expected = plain(&a, &b, (16, depth, 16));
    for (name, fraction, bias) in [("product_halves", 10, 15), ("product_brain", 7, 127)] {
        let narrow = |of: &[i32]| -> Vec<u16> {
            of.iter()
                .map(|value| narrow(*value, fraction, bias))
                .collect()
        };
        let sources = (narrow(&a), narrow(&b));
        let sources = (sources.0.as_slice(), sources.1.as_slice());
        for found in results::<_, _, f32>(name, 1, sources, 256, depth as u32) {
            assert_eq!(found, expected, "{name}");
        }
    }
    let floats = |of: &[i32]| of.iter().map(|value| *value as f32).collect::<Vec<f32>>();
    let sources = (floats(&a), floats(&b));
    let sources = (sources.0.as_slice(), sources.1.as_slice());
    for found in results::<_, _, f32>("product_singles", 1, sources, 256, depth as u32) {
        assert_eq!(found, expected);
    }
}
