// SPDX-License-Identifier: GPL-2.0-only
//! The pictures of the laboratory, as SVG.
//!
//! Four kinds of picture, each for one question: [`bars`] compare contenders on
//! several loads, [`lines`] follow a figure over what a sweep varies, [`rug`]
//! shows each of many measurements, and [`timeline`] what queues did when.
//! A picture has one quantity on each axis, names its series beside the data and
//! never over it, prints each value that leaves the frame, and tells series apart
//! by marker, dashes and shade, so that a black-and-white print says the same.
//!
//! No charting crate is used. `plotters`, the common one, puts its legend inside
//! the frame and has no hatching, no broken bars and no labels in the margin: all
//! but the axes would be written here anyway. Without a dependency the same data
//! give the same bytes, so that a test can compare the committed pictures with the
//! committed data.

pub mod bars;
pub mod lines;
mod margin;
mod number;
pub mod rug;
mod scale;
mod style;
mod svg;
pub mod timeline;

/// A file name and what belongs into the file.
pub type Picture = (String, String);
