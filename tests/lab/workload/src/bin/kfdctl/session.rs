// SPDX-License-Identifier: GPL-2.0-only
//! What AMD's debugger does with a process, call by call. Each begins when a file of its
//! number is there, so that others decide what happens in between, and leaves a line with
//! all that the driver has answered, except addresses: those differ from run to run.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{ensure, Context as _, Result};
use gpu_workload::kfd::context::Context;
use gpu_workload::kfd::debugger::Session;
use gpu_workload::kfd::ioctl::{Kfd, QueueSnapshot};
use gpu_workload::kfd::sysfs;
use gpu_workload::kfd::trap;
use serde::Serialize;
use serde_json::{json, Value};

/// All that there are.
const EXCEPTIONS: u64 = u64::MAX;
/// A queue that no process has.
const NO_QUEUE: u32 = 999;

struct Steps<'kfd> {
    session: Session<'kfd>,
    pid: u32,
    gpu_id: u32,
    go: String,
    count: usize,
    addresses: Vec<u64>,
}

impl<'kfd> Steps<'kfd> {
    fn begin(kfd: &'kfd Kfd, pid: u32, node: u32, go: &str) -> Result<Self> {
        Ok(Self {
            session: Session::trace(kfd, pid)?,
            pid,
            gpu_id: sysfs::gpu_id(node)?,
            go: go.to_owned(),
            count: 0,
            addresses: Vec::new(),
        })
    }

