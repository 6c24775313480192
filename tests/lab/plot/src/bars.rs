// SPDX-License-Identifier: GPL-2.0-only
//! One figure of several contenders, in a panel for each load. Each bar has its
//! contender's name before it and its value behind it.

use crate::number;
use crate::scale::{round_values, Scale};
use crate::svg::{text_width, Anchor, Canvas, Fill, Frame, Pen, DARK, GRID, INK, PALE, SIZE, SOFT};

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub struct Bars<'a> {
    pub title: &'a str,
    /// Lines of small print below the title.
    pub notes: &'a [&'a str],
    /// The quantity and its unit.
    pub quantity: &'a str,
    pub panels: &'a [Panel],
    /// Bars beyond it are broken off.
    pub ceiling: f64,
    /// A line to reach, or to stay below.
    pub goal: Option<f64>,
    pub decimals: usize,
}

/// All contenders on one load.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    pub name: String,
    pub bars: Vec<Bar>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    pub name: String,
    /// None where it was not measured.
    pub value: Option<f64>,
    /// The picture is about these bars: they are dark.
    pub dark: bool,
}

const WIDTH: f64 = 960.0;
const COLUMNS: usize = 3;
const EDGE: f64 = 12.0;
const ROW: f64 = 17.0;
const BAR: f64 = 11.0;
/// Room for a panel's name, and for its axis with the distance to the next.
const ABOVE: f64 = 22.0;
const BELOW: f64 = 34.0;
/// Room for a value behind the longest bar.
const BEHIND: f64 = 52.0;

