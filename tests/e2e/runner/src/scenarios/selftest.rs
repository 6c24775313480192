// SPDX-License-Identifier: GPL-2.0-only
//! The self test of operators, with the virtual GPU as the hardware.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use e2e_protocol::{Finished, Status};
use serde_json::{json, Value};
use vgpu_model::Faults;

use super::direct::DIRECT;
use super::preemption::PATIENCE;
use crate::background::{Background, Expect};
use crate::cache::program;
use crate::guest::{Guest, FILES};
use crate::load::{queue, Load, DILATION};
use crate::module::{Module, Table};
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "the self test goes through on the virtual GPU",
        needs: Needs::ANY.compiled(),
        run: goes_through,
    },
    Scenario {
        suite: Suite::E2e,
        name: "the self test goes through the loads",
        // It measures transaction=direct, too.
        needs: Needs {
            driver: DIRECT,
            ..Needs::ONCE.compiled()
        },
        run: loads,
    },
    Scenario {
        suite: Suite::E2e,
        name: "the self test stops where a queue does not yield",
        needs: Needs::ONCE.compiled(),
        run: unyielding,
    },
    Scenario {
        suite: Suite::E2e,
        name: "the self test stops where work is lost",
        needs: Needs::ONCE.compiled(),
        run: spoiled,
    },
    Scenario {
        suite: Suite::E2e,
        name: "the self test stops when the module is unloaded",
        needs: Needs::ONCE.compiled(),
        run: unloaded,
    },
    Scenario {
        suite: Suite::E2e,
        name: "the self test leaves a GPU alone that others use",
        needs: Needs::ONCE.compiled(),
        run: others,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a self test that is ended leaves everything as it was",
        needs: Needs::ONCE.compiled(),
        run: ended,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a self test that cannot begin says why",
        needs: Needs::ONCE.compiled(),
        run: refused,
    },
];

const NAME: &str = "gpreempt-selftest";
const REPORT: &str = "/tmp/selftest.md";
/// A self test goes on for minutes.
const LONG: Duration = Duration::from_secs(1200);
/// Settings and a rule that no step would choose.
const SETTINGS: &str =
    "mode=observe grace_us=77 timeslice_us=5 user_priority=honour sampler=memory";
const RULE: &str = "7 comm=nobody prio=3";
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

/// A self test that runs, and what the operator had set before.
struct Test {
    program: Background,
    before: Before,
}

#[derive(Debug, PartialEq, Eq)]
struct Before {
    parameters: String,
    rules: String,
}

impl Before {
    fn of(guest: &mut Guest) -> Result<Before> {
        let all =
            "cd /sys/module/amd_gpreempt/parameters && for p in *; do echo $p $(cat $p); done";
        Ok(Before {
            parameters: guest.agent().shell(all)?,
            rules: guest
                .agent()
                .read_file("/sys/kernel/debug/amd_gpreempt/rules.json")?,
        })
    }
}

fn install(guest: &mut Guest) -> Result<()> {
    if guest.agent().list(FILES)?.iter().any(|name| name == NAME) {
        return Ok(());
    }
    let files = BTreeMap::from([(NAME.to_owned(), program(NAME)?)]);
    guest.add_files(&files, FILES)
}

fn module(guest: &mut Guest) -> Result<Module> {
    install(guest)?;
    let module = Module::load(guest, SETTINGS)?;
    module.add_rule(guest, RULE)?;
    Ok(module)
}

fn start(guest: &mut Guest, options: &str) -> Result<Test> {
    let before = Before::of(guest)?;
    let dilation = DILATION.to_string();
    let patience = PATIENCE.as_secs().to_string();
    let mut line = vec![
        NAME,
        "--virtual",
        &dilation,
        "--patience",
        &patience,
        "--output",
        REPORT,
    ];
    line.extend(options.split_whitespace());
    let program = Background::start(guest, &line, Expect::Anything)?;
    Ok(Test { program, before })
}

