// SPDX-License-Identifier: GPL-2.0-only
//! The programs that the agent runs: started, signalled and waited for by a
//! handle, with everything they print kept until it is asked for.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use e2e_protocol::{Finished, Program, Status};
use nix::errno::Errno;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::signal::{kill, killpg, Signal};
use nix::sys::wait::{waitid, Id, WaitPidFlag};
use nix::unistd::Pid;

/// More of one stream than this is cut off, and said to be.
const OUTPUT_LIMIT: usize = 8 << 20;
/// How long to wait for more output of a program that has ended: a child of it may hold
/// its streams open for ever.
const LAST_OUTPUT: Duration = Duration::from_millis(500);
/// The same while there is some, as of a child that never pauses.
const ALL_OUTPUT: Duration = Duration::from_secs(20);

#[derive(Clone, Copy)]
enum Stream {
    Output,
    Errors,
}

#[derive(Default)]
struct State {
    output: Vec<u8>,
    errors: Vec<u8>,
    open_streams: u32,
    status: Option<Status>,
}

struct Running {
    pid: Pid,
    /// What was read from them is in the state whenever that is not held.
    pipes: [OwnedFd; 2],
    state: Mutex<State>,
    changed: Condvar,
}

/// The programs that were started and not yet waited for.
#[derive(Default)]
pub struct Programs {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    last_handle: u64,
    programs: BTreeMap<u64, Arc<Running>>,
}

impl Programs {
    /// Starts a program in a process group of its own.
    pub fn spawn(&self, program: &Program) -> Result<u64> {
        let running = start(program)?;
        let mut table = self.table.lock().expect("no holder panics");
        table.last_handle += 1;
        let handle = table.last_handle;
        table.programs.insert(handle, running);
        Ok(handle)
    }

    /// Runs a program to its end. When it takes longer than `timeout`, it is
    /// killed with its children.
    pub fn run(&self, program: &Program, timeout: Duration) -> Result<Finished> {
        let running = start(program)?;
        if let Some(finished) = running.wait(timeout) {
            return Ok(finished);
        }
        Ok(Finished {
            status: Status::TimedOut,
            ..running.end(Duration::from_secs(5))?
        })
    }

    /// Kills a program with its children, if it still runs, and waits up to that time
    /// for them to die. The handle is invalid afterwards.
    pub fn end(&self, handle: u64, timeout: Duration) -> Result<Finished> {
        let finished = self.find(handle)?.end(timeout)?;
        self.forget(handle);
        Ok(finished)
    }

    /// None while the program runs. The handle of one that has finished becomes invalid.
    pub fn wait(&self, handle: u64, timeout: Duration) -> Result<Option<Finished>> {
        let finished = self.find(handle)?.wait(timeout);
        if finished.is_some() {
            self.forget(handle);
        }
        Ok(finished)
    }

    fn forget(&self, handle: u64) {
        let mut table = self.table.lock().expect("no holder panics");
        table.programs.remove(&handle);
    }

    /// What the program has written to its standard output so far.
    pub fn output(&self, handle: u64) -> Result<String> {
        Ok(self.find(handle)?.printed().0)
    }

    pub fn kill(&self, handle: u64, signal: i32) -> Result<()> {
        let running = self.find(handle)?;
        let signal =
            Signal::try_from(signal).with_context(|| format!("there is no signal {signal}"))?;
        // While the state is held, the process id is not given to another process.
        let state = running.state.lock().expect("no holder panics");
        if state.status.is_some() {
            bail!("program {handle} has ended");
        }
        kill(running.pid, signal).with_context(|| format!("sending {signal} to program {handle}"))
    }

    fn find(&self, handle: u64) -> Result<Arc<Running>> {
        let table = self.table.lock().expect("no holder panics");
        table
            .programs
            .get(&handle)
            .cloned()
            .with_context(|| format!("there is no program {handle}"))
    }
}

impl Running {
    fn end(&self, timeout: Duration) -> Result<Finished> {
        {
            // While the state is held, the process id is not given to another process.
            let state = self.state.lock().expect("no holder panics");
            if state.status.is_none() {
                // It may have ended at this moment.
                let _ = killpg(self.pid, Signal::SIGKILL);
            }
        }
        if self.wait(timeout).is_none() {
            let (stdout, stderr) = self.printed();
            bail!(
                "process {} does not end after SIGKILL: {stdout}{stderr}",
                self.pid
            );
        }
        // Its children hold its streams open until they are gone.
        let state = self.state.lock().expect("no holder panics");
        let (state, _) = self
            .changed
            .wait_timeout_while(state, timeout, |state| state.open_streams > 0)
            .expect("no holder panics");
        Ok(state.finished().expect("it has ended"))
    }

    fn wait(&self, timeout: Duration) -> Option<Finished> {
        let deadline = Instant::now() + timeout;
        let mut state = self.state.lock().expect("no holder panics");
        while state.status.is_none() {
            let left = deadline.checked_duration_since(Instant::now())?;
            state = self
                .changed
                .wait_timeout(state, left)
                .expect("no holder panics")
                .0;
        }
        let end = Instant::now();
        while state.open_streams > 0 && end.elapsed() < self.patience() {
            state = self
                .changed
                .wait_timeout(state, LAST_OUTPUT / 25)
                .expect("no holder panics")
                .0;
        }
        state.finished()
    }

