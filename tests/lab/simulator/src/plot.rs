// SPDX-License-Identifier: GPL-2.0-only

//! Plots as SVG.

use anyhow::{anyhow, Result};
use plotters::prelude::*;
use std::path::Path;

/// One line of a plot.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// What is drawn on the two axes.
#[derive(Clone, Copy, Debug)]
pub struct Axes<'a> {
    pub title: &'a str,
    pub x: &'a str,
    pub y: &'a str,
    /// A logarithmic x axis; zero is drawn at a tenth of the smallest value.
    pub logarithmic: bool,
    /// Horizontal line of a goal.
    pub goal: Option<f64>,
}

const COLOURS: [RGBColor; 8] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 39, 40),
    RGBColor(44, 160, 44),
    RGBColor(148, 103, 189),
    RGBColor(255, 127, 14),
    RGBColor(23, 190, 207),
    RGBColor(140, 86, 75),
    RGBColor(127, 127, 127),
];

fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
        (low.min(v), high.max(v))
    })
}

pub fn lines(path: &Path, axes: Axes<'_>, series: &[Series]) -> Result<()> {
    let smallest = series
        .iter()
        .flat_map(|s| &s.points)
        .map(|p| p.0)
        .filter(|x| *x > 0.0)
        .fold(f64::INFINITY, f64::min);
    let place = |x: f64| match axes.logarithmic {
        true => x.max(smallest / 10.0).log10(),
        false => x,
    };
    let points = || series.iter().flat_map(|s| s.points.iter());
    let (x_low, x_high) = bounds(points().map(|p| place(p.0)));
    let (y_low, y_high) = bounds(points().map(|p| p.1).chain(axes.goal));
    let margin = ((y_high - y_low) * 0.05).max(1e-6);
    let error = |e: &dyn std::fmt::Display| anyhow!("{}: {e}", path.display());

    let root = SVGBackend::new(path, (720, 400)).into_drawing_area();
    root.fill(&WHITE).map_err(|e| error(&e))?;
    let mut chart = ChartBuilder::on(&root)
        .caption(axes.title, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(
            x_low..x_high.max(x_low + 1e-6),
            (y_low - margin)..(y_high + margin),
        )
        .map_err(|e| error(&e))?;
    chart
        .configure_mesh()
        .x_desc(axes.x)
        .y_desc(axes.y)
        .x_label_formatter(&|x| match axes.logarithmic {
            true => format!("{:.0}", 10_f64.powf(*x)),
            false => format!("{x:.0}"),
        })
        .light_line_style(WHITE)
        .draw()
        .map_err(|e| error(&e))?;
    if let Some(goal) = axes.goal {
        chart
            .draw_series(DashedLineSeries::new(
                [(x_low, goal), (x_high, goal)],
                6,
                4,
                BLACK.mix(0.5).into(),
            ))
            .map_err(|e| error(&e))?;
    }
    for (index, one) in series.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let points: Vec<(f64, f64)> = one.points.iter().map(|p| (place(p.0), p.1)).collect();
        chart
            .draw_series(LineSeries::new(
                points.iter().copied(),
                colour.stroke_width(2),
            ))
            .map_err(|e| error(&e))?
            .label(&one.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
        chart
            .draw_series(points.iter().map(|&p| Circle::new(p, 3, colour.filled())))
            .map_err(|e| error(&e))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()
        .map_err(|e| error(&e))?;
    root.present().map_err(|e| error(&e))?;
    Ok(())
}

/// One group of bars, with a value for each series.
#[derive(Clone, Debug)]
pub struct Group {
    pub name: String,
    pub values: Vec<f64>,
}

/// Grouped bars; values above `ceiling` are cut off there and labelled.
pub fn bars(
    path: &Path,
    title: &str,
    y: &str,
    names: &[String],
    groups: &[Group],
    ceiling: f64,
    goal: Option<f64>,
) -> Result<()> {
    let error = |e: &dyn std::fmt::Display| anyhow!("{}: {e}", path.display());
    let root = SVGBackend::new(path, (960, 400)).into_drawing_area();
    root.fill(&WHITE).map_err(|e| error(&e))?;
    let highest = groups
        .iter()
        .flat_map(|g| g.values.iter().copied())
        .chain(goal)
        .fold(0.0, f64::max)
        .min(ceiling);
    let top = highest * 1.08;
    let width = groups.len() as f64;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(30)
        .y_label_area_size(60)
        .right_y_label_area_size(110)
        .build_cartesian_2d(0.0..width, 0.0..top)
        .map_err(|e| error(&e))?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .y_desc(y)
        .light_line_style(WHITE)
        .draw()
        .map_err(|e| error(&e))?;
    let bar = 0.8 / names.len() as f64;
    for (index, name) in names.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let rectangles = groups.iter().enumerate().map(|(group, g)| {
            let left = group as f64 + 0.1 + bar * index as f64;
            let height = g.values[index].min(top);
            Rectangle::new([(left, 0.0), (left + bar * 0.9, height)], colour.filled())
        });
        chart
            .draw_series(rectangles)
            .map_err(|e| error(&e))?
            .label(name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
    }
    let labels = groups.iter().enumerate().map(|(group, g)| {
        let style = ("sans-serif", 13).into_font().color(&BLACK);
        EmptyElement::at((group as f64 + 0.5, 0.0)) + Text::new(g.name.clone(), (-10, 6), style)
    });
    chart.draw_series(labels).map_err(|e| error(&e))?;
    let cut = groups.iter().enumerate().flat_map(|(group, g)| {
        g.values
            .iter()
            .enumerate()
            .filter(|(_, value)| **value > top)
            .map(move |(index, value)| {
                let left = group as f64 + 0.1 + bar * index as f64;
                let style = ("sans-serif", 10).into_font().color(&WHITE);
                EmptyElement::at((left, top)) + Text::new(format!("{value:.0}"), (1, 4), style)
            })
            .collect::<Vec<_>>()
    });
    chart.draw_series(cut).map_err(|e| error(&e))?;
    if let Some(goal) = goal {
        chart
            .draw_series(DashedLineSeries::new(
                [(0.0, goal), (width, goal)],
                6,
                4,
                BLACK.mix(0.6).into(),
            ))
            .map_err(|e| error(&e))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.3))
        .draw()
        .map_err(|e| error(&e))?;
    root.present().map_err(|e| error(&e))?;
    Ok(())
}
