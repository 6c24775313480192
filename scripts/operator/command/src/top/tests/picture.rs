// SPDX-License-Identifier: GPL-2.0-only
//! What is seen, as text. Each line that is not blank has its number before it.

use super::*;
use ratatui::style::{Color, Modifier, Style};

const COLOURFUL: Palette = Palette {
    colour: true,
    unicode: true,
};

fn same(state: &State, palette: Palette, expected: &str) {
    let lines = picture(state, palette);
    let numbered = lines.iter().enumerate();
    let numbered = numbered.filter(|(_, line)| !line.is_empty());
    let numbered: Vec<String> = numbered
        .map(|(at, line)| format!("{at:2} {line}"))
        .collect();
    let numbered = numbered.join("\n");
    assert_eq!(numbered, expected.trim_matches('\n'), "\n{numbered}\n");
}

#[test]
fn everything_is_seen_at_80_by_24() {
    same(
        &shown(80, 24),
        PLAIN,
        r"
 0 enforce  3 queues: 1 run 1 wait 1 stopped  every 1 s  by EFF down
 1 GPU       MODE    STATE        RUN WAIT STOP STOPS/s FAIL/s PREEMPT LAST 3 MIN
 2 01:00.0/0 enforce armed          1    1    1      12      0   80 us            █
 3      PID PROGRAM     QUEUE EFF RULE STATE    TIME       STOPPED STOPS FOR/BEHIND
 4 >     10 infer           1  12    4 running  ##########    0 ns     0
 5       30 batch           7   7    - waiting  #####wwwww    0 ns     0 infer (10)
 6       20 train           1   2    - stopped  ###sssssss  750 ms     3 infer (10)
20 infer (10) queue 1 on 01:00.0/0: runs, or may be running
21 rule 4 comm=infer prio=12
22 lately ran 100%, waited 0%, stopped 0%; in all ran 1000 ms, stopped 0 ns
23 q:quit ?:help Tab:processes /:filter a:add d:delete r:rules m:mode p:pause
",
    );
}

#[test]
fn a_larger_terminal_has_longer_bars_and_a_longer_curve() {
    same(
        &shown(120, 40),
        PLAIN,
        r"
 0 enforce  3 queues: 1 run 1 wait 1 stopped  every 1 s  by EFF down
 1 GPU       MODE    STATE        RUN WAIT STOP STOPS/s FAIL/s PREEMPT LONGEST LAST 3 MIN
 2 01:00.0/0 enforce armed          1    1    1      12      0   80 us   80 us                                            █
 3      PID PROGRAM         QUEUE EFF RULE STATE    TIME                           STOPPED STOPS FOR/BEHIND
 4 >     10 infer               1  12    4 running  ##############################    0 ns     0
 5       30 batch               7   7    - waiting  ###############wwwwwwwwwwwwwww    0 ns     0 infer (10)
 6       20 train               1   2    - stopped  ########ssssssssssssssssssssss  750 ms     3 infer (10)
36 infer (10) queue 1 on 01:00.0/0: runs, or may be running
37 rule 4 comm=infer prio=12
38 lately ran 100%, waited 0%, stopped 0%; in all ran 1000 ms, stopped 0 ns
39 q:quit ?:help Tab:processes /:filter a:add d:delete r:rules m:mode p:pause
",
    );
}

#[test]
fn a_small_one_has_what_matters_most() {
    same(
        &shown(20, 5),
        PLAIN,
        r"
 0 enforce  3 queues: 1
 1  PROGRAM    STATE
 2 >infer      running
 3  batch      waiting
 4 q:quit ?:help Tab:pr
",
    );
    same(
        &shown(40, 12),
        PLAIN,
        r"
 0 enforce  3 queues: 1 run 1 wait 1 stoppe
 1 GPU       MODE    STATE        RUN WAIT
 2 01:00.0/0 enforce armed          1    1
 3      PID PROGRAM  EFF STATE    TIME
 4 >     10 infer     12 running  #########
 5       30 batch      7 waiting  #####wwww
 6       20 train      2 stopped  ##sssssss
10 infer (10) queue 1 on 01:00.0/0: runs, o
11 q:quit ?:help Tab:processes /:filter a:a
",
    );
}

#[test]
fn one_place_is_room_for_something() {
    same(
        &shown(1, 1),
        PLAIN,
        r"
 0 q
",
    );
}

