// SPDX-License-Identifier: GPL-2.0-only
//! A debugger beside the module: a session on a process whose queue the module has stopped,
//! and one from before the program's runtime, both while the module sends transactions
//! for others. The driver's answers are those that it gives where there is no module.

use std::time::Duration;

use anyhow::{ensure, Context, Result};
use serde_json::{json, Value};
use vgpu_model::QueueReport;

use super::contention::{armed, heavy, heavy_grid, wait_until_stopped};
use super::direct::DIRECT;
use super::preemption::{PATIENCE, UNBOUNDED};
use crate::accounts::Accounts;
use crate::background::{Background, Expect};
use crate::guest::Guest;
use crate::load::{queue, Load};
use crate::module::{Module, Table};
use crate::run_list::accounts;
use crate::scenario::{Needs, Scenario, Suite};

/// The process that is debugged has an address space on one node, and with more the driver
/// follows a NULL pointer when it suspends its queues (docs/upstream/no-vm.md).
const SUSPENDS: Needs = Needs {
    whole: true,
    ..Needs::ONE_DIE
};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "a debugger is told beside transactions what it is told without them",
        needs: SUSPENDS,
        run: |guest| with_scheduler(guest, "transaction=driver"),
    },
    Scenario {
        suite: Suite::E2e,
        name: "a debugger is told the same beside transaction=direct",
        needs: Needs {
            driver: DIRECT,
            ..SUSPENDS
        },
        run: |guest| with_scheduler(guest, "transaction=direct"),
    },
    Scenario {
        suite: Suite::E2e,
        name: "a debugger is refused beside backend=mqd as without it",
        needs: Needs {
            sched_policy: 2,
            ..Needs::ONCE
        },
        run: without_scheduler,
    },
];

const NODE: &str = "1";
const PREFIX: &str = "/tmp/debugger";

/// The process that is debugged, whose requests no other's are as large as.
fn debugged(guest: &Guest) -> Value {
    let more = json!({"group": "heavy", "priority": 0, "requests": 1_000_000,
        "arrival": {"closed_loop": {"depth": 2}}});
    queue("heavy", heavy_grid(guest), 500_000, more)
}

/// Two programs of which one is stopped and started for each request of the other.
fn others(guest: &Guest) -> Value {
    let full = guest.shape.full();
    let other = json!({"group": "other", "priority": 0, "requests": 1_000_000,
        "arrival": {"closed_loop": {"depth": 2}}});
    let urgent = json!({"group": "urgent", "priority": 15, "requests": 1_000_000,
        "arrival": {"closed_loop": {"depth": 1, "think_ns": 200_000}}});
    let other = queue("other", 2 * full, 500_000, other);
    json!({"queues": [other, queue("urgent", full / 2, 50_000, urgent)]})
}

/// The steps of a session.
struct Session {
    program: Background,
    go: String,
    said: Vec<Value>,
    /// All that it has printed, once it has ended, which it does right after its last step.
    ended: Option<String>,
}

impl Session {
    fn start(guest: &mut Guest, more: &[&str]) -> Result<Session> {
        let go = format!("{PREFIX}.{}", guest.unique());
        let line = ["kfdctl", "session", "--node", NODE, "--go", &go];
        let program = Background::start(guest, &[&line, more].concat(), Expect::Success)?;
        Ok(Session {
            program,
            go,
            said: Vec::new(),
            ended: None,
        })
    }

    /// Lets it take its next step, and returns what came of it. After the last one it
    /// says that it has come to the end.
    fn step(&mut self, guest: &mut Guest) -> Result<Value> {
        let path = format!("{}.{}", self.go, self.said.len());
        guest.agent().make_file(&path, "")?;
        let mut all = Vec::new();
        guest.wait_until("the debugger takes a step", PATIENCE, |guest| {
            if self.ended.is_none() {
                let ended = self.program.wait(guest, Duration::ZERO)?;
                self.ended = ended.map(|ended| ended.stdout + &ended.stderr);
            }
            let text = match &self.ended {
                Some(text) => text.clone(),
                None => self.program.output(guest)?,
            };
            let complete = text.rfind('\n').map_or("", |end| &text[..end]);
            all = complete.lines().map(str::to_owned).collect();
            ensure!(
                self.ended.is_none() || all.len() > self.said.len(),
                "the debugger has ended after {:?}: {text}",
                self.said.last()
            );
            Ok(all.len() > self.said.len())
        })?;
        let said: Value = serde_json::from_str(&all[self.said.len()])?;
        self.said.push(said.clone());
        Ok(said)
    }
}

/// The step that says what a suspended queue has left in its save area.
const SAVED: &str = "what was saved";

impl Session {
    /// Whether the driver has refused to begin it, upon which it refuses each step.
    fn is_refused(&self) -> bool {
        let first = self.said.first();
        first.is_some_and(|said| said.get("error").is_some())
    }

