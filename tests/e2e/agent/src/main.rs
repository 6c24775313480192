// SPDX-License-Identifier: GPL-2.0-only
//! The runner's hands in the guest: reads questions from a virtio serial port,
//! does what they ask, and answers. Whatever fails is an answer, too; the agent
//! itself ends only with the guest.

mod archive;
#[allow(unsafe_code)]
mod device_memory;
mod kernel_log;
mod modules;
mod port;
mod programs;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use e2e_protocol::{Answer, Question, Reply, Request, PORT, VERSION};
use nix::errno::Errno;
use nix::sys::reboot::{reboot, RebootMode};

use crate::device_memory::DeviceMemory;
use crate::programs::Programs;

const PORT_PATIENCE: Duration = Duration::from_secs(60);
/// A port reads as ended while its other side is closed.
const RECONNECT: Duration = Duration::from_millis(20);

fn main() -> ExitCode {
    let error = match port::open(PORT, PORT_PATIENCE).and_then(converse) {
        Ok(never) => match never {},
        Err(error) => error,
    };
    eprintln!("agent: {error:#}");
    ExitCode::FAILURE
}

enum Never {}

#[derive(Default)]
struct Agent {
    programs: Programs,
    files: Mutex<Files>,
}

#[derive(Default)]
struct Files {
    last_handle: u64,
    open: BTreeMap<u64, File>,
}

fn converse(port: File) -> Result<Never> {
    let answers = Arc::new(Mutex::new(port.try_clone().context("sharing the port")?));
    let agent = Arc::new(Agent::default());
    answer(
        &answers,
        &Answer {
            number: 0,
            reply: hello(),
        },
    );
    let mut port = port;
    let mut line = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = match port.read(&mut buffer) {
            Ok(0) => {
                thread::sleep(RECONNECT);
                continue;
            }
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error).context("reading from the port"),
        };
        for &byte in &buffer[..read] {
            if byte != b'\n' {
                line.push(byte);
                continue;
            }
            let question = std::mem::take(&mut line);
            let (agent, answers) = (Arc::clone(&agent), Arc::clone(&answers));
            // A question that takes long must not hold up the next.
            thread::spawn(move || answer(&answers, &agent.answer_line(&question)));
        }
    }
}

fn answer(port: &Mutex<File>, answer: &Answer) {
    let mut line = serde_json::to_string(answer).expect("an answer is plain data");
    line.push('\n');
    let written = port
        .lock()
        .expect("no holder panics")
        .write_all(line.as_bytes());
    if let Err(error) = written {
        eprintln!("agent: answering {}: {error}", answer.number);
    }
}

fn hello() -> Reply {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Reply::Hello {
        version: VERSION,
        kernel: kernel.trim().to_owned(),
    }
}

impl Agent {
    fn answer_line(&self, line: &[u8]) -> Answer {
        match serde_json::from_slice::<Question>(line) {
            Ok(Question { number, request }) => Answer {
                number,
                reply: self.perform(request).unwrap_or_else(|error| failed(&error)),
            },
            Err(error) => {
                // The answer needs the question's number, which may be readable.
                let number = serde_json::from_slice::<serde_json::Value>(line)
                    .ok()
                    .and_then(|value| value["number"].as_u64())
                    .unwrap_or(0);
                let message = format!("not a question: {error}");
                Answer {
                    number,
                    reply: Reply::Failed { errno: 0, message },
                }
            }
        }
    }

    fn perform(&self, request: Request) -> Result<Reply> {
        match request {
            Request::Hello => Ok(hello()),
            Request::Run {
                program,
                timeout_ms,
            } => {
                let finished = self
                    .programs
                    .run(&program, Duration::from_millis(timeout_ms))?;
                Ok(Reply::Finished { finished })
            }
            Request::Spawn { program } => Ok(Reply::Started {
                handle: self.programs.spawn(&program)?,
            }),
            Request::Wait { handle, timeout_ms } => {
                let ended = self
                    .programs
                    .wait(handle, Duration::from_millis(timeout_ms))?;
                Ok(ended.map_or(Reply::Running, |finished| Reply::Finished { finished }))
            }
            Request::Pause { ms } => {
                thread::sleep(Duration::from_millis(ms));
                Ok(Reply::Done)
            }
            Request::Output { handle } => Ok(Reply::Text {
                text: self.programs.output(handle)?,
            }),
            Request::Kill { handle, signal } => done(self.programs.kill(handle, signal)),
            Request::End { handle, timeout_ms } => Ok(Reply::Finished {
                finished: self
                    .programs
                    .end(handle, Duration::from_millis(timeout_ms))?,
            }),
            Request::ReadFile { path } => {
                let bytes = fs::read(&path).with_context(|| path)?;
                Ok(Reply::Text {
                    text: String::from_utf8_lossy(&bytes).into_owned(),
                })
            }
            Request::WriteFile { path, text } => done(write_once(&path, &text)),
            Request::List { path } => {
                let mut names = fs::read_dir(&path)
                    .and_then(|entries| {
                        entries
                            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
                            .collect::<io::Result<Vec<_>>>()
                    })
                    .with_context(|| path)?;
                names.sort();
                Ok(Reply::Names { names })
            }
            Request::Unpack { device, directory } => {
                let archive = DeviceMemory::of(device.as_ref()).with_context(|| device.clone())?;
                archive::unpack(&mut &archive[..], directory.as_ref())
                    .with_context(|| format!("unpacking {device}"))?;
                Ok(Reply::Done)
            }
            Request::Insmod { path, parameters } => done(modules::load(path.as_ref(), &parameters)),
            Request::Rmmod { name } => done(modules::unload(&name)),
            Request::Log { from } => {
                let (lines, next) = kernel_log::read(from)?;
                Ok(Reply::Log { lines, next })
            }
            Request::Open { path } => {
                let file = File::open(&path).with_context(|| path)?;
                let mut files = self.files.lock().expect("no holder panics");
                files.last_handle += 1;
                let handle = files.last_handle;
                files.open.insert(handle, file);
                Ok(Reply::Started { handle })
            }
            Request::Close { handle } => {
                let mut files = self.files.lock().expect("no holder panics");
                files
                    .open
                    .remove(&handle)
                    .with_context(|| format!("no open file {handle}"))?;
                Ok(Reply::Done)
            }
            Request::PowerOff => {
                nix::unistd::sync();
                match reboot(RebootMode::RB_POWER_OFF)? {}
            }
        }
    }
}

