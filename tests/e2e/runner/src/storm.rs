// SPDX-License-Identifier: GPL-2.0-only
//! A storm in the guest: processes that do at random what KFD offers, beside loads of
//! which every workgroup is counted, while an operator does at random what the module
//! offers. Without the module the same processes meet the driver alone.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{bail, ensure, Context, Result};
use e2e_protocol::Status;
use e2e_storm::random::Random;
use gpreempt_policy::{CHOICES, NUMBERS};
use serde_json::json;

use crate::agent::errno;
use crate::background::{Background, Expect};
use crate::coverage::{Called, Coverage};
use crate::guest::{on_disk, Guest};
use crate::load::{queue, Load};
use crate::module::{Module, Table};
use crate::run_list::accounts;

/// A storm that is to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub seed: u64,
    /// No process begins after that time of the guest.
    pub seconds: u64,
    pub with_module: bool,
    /// Whether it is noted which functions of KFD are called.
    pub coverage: bool,
}

impl Plan {
    /// The options by which it is asked for, each after a space.
    pub fn options(&self) -> String {
        let Plan {
            seed,
            seconds,
            with_module,
            coverage,
        } = self;
        let alone = if *with_module {
            ""
        } else {
            " --without-module"
        };
        let coverage = if *coverage { " --coverage" } else { "" };
        format!(" --seed {seed} --seconds {seconds}{alone}{coverage}")
    }
}

/// A seed that nobody has tried.
pub fn new_seed() -> u64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    time.map_or(1, |time| time.as_nanos() as u64 % 1_000_000_007)
}

/// What the calls of each life returned that its own doing decides, by actor and life.
pub type Lives = BTreeMap<(u64, u64), Vec<u16>>;

/// What came of a storm.
#[derive(Debug)]
pub struct Outcome {
    pub lives: Lives,
    pub loads: u64,
    pub stops: u64,
    /// Workgroups of the loads beside it, each of which ran once.
    pub workgroups: u64,
    pub coverage: Option<Called>,
}

const PATIENCE: Duration = Duration::from_secs(900);

/// How the driver refuses calls, in parts of lines that it prints as errors.
pub const KNOWN: &[&str] = &[
    "not debug enabled for op",
    "Ring size must be a power of",
    "Metadata ring size must be a power of",
    "Cannot find pid info for",
    "already allocated by SVM",
    "Failed to register MMU notifier",
    "Queue id does not match any known queue",
    "Queue priority must be between",
    "Process device data doesn't exist",
    "exceeds maximum id of",
    "DQM create queue type",
    "SDMA queue to allocate",
    "Queue percentage must be between",
    "Can't access ring base address",
    "Can't access read pointer",
    "Can't access write pointer",
    "Failed to get file for",
    "Failed to create signal event notification slot",
    "amdgpu_amdkfd_criu_resume failed",
    "Invalid CRIU API version",
    "Failed to restore CRIU",
    "Failed to dump CRIU",
    "Cannot dump process when queues",
    // A buffer that two have imported has one handle in the driver's own file, which the
    // first who frees it takes from the other.
    "dmabuf export failed for the BO",
    // Images that a process cannot become as a whole: they are incomplete or another
    // process's, or what they name is there already. The process may be made only in part
    // then, and ends.
    "Failed to map to gpu ",
    "Failed to get pdd",
    "Invalid object type",
    "No pdd for given process",
    "Invalid private data size",
    "Invalid user gpu_id",
    "Failed to find device with gpu_id",
    "Invalid render node file descriptor",
    "could not init vm for given pdd",
    "CRIU: failed to",
    "Could not create the BO",
    "Could not allocate idr",
    "kfd_criu_resume_svm failed",
    "Cannot create new queue because requested qid",
    "SDMA queue already in use",
    "Failed to create new queue err",
    "Failed to restore queue",
    "Failed to obtain user address",
    "Failed to copy ",
    "is not PTRACED and cannot be debugged",
    "Event page size",
    "Failed to map event page to kernel",
    "Failed to set event page",
    "Free signal BO is not allowed",
    "Incorrect CWSR mapping size",
    "Invalid page size",
    "xnack mode cannot be set",
    "userptr can't be mapped to kernel",
    "unmapped memory before destroying userptr",
    "Failed to create process VM object",
    "Getting device by id failed",
    "Event page is already set",
    "Invalid option: ",
    // Memory that is not the process's own, is mapped already, or finds no place.
    "Failed to get user pages",
    "Invalid VA when adding BO to VM",
    " conflict with 0x",
    "Failed to map VA",
    "update_gpuvm_pte() failed",
    "amdgpu_vm_bo_update failed",
    "Failed to map bo to gpuvm",
    "Failed to map peer",
    "Failed to reserve buffers in ttm",
    "Failed to copy process private information",
    // Who destroys a queue that another thread has suspended waits, until it is killed.
    "failed, ret -512",
    // A queue whose memory was taken away, of a process of the storm alone.
    "page fault (src_id:",
    "Process storm pid",
    "for process storm pid",
    "in page starting at address",
    "cookie node_id",
    // The operator draws parameters that do not go together, or not with this GPU, and
    // rules that are gone.
    "transaction=direct is for backend=hws alone",
    "transaction=direct needs functions that this amdgpu does not have",
    "backend=mqd cannot work beside the hardware scheduler",
    "there is no rule ",
];

