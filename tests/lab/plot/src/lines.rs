// SPDX-License-Identifier: GPL-2.0-only
//! One figure of several series over what a sweep varies. Each line is named in
//! the margin at its right end.

use crate::margin::spread;
use crate::number;
use crate::scale::{legible, round_values, Scale};
use crate::style::Style;
use crate::svg::{text_width, Anchor, Canvas, Frame, Pen, GRID, INK, SIZE, SOFT};

/// One line of a plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    pub title: &'a str,
    /// Lines of small print below the title.
    pub notes: &'a [&'a str],
    /// What varies, with its unit.
    pub x: &'a str,
    /// What was measured, with its unit.
    pub y: &'a str,
    /// Equal ratios of x are equally far apart; zero has a place of its own.
    pub logarithmic: bool,
    /// The frame ends there; a point beyond prints its value above the frame.
    pub ceiling: Option<f64>,
    /// A line to stay below.
    pub goal: Option<f64>,
    /// A value of x worth knowing, and what it is.
    pub mark: Option<(f64, &'a str)>,
    pub decimals: usize,
    pub series: &'a [Series],
}

const WIDTH: f64 = 860.0;
/// Of the frame, without what stands around it.
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 74.0;
/// From the frame to the labels in the margin.
const LEADER: f64 = 16.0;
/// The piece of line in front of a label.
const SAMPLE: f64 = 34.0;
const LINE: f64 = 16.0;

const OF_POINTS_BEYOND: &str =
    "Where an arrow points out of the frame, the values beyond it stand above.";

/// A label in the margin: of a series, or of the goal.
struct Label<'a> {
    /// Where its line meets the frame.
    from: (f64, f64),
    text: &'a str,
    style: Option<Style>,
}

struct Axes {
    frame: Frame,
    x: Scale,
    y: Scale,
    low: f64,
    high: f64,
}