fn done(result: Result<()>) -> Result<Reply> {
    result.map(|()| Reply::Done)
}

/// The kernel's files take a value in one write, so a partial write is a failure.
fn write_once(path: &str, text: &str) -> Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .open(path)
        .with_context(|| path.to_owned())?;
    let written = file
        .write(text.as_bytes())
        .with_context(|| path.to_owned())?;
    if written != text.len() {
        bail!("{path} took {written} of {} bytes", text.len());
    }
    Ok(())
}

fn failed(error: &anyhow::Error) -> Reply {
    let errno = error
        .chain()
        .find_map(|cause| {
            let system = cause
                .downcast_ref::<io::Error>()
                .and_then(io::Error::raw_os_error);
            system.or_else(|| cause.downcast_ref::<Errno>().map(|&errno| errno as i32))
        })
        .unwrap_or(0);
    Reply::Failed {
        errno,
        message: format!("{error:#}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(line: &str) -> Answer {
        Agent::default().answer_line(line.as_bytes())
    }

    fn failure(answer: &Answer) -> (i32, &str) {
        match &answer.reply {
            Reply::Failed { errno, message } => (*errno, message),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_question_gets_its_number_back() {
        let answer = ask(r#"{"number": 9, "request": "hello"}"#);
        assert_eq!(answer.number, 9);
        assert!(matches!(
            answer.reply,
            Reply::Hello {
                version: VERSION,
                ..
            }
        ));
    }

    #[test]
    fn what_is_no_question_is_answered_all_the_same() {
        let answer = ask(r#"{"number": 4, "request": "dance"}"#);
        assert_eq!(answer.number, 4);
        assert!(failure(&answer).1.contains("not a question"));
        assert_eq!(ask("rubbish").number, 0);
        assert_eq!(ask("").number, 0);
    }

    #[test]
    fn a_failed_system_call_gives_its_errno() {
        let answer = ask(r#"{"number": 1, "request": "read_file", "path": "/nonexistent"}"#);
        let (errno, message) = failure(&answer);
        assert_eq!(errno, Errno::ENOENT as i32);
        assert!(message.contains("/nonexistent"));
        // Whether or not this process may unload modules at all.
        let answer = ask(r#"{"number": 1, "request": "rmmod", "name": "no_such_module"}"#);
        assert_ne!(failure(&answer).0, 0);
        let answer = ask(r#"{"number": 1, "request": "wait", "handle": 5, "timeout_ms": 1}"#);
        assert_eq!(failure(&answer), (0, "there is no program 5"));
    }

    #[test]
    fn a_write_goes_to_an_existing_file_only() {
        let path = std::env::temp_dir().join(format!("agent-write-{}", std::process::id()));
        let text = path.to_str().unwrap();
        assert!(write_once(text, "x").is_err());
        assert!(!path.exists());
        fs::write(&path, "longer").unwrap();
        write_once(text, "new").unwrap();
        assert_eq!(
            fs::read(&path).unwrap(),
            b"newger",
            "as the kernel's files, nothing is truncated"
        );
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn an_open_file_stays_until_it_is_closed() {
        let agent = Agent::default();
        let Reply::Started { handle } = agent
            .perform(Request::Open {
                path: "/dev/null".to_owned(),
            })
            .unwrap()
        else {
            panic!("no handle");
        };
        assert_eq!(agent.files.lock().unwrap().open.len(), 1);
        agent.perform(Request::Close { handle }).unwrap();
        assert!(agent.files.lock().unwrap().open.is_empty());
        assert!(agent.perform(Request::Close { handle }).is_err());
    }

    #[test]
    fn names_are_sorted() {
        let directory = std::env::temp_dir().join(format!("agent-list-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        for name in ["b", "a", "c"] {
            fs::write(directory.join(name), "").unwrap();
        }
        let path = directory.to_str().unwrap().to_owned();
        let reply = Agent::default().perform(Request::List { path }).unwrap();
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(
            reply,
            Reply::Names {
                names: ["a", "b", "c"].map(str::to_owned).to_vec()
            }
        );
    }
}
