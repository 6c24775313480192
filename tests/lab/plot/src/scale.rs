// SPDX-License-Identifier: GPL-2.0-only
//! Where a value lies along an axis, and which values the axis names.

use crate::number;

/// The part of a logarithmic axis between zero and the smallest other value.
const ZERO_SHARE: f64 = 0.15;

/// An axis of one quantity between two places in the picture.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    logarithmic: bool,
}

impl Scale {
    /// Equal distances for equal differences.
    pub fn linear(low: f64, high: f64, from: f64, to: f64) -> Scale {
        Scale {
            low,
            high: if high > low { high } else { low + 1.0 },
            from,
            to,
            logarithmic: false,
        }
    }

    /// Equal distances for equal ratios; zero, if it is among the values, lies
    /// before the smallest other one.
    pub fn logarithmic(values: &[f64], from: f64, to: f64) -> Scale {
        let positive = || values.iter().copied().filter(|value| *value > 0.0);
        let low = positive().fold(f64::INFINITY, f64::min).min(1e300).log10();
        let high = positive().fold(low, |high, value| high.max(value.log10()));
        let high = if high > low { high } else { low + 0.1 };
        let zero = values.iter().any(|value| *value <= 0.0);
        Scale {
            low,
            high,
            from: if zero {
                from + ZERO_SHARE * (to - from)
            } else {
                from
            },
            to,
            logarithmic: true,
        }
    }

    pub fn at(&self, value: f64) -> f64 {
        let length = self.to - self.from;
        if self.logarithmic && value <= 0.0 {
            return self.zero();
        }
        let place = match self.logarithmic {
            true => value.log10(),
            false => value,
        };
        self.from + length * (place - self.low) / (self.high - self.low)
    }

    /// Where zero lies on a logarithmic axis that has it.
    fn zero(&self) -> f64 {
        (self.from - ZERO_SHARE * self.to) / (1.0 - ZERO_SHARE)
    }

    /// Between zero and the smallest other value, where a logarithmic axis is broken.
    pub fn gap(&self) -> f64 {
        (self.zero() + self.from) / 2.0
    }
}

/// Round values within a range, and how far they lie apart.
pub fn round_values(low: f64, high: f64, about: usize) -> (Vec<f64>, f64) {
    let rough = ((high - low) / about.max(1) as f64).max(1e-9);
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(10.0 * power);
    let first = (low / step - 1e-6).ceil() as i64;
    let last = (high / step + 1e-6).floor() as i64;
    let values = (first..=last).map(|at| at as f64 * step).collect();
    (values, step)
}

/// Round values within a range whose ends are above zero, for a logarithmic axis.
pub fn round_ratios(low: f64, high: f64) -> Vec<f64> {
    const FEW: [f64; 3] = [1.0, 2.0, 5.0];
    const MANY: [f64; 10] = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0];
    let within = |factors: &[f64]| -> Vec<f64> {
        let powers = low.log10().floor() as i32..=high.log10().floor() as i32;
        powers
            .flat_map(|power| factors.iter().map(move |one| one * 10_f64.powi(power)))
            .filter(|value| (low..=high).contains(value))
            .collect()
    };
    let few = within(&FEW);
    match few.len() < 3 {
        true => within(&MANY),
        false => few,
    }
}

/// Those values whose labels do not run into each other.
pub fn legible(values: &[f64], scale: &Scale, size: f64) -> Vec<(f64, String)> {
    let mut end = f64::NEG_INFINITY;
    let mut kept = Vec::new();
    for &value in values {
        let label = number::shortest(value);
        let half = crate::svg::text_width(&label, size) / 2.0;
        if scale.at(value) - half > end + size / 2.0 {
            end = scale.at(value) + half;
            kept.push((value, label));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_an_axis_are_ends_of_the_frame() {
        let scale = Scale::linear(1.0, 3.0, 100.0, 200.0);
        assert_eq!((scale.at(1.0), scale.at(3.0)), (100.0, 200.0));
        assert_eq!(scale.at(2.0), 150.0);
        // Upwards, as a vertical axis runs.
        assert_eq!(Scale::linear(0.0, 4.0, 200.0, 100.0).at(1.0), 175.0);
    }

    #[test]
    fn equal_ratios_are_equally_far_apart() {
        let scale = Scale::logarithmic(&[1.0, 100.0], 0.0, 100.0);
        assert!((scale.at(10.0) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn zero_has_a_place_of_its_own_before_the_gap() {
        let scale = Scale::logarithmic(&[0.0, 10.0, 1000.0], 100.0, 200.0);
        assert!((scale.at(0.0) - 100.0).abs() < 1e-9);
        assert!((scale.at(10.0) - 115.0).abs() < 1e-9);
        assert!((scale.at(1000.0) - 200.0).abs() < 1e-9);
        assert!((scale.gap() - 107.5).abs() < 1e-9);
    }

    #[test]
    fn a_single_value_has_a_place() {
        assert!(Scale::logarithmic(&[5.0], 0.0, 10.0).at(5.0).is_finite());
        assert!(Scale::logarithmic(&[], 0.0, 10.0).at(5.0).is_finite());
        assert!(Scale::linear(5.0, 5.0, 0.0, 10.0).at(5.0).is_finite());
    }

    #[test]
    fn axes_name_round_values() {
        let (values, step) = round_values(0.97, 2.02, 6);
        assert_eq!(step, 0.2);
        assert_eq!(values.len(), 6);
        assert!((values[0] - 1.0).abs() < 1e-9 && (values[5] - 2.0).abs() < 1e-9);
        assert_eq!(
            round_values(0.0, 100.0, 5).0,
            [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
        );
    }

    #[test]
    fn a_narrow_range_has_more_round_values() {
        assert_eq!(round_ratios(40.0, 600.0), [50.0, 100.0, 200.0, 500.0]);
        assert_eq!(
            round_ratios(93.0, 270.0),
            [100.0, 120.0, 150.0, 200.0, 250.0]
        );
        assert!(round_ratios(f64::INFINITY, f64::NEG_INFINITY).is_empty());
    }

    #[test]
    fn labels_that_would_touch_are_left_out() {
        let scale = Scale::linear(0.0, 100.0, 0.0, 100.0);
        let kept: Vec<f64> = legible(&[0.0, 10.0, 50.0, 100.0], &scale, 12.0)
            .into_iter()
            .map(|one| one.0)
            .collect();
        assert_eq!(kept, [0.0, 50.0, 100.0]);
    }
}
