// SPDX-License-Identifier: GPL-2.0-only
//! The few shapes that the pictures consist of.

use std::fmt::Write;

use crate::style::{Marker, Style};

/// The size of most text.
pub const SIZE: f64 = 12.0;
pub const INK: &str = "#000000";
/// Axes, and notes beside the data.
pub const SOFT: &str = "#444444";
/// Lines behind the data.
pub const GRID: &str = "#d8d8d8";
/// A fill that stands out from both white and ink.
pub const PALE: &str = "#b9c4cf";
/// A fill nearly as dark as ink.
pub const DARK: &str = "#1f3a57";

/// Where data are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Pen {
    pub colour: &'static str,
    pub width: f64,
    pub dashes: &'static str,
}

impl Pen {
    pub fn solid(colour: &'static str, width: f64) -> Pen {
        Pen {
            colour,
            width,
            dashes: "",
        }
    }

    fn attributes(self) -> String {
        let mut out = format!(
            "fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"",
            self.colour,
            tenths(self.width)
        );
        if !self.dashes.is_empty() {
            let _ = write!(out, " stroke-dasharray=\"{}\"", self.dashes);
        }
        out
    }
}

/// How a box is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    Plain(&'static str),
    /// Slanted lines on white.
    Hatched,
}

/// How wide a text may be at most, in any common font.
pub fn text_width(text: &str, size: f64) -> f64 {
    0.62 * size * text.chars().count() as f64
}