/// Runs a storm, after which the guest's GPU must be as it was.
pub fn run(guest: &mut Guest, plan: Plan) -> Result<Outcome> {
    let said = format!("the storm of seed {}", plan.seed);
    blow(guest, plan).context(said)
}

fn blow(guest: &mut Guest, plan: Plan) -> Result<Outcome> {
    for text in KNOWN {
        guest.expect_log(text);
    }
    // The driver of Linux 6.12 asks for as much memory as a call wants it to read, and the
    // kernel warns once of more than it ever has.
    for call in [
        "kfd_ioctl_map_memory_to_gpu",
        "kfd_ioctl_unmap_memory_from_gpu",
        "kfd_wait_on_events",
    ] {
        guest.expect_warning("__alloc_pages_noprof", call);
    }
    let load = Load::start_settled(guest, beside(guest))?;
    let (seed, seconds) = (plan.seed.to_string(), plan.seconds.to_string());
    let mut program = on_disk(&["storm", "--seed", &seed, "--seconds", &seconds]);
    if complains_of_checkpoints(guest) {
        let without = ("STORM_WITHOUT_CHECKPOINTS".into(), "1".into());
        program.environment.push(without);
    }
    let coverage = plan.coverage.then(|| Coverage::start(guest)).transpose()?;
    let storm = Background::program(guest, program, Expect::Anything)?;
    let mut operator = Operator::new(plan.seed);
    let finished = loop {
        if let Some(finished) = storm.wait(guest, Duration::from_millis(100))? {
            break finished;
        }
        if plan.with_module {
            operator.act(guest)?;
        }
    };
    ensure!(
        finished.status == Status::Exited(0),
        "it ended with {:?}: {}",
        finished.status,
        finished.stderr
    );
    operator.leave(guest)?;
    accounts(guest)?;
    load.stop(guest)?;
    let report = load.finish(guest)?;
    guest.wait_until("KFD has no process left", PATIENCE, |guest| {
        Ok(guest.agent().list("/sys/class/kfd/kfd/proc")?.is_empty())
    })?;
    let mapped = guest.device.mapped()?;
    ensure!(mapped.is_empty(), "queues are left on the GPU: {mapped:?}");
    let coverage = coverage
        .map(|coverage| coverage.finish(guest))
        .transpose()?;
    Ok(Outcome {
        lives: lives(&finished.stdout)?,
        loads: operator.loads,
        stops: operator.stops,
        workgroups: report
            .queues
            .iter()
            .map(|queue| queue.workgroups.executed)
            .sum(),
        coverage,
    })
}