impl Test {
    /// Waits until it has begun with a step.
    fn wait_for_step(&self, guest: &mut Guest, step: usize) -> Result<()> {
        guest.wait_until(&format!("step {step} has begun"), LONG, |guest| {
            if let Some(ended) = self.program.wait(guest, Duration::ZERO)? {
                bail!("the self test has ended: {ended:?}");
            }
            let text = self.program.output(guest)?;
            Ok(text.contains(&format!("step {step}: ")))
        })
    }

    /// It ends well, and everything is as it was.
    fn passes(self, guest: &mut Guest) -> Result<(String, Value)> {
        let ended = self.program.end(guest, LONG)?;
        ensure!(ended.status == Status::Exited(0), "{ended:?}");
        ensure!(
            ended.stdout.contains("; everything is as it was"),
            "{ended:?}"
        );
        self.as_it_was(guest)?;
        let report = report(guest)?;
        Ok((ended.stdout, report))
    }

    /// It stops at a step, and says why in one line.
    fn stops(self, guest: &mut Guest, step: usize, why: &str) -> Result<Finished> {
        let ended = self.program.end(guest, LONG)?;
        let said = ended.stderr.trim_end();
        ensure!(
            ended.status == Status::Exited(1)
                && said.starts_with(&format!("{NAME}: step {step} ("))
                && said.contains(why)
                && said.lines().count() == 1,
            "not stopped at step {step} with '{why}': {ended:?}"
        );
        Ok(ended)
    }

    fn as_it_was(&self, guest: &mut Guest) -> Result<()> {
        let now = Before::of(guest)?;
        ensure!(now == self.before, "{now:?} instead of {:?}", self.before);
        Ok(())
    }
}

/// The report's part for programs. It names neither host nor user.
fn report(guest: &mut Guest) -> Result<Value> {
    let text = guest.agent().read_file(REPORT)?;
    let data = text.split("```json").nth(1);
    let data = data.and_then(|rest| rest.split("```").next());
    let data: Value = serde_json::from_str(data.context("the report has no JSON")?)?;
    ensure!(data["schema"] == 1, "{data}");
    Ok(data["report"].clone())
}

fn goes_through(guest: &mut Guest) -> Result<()> {
    let module = module(guest)?;
    // A name that nothing else has.
    guest.agent().shell("hostname customer-7x")?;
    let test = start(guest, "--until 3 --cycles 3")?;
    let (printed, report) = test.passes(guest)?;
    guest.agent().shell("hostname '(none)'")?;
    ensure!(printed.contains("4 of 5 steps passed"), "{printed}");
    let steps = report["steps"].as_array().context("no steps")?;
    ensure!(steps.len() == 4, "{} steps", steps.len());
    ensure!(
        steps.iter().all(|step| step["outcome"] == "passed"),
        "{report}"
    );
    let facts = &steps[0]["found"]["data"]["facts"];
    ensure!(
        facts["kernel"] == guest.image.kernel.release.as_str()
            && facts["gpu"]["dies"] == guest.shape.dies()
            && facts["gpu"]["units"] == 4 * guest.shape.cu_per_sh * guest.shape.dies(),
        "{facts}"
    );
    let one = &steps[2]["found"]["data"]["parts"];
    ensure!(
        one["stops"] == 1 && one["times"]["unmap"]["count"].as_u64() >= Some(1),
        "{one}"
    );
    let sizes = steps[3]["found"]["data"].as_array().context("no sizes")?;
    ensure!(
        sizes.len() == 3 && sizes.iter().all(|size| size["stops"].as_u64() >= Some(3)),
        "{sizes:?}"
    );
    let text = guest.agent().read_file(REPORT)?;
    ensure!(!text.contains("customer-7x"), "the report names the host");
    no_queues(guest)?;
    module.unload(guest)
}

