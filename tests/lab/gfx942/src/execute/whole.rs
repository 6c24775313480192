// SPDX-License-Identifier: GPL-2.0-only
//! The shortest way through the commonest vector instructions: those on whole registers,
//! with signs at most. All lanes are worked on in one loop, for which the compiler uses the
//! host's vector unit. Results are what `vector` calculates lane by lane; whatever is not
//! plain is left to it.

use super::lane::{shifted_sum, Modes};
use super::source::Source;
use crate::code::{Operand, Operation};
use crate::float::{Format, Rounding, DOUBLE, SINGLE};
use crate::wave::{Wave, LANES};

type Lanes = [u32; LANES];
type WideLanes = [u64; LANES];

fn one(from: &Lanes, does: impl Fn(u32) -> u32) -> Lanes {
    std::array::from_fn(|lane| does(from[lane]))
}

fn two([first, second, _]: &[Lanes; 3], does: impl Fn(u32, u32) -> u32) -> Lanes {
    std::array::from_fn(|lane| does(first[lane], second[lane]))
}

fn three([first, second, third]: &[Lanes; 3], does: impl Fn(u32, u32, u32) -> u32) -> Lanes {
    std::array::from_fn(|lane| does(first[lane], second[lane], third[lane]))
}

/// What an operation on integers makes of so many sources.
fn integers(operation: Operation, count: usize, of: &[Lanes; 3]) -> Option<Lanes> {
    Some(match (operation, count) {
        (Operation::v_mov_b32, 1) => one(&of[0], |first| first),
        (Operation::v_not_b32, 1) => one(&of[0], |first| !first),
        (Operation::v_add_u32, 2) => two(of, u32::wrapping_add),
        (Operation::v_sub_u32, 2) => two(of, u32::wrapping_sub),
        (Operation::v_and_b32, 2) => two(of, |first, second| first & second),
        (Operation::v_or_b32, 2) => two(of, |first, second| first | second),
        (Operation::v_xor_b32, 2) => two(of, |first, second| first ^ second),
        (Operation::v_lshlrev_b32, 2) => two(of, |by, value| value << (by & 31)),
        (Operation::v_lshrrev_b32, 2) => two(of, |by, value| value >> (by & 31)),
        (Operation::v_ashrrev_i32, 2) => two(of, |by, value| (value as i32 >> (by & 31)) as u32),
        (Operation::v_mul_lo_u32, 2) => two(of, u32::wrapping_mul),
        (Operation::v_add3_u32, 3) => three(of, |a, b, c| a.wrapping_add(b).wrapping_add(c)),
        (Operation::v_lshl_add_u32, 3) => three(of, |a, b, c| (a << (b & 31)).wrapping_add(c)),
        (Operation::v_lshl_or_b32, 3) => three(of, |a, b, c| (a << (b & 31)) | c),
        (Operation::v_and_or_b32, 3) => three(of, |a, b, c| a & b | c),
        (Operation::v_or3_b32, 3) => three(of, |a, b, c| a | b | c),
        _ => return None,
    })
}

/// What an operation on singles makes of so many sources, as the host rounds: to the
/// nearest, with subnormal numbers.
fn singles(operation: Operation, count: usize, of: &[Lanes; 3]) -> Option<Lanes> {
    let single = f32::from_bits;
    let sums = match (operation, count) {
        (Operation::v_add_f32, 2) => two(of, |a, b| (single(a) + single(b)).to_bits()),
        (Operation::v_sub_f32, 2) => two(of, |a, b| (single(a) - single(b)).to_bits()),
        (Operation::v_mul_f32, 2) => two(of, |a, b| (single(a) * single(b)).to_bits()),
        (Operation::v_fma_f32 | Operation::v_fmac_f32, 3) => three(of, |a, b, c| {
            single(a).mul_add(single(b), single(c)).to_bits()
        }),
        _ => return None,
    };
    // Hosts do not agree about what is no number.
    let is_number = |bits: &u32| !single(*bits).is_nan();
    sums.iter().all(is_number).then_some(sums)
}