    /// Has the last step say for each workgroup what it says in all, since how many were
    /// saved is a matter of time.
    fn relate(&mut self, report: &QueueReport) -> Result<()> {
        /// A wave has two words of the control stack.
        const WAVE_BYTES: u64 = 8;
        const WAVES: u64 = 4;
        let saved = report.workgroups_saved;
        let said = self.said.last_mut().context("nothing is said")?;
        let sizes = said["answer"].as_array().context("no sizes")?;
        let sizes: Vec<u64> = sizes.iter().filter_map(Value::as_u64).collect();
        if sizes == [0, 0] {
            // The driver has refused everything.
            return Ok(());
        }
        let control = saved * WAVES * WAVE_BYTES;
        ensure!(
            saved > 0 && sizes[0] >= control && sizes[1] % saved == 0,
            "{saved} workgroups are saved, and the driver says {said}"
        );
        said["answer"] = json!([sizes[0] - control, sizes[1] / saved]);
        Ok(())
    }
}

/// Waits until the module has sent transactions, if it is there.
fn beside_transactions(guest: &mut Guest, module: Option<&Module>) -> Result<()> {
    const BETWEEN_STEPS: u64 = 1;
    if module.is_none() {
        return Ok(());
    }
    let before = Table::Stats.sum(guest, "transactions")?;
    guest.wait_until("the module sends transactions", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "transactions")? >= before + BETWEEN_STEPS)
    })
}

/// What the driver answers to a debugger of a process that runs, and of one that begins.
fn answers(guest: &mut Guest, module: Option<&Module>) -> Result<Vec<Value>> {
    let mut accounts = Accounts::new(guest)?;
    let load = Load::start(guest, json!({"queues": [debugged(guest)]}))?;
    let others = Load::start(guest, others(guest))?;
    if module.is_some() {
        wait_until_stopped(guest, &load, 0)?;
    }
    let identity = load.identity("heavy")?;
    let line = [identity.pid, identity.queue_id].map(|number| number.to_string());
    let line = ["--pid", &line[0], "--queue", &line[1]];
    let mut session = Session::start(guest, &line)?;
    let (mut flags, mut stops) = (0, None);
    loop {
        beside_transactions(guest, module.filter(|_| !session.is_refused()))?;
        let said = session.step(guest)?;
        match said["step"].as_str().context("a step without a name")? {
            SAVED => session.relate(&accounts.get(guest, heavy_grid(guest))?)?,
            "exceptions" | "watch" if module.is_some() && !session.is_refused() => {
                let row = heavy(guest, &load)?.context("the queue is gone")?;
                let before = stops.get_or_insert(row["stops"].clone());
                ensure!(row["protected"] == true && row["stops"] == *before, "{row}");
            }
            // The queue is made anew for the next step.
            "flags" if flags == 3 => {
                load.control(guest, "heavy", &["hold"])?;
                load.control(guest, "heavy", &["release"])?;
            }
            "flags" => flags += 1,
            "end" => break,
            _ => {}
        }
    }
    let mut all = session.said;
    let mut session = Session::start(guest, &[])?;
    while session.step(guest)?["step"] != "end" {
        beside_transactions(guest, module.filter(|_| !session.is_refused()))?;
    }
    all.append(&mut session.said);
    if module.is_some() {
        // Left by the debugger, it is stopped again.
        wait_until_stopped(guest, &load, 0)?;
    }
    // What the module has stopped for others ends when those have.
    for load in [&others, &load] {
        load.stop(guest)?;
    }
    for load in [others, load] {
        load.finish(guest)?;
    }
    Ok(all)
}

fn same_answers(guest: &mut Guest, parameters: &str) -> Result<Vec<Value>> {
    // A session that has ended is asked once more.
    guest.expect_log("not debug enabled for op");
    let without = answers(guest, None)?;
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED} {parameters}"))?;
    let with = answers(guest, Some(&module))?;
    for (without, with) in without.iter().zip(&with) {
        ensure!(
            without == with,
            "without the module {without}, with it {with}"
        );
    }
    ensure!(without.len() == with.len(), "the sessions differ in length");
    armed(guest)?;
    module.unload(guest)?;
    accounts(guest)?;
    Ok(with)
}

/// The whole of what a debugger does is done, and not refused.
fn with_scheduler(guest: &mut Guest, parameters: &str) -> Result<()> {
    let all = same_answers(guest, parameters)?;
    for name in [
        "enable",
        "suspend",
        "resume all",
        "watch",
        "launch mode",
        "disable",
    ] {
        let said = all.iter().filter(|said| said["step"] == name);
        let first = said
            .clone()
            .next()
            .with_context(|| format!("no step {name}"))?;
        ensure!(first.get("error").is_none(), "{first}");
    }
    let saved = all.iter().find(|said| said["step"] == SAVED);
    let saved = saved.context("nothing was saved")?;
    ensure!(saved["answer"][1].as_u64() > Some(0), "{saved}");
    Ok(())
}

fn without_scheduler(guest: &mut Guest) -> Result<()> {
    const INVALID: i32 = 22;
    guest.expect_log("Unsupported on sched_policy");
    guest.expect_log("Debugging does not support sched_policy");
    let all = same_answers(guest, "backend=mqd")?;
    ensure!(all[0]["error"] == INVALID, "{}", all[0]);
    Ok(())
}
