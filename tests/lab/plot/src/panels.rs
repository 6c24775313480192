// SPDX-License-Identifier: GPL-2.0-only
//! One quantity of several contenders, in a panel for each load.

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::{after, draw, font, Drawn, Svg, GRID, SOFT};

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub struct Panels<'a> {
    pub title: &'a str,
    /// Lines of small print below the title.
    pub notes: &'a [&'a str],
    /// The quantity and its unit.
    pub quantity: &'a str,
    pub panels: &'a [Panel],
    pub axis: Axis<'a>,
    /// A line to reach, or to stay below.
    pub goal: Option<f64>,
}

/// What every panel shows of the quantity; a bar beyond it ends at the frame.
#[derive(Clone, Copy, Debug)]
pub enum Axis<'a> {
    /// From zero, in equal steps.
    UpTo(f64),
    /// In equal ratios, with these ticks from end to end.
    Ratios(&'a [f64]),
}

/// All contenders on one load.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    pub name: String,
    pub rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub name: String,
    pub mark: Mark,
    /// In digits, beside the row.
    pub figures: String,
    /// The picture is about these rows: they are dark.
    pub dark: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mark {
    Bar(f64),
    /// The least of many values, their median, their p99 and the greatest.
    Spread([f64; 4]),
}

const COLUMNS: usize = 3;
const WIDTH: u32 = 1020;
const ROW: u32 = 18;
/// Around the rows: a panel's name, its axis and the distance to the next.
const AROUND: u32 = 62;
/// The quantity, once for all panels.
const FOOT: u32 = 24;
const DARK: RGBColor = RGBColor(31, 58, 87);
const PALE: RGBColor = RGBColor(185, 196, 207);

