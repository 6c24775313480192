// SPDX-License-Identifier: GPL-2.0-only
//! Numbers as readers of a picture see them.

/// A value with so many decimals, fewer where it is large, and with commas
/// between thousands.
pub fn text(value: f64, decimals: usize) -> String {
    // A value that rounds to 100 is as long as 100.
    let decimals = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => decimals.min(1),
        _ => decimals,
    };
    grouped(&format!("{value:.decimals$}"))
}

/// A value on an axis whose labels are this far apart.
pub fn at_step(value: f64, step: f64) -> String {
    let decimals = (-step.log10() - 1e-9).ceil().max(0.0) as usize;
    grouped(&format!("{value:.decimals$}"))
}

/// A value in as few digits as say it.
pub fn shortest(value: f64) -> String {
    grouped(&format!("{value}"))
}

fn grouped(digits: &str) -> String {
    let end = digits.find('.').unwrap_or(digits.len());
    let (whole, rest) = digits.split_at(end);
    let start = usize::from(whole.starts_with('-'));
    let mut out = whole[..start].to_owned();
    for (at, digit) in whole[start..].char_indices() {
        if at > 0 && (end - start - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_values_need_no_decimals() {
        assert_eq!(text(1.0456, 3), "1.046");
        assert_eq!(text(33.92, 2), "33.9");
        assert_eq!(text(233.2, 2), "233");
        assert_eq!(text(87.0, 0), "87");
        assert_eq!(
            (text(99.94, 1), text(99.96, 1)),
            ("99.9".into(), "100".into())
        );
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(shortest(5000.0), "5,000");
        assert_eq!(shortest(1234567.5), "1,234,567.5");
        assert_eq!(shortest(-1000.0), "-1,000");
        assert_eq!(shortest(100.0), "100");
        assert_eq!(shortest(0.0), "0");
    }

    #[test]
    fn an_axis_has_the_decimals_of_its_step() {
        assert_eq!(at_step(1.2, 0.2), "1.2");
        assert_eq!(at_step(1.0, 0.05), "1.00");
        assert_eq!(at_step(40.0, 20.0), "40");
        assert_eq!(at_step(0.3, 0.1), "0.3");
    }
}