    /// How long to wait for output after the end: longer if there is some.
    fn patience(&self) -> Duration {
        let mut pipes = self.pipes.iter();
        match pipes.any(|pipe| readable(pipe.as_fd(), PollTimeout::ZERO)) {
            true => ALL_OUTPUT,
            false => LAST_OUTPUT,
        }
    }

    fn printed(&self) -> (String, String) {
        self.state.lock().expect("no holder panics").printed()
    }
}

impl State {
    /// None while the program runs.
    fn finished(&self) -> Option<Finished> {
        let (stdout, stderr) = self.printed();
        self.status.map(|status| Finished {
            status,
            stdout,
            stderr,
        })
    }

    fn printed(&self) -> (String, String) {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        (text(&self.output), text(&self.errors))
    }
}

fn start(program: &Program) -> Result<Arc<Running>> {
    let mut child = Command::new(&program.program)
        .args(&program.arguments)
        .envs(
            program
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .with_context(|| format!("starting {:?}", program.program))?;
    let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
        bail!("{:?} has no streams", program.program);
    };
    let pipe = |pipe: BorrowedFd<'_>| pipe.try_clone_to_owned();
    let running = Arc::new(Running {
        pid: Pid::from_raw(i32::try_from(child.id())?),
        pipes: [pipe(output.as_fd())?, pipe(errors.as_fd())?],
        state: Mutex::new(State {
            open_streams: 2,
            ..State::default()
        }),
        changed: Condvar::new(),
    });
    if let Some(mut pipe) = child.stdin.take() {
        let input = program.input.clone();
        // On a thread, since more than a pipe holds waits for the program to read; and a
        // program that reads nothing may still do its work.
        thread::spawn(move || pipe.write_all(input.as_bytes()));
    }
    collect(&running, Stream::Output, output);
    collect(&running, Stream::Errors, errors);
    await_end(&running, child);
    Ok(running)
}

/// Waits until there is something to read, or the other end is closed.
fn readable(pipe: BorrowedFd<'_>, patience: PollTimeout) -> bool {
    let mut pipes = [PollFd::new(pipe, PollFlags::POLLIN)];
    loop {
        match poll(&mut pipes, patience) {
            Err(Errno::EINTR) => {}
            _ => {
                let found = pipes[0].revents();
                return found.is_some_and(|found| found.contains(PollFlags::POLLIN));
            }
        }
    }
}

fn collect(running: &Arc<Running>, stream: Stream, mut pipe: impl Read + AsFd + Send + 'static) {
    let running = Arc::clone(running);
    thread::spawn(move || {
        let mut buffer = [0; 16 << 10];
        loop {
            readable(pipe.as_fd(), PollTimeout::NONE);
            // Nobody else reads from it, so that this does not wait.
            let mut state = running.state.lock().expect("no holder panics");
            let read = match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            let kept = match stream {
                Stream::Output => &mut state.output,
                Stream::Errors => &mut state.errors,
            };
            let room = OUTPUT_LIMIT.saturating_sub(kept.len());
            kept.extend_from_slice(&buffer[..read.min(room)]);
            if read > room && kept.len() == OUTPUT_LIMIT {
                kept.extend_from_slice(b"\n[more output was cut off]\n");
            }
        }
        running.state.lock().expect("no holder panics").open_streams -= 1;
        running.changed.notify_all();
    });
}

fn await_end(running: &Arc<Running>, mut child: Child) {
    let running = Arc::clone(running);
    thread::spawn(move || {
        // Fails for no reason but a missing child, which the wait below reports too.
        let _ = waitid(
            Id::Pid(running.pid),
            WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT,
        );
        let mut state = running.state.lock().expect("no holder panics");
        state.status = Some(child.wait().map_or(Status::Exited(-1), status));
        running.changed.notify_all();
    });
}

