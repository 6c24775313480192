// SPDX-License-Identifier: GPL-2.0-only
//! How series are told apart: by marker and dashes first, by colour besides.

/// The shape at each point of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    Disc,
    Box,
    Up,
    Diamond,
    Cross,
    Ring,
    FullBox,
    Down,
}

/// The look of one series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    pub colour: &'static str,
    /// Lengths of dashes and gaps; empty for a solid line.
    pub dashes: &'static str,
    pub marker: Marker,
}

/// Dark enough to be seen on white, also in grey.
const COLOURS: [&str; 8] = [
    "#000000", "#b8400e", "#0b5fa5", "#00704f", "#7a3b8f", "#8a5a00", "#a3174f", "#555555",
];
const DASHES: [&str; 7] = ["", "9 4", "2 3", "9 3 2 3", "5 3", "14 4", "9 3 2 3 2 3"];
const MARKERS: [Marker; 8] = [
    Marker::Disc,
    Marker::Box,
    Marker::Up,
    Marker::Diamond,
    Marker::Cross,
    Marker::Ring,
    Marker::FullBox,
    Marker::Down,
];

impl Style {
    /// The look of the series at this place; 56 places differ in more than colour.
    pub fn of(index: usize) -> Style {
        Style {
            colour: COLOURS[index % COLOURS.len()],
            dashes: DASHES[index % DASHES.len()],
            marker: MARKERS[index % MARKERS.len()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contrast with white, as WCAG defines it.
    fn contrast(colour: &str) -> f64 {
        let part = |from: usize| {
            let value = u8::from_str_radix(&colour[from..from + 2], 16).unwrap();
            let share = f64::from(value) / 255.0;
            match share <= 0.04045 {
                true => share / 12.92,
                false => ((share + 0.055) / 1.055).powf(2.4),
            }
        };
        1.05 / (0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5) + 0.05)
    }

    #[test]
    fn every_colour_stands_out_from_white() {
        for colour in COLOURS {
            assert!(contrast(colour) > 4.5, "{colour}: {:.1}", contrast(colour));
        }
    }

    #[test]
    fn series_differ_without_their_colour() {
        let styles: Vec<Style> = (0..56).map(Style::of).collect();
        for (at, one) in styles.iter().enumerate() {
            for other in &styles[..at] {
                assert!((one.dashes, one.marker) != (other.dashes, other.marker));
            }
        }
        // Up to seven series, each line and each marker alone tells which it is.
        for (at, one) in styles[..7].iter().enumerate() {
            for other in &styles[..at] {
                assert!(one.dashes != other.dashes && one.marker != other.marker);
            }
        }
    }
}
