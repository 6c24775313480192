// SPDX-License-Identifier: GPL-2.0-only
//! The live view as a program on a terminal, with keys pressed and signals sent.

mod host;
mod screen;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use host::{Host, DEBUGFS, FAUX, QUEUES};
use nix::fcntl::OFlag;
use nix::pty::{grantpt, posix_openpt, ptsname_r, unlockpt};
use nix::sys::signal::{kill, Signal};
use nix::sys::stat::Mode;
use nix::sys::termios::{tcgetattr, Termios};
use nix::unistd::{mkfifo, Pid};

const EVENTS: &str = r#"{"schema":1,"events":[{"number":1,"time_ns":9,"gpu":"0000:01:00.0","node":0,"gpu_id":5,"pid":20,"queue":1,"prio":2,"eff_prio":2,"action":"stop","reason":"inversion","age_ns":3,"for":{"pid":10,"queue":1},"fate":"done","errno":0}]}"#;
const MODULE: &str = "sys/module/amd_gpreempt";
const LEAVES: &str = "\u{1b}[?1049l";
const SHOWS_THE_CURSOR: &str = "\u{1b}[?25h";

/// The program on a terminal of 80 by 24.
struct Run {
    child: Child,
    keys: File,
    terminal: File,
    before: Termios,
    said: Arc<Mutex<Vec<u8>>>,
}

/// A host with all tables and files that the view uses.
fn host() -> Host {
    let host = Host::with_module();
    host.file(&format!("{DEBUGFS}/events.json"), EVENTS);
    let latency = r#"{"schema":1,"nodes":[]}"#;
    host.file(&format!("{DEBUGFS}/latency.json"), latency);
    host.file(&format!("{FAUX}/rules_del"), "");
    host
}

/// Starts it on a terminal, by way of a program that may make this its session's.
fn begin(
    host: &Host,
    session: &[&str],
    line: &str,
    environment: &[(&str, &str)],
) -> (Child, File, File, Termios) {
    // No other program has its ends, so that it is gone when they are dropped here.
    let keys = posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC).unwrap();
    grantpt(&keys).unwrap();
    unlockpt(&keys).unwrap();
    let mut options = File::options();
    let options = options.read(true).write(true);
    let options = options.custom_flags(OFlag::O_NOCTTY.bits());
    let terminal = options.open(ptsname_r(&keys).unwrap()).unwrap();
    size(&terminal, 24, 80);
    let before = tcgetattr(&terminal).unwrap();
    let end = || Stdio::from(terminal.try_clone().unwrap());
    let child = Command::new(session[0])
        .args(&session[1..])
        .args([env!("CARGO_BIN_EXE_gpreempt"), "--root"])
        .arg(host.0.path())
        .args(line.split('|'))
        .env_remove("NO_COLOR")
        .env("TERM", "xterm-256color")
        .env("LC_ALL", "C.UTF-8")
        .envs(environment.iter().copied())
        .stdin(end())
        .stdout(end())
        .stderr(end())
        .spawn()
        .unwrap();
    let keys = File::from(OwnedFd::from(keys));
    (child, keys, terminal, before)
}

/// Starts it in a session of its own, whose terminal this is.
fn start(host: &Host, line: &str, environment: &[(&str, &str)]) -> Run {
    let (child, keys, terminal, before) = begin(host, &["setsid", "--ctty"], line, environment);
    let said = Arc::new(Mutex::new(Vec::new()));
    let mut from = keys.try_clone().unwrap();
    let to = said.clone();
    thread::spawn(move || {
        let mut part = [0; 4096];
        while let Ok(length @ 1..) = from.read(&mut part) {
            to.lock().unwrap().extend_from_slice(&part[..length]);
        }
    });
    Run {
        child,
        keys,
        terminal,
        before,
        said,
    }
}

fn size(terminal: &File, lines: u16, columns: u16) {
    let status = Command::new("stty")
        .args(["rows", &lines.to_string(), "cols", &columns.to_string()])
        .stdin(terminal.try_clone().unwrap())
        .status();
    assert!(status.unwrap().success());
}

fn usual(host: &Host) -> Run {
    let run = start(host, "top|--interval|0.1", &[]);
    run.waits_for("train");
    run
}

impl Drop for Run {
    /// A test that fails leaves nothing running.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Run {
    /// All that came to the terminal.
    fn said(&self) -> String {
        String::from_utf8_lossy(&self.said.lock().unwrap()).into_owned()
    }

