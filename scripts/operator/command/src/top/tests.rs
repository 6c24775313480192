// SPDX-License-Identifier: GPL-2.0-only
//! A host for the tests of the view, and its picture.

mod chance;
mod change;
mod flow;
mod picture;
mod table;

use std::collections::BTreeMap;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use gpreempt_operator::host::tables::{
    Event, Histogram, LeftOut, Node, NodeLatencies, Queue, ShownRule,
};
use ratatui::backend::TestBackend;
use ratatui::Terminal;

use super::draw::{draw, Palette};
use super::keys::Act;
use super::look::Look;
use super::rows::{self, Row};
use super::spent::Accounts;
use super::state::State;

pub const GPU: &str = "0000:01:00.0";
pub const PLAIN: Palette = Palette {
    colour: false,
    unicode: true,
};

pub fn queue(pid: i64, comm: &str, queue: u64, state: &str) -> Queue {
    Queue {
        gpu: GPU.into(),
        pid,
        comm: comm.into(),
        queue,
        prio: 7,
        eff_prio: 7,
        contends: true,
        state: state.into(),
        ..Queue::default()
    }
}

pub fn node() -> Node {
    let text = format!(
        r#"{{"gpu":"{GPU}","node":0,"state":"armed","refusal":null,"last_failure":null,
        "mode":"enforce","sampler":"auto","backend":"hws","queues":3,
        "processes":2,"running":1,"waiting":1,"stopped":1,"inversions":3,"observed":0,"stops":3,
        "starts":2,"transactions":5,"failures":0,"exempt":0}}"#
    );
    serde_json::from_str(&text).unwrap()
}

/// Latencies of which each part of a preemption has the same.
pub fn latencies(count: u64, sum_ns: u64) -> NodeLatencies {
    let part = || Histogram {
        count,
        sum_ns,
        max_ns: sum_ns,
        buckets: Vec::new(),
    };
    NodeLatencies {
        gpu: GPU.into(),
        node: 0,
        detection: part(),
        unmap: part(),
        edit: part(),
        map: part(),
        stopped: part(),
        look: part(),
        pass: part(),
    }
}

pub fn rule(id: u32, text: &str) -> ShownRule {
    ShownRule {
        id,
        text: text.into(),
        name: None,
        dead: false,
    }
}

fn stop(pid: i64, beneficiary: i64) -> Event {
    let text = format!(
        r#"{{"time_ns":5,"gpu":"{GPU}","node":0,"pid":{pid},"queue":1,"eff_prio":2,
        "action":"stop","reason":"inversion","age_ns":5,"for":{{"pid":{beneficiary},"queue":1}},
        "fate":"done"}}"#
    );
    serde_json::from_str(&text).unwrap()
}

/// One process that runs, one that is stopped for it, and one that waits.
pub fn look() -> Look {
    let mut train = queue(20, "train", 1, "stopped");
    (train.eff_prio, train.stops) = (2, 3);
    let mut infer = queue(10, "infer", 1, "running");
    (infer.eff_prio, infer.rule) = (12, Some(4));
    Look {
        mode: "enforce".into(),
        nodes: vec![node()],
        queues: vec![train, infer, queue(30, "batch", 7, "waiting")],
        latencies: vec![latencies(1, 1000)],
        events: vec![stop(20, 10)],
        rules: vec![
            rule(4, "4 comm=infer prio=12"),
            rule(11, "11 cgroup=/gone exempt"),
        ],
        cgroups: BTreeMap::from([(20, "/batch.slice".into())]),
        ..Look::default()
    }
}

/// The same a second later, when something was stopped once more.
pub fn later() -> Look {
    let mut look = look();
    look.queues[0].run_ns = 250_000_000;
    look.queues[1].run_ns = 1_000_000_000;
    look.queues[2].run_ns = 500_000_000;
    look.nodes[0].stops += 12;
    look.latencies = vec![latencies(2, 21_000)];
    look
}

pub fn left_out(pid: i64, comm: &str, number: u64) -> LeftOut {
    LeftOut {
        gpu: GPU.into(),
        node: 0,
        pid,
        comm: comm.into(),
        queues: number,
        left_out: number,
    }
}

pub fn rows(look: &Look) -> Vec<Row> {
    rows::queues(look, &Accounts::default())
}

/// The view after two looks.
pub fn shown(width: u16, height: u16) -> State {
    let mut state = State::new(Duration::from_secs(1), (width, height));
    state.take(Ok(look()));
    state.now = Duration::from_secs(1);
    state.take(Ok(later()));
    state
}

/// A view of queues with these numbers, all of one program.
pub fn crowd(queues: u64, height: u16) -> State {
    let mut state = State::new(Duration::from_secs(1), (80, height));
    let all = (1..=queues).map(|number| queue(9, "crowd", number, "idle"));
    state.take(Ok(Look {
        queues: all.collect(),
        ..look()
    }));
    state
}

pub fn press(state: &mut State, code: KeyCode) -> Option<Act> {
    state.press(KeyEvent::new(code, KeyModifiers::NONE))
}

pub fn types(state: &mut State, text: &str) {
    for character in text.chars() {
        assert_eq!(press(state, KeyCode::Char(character)), None);
    }
}

/// The picture as lines without what is blank at their ends.
pub fn picture(state: &State, palette: Palette) -> Vec<String> {
    let (width, height) = state.size;
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state, palette)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| {
        let cells = (0..width).map(|x| buffer[(x, y)].symbol());
        cells.collect::<String>().trim_end().to_owned()
    };
    (0..height).map(line).collect()
}
