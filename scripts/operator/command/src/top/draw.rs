// SPDX-License-Identifier: GPL-2.0-only
//! The picture. Each part is cut where the terminal ends, and what is cut is never a
//! question that waits for an answer.

mod help;
mod nodes;
mod table;

use std::time::Duration;

use gpreempt_operator::host::tables::ShownRule;
use gpreempt_operator::report::explain::duration;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::Frame;

use super::rows::Row;
use super::state::{Entry, State, View};
use super::text::wrapped;
use crate::clean::clean;

/// What the terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    pub colour: bool,
    /// More than ASCII.
    pub unicode: bool,
}

impl Palette {
    fn ink(self, colour: Color) -> Style {
        match self.colour {
            true => Style::new().fg(colour),
            false => Style::new(),
        }
    }

    /// The colour of a queue's or a node's state; the word beside it says the same.
    fn state(self, state: &str) -> Style {
        match state {
            "running" | "armed" => self.ink(Color::Green),
            "waiting" | "backing-off" | "silent" => self.ink(Color::Yellow),
            "stopped" | "refused" | "disarmed" => self.ink(Color::Red),
            "held" | "starting" => self.ink(Color::Magenta),
            _ => Style::new(),
        }
    }

    fn head(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, state: &State, palette: Palette) {
    let area = frame.area();
    let parts = state.layout();
    let mut top = area.y;
    let mut next = |height: u16| {
        let part = Rect::new(area.x, top, area.width, height).intersection(area);
        top = top.saturating_add(height);
        part
    };
    let (title, nodes_area, head) = (next(parts.title), next(parts.nodes), next(parts.head));
    let (body, detail, foot) = (next(parts.body), next(parts.detail), next(parts.foot));
    let width = usize::from(area.width);
    lines(frame, title, vec![title_line(state, palette)]);
    let mut under = Vec::new();
    if state.entry == Entry::Help {
        let all = Rect::new(
            area.x,
            nodes_area.y,
            area.width,
            foot.y.saturating_sub(nodes_area.y),
        );
        lines(frame, all, help::lines(width));
    } else if let Some(failure) = &state.failure {
        let text = format!(
            "{failure}. This view goes on looking and shows the queues when it can; q quits."
        );
        lines(
            frame,
            body,
            wrapped(&text, width).into_iter().map(Line::from).collect(),
        );
    } else {
        lines(
            frame,
            nodes_area,
            nodes::lines(state, palette, width, nodes_area.height),
        );
        let (heading, rows) = table::lines(state, palette, width);
        lines(frame, head, vec![heading]);
        lines(frame, body, rows);
        under = detail_lines(state);
    }
    lines(frame, detail, under);
    let style = match state.entry {
        Entry::Question(..) => palette.ink(Color::Yellow).add_modifier(Modifier::BOLD),
        _ => Style::new(),
    };
    let last = state
        .foot()
        .into_iter()
        .map(|line| Line::styled(line, style));
    lines(frame, foot, last.collect());
}

/// Puts lines into a part, as many as there is room for.
fn lines(frame: &mut Frame<'_>, area: Rect, lines: Vec<Line<'_>>) {
    for (y, line) in (area.top()..area.bottom()).zip(lines) {
        frame.render_widget(line, Rect::new(area.x, y, area.width, 1));
    }
}

/// An interval as people write it.
fn seconds(interval: Duration) -> String {
    format!("{} s", interval.as_secs_f64())
}

fn title_line(state: &State, palette: Palette) -> Line<'static> {
    let mut words = Vec::new();
    if let Some(taken) = state.unanswered() {
        words.push(format!("NO ANSWER FOR {} s", taken.as_secs()));
    }
    match &state.look {
        Some(look) => {
            let count = |name: &str| {
                look.queues
                    .iter()
                    .filter(|queue| queue.state == name)
                    .count()
            };
            words.push(clean(&look.mode));
            words.push(format!(
                "{} queues: {} run {} wait {} stopped",
                look.queues.len(),
                count("running"),
                count("waiting"),
                count("stopped")
            ));
            let unseen: u64 = look
                .left_out
                .iter()
                .map(|left| left.left_out)
                .fold(0, u64::saturating_add);
            if unseen > 0 {
                words.push(format!("{unseen} left alone"));
            }
            if state.paused {
                words.push("PAUSED".into());
            }
            if look.read_only.is_some() {
                words.push("READ-ONLY".into());
            }
            if look.lacks.is_some() {
                words.push("SOME TABLES MISSING".into());
            }
        }
        None if state.failure.is_some() => words.push("the module cannot be read".into()),
        None => words.push("looking for the first time".into()),
    }
    words.push(format!("every {}", seconds(state.interval)));
    if state.view != View::Rules {
        let way = if state.sort.falling { "down" } else { "up" };
        words.push(format!("by {} {way}", table::name(state.sort.column)));
    }
    Line::styled(words.join("  "), palette.head())
}

/// What there is to say of the selected line, the most important first.
fn detail_lines(state: &State) -> Vec<Line<'static>> {
    if state.view == View::Rules {
        let text = match state.rules.is_empty() {
            true => "no rules; 'a' on a queue or a process adds one",
            false => {
                "of several rules that match a process, the one with the lowest number applies"
            }
        };
        return vec![Line::raw(text)];
    }
    let Some(row) = state.row() else {
        return Vec::new();
    };
    let queue = match state.view {
        View::Queues => format!(" queue {} on {}", row.number, clean(&row.gpu)),
        View::Processes | View::Rules => String::new(),
    };
    vec![
        Line::raw(format!(
            "{} ({}){queue}: {}",
            row.program, row.key.pid, row.why
        )),
        Line::raw(belongs(state, row)),
        Line::raw(figures(row)),
    ]
}

/// The rule that applies, and the cgroup.
fn belongs(state: &State, row: &Row) -> String {
    let rules = state.look.as_ref().map_or(&[][..], |look| &look.rules);
    let own = |rule: &&ShownRule| Some(u64::from(rule.id)) == row.rule;
    let mut words = vec![match (rules.iter().find(own), row.rule) {
        (Some(rule), _) => format!("rule {}", clean(&rule.text)),
        (None, Some(number)) => format!("rule {number}"),
        (None, None) => "no rule".into(),
    }];
    if !row.cgroup.is_empty() {
        words.push(format!("cgroup {}", clean(&row.cgroup)));
    }
    words.join("; ")
}

fn figures(row: &Row) -> String {
    let mut words = Vec::new();
    if let Some(spent) = row.spent {
        words.push(format!(
            "lately ran {}%, waited {}%, stopped {}%",
            spent.percent(spent.running),
            spent.percent(spent.waiting),
            spent.percent(spent.stopped)
        ));
    }
    words.push(format!(
        "in all ran {}, stopped {}",
        duration(row.run_ns),
        duration(row.stopped_ns)
    ));
    words.join("; ")
}

/// Some text in a style.
fn span(text: String, style: Style) -> Span<'static> {
    Span::styled(text, style)
}
