// SPDX-License-Identifier: GPL-2.0-only
//! What queues did over time, a row for each, in blocks that each have their own
//! stretch of time.

use crate::number;
use crate::scale::{round_values, Scale};
use crate::svg::{text_width, Anchor, Canvas, Fill, Frame, Pen, DARK, GRID, SIZE, SOFT};

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Timeline<'a> {
    pub title: &'a str,
    /// The unit of time, with what clock it is.
    pub time: &'a str,
    /// What a full box and what a hatched one mean.
    pub meanings: [&'a str; 2],
    pub blocks: &'a [Block],
}

/// The rows of one stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pub name: String,
    pub length: f64,
    pub rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub name: String,
    pub spans: Vec<Span>,
}

/// A stretch in which a queue does one thing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    pub from: f64,
    pub to: f64,
    pub hatched: bool,
}

const WIDTH: f64 = 1000.0;
const ROW: f64 = 36.0;
const BOX: f64 = 26.0;
/// A block's name, and its axis with the distance to the next.
const ABOVE: f64 = 28.0;
const BELOW: f64 = 48.0;
const TOP: f64 = 58.0;

impl Timeline<'_> {
    pub fn svg(&self) -> String {
        let heights: Vec<f64> = self
            .blocks
            .iter()
            .map(|block| ABOVE + ROW * block.rows.len() as f64 + BELOW)
            .collect();
        let names = self.blocks.iter().flat_map(|block| &block.rows);
        let names = names.map(|row| text_width(&row.name, SIZE));
        let left = 12.0 + names.fold(0.0, f64::max) + 8.0;
        let mut canvas = Canvas::new(WIDTH, TOP + heights.iter().sum::<f64>());
        canvas.heading(self.title, &[]);
        self.key(&mut canvas);
        let mut y = TOP;
        for (block, height) in self.blocks.iter().zip(heights) {
            let frame = Frame {
                left,
                top: y + ABOVE,
                right: WIDTH - 24.0,
                bottom: y + height - BELOW,
            };
            self.block(&mut canvas, frame, block);
            y += height;
        }
        canvas.finish(self.title)
    }

    fn key(&self, canvas: &mut Canvas) {
        let mut x = 12.0;
        for (fill, meaning) in [Fill::Plain(DARK), Fill::Hatched].iter().zip(self.meanings) {
            canvas.rectangle(x, 36.0, 26.0, 14.0, *fill);
            canvas.text(x + 32.0, 47.0, meaning, Anchor::Start);
            x += 32.0 + text_width(meaning, SIZE) + 24.0;
        }
    }

    fn block(&self, canvas: &mut Canvas, frame: Frame, block: &Block) {
        canvas.bold(12.0, frame.top - 8.0, &block.name, Anchor::Start);
        let scale = Scale::linear(0.0, block.length, frame.left, frame.right);
        let (values, step) = round_values(0.0, block.length, 8);
        for value in values {
            let x = scale.at(value);
            canvas.line(&[(x, frame.top), (x, frame.bottom)], Pen::solid(GRID, 1.0));
            let label = number::at_step(value, step);
            canvas.soft(x, frame.bottom + 15.0, &label, Anchor::Middle);
        }
        for (at, row) in block.rows.iter().enumerate() {
            let middle = frame.top + ROW * (at as f64 + 0.5);
            canvas.text(frame.left - 8.0, middle + 4.0, &row.name, Anchor::End);
            for span in &row.spans {
                let (from, to) = (scale.at(span.from), scale.at(span.to));
                let fill = match span.hatched {
                    true => Fill::Hatched,
                    false => Fill::Plain(DARK),
                };
                canvas.rectangle(from, middle - BOX / 2.0, to - from, BOX, fill);
            }
        }
        canvas.line(
            &[(frame.left, frame.bottom), (frame.right, frame.bottom)],
            Pen::solid(SOFT, 1.0),
        );
        let middle = (frame.left + frame.right) / 2.0;
        canvas.soft(middle, frame.bottom + 33.0, self.time, Anchor::Middle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_saved_is_hatched_and_what_ran_is_full() {
        let span = |from, to, hatched| Span { from, to, hatched };
        let blocks = [Block {
            name: "with".into(),
            length: 4.0,
            rows: vec![Row {
                name: "q".into(),
                spans: vec![
                    span(0.0, 1.0, false),
                    span(1.0, 3.0, true),
                    span(3.0, 4.0, false),
                ],
            }],
        }];
        let picture = Timeline {
            title: "A title",
            time: "milliseconds",
            meanings: ["on the compute units", "saved"],
            blocks: &blocks,
        }
        .svg();
        // One of each more, in the key.
        assert_eq!(picture.matches(&format!("fill=\"{DARK}\"")).count(), 3);
        assert_eq!(picture.matches("fill=\"url(#hatched)\"").count(), 2);
        assert!(picture.contains(">with</text>") && picture.contains(">q</text>"));
        assert!(picture.contains(">saved</text>"));
    }
}