fn loads(guest: &mut Guest) -> Result<()> {
    let module = module(guest)?;
    let test = start(guest, "--cycles 1 --loads L --millis 60 --requests 1")?;
    let (printed, report) = test.passes(guest)?;
    ensure!(printed.contains("5 of 5 steps passed"), "{printed}");
    let runs = report["steps"][4]["found"]["data"].as_array();
    let names: Vec<&str> = runs
        .into_iter()
        .flatten()
        .filter_map(|run| run["contender"].as_str())
        .collect();
    ensure!(
        names == ["alone", "none", "classes", "claimed", "strict", "direct"],
        "{names:?}"
    );
    no_queues(guest)?;
    module.unload(guest)
}

fn no_queues(guest: &mut Guest) -> Result<()> {
    guest.wait_until("no queue of the self test is left", PATIENCE, |guest| {
        Ok(Table::Queues.read(guest)?.is_empty())
    })
}

/// The doorbell of the queue with most work on the GPU.
fn heaviest(guest: &mut Guest) -> Result<u64> {
    let mut found = None;
    guest.wait_until("a queue has waves", PATIENCE, |guest| {
        let queues = guest.device.mapped()?.into_iter();
        let heavy = queues.max_by_key(|queue| queue.workgroups_resident);
        found = heavy.filter(|queue| queue.workgroups_resident > 1);
        Ok(found.is_some())
    })?;
    Ok(found.context("no queue is mapped")?.queue.doorbell)
}

fn unyielding(guest: &mut Guest) -> Result<()> {
    super::recovery::expect_hang(guest);
    for text in ["Queue preemption failed", "is reset", "Queues reset on"] {
        guest.expect_log(text);
    }
    let module = module(guest)?;
    let test = start(guest, "--until 3 --cycles 100000")?;
    test.wait_for_step(guest, 3)?;
    let doorbell = heaviest(guest)?;
    guest.device.set_faults(Faults {
        unyielding: [doorbell].into(),
        ..Faults::default()
    })?;
    guest.wait_for_log("reset", PATIENCE)?;
    guest.device.set_faults(Faults::default())?;
    let before = test.before.parameters.clone();
    let ended = test.stops(guest, 3, "")?;
    ensure!(
        ended.stderr.contains("; everything is as it was"),
        "{ended:?}"
    );
    ensure!(Before::of(guest)?.parameters == before);
    let report = report(guest)?;
    ensure!(
        report["steps"][3]["outcome"]["stopped"].is_string(),
        "{report}"
    );
    no_queues(guest)?;
    module.unload(guest)
}

fn spoiled(guest: &mut Guest) -> Result<()> {
    for text in super::faults::PAGE_FAULT {
        guest.expect_log(text);
    }
    guest.expect_log("Process gpreempt-selfte pid");
    guest.expect_log("for process gpreempt-selfte pid");
    let module = module(guest)?;
    let test = start(guest, "--until 3 --cycles 100000")?;
    test.wait_for_step(guest, 3)?;
    let doorbell = heaviest(guest)?;
    guest.device.set_faults(Faults {
        corrupt_saves: [doorbell].into(),
        ..Faults::default()
    })?;
    guest.wait_for_log("no-retry page fault (src_id:0", PATIENCE)?;
    guest.device.set_faults(Faults::default())?;
    let before = test.before.parameters.clone();
    let ended = test.stops(guest, 3, "fault")?;
    ensure!(
        ended.stderr.contains("; everything is as it was"),
        "{ended:?}"
    );
    ensure!(Before::of(guest)?.parameters == before);
    no_queues(guest)?;
    module.unload(guest)
}

fn unloaded(guest: &mut Guest) -> Result<()> {
    let module = module(guest)?;
    let test = start(guest, "--until 3 --cycles 100000")?;
    test.wait_for_step(guest, 3)?;
    drop(module);
    // Whoever reads a table at that moment holds the module.
    guest.wait_until("the module is unloaded", PATIENCE, |guest| {
        Ok(guest.agent().rmmod("amd_gpreempt").is_ok())
    })?;
    let ended = test.stops(guest, 3, "the module is not loaded")?;
    ensure!(
        ended.stderr.contains("; not everything is as it was: "),
        "{ended:?}"
    );
    // It runs again with what is there.
    let again = self::module(guest)?;
    start(guest, "--until 1")?.passes(guest)?;
    again.unload(guest)
}

