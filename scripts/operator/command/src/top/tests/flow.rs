// SPDX-License-Identifier: GPL-2.0-only
//! What is asked before something is changed.

use super::*;
use crate::cli::Mode;
use crate::top::draft::Process;
use crate::top::question::{Change, Seen};
use crate::top::state::{Entry, View};
use gpreempt_operator::host::tree::Refusal;
use gpreempt_operator::words::rule::Rule;

fn last(state: &State) -> String {
    picture(state, PLAIN).pop().unwrap()
}

/// What the keys lead to, of which the last alone may do something.
fn after(state: &mut State, keys: &[KeyCode]) -> Option<Act> {
    let (last, before) = keys.split_last().unwrap();
    for key in before {
        assert_eq!(press(state, *key), None, "{key:?}");
    }
    press(state, *last)
}

const C: fn(char) -> KeyCode = KeyCode::Char;

/// The change that adds a rule where the number has been free.
fn add(text: &str, process: Option<Process>) -> Change {
    let seen = Seen {
        rule: None,
        process,
    };
    Change::Add(Rule::parse(text).unwrap(), seen)
}

fn process(pid: i64) -> Option<Process> {
    let started = None;
    Some(Process { pid, started })
}

#[test]
fn a_rule_is_added_after_a_yes_with_the_words_that_were_shown() {
    let mut state = shown(80, 24);
    let ask = [KeyCode::End, C('a'), C('3'), KeyCode::Enter];
    assert_eq!(after(&mut state, &ask), None);
    let lines = picture(&state, PLAIN);
    assert_eq!(
        lines[22..],
        [
            "Write '20 pid=20 prio=3' to /sys/devices/faux/amd_gpreempt/rules_add? y does it,",
            "n does not."
        ]
    );
    assert_eq!(
        press(&mut state, C('y')),
        Some(Act::Change(add("20 pid=20 prio=3", process(20))))
    );
    assert_eq!(
        last(&state),
        "writing '20 pid=20 prio=3' to /sys/devices/faux/amd_gpreempt/rules_add"
    );
    state.changed(&add("20 pid=20 prio=3", process(20)), Ok(()));
    assert_eq!(
        last(&state),
        "written: '20 pid=20 prio=3' to /sys/devices/faux/amd_gpreempt/rules_add"
    );
}

#[test]
fn an_exemption_is_for_whom_tab_names() {
    let mut state = shown(80, 24);
    let keys = [
        KeyCode::End,
        C('a'),
        KeyCode::Tab,
        KeyCode::Up,
        KeyCode::Enter,
        C('y'),
    ];
    let change = add("20 comm=train exempt", None);
    assert_eq!(after(&mut state, &keys), Some(Act::Change(change)));
}

#[test]
fn a_question_goes_with_what_was_seen_when_it_was_asked() {
    let started = |look: &mut Look, time| look.started.extend([(20, time), (30, time), (9, 5)]);
    let seen = |rule: Option<&str>, process| Seen {
        rule: rule.map(String::from),
        process,
    };
    let of = |pid, started| Some(Process { pid, started });
    let control = KeyEvent::new(C('u'), KeyModifiers::CONTROL);
    for (text, expected) in [
        // The draft was begun for process 20, when that was another one.
        ("5 pid=20 exempt", seen(None, of(20, Some(1)))),
        ("4 pid=20 exempt", seen(Some("4 new"), of(20, Some(1)))),
        ("5 pid=30 exempt", seen(None, of(30, Some(2)))),
        ("5 pid=31 exempt", seen(None, None)),
        ("5 comm=x exempt", seen(None, None)),
    ] {
        let mut state = shown(80, 24);
        let mut look = later();
        started(&mut look, 1);
        state.take(Ok(look.clone()));
        after(&mut state, &[KeyCode::End, C('a')]);
        state.press(control);
        types(&mut state, text);
        started(&mut look, 2);
        look.rules[0].text = "4 new".into();
        state.take(Ok(look.clone()));
        assert_eq!(press(&mut state, KeyCode::Enter), None);
        // What comes after the question is not what was asked about.
        started(&mut look, 3);
        look.rules[0].text = "4 newer".into();
        state.take(Ok(look));
        let change = Change::Add(Rule::parse(text).unwrap(), expected);
        assert_eq!(press(&mut state, C('y')), Some(Act::Change(change)));
    }
    let mut state = shown(80, 24);
    after(&mut state, &[C('d')]);
    let mut look = later();
    look.rules[0].text = "4 new".into();
    state.take(Ok(look));
    let change = Change::Delete(4, seen(Some("4 comm=infer prio=12"), None));
    assert_eq!(press(&mut state, C('y')), Some(Act::Change(change)));
}

#[test]
fn the_number_lets_a_rule_apply_where_another_does() {
    let mut state = shown(80, 24);
    let keys = [C('a'), C('1'), KeyCode::Enter, C('y')];
    let change = add("3 pid=10 prio=1", process(10));
    assert_eq!(after(&mut state, &keys), Some(Act::Change(change)));
}

#[test]
fn nothing_but_y_does_anything() {
    for no in [C('n'), C('q'), KeyCode::Esc] {
        let mut state = shown(80, 24);
        let keys = [C('m'), C('1'), no];
        assert_eq!(after(&mut state, &keys), None);
        assert_eq!(state.entry, Entry::Table);
        assert_eq!(last(&state), "nothing was written");
        assert_eq!(press(&mut state, C('y')), None, "it is too late");
    }
    let mut state = shown(80, 24);
    after(&mut state, &[C('m'), C('1')]);
    for other in [
        C('Y'),
        C('j'),
        KeyCode::Enter,
        KeyCode::Up,
        C(' '),
        KeyCode::Tab,
    ] {
        assert_eq!(press(&mut state, other), None);
        assert!(matches!(state.entry, Entry::Question(..)), "{other:?}");
    }
    let control = KeyEvent::new(C('y'), KeyModifiers::CONTROL);
    assert_eq!(state.press(control), None);
    assert!(matches!(state.entry, Entry::Question(..)));
}

