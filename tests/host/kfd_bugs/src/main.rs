// SPDX-License-Identifier: GPL-2.0-only

//! Builds the test module with every bug of the list, runs the suites that have to notice
//! each of them, and names those that nobody notices.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{bail, ensure, Result};
use kfd_bugs::bugs::{Bug, BUGS};
use kfd_bugs::guest::{judge, Fate};
use kfd_bugs::tree;

const USAGE: &str = "\
usage: kfd-bugs PROJECT KERNEL WORK [TEXT...]

Builds in the folder WORK against the test kernel in the folder KERNEL. With
TEXT, only bugs in whose words, file or suites one of the texts occurs.";

/// The suites to be run for each bug, by their whole names. Without a bug, whose number is
/// 0, all of them have to pass.
type Trials = BTreeMap<usize, Vec<String>>;

/// The trials of the bugs in whose words, file or suites one of some texts occurs, or of
/// all.
fn trials(texts: &[String]) -> Trials {
    let mut trials = Trials::new();
    for (number, Bug(what, file, _, _, suites)) in (1..).zip(BUGS) {
        let named = |text: &String| {
            [what, file, suites]
                .iter()
                .any(|name| name.contains(&**text))
        };
        if texts.is_empty() || texts.iter().any(named) {
            let whole = |suite| format!("amd_gpreempt_{suite}");
            trials.insert(number, suites.split(' ').map(whole).collect());
        }
    }
    let mut all: Vec<String> = trials.values().flatten().cloned().collect();
    all.sort_unstable();
    all.dedup();
    trials.insert(0, all);
    trials
}

/// What is given to a program.
struct Place {
    project: PathBuf,
    kernel: PathBuf,
    work: PathBuf,
}

impl Place {
    /// Copies the sources, puts the bugs in, and builds the modules.
    fn build(&self) -> Result<PathBuf> {
        let (copy, out) = (self.work.join("sources"), self.work.join("modules"));
        fs::create_dir_all(&out)?;
        run(Command::new(self.project.join("scripts/build/sources")).arg(&copy))?;
        // Of the policy's tests there is a suite as well.
        let (host, link) = (self.project.join("tests/host"), copy.join("tests/host"));
        if !link.exists() {
            symlink(host, link)?;
        }
        tree::put_switches(&self.project, &copy, BUGS)?;
        tree::shorten(&copy)?;
        let of = |name: &str, path: &Path| format!("{name}={}", path.display());
        let offsets = self.project.join("tests/data/btf/expected-offsets.txt");
        let log = self.work.join("build.log");
        let made = Command::new("make")
            .arg("-C")
            .arg(self.kernel.join("tree"))
            .args([of("M", &copy), of("MO", &out), "GP_KUNIT=suites".into()])
            .arg(of("GP_OFFSETS", &offsets))
            .args(["LIBCLANG_PATH=/usr/lib/llvm-19/lib", "modules"])
            .stdin(Stdio::null())
            .stdout(fs::File::create(&log)?)
            .stderr(fs::File::create(self.work.join("build.errors"))?)
            .status()?;
        if !made.success() {
            let errors = fs::read_to_string(self.work.join("build.errors"))?;
            // What is put in leads to warnings, which come before.
            let is_error = |line: &str| line.starts_with("error") || line.contains(": error: ");
            let of_errors = errors.lines().skip_while(|line| !is_error(line));
            let first: Vec<&str> = of_errors.take(30).collect();
            bail!("the bugs do not compile:\n{}", first.join("\n"));
        }
        Ok(out)
    }

    /// Lets a guest try bugs, as many as it can. Returns what it printed.
    fn boot(&self, modules: &Path, left: &Trials) -> Result<String> {
        let given = left.iter();
        let given = given.map(|(number, suites)| format!("{number}:{}", suites.join(",")));
        let mut command = Command::new(self.project.join("scripts/guest/guest"));
        command
            .args(["--timeout", "3600", "--vmlinuz"])
            .arg(self.kernel.join("image/vmlinuz"));
        for ko in ["amdgpu.ko", "amd_gpreempt_kunit.ko"] {
            command.arg("--ko").arg(modules.join(ko));
        }
        for name in ["amdgpu", "vmlinux"] {
            let types = self.work.join(format!("{name}.btf"));
            let packed = self
                .project
                .join(format!("tests/data/btf/{name}-7.3.4.btf.xz"));
            let unpacked = fs::File::create(&types)?;
            run(Command::new("xz").arg("-dc").arg(packed).stdout(unpacked))?;
            command
                .arg("--file")
                .arg(format!("{}=/types/{name}", types.display()));
        }
        command.args(["--append", "loglevel=7 kunit.enable=1 kunit.autorun=1"]);
        command
            .arg(self.project.join("tests/kunit/bugs.sh"))
            .args(given);
        let console = self.work.join("console");
        command
            .stdin(Stdio::null())
            .stdout(fs::File::create(&console)?);
        // How it ends is seen from what it printed.
        command.status()?;
        let log = String::from_utf8_lossy(&fs::read(&console)?).into_owned();
        Ok(log)
    }
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status()?;
    ensure!(
        status.success(),
        "{:?} has failed: {status}",
        command.get_program()
    );
    Ok(())
}

/// Tries bugs until all have a fate.
fn try_all(place: &Place, modules: &Path, trials: &Trials) -> Result<BTreeMap<usize, Fate>> {
    let mut fates = BTreeMap::new();
    let mut left = trials.clone();
    while !left.is_empty() {
        let log = place.boot(modules, &left)?;
        let of = |number| {
            let suites = trials.get(&number).into_iter().flatten();
            suites.map(String::as_str).collect()
        };
        let judged = judge(&log, of);
        if judged.is_empty() {
            let console = place.work.join("console");
            bail!("the guest has tried nothing: see {}", console.display());
        }
        for (number, fate) in judged {
            // Nothing is proven by a module that fails without a bug.
            ensure!(
                number > 0 || fate == Fate::Survived,
                "without any bug: {fate:?}"
            );
            say(number, &fate);
            left.remove(&number);
            fates.insert(number, fate);
        }
    }
    fates.remove(&0);
    Ok(fates)
}

fn say(number: usize, fate: &Fate) {
    let Some(Bug(what, file, ..)) = number.checked_sub(1).and_then(|at| BUGS.get(at)) else {
        return;
    };
    let fate = match fate {
        Fate::Noticed(by) => format!("noticed by {}", by.join(", ")),
        Fate::Survived => "SURVIVED".into(),
        Fate::Unknown(why) => format!("NOT TRIED: {why}"),
    };
    println!("{number:>3} {what} ({file}): {fate}");
}

fn try_list() -> Result<bool> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [project, kernel, work, texts @ ..] = arguments.as_slice() else {
        bail!("{USAGE}");
    };
    let place = Place {
        project: project.into(),
        kernel: kernel.into(),
        work: work.into(),
    };
    let trials = trials(texts);
    ensure!(trials.len() > 1, "no bug is about {texts:?}");
    let modules = place.build()?;
    let fates = try_all(&place, &modules, &trials)?;
    let noticed = fates
        .values()
        .filter(|fate| matches!(fate, Fate::Noticed(_)))
        .count();
    println!("{noticed} passed, {} failed", fates.len() - noticed);
    Ok(noticed == fates.len())
}

fn main() -> ExitCode {
    match try_list() {
        Ok(all) => ExitCode::from(u8::from(!all)),
        Err(error) => {
            eprintln!("kfd-bugs: {error:#}");
            ExitCode::from(2)
        }
    }
}
