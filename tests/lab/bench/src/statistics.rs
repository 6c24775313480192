// SPDX-License-Identifier: GPL-2.0-only
//! Figures of several runs of the same thing.

/// The median of some runs, and the range they lie in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Spread {
    /// None without runs.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (&low, &high) = (sorted.first()?, sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            (sorted[middle - 1] + sorted[middle]) / 2.0
        };
        Some(Spread { median, low, high })
    }

    pub fn map(self, change: impl Fn(f64) -> f64) -> Spread {
        Spread {
            median: change(self.median),
            low: change(self.low),
            high: change(self.high),
        }
    }

    /// The median, and the range where there is one.
    pub fn text(self, digits: usize) -> String {
        let Spread { median, low, high } = self;
        if low == high {
            return format!("{median:.digits$}");
        }
        format!("{median:.digits$} ({low:.digits$}-{high:.digits$})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_median() {
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn the_middle_one_counts_or_the_mean_of_two() {
        let odd = Spread::of([9.0, 1.0, 4.0]).unwrap();
        assert_eq!((odd.low, odd.median, odd.high), (1.0, 4.0, 9.0));
        assert_eq!(Spread::of([4.0, 2.0]).unwrap().median, 3.0);
        assert_eq!(Spread::of([7.0]).unwrap().median, 7.0);
    }

    #[test]
    fn the_range_is_told_where_there_is_one() {
        assert_eq!(
            Spread::of([1.0, 2.0, 3.5]).unwrap().text(1),
            "2.0 (1.0-3.5)"
        );
        assert_eq!(Spread::of([2.0, 2.0]).unwrap().text(2), "2.00");
    }
}