fn others(guest: &mut Guest) -> Result<()> {
    let module = module(guest)?;
    let other = json!({"queues": [queue("other", 1, 50_000, json!({"requests": 1_000_000}))]});
    let load = Load::start(guest, other.clone())?;
    let why = format!(
        "process {} (workload) uses the GPU with",
        load.pid("other")?
    );
    let test = start(guest, "--until 1")?;
    let ended = test.stops(guest, 0, &why)?;
    ensure!(
        ended.stderr.contains("end it, or say --beside-others"),
        "{ended:?}"
    );
    let text = guest.agent().read_file(REPORT)?;
    ensure!(text.contains("1 other processes use the GPU"), "{text}");
    start(guest, "--until 1 --beside-others")?.passes(guest)?;
    load.stop(guest)?;
    load.finish(guest)?;
    no_queues(guest)?;

    // One that comes later is a surprise, too.
    let test = start(guest, "--until 3 --cycles 100000")?;
    test.wait_for_step(guest, 3)?;
    let load = Load::start(guest, other)?;
    test.stops(guest, 3, "has begun to use the GPU")?;
    load.stop(guest)?;
    load.finish(guest)?;
    no_queues(guest)?;
    module.unload(guest)
}

fn ended(guest: &mut Guest) -> Result<()> {
    let module = module(guest)?;
    let test = start(guest, "--until 3 --cycles 100000")?;
    test.wait_for_step(guest, 3)?;
    test.program.signal(guest, SIGTERM)?;
    let ended = test.stops(guest, 3, "SIGTERM has ended the self test")?;
    ensure!(
        ended.stderr.contains("; everything is as it was"),
        "{ended:?}"
    );
    no_queues(guest)?;

    let test = start(guest, "--until 3 --cycles 100000")?;
    test.wait_for_step(guest, 3)?;
    guest.wait_until("it acts", PATIENCE, |guest| {
        let mode = "/sys/module/amd_gpreempt/parameters/mode";
        Ok(guest.agent().read_file(mode)?.trim() == "enforce")
    })?;
    test.program.signal(guest, SIGKILL)?;
    guest.wait_until("everything is as it was", PATIENCE, |guest| {
        Ok(Before::of(guest)? == test.before)
    })?;
    no_queues(guest)?;
    module.unload(guest)
}

fn refused(guest: &mut Guest) -> Result<()> {
    install(guest)?;
    let says = |guest: &mut Guest, options: &str, code: i32, why: &str| -> Result<()> {
        let mut line = vec![NAME, "--output", "/nowhere/report"];
        line.extend(options.split_whitespace());
        let program = Background::start(guest, &line, Expect::Anything)?;
        let ended = program.end(guest, PATIENCE)?;
        ensure!(
            ended.status == Status::Exited(code) && ended.stderr.contains(why),
            "{options}: {ended:?}"
        );
        Ok(())
    };
    says(
        guest,
        "",
        1,
        "the module is not loaded: modprobe amd_gpreempt",
    )?;
    says(guest, "--until 9", 2, "the steps are 0 to 4")?;
    says(guest, "--loads nonsense", 2, "there is no load nonsense")?;
    let module = module(guest)?;
    let before = Before::of(guest)?;
    says(guest, "", 1, "/nowhere/report")?;
    let nodes = guest.shape.nodes();
    let why = format!("there is no GPU {nodes}: KFD shows {nodes}");
    says(guest, &format!("--gpu {nodes}"), 1, &why)?;
    ensure!(Before::of(guest)? == before);
    module.unload(guest)
}
