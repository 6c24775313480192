// SPDX-License-Identifier: GPL-2.0-only
//! The live view. `state` and what it uses know nothing of files and terminals;
//! `worker` reads and writes, `screen` has the terminal, and here the three meet.

mod draft;
mod draw;
mod keys;
mod latency;
mod layout;
mod look;
mod question;
mod rows;
mod screen;
mod spent;
mod state;
#[cfg(test)]
mod tests;
mod text;
mod worker;

use std::env;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossterm::event::{self, Event};
use gpreempt_operator::host::tree::{Host, Refusal};
use nix::errno::Errno;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;
use signal_hook::low_level;

use self::draw::Palette;
use self::keys::Act;
use self::screen::Screen;
use self::state::State;
use self::worker::{Reply, Wish};

/// How long keys are waited for before signals and replies are looked at.
const TURN: u16 = 50;
/// How long a signal waits for the view to end in order.
const ORDERLY: Duration = Duration::from_millis(500);

/// Shows the host until somebody ends it.
pub fn run(host: &Host, interval: Duration, colour: bool) -> Result<(), Refusal> {
    if !io::stdout().is_terminal() {
        return Err(Refusal::new(
            "'top' needs a terminal: use 'gpreempt status' and 'gpreempt queues', with '--json' for \
             programs, or 'gpreempt top --once'",
        ));
    }
    // Who cannot look at all is told so on the terminal as it is.
    let first = look::look(host)?;
    let (wishes, replies) = worker::start(host.clone())?;
    let signal = signals().map_err(broken)?;
    let mut screen = Screen::take().map_err(broken)?;
    let size = crossterm::terminal::size().map_err(broken)?;
    let mut state = State::new(interval, size);
    state.take(Ok(first));
    let palette = palette(colour);
    let result = Show {
        state,
        screen: &mut screen,
        palette,
        wishes,
        replies,
        signal: &signal,
    }
    .go();
    drop(screen);
    match signal.load(Ordering::Relaxed) {
        0 => result,
        // It ends by the signal, as whoever sent it expects.
        number => low_level::emulate_default_handler(number as i32).map_err(broken),
    }
}

fn broken(error: io::Error) -> Refusal {
    Refusal(format!("the terminal cannot be used: {error}"))
}

/// A number that becomes that of the signal that asks for the end. Where the view is
/// held up, as by a terminal that takes nothing any more, it ends all the same.
fn signals() -> io::Result<Arc<AtomicUsize>> {
    let signal = Arc::new(AtomicUsize::new(0));
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
    let asked = signal.clone();
    let watch = move || {
        for number in signals.forever() {
            asked.store(number as usize, Ordering::Relaxed);
            thread::sleep(ORDERLY);
            screen::give_back_soon();
            // There is nobody to tell.
            let _ = low_level::emulate_default_handler(number);
        }
    };
    thread::Builder::new().spawn(watch)?;
    Ok(signal)
}

/// Waits for a key, but not for long. A terminal that has gone away is an error here,
/// since reading its end would go on for ever.
fn wait() -> io::Result<()> {
    let out = io::stdout();
    let mut terminal = [PollFd::new(out.as_fd(), PollFlags::POLLIN)];
    match poll(&mut terminal, PollTimeout::from(TURN)) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(error) => return Err(error.into()),
    }
    let gone = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
    match terminal[0].revents() {
        Some(found) if found.intersects(gone) => Err(io::Error::other("it is gone")),
        _ => Ok(()),
    }
}

/// What the terminal can show, as far as the environment tells.
fn palette(colour: bool) -> Palette {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    let locale = locale.map(|value| value.to_string_lossy().to_lowercase());
    Palette {
        colour: colour
            && set("NO_COLOR").is_none()
            && set("TERM").is_none_or(|term| term != "dumb"),
        unicode: locale.is_some_and(|name| name.contains("utf-8") || name.contains("utf8")),
    }
}

struct Show<'s> {
    state: State,
    screen: &'s mut Screen,
    palette: Palette,
    wishes: Sender<Wish>,
    replies: Receiver<Reply>,
    signal: &'s AtomicUsize,
}

impl Show<'_> {
    fn go(&mut self) -> Result<(), Refusal> {
        let start = Instant::now();
        let mut changed = true;
        while self.signal.load(Ordering::Relaxed) == 0 {
            self.state.now = start.elapsed();
            changed |= self.hear()?;
            if self.state.is_due() {
                self.wish(Wish::Look)?;
            }
            changed |= self.state.unanswered().is_some();
            if changed {
                self.draw().map_err(broken)?;
            }
            changed = false;
            wait().map_err(broken)?;
            while event::poll(Duration::ZERO).map_err(broken)? {
                changed = true;
                let event = event::read().map_err(broken)?;
                if self.meet(event)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Does what an event asks for, and says whether that is the end.
    fn meet(&mut self, event: Event) -> Result<bool, Refusal> {
        match event {
            Event::Key(key) => match self.state.press(key) {
                Some(Act::Quit) => return Ok(true),
                Some(Act::Suspend) => self.suspend().map_err(broken)?,
                Some(Act::Change(change)) => {
                    self.state.ask();
                    self.wish(Wish::Change(change))?;
                }
                None => {}
            },
            Event::Resize(width, height) => self.resize(width, height),
            _ => {}
        }
        Ok(false)
    }

    fn resize(&mut self, width: u16, height: u16) {
        self.state.size = (width, height);
        self.state.settle();
    }

    /// Takes in what has arrived.
    fn hear(&mut self) -> Result<bool, Refusal> {
        let mut heard = false;
        loop {
            match self.replies.try_recv() {
                Ok(Reply::Looked(found)) => self.state.take(*found),
                Ok(Reply::Changed(change, result, found)) => {
                    self.state.take(*found);
                    self.state.changed(&change, result);
                }
                Err(TryRecvError::Empty) => return Ok(heard),
                Err(TryRecvError::Disconnected) => return Err(stuck()),
            }
            heard = true;
        }
    }

    fn wish(&self, wish: Wish) -> Result<(), Refusal> {
        self.wishes.send(wish).map_err(|_| stuck())
    }

    fn draw(&mut self) -> io::Result<()> {
        let (state, palette) = (&mut self.state, self.palette);
        self.screen.terminal.draw(|frame| {
            // The terminal may have another size before it says so.
            let area = frame.area();
            state.size = (area.width, area.height);
            state.settle();
            draw::draw(frame, state, palette);
        })?;
        Ok(())
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.screen
            .lend(|| low_level::emulate_default_handler(SIGTSTP))
    }
}

/// The thread has panicked, and has said why.
fn stuck() -> Refusal {
    Refusal::new("the part of 'top' that reads the tables has ended: start it again")
}