/// A tenth of a pixel is as fine as the eye can tell.
fn tenths(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".into(),
        Some(whole) => whole.into(),
        None => text,
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// A picture that is being drawn.
#[derive(Debug)]
pub struct Canvas {
    width: f64,
    height: f64,
    body: String,
}

impl Canvas {
    pub fn new(width: f64, height: f64) -> Canvas {
        Canvas {
            width,
            height,
            body: String::new(),
        }
    }

    pub fn rectangle(&mut self, left: f64, top: f64, width: f64, height: f64, fill: Fill) {
        let fill = match fill {
            Fill::Plain(colour) => colour,
            Fill::Hatched => "url(#hatched)",
        };
        let _ = writeln!(
            self.body,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\" \
             stroke=\"{INK}\" stroke-width=\"0.5\"/>",
            tenths(left),
            tenths(top),
            tenths(width),
            tenths(height)
        );
    }

    pub fn line(&mut self, points: &[(f64, f64)], pen: Pen) {
        let points: Vec<String> = points
            .iter()
            .map(|&(x, y)| format!("{},{}", tenths(x), tenths(y)))
            .collect();
        let _ = writeln!(
            self.body,
            "<polyline points=\"{}\" {}/>",
            points.join(" "),
            pen.attributes()
        );
    }

    /// A text whose letters stand on `y`.
    pub fn text(&mut self, x: f64, y: f64, text: &str, anchor: Anchor) {
        self.lettering(x, y, text, anchor, "");
    }

    /// A text that stays legible over lines behind it.
    pub fn over_lines(&mut self, x: f64, y: f64, text: &str, bold: bool) {
        let weight = if bold { " font-weight=\"bold\"" } else { "" };
        let halo = " stroke=\"white\" stroke-width=\"3\" paint-order=\"stroke\"";
        self.lettering(x, y, text, Anchor::Start, &format!("{halo}{weight}"));
    }

    pub fn bold(&mut self, x: f64, y: f64, text: &str, anchor: Anchor) {
        self.lettering(x, y, text, anchor, " font-weight=\"bold\"");
    }

    pub fn soft(&mut self, x: f64, y: f64, text: &str, anchor: Anchor) {
        self.lettering(x, y, text, anchor, &format!(" fill=\"{SOFT}\""));
    }

    /// A text that runs upwards.
    pub fn upwards(&mut self, x: f64, y: f64, text: &str) {
        let turn = format!(
            " fill=\"{SOFT}\" transform=\"rotate(-90 {} {})\"",
            tenths(x),
            tenths(y)
        );
        self.lettering(x, y, text, Anchor::Middle, &turn);
    }

    fn lettering(&mut self, x: f64, y: f64, text: &str, anchor: Anchor, more: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let _ = writeln!(
            self.body,
            "<text x=\"{}\" y=\"{}\"{anchor}{more}>{}</text>",
            tenths(x),
            tenths(y),
            escaped(text)
        );
    }

    /// The title, with a note below it, at the upper left.
    pub fn heading(&mut self, title: &str, notes: &[&str]) {
        let _ = writeln!(
            self.body,
            "<text x=\"12\" y=\"24\" font-size=\"16\" font-weight=\"bold\">{}</text>",
            escaped(title)
        );
        for (at, note) in notes.iter().enumerate() {
            self.soft(12.0, 42.0 + 16.0 * at as f64, note, Anchor::Start);
        }
    }

    pub fn marker(&mut self, x: f64, y: f64, style: Style) {
        const R: f64 = 4.0;
        let around = |offsets: &[(f64, f64)]| -> String {
            let points: Vec<String> = offsets
                .iter()
                .map(|(dx, dy)| format!("{},{}", tenths(x + R * dx), tenths(y + R * dy)))
                .collect();
            format!("<polygon points=\"{}\"", points.join(" "))
        };
        let square = [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)];
        let circle = format!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\"",
            tenths(x),
            tenths(y),
            tenths(R)
        );
        let (shape, full) = match style.marker {
            Marker::Disc => (circle, true),
            Marker::Ring => (circle, false),
            Marker::Box => (around(&square), false),
            Marker::FullBox => (around(&square), true),
            Marker::Up => (around(&[(0.0, -1.2), (1.1, 0.9), (-1.1, 0.9)]), true),
            Marker::Down => (around(&[(0.0, 1.2), (1.1, -0.9), (-1.1, -0.9)]), false),
            Marker::Diamond => (
                around(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
                false,
            ),
            Marker::Cross => {
                let pen = Pen::solid(style.colour, 2.0);
                self.line(&[(x - R, y - R), (x + R, y + R)], pen);
                self.line(&[(x - R, y + R), (x + R, y - R)], pen);
                return;
            }
        };
        let fill = if full { style.colour } else { "white" };
        let _ = writeln!(
            self.body,
            "{shape} fill=\"{fill}\" stroke=\"{}\" stroke-width=\"1.5\"/>",
            style.colour
        );
    }

    /// The two strokes by which an axis or a bar says that a part is left out.
    pub fn broken(&mut self, x: f64, y: f64, reach: f64) {
        for shift in [-2.5, 2.5] {
            let stroke = [(x + shift - 2.0, y + reach), (x + shift + 2.0, y - reach)];
            self.line(&stroke, Pen::solid("white", 3.5));
            self.line(&stroke, Pen::solid(INK, 1.0));
        }
    }

    /// The whole file. `title` is what a screen reader says.
    pub fn finish(self, title: &str) -> String {
        let Canvas {
            width,
            height,
            body,
        } = self;
        let (width, height) = (tenths(width), tenths(height));
        let hatching = match body.contains("url(#hatched)") {
            true => {
                "<pattern id=\"hatched\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
                 patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"white\"/>\
                 <rect width=\"2\" height=\"6\" fill=\"#000000\"/></pattern>\n"
            }
            false => "",
        };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" \
             font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\" font-size=\"{SIZE}\">\n\
             <title>{}</title>\n{hatching}\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n",
            escaped(title)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        let mut canvas = Canvas::new(10.0, 10.0);
        canvas.text(1.0, 2.0, "a < b & c", Anchor::Start);
        let picture = canvas.finish("x > y");
        assert!(picture.contains(">a &lt; b &amp; c</text>"));
        assert!(picture.contains("<title>x &gt; y</title>"));
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!(tenths(1.0), "1");
        assert_eq!(tenths(1.26), "1.3");
        assert_eq!(tenths(-0.01), "0");
    }

    #[test]
    fn hatching_is_declared_where_it_is_used() {
        let mut canvas = Canvas::new(10.0, 10.0);
        canvas.rectangle(0.0, 0.0, 1.0, 1.0, Fill::Plain(PALE));
        assert!(!canvas.finish("plain").contains("<pattern"));
        let mut canvas = Canvas::new(10.0, 10.0);
        canvas.rectangle(0.0, 0.0, 1.0, 1.0, Fill::Hatched);
        assert!(canvas.finish("hatched").contains("<pattern"));
    }
}
