// SPDX-License-Identifier: GPL-2.0-only
//! What the runner on the host and the agent in the guest say to each other.
//!
//! One JSON object a line, over a virtio serial port of the name [`PORT`]. The
//! runner asks, the agent answers each question once, with the question's
//! number; questions may be answered out of order, because a program that runs
//! must not hold up the next question. When it starts, and whenever it is
//! asked to, the agent says [`Reply::Hello`] with number 0.

use serde::{Deserialize, Serialize};

/// The name of the virtio serial port.
pub const PORT: &str = "agent";

/// The version of this protocol. An agent of another version is refused.
pub const VERSION: u32 = 3;

/// One line from the runner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub number: u64,
    #[serde(flatten)]
    pub request: Request,
}

/// One line from the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub number: u64,
    #[serde(flatten)]
    pub reply: Reply,
}

/// A program to run in the guest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Looked up in the guest's PATH when it has no slash.
    pub program: String,
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Added to the agent's own environment.
    #[serde(default)]
    pub environment: Vec<(String, String)>,
    /// Written to its standard input, which is then closed.
    #[serde(default)]
    pub input: String,
}

/// What the runner asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// Say hello again.
    Hello,
    /// Run a program to its end; after the time it is killed.
    Run {
        #[serde(flatten)]
        program: Program,
        timeout_ms: u64,
    },
    /// Start a program and answer with its handle at once.
    Spawn {
        #[serde(flatten)]
        program: Program,
    },
    /// Wait for a started program; answers `Running` when the time is over.
    Wait { handle: u64, timeout_ms: u64 },
    /// Let time pass.
    Pause { ms: u64 },
    /// What a started program has printed so far.
    Output { handle: u64 },
    /// Send a signal to a started program.
    Kill { handle: u64, signal: i32 },
    /// Kill a started program with its children and answer how it ended. The time
    /// is how long they may take to die.
    End { handle: u64, timeout_ms: u64 },
    /// The content of a file, as text.
    ReadFile { path: String },
    /// One write of the text to an existing file, as a shell's echo does it.
    WriteFile { path: String, text: String },
    /// The names in a directory, sorted.
    List { path: String },
    /// Unpack a cpio archive (newc) that is in the memory of a PCI device, which is named
    /// by its directory in sysfs.
    Unpack { device: String, directory: String },
    /// Load a module file with its parameters.
    Insmod { path: String, parameters: String },
    /// Unload a module; never by force.
    Rmmod { name: String },
    /// The kernel log from a sequence number on.
    Log { from: u64 },
    /// Keep a file open, so that its module is in use, until `Close`.
    Open { path: String },
    /// Close an opened file.
    Close { handle: u64 },
    /// Turn the guest off.
    PowerOff,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Exited(i32),
    Signalled(i32),
    /// It was killed because its time was over.
    TimedOut,
}

/// A program that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    pub status: Status,
    pub stdout: String,
    pub stderr: String,
}

/// One message of the kernel log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    pub sequence: u64,
    /// Microseconds since boot.
    pub time_us: u64,
    /// 0 is an emergency, 7 is debug output.
    pub level: u32,
    pub text: String,
}

/// What the agent answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    Hello {
        version: u32,
        kernel: String,
    },
    /// Done, and there is nothing to say.
    Done,
    Started {
        handle: u64,
    },
    /// The program has not ended yet.
    Running,
    Finished {
        #[serde(flatten)]
        finished: Finished,
    },
    Text {
        text: String,
    },
    Names {
        names: Vec<String>,
    },
    /// Log lines, and the number to ask from next time.
    Log {
        lines: Vec<LogLine>,
        next: u64,
    },
    /// It did not work. `errno` is 0 where no system call failed.
    Failed {
        errno: i32,
        message: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<T>(value: T, line: &str)
    where
        T: Serialize + for<'a> Deserialize<'a> + PartialEq + std::fmt::Debug,
    {
        assert_eq!(serde_json::to_string(&value).unwrap(), line);
        assert_eq!(serde_json::from_str::<T>(line).unwrap(), value);
    }

    #[test]
    fn a_question_is_one_flat_object() {
        round_trip(
            Question {
                number: 7,
                request: Request::Wait {
                    handle: 3,
                    timeout_ms: 50,
                },
            },
            r#"{"number":7,"request":"wait","handle":3,"timeout_ms":50}"#,
        );
    }

    #[test]
    fn a_program_may_leave_out_what_it_does_not_need() {
        let question: Question =
            serde_json::from_str(r#"{"number":1,"request":"run","program":"true","timeout_ms":9}"#)
                .unwrap();
        let Request::Run { program, .. } = question.request else {
            panic!("{question:?}");
        };
        assert_eq!(program.program, "true");
        assert!(program.arguments.is_empty() && program.input.is_empty());
    }

    #[test]
    fn the_end_of_a_program_survives_the_line() {
        round_trip(
            Answer {
                number: 2,
                reply: Reply::Finished {
                    finished: Finished {
                        status: Status::Signalled(9),
                        stdout: "a\nb".into(),
                        stderr: String::new(),
                    },
                },
            },
            r#"{"number":2,"reply":"finished","status":{"signalled":9},"stdout":"a\nb","stderr":""}"#,
        );
    }

    #[test]
    fn an_unknown_request_is_an_error() {
        assert!(serde_json::from_str::<Question>(r#"{"number":1,"request":"dance"}"#).is_err());
    }
}