    /// Waits for the file of the next step.
    fn wait(&mut self) -> Result<()> {
        let path = PathBuf::from(format!("{}.{}", self.go, self.count));
        while !path.exists() {
            self.session.pass_signals_on()?;
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn step<T: Serialize>(
        &mut self,
        name: &str,
        call: impl FnOnce(&mut Self) -> nix::Result<T>,
    ) -> Result<Option<T>> {
        self.wait()?;
        self.count += 1;
        let answer = call(self);
        let announced = self.session.announced()?;
        let mut line = json!({"step": name, "announced": announced});
        match &answer {
            Ok(answer) => line["answer"] = serde_json::to_value(answer)?,
            Err(error) => line["error"] = (*error as i32).into(),
        }
        println!("{line}");
        std::io::stdout().flush()?;
        Ok(answer.ok())
    }

    /// A call of the debugger's interface.
    fn call<T: Serialize>(
        &mut self,
        name: &str,
        call: impl FnOnce(&Kfd, u32) -> nix::Result<T>,
    ) -> Result<Option<T>> {
        self.step(name, |steps| call(steps.session.kfd(), steps.pid))
    }

    /// A snapshot of the queues, with a number in place of each address that is the same
    /// for the same address.
    fn queues(&mut self, name: &str, clear: u64) -> Result<Vec<QueueSnapshot>> {
        let mut found = Vec::new();
        self.step(name, |steps| {
            found = steps.session.kfd().trap_queues(steps.pid, clear)?;
            let mut named = found.clone();
            for queue in &mut named {
                for address in [
                    &mut queue.ring_address,
                    &mut queue.read_pointer,
                    &mut queue.write_pointer,
                    &mut queue.save_area,
                ] {
                    *address = steps.name(*address);
                }
            }
            Ok(named)
        })?;
        Ok(found)
    }

    fn name(&mut self, address: u64) -> u64 {
        let known = self.addresses.iter().position(|each| *each == address);
        let place = known.unwrap_or_else(|| {
            self.addresses.push(address);
            self.addresses.len() - 1
        });
        place as u64
    }

    /// Says what a suspended queue has saved. One that works may have had no waves just
    /// then, between two requests or two rounds: it is suspended again until it has.
    fn saved(&mut self, queue: Option<&QueueSnapshot>, works: bool) -> Result<()> {
        const TRIES: usize = 100;
        let mut sizes = [0; 2];
        for again in 0..TRIES {
            let Some(queue) = queue else { break };
            if again > 0 {
                let (kfd, id) = (self.session.kfd(), [queue.queue_id]);
                kfd.trap_resume(self.pid, Some(&id))?;
                thread::sleep(Duration::from_millis(1));
                kfd.trap_suspend(self.pid, &id, 0)?;
            }
            sizes = self.sizes(queue)?;
            if sizes[1] > 0 || !works {
                break;
            }
        }
        self.step("what was saved", |_| Ok(sizes))?;
        Ok(())
    }

    /// The sizes that the driver has written at the beginning of a save area: bytes of the
    /// control stack and of the waves.
    fn sizes(&self, queue: &QueueSnapshot) -> Result<[u32; 2]> {
        let memory = File::open(format!("/proc/{}/mem", self.pid))?;
        let mut header = [0; 16];
        memory.read_exact_at(&mut header, queue.save_area)?;
        let word = |at: usize| u32::from_ne_bytes(header[at..at + 4].try_into().expect("four"));
        Ok([word(4), word(12)])
    }

    /// What is asked while the runtime is enabled, of one queue above all, which may work.
    fn queue(&mut self, queue: u32, works: bool) -> Result<()> {
        self.call("suspend new", |k, p| k.trap_suspend(p, &[queue], 0))?;
        self.call("event", |k, p| k.trap_event(p, 0))?;
        self.queues("queues", 0)?;
        let new = |k: &Kfd, p| k.trap_exception(p, queue, trap::QUEUE_NEW_CODE);
        self.call("exception", new)?;
        let found = self.queues("queues, none new", trap::QUEUE_NEW)?;
        self.call("no exception", new)?;
        self.call("exceptions", |k, p| k.trap_exceptions(p, EXCEPTIONS))?;
        self.call("no event", |k, p| k.trap_event(p, EXCEPTIONS))?;
        self.call("devices", |k, p| k.trap_devices(p, EXCEPTIONS))?;
        self.call("suspend", |k, p| k.trap_suspend(p, &[queue], 0))?;
        self.saved(found.iter().find(|each| each.queue_id == queue), works)?;
        self.call("suspend again", |k, p| k.trap_suspend(p, &[queue], 0))?;
        self.queues("queues, suspended", 0)?;
        self.call("resume", |k, p| k.trap_resume(p, Some(&[queue])))?;
        self.call("resume again", |k, p| k.trap_resume(p, Some(&[queue])))?;
        let all: Vec<u32> = found.iter().map(|each| each.queue_id).collect();
        self.call("suspend all", |k, p| k.trap_suspend(p, &all, EXCEPTIONS))?;
        self.call("resume all", |k, p| k.trap_resume(p, None))?;
        let some = [queue, NO_QUEUE];
        self.call("suspend some", |k, p| k.trap_suspend(p, &some, 0))?;
        self.call("resume some", |k, p| k.trap_resume(p, Some(&some)))?;
        Ok(())
    }

    /// What is set for a whole process.
    fn settings(&mut self) -> Result<()> {
        let gpu_id = self.gpu_id;
        const WATCH: u32 = 0x80;
        for (mode, traps, asked) in [(0, WATCH, WATCH), (1, 0, WATCH), (2, 0, 0), (0, 0, 1 << 30)] {
            self.call("override", |k, p| k.trap_override(p, mode, traps, asked))?;
        }
        for mode in [1, 3, 2, 0] {
            self.call("launch mode", |k, p| k.trap_launch_mode(p, mode))?;
        }
        const WATCHED: u64 = 0x1000_0000;
        for _ in 0..5 {
            let mask = 0x00ff_ffc0;
            self.call("watch", |k, p| k.trap_watch(p, gpu_id, WATCHED, mask))?;
        }
        // One stays for the end of the session.
        for watchpoint in [0, 1, 2, 2, 9] {
            self.call("unwatch", |k, p| k.trap_unwatch(p, gpu_id, watchpoint))?;
        }
        for flags in [1, 2, 0, 1] {
            self.call("flags", |k, p| k.trap_flags(p, flags))?;
        }
        Ok(())
    }

    fn enable(&mut self, name: &str) -> Result<()> {
        self.step(name, |steps| steps.session.enable(EXCEPTIONS))?;
        Ok(())
    }

    /// Ends the session while a queue is suspended.
    fn end(&mut self, queue: u32) -> Result<()> {
        self.call("suspend last", |k, p| k.trap_suspend(p, &[queue], 0))?;
        self.call("disable", |k, p| k.debug_disable(p))?;
        self.call("after the end", |k, p| k.trap_event(p, 0))?;
        Ok(())
    }
}

/// A session on a process that runs, which makes a queue anew before its step "new queue".
pub fn attached(pid: u32, node: u32, queue: u32, go: &str) -> Result<Value> {
    let kfd = Kfd::open()?;
    let mut steps = Steps::begin(&kfd, pid, node, go)?;
    steps.enable("enable")?;
    steps.enable("enable again")?;
    steps.queue(queue, true)?;
    steps.settings()?;
    steps.call("new queue", |k, p| k.trap_event(p, 0))?;
    // Where the runtime puts the new queue's memory is its own affair.
    steps.addresses.clear();
    let found = steps.queues("queues, one new", trap::QUEUE_NEW)?;
    let is_new = |each: &&QueueSnapshot| each.exceptions & trap::QUEUE_NEW != 0;
    let queue = found
        .iter()
        .find(is_new)
        .map_or(queue, |each| each.queue_id);
    steps.call("suspend it", |k, p| k.trap_suspend(p, &[queue], 0))?;
    steps.call("resume it", |k, p| k.trap_resume(p, Some(&[queue])))?;
    steps.end(queue)?;
    Ok(json!({"step": "end"}))
}

/// A process that does with its main context what it is told, line by line.
struct Debuggee {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Debuggee {
    fn tell(&mut self, word: &str) -> Result<()> {
        writeln!(self.input, "{word}")?;
        Ok(self.input.flush()?)
    }

    /// Its answer, a number.
    fn answer(&mut self) -> Result<i32> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        line.trim()
            .parse()
            .with_context(|| format!("it says {line}"))
    }
}

/// A session that begins before the program's runtime is enabled, and lasts until that has
/// gone.
pub fn launched(node: u32, go: &str) -> Result<Value> {
    let kfd = Kfd::open()?;
    let mut child = Command::new(std::env::current_exe()?)
        .args(["debuggee", "--node", &node.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut debuggee = Debuggee {
        input: child.stdin.take().context("no input")?,
        output: BufReader::new(child.stdout.take().context("no output")?),
    };
    ensure!(debuggee.answer()? == 0, "it has no context");
    let mut steps = Steps::begin(&kfd, child.id(), node, go)?;
    steps.enable("enable")?;
    steps.call("suspend before", |k, p| k.trap_suspend(p, &[0], 0))?;
    steps.runtime(&mut debuggee, "enable")?;
    debuggee.tell("queue")?;
    let queue = u32::try_from(debuggee.answer()?)?;
    steps.queue(queue, false)?;
    steps.end(queue)?;
    steps.enable("enable once more")?;
    steps.runtime(&mut debuggee, "disable")?;
    steps.call("suspend after", |k, p| k.trap_suspend(p, &[queue], 0))?;
    steps.call("disable", |k, p| k.debug_disable(p))?;
    drop((steps, debuggee));
    child.wait()?;
    Ok(json!({"step": "end"}))
}

impl Steps<'_> {
    /// Has the debuggee say that its runtime comes or goes, and lets it go on, for which it
    /// waits while it is debugged.
    fn runtime(&mut self, debuggee: &mut Debuggee, word: &str) -> Result<()> {
        self.wait()?;
        debuggee.tell(word)?;
        // The driver refuses the session altogether where it has no scheduler.
        let is_debugged = self
            .session
            .kfd()
            .trap_exceptions(self.pid, EXCEPTIONS)
            .is_ok();
        let has_come = |steps: &Self| {
            let event = steps.session.kfd().trap_event(steps.pid, 0);
            event.is_ok_and(|event| event.exceptions & trap::PROCESS_RUNTIME != 0)
        };
        while is_debugged && !has_come(self) {
            self.session.pass_signals_on()?;
            thread::sleep(Duration::from_millis(1));
        }
        self.session.announced()?;
        self.call("runtime", |k, p| {
            // Before the number of its state is an address.
            let words = k.trap_exception(p, 0, trap::PROCESS_RUNTIME_CODE)?;
            Ok(words[2..].to_vec())
        })?;
        self.call("runtime's event", |k, p| k.trap_event(p, EXCEPTIONS))?;
        self.call("go on", |k, p| {
            k.trap_runtime_event(p, trap::PROCESS_RUNTIME)
        })?;
        let answer = debuggee.answer()?;
        self.step("it went on", |_| Ok(answer))?;
        Ok(())
    }
}

/// Does what its input says, line by line, and answers each with a number.
pub fn debuggee(node: u32) -> Result<Value> {
    let context = Context::main(node)?;
    println!("0");
    for line in std::io::stdin().lines() {
        let error = |result: nix::Result<()>| result.err().map_or(0, |error| error as i32);
        let answer = match line?.as_str() {
            "queue" => i32::try_from(context.create_queue(0, 0)?)?,
            word => error(context.kfd().runtime_enable(word == "enable")),
        };
        println!("{answer}");
    }
    Ok(json!({}))
}