fn status(status: ExitStatus) -> Status {
    match (status.code(), status.signal()) {
        (Some(code), _) => Status::Exited(code),
        (None, signal) => Status::Signalled(signal.unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str) -> Program {
        Program {
            program: "sh".to_owned(),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            ..Program::default()
        }
    }

    #[test]
    fn a_program_runs_to_its_end() {
        let end = Programs::default()
            .run(&shell("echo out; echo err >&2; exit 3"), LONG)
            .unwrap();
        assert_eq!(end.status, Status::Exited(3));
        assert_eq!(
            (end.stdout.as_str(), end.stderr.as_str()),
            ("out\n", "err\n")
        );
    }

    #[test]
    fn input_and_environment_arrive() {
        let mut program = shell("cat; echo $WORD");
        program.input = "given\n".to_owned();
        program
            .environment
            .push(("WORD".to_owned(), "set".to_owned()));
        assert_eq!(
            Programs::default().run(&program, LONG).unwrap().stdout,
            "given\nset\n"
        );
    }

    #[test]
    fn input_that_nobody_reads_holds_nothing_up() {
        let mut program = shell("echo done");
        program.input = "x".repeat(1 << 20);
        assert_eq!(
            Programs::default().run(&program, LONG).unwrap().stdout,
            "done\n"
        );
    }

    #[test]
    fn all_that_it_printed_is_there_although_a_child_holds_its_streams() {
        let script = shell("sleep 1000 & head -c 4194304 /dev/zero; echo $! >&2");
        for _ in 0..20 {
            let end = Programs::default().run(&script, LONG).unwrap();
            assert_eq!((end.status, end.stdout.len()), (Status::Exited(0), 4 << 20));
            let child = Pid::from_raw(end.stderr.trim().parse().unwrap());
            kill(child, Signal::SIGKILL).unwrap();
        }
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let program = Program {
            program: "/nonexistent".to_owned(),
            ..Program::default()
        };
        let error = Programs::default().run(&program, LONG).unwrap_err();
        assert!(format!("{error:#}").contains("/nonexistent"));
    }

    #[test]
    fn a_program_that_takes_too_long_is_killed_with_its_children() {
        let script = shell("sleep 1000 & echo $!; wait");
        // A busy host may keep the shell from printing anything in the first of these.
        let end = (0..8)
            .map(|attempt| Duration::from_millis(500 << attempt))
            .map(|time| Programs::default().run(&script, time).unwrap())
            .find(|end| !end.stdout.is_empty())
            .unwrap();
        assert_eq!(end.status, Status::TimedOut);
        let child: i32 = end.stdout.trim().parse().unwrap();
        // A killed process stays as a zombie until its new parent looks.
        for _ in 0..600 {
            let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            if state.is_empty() || state.contains(") Z") || state.contains(") X") {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
        panic!("the child outlived its parent");
    }

    #[test]
    fn a_started_program_is_watched_signalled_and_waited_for() {
        let programs = Programs::default();
        let handle = programs
            .spawn(&shell("echo word; exec sleep 1000"))
            .unwrap();
        assert_eq!(programs.wait(handle, Duration::ZERO).unwrap(), None);
        while programs.output(handle).unwrap().is_empty() {
            thread::sleep(Duration::from_millis(5));
        }
        programs.kill(handle, Signal::SIGTERM as i32).unwrap();
        let end = programs.wait(handle, LONG).unwrap().unwrap();
        assert_eq!(end.status, Status::Signalled(Signal::SIGTERM as i32));
        assert_eq!(end.stdout, "word\n");
        assert!(programs.wait(handle, LONG).is_err());
        assert!(programs.output(handle).is_err());
    }

    #[test]
    fn a_started_program_is_ended_with_its_children() {
        let programs = Programs::default();
        let script = shell("sleep 1000 & echo word; wait");
        let handle = programs.spawn(&script).unwrap();
        while programs.output(handle).unwrap().is_empty() {
            thread::sleep(Duration::from_millis(5));
        }
        let begin = Instant::now();
        let end = programs.end(handle, LONG).unwrap();
        // The child would have held the streams open for all that time.
        assert!(begin.elapsed() < LONG);
        assert_eq!(end.status, Status::Signalled(Signal::SIGKILL as i32));
        assert_eq!(end.stdout, "word\n");
        assert!(programs.end(handle, LONG).is_err());
    }

    #[test]
    fn the_end_of_one_that_has_ended_is_its_own() {
        let programs = Programs::default();
        let handle = programs.spawn(&shell("exit 3")).unwrap();
        let running = programs.find(handle).unwrap();
        assert!(running.wait(LONG).is_some());
        assert_eq!(
            programs.end(handle, LONG).unwrap().status,
            Status::Exited(3)
        );
    }

    #[test]
    fn signals_to_nobody_and_unknown_signals_are_errors() {
        let programs = Programs::default();
        assert!(programs.kill(1, 15).is_err());
        let handle = programs.spawn(&shell("exec sleep 1000")).unwrap();
        assert!(programs.kill(handle, 9999).is_err());
        programs.kill(handle, Signal::SIGKILL as i32).unwrap();
        while programs
            .find(handle)
            .unwrap()
            .state
            .lock()
            .unwrap()
            .status
            .is_none()
        {
            thread::sleep(Duration::from_millis(5));
        }
        let error = programs.kill(handle, 15).unwrap_err();
        assert!(format!("{error:#}").contains("has ended"));
    }

    #[test]
    fn output_held_open_by_another_does_not_hold_up_a_wait() {
        let programs = Programs::default();
        let end = programs.run(&shell("sleep 1000 & echo $!"), LONG).unwrap();
        assert_eq!(end.status, Status::Exited(0));
        let child = Pid::from_raw(end.stdout.trim().parse().unwrap());
        kill(child, Signal::SIGKILL).unwrap();
    }

    #[test]
    fn endless_output_is_cut_off() {
        let end = Programs::default()
            .run(&shell("head -c 20000000 /dev/zero"), LONG)
            .unwrap();
        assert!(end.stdout.ends_with("cut off]\n"));
        assert!(end.stdout.len() < OUTPUT_LIMIT + 100);
    }
}