/// Whether the kernel would report a checkpoint. Lockdep would, and then watch nothing any
/// more: the driver of Linux 6.12 takes a lock for it, inside the DQM lock, with which it
/// allocates memory elsewhere. And with several nodes, of which a life uses one, the driver
/// follows a NULL pointer to the address spaces on the others.
fn complains_of_checkpoints(guest: &Guest) -> bool {
    let kernel = &guest.image.kernel;
    let lockdep = kernel.has("CONFIG_PROVE_LOCKING") && kernel.release.starts_with("6.12.");
    lockdep || guest.shape.nodes() > 1
}

/// A heavy queue and an urgent one, which are there for as long as the storm.
fn beside(guest: &Guest) -> serde_json::Value {
    let more = json!({"group": "heavy", "priority": 0, "requests": 1_000_000});
    let heavy = queue("heavy", 3 * guest.shape.full(), 4_000_000, more);
    let more = json!({"group": "urgent", "priority": 15, "requests": 1_000_000,
        "arrival": {"closed_loop": {"depth": 1, "think_ns": 500_000}}});
    json!({"queues": [heavy, queue("urgent", 1, 50_000, more)]})
}

/// Reads what the storm prints: a line for each life.
fn lives(text: &str) -> Result<Lives> {
    let life = |line: &str| -> Option<((u64, u64), Vec<u16>)> {
        let (head, results) = line.strip_prefix("life ")?.rsplit_once(':')?;
        let mut numbers = head.split(' ');
        let key = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
        let results = results
            .split_whitespace()
            .map(|word| u16::from_str_radix(word, 16).ok())
            .collect::<Option<_>>()?;
        Some((key, results))
    };
    text.lines()
        .map(|line| life(line).with_context(|| format!("the storm printed '{line}'")))
        .collect()
}

/// Compares what the same lives came to in two storms, as far as both got, and returns
/// how many results are the same.
pub fn compare(one: &Lives, other: &Lives) -> Result<usize> {
    let mut same = 0;
    for (life, results) in one {
        let Some(others) = other.get(life) else {
            continue;
        };
        for (step, (result, second)) in results.iter().zip(others).enumerate() {
            if result != second {
                bail!(
                    "life {life:?} differs in result {step}: {result:#06x} alone, {second:#06x} \
                     with the module, each a call's number and its error, after {:x?}",
                    &results[step.saturating_sub(8)..step]
                );
            }
            same += 1;
        }
    }
    Ok(same)
}

/// Who loads, changes and unloads the module.
struct Operator {
    random: Random,
    module: Option<Module>,
    rules: u64,
    loads: u64,
    stops: u64,
}

impl Operator {
    fn new(seed: u64) -> Operator {
        Operator {
            random: Random::new(seed, &[u64::MAX]),
            module: None,
            rules: 0,
            loads: 0,
            stops: 0,
        }
    }

    fn act(&mut self, guest: &mut Guest) -> Result<()> {
        let Some(module) = &self.module else {
            let parameters = self.parameters();
            self.module = Some(Module::load(guest, &parameters)?);
            self.loads += 1;
            self.rules = 0;
            return Ok(());
        };
        let random = &mut self.random;
        match random.below(10) {
            0 => self.leave(guest),
            1 | 2 => {
                let (name, value) = setting(random);
                allow_refusal(module.set(guest, name, &value))
            }
            3 => allow_refusal(module.set(guest, "mode", random.of(MODES).unwrap_or("enforce"))),
            4 => allow_refusal(module.set(guest, "backend", random.of(BACKENDS).unwrap_or("hws"))),
            5 => {
                self.rules += 1;
                let what = random.of(RULES).unwrap_or("comm=storm prio=3");
                allow_refusal(module.add_rule(guest, &format!("{} {what}", self.rules)))
            }
            6 if self.rules > 0 => {
                let number = 1 + random.below(self.rules) as u32;
                allow_refusal(module.delete_rule(guest, number))
            }
            7 => guest
                .agent()
                .shell("for f in /sys/kernel/debug/amd_gpreempt/*; do cat $f >/dev/null; done")
                .map(drop),
            _ => Ok(()),
        }
    }