#[test]
fn processes_have_their_queues_in_one_line() {
    let mut state = shown(80, 24);
    press(&mut state, KeyCode::Tab);
    press(&mut state, KeyCode::End);
    same(
        &state,
        PLAIN,
        r"
 0 enforce  3 queues: 1 run 1 wait 1 stopped  every 1 s  by EFF down
 1 GPU       MODE    STATE        RUN WAIT STOP STOPS/s FAIL/s PREEMPT LAST 3 MIN
 2 01:00.0/0 enforce armed          1    1    1      12      0   80 us            █
 3      PID PROGRAM     QUEUE EFF RULE STATE    TIME       STOPPED STOPS FOR/BEHIND
 4       10 infer           1  12    4 running  ##########    0 ns     0
 5       30 batch           1   7    - waiting  #####wwwww    0 ns     0 infer (10)
 6 >     20 train           1   2    - stopped  ###sssssss  750 ms     3 infer (10)
20 train (20): stopped for infer (10), since work of higher priority waited
21 no rule; cgroup /batch.slice
22 lately ran 25%, waited 0%, stopped 75%; in all ran 250 ms, stopped 750 ms
23 q:quit ?:help Tab:queues /:filter a:add d:delete r:rules m:mode p:pause
",
    );
}

#[test]
fn the_help_fits_a_usual_terminal() {
    let mut state = shown(80, 24);
    press(&mut state, KeyCode::Char('?'));
    let lines = picture(&state, PLAIN);
    assert_eq!(
        lines[1],
        "Up Down PgUp PgDn Home End   select a line        Tab   queues or processes"
    );
    assert_eq!(
        lines[19],
        "In the mode observe, stopped says what would be; nothing is touched."
    );
    assert!(lines.iter().all(|line| line.chars().count() < 80));
    press(&mut state, KeyCode::Char('x'));
    assert!(picture(&state, PLAIN)[1].starts_with("GPU"));
}

/// Several nodes, of which some are in trouble.
fn fleet(nodes: u64, width: u16, height: u16) -> State {
    let mut look = look();
    look.nodes = (0..nodes)
        .map(|number| Node {
            node: number,
            ..node()
        })
        .collect();
    if let [.., before, last] = look.nodes.as_mut_slice() {
        before.state = "disarmed".into();
        last.state = "refused".into();
        last.refusal = Some("the driver is another one\u{1b}".into());
    }
    look.left_out = vec![left_out(50, "late", 88)];
    look.lacks = Some("events.json is missing".into());
    let mut state = State::new(Duration::from_millis(500), (width, height));
    state.take(Ok(look));
    state
}

#[test]
fn nodes_in_trouble_say_why_and_come_first_where_there_is_not_room_for_all() {
    same(
        &fleet(2, 80, 24),
        PLAIN,
        r"
 0 enforce  3 queues: 1 run 1 wait 1 stopped  88 left alone  SOME TABLES MISSING  e
 1 GPU       MODE    STATE        RUN WAIT STOP STOPS/s FAIL/s PREEMPT LAST 3 MIN
 2 01:00.0/0 enforce disarmed       1    1    1       0      0       -
 3   ! 'gpreempt status' says how to arm it
 4 01:00.0/1 enforce refused        1    1    1       0      0       -
 5   ! refused: the driver is another one?
 6  GPU           PID PROGRAM      QUEUE EFF RULE STATE    TIME       STOPPED STOPS
 7 >01:00.0/0      10 infer            1  12    4 running                0 ns     0
 8  01:00.0/0      30 batch            7   7    - waiting                0 ns     0
 9  01:00.0/0      20 train            1   2    - stopped                0 ns     3
20 infer (10) queue 1 on 01:00.0/0: runs, or may be running
21 rule 4 comm=infer prio=12
22 in all ran 0 ns, stopped 0 ns
23 events.json is missing
",
    );
    same(
        &fleet(64, 80, 24),
        PLAIN,
        r"
 0 enforce  3 queues: 1 run 1 wait 1 stopped  88 left alone  SOME TABLES MISSING  e
 1 GPU        MODE    STATE        RUN WAIT STOP STOPS/s FAIL/s PREEMPT LAST 3 MIN
 2 01:00.0/62 enforce disarmed       1    1    1       0      0       -
 3   ! 'gpreempt status' says how to arm it
 4 01:00.0/63 enforce refused        1    1    1       0      0       -
 5   ! refused: the driver is another one?
 6 01:00.0/0  enforce armed          1    1    1       0      0       -
 7 and 61 more nodes, 0 of them not armed
 8  GPU           PID PROGRAM      QUEUE EFF RULE STATE    TIME       STOPPED STOPS
 9 >01:00.0/0      10 infer            1  12    4 running                0 ns     0
10  01:00.0/0      30 batch            7   7    - waiting                0 ns     0
11  01:00.0/0      20 train            1   2    - stopped                0 ns     3
20 infer (10) queue 1 on 01:00.0/0: runs, or may be running
21 rule 4 comm=infer prio=12
22 in all ran 0 ns, stopped 0 ns
23 events.json is missing
",
    );
}

