// SPDX-License-Identifier: GPL-2.0-only
//! Commands to a running process: KFD takes changes to a queue only from the
//! process that owns it, so that process offers them on a Unix socket.
//!
//! One JSON request a line, one JSON answer a line.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::hsa::UserPages;
use crate::kfd::ioctl::{Kfd, WaveState};
use crate::kfd::sysfs;
use crate::load::Load;

const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    Status,
    /// UPDATE_QUEUE; what is not given stays as it is.
    Update {
        queue: String,
        percentage: Option<u32>,
        priority: Option<u32>,
    },
    /// SET_CU_MASK, 32 compute units a word.
    CuMask {
        queue: String,
        mask: Vec<u32>,
    },
    /// ALLOC_QUEUE_GWS.
    Cooperate {
        queue: String,
    },
    /// GET_QUEUE_WAVE_STATE of a queue that is not active.
    WaveState {
        queue: String,
    },
    /// Have the kernel take pages away that the GPU may use, so that KFD evicts
    /// all queues of the process and restores them.
    Invalidate,
    /// Destroy the queue with its unfinished work, as a scheduler does that can
    /// only reset.
    Hold {
        queue: String,
    },
    /// Create the queue again and submit the unfinished work once more.
    Release {
        queue: String,
    },
    /// Tell the module so many times that a request is being prepared, which need not be
    /// so, with a pause in between.
    Hint {
        queue: String,
        times: u32,
        pause_us: u64,
    },
    /// Take another command name, or give it to the thread alone that answers.
    Rename {
        name: String,
        #[serde(default)]
        thread: bool,
    },
    /// Submit no more.
    Stop {
        queue: Option<String>,
    },
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Ok(serde_json::Value),
    Error(String),
}

#[derive(Debug, Serialize)]
struct Status<'a> {
    name: &'a str,
    pid: u32,
    queue_id: Option<u32>,
    submitted: u64,
    completed: u64,
    /// Read and write index of the ring, in packets, and where they are in the
    /// process's memory.
    indices: Option<(u64, u64)>,
    index_addresses: Option<(u64, u64)>,
}

/// Listens at `path`.
pub fn listen(path: &Path) -> Result<UnixListener> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| path.display().to_string());
        }
        _ => {}
    }
    let listener = UnixListener::bind(path).with_context(|| path.display().to_string())?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Answers one client after the other until `ended`.
pub fn serve(
    listener: &UnixListener,
    kfd: &Kfd,
    pages: &UserPages,
    loads: &[Load],
    ended: &AtomicBool,
) {
    while !ended.load(Ordering::Acquire) {
        match listener.accept() {
            Ok((client, _)) => {
                // A client that goes away in the middle harms only itself.
                let perform = |request| perform(request, kfd, pages, loads);
                let _ = converse(client, perform, ended);
            }
            Err(_) => thread::sleep(LOOK),
        }
    }
}

