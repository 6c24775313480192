// SPDX-License-Identifier: GPL-2.0-only
//! One figure of several series over what a sweep varies.

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::coord::Shift;
use plotters::element::ComposedElement;
use plotters::prelude::*;

use crate::{after, draw, font, Drawn, Svg, GRID};

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
    /// Equal ratios of x are equally far apart.
    pub logarithmic: bool,
    /// The frame ends there; a point beyond is on its edge, with its value in a note.
    pub ceiling: f64,
    /// A line to stay below.
    pub goal: Option<f64>,
    pub series: &'a [Series],
}

const SIZE: (u32, u32) = (860, 480);
/// Beside the frame, where the series are named.
const KEY: i32 = 150;

/// Dark enough to be seen on white, also in grey.
const COLOURS: [RGBColor; 7] = [
    BLACK,
    RGBColor(184, 64, 14),
    RGBColor(11, 95, 165),
    RGBColor(0, 112, 79),
    RGBColor(122, 59, 143),
    RGBColor(138, 90, 0),
    RGBColor(163, 23, 79),
];

type Outline = &'static [(i32, i32)];

/// The shape of a series' points, and whether it is full; as many as there are colours.
const SHAPES: [(Outline, bool); 7] = [
    (ROUND, true),
    (SQUARE, false),
    (TRIANGLE, true),
    (DIAMOND, false),
    (ROUND, false),
    (SQUARE, true),
    (TRIANGLE, false),
];
const ROUND: Outline = &[
    (-2, -4),
    (2, -4),
    (4, -2),
    (4, 2),
    (2, 4),
    (-2, 4),
    (-4, 2),
    (-4, -2),
];
const SQUARE: Outline = &[(-4, -4), (4, -4), (4, 4), (-4, 4)];
const TRIANGLE: Outline = &[(0, -6), (5, 4), (-5, 4)];
const DIAMOND: Outline = &[(0, -6), (6, 0), (0, 6), (-6, 0)];

type Marker<'a, C> = ComposedElement<C, Svg<'a>, Polygon<(i32, i32)>, PathElement<(i32, i32)>>;

/// A point of the series at this place.
fn marker<'a, C>(at: C, series: usize) -> Marker<'a, C> {
    let colour = COLOURS[series % COLOURS.len()];
    let (outline, full) = SHAPES[series % SHAPES.len()];
    let closed: Vec<(i32, i32)> = outline.iter().chain(outline.first()).copied().collect();
    EmptyElement::at(at)
        + Polygon::new(outline, if full { colour } else { WHITE })
        + PathElement::new(closed, colour.stroke_width(2))
}

