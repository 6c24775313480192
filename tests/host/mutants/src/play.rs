// SPDX-License-Identifier: GPL-2.0-only
//! Compiles the policy with all changes, and plays its tests with one awake.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use anyhow::{ensure, Context, Result};

use crate::change::Change;
use crate::trial::TESTS;

/// How many seconds of a processor a program may take before it counts as hanging;
/// none takes one without a change.
const LONGEST: &str = "5";

/// How many random lives are lived.
const LIVES: &str = "200";

/// The tests that say what they are about, and where each is run.
const NAMED: [(&str, &str); 7] = [
    ("gpreempt_policy", "rust/policy"),
    ("cases", TESTS),
    ("rule_text", TESTS),
    ("crowd", TESTS),
    ("little_room", TESTS),
    ("settings", TESTS),
    ("rest", TESTS),
];

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// A named test fails.
    Noticed,
    /// A program does not end.
    Hangs,
    /// No named test fails; in a random life a property does not hold.
    Broken,
    /// No test fails, though something else is decided or shown in a random life.
    Differs,
    /// No test fails, and every random life goes as without the change.
    Same,
}

/// A test program, and the folder that it is run in.
struct Suite {
    program: PathBuf,
    folder: PathBuf,
}

/// The test programs.
pub struct Suites {
    named: Vec<Suite>,
    lives: PathBuf,
    /// What comes of each random life without any change.
    unchanged: Vec<String>,
}

/// Compiles everything, and tries it without any change.
///
/// # Errors
///
/// What does not compile, and a test that fails without any change.
pub fn build(trial: &Path) -> Result<Suites> {
    let output = Command::new("cargo")
        .args(["test", "--offline", "--workspace", "--no-run"])
        .current_dir(trial)
        .env("CARGO_TARGET_DIR", trial.join("target"))
        .output()
        .context("cannot run cargo")?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "the changed policy does not compile:\n{text}"
    );
    let find = |(name, folder): &(&str, &str)| {
        let begin = format!("/deps/{name}-");
        let line = text.lines().rev().find(|line| line.contains(&begin));
        let path = line.and_then(|line| line.rsplit(['(', ')']).nth(1));
        let path = path.with_context(|| format!("there is no test program {name}:\n{text}"))?;
        Ok(Suite {
            program: trial.join(path),
            folder: trial.join(folder),
        })
    };
    let mut suites = Suites {
        named: NAMED.iter().map(find).collect::<Result<_>>()?,
        lives: trial.join("target/debug/lives"),
        unchanged: Vec::new(),
    };
    suites.unchanged = live(&suites, 0)?.1;
    let verdict = play(&suites, 0)?;
    ensure!(
        verdict == Verdict::Same,
        "without any change the tests say {verdict:?}: mend that first"
    );
    Ok(suites)
}

/// A program that is ended when it has used a processor for too long.
fn limited(program: &Path, number: u32) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -t \"$1\"; shift; exec \"$@\"", "sh", LONGEST])
        .arg(program)
        .env("GP_MUTANT", number.to_string())
        // Properties of random texts would notice by chance.
        .env("PROPTEST_CASES", "1")
        .env("PROPTEST_RNG_SEED", "1")
        .env("RUST_BACKTRACE", "0")
        .stderr(Stdio::null());
    command
}

/// Whether it was ended because it took too long.
fn hangs(status: ExitStatus) -> bool {
    status.signal().is_some()
}

/// Lives random lives with one change awake; says how that ended, and what came of
/// each life.
fn live(suites: &Suites, number: u32) -> Result<(ExitStatus, Vec<String>)> {
    let mut child = limited(&suites.lives, number)
        .arg(LIVES)
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take().context("no output")?;
    let lines = BufReader::new(output).lines().collect::<Result<_, _>>()?;
    Ok((child.wait()?, lines))
}

/// What a test program says with one change awake; `None`: nothing.
fn test(suite: &Suite, number: u32) -> Result<Option<Verdict>> {
    let status = limited(&suite.program, number)
        .args(["--test-threads", "1"])
        .current_dir(&suite.folder)
        .stdout(Stdio::null())
        .status()?;
    Ok(match status.success() {
        true => None,
        false if hangs(status) => Some(Verdict::Hangs),
        false => Some(Verdict::Noticed),
    })
}

/// Plays the tests with one change awake; 0 is none.
///
/// # Errors
///
/// A program that cannot be run.
pub fn play(suites: &Suites, number: u32) -> Result<Verdict> {
    for suite in &suites.named {
        if let Some(verdict) = test(suite, number)? {
            return Ok(verdict);
        }
    }
    let (status, lives) = live(suites, number)?;
    if status.success() && lives == suites.unchanged {
        return Ok(Verdict::Same);
    }
    if hangs(status) {
        return Ok(Verdict::Hangs);
    }
    let broken = !status.success() || lives.iter().any(|life| life.starts_with("broken"));
    Ok(match broken {
        true => Verdict::Broken,
        false => Verdict::Differs,
    })
}

/// Plays every change, several at a time.
///
/// # Errors
///
/// A program that cannot be run.
pub fn play_all(suites: &Suites, changes: &[&Change]) -> Result<Vec<Verdict>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(vec![Verdict::Same; changes.len()]);
    let workers = std::thread::available_parallelism()?.get();
    let work = || -> Result<()> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(change) = changes.get(at) else {
                return Ok(());
            };
            let verdict = play(suites, change.number)?;
            done.lock().expect("no worker panics")[at] = verdict;
        }
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        all.into_iter()
            .try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    Ok(done.into_inner().expect("no worker panics"))
}