fn converse(
    client: UnixStream,
    perform: impl Fn(Request) -> Result<serde_json::Value>,
    ended: &AtomicBool,
) -> Result<()> {
    client.set_nonblocking(false)?;
    client.set_read_timeout(Some(LOOK))?;
    let mut answers = client.try_clone()?;
    let mut requests = BufReader::new(client);
    let mut line = String::new();
    while !ended.load(Ordering::Acquire) {
        match requests.read_line(&mut line) {
            Ok(0) => break,
            Ok(_) => {
                let answer = match serde_json::from_str(&line) {
                    Ok(request) => match perform(request) {
                        Ok(value) => Answer::Ok(value),
                        Err(error) => Answer::Error(format!("{error:#}")),
                    },
                    Err(error) => Answer::Error(format!("not a request: {error}")),
                };
                writeln!(answers, "{}", serde_json::to_string(&answer)?)?;
                line.clear();
            }
            // What was read of a line so far stays in it.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn perform(
    request: Request,
    kfd: &Kfd,
    pages: &UserPages,
    loads: &[Load],
) -> Result<serde_json::Value> {
    let find = |name: &str| {
        loads
            .iter()
            .find(|load| load.spec.name == name)
            .with_context(|| format!("this process has no queue {name:?}"))
    };
    match request {
        Request::Status => {
            let status = |load: &Load| {
                let (submitted, completed) = load.progress();
                serde_json::to_value(Status {
                    name: &load.spec.name,
                    pid: load.identity.pid,
                    queue_id: load.own().map(|own| own.id),
                    submitted,
                    completed,
                    indices: load.indices(),
                    index_addresses: load.index_addresses(),
                })
            };
            Ok(loads.iter().map(status).collect::<Result<_, _>>()?)
        }
        Request::Update {
            queue,
            percentage,
            priority,
        } => {
            find(&queue)?.update(kfd, percentage, priority)?;
            Ok(serde_json::Value::Null)
        }
        Request::CuMask { queue, mask } => {
            kfd.set_cu_mask(queue_id(find(&queue)?)?, &mask)
                .context("SET_CU_MASK")?;
            Ok(serde_json::Value::Null)
        }
        Request::Cooperate { queue } => {
            kfd.alloc_queue_gws(queue_id(find(&queue)?)?)
                .context("ALLOC_QUEUE_GWS")?;
            Ok(serde_json::Value::Null)
        }
        Request::WaveState { queue } => Ok(serde_json::to_value(wave_state(kfd, find(&queue)?)?)?),
        Request::Invalidate => {
            pages.invalidate().context("giving pages back")?;
            Ok(serde_json::Value::Null)
        }
        Request::Rename { name, thread } => {
            let whose = if thread { "thread-self" } else { "self" };
            fs::write(format!("/proc/{whose}/comm"), name).context("taking another name")?;
            Ok(serde_json::Value::Null)
        }
        Request::Hold { queue } => {
            find(&queue)?.hold()?;
            Ok(serde_json::Value::Null)
        }
        Request::Release { queue } => {
            find(&queue)?.release(kfd)?;
            Ok(serde_json::Value::Null)
        }
        Request::Hint {
            queue,
            times,
            pause_us,
        } => {
            for _ in 0..times {
                find(&queue)?.hint()?;
                thread::sleep(Duration::from_micros(pause_us));
            }
            Ok(serde_json::Value::Null)
        }
        Request::Stop { queue: Some(queue) } => {
            find(&queue)?.stop();
            Ok(serde_json::Value::Null)
        }
        Request::Stop { queue: None } => {
            loads.iter().for_each(Load::stop);
            Ok(serde_json::Value::Null)
        }
    }
}

fn queue_id(load: &Load) -> Result<u32> {
    Ok(load.own().context("the queue is destroyed")?.id)
}

fn wave_state(kfd: &Kfd, load: &Load) -> Result<WaveState> {
    let gpu_id = load.identity.gpu_id;
    let node = sysfs::node(gpu_id)?;
    let properties = sysfs::properties(node)?;
    let property = |name: &str| {
        properties
            .get(name)
            .copied()
            .with_context(|| format!("KFD's node {node} has no {name}"))
    };
    let bytes = property("cwsr_size")? * property("num_xcc")?;
    let mut area = vec![0; usize::try_from(bytes)?];
    kfd.queue_wave_state(queue_id(load)?, &mut area)
        .context("GET_QUEUE_WAVE_STATE (the queue must be inactive: set its percentage to 0)")
}

/// Sends one request to a running process.
pub fn call(path: &Path, request: &Request) -> Result<serde_json::Value> {
    let mut stream = UnixStream::connect(path)
        .with_context(|| format!("{}: is the workload still running?", path.display()))?;
    writeln!(stream, "{}", serde_json::to_string(request)?)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    anyhow::ensure!(!line.is_empty(), "the workload ended without an answer");
    match serde_json::from_str(&line)? {
        Answer::Ok(value) => Ok(value),
        Answer::Error(error) => anyhow::bail!(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart() {
        let parse = |text| serde_json::from_str::<Request>(text);
        assert_eq!(parse(r#"{"command": "status"}"#).unwrap(), Request::Status);
        assert_eq!(
            parse(r#"{"command": "update", "queue": "a", "percentage": 0}"#).unwrap(),
            Request::Update {
                queue: "a".into(),
                percentage: Some(0),
                priority: None
            }
        );
        assert_eq!(
            parse(r#"{"command": "stop"}"#).unwrap(),
            Request::Stop { queue: None }
        );
        assert_eq!(
            parse(r#"{"command": "rename", "name": "b"}"#).unwrap(),
            Request::Rename {
                name: "b".into(),
                thread: false
            }
        );
        for bad in [
            "{}",
            r#"{"command": "dance"}"#,
            r#"{"command": "update", "prio": 1}"#,
            "x",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_missing_socket_says_what_is_wrong() {
        let error = call(Path::new("/nonexistent/socket"), &Request::Status).unwrap_err();
        assert!(format!("{error:#}").contains("still running"), "{error:#}");
    }
}