    /// Parameters to load the module with.
    fn parameters(&mut self) -> String {
        let random = &mut self.random;
        let mut all = vec![
            "mode=enforce".to_owned(),
            format!("backend={}", random.of(BACKENDS).unwrap_or("hws")),
        ];
        for _ in 0..random.below(4) {
            let (name, value) = setting(random);
            all.push(format!("{name}={value}"));
        }
        all.join(" ")
    }

    /// Unloads the module if it is loaded.
    fn leave(&mut self, guest: &mut Guest) -> Result<()> {
        let Some(module) = self.module.take() else {
            return Ok(());
        };
        for node in Table::Stats.read(guest)? {
            ensure!(node["failures"] == 0, "a transaction has failed: {node}");
            self.stops += node["stops"].as_u64().unwrap_or(0);
        }
        module.unload(guest)
    }
}

const MODES: &[&str] = &["enforce", "enforce", "enforce", "observe", "off"];
/// The last one is refused, and nothing is stopped until another one is chosen.
const BACKENDS: &[&str] = &[
    "hws", "hws", "hws", "hws", "hws", "hws", "hws", "hws", "hws", "mqd",
];
const RULES: &[&str] = &[
    "cgroup=/ prio=1",
    "cgroup=/storm-1 prio=9 timeslice_us=500",
    "comm=storm exempt",
    "comm=storm prio=15",
    "comm=workload prio=4",
    "cgroup=/storm-0 prio=12",
    "comm=storm node=0000:01:00.0/0 prio=13",
];

/// A parameter and a value for it; the bounds more often than what lies between.
fn setting(random: &mut Random) -> (&'static str, String) {
    if random.one_in(3) {
        let choices: Vec<_> = CHOICES
            .iter()
            .filter(|choice| !["mode", "backend"].contains(&choice.name))
            .collect();
        let choice = random.of(&choices).expect("there are choices");
        let word = random.of(choice.words).expect("each has words");
        return (choice.name, word.replace('N', "6"));
    }
    let number = random.of(NUMBERS).expect("there are numbers");
    let span = u64::from(number.max - number.min) + 1;
    let value = match random.below(4) {
        0 => number.min,
        1 => number.max,
        2 => number.default,
        _ => number.min + (random.below(span) as u32),
    };
    (number.name, value.to_string())
}

/// A value or a rule may be refused; the module may not be gone.
fn allow_refusal(result: Result<()>) -> Result<()> {
    const EINVAL: i32 = 22;
    const EXIST: i32 = 17;
    const ENOENT: i32 = 2;
    match result {
        Err(error) if matches!(errno(&error), Some(EINVAL | EXIST | ENOENT)) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_storm_prints_is_read() {
        let text = "life 0 3 Exited(Pid(7), 0): 1500 1616\nlife 2 0 Signaled(Pid(9), SIGKILL): \n";
        let read = lives(text).unwrap();
        assert_eq!(read[&(0, 3)], [0x1500, 0x1616]);
        assert!(read[&(2, 0)].is_empty());
        assert!(lives("nonsense").is_err());
        assert!(lives("life 0 3: zz").is_err());
    }

    #[test]
    fn lives_are_compared_as_far_as_both_got() {
        let one = Lives::from([((0, 0), vec![1, 2, 3]), ((0, 1), vec![4])]);
        let two = Lives::from([((0, 0), vec![1, 2])]);
        assert_eq!(compare(&one, &two).unwrap(), 2);
        let two = Lives::from([((0, 0), vec![1, 9])]);
        let error = compare(&one, &two).unwrap_err().to_string();
        assert!(error.contains("result 1: 0x0002 alone, 0x0009"), "{error}");
    }

    #[test]
    fn settings_are_within_their_bounds() {
        let mut random = Random::new(3, &[]);
        for _ in 0..1000 {
            let (name, value) = setting(&mut random);
            if let Some(number) = NUMBERS.iter().find(|number| number.name == name) {
                let value: u32 = value.parse().unwrap();
                assert!((number.min..=number.max).contains(&value), "{name}={value}");
            }
        }
    }
}