#[test]
fn each_mode_can_be_chosen_and_none() {
    for (key, mode) in [('1', Mode::Off), ('2', Mode::Observe), ('3', Mode::Enforce)] {
        let mut state = shown(80, 24);
        assert_eq!(
            after(&mut state, &[C('m'), C(key), C('y')]),
            Some(Act::Change(Change::Mode(mode)))
        );
    }
    let mut state = shown(80, 24);
    assert_eq!(after(&mut state, &[C('m'), C('4')]), None);
    assert_eq!(state.entry, Entry::Modes);
    assert_eq!(after(&mut state, &[KeyCode::Esc]), None);
    assert_eq!(state.entry, Entry::Table);
}

#[test]
fn a_refusal_of_the_kernel_is_shown_and_clean() {
    let mut state = shown(80, 24);
    let refusal = Refusal::new("rules_add: Invalid argument\u{1b}[2J; the kernel log says why");
    state.changed(&Change::Delete(4, Seen::default()), Err(refusal));
    assert_eq!(
        last(&state),
        "refused: rules_add: Invalid argument?[2J; the kernel log says why"
    );
    press(&mut state, C('x'));
    assert!(
        last(&state).starts_with("q:quit"),
        "the next key takes it away"
    );
}

#[test]
fn a_rule_that_is_none_is_not_asked_about() {
    let mut state = shown(80, 24);
    after(&mut state, &[C('a'), KeyCode::Enter]);
    assert!(matches!(state.entry, Entry::Draft(_)));
    let lines = picture(&state, PLAIN).join(" ");
    assert!(
        lines.contains("prio= takes a number from 0 to 15"),
        "{lines}"
    );
    state.press(KeyEvent::new(C('u'), KeyModifiers::CONTROL));
    types(&mut state, "7 comm=x exempt");
    assert!(picture(&state, PLAIN)[22].contains("rule: 7 comm=x exempt_"));
    assert_eq!(
        after(&mut state, &[KeyCode::Backspace, KeyCode::Enter]),
        None
    );
    assert!(matches!(state.entry, Entry::Draft(_)), "'exemp' is no word");
    assert_eq!(press(&mut state, KeyCode::Esc), None);
    assert_eq!(state.entry, Entry::Table);
}

#[test]
fn the_rule_that_applies_is_deleted_or_the_selected_one() {
    let delete = |number| Some(Act::Change(Change::delete(number, &later())));
    let mut state = shown(80, 24);
    assert_eq!(after(&mut state, &[C('d'), C('y')]), delete(4));
    let mut state = shown(80, 24);
    assert_eq!(after(&mut state, &[KeyCode::End, C('d'), C('y')]), None);
    let mut state = shown(80, 24);
    after(&mut state, &[KeyCode::End, C('d')]);
    assert_eq!(last(&state), "no rule applies here: r lists all rules");
    after(&mut state, &[C('r'), KeyCode::Down]);
    assert_eq!(state.view, View::Rules);
    assert_eq!(after(&mut state, &[C('d'), C('y')]), delete(11));
    assert_eq!(after(&mut state, &[C('a')]), None);
    assert_eq!(
        last(&state),
        "select a queue or a process for the rule first: Tab lists them"
    );
}

#[test]
fn who_may_not_change_anything_is_told_so() {
    let mut state = shown(80, 24);
    let mut look = later();
    look.read_only = Some("cannot write rules_add: Read-only file system\u{7}".into());
    state.take(Ok(look));
    assert!(picture(&state, PLAIN)[0].contains("  READ-ONLY"));
    for key in ['m', 'a', 'd'] {
        assert_eq!(press(&mut state, C(key)), None);
        assert_eq!(state.entry, Entry::Table);
        assert_eq!(
            last(&state),
            "read-only: cannot write rules_add: Read-only file system?"
        );
    }
    state.take(Err(Refusal::new("gone")));
    press(&mut state, C('m'));
    assert_eq!(state.entry, Entry::Table);
    assert!(last(&state).contains("the module cannot be read"));
}

#[test]
fn a_question_that_cannot_be_read_cannot_be_answered() {
    for (size, fits) in [
        ((80, 2), true),
        ((80, 1), false),
        ((20, 4), false),
        ((20, 6), true),
    ] {
        let mut state = shown(80, 24);
        after(&mut state, &[C('m'), C('3')]);
        state.size = size;
        state.settle();
        assert_eq!(press(&mut state, C('y')).is_some(), fits, "{size:?}");
        if !fits {
            assert!(state.message.unwrap().contains("too small"));
        }
    }
}

#[test]
fn what_ends_the_view_ends_it() {
    let mut state = shown(80, 24);
    assert_eq!(press(&mut state, C('q')), Some(Act::Quit));
    assert_eq!(
        after(&mut state, &[C('?'), C('q')]),
        None,
        "it ends the help"
    );
    let control = |key| KeyEvent::new(C(key), KeyModifiers::CONTROL);
    after(&mut state, &[C('m'), C('3')]);
    assert_eq!(state.press(control('c')), Some(Act::Quit));
    assert_eq!(state.press(control('z')), Some(Act::Suspend));
    assert_eq!(press(&mut state, KeyCode::Esc), None);
}
