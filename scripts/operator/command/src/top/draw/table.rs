// SPDX-License-Identifier: GPL-2.0-only
//! The table of queues, processes or rules.

use gpreempt_operator::report::explain::duration;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::{span, Palette};
use crate::clean::clean;
use crate::top::rows::{Column, Row, COLUMNS};
use crate::top::spent::Spent;
use crate::top::state::{State, View};
use crate::top::text::{left, right, width as width_of};

/// The name of a column.
pub fn name(column: Column) -> &'static str {
    match column {
        Column::Gpu => "GPU",
        Column::Pid => "PID",
        Column::Program => "PROGRAM",
        Column::Queue => "QUEUE",
        Column::Priority => "EFF",
        Column::Rule => "RULE",
        Column::State => "STATE",
        Column::Time => "TIME",
        Column::Stopped => "STOPPED",
        Column::Stops => "STOPS",
    }
}

/// The columns from the one that has to be there to the one that goes first, with the
/// places that each takes.
const WEIGHTS: [(Column, usize); 10] = [
    (Column::State, 8),
    (Column::Program, 8),
    (Column::Pid, 7),
    (Column::Priority, 3),
    (Column::Time, 6),
    (Column::Stopped, 7),
    (Column::Rule, 4),
    (Column::Stops, 5),
    (Column::Gpu, 9),
    (Column::Queue, 5),
];
/// As wide as the longest name of a program.
const PROGRAM: usize = 15;
const USUAL_BAR: usize = 10;
const LONGEST_BAR: usize = 30;
/// For whom a queue is stopped or waits: from how many places on, and how many at most.
const WHOM: (usize, usize) = (10, 24);
/// As wide as the numbers of queues in each state.
const COUNTS: usize = 14;
/// The mark of the selected line.
const MARK: usize = 1;

/// The places of each column that there is room for, and of the last one, which says
/// for whom.
struct Widths {
    columns: Vec<(Column, usize)>,
    whom: usize,
}

impl Widths {
    fn of(state: &State, width: usize) -> Widths {
        let nodes = state.look.as_ref().map_or(0, |look| look.nodes.len());
        let widest = state.rows.iter().map(|row| width_of(&row.gpu)).max();
        let mut left = width.saturating_sub(MARK);
        let mut columns: Vec<(Column, usize)> = Vec::new();
        for (column, places) in WEIGHTS {
            let places = match column {
                Column::Gpu if nodes < 2 => continue,
                Column::Gpu => widest.unwrap_or(places).clamp(places, 14),
                _ => places,
            };
            let gap = usize::from(!columns.is_empty());
            if places + gap > left {
                if columns.is_empty() {
                    columns.push((column, left));
                    left = 0;
                }
                break;
            }
            left -= places + gap;
            columns.push((column, places));
        }
        columns.sort_by_key(|(column, _)| COLUMNS.iter().position(|own| own == column));
        let mut widen = |which: Column, most: usize, left: &mut usize| {
            if let Some((_, places)) = columns.iter_mut().find(|(column, _)| *column == which) {
                let more = most.saturating_sub(*places).min(*left);
                *places += more;
                *left -= more;
            }
        };
        widen(Column::Time, USUAL_BAR, &mut left);
        let mut whom = 0;
        if left > WHOM.0 {
            whom = WHOM.0;
            left -= whom + 1;
        }
        widen(Column::Program, PROGRAM, &mut left);
        if whom > 0 {
            let more = (WHOM.1 - whom).min(left);
            whom += more;
            left -= more;
        }
        if state.view == View::Processes {
            widen(Column::State, COUNTS, &mut left);
        }
        widen(Column::Time, LONGEST_BAR, &mut left);
        Widths { columns, whom }
    }
}

/// The heading, and the lines that are seen.
pub fn lines(state: &State, palette: Palette, width: usize) -> (Line<'static>, Vec<Line<'static>>) {
    if state.view == View::Rules {
        return rules(state, palette);
    }
    let widths = Widths::of(state, width);
    let seen = state.rows.iter().enumerate();
    let seen = seen.skip(state.first).take(state.page());
    let rows = seen.map(|(at, row)| line(row, &widths, at == state.selected, palette));
    (heading(state, &widths, palette), rows.collect())
}

/// Numbers stand at the right of their column.
fn is_number(column: Column) -> bool {
    !matches!(
        column,
        Column::Gpu | Column::Program | Column::State | Column::Time
    )
}

