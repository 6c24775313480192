// SPDX-License-Identifier: GPL-2.0-only
//! The terminal while it shows the view.

use std::io::{self, Stdout, Write};
use std::panic;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crossterm::terminal::{self, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute};
use ratatui::backend::CrosstermBackend;
use ratatui::Terminal;

/// It is as before when this ends, however it does.
pub struct Screen {
    pub terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    pub fn take() -> io::Result<Screen> {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |what| {
            // The message would otherwise go to a screen that is about to vanish.
            give_back();
            usual(what);
        }));
        let taken = enter().and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        match taken {
            Ok(terminal) => Ok(Screen { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Gives the terminal back for as long as `meanwhile` takes.
    pub fn lend(&mut self, meanwhile: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        give_back();
        let result = meanwhile();
        enter()?;
        self.terminal.clear()?;
        result
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn enter() -> io::Result<()> {
    terminal::enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)
}

/// Gives the terminal back as far as it lets itself be written to.
pub fn give_back_soon() {
    let (done, is_done) = mpsc::channel();
    let started = thread::Builder::new().spawn(move || {
        give_back();
        // Nobody may be waiting any more.
        let _ = done.send(());
    });
    if started.is_ok() {
        let _ = is_done.recv_timeout(Duration::from_millis(250));
    }
    let _ = terminal::disable_raw_mode();
}

/// A terminal that is gone needs nothing, so nothing that fails here matters.
fn give_back() {
    let mut out = io::stdout();
    let _ = execute!(out, LeaveAlternateScreen, cursor::Show);
    let _ = out.flush();
    let _ = terminal::disable_raw_mode();
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::pty::openpty;
    use nix::sys::termios::tcgetattr;
    use std::env;
    use std::fs::File;
    use std::io::Read;
    use std::process::{Command, Stdio};

    /// What the test below starts on a terminal of its own.
    #[test]
    #[ignore = "it panics, for the other one to see what is left behind"]
    fn panics() {
        let _screen = Screen::take().unwrap();
        panic!("for a reason");
    }

    #[test]
    fn a_panic_leaves_the_terminal_as_it_was_with_its_message_on_it() {
        let pair = openpty(None, None).unwrap();
        let (mut master, slave) = (File::from(pair.master), File::from(pair.slave));
        let before = tcgetattr(&slave).unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        let status = Command::new(env::current_exe().unwrap())
            .args([
                "--exact",
                "top::screen::tests::panics",
                "--ignored",
                "--nocapture",
            ])
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .status()
            .unwrap();
        assert!(!status.success());
        assert_eq!(tcgetattr(&slave).unwrap(), before);
        let mut said = String::new();
        while !said.contains("for a reason") {
            let mut part = [0; 1024];
            let length = master.read(&mut part).unwrap();
            said.push_str(&String::from_utf8_lossy(&part[..length]));
        }
        let (_, after) = said.split_once("\u{1b}[?1049h").unwrap();
        let (_, after) = after.split_once("\u{1b}[?1049l").unwrap();
        assert!(after.contains("for a reason"), "{said:?}");
    }
}