    fn waits_for(&self, text: &str) {
        let end = Instant::now() + Duration::from_secs(60);
        while !self.said().contains(text) && !self.screen().contains(text) {
            assert!(Instant::now() < end, "no '{text}' in\n{}", self.screen());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// What somebody who looks at it sees.
    fn screen(&self) -> String {
        screen::text(&self.said())
    }

    fn forgets(&self) {
        self.said.lock().unwrap().clear();
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    fn gets(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    fn is_as_before(&self) {
        assert_eq!(tcgetattr(&self.terminal).unwrap(), self.before);
        let said = self.said();
        let last = said.rfind(LEAVES).expect(&said);
        assert!(said[last..].contains(SHOWS_THE_CURSOR), "{said:?}");
        assert!(!said[last..].contains("\u{1b}[?1049h"), "{said:?}");
    }

    /// How it ends, with the terminal as it was.
    fn ends(mut self) -> ExitStatus {
        let status = self.child.wait().unwrap();
        self.waits_for(SHOWS_THE_CURSOR);
        self.is_as_before();
        status
    }
}

#[test]
fn a_rule_is_written_after_y_and_not_after_n() {
    let host = host();
    let mut run = usual(&host);
    assert_ne!(
        tcgetattr(&run.terminal).unwrap(),
        run.before,
        "it has the terminal"
    );
    run.press("Ga3\r");
    run.waits_for("Write '10 pid=20 prio=3'");
    run.press("n");
    run.waits_for("nothing was written");
    assert_eq!(host.read(&format!("{FAUX}/rules_add")), "");
    run.press("a3\r");
    run.press("y");
    run.waits_for("written: ");
    assert_eq!(host.read(&format!("{FAUX}/rules_add")), "10 pid=20 prio=3");
    run.press("gdy");
    run.waits_for("rules_del");
    run.press("m3y");
    run.waits_for("parameters/mode");
    run.waits_for("enforce");
    run.press("q");
    assert!(run.ends().success());
    assert_eq!(host.read(&format!("{FAUX}/rules_del")), "4");
    assert_eq!(host.read(&format!("{MODULE}/parameters/mode")), "enforce");
}

#[test]
fn what_has_changed_since_the_question_is_not_written_over() {
    let host = host();
    let started = |time: u64| {
        let rest = "S 1 7 7 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0";
        host.file("proc/20/stat", &format!("20 (train) {rest} {time} 9\n"));
    };
    started(1);
    let mut run = usual(&host);
    run.press("Ga3\r");
    run.waits_for("Write '10 pid=20 prio=3'");
    let rules = r#"{"schema":1,"rules":[{"id":10,"text":"10 comm=x exempt","dead":false}]}"#;
    host.file(&format!("{DEBUGFS}/rules.json"), rules);
    run.press("y");
    run.waits_for("rule 10 has changed since the question");
    run.press("a3\r");
    run.waits_for("Write '20 pid=20 prio=3'");
    started(2);
    run.press("y");
    run.waits_for("process 20 is not the one that was shown");
    assert_eq!(host.read(&format!("{FAUX}/rules_add")), "");
    run.press("q");
    assert!(run.ends().success());
}

/// Somebody who goes on at once must not do so with tables of before the change.
#[test]
fn what_became_of_a_change_is_said_with_the_look_after_it() {
    let host = host();
    let mode = format!("{MODULE}/parameters/mode");
    let mut run = usual(&host);
    run.press("p");
    run.waits_for("PAUSED");
    run.press("m3y");
    run.waits_for("written: ");
    run.press("m3n");
    run.waits_for("nothing was written");
    // No look is under way now, and the next one has to wait.
    host.file(&mode, "observe");
    let queues = host.0.path().join(DEBUGFS).join("queues.json");
    fs::remove_file(&queues).unwrap();
    mkfifo(&queues, Mode::S_IRWXU).unwrap();
    run.press("m3y");
    while host.read(&mode) != "enforce" {
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(Duration::from_millis(200));
    assert!(!run.screen().contains("written: "), "{}", run.screen());
    fs::write(&queues, QUEUES).unwrap();
    run.waits_for("written: ");
    run.press("q");
    assert!(run.ends().success());
}

#[test]
fn the_numbers_of_what_was_applied_are_not_offered() {
    let host = host();
    let applied = "[[rule]]\nid = 10\nlabel = \"a=b\"\nprio = 3\n\n\
        [[rule]]\nid = 40\ncomm = \"x\"\nexempt = true\n";
    host.file("run/amd-gpreempt/applied.toml", applied);
    // It is for the module that is loaded.
    let module = fs::metadata(host.0.path().join(MODULE)).unwrap().ino();
    let given = format!(r#"{{"module":{module},"rules":[]}}"#);
    host.file("run/amd-gpreempt/given.json", &given);
    let mut run = usual(&host);
    run.press("Ga");
    run.waits_for("rule: 40 pid=20");
    run.press("\u{3}");
    assert!(run.ends().success());
}

#[test]
fn what_the_kernel_refuses_is_shown() {
    let host = host();
    let file = host.0.path().join(FAUX).join("rules_add");
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/dev/full", &file).unwrap();
    let mut run = usual(&host);
    run.press("a3\ry");
    run.waits_for("refused: ");
    run.waits_for("dmesg");
    run.press("q");
    assert!(run.ends().success());
}

#[test]
fn who_may_not_write_reads() {
    let host = host();
    fs::remove_file(host.0.path().join(FAUX).join("rules_del")).unwrap();
    let mut run = usual(&host);
    run.waits_for("READ-ONLY");
    run.waits_for("infer (10)");
    run.press("m");
    run.waits_for("rules_del");
    run.press("q");
    assert!(run.ends().success());
}

#[test]
fn each_signal_ends_it_and_leaves_the_terminal_as_it_was() {
    let host = host();
    for signal in [
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGINT,
        Signal::SIGQUIT,
    ] {
        let run = usual(&host);
        run.gets(signal);
        assert_eq!(run.ends().signal(), Some(signal as i32), "{signal}");
    }
    let mut run = usual(&host);
    run.press("\u{3}");
    assert!(run.ends().success());
}

#[test]
fn a_terminal_that_goes_away_takes_it_along() {
    let host = host();
    // With the signal that comes with that, and without.
    for session in [&["setsid", "--ctty"][..], &["env"]] {
        let (mut child, mut keys, terminal, _) = begin(&host, session, "top", &[]);
        let mut said = String::new();
        while !said.contains("train") {
            let mut part = [0; 4096];
            let length = keys.read(&mut part).unwrap();
            said.push_str(&String::from_utf8_lossy(&part[..length]));
        }
        drop((keys, terminal));
        assert!(!child.wait().unwrap().success());
    }
}

#[test]
fn it_can_be_left_for_a_while() {
    let host = host();
    let mut run = usual(&host);
    run.press("\u{1a}");
    run.waits_for(SHOWS_THE_CURSOR);
    let stat = format!("/proc/{}/stat", run.child.id());
    while !fs::read_to_string(&stat).unwrap().contains(") T ") {
        thread::sleep(Duration::from_millis(5));
    }
    run.is_as_before();
    run.forgets();
    run.gets(Signal::SIGCONT);
    run.waits_for("train");
    run.press("q");
    assert!(run.ends().success());
}

#[test]
fn the_module_may_go_and_come_back() {
    let host = host();
    let mut run = usual(&host);
    let (there, away) = (host.0.path().join(MODULE), host.0.path().join("away"));
    fs::rename(&there, &away).unwrap();
    run.waits_for("the module is not loaded");
    fs::rename(&away, &there).unwrap();
    run.waits_for("can be read again");
    run.press("q");
    assert!(run.ends().success());
}

#[test]
fn another_size_is_another_picture() {
    let host = host();
    let mut run = usual(&host);
    // Nothing of the first picture comes after this any more.
    run.waits_for("q:quit");
    run.forgets();
    size(&run.terminal, 40, 120);
    run.waits_for("q:quit");
    let screen = run.screen();
    let last = screen.lines().position(|line| line.starts_with("q:quit"));
    assert_eq!(last, Some(39), "{screen}");
    run.press("q");
    assert!(run.ends().success());
}

#[test]
fn colours_can_be_left_out() {
    let host = host();
    let colour = "\u{1b}[38;5;";
    for (line, environment, colourful) in [
        ("top", ("NO_COLOR", ""), true),
        ("top|--no-color", ("NO_COLOR", ""), false),
        ("top", ("NO_COLOR", "1"), false),
        ("top", ("TERM", "dumb"), false),
    ] {
        let mut run = start(&host, line, &[environment]);
        run.waits_for("train");
        run.press("q");
        let said = run.said.clone();
        assert!(run.ends().success());
        let said = String::from_utf8_lossy(&said.lock().unwrap()).into_owned();
        assert_eq!(said.contains(colour), colourful, "{line} {environment:?}");
    }
}

#[test]
fn names_cannot_command_the_terminal() {
    let host = host();
    let queues = QUEUES.replace("infer", "\\u001b]0;evil\\u0007");
    host.file(&format!("{DEBUGFS}/queues.json"), &queues);
    let mut run = usual(&host);
    run.waits_for("?]0;evil?");
    run.press("q");
    let said = run.said.clone();
    assert!(run.ends().success());
    let said = String::from_utf8_lossy(&said.lock().unwrap()).into_owned();
    assert!(
        !said.contains("\u{1b}]") && !said.contains('\u{7}'),
        "{said:?}"
    );
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let text = Host::with_module().refuses("top");
    for words in ["needs a terminal", "gpreempt status", "--json", "--once"] {
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn without_the_module_it_says_so_on_the_terminal_as_it_is() {
    let mut run = start(&Host::new(), "top", &[]);
    run.waits_for("modprobe amd_gpreempt");
    assert_eq!(run.child.wait().unwrap().code(), Some(1));
    assert!(!run.said().contains("\u{1b}["), "{:?}", run.said());
}