impl Lines<'_> {
    pub fn svg(&self) -> String {
        let beyond = self.beyond();
        let axes = self.axes(&beyond);
        let mut canvas = Canvas::new(WIDTH, axes.frame.bottom + 52.0);
        let mut notes = self.notes.to_vec();
        if !beyond.is_empty() {
            notes.push(OF_POINTS_BEYOND);
        }
        canvas.heading(self.title, &notes);
        self.draw_axes(&mut canvas, &axes);
        for (at, series) in self.series.iter().enumerate() {
            axes.draw(&mut canvas, series, Style::of(at));
        }
        self.draw_beyond(&mut canvas, &axes, &beyond);
        self.draw_labels(&mut canvas, &axes);
        canvas.finish(self.title)
    }

    fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.series
            .iter()
            .flat_map(|series| series.points.iter().copied())
    }

    /// The values of x, each once and in order.
    fn tried(&self) -> Vec<f64> {
        let mut values: Vec<f64> = self.points().map(|point| point.0).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }

    /// The points above the frame: for each x the series and their values.
    fn beyond(&self) -> Vec<(f64, Vec<String>)> {
        let Some(ceiling) = self.ceiling else {
            return Vec::new();
        };
        self.tried()
            .into_iter()
            .map(|x| {
                let labels = self.series.iter().flat_map(|series| {
                    series
                        .points
                        .iter()
                        .filter(move |point| point.0 == x && point.1 > ceiling)
                        .map(|point| {
                            format!("{}: {}", series.name, number::text(point.1, self.decimals))
                        })
                });
                (x, labels.collect())
            })
            .filter(|(_, labels): &(f64, Vec<String>)| !labels.is_empty())
            .collect()
    }

    fn axes(&self, beyond: &[(f64, Vec<String>)]) -> Axes {
        let ceiling = self.ceiling.unwrap_or(f64::INFINITY);
        let (low, high) = self
            .points()
            .map(|point| point.1.min(ceiling))
            .chain(self.goal)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        let margin = ((high - low) * 0.06).max(1e-6);
        let stack = beyond.iter().map(|one| one.1.len()).max().unwrap_or(0);
        let above = LINE * stack as f64 + if self.mark.is_some() { LINE } else { 0.0 };
        let notes = self.notes.len() + usize::from(stack > 0);
        let top = 44.0 + LINE * notes as f64 + above;
        let widest = self
            .series
            .iter()
            .map(|series| text_width(&series.name, SIZE))
            .chain(self.goal.map(|_| text_width("goal 1.05", SIZE)))
            .fold(0.0, f64::max);
        let frame = Frame {
            left: LEFT,
            top,
            right: WIDTH - 14.0 - widest - SAMPLE - LEADER - 6.0,
            bottom: top + HEIGHT,
        };
        let (left, right) = (frame.left + 16.0, frame.right - 16.0);
        let tried = self.tried();
        let x = match self.logarithmic {
            true => Scale::logarithmic(&tried, left, right),
            false => {
                let first = tried.first().copied().unwrap_or(0.0);
                let last = tried.last().copied().unwrap_or(1.0);
                Scale::linear(first, last, left, right)
            }
        };
        let (low, high) = (low - margin, (high + margin).min(ceiling));
        Axes {
            // Below the lowest value is room to show that the axis is broken.
            y: Scale::linear(low, high, frame.bottom - 14.0, frame.top),
            frame,
            x,
            low,
            high,
        }
    }

    fn draw_axes(&self, canvas: &mut Canvas, axes: &Axes) {
        let Frame {
            left,
            top,
            right,
            bottom,
        } = axes.frame;
        let (values, step) = round_values(axes.low, axes.high, 7);
        for value in values {
            let y = axes.y.at(value);
            canvas.line(&[(left, y), (right, y)], Pen::solid(GRID, 1.0));
            let label = number::at_step(value, step);
            canvas.soft(left - 6.0, y + 4.0, &label, Anchor::End);
        }
        let tried = self.tried();
        for &value in &tried {
            let x = axes.x.at(value);
            canvas.line(&[(x, bottom), (x, bottom + 4.0)], Pen::solid(SOFT, 1.0));
        }
        for (value, label) in legible(&tried, &axes.x, SIZE) {
            canvas.soft(axes.x.at(value), bottom + 18.0, &label, Anchor::Middle);
        }
        if let Some((value, why)) = self.mark {
            let x = axes.x.at(value);
            let pen = Pen {
                colour: SOFT,
                width: 1.0,
                dashes: "1 3",
            };
            canvas.line(&[(x, top - 4.0), (x, bottom)], pen);
            let label = format!("{why} {}", number::shortest(value));
            canvas.soft(x, top - 8.0, &label, Anchor::Middle);
        }
        canvas.line(
            &[(left, top), (left, bottom), (right, bottom)],
            Pen::solid(SOFT, 1.0),
        );
        if axes.low > 0.0 {
            canvas.broken(left, bottom - 7.0, 2.0);
        }
        if self.logarithmic && tried.first() == Some(&0.0) {
            canvas.broken(axes.x.gap(), bottom, 5.0);
        }
        let x = match self.logarithmic {
            true => format!("{}; logarithmic axis", self.x),
            false => self.x.to_owned(),
        };
        canvas.soft((left + right) / 2.0, bottom + 40.0, &x, Anchor::Middle);
        canvas.upwards(20.0, (top + bottom) / 2.0, self.y);
    }

    /// The values above the frame, over the place where they leave it.
    fn draw_beyond(&self, canvas: &mut Canvas, axes: &Axes, beyond: &[(f64, Vec<String>)]) {
        let above = if self.mark.is_some() { LINE } else { 0.0 };
        for (x, labels) in beyond {
            let x = axes.x.at(*x);
            for (at, label) in labels.iter().enumerate() {
                let y = axes.frame.top - 8.0 - above - LINE * at as f64;
                let half = text_width(label, SIZE) / 2.0;
                let x = x.min(axes.frame.right - half).max(axes.frame.left + half);
                canvas.text(x, y, label, Anchor::Middle);
            }
            let tip = axes.frame.top;
            canvas.line(
                &[(x - 4.0, tip + 6.0), (x, tip), (x + 4.0, tip + 6.0)],
                Pen::solid(INK, 1.5),
            );
        }
    }

    fn draw_labels(&self, canvas: &mut Canvas, axes: &Axes) {
        let goal = self
            .goal
            .map(|goal| format!("goal {}", number::shortest(goal)));
        let mut labels: Vec<Label<'_>> = Vec::new();
        for (at, series) in self.series.iter().enumerate() {
            if let Some(&(x, y)) = axes.places(series).last() {
                labels.push(Label {
                    from: (x, y),
                    text: &series.name,
                    style: Some(Style::of(at)),
                });
            }
        }
        if let (Some(goal), Some(text)) = (self.goal, &goal) {
            let y = axes.y.at(goal);
            labels.push(Label {
                from: (axes.frame.right, y),
                text,
                style: None,
            });
            let across = [(axes.frame.left, y), (axes.frame.right, y)];
            canvas.line(&across, GOAL);
        }
        labels.sort_by(|one, other| one.from.1.total_cmp(&other.from.1));
        let wanted: Vec<f64> = labels.iter().map(|label| label.from.1).collect();
        let places = spread(&wanted, LINE + 1.0, axes.frame.top, axes.frame.bottom);
        let start = axes.frame.right + LEADER;
        for (label, y) in labels.iter().zip(places) {
            let leader = [label.from, (axes.frame.right, label.from.1), (start, y)];
            canvas.line(&leader, Pen::solid(SOFT, 0.6));
            let pen = match label.style {
                Some(style) => Pen {
                    colour: style.colour,
                    width: 1.8,
                    dashes: style.dashes,
                },
                None => GOAL,
            };
            canvas.line(&[(start, y), (start + SAMPLE, y)], pen);
            if let Some(style) = label.style {
                canvas.marker(start + SAMPLE / 2.0, y, style);
            }
            canvas.text(start + SAMPLE + 6.0, y + 4.0, label.text, Anchor::Start);
        }
    }
}

