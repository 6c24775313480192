// SPDX-License-Identifier: GPL-2.0-only
//! Metrics, and the text in which Prometheus and node_exporter's text files have them.

use std::fmt::Write;

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows; its name ends with `_total` in the samples.
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// A number that is written without loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    Whole(u64),
    /// Nanoseconds, written as seconds.
    Nanos(u64),
}

impl Number {
    fn text(self) -> String {
        match self {
            Number::Whole(number) => number.to_string(),
            Number::Nanos(nanos) => {
                let text = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
                let short = text.trim_end_matches('0');
                match short.strip_suffix('.') {
                    Some(_) => format!("{short}0"),
                    None => short.to_owned(),
                }
            }
        }
    }
}

/// A name and a value, which may be any text.
pub type Label = (&'static str, String);

/// What there is to say of one set of labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Number(Number),
    /// How many durations were no longer than each bound, all of them, and their sum.
    Histogram {
        bounds: Vec<(u64, u64)>,
        count: u64,
        sum: u64,
    },
}

/// A metric with all its samples.
#[derive(Clone, Debug)]
pub struct Metric {
    pub name: &'static str,
    pub help: &'static str,
    pub kind: Kind,
    pub samples: Vec<(Vec<Label>, Value)>,
}

impl Metric {
    pub fn new(name: &'static str, kind: Kind, help: &'static str) -> Metric {
        Metric {
            name,
            help,
            kind,
            samples: Vec::new(),
        }
    }

    pub fn add(&mut self, labels: Vec<Label>, number: Number) {
        self.samples.push((labels, Value::Number(number)));
    }

    fn write(&self, out: &mut String) {
        let (name, kind) = (self.name, self.kind.name());
        let sample = match self.kind {
            Kind::Counter => format!("{name}_total"),
            Kind::Gauge | Kind::Histogram => name.to_owned(),
        };
        let help = escaped(self.help, false);
        line(out, format_args!("# HELP {sample} {help}"));
        line(out, format_args!("# TYPE {sample} {kind}"));
        for (labels, value) in &self.samples {
            let all = |more: Option<Label>| braces(labels.iter().chain(more.as_ref()));
            match value {
                Value::Number(number) => {
                    line(out, format_args!("{sample}{} {}", all(None), number.text()));
                }
                Value::Histogram { bounds, count, sum } => {
                    let ends = bounds.iter().map(|&(bound, below)| (seconds(bound), below));
                    for (end, below) in ends.chain([("+Inf".to_owned(), *count)]) {
                        let labels = all(Some(("le", end)));
                        line(out, format_args!("{name}_bucket{labels} {below}"));
                    }
                    line(
                        out,
                        format_args!("{name}_sum{} {}", all(None), seconds(*sum)),
                    );
                    line(out, format_args!("{name}_count{} {count}", all(None)));
                }
            }
        }
    }
}

fn seconds(nanos: u64) -> String {
    Number::Nanos(nanos).text()
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // A text takes whatever is written.
    let _ = writeln!(out, "{text}");
}

fn braces<'l>(labels: impl Iterator<Item = &'l Label>) -> String {
    let all: Vec<String> = labels
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value, true)))
        .collect();
    match all.is_empty() {
        true => String::new(),
        false => format!("{{{}}}", all.join(",")),
    }
}

/// A text without what would end it.
fn escaped(text: &str, quotes: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if quotes => out.push_str("\\\""),
            // Readers that count lines by these would lose their place.
            '\r' | '\0' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

/// All of it.
pub fn text(metrics: &[Metric]) -> String {
    let mut out = String::new();
    for metric in metrics.iter().filter(|metric| !metric.samples.is_empty()) {
        metric.write(&mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_without_loss() {
        for (nanos, text) in [
            (0, "0.0"),
            (1, "0.000000001"),
            (1_500_000_000, "1.5"),
            (10_000_000_000, "10.0"),
            (u64::MAX, "18446744073.709551615"),
        ] {
            assert_eq!(Number::Nanos(nanos).text(), text);
        }
        assert_eq!(Number::Whole(u64::MAX).text(), u64::MAX.to_string());
    }

    fn hostile() -> Vec<Metric> {
        let mut stops = Metric::new("stops", Kind::Counter, "Stops.");
        let label = "a\"} 1\nb\\c\r\0ü".to_owned();
        stops.add(vec![("workload", label)], Number::Whole(3));
        let mut wait = Metric::new("wait_seconds", Kind::Histogram, "A \"b\" \\.");
        wait.samples.push((
            vec![("node", "0".into())],
            Value::Histogram {
                bounds: vec![(1023, 1), (4095, 3)],
                count: 4,
                sum: 9000,
            },
        ));
        let empty = Metric::new("empty", Kind::Gauge, "Nothing.");
        vec![stops, wait, empty]
    }

    #[test]
    fn no_value_of_a_label_ends_it() {
        let expected = "# HELP stops_total Stops.\n# TYPE stops_total counter\n\
            stops_total{workload=\"a\\\"} 1\\nb\\\\c\u{fffd}\u{fffd}ü\"} 3\n\
            # HELP wait_seconds A \"b\" \\\\.\n# TYPE wait_seconds histogram\n\
            wait_seconds_bucket{node=\"0\",le=\"0.000001023\"} 1\n\
            wait_seconds_bucket{node=\"0\",le=\"0.000004095\"} 3\n\
            wait_seconds_bucket{node=\"0\",le=\"+Inf\"} 4\n\
            wait_seconds_sum{node=\"0\"} 0.000009\nwait_seconds_count{node=\"0\"} 4\n";
        assert_eq!(text(&hostile()), expected);
    }
}
