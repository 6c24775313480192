// SPDX-License-Identifier: GPL-2.0-only
//! Each of many measurements as a stroke, in a row for each series, with the
//! figures that sum them up beside the row.

use crate::number;
use crate::scale::{legible, round_ratios, Scale};
use crate::svg::{text_width, Anchor, Canvas, Frame, Pen, GRID, INK, SIZE, SOFT};

/// What is drawn; the axis is logarithmic.
#[derive(Clone, Copy, Debug)]
pub struct Rug<'a> {
    pub title: &'a str,
    /// Lines of small print below the title.
    pub notes: &'a [&'a str],
    /// What was measured, with its unit.
    pub quantity: &'a str,
    pub rows: &'a [Row],
}

/// The measurements of one series, all above zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub name: String,
    pub values: Vec<f64>,
}

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 30.0;
/// Each of the three columns of figures.
const COLUMN: f64 = 62.0;

impl Rug<'_> {
    pub fn svg(&self) -> String {
        let top = 64.0 + 16.0 * self.notes.len() as f64;
        let names = self.rows.iter().map(|row| text_width(&row.name, SIZE));
        let frame = Frame {
            left: 12.0 + names.fold(0.0, f64::max) + 8.0,
            top,
            right: WIDTH - 12.0 - 3.0 * COLUMN,
            bottom: top + HEIGHT * self.rows.len() as f64,
        };
        let mut canvas = Canvas::new(WIDTH, frame.bottom + 52.0);
        canvas.heading(self.title, self.notes);
        let scale = self.axis(&mut canvas, frame);
        for (at, name) in ["count", "median", "longest"].iter().enumerate() {
            canvas.soft(figure(frame, at), top - 8.0, name, Anchor::End);
        }
        for (at, row) in self.rows.iter().enumerate() {
            let middle = frame.top + HEIGHT * (at as f64 + 0.5);
            canvas.text(frame.left - 8.0, middle + 4.0, &row.name, Anchor::End);
            row.draw(&mut canvas, &scale, middle);
            for (at, text) in row.figures().iter().enumerate() {
                canvas.text(figure(frame, at), middle + 4.0, text, Anchor::End);
            }
        }
        canvas.finish(self.title)
    }

    fn axis(&self, canvas: &mut Canvas, frame: Frame) -> Scale {
        let values = || self.rows.iter().flat_map(|row| row.values.iter().copied());
        let low = values().fold(f64::INFINITY, f64::min) / 1.06;
        let high = values().fold(f64::NEG_INFINITY, f64::max) * 1.06;
        let scale = Scale::logarithmic(&[low, high], frame.left, frame.right);
        for (value, label) in legible(&round_ratios(low, high), &scale, SIZE) {
            let x = scale.at(value);
            canvas.line(&[(x, frame.top), (x, frame.bottom)], Pen::solid(GRID, 1.0));
            canvas.soft(x, frame.bottom + 16.0, &label, Anchor::Middle);
        }
        canvas.line(
            &[
                (frame.left, frame.top),
                (frame.left, frame.bottom),
                (frame.right, frame.bottom),
            ],
            Pen::solid(SOFT, 1.0),
        );
        let middle = (frame.left + frame.right) / 2.0;
        let quantity = format!("{}; logarithmic axis", self.quantity);
        canvas.soft(middle, frame.bottom + 38.0, &quantity, Anchor::Middle);
        scale
    }
}

/// Where a column of figures ends.
fn figure(frame: Frame, column: usize) -> f64 {
    frame.right + COLUMN * (column + 1) as f64
}

impl Row {
    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }

    /// The middle value; of an even number, the lower of the two.
    fn median(sorted: &[f64]) -> Option<f64> {
        sorted.get(sorted.len().saturating_sub(1) / 2).copied()
    }

    fn figures(&self) -> [String; 3] {
        let sorted = self.sorted();
        let text = |value: Option<f64>| value.map_or("-".into(), |value| number::text(value, 0));
        [
            number::shortest(sorted.len() as f64),
            text(Row::median(&sorted)),
            text(sorted.last().copied()),
        ]
    }

    fn draw(&self, canvas: &mut Canvas, scale: &Scale, middle: f64) {
        let sorted = self.sorted();
        let mut last = f64::NEG_INFINITY;
        for &value in &sorted {
            let x = scale.at(value);
            // Strokes on the same place look like one.
            if x - last >= 0.5 {
                canvas.line(
                    &[(x, middle - 6.0), (x, middle + 6.0)],
                    Pen::solid(INK, 1.2),
                );
                last = x;
            }
        }
        if let Some(median) = Row::median(&sorted) {
            let x = scale.at(median);
            for (from, to) in [(-14.0, -7.0), (14.0, 7.0)] {
                let wedge = [
                    (x - 4.0, middle + from),
                    (x, middle + to),
                    (x + 4.0, middle + from),
                ];
                canvas.line(&wedge, Pen::solid(INK, 1.5));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rug(rows: &[Row]) -> String {
        Rug {
            title: "A title",
            notes: &["a note"],
            quantity: "microseconds",
            rows,
        }
        .svg()
    }

    #[test]
    fn a_row_has_a_stroke_for_each_value_and_its_figures() {
        let rows = [Row {
            name: "strict".into(),
            values: vec![1200.0, 100.0, 200.0],
        }];
        let picture = rug(&rows);
        assert_eq!(picture.matches("stroke-width=\"1.2\"").count(), 3);
        assert_eq!(rows[0].figures(), ["3", "200", "1,200"]);
        assert!(picture.contains(">strict</text>"));
    }

    #[test]
    fn values_on_one_place_are_one_stroke() {
        let rows = [Row {
            name: "many".into(),
            values: (0..10_000).map(|at| 100.0 + 0.01 * f64::from(at)).collect(),
        }];
        let strokes = rug(&rows).matches("stroke-width=\"1.2\"").count();
        assert!(strokes > 500 && strokes < 1_700, "{strokes}");
    }

    #[test]
    fn a_narrow_range_has_an_axis_too() {
        let rows = [Row {
            name: "near".into(),
            values: vec![110.0, 160.0],
        }];
        let picture = rug(&rows);
        assert!(picture.contains(">120</text>") && picture.contains(">150</text>"));
    }

    #[test]
    fn a_row_may_be_empty() {
        let rows = [Row {
            name: "none".into(),
            values: Vec::new(),
        }];
        assert_eq!(rows[0].figures(), ["0", "-", "-"]);
        assert!(!rug(&rows).contains("NaN"));
    }
}