/// The same on integers of 64 bits.
fn wide_integers(operation: Operation, count: usize, of: &[WideLanes; 3]) -> Option<WideLanes> {
    let [first, second, third] = of;
    let two = |does: fn(u64, u64) -> u64| -> WideLanes {
        std::array::from_fn(|lane| does(first[lane], second[lane]))
    };
    Some(match (operation, count) {
        (Operation::v_lshlrev_b64, 2) => two(|by, value| value << (by & 63)),
        (Operation::v_lshrrev_b64, 2) => two(|by, value| value >> (by & 63)),
        (Operation::v_lshl_add_u64, 3) => {
            std::array::from_fn(|lane| shifted_sum(first[lane], second[lane], third[lane]))
        }
        _ => return None,
    })
}

/// The same on doubles.
fn doubles(operation: Operation, count: usize, of: &[WideLanes; 3]) -> Option<WideLanes> {
    let double = f64::from_bits;
    let [first, second, third] = of;
    let sums: WideLanes = match (operation, count) {
        (Operation::v_add_f64, 2) => {
            std::array::from_fn(|lane| (double(first[lane]) + double(second[lane])).to_bits())
        }
        (Operation::v_mul_f64, 2) => {
            std::array::from_fn(|lane| (double(first[lane]) * double(second[lane])).to_bits())
        }
        (Operation::v_fma_f64 | Operation::v_fmac_f64, 3) => std::array::from_fn(|lane| {
            let (left, right) = (double(first[lane]), double(second[lane]));
            left.mul_add(right, double(third[lane])).to_bits()
        }),
        _ => return None,
    };
    let is_number = |bits: &u64| !double(*bits).is_nan();
    sums.iter().all(is_number).then_some(sums)
}

fn are_as_the_hosts(modes: &Modes, format: Format) -> bool {
    modes.rounding(format) == Rounding::Even && modes.keeps_subnormals(format)
}

/// Executes an instruction with a result of 64 bits.
fn execute_wide(
    wave: &mut Wave,
    operation: Operation,
    sources: &[Option<Source>; 3],
    to: u8,
) -> Option<()> {
    let is_known = matches!(
        operation,
        Operation::v_lshlrev_b64
            | Operation::v_lshrrev_b64
            | Operation::v_lshl_add_u64
            | Operation::v_add_f64
            | Operation::v_mul_f64
            | Operation::v_fma_f64
            | Operation::v_fmac_f64
    );
    // There must be a second register for the result.
    let upper = to.checked_add(1).filter(|_| is_known)?;
    let mut of = [[0; LANES]; 3];
    for (lanes, source) in of.iter_mut().zip(sources) {
        if let Some(source) = source {
            *lanes = source.wide_lanes(wave)?;
        }
    }
    let count = sources.iter().flatten().count();
    let results = wide_integers(operation, count, &of).or_else(|| {
        let modes = Modes::of(wave);
        are_as_the_hosts(&modes, DOUBLE).then(|| doubles(operation, count, &of))?
    })?;
    wave.set_lanes(to, &results.map(|result| result as u32));
    wave.set_lanes(upper, &results.map(|result| (result >> 32) as u32));
    Some(())
}

/// Executes an instruction whose sources have no modifiers but signs, if it is one of
/// those that are known here.
pub fn execute(
    wave: &mut Wave,
    operation: Operation,
    sources: &[Option<Source>; 3],
    to: Operand,
) -> Option<()> {
    let to = match to {
        Operand::Vector { first, dwords: 1 } => first,
        Operand::Vector { first, dwords: 2 } => {
            return execute_wide(wave, operation, sources, first);
        }
        _ => return None,
    };
    let mut of = [[0; LANES]; 3];
    for (lanes, source) in of.iter_mut().zip(sources) {
        if let Some(source) = source {
            *lanes = source.lanes(wave)?;
        }
    }
    let count = sources.iter().flatten().count();
    let results = integers(operation, count, &of).or_else(|| {
        let modes = Modes::of(wave);
        are_as_the_hosts(&modes, SINGLE).then(|| singles(operation, count, &of))?
    })?;
    wave.set_lanes(to, &results);
    Some(())
}
