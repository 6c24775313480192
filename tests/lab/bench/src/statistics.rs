// SPDX-License-Identifier: GPL-2.0-only
//! Figures of several runs of the same thing.

use gpu_workload::latency::nearest_rank;

/// A figure of all runs, and the range in which those of each run lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Spread {
    /// The median of some runs. None without runs.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = match sorted.len() {
            0 => return None,
            odd if odd % 2 == 1 => sorted[middle],
            _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
        };
        Spread::around(median, sorted)
    }

    /// A figure that was taken of all runs together, with those of each.
    pub fn around(value: f64, each: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let range = each
            .into_iter()
            .map(|one| (one, one))
            .reduce(|(low, high), (one, _)| (low.min(one), high.max(one)));
        let (low, high) = range?;
        Some(Spread { value, low, high })
    }

    pub fn map(self, change: impl Fn(f64) -> f64) -> Spread {
        Spread {
            value: change(self.value),
            low: change(self.low),
            high: change(self.high),
        }
    }

    /// The figure, and the range where there is one.
    pub fn text(self, digits: usize) -> String {
        let [value, low, high] =
            [self.value, self.low, self.high].map(|one| format!("{one:.digits$}"));
        if low == high {
            return value;
        }
        format!("{value} ({low} to {high})")
    }
}

/// A percentile of times that were measured in several runs: of all together, and of each.
pub fn percentile<T: Copy + Ord>(
    runs: &[Vec<T>],
    permille: usize,
    unit: impl Fn(T) -> f64,
) -> Option<Spread> {
    let of = |mut times: Vec<T>| {
        times.sort_unstable();
        nearest_rank(&times, permille).map(&unit)
    };
    let each: Vec<f64> = runs.iter().filter_map(|run| of(run.clone())).collect();
    Spread::around(of(runs.concat())?, each)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_median() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(percentile::<u64>(&[], 500, |time| time as f64), None);
        assert_eq!(percentile::<u64>(&[vec![]], 500, |time| time as f64), None);
    }

    #[test]
    fn the_middle_one_counts_or_the_mean_of_two() {
        let odd = Spread::of([9.0, 1.0, 4.0]).unwrap();
        assert_eq!((odd.low, odd.value, odd.high), (1.0, 4.0, 9.0));
        assert_eq!(Spread::of([4.0, 2.0]).unwrap().value, 3.0);
        assert_eq!(Spread::of([7.0]).unwrap().value, 7.0);
    }

    #[test]
    fn a_percentile_is_that_of_all_runs_together() {
        let runs = [vec![1, 2, 3], vec![10], vec![]];
        let median = percentile(&runs, 500, |time: i64| time as f64).unwrap();
        assert_eq!((median.low, median.value, median.high), (2.0, 2.0, 10.0));
    }

    #[test]
    fn the_range_is_told_where_there_is_one() {
        assert_eq!(
            Spread::of([1.0, 2.0, 3.5]).unwrap().text(1),
            "2.0 (1.0 to 3.5)"
        );
        assert_eq!(Spread::of([2.0, 2.004]).unwrap().text(2), "2.00");
    }
}
