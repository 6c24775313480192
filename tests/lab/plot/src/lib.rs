// SPDX-License-Identifier: GPL-2.0-only
//! The pictures of the laboratory, as SVG; `plotters` draws them.
//!
//! Two kinds, each for one question: [`Panels`] compare contenders on several
//! loads, [`Lines`] follow a figure over what a sweep varies. Both tell series
//! apart by marker and shade as well as by colour, and say in digits what leaves
//! the frame. The same data give the same bytes, so that a test can compare the
//! committed pictures with the committed data.

mod lines;
mod panels;

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub use lines::{Lines, Series};
pub use panels::{Axis, Mark, Panel, Panels, Row};

/// A file name and what belongs into the file.
pub type Picture = (String, String);

type Svg<'a> = SVGBackend<'a>;
type Drawn<T = ()> = Result<T, DrawingAreaErrorKind<std::io::Error>>;

/// What is neither data nor axis.
const SOFT: RGBColor = RGBColor(68, 68, 68);
const GRID: RGBColor = RGBColor(216, 216, 216);

fn font(size: u32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&BLACK)
}

/// A text that begins right of its place.
fn after(size: u32) -> TextStyle<'static> {
    font(size).pos(Pos::new(HPos::Left, VPos::Center))
}

/// A picture of this size: what `fill` draws below the title and the notes.
fn draw(
    size: (u32, u32),
    title: &str,
    notes: &[&str],
    fill: impl FnOnce(DrawingArea<Svg, Shift>) -> Drawn,
) -> String {
    let mut text = String::new();
    let whole = SVGBackend::with_string(&mut text, size).into_drawing_area();
    whole
        .fill(&WHITE)
        .and_then(|()| whole.titled(title, font(22)))
        .and_then(|rest| {
            notes
                .iter()
                .try_fold(rest, |rest, note| rest.titled(note, font(16).color(&SOFT)))
        })
        .and_then(fill)
        .and_then(|()| whole.present())
        .expect("a string takes all that is written");
    drop(whole);
    text
}
