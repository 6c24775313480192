// SPDX-License-Identifier: GPL-2.0-only
//! The agent in the guest: the side that scenarios talk to.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use e2e_protocol::{Answer, Finished, LogLine, Program, Question, Reply, Request, Status, VERSION};

type Waiting = Arc<Mutex<BTreeMap<u64, Sender<Reply>>>>;

/// How long an answer may take that needs no waiting. An emulated guest on a busy
/// host is slow, but only one that is stuck takes this long.
const PATIENCE: Duration = Duration::from_secs(180);

pub struct Agent {
    out: UnixStream,
    waiting: Waiting,
    last_number: u64,
    /// How many times as long the host may take.
    patience_factor: u32,
}

/// An error number of the guest, with what it was trying to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestError {
    pub errno: i32,
    pub message: String,
}

impl std::fmt::Display for GuestError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "in the guest: {}", self.message)
    }
}

impl std::error::Error for GuestError {}

impl Agent {
    /// In a guest with a clock of its own nothing is late, however long the host takes: beside
    /// a build that may be many minutes, and only what would never end is to be found out.
    pub fn new(stream: UnixStream, own_clock: bool) -> Result<Agent> {
        let waiting = Waiting::default();
        let lines = BufReader::new(stream.try_clone()?).lines();
        let readers = Arc::clone(&waiting);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // A guest that was cut off within a line leaves a torn one.
                let Ok(Answer { number, reply }) = serde_json::from_str(&line) else {
                    continue;
                };
                let reader = readers
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .remove(&number);
                if let Some(reader) = reader {
                    let _ = reader.send(reply);
                }
            }
            // Dropping the senders ends every wait.
            readers
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clear();
        });
        Ok(Agent {
            out: stream,
            waiting,
            last_number: 0,
            patience_factor: if own_clock { 10 } else { 1 },
        })
    }

    fn send(&mut self, request: Request) -> Result<Receiver<Reply>> {
        self.last_number += 1;
        let number = self.last_number;
        let (sender, receiver) = channel();
        self.waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(number, sender);
        let mut line = serde_json::to_string(&Question { number, request })?;
        line.push('\n');
        self.out
            .write_all(line.as_bytes())
            .context("the guest no longer takes questions")?;
        Ok(receiver)
    }

    fn ask_for(&mut self, request: Request, patience: Duration) -> Result<Reply> {
        let what = format!("{request:?}");
        let asked = self.send(request)?;
        answer(&asked, patience * self.patience_factor, &what)
    }

    fn ask(&mut self, request: Request) -> Result<Reply> {
        self.ask_for(request, PATIENCE)
    }

    fn done(&mut self, request: Request) -> Result<()> {
        match self.ask(request)? {
            Reply::Done => Ok(()),
            other => bail!("the guest answers {other:?}"),
        }
    }

    /// Waits until the agent is there. The time is that of a whole boot.
    pub fn wait_for_hello(&mut self, patience: Duration) -> Result<String> {
        let asked = self.ask_for_hello()?;
        self.hello(&asked, patience)
    }

    /// Asks whether the agent is there, and does not wait for the answer.
    pub fn ask_for_hello(&mut self) -> Result<Receiver<Reply>> {
        self.send(Request::Hello)
    }

    /// The answer to that.
    pub fn hello(&mut self, asked: &Receiver<Reply>, patience: Duration) -> Result<String> {
        match answer(asked, patience, "hello")? {
            Reply::Hello { version, kernel } if version == VERSION => Ok(kernel),
            Reply::Hello { version, .. } => {
                bail!("the agent speaks version {version} and not {VERSION}")
            }
            other => bail!("the guest answers {other:?}"),
        }
    }

    /// Runs a program to its end.
    pub fn run(&mut self, program: Program, timeout: Duration) -> Result<Finished> {
        let request = Request::Run {
            program,
            timeout_ms: millis(timeout),
        };
        match self.ask_for(request, timeout + PATIENCE)? {
            Reply::Finished { finished } => Ok(finished),
            other => bail!("the guest answers {other:?}"),
        }
    }

    /// Runs a program that must succeed, and returns what it printed.
    pub fn check(&mut self, program: Program, timeout: Duration) -> Result<String> {
        let what = format!("{} {}", program.program, program.arguments.join(" "));
        let finished = self.run(program, timeout)?;
        if finished.status != Status::Exited(0) {
            bail!(
                "'{what}' ended with {:?}\n{}{}",
                finished.status,
                finished.stdout,
                finished.stderr
            );
        }
        Ok(finished.stdout)
    }

    /// Runs a line of the guest's shell that must succeed.
    pub fn shell(&mut self, line: &str) -> Result<String> {
        self.check(
            Program {
                program: "sh".into(),
                arguments: vec!["-ec".into(), line.into()],
                ..Program::default()
            },
            PATIENCE,
        )
    }

    /// Starts a program and returns its handle.
    pub fn spawn(&mut self, program: Program) -> Result<u64> {
        match self.ask(Request::Spawn { program })? {
            Reply::Started { handle } => Ok(handle),
            other => bail!("the guest answers {other:?}"),
        }
    }

    /// Waits for a started program; `None` when the time is over.
    pub fn wait(&mut self, handle: u64, timeout: Duration) -> Result<Option<Finished>> {
        let request = Request::Wait {
            handle,
            timeout_ms: millis(timeout),
        };
        match self.ask_for(request, timeout + PATIENCE)? {
            Reply::Finished { finished } => Ok(Some(finished)),
            Reply::Running => Ok(None),
            other => bail!("the guest answers {other:?}"),
        }
    }

    /// Lets time pass in the guest.
    pub fn pause(&mut self, time: Duration) -> Result<()> {
        self.done(Request::Pause { ms: millis(time) })
    }

    /// What a started program has printed so far.
    pub fn output(&mut self, handle: u64) -> Result<String> {
        self.text(Request::Output { handle })
    }

    /// Kills a started program with its children, and returns how it ended.
    pub fn end(&mut self, handle: u64) -> Result<Finished> {
        let request = Request::End {
            handle,
            timeout_ms: millis(PATIENCE),
        };
        match self.ask_for(request, 3 * PATIENCE)? {
            Reply::Finished { finished } => Ok(finished),
            other => bail!("the guest answers {other:?}"),
        }
    }

    /// Sends a signal to a started program, and not to its children.
    pub fn kill(&mut self, handle: u64, signal: i32) -> Result<()> {
        self.done(Request::Kill { handle, signal })
    }

    pub fn read_file(&mut self, path: &str) -> Result<String> {
        self.text(Request::ReadFile { path: path.into() })
    }

    pub fn write_file(&mut self, path: &str, text: &str) -> Result<()> {
        self.done(Request::WriteFile {
            path: path.into(),
            text: text.into(),
        })
    }

    /// Makes a file with this text.
    pub fn make_file(&mut self, path: &str, text: &str) -> Result<()> {
        let program = Program {
            program: "dd".into(),
            arguments: vec![format!("of={path}"), "bs=64k".into()],
            input: text.into(),
            ..Program::default()
        };
        self.check(program, PATIENCE).map(|_| ())
    }

    pub fn list(&mut self, path: &str) -> Result<Vec<String>> {
        match self.ask(Request::List { path: path.into() })? {
            Reply::Names { names } => Ok(names),
            other => bail!("the guest answers {other:?}"),
        }
    }

    pub fn unpack(&mut self, device: &str, directory: &str) -> Result<()> {
        self.done(Request::Unpack {
            device: device.into(),
            directory: directory.into(),
        })
    }

    pub fn insmod(&mut self, path: &str, parameters: &str) -> Result<()> {
        self.done(Request::Insmod {
            path: path.into(),
            parameters: parameters.into(),
        })
    }

    pub fn rmmod(&mut self, name: &str) -> Result<()> {
        self.done(Request::Rmmod { name: name.into() })
    }

    /// The kernel log from a number on, and the number to go on with.
    pub fn log(&mut self, from: u64) -> Result<(Vec<LogLine>, u64)> {
        match self.ask(Request::Log { from })? {
            Reply::Log { lines, next } => Ok((lines, next)),
            other => bail!("the guest answers {other:?}"),
        }
    }

    /// Opens a file and keeps it open.
    pub fn open(&mut self, path: &str) -> Result<u64> {
        match self.ask(Request::Open { path: path.into() })? {
            Reply::Started { handle } => Ok(handle),
            other => bail!("the guest answers {other:?}"),
        }
    }

    pub fn close(&mut self, handle: u64) -> Result<()> {
        self.done(Request::Close { handle })
    }

    fn text(&mut self, request: Request) -> Result<String> {
        match self.ask(request)? {
            Reply::Text { text } => Ok(text),
            other => bail!("the guest answers {other:?}"),
        }
    }
}

fn answer(asked: &Receiver<Reply>, patience: Duration, what: &str) -> Result<Reply> {
    match asked.recv_timeout(patience) {
        Ok(Reply::Failed { errno, message }) => Err(GuestError { errno, message }.into()),
        Ok(reply) => Ok(reply),
        Err(_) => bail!("the guest did not answer {:.200}", what.replace('\n', " ")),
    }
}

/// The error number of the guest behind an error, if it has one.
pub fn errno(error: &anyhow::Error) -> Option<i32> {
    error.downcast_ref::<GuestError>().map(|error| error.errno)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