const GOAL: Pen = Pen {
    colour: INK,
    width: 0.9,
    dashes: "1 2",
};

impl Axes {
    /// Where the points lie; those beyond the frame lie on its upper edge.
    fn places(&self, series: &Series) -> Vec<(f64, f64)> {
        series
            .points
            .iter()
            .map(|&(x, y)| (self.x.at(x), self.y.at(y.min(self.high))))
            .collect()
    }

    fn draw(&self, canvas: &mut Canvas, series: &Series, style: Style) {
        let pen = Pen {
            colour: style.colour,
            width: 1.8,
            dashes: style.dashes,
        };
        let points: Vec<((f64, f64), bool)> = self
            .places(series)
            .into_iter()
            .zip(series.points.iter().map(|point| point.1 > self.high))
            .collect();
        // Between two points beyond the frame is nothing to see.
        for run in points.chunk_by(|one, other| !(one.1 && other.1)) {
            let places: Vec<(f64, f64)> = run.iter().map(|point| point.0).collect();
            canvas.line(&places, pen);
        }
        for &((x, y), beyond) in &points {
            if !beyond {
                canvas.marker(x, y, style);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, values: &[f64]) -> Series {
        let points = values.iter().enumerate();
        Series {
            name: name.into(),
            points: points.map(|(at, y)| (10.0 * at as f64, *y)).collect(),
        }
    }

    fn plot(series: &[Series]) -> Lines<'_> {
        Lines {
            title: "A title",
            notes: &[],
            x: "microseconds",
            y: "times",
            logarithmic: true,
            ceiling: Some(2.0),
            goal: Some(1.05),
            mark: Some((10.0, "default")),
            decimals: 2,
            series,
        }
    }

    #[test]
    fn every_series_is_named_once_beside_the_frame() {
        let series = [
            series("one", &[1.0, 1.2, 1.3]),
            series("two", &[1.1, 1.4, 1.3]),
        ];
        let lines = plot(&series);
        let right = lines.axes(&[]).frame.right;
        let picture = lines.svg();
        for name in ["one", "two", "goal 1.05"] {
            let labels: Vec<&str> = picture
                .lines()
                .filter(|line| line.ends_with(&format!(">{name}</text>")))
                .collect();
            assert_eq!(labels.len(), 1, "{name}");
            let x: f64 = labels[0].split('"').nth(1).unwrap().parse().unwrap();
            assert!(x > right && x + text_width(name, SIZE) <= WIDTH, "{name}");
        }
        assert!(picture.contains(">default 10</text>"));
    }

    #[test]
    fn a_point_that_leaves_the_frame_prints_its_value() {
        let series = [
            series("far", &[1.0, 74.48, 1.3]),
            series("near", &[1.0, 2.0, 1.1]),
        ];
        let lines = plot(&series);
        assert_eq!(lines.beyond(), [(10.0, vec!["far: 74.5".to_string()])]);
        assert!(lines.svg().contains(">far: 74.5</text>"));
    }

    #[test]
    fn zero_is_called_zero_on_a_logarithmic_axis() {
        let series = [series("one", &[1.0, 1.2, 1.3])];
        assert!(plot(&series).svg().contains(">0</text>"));
    }

    #[test]
    fn points_lie_within_the_frame() {
        let series = [series("one", &[0.8, 1.2, 1.9])];
        let axes = plot(&series).axes(&[]);
        for (x, y) in axes.places(&series[0]) {
            assert!(x >= axes.frame.left && x <= axes.frame.right);
            assert!(y >= axes.frame.top && y <= axes.frame.bottom);
        }
    }

    #[test]
    fn a_single_point_is_a_picture() {
        let series = [series("one", &[1.0])];
        let picture = plot(&series).svg();
        assert!(!picture.contains("NaN") && !picture.contains("inf"));
    }
}