impl Bars<'_> {
    pub fn svg(&self) -> String {
        let top = 40.0 + 16.0 * self.notes.len() as f64;
        let columns = COLUMNS.min(self.panels.len()).max(1);
        let tallest = |row: &[Panel]| row.iter().map(|panel| panel.bars.len()).max().unwrap_or(0);
        let heights: Vec<f64> = self
            .panels
            .chunks(columns)
            .map(|row| ABOVE + ROW * tallest(row) as f64 + BELOW)
            .collect();
        let height = top + heights.iter().sum::<f64>() + 22.0;
        let mut canvas = Canvas::new(WIDTH, height);
        canvas.heading(self.title, self.notes);
        let width = (WIDTH - 2.0 * EDGE) / columns as f64;
        let high = self.high();
        let mut y = top;
        for (row, height) in self.panels.chunks(columns).zip(&heights) {
            for (at, panel) in row.iter().enumerate() {
                let left = EDGE + width * at as f64;
                let frame = Frame {
                    left: left + self.name_width(),
                    top: y + ABOVE,
                    right: left + width - BEHIND,
                    bottom: y + height - BELOW,
                };
                canvas.bold(frame.left, frame.top - 7.0, &panel.name, Anchor::Start);
                self.axis(&mut canvas, frame, high);
                for (at, bar) in panel.bars.iter().enumerate() {
                    let middle = frame.top + ROW * (at as f64 + 0.5);
                    self.bar(&mut canvas, frame, high, middle, bar);
                }
            }
            y += height;
        }
        canvas.soft(WIDTH / 2.0, height - 12.0, self.quantity, Anchor::Middle);
        canvas.finish(self.title)
    }

    fn every_bar(&self) -> impl Iterator<Item = &Bar> {
        self.panels.iter().flat_map(|panel| &panel.bars)
    }

    /// Where the axis of every panel ends.
    fn high(&self) -> f64 {
        self.every_bar()
            .filter_map(|bar| bar.value)
            .chain(self.goal)
            .fold(0.0, f64::max)
            .min(self.ceiling)
    }

    fn name_width(&self) -> f64 {
        self.every_bar()
            .map(|bar| text_width(&bar.name, SIZE))
            .fold(0.0, f64::max)
            + 8.0
    }

    fn axis(&self, canvas: &mut Canvas, frame: Frame, high: f64) {
        let scale = Scale::linear(0.0, high, frame.left, frame.right);
        let (values, step) = round_values(0.0, high, 4);
        for value in values {
            let x = scale.at(value);
            canvas.line(&[(x, frame.top), (x, frame.bottom)], Pen::solid(GRID, 1.0));
            let label = number::at_step(value, step);
            canvas.soft(x, frame.bottom + 14.0, &label, Anchor::Middle);
        }
        if let Some(goal) = self.goal {
            let x = scale.at(goal);
            let pen = Pen {
                colour: INK,
                width: 1.2,
                dashes: "5 3",
            };
            canvas.line(&[(x, frame.top - 4.0), (x, frame.bottom + 2.0)], pen);
        }
        canvas.line(
            &[(frame.left, frame.top), (frame.left, frame.bottom)],
            Pen::solid(SOFT, 1.0),
        );
    }

    fn bar(&self, canvas: &mut Canvas, frame: Frame, high: f64, middle: f64, bar: &Bar) {
        let base = middle + 4.0;
        canvas.text(frame.left - 6.0, base, &bar.name, Anchor::End);
        let scale = Scale::linear(0.0, high, frame.left, frame.right);
        let Some(value) = bar.value else {
            let start = self.clear_of_goal(&scale, frame.left, "not run");
            canvas.over_lines(start, base, "not run", false);
            return;
        };
        let end = scale.at(value.min(high));
        let fill = Fill::Plain(if bar.dark { DARK } else { PALE });
        canvas.rectangle(frame.left, middle - BAR / 2.0, end - frame.left, BAR, fill);
        if value > high {
            canvas.broken(end - 14.0, middle, BAR / 2.0 + 2.0);
        }
        let label = number::text(value, self.decimals);
        let start = self.clear_of_goal(&scale, end, &label);
        canvas.over_lines(start, base, &label, value > high);
    }

    /// Where a label behind a bar's end begins, so that the line of the goal does
    /// not run through it.
    fn clear_of_goal(&self, scale: &Scale, end: f64, label: &str) -> f64 {
        let taken = end - 4.0..end + text_width(label, SIZE) + 8.0;
        match self.goal.map(|goal| scale.at(goal)) {
            Some(goal) if taken.contains(&goal) => goal.max(end) + 5.0,
            _ => end + 5.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(name: &str, value: Option<f64>) -> Bar {
        Bar {
            name: name.into(),
            value,
            dark: name == "own",
        }
    }

    fn picture(values: &[Option<f64>]) -> String {
        let panels = [Panel {
            name: "Load A".into(),
            bars: values.iter().map(|value| bar("own", *value)).collect(),
        }];
        Bars {
            title: "A title",
            notes: &["a note"],
            quantity: "percent",
            panels: &panels,
            ceiling: 5.0,
            goal: Some(1.05),
            decimals: 2,
        }
        .svg()
    }

    /// The two strokes of each break, white below and ink above.
    fn breaks(picture: &str) -> usize {
        picture.matches("stroke-width=\"3.5\"").count() / 2
    }

    #[test]
    fn every_bar_has_its_name_and_value() {
        let picture = picture(&[Some(1.25), Some(3.0)]);
        assert_eq!(picture.matches(">own</text>").count(), 2);
        assert!(picture.contains(">1.25</text>") && picture.contains(">3.00</text>"));
        assert_eq!(breaks(&picture), 0);
        assert!(picture.contains(">Load A</text>") && picture.contains(">percent</text>"));
    }

    #[test]
    fn a_bar_that_leaves_the_frame_is_broken_and_says_its_value() {
        let picture = picture(&[Some(33.92), Some(3.0)]);
        assert!(picture.contains(">33.9</text>"));
        assert_eq!(breaks(&picture), 1);
    }

    #[test]
    fn what_was_not_run_has_no_bar() {
        let picture = picture(&[None, Some(2.0)]);
        assert!(picture.contains(">not run</text>"));
        assert_eq!(picture.matches(DARK).count(), 1);
    }

    #[test]
    fn the_goal_runs_through_no_label() {
        let panels = [];
        let bars = Bars {
            title: "t",
            notes: &[],
            quantity: "q",
            panels: &panels,
            ceiling: 100.0,
            goal: Some(50.0),
            decimals: 0,
        };
        let scale = Scale::linear(0.0, 100.0, 0.0, 100.0);
        assert_eq!(bars.clear_of_goal(&scale, 45.0, "45"), 55.0);
        assert_eq!(bars.clear_of_goal(&scale, 52.0, "52"), 57.0);
        assert_eq!(bars.clear_of_goal(&scale, 10.0, "10"), 15.0);
        assert_eq!(bars.clear_of_goal(&scale, 80.0, "80"), 85.0);
    }

    #[test]
    fn nothing_to_compare_is_still_a_picture() {
        assert!(picture(&[]).ends_with("</svg>\n"));
        let none = Bars {
            title: "t",
            notes: &[],
            quantity: "q",
            panels: &[],
            ceiling: 1.0,
            goal: None,
            decimals: 0,
        };
        assert!(none.svg().ends_with("</svg>\n"));
    }
}
