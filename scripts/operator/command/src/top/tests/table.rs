// SPDX-License-Identifier: GPL-2.0-only
//! The lines of the table: order, filter, pages and what is selected.

use super::*;
use crate::top::rows::{Column, Sort, COLUMNS};
use crate::top::state::View;
use gpreempt_operator::host::tree::Refusal;

fn pids(state: &State) -> Vec<i64> {
    state.rows.iter().map(|row| row.key.pid).collect()
}

fn sorted(column: Column) -> (Vec<i64>, Vec<i64>) {
    let mut state = shown(80, 24);
    state.sort = Sort::by(column);
    state.refresh();
    let usual = pids(&state);
    press(&mut state, KeyCode::Char('i'));
    (usual, pids(&state))
}

#[test]
fn each_column_sorts_and_the_other_way_round() {
    for (column, usual, other) in [
        (Column::Pid, [10, 20, 30], [30, 20, 10]),
        (Column::Program, [30, 10, 20], [20, 10, 30]),
        (Column::Queue, [10, 20, 30], [30, 10, 20]),
        (Column::Priority, [10, 30, 20], [20, 30, 10]),
        (Column::Rule, [10, 20, 30], [20, 30, 10]),
        (Column::State, [10, 20, 30], [30, 20, 10]),
        (Column::Time, [10, 30, 20], [20, 30, 10]),
        (Column::Stopped, [20, 10, 30], [10, 30, 20]),
        (Column::Stops, [20, 10, 30], [10, 30, 20]),
        (Column::Gpu, [10, 20, 30], [10, 20, 30]),
    ] {
        assert_eq!(
            sorted(column),
            (usual.to_vec(), other.to_vec()),
            "{column:?}"
        );
    }
}

#[test]
fn keys_go_round_all_columns() {
    let mut state = shown(80, 24);
    let first = state.sort;
    for _ in 0..COLUMNS.len() {
        press(&mut state, KeyCode::Right);
    }
    assert_eq!(state.sort, first);
    press(&mut state, KeyCode::Left);
    assert_eq!(state.sort.column, Column::Queue);
    assert!(
        !state.sort.falling,
        "numbers of queues begin with the least"
    );
    press(&mut state, KeyCode::Char('>'));
    assert_eq!(state.sort, first);
}

#[test]
fn a_filter_goes_by_name_pid_cgroup_gpu_and_state() {
    for (filter, left) in [
        ("", &[10, 30, 20][..]),
        ("TRAIN", &[20]),
        ("30", &[30]),
        ("batch", &[30, 20]),
        ("batch.slice", &[20]),
        ("01:00.0/0 stopped", &[20]),
        ("01:00.0/1", &[]),
        ("train infer", &[]),
    ] {
        let mut state = shown(80, 24);
        press(&mut state, KeyCode::Char('/'));
        types(&mut state, filter);
        press(&mut state, KeyCode::Enter);
        assert_eq!(pids(&state), left, "{filter}");
        press(&mut state, KeyCode::Esc);
        assert_eq!(pids(&state).len(), 3);
    }
}