#[test]
fn without_a_gpu_that_is_said() {
    let mut state = State::new(Duration::from_secs(1), (80, 24));
    assert!(picture(&state, PLAIN)[0].starts_with("looking for the first time"));
    state.take(Ok(Look::default()));
    let lines = picture(&state, PLAIN);
    assert!(lines[0].starts_with("  0 queues: 0 run"), "{lines:?}");
    assert_eq!(
        lines[1],
        "no AMD GPU with KFD is there yet; the module waits for one"
    );
}

#[test]
fn a_terminal_with_ascii_alone_gets_no_more() {
    let plain = Palette {
        colour: false,
        unicode: false,
    };
    for line in picture(&shown(80, 24), plain) {
        assert!(line.is_ascii(), "{line}");
    }
    assert!(picture(&shown(80, 24), plain)[2].ends_with("            8"));
}

/// The styles that are there.
fn styles(palette: Palette) -> Vec<Style> {
    let state = shown(80, 24);
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| draw(frame, &state, palette)).unwrap();
    let cells = terminal.backend().buffer().content().iter();
    cells.map(|cell| cell.style()).collect()
}

#[test]
fn colours_say_what_words_say_and_can_be_left_out() {
    let has = |palette, colour| {
        let all = styles(palette);
        all.iter().any(|style| style.fg == Some(colour))
    };
    for colour in [Color::Green, Color::Yellow, Color::Red] {
        assert!(has(COLOURFUL, colour), "{colour:?}");
        assert!(!has(PLAIN, colour), "{colour:?}");
    }
    let reset = |style: &Style| style.fg == Some(Color::Reset) && style.bg == Some(Color::Reset);
    assert!(styles(PLAIN).iter().all(reset));
    let selected = |style: &&Style| style.add_modifier.contains(Modifier::REVERSED);
    assert_eq!(
        styles(PLAIN).iter().filter(selected).count(),
        80,
        "one line"
    );
    let (with, without) = (shown(80, 24), shown(80, 24));
    assert_eq!(picture(&with, COLOURFUL), picture(&without, PLAIN));
}

#[test]
fn what_a_program_calls_itself_cannot_command_the_terminal() {
    let mut look = later();
    look.queues[1].comm = "\u{1b}[31mred\u{7}\u{9b}".into();
    look.mode = "\u{1b}c".into();
    look.nodes[0].last_failure = Some("\r\n\u{1b}]0;x".into());
    look.rules[0].text = "4 \u{1b}[H".into();
    look.cgroups.insert(10, "/\u{202e}\u{1b}".into());
    let mut state = shown(80, 24);
    state.take(Ok(look));
    let text = picture(&state, PLAIN).join("\n");
    assert!(
        text.contains("?[31mred??") && text.contains("?c  3 queues"),
        "{text}"
    );
    assert!(text.contains("! last failure: ???]0;x"), "{text}");
    assert!(text.contains("rule 4 ?[H; cgroup /??"), "{text}");
    let bad =
        |character: char| character != '\n' && (character.is_control() || character == '\u{202e}');
    assert!(!text.contains(bad), "{text:?}");
}

#[test]
fn a_queue_that_takes_no_part_has_a_mark() {
    let mut state = shown(80, 24);
    assert!(!picture(&state, PLAIN).join("\n").contains('*'));
    let mut look = later();
    look.queues[0].contends = false;
    state.take(Ok(look));
    let lines = picture(&state, PLAIN);
    assert!(
        lines[6].contains("train") && lines[6].contains(" stopped* "),
        "{lines:?}"
    );
}