fn field(column: Column, text: &str, places: usize) -> String {
    match is_number(column) {
        true => right(text, places),
        false => left(text, places),
    }
}

fn heading(state: &State, widths: &Widths, palette: Palette) -> Line<'static> {
    let mut spans = vec![Span::raw(left("", MARK))];
    for (at, (column, places)) in widths.columns.iter().enumerate() {
        let style = match *column == state.sort.column {
            true => palette.head().add_modifier(Modifier::UNDERLINED),
            false => palette.head(),
        };
        spans.extend((at > 0).then(|| Span::raw(" ")));
        let text = match (state.view, column) {
            (View::Processes, Column::Queue) => "QUEUES",
            _ => name(*column),
        };
        spans.push(span(field(*column, text, *places), style));
    }
    if widths.whom > 0 {
        spans.push(span(
            format!(" {}", left("FOR/BEHIND", widths.whom)),
            palette.head(),
        ));
    }
    Line::from(spans)
}

fn line(row: &Row, widths: &Widths, selected: bool, palette: Palette) -> Line<'static> {
    let mut spans = vec![Span::raw(if selected { ">" } else { " " })];
    for (at, (column, places)) in widths.columns.iter().enumerate() {
        spans.extend((at > 0).then(|| Span::raw(" ")));
        match column {
            Column::Time => spans.extend(bar(row.spent, *places, palette)),
            Column::State => spans.push(span(
                left(&state_word(row), *places),
                palette.state(&row.state),
            )),
            _ => spans.push(Span::raw(field(*column, &value(row, *column), *places))),
        }
    }
    if widths.whom > 0 {
        spans.push(Span::raw(format!(" {}", left(&row.whom, widths.whom))));
    }
    let style = if selected {
        palette.selected()
    } else {
        Style::new()
    };
    Line::from(spans).style(style)
}

/// The state, with a mark where the queue takes no part.
fn state_word(row: &Row) -> String {
    let mark = if row.contends { "" } else { "*" };
    format!("{}{mark}", row.state)
}

fn value(row: &Row, column: Column) -> String {
    match column {
        Column::Gpu => row.gpu.clone(),
        Column::Pid => row.key.pid.to_string(),
        Column::Program => row.program.clone(),
        Column::Queue => row.number.to_string(),
        Column::Priority => row.priority.to_string(),
        Column::Rule => row.rule.map_or_else(|| "-".into(), |rule| rule.to_string()),
        Column::State | Column::Time => String::new(),
        Column::Stopped => duration(row.stopped_ns),
        Column::Stops => row.stops.to_string(),
    }
}

/// How the time was spent, in letters, which say the same as the colours.
fn bar(spent: Option<Spent>, places: usize, palette: Palette) -> Vec<Span<'static>> {
    let Some(spent) = spent else {
        return vec![Span::raw(" ".repeat(places))];
    };
    let [running, waiting, stopped] = spent.places(places);
    let idle = places.saturating_sub(running + waiting + stopped);
    vec![
        span("#".repeat(running), palette.ink(Color::Green)),
        span("w".repeat(waiting), palette.ink(Color::Yellow)),
        span("s".repeat(stopped), palette.ink(Color::Red)),
        Span::raw(".".repeat(idle)),
    ]
}

fn rules(state: &State, palette: Palette) -> (Line<'static>, Vec<Line<'static>>) {
    let queues = state.look.as_ref().map_or(&[][..], |look| &look.queues);
    let seen = state
        .rules
        .iter()
        .enumerate()
        .skip(state.first)
        .take(state.page());
    let rows = seen.map(|(at, rule)| {
        let users = queues
            .iter()
            .filter(|queue| queue.rule == Some(u64::from(rule.id)));
        let dead = if rule.dead {
            "  (dead: its cgroup is gone)"
        } else {
            ""
        };
        let selected = at == state.selected;
        let mark = if selected { ">" } else { " " };
        let text = format!(
            "{mark}{}  {}{dead}",
            right(&users.count().to_string(), 6),
            clean(&rule.text)
        );
        let style = if selected {
            palette.selected()
        } else {
            Style::new()
        };
        Line::styled(text, style)
    });
    (
        Line::styled(" QUEUES  RULE", palette.head()),
        rows.collect(),
    )
}