impl Lines<'_> {
    pub fn svg(&self) -> String {
        let points = self.series.iter().flat_map(|series| &series.points);
        let mut tried: Vec<f64> = points.map(|point| point.0).collect();
        tried.sort_by(f64::total_cmp);
        tried.dedup();
        let (first, last) = match tried[..] {
            [first, .., last] => (first, last),
            [only] => (only, only + 1.0),
            [] => (1.0, 2.0),
        };
        let beyond = self.beyond();
        let notes: Vec<&str> = self
            .notes
            .iter()
            .copied()
            .chain(beyond.as_deref())
            .collect();
        draw(SIZE, self.title, &notes, |area| match self.logarithmic {
            true => self.chart(&area, (first..last).log_scale().with_key_points(tried)),
            false => self.chart(&area, first..last),
        })
    }

    /// The points above the frame, in words.
    fn beyond(&self) -> Option<String> {
        let points = self.series.iter().flat_map(|series| {
            let beyond = series.points.iter().filter(|point| point.1 > self.ceiling);
            beyond.map(|(x, y)| format!("{} at {x}: {y:.2}", series.name))
        });
        let points: Vec<String> = points.collect();
        (!points.is_empty()).then(|| format!("Above the frame: {}", points.join(", ")))
    }

    /// What the frame shows of y.
    fn height(&self) -> (f64, f64) {
        let points = self.series.iter().flat_map(|series| &series.points);
        let (low, high) = points
            .map(|point| point.1.min(self.ceiling))
            .chain(self.goal)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        let room = 0.05 * (high - low).max(1e-6);
        (low - room, high + room)
    }

    fn chart<X>(&self, area: &DrawingArea<Svg, Shift>, x: X) -> Drawn
    where
        X: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
    {
        let (low, high) = self.height();
        let (area, key) = area.split_horizontally(SIZE.0 as i32 - KEY);
        let mut chart = ChartBuilder::on(&area)
            .x_label_area_size(44)
            .y_label_area_size(72)
            .margin(8)
            .build_cartesian_2d(x, low..high)?;
        chart
            .configure_mesh()
            .max_light_lines(1)
            .bold_line_style(GRID)
            .label_style(font(15))
            .set_all_tick_mark_size(3)
            .x_desc(self.x)
            .y_desc(self.y)
            .x_label_formatter(&|value| value.to_string())
            .draw()?;
        for (at, series) in self.series.iter().enumerate() {
            let style = COLOURS[at % COLOURS.len()].stroke_width(2);
            chart.draw_series(LineSeries::new(series.points.iter().copied(), style))?;
            chart.draw_series(series.points.iter().map(|point| marker(*point, at)))?;
            let place = (12, 20 + 22 * at as i32);
            key.draw(&marker(place, at))?;
            key.draw(
                &(EmptyElement::at(place) + Text::new(series.name.clone(), (14, 0), after(15))),
            )?;
        }
        if let Some(goal) = self.goal {
            let x = chart.x_range();
            let across = [(x.start, goal), (x.end, goal)];
            chart.draw_series(LineSeries::new(across, BLACK))?;
            let y = 20 + 22 * self.series.len() as i32;
            key.draw(&PathElement::new([(2, y), (22, y)], BLACK))?;
            let text = format!("goal: at most {goal}");
            key.draw(&(EmptyElement::at((26, y)) + Text::new(text, (0, 0), after(15))))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, values: &[f64]) -> Series {
        let points = values.iter().zip(1..);
        Series {
            name: name.into(),
            points: points.map(|(&y, x)| (10.0 * f64::from(x), y)).collect(),
        }
    }

    fn picture(series: &[Series], logarithmic: bool) -> String {
        Lines {
            title: "A title",
            notes: &["a note"],
            x: "microseconds",
            y: "times",
            logarithmic,
            ceiling: 2.0,
            goal: Some(1.05),
            series,
        }
        .svg()
    }

    #[test]
    fn every_series_has_its_name_and_a_marker_at_each_point() {
        let series = [series("one", &[1.0, 1.2, 1.3]), series("two", &[1.1, 1.4])];
        for logarithmic in [false, true] {
            let picture = picture(&series, logarithmic);
            for text in ["one", "two", "microseconds", "times", "goal: at most 1.05"] {
                assert_eq!(
                    picture.lines().filter(|line| *line == text).count(),
                    1,
                    "{text}"
                );
            }
            // One more is in the key.
            let markers = picture.lines().filter(|line| line.starts_with("<polygon"));
            assert_eq!(markers.count(), 4 + 3);
        }
    }

    #[test]
    fn a_point_above_the_frame_is_told_in_words() {
        let series = [series("far", &[1.0, 74.48]), series("near", &[1.0, 2.0])];
        assert!(picture(&series, false).contains("\nAbove the frame: far at 20: 74.48\n"));
    }

    #[test]
    fn a_single_point_is_a_picture() {
        for logarithmic in [false, true] {
            assert!(!picture(&[series("one", &[1.0])], logarithmic).contains("NaN"));
            assert!(picture(&[], logarithmic).ends_with("</svg>\n"));
        }
    }

    #[test]
    fn series_differ_without_their_colour() {
        for (at, one) in SHAPES.iter().enumerate() {
            assert!(!SHAPES[..at].contains(one));
        }
    }
}
