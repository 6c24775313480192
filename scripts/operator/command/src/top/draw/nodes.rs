// SPDX-License-Identifier: GPL-2.0-only
//! The lines of the nodes.

use gpreempt_operator::host::tables::Node;
use gpreempt_operator::report::explain::duration;
use ratatui::style::Color;
use ratatui::text::{Line, Span};

use super::{span, Palette};
use crate::clean::clean;
use crate::top::latency::History;
use crate::top::rows::short;
use crate::top::state::{trouble, State};
use crate::top::text::{left, rate, right, width as width_of};

/// The places of the numbers, whose order is that of the heading.
const NUMBERS: [(&str, usize); 7] = [
    ("RUN", 4),
    ("WAIT", 4),
    ("STOP", 4),
    ("STOPS/s", 7),
    ("FAIL/s", 6),
    ("PREEMPT", 7),
    ("LONGEST", 7),
];
const GPU: usize = 9;
const MODE: usize = 7;
const STATE: usize = 11;
/// The last of the numbers is there when the terminal is wider than this.
const WIDE: usize = 99;

/// A heading and the nodes, those in trouble first where there is not room for all.
pub fn lines(state: &State, palette: Palette, width: usize, height: u16) -> Vec<Line<'static>> {
    let Some(look) = &state.look else {
        return Vec::new();
    };
    if look.nodes.is_empty() {
        return vec![Line::raw(
            "no AMD GPU with KFD is there yet; the module waits for one",
        )];
    }
    let mut room = usize::from(height).saturating_sub(1);
    let mut nodes: Vec<&Node> = look.nodes.iter().collect();
    let wanted: usize = nodes
        .iter()
        .map(|node| 1 + usize::from(trouble(node).is_some()))
        .sum();
    let all_fit = wanted <= room;
    if !all_fit {
        nodes.sort_by_key(|node| {
            (
                node.state == "armed",
                (node.waiting, node.stopped) == (0, 0),
            )
        });
        room = room.saturating_sub(1);
    }
    let gpu = nodes
        .iter()
        .map(|node| width_of(&short(&node.gpu, node.node)))
        .max();
    let gpu = gpu.unwrap_or(0).clamp(GPU, 14);
    let mut lines = vec![heading(palette, gpu, width)];
    let mut shown = 0;
    for node in &nodes {
        let history = state.histories.get(&(node.gpu.clone(), node.node));
        let mut own = vec![line(state, node, history, palette, (gpu, width))];
        own.extend(
            trouble(node).map(|text| Line::styled(format!("  ! {text}"), palette.ink(Color::Red))),
        );
        if lines.len() + own.len() > room + 1 {
            break;
        }
        lines.extend(own);
        shown += 1;
    }
    if !all_fit {
        let rest = &nodes[shown..];
        let bad = rest.iter().filter(|node| node.state != "armed").count();
        lines.push(Line::raw(format!(
            "and {} more nodes, {bad} of them not armed",
            rest.len()
        )));
    }
    lines
}

fn columns(width: usize) -> impl Iterator<Item = (&'static str, usize)> {
    NUMBERS
        .into_iter()
        .filter(move |(name, _)| *name != "LONGEST" || width > WIDE)
}

fn heading(palette: Palette, gpu: usize, width: usize) -> Line<'static> {
    let mut text = format!(
        "{} {} {}",
        left("GPU", gpu),
        left("MODE", MODE),
        left("STATE", STATE)
    );
    for (name, places) in columns(width) {
        text.push_str(&format!(" {}", right(name, places)));
    }
    text.push_str(" LAST 3 MIN");
    Line::styled(text, palette.head())
}

fn line(
    state: &State,
    node: &Node,
    history: Option<&History>,
    palette: Palette,
    (gpu, width): (usize, usize),
) -> Line<'static> {
    let took = |time: Option<u64>| time.map_or_else(|| "-".to_owned(), duration);
    let none = History::default();
    let history = history.unwrap_or(&none);
    let values = [
        node.running.to_string(),
        node.waiting.to_string(),
        node.stopped.to_string(),
        rate(history.stops_per_s),
        rate(history.failures_per_s),
        took(history.last()),
        took(history.most()),
    ];
    let mut spans = vec![
        Span::raw(left(&short(&node.gpu, node.node), gpu)),
        Span::raw(format!(" {} ", left(&clean(&node.mode), MODE))),
        span(left(&clean(&node.state), STATE), palette.state(&node.state)),
    ];
    for ((_, places), value) in columns(width).zip(values) {
        spans.push(Span::raw(format!(" {}", right(&value, places))));
    }
    let taken: usize = spans.iter().map(Span::width).sum();
    spans.push(Span::raw(format!(
        " {}",
        curve(state, history, palette, width.saturating_sub(taken + 1))
    )));
    Line::from(spans)
}

const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const PLAIN_STEPS: [char; 8] = ['1', '2', '3', '4', '5', '6', '7', '8'];

/// What preemption took over the last minutes; a place without any is blank.
fn curve(state: &State, history: &History, palette: Palette, places: usize) -> String {
    let steps = if palette.unicode { STEPS } else { PLAIN_STEPS };
    let most = u128::from(history.most().unwrap_or(0).max(1));
    let step = |took: u64| {
        let at = (u128::from(took) * 8).div_ceil(most).clamp(1, 8);
        steps[at as usize - 1]
    };
    let line = history.line(state.now, places);
    line.into_iter()
        .map(|took| took.map_or(' ', step))
        .collect()
}