#[test]
fn a_filter_is_edited_and_given_up() {
    let mut state = shown(80, 24);
    press(&mut state, KeyCode::Char('/'));
    types(&mut state, "qqtrain");
    assert!(pids(&state).is_empty(), "q is a letter here");
    assert_eq!(
        picture(&state, PLAIN)[23],
        "filter: qqtrain_  (Enter keeps it, Esc clears it)"
    );
    state.press(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
    assert_eq!(state.filter, "");
    types(&mut state, "trainx");
    press(&mut state, KeyCode::Backspace);
    assert_eq!(pids(&state), [20]);
    press(&mut state, KeyCode::Esc);
    assert_eq!((state.filter.as_str(), pids(&state).len()), ("", 3));
}

#[test]
fn pages_end_with_the_last_line() {
    let mut state = crowd(1024, 24);
    let page = state.page();
    assert_eq!(page, 16);
    for (key, selected, first) in [
        (KeyCode::Up, 0, 0),
        (KeyCode::PageDown, 16, 1),
        (KeyCode::PageDown, 32, 17),
        (KeyCode::Up, 31, 17),
        (KeyCode::PageUp, 15, 15),
        (KeyCode::PageUp, 0, 0),
        (KeyCode::End, 1023, 1008),
        (KeyCode::Down, 1023, 1008),
        (KeyCode::PageDown, 1023, 1008),
        (KeyCode::Home, 0, 0),
    ] {
        press(&mut state, key);
        assert_eq!((state.selected, state.first), (selected, first), "{key:?}");
    }
    press(&mut state, KeyCode::End);
    state.size = (80, 5);
    state.settle();
    assert_eq!((state.page(), state.first), (2, 1022));
    assert!(picture(&state, PLAIN)[3].contains("1024"));
}

#[test]
fn a_table_of_exactly_a_page_does_not_scroll() {
    for (queues, first) in [(15, 0), (16, 0), (17, 1)] {
        let mut state = crowd(queues, 24);
        press(&mut state, KeyCode::End);
        assert_eq!((state.lines(), state.first), (queues as usize, first));
    }
    let mut none = crowd(0, 24);
    for key in [KeyCode::End, KeyCode::PageDown, KeyCode::Up, KeyCode::Home] {
        press(&mut none, key);
        assert_eq!((none.selected, none.first), (0, 0));
    }
}

#[test]
fn what_was_selected_by_hand_is_followed_and_the_first_line_is_not() {
    let mut state = shown(80, 24);
    assert_eq!(state.row().unwrap().key.pid, 10);
    let mut other = later();
    other.queues[0].eff_prio = 15;
    state.take(Ok(other.clone()));
    assert_eq!(state.row().unwrap().key.pid, 20, "the first line is");
    press(&mut state, KeyCode::Down);
    assert_eq!(state.row().unwrap().key.pid, 10);
    other.queues[1].eff_prio = 0;
    state.take(Ok(other.clone()));
    assert_eq!((state.selected, state.row().unwrap().key.pid), (2, 10));
    other.queues.remove(1);
    state.take(Ok(other));
    assert_eq!(state.selected, 1, "it is gone, and the nearest is selected");
}

#[test]
fn a_process_has_the_sums_of_its_queues() {
    let mut look = look();
    let mut second = queue(20, "train", 2, "running");
    (second.node, second.stops, second.eff_prio) = (1, 4, 9);
    look.queues.push(second);
    look.queues.push(queue(20, "train", 3, "idle"));
    look.left_out = vec![left_out(20, "train", 5), left_out(40, "late", 8)];
    let mut state = State::new(Duration::from_secs(1), (80, 24));
    state.take(Ok(look));
    press(&mut state, KeyCode::Tab);
    assert_eq!(state.view, View::Processes);
    assert_eq!(pids(&state), [10, 20, 30, 40]);
    let train = &state.rows[1];
    assert_eq!(
        (
            train.number,
            train.stops,
            train.priority,
            train.gpu.as_str()
        ),
        (3, 7, 9, "2 nodes")
    );
    assert_eq!(train.state, "1s 1r");
    assert_eq!(
        train.why,
        "its queue 1 stopped for infer (10), since work of higher priority waited; \
         5 more queues are left alone for want of room"
    );
    let late = &state.rows[3];
    assert_eq!(
        (late.state.as_str(), late.why.as_str()),
        ("unseen", "its 8 queues are left alone for want of room")
    );
    press(&mut state, KeyCode::Tab);
    assert_eq!(state.view, View::Queues);
}

#[test]
fn each_state_is_explained() {
    let why = |change: fn(&mut Look), pid: i64| {
        let mut look = look();
        change(&mut look);
        let row = rows(&look).into_iter().find(|row| row.key.pid == pid);
        let row = row.unwrap();
        (row.whom, row.why)
    };
    let case = |change, pid, whom: &str, text: &str| {
        assert_eq!(why(change, pid), (whom.to_owned(), text.to_owned()));
    };
    case(
        |_| (),
        20,
        "infer (10)",
        "stopped for infer (10), since work of higher priority waited",
    );
    case(
        |look| {
            look.events[0].fate = "observed".into();
            look.events[0].beneficiary = None;
        },
        20,
        "",
        "would be stopped, since work of higher priority waited",
    );
    case(
        |look| {
            let mut newer = stop(20, 77);
            (newer.time_ns, newer.reason) = (6, "rotation".into());
            look.events.insert(0, newer);
        },
        20,
        "process 77",
        "stopped for process 77, since others of its level waited and its turn was over",
    );
    case(
        |look| look.events.clear(),
        20,
        "",
        "stopped; why is not among the last 512 decisions of its node",
    );
    case(
        |_| (),
        30,
        "infer (10)",
        "waits while infer (10) runs with priority 12",
    );
    case(
        |look| look.queues[1].node = 3,
        30,
        "",
        "waits, and no other process runs on its node",
    );
    case(
        |look| look.queues[2].contends = false,
        30,
        "",
        "waiting; it takes no part: a rule exempts it, it belongs to the runtime, or it cannot \
         be stopped",
    );
    case(
        |look| look.queues[2].state = "new\u{1b}".into(),
        30,
        "",
        "is new?",
    );
}

#[test]
fn the_rules_are_listed_with_those_that_they_are_for() {
    let mut state = shown(80, 24);
    let mut look = later();
    look.rules[1].dead = true;
    state.take(Ok(look));
    press(&mut state, KeyCode::Char('r'));
    let lines = picture(&state, PLAIN);
    assert_eq!(
        lines[3..6],
        [
            " QUEUES  RULE",
            ">     1  4 comm=infer prio=12",
            "      0  11 cgroup=/gone exempt  (dead: its cgroup is gone)"
        ]
    );
    press(&mut state, KeyCode::Char('/'));
    types(&mut state, "GONE");
    assert_eq!(state.lines(), 1);
    press(&mut state, KeyCode::Enter);
    press(&mut state, KeyCode::Char('r'));
    assert_eq!(state.view, View::Queues);
}

#[test]
fn looks_are_due_after_the_interval_and_not_in_a_pause() {
    let second = Duration::from_secs(1);
    let mut state = State::new(second, (80, 24));
    assert!(state.is_due());
    assert!(!state.is_due(), "it is under way");
    state.take(Ok(look()));
    assert!(!state.is_due());
    state.now = second;
    assert!(state.is_due());
    state.now = 5 * second;
    assert_eq!(state.unanswered(), Some(4 * second).filter(|_| false));
    state.now = 6 * second;
    assert_eq!(state.unanswered(), Some(5 * second));
    assert!(picture(&state, PLAIN)[0].starts_with("NO ANSWER FOR 5 s  enforce"));
    state.take(Ok(look()));
    press(&mut state, KeyCode::Char('p'));
    state.now = 60 * second;
    assert!(!state.is_due());
    assert!(picture(&state, PLAIN)[0].contains("  PAUSED"));
    press(&mut state, KeyCode::Char(' '));
    assert!(state.is_due());
}

#[test]
fn the_interval_has_a_least_and_a_longest() {
    let mut state = State::new(Duration::ZERO, (80, 24));
    assert_eq!(state.interval, Duration::from_millis(100));
    press(&mut state, KeyCode::Char('-'));
    assert_eq!(state.interval, Duration::from_millis(100));
    for _ in 0..20 {
        press(&mut state, KeyCode::Char('+'));
    }
    assert_eq!(state.interval, Duration::from_secs(60));
    let mut between = State::new(Duration::from_millis(700), (80, 24));
    press(&mut between, KeyCode::Char('-'));
    assert_eq!(between.interval, Duration::from_millis(500));
}

#[test]
fn a_module_that_goes_and_comes_is_said_in_words() {
    let mut state = shown(80, 24);
    state.take(Err(Refusal::new(
        "the module is not loaded: modprobe amd_gpreempt",
    )));
    let lines = picture(&state, PLAIN);
    assert!(
        lines[0].starts_with("the module cannot be read  every 1 s"),
        "{lines:?}"
    );
    assert!(
        lines.iter().all(|line| !line.contains("train")),
        "{lines:?}"
    );
    assert_eq!(
        lines[1..4].join(" ").trim(),
        "the module is not loaded: modprobe amd_gpreempt. This view goes on looking and \
         shows the queues when it can; q quits."
    );
    state.now += Duration::from_secs(1);
    state.take(Ok(look()));
    let lines = picture(&state, PLAIN);
    assert!(
        lines[23].contains("the module can be read again"),
        "{lines:?}"
    );
    assert!(lines.iter().any(|line| line.contains("train")), "{lines:?}");
    assert!(
        state.rows[0].spent.is_none(),
        "what was before counts no more"
    );
}

#[test]
fn a_table_that_is_missing_is_said_once() {
    let mut state = shown(80, 24);
    let mut look = later();
    look.lacks = Some("events.json is missing".into());
    state.take(Ok(look.clone()));
    assert_eq!(state.message.as_deref(), Some("events.json is missing"));
    press(&mut state, KeyCode::Down);
    state.take(Ok(look.clone()));
    assert_eq!(state.message, None);
    state.take(Err(Refusal::new("gone")));
    state.take(Ok(look));
    let both = "the module can be read again; events.json is missing";
    assert_eq!(state.message.as_deref(), Some(both));
}

#[test]
fn a_stop_that_ended_between_two_looks_is_explained_too() {
    let mut state = State::new(Duration::from_secs(1), (80, 24));
    let mut look = look();
    look.queues[0].state = "running".into();
    state.take(Ok(look.clone()));
    let of = |state: &State| {
        let row = state.rows.iter().find(|row| row.key.pid == 20).unwrap();
        (row.whom.clone(), row.why.clone())
    };
    assert_eq!(
        of(&state),
        (String::new(), "runs, or may be running".into())
    );
    state.now = Duration::from_secs(1);
    look.queues[0].stopped_ns = 5;
    look.queues[0].stops += 1;
    state.take(Ok(look));
    let why = "runs, or may be running; lately stopped for infer (10), since work of higher \
               priority waited";
    assert_eq!(of(&state), ("infer (10)".into(), why.into()));
}
