// SPDX-License-Identifier: GPL-2.0-only
//! The live view.

use std::io::{self, Write};
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyModifiers};
use crossterm::style::{Attribute, Print, SetAttribute};
use crossterm::terminal::{self, Clear, ClearType};
use crossterm::{cursor, execute, queue};
use gpreempt_operator::host::Refusal;

/// The terminal while it shows the view; it is as before when this ends.
struct Screen;

impl Screen {
    fn take() -> io::Result<Screen> {
        terminal::enable_raw_mode()?;
        let screen = Screen;
        execute!(io::stdout(), terminal::EnterAlternateScreen, cursor::Hide)?;
        Ok(screen)
    }

    /// Shows as many lines as there is room for, and what the keys do.
    fn show(&self, lines: &[String]) -> io::Result<()> {
        let (width, height) = terminal::size()?;
        let mut out = io::stdout().lock();
        queue!(out, cursor::MoveTo(0, 0), Clear(ClearType::All))?;
        for (row, line) in (0..height.saturating_sub(1)).zip(lines) {
            queue!(out, cursor::MoveTo(0, row), Print(cut(line, width)))?;
        }
        queue!(
            out,
            cursor::MoveTo(0, height.saturating_sub(1)),
            SetAttribute(Attribute::Reverse),
            Print(cut("q ends", width)),
            SetAttribute(Attribute::Reset)
        )?;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = execute!(io::stdout(), cursor::Show, terminal::LeaveAlternateScreen);
        let _ = terminal::disable_raw_mode();
    }
}

/// What fits on a line, without what a terminal would take for a command.
fn cut(line: &str, width: u16) -> String {
    let clean = line.chars().map(|c| if c.is_control() { '?' } else { c });
    clean.take(width.into()).collect()
}

/// Shows what `look` finds until somebody ends it.
pub fn run(
    interval: Duration,
    mut look: impl FnMut() -> Result<Vec<String>, Refusal>,
) -> Result<(), Refusal> {
    let broken = |error: io::Error| Refusal(format!("the terminal cannot be used: {error}"));
    // Who cannot look at all is told so on the terminal as it is.
    let mut lines = look()?;
    let screen = Screen::take().map_err(broken)?;
    loop {
        screen.show(&lines).map_err(broken)?;
        if event::poll(interval).map_err(broken)? && ends(&event::read().map_err(broken)?) {
            return Ok(());
        }
        lines = look()?;
    }
}

fn ends(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => true,
        KeyCode::Char('c') => key.modifiers.contains(KeyModifiers::CONTROL),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_and_cannot_command_the_terminal() {
        assert_eq!(cut("train\u{1b}[2J", 80), "train?[2J");
        assert_eq!(cut("äöü", 2), "äö");
        assert_eq!(cut("x", 0), "");
    }

    #[test]
    fn three_keys_end_it() {
        let key = |code, modifiers| Event::Key(event::KeyEvent::new(code, modifiers));
        let none = KeyModifiers::NONE;
        assert!(ends(&key(KeyCode::Char('q'), none)));
        assert!(ends(&key(KeyCode::Esc, none)));
        assert!(ends(&key(KeyCode::Char('c'), KeyModifiers::CONTROL)));
        assert!(!ends(&key(KeyCode::Char('c'), none)));
        assert!(!ends(&Event::Resize(80, 24)));
    }
}