impl Panels<'_> {
    pub fn svg(&self) -> String {
        let lines = self.panels.len().div_ceil(COLUMNS).max(1);
        let one = AROUND + ROW * self.rows() as u32;
        let height = 44 + 20 * self.notes.len() as u32 + one * lines as u32 + FOOT;
        draw((WIDTH, height), self.title, self.notes, |area| {
            let (_, tall) = area.dim_in_pixel();
            let (area, foot) = area.split_vertically(tall as i32 - FOOT as i32);
            foot.titled(self.quantity, font(16).color(&SOFT))?;
            let cells = area.split_evenly((lines, COLUMNS));
            for (panel, cell) in self.panels.iter().zip(cells) {
                match self.axis {
                    Axis::UpTo(high) => self.panel(&cell, panel, 0.0..high)?,
                    Axis::Ratios(ticks) => {
                        let ends = ticks[0]..ticks[ticks.len() - 1];
                        let axis = ends.log_scale().with_key_points(ticks.to_vec());
                        self.panel(&cell, panel, axis)?;
                    }
                }
            }
            Ok(())
        })
    }

    /// As many as every panel has room for.
    fn rows(&self) -> usize {
        let rows = self.panels.iter().map(|panel| panel.rows.len());
        rows.max().unwrap_or(0)
    }

    fn panel<X>(&self, cell: &DrawingArea<Svg, Shift>, panel: &Panel, x: X) -> Drawn
    where
        X: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
    {
        let rows = self.rows();
        let mut chart = ChartBuilder::on(cell)
            .caption(&panel.name, font(18))
            .x_label_area_size(24)
            .y_label_area_size(98)
            .margin_right(76)
            .build_cartesian_2d(x, (0..rows.saturating_sub(1)).into_segmented())?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .x_labels(6)
            .x_max_light_lines(1)
            .bold_line_style(GRID)
            .label_style(font(15))
            .set_all_tick_mark_size(3)
            .x_label_formatter(&|value| value.to_string())
            .y_labels(rows)
            .y_label_formatter(&|place| {
                let row = match place {
                    // The first is on top.
                    SegmentValue::CenterOf(at) => rows.checked_sub(at + 1),
                    _ => None,
                };
                let row = row.and_then(|row| panel.rows.get(row));
                row.map_or(String::new(), |row| row.name.clone())
            })
            .draw()?;
        let shown = chart.x_range();
        for (row, at) in panel.rows.iter().zip((0..rows).rev()) {
            let middle = |x: f64| (x, SegmentValue::CenterOf(at));
            let edge = |x: f64, at| (x, SegmentValue::Exact(at));
            let fill = if row.dark { DARK } else { PALE };
            let bar = |from: f64, to: f64| {
                let mut bar = Rectangle::new([edge(from, at), edge(to, at + 1)], fill.filled());
                bar.set_margin(3, 3, 0, 0);
                bar
            };
            match row.mark {
                Mark::Bar(value) => {
                    chart.draw_series([bar(shown.start, value)])?;
                }
                Mark::Spread([least, median, p99, most]) => {
                    let whole = [middle(least), middle(most)];
                    chart.draw_series([PathElement::new(whole, BLACK)])?;
                    chart.draw_series([bar(least, p99)])?;
                    let stroke = [edge(median, at), edge(median, at + 1)];
                    chart.draw_series([PathElement::new(stroke, BLACK.stroke_width(2))])?;
                }
            }
            let figures = Text::new(row.figures.clone(), (6, 0), after(15));
            chart.draw_series([EmptyElement::at(middle(shown.end)) + figures])?;
        }
        if let Some(goal) = self.goal {
            let ends = [SegmentValue::Exact(0), SegmentValue::Last].map(|end| (goal, end));
            chart.draw_series(LineSeries::new(ends, BLACK))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(marks: &[Mark], axis: Axis) -> String {
        let rows = marks.iter().zip(1..).map(|(&mark, at)| Row {
            name: format!("row {at}"),
            mark,
            figures: format!("figures {at}"),
            dark: at == 1,
        });
        let panels = [Panel {
            name: "Load <A>".into(),
            rows: rows.collect(),
        }];
        Panels {
            title: "A title",
            notes: &["a note"],
            quantity: "percent",
            panels: &panels,
            axis,
            goal: Some(1.05),
        }
        .svg()
    }

    /// The widths of the boxes of this colour.
    fn widths(picture: &str, fill: &str) -> Vec<u32> {
        let boxes = picture.lines().filter(|line| line.contains(fill));
        boxes
            .filter_map(|one| {
                one.split("width=\"")
                    .nth(1)?
                    .split('"')
                    .next()?
                    .parse()
                    .ok()
            })
            .collect()
    }

    #[test]
    fn every_row_has_its_name_its_figures_and_its_bar() {
        let picture = picture(&[Mark::Bar(1.0), Mark::Bar(2.0)], Axis::UpTo(4.0));
        for text in [
            "row 1",
            "row 2",
            "figures 1",
            "figures 2",
            "percent",
            "a note",
        ] {
            assert_eq!(
                picture.lines().filter(|line| *line == text).count(),
                1,
                "{text}"
            );
        }
        assert!(picture.contains("Load &lt;A&gt;"));
        let (dark, pale) = (widths(&picture, "#1F3A57"), widths(&picture, "#B9C4CF"));
        assert_eq!((dark.len(), pale.len()), (1, 1));
        assert!(pale[0].abs_diff(2 * dark[0]) <= 1, "{dark:?} {pale:?}");
    }

    #[test]
    fn a_bar_beyond_the_axis_ends_at_the_frame() {
        let picture = picture(&[Mark::Bar(3.0), Mark::Bar(70.0)], Axis::UpTo(3.0));
        let (dark, pale) = (widths(&picture, "#1F3A57"), widths(&picture, "#B9C4CF"));
        assert!(pale[0].abs_diff(dark[0]) <= 1, "{dark:?} {pale:?}");
    }

    #[test]
    fn equal_ratios_are_equally_long() {
        let spread = |least, p99| Mark::Spread([least, least, p99, 500.0]);
        let axis = Axis::Ratios(&[1.0, 10.0, 100.0, 1000.0]);
        let picture = picture(&[spread(2.0, 20.0), spread(30.0, 300.0)], axis);
        let (dark, pale) = (widths(&picture, "#1F3A57"), widths(&picture, "#B9C4CF"));
        assert!(
            pale[0].abs_diff(dark[0]) <= 1 && dark[0] > 20,
            "{dark:?} {pale:?}"
        );
    }

    #[test]
    fn nothing_to_compare_is_still_a_picture() {
        assert!(picture(&[], Axis::UpTo(1.0)).ends_with("</svg>\n"));
    }
}
