// SPDX-License-Identifier: GPL-2.0-only
//! The timeline as lines of text: who had waves on the compute units, and whose
//! were saved.

use std::collections::BTreeMap;
use std::fmt::Write;

use vgpu_model::{QueueId, TimelineChange, TimelineRecord};

/// What a queue is doing at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Doing {
    #[default]
    Nothing,
    /// Some of its waves are on compute units.
    Running,
    /// Its waves lie in its save area.
    Saved,
}

/// What one queue does over time: changes in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    changes: Vec<(u64, Doing)>,
}

/// A stretch of GPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub from: u64,
    pub to: u64,
}

/// The rows of these queues.
pub fn rows(records: &[TimelineRecord]) -> BTreeMap<QueueId, Row> {
    let mut rows: BTreeMap<QueueId, (Row, u64)> = BTreeMap::new();
    for record in records {
        let (row, waves) = rows.entry(record.queue).or_default();
        let doing = match record.change {
            TimelineChange::Waves { count } => {
                *waves = count;
                let saved = row
                    .changes
                    .last()
                    .is_some_and(|last| last.1 == Doing::Saved);
                match (count, saved) {
                    (0, true) => Doing::Saved,
                    (0, false) => Doing::Nothing,
                    _ => Doing::Running,
                }
            }
            TimelineChange::SaveEnds => Doing::Saved,
            TimelineChange::RestoreEnds if *waves > 0 => Doing::Running,
            _ => continue,
        };
        if row.changes.last().map(|last| last.1) != Some(doing) {
            row.changes.push((record.at.0, doing));
        }
    }
    rows.into_iter()
        .map(|(queue, (row, _))| (queue, row))
        .collect()
}

impl Row {
    /// The stretches of the window in which the queue does something.
    fn spans(&self, window: Window) -> Vec<(u64, u64, Doing)> {
        let ends = self
            .changes
            .iter()
            .skip(1)
            .map(|change| change.0)
            .chain([u64::MAX]);
        self.changes
            .iter()
            .zip(ends)
            .map(|(&(from, doing), to)| (from.max(window.from), to.min(window.to), doing))
            .filter(|(from, to, doing)| from < to && *doing != Doing::Nothing)
            .collect()
    }

    /// What the queue does for the longest part of each column.
    fn columns(&self, window: Window, count: u64) -> Vec<Doing> {
        let length = window.to.saturating_sub(window.from).max(1);
        let spans = self.spans(window);
        (0..count)
            .map(|column| {
                let from = window.from + length * column / count;
                let to = window.from + length * (column + 1) / count;
                let share = |doing| -> u64 {
                    spans
                        .iter()
                        .filter(|span| span.2 == doing)
                        .map(|span| span.1.min(to).saturating_sub(span.0.max(from)))
                        .sum()
                };
                let (running, saved) = (share(Doing::Running), share(Doing::Saved));
                match (running, saved) {
                    (0, 0) => Doing::Nothing,
                    _ if 2 * (running + saved) < to - from => Doing::Nothing,
                    _ if running >= saved => Doing::Running,
                    _ => Doing::Saved,
                }
            })
            .collect()
    }
}

/// The rows as text, so many columns wide.
pub fn text(rows: &[(String, &Row)], window: Window, columns: u64) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for (name, row) in rows {
        let line: String = row
            .columns(window, columns)
            .into_iter()
            .map(|doing| match doing {
                Doing::Nothing => '·',
                Doing::Running => '█',
                Doing::Saved => '░',
            })
            .collect();
        let _ = writeln!(out, "  {name:width$}  {line}");
    }
    let millis = window.to.saturating_sub(window.from) as f64 / 1e6;
    let _ = writeln!(
        out,
        "  {:width$}  {millis:.0} ms of GPU time;  █ on the compute units  ░ saved  · nothing to do",
        ""
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use vgpu_model::GpuNanos;

    fn record(at: u64, change: TimelineChange) -> TimelineRecord {
        TimelineRecord {
            sequence: at,
            at: GpuNanos(at),
            queue: QueueId::default(),
            change,
        }
    }

    fn row() -> Row {
        rows(&[
            record(10, TimelineChange::Waves { count: 4 }),
            record(20, TimelineChange::SaveBegins { bytes: 1 }),
            record(20, TimelineChange::Waves { count: 0 }),
            record(25, TimelineChange::SaveEnds),
            record(60, TimelineChange::RestoreBegins { bytes: 1 }),
            record(65, TimelineChange::Waves { count: 4 }),
            record(65, TimelineChange::RestoreEnds),
            record(90, TimelineChange::Waves { count: 0 }),
        ])
        .into_values()
        .next()
        .unwrap()
    }

    #[test]
    fn saved_waves_are_told_from_no_waves() {
        assert_eq!(
            row().changes,
            [
                (10, Doing::Running),
                (20, Doing::Nothing),
                (25, Doing::Saved),
                (65, Doing::Running),
                (90, Doing::Nothing)
            ]
        );
    }

    #[test]
    fn a_column_shows_what_fills_most_of_it() {
        let row = row();
        let window = Window { from: 0, to: 100 };
        let line = text(&[("q".into(), &row)], window, 10);
        assert!(line.starts_with("  q  ·█░░░░███·\n"), "{line}");
    }
}
