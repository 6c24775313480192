// SPDX-License-Identifier: GPL-2.0-only
//! Whatever is pressed, whatever the tables say and however large the terminal is.

use super::*;
use gpreempt_operator::host::tree::Refusal;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Key(KeyCode, bool),
    Size(u16, u16),
    Look(Look),
    Fail(String),
    Wait(u64),
    Answer(bool),
}

fn key() -> impl Strategy<Value = KeyCode> {
    let named = prop::sample::select(vec![
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::Tab,
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Backspace,
        KeyCode::F(1),
    ]);
    let letters = "qh?/rkjgG<>ipamd+- y123n".chars().map(KeyCode::Char);
    prop_oneof![
        4 => named,
        6 => prop::sample::select(letters.collect::<Vec<_>>()),
        1 => any::<char>().prop_map(KeyCode::Char),
    ]
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..20_u64, any::<u64>()]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]{0,3}", ".{0,20}", any::<String>()]
}

fn any_queue() -> impl Strategy<Value = Queue> {
    let states = ["idle", "running", "waiting", "stopped", "starting", "held"];
    let state = prop_oneof![
        9 => prop::sample::select(states.to_vec()).prop_map(String::from),
        1 => name(),
    ];
    let who = (name(), 0..3_u64, -1..5_i64, 0..4_u64, name());
    let counts = (number(), number(), number(), number());
    (
        who,
        counts,
        state,
        any::<bool>(),
        prop::option::of(number()),
    )
        .prop_map(
            |(
                (gpu, node, pid, number, comm),
                (prio, stops, run, stopped),
                state,
                contends,
                rule,
            )| {
                Queue {
                    gpu,
                    node,
                    contends,
                    rule,
                    eff_prio: prio,
                    stops,
                    run_ns: run,
                    stopped_ns: stopped,
                    ..queue(pid, &comm, number, &state)
                }
            },
        )
}

fn any_node() -> impl Strategy<Value = (Node, NodeLatencies)> {
    (
        name(),
        0..3_u64,
        name(),
        number(),
        number(),
        prop::option::of(name()),
    )
        .prop_map(|(gpu, number, state, count, sum, failure)| {
            let mut latencies = latencies(count, sum);
            (latencies.gpu, latencies.node) = (gpu.clone(), number);
            let node = Node {
                gpu,
                node: number,
                state,
                stops: count,
                failures: sum,
                waiting: count,
                stopped: sum,
                last_failure: failure,
                ..node()
            };
            (node, latencies)
        })
}

fn any_look() -> impl Strategy<Value = Look> {
    let queues = prop::collection::vec(any_queue(), 0..12);
    let nodes = prop::collection::vec(any_node(), 0..5);
    let rules = prop::collection::vec((any::<u32>(), name()), 0..4);
    let left = prop::collection::vec((0..6_i64, name(), number()), 0..3);
    let more = (name(), prop::option::of(name()), prop::option::of(name()));
    (queues, nodes, rules, left, more).prop_map(|(queues, nodes, rules, left, more)| {
        let (nodes, latencies) = nodes.into_iter().unzip();
        let left = left.iter();
        Look {
            mode: more.0.clone(),
            cgroups: queues
                .iter()
                .map(|queue| (queue.pid, more.0.clone()))
                .collect(),
            queues,
            nodes,
            latencies,
            rules: rules.iter().map(|(id, text)| rule(*id, text)).collect(),
            left_out: left
                .map(|(pid, comm, number)| left_out(*pid, comm, *number))
                .collect(),
            read_only: more.1,
            lacks: more.2,
            ..look()
        }
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (key(), prop::bool::weighted(0.05)).prop_map(|(key, control)| Step::Key(key, control)),
        2 => (0..130_u16, 0..50_u16).prop_map(|(width, height)| Step::Size(width, height)),
        1 => (0..6_u16, 0..6_u16).prop_map(|(width, height)| Step::Size(width, height)),
        4 => any_look().prop_map(Step::Look),
        1 => name().prop_map(Step::Fail),
        2 => (0..200_000_u64).prop_map(Step::Wait),
        1 => any::<bool>().prop_map(Step::Answer),
    ]
}

/// No cell of the picture has what a terminal would take for a command.
fn is_harmless(state: &State, palette: Palette) -> Result<(), TestCaseError> {
    if state.size.0 == 0 || state.size.1 == 0 {
        return Ok(());
    }
    for line in picture(state, palette) {
        let bad = line.chars().find(|character| character.is_control());
        prop_assert_eq!(bad, None, "{:?}", line);
        prop_assert!(palette.unicode || !line.contains(['▁', '█']), "{}", line);
    }
    prop_assert!(state.selected < state.lines().max(1));
    prop_assert!(state.first <= state.selected);
    prop_assert!(state.selected < state.first + state.page());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_and_nothing_commands_the_terminal(
        steps in prop::collection::vec(step(), 1..40),
        unicode in any::<bool>(),
        colour in any::<bool>(),
    ) {
        let mut state = State::new(Duration::from_secs(1), (80, 24));
        let mut asked = None;
        for step in steps {
            match step {
                Step::Key(code, control) => {
                    let modifiers = match control {
                        true => KeyModifiers::CONTROL,
                        false => KeyModifiers::NONE,
                    };
                    let is_yes = code == KeyCode::Char('y') && !control;
                    if let Some(Act::Change(change)) = state.press(KeyEvent::new(code, modifiers)) {
                        prop_assert!(is_yes, "only y changes anything: {:?}", change);
                        asked = Some(change);
                    }
                }
                Step::Size(width, height) => {
                    state.size = (width, height);
                    state.settle();
                }
                Step::Look(look) => state.take(Ok(look)),
                Step::Fail(why) => state.take(Err(Refusal(why))),
                Step::Wait(millis) => {
                    state.now += Duration::from_millis(millis);
                    state.is_due();
                }
                Step::Answer(good) => {
                    let result = if good { Ok(()) } else { Err(Refusal::new("no\u{1b}")) };
                    if let Some(change) = asked.take() {
                        state.changed(&change, result);
                    }
                }
            }
            is_harmless(&state, Palette { colour, unicode })?;
        }
    }
}
