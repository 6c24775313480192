// SPDX-License-Identifier: GPL-2.0-only
//! The commands that are about a configuration.

use std::path::{Path, PathBuf};

use gpreempt_operator::act::apply::{as_shown, differences, make, Waiting};
use gpreempt_operator::act::compare;
use gpreempt_operator::act::follow;
use gpreempt_operator::act::save;
use gpreempt_operator::configuration::attempts::Attempts;
use gpreempt_operator::configuration::config::{Config, Wrong, PLACE};
use gpreempt_operator::configuration::file_text;
use gpreempt_operator::configuration::noted;
use gpreempt_operator::host::file::replace;
use gpreempt_operator::host::options;
use gpreempt_operator::host::tree::{Host, Refusal};
use gpreempt_operator::module::difference::Difference;
use gpreempt_operator::module::kernel::Kernel;
use gpreempt_operator::words::table::Fault;

use crate::outcome::Outcome;
use crate::report::{Place, Report, Standing};

/// The file that was named, or the one of the host.
fn place(host: &Host, file: Option<PathBuf>) -> PathBuf {
    file.unwrap_or_else(|| host.path(PLACE))
}

pub fn check(host: &Host, file: Option<PathBuf>) -> Result<Outcome, Refusal> {
    let path = place(host, file);
    let file = path.display().to_string();
    match Config::read(&path) {
        Ok(config) => {
            let gone = places(&config.gone);
            let mut lines = in_file(&file, &gone);
            lines.push(format!("{file}: {}", summary(&config)));
            let faults = Vec::new();
            let report = Report::Check { file, faults, gone };
            Ok(Outcome::good(lines, report))
        }
        Err(Wrong::Unreadable(refusal)) => Err(refusal),
        Err(Wrong::Faults(faults)) => Ok(faulty(&path, &faults)),
    }
}

/// Says what the host's configuration and the options of the module name that is gone. A
/// configuration that is wrong, or none, is no matter here.
pub fn gone(host: &Host, file: Option<PathBuf>) -> Outcome {
    let path = place(host, file);
    let config = Config::read(&path).unwrap_or_default();
    let mut lines = in_file(&path.display().to_string(), &places(&config.gone));
    let options = options::wrong(host).into_iter().filter(|wrong| wrong.gone);
    lines.extend(options.map(|wrong| format!("{}: {}", wrong.place, wrong.remedy)));
    let gone = lines.clone();
    Outcome::good(lines, Report::Gone { gone })
}

fn places(faults: &[Fault]) -> Vec<Place> {
    faults.iter().map(Place::from).collect()
}

/// Each of some places of a file in a line.
fn in_file(file: &str, places: &[Place]) -> Vec<String> {
    let line = |place: &Place| format!("{file}:{}:{}: {}", place.line, place.column, place.what);
    places.iter().map(line).collect()
}

/// What a good configuration says, in a few words.
fn summary(config: &Config) -> String {
    let defaults = Config::new().parameters;
    let set = config
        .parameters
        .iter()
        .filter(|(name, value)| **name != "mode" && defaults.get(*name) != Some(value));
    let mode = config.parameters.get("mode").map_or("", String::as_str);
    let mut summary = format!(
        "mode {mode}, {} other than by default, {}",
        counted(set.count(), "parameter"),
        counted(config.rules.len(), "rule")
    );
    for (gpu, mode) in &config.gpus {
        summary.push_str(&format!(", mode {mode} for GPU {gpu} alone"));
    }
    summary
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// Reads a configuration that is to be put into force. The inner error is what is
/// said of one that is wrong.
fn read(path: &Path) -> Result<Result<Config, Box<Outcome>>, Refusal> {
    match Config::read(path) {
        Ok(config) => Ok(Ok(config)),
        Err(Wrong::Unreadable(refusal)) => Err(refusal),
        Err(Wrong::Faults(faults)) => {
            let mut outcome = faulty(path, &faults);
            outcome.complaints.push("nothing was changed".into());
            Ok(Err(Box::new(outcome)))
        }
    }
}

/// What is said of a file that is wrong.
fn faulty(path: &Path, faults: &[Fault]) -> Outcome {
    let file = path.display().to_string();
    let faults = places(faults);
    Outcome {
        lines: Vec::new(),
        complaints: in_file(&file, &faults),
        report: Report::Check {
            file,
            faults,
            gone: Vec::new(),
        },
    }
}

/// Says what `apply` would change.
pub fn dry_run(host: &Host, file: Option<PathBuf>) -> Result<Outcome, Refusal> {
    let path = place(host, file);
    let config = match read(&path)? {
        Ok(config) => config,
        Err(outcome) => return Ok(*outcome),
    };
    let now = host.state()?;
    let resolved = follow::Found::new(host, &config).resolve(&config, &now);
    let changes = words(&differences(&now, &as_shown(host, &resolved.config)));
    let file = path.display().to_string();
    let gone = places(&config.gone);
    let mut lines = in_file(&file, &gone);
    match changes.is_empty() {
        true => lines.push(format!("{file} is in force")),
        false => lines.extend(changes.clone()),
    }
    lines.extend(words(&resolved.waiting));
    let report = Report::Apply {
        file,
        gone,
        changes,
        waiting: named(&resolved.waiting),
        dry_run: true,
    };
    Ok(Outcome::good(lines, report))
}

pub fn apply(
    host: &Host,
    file: Option<PathBuf>,
    again: bool,
    at_boot: bool,
) -> Result<Outcome, Refusal> {
    let path = place(host, file);
    let config = match read(&path)? {
        Ok(config) => config,
        Err(outcome) => return Ok(*outcome),
    };
    // Files of users are not waited for while others wait for their turn.
    let found = follow::Found::new(host, &config);
    let turn = host.turn()?;
    let now = host.state()?;
    let known = Attempts::read(host)?;
    let attempt = match again {
        true => Attempts::default(),
        false => known.clone(),
    }
    .begin(host, &config)?;
    let noted = match (at_boot, again) {
        (true, _) => attempt,
        (false, true) => Attempts::default(),
        (false, false) => known.clone().replaced_by(host, &config),
    };
    if noted != known {
        noted.write(host)?;
    }
    let resolved = found.resolve(&config, &now);
    let due = differences(&now, &as_shown(host, &resolved.config));
    let applied = make(&mut host.clone(), &now, due).map_err(|refusal| {
        // What is not in force cannot make the host fail.
        match (noted != known).then(|| known.write(host)) {
            Some(Err(error)) => Refusal(format!("{refusal}; {error}")),
            _ => refusal,
        }
    })?;
    let noted = noted::note(host, &config, &resolved.given());
    drop(turn);
    let file = path.display().to_string();
    let mut waiting = words(&applied.waiting);
    let gone = places(&config.gone);
    let mut lines = in_file(&file, &gone);
    lines.push(format!("{file} is in force"));
    lines.extend(applied.waiting.iter().map(|what| match what {
        Waiting::Rule(rule) => {
            format!("rule '{rule}' waits: there is no such cgroup; apply again when there is")
        }
        Waiting::Gpu(gpu) => format!("GPU {gpu} waits: it is not there; apply again when it is"),
    }));
    lines.extend(words(&resolved.waiting));
    waiting.extend(named(&resolved.waiting));
    let report = Report::Apply {
        file,
        gone,
        changes: words(&applied.changes),
        waiting,
        dry_run: false,
    };
    let mut outcome = Outcome::good(lines, report);
    if let Err(refusal) = noted {
        let complaint = format!("{refusal}; what has names in it is not followed");
        outcome.complaints.push(complaint);
    }
    Ok(outcome)
}

fn named(waiting: &[follow::Waiting]) -> Vec<String> {
    waiting.iter().map(|one| one.rule.to_string()).collect()
}

/// Has the rules for names follow what runs under them. Where nothing has changed,
/// nothing is said, since this is done again and again.
pub fn resolve(host: &Host) -> Result<Outcome, Refusal> {
    let found = follow::Found::followed(host)?;
    let turn = host.turn()?;
    let followed = follow::follow(&mut host.clone(), &found)?;
    drop(turn);
    let did = |change: &Difference| match change {
        Difference::Rule { wanted, .. } => format!("added rule '{wanted}'"),
        Difference::Extra(rule) => format!("deleted rule '{rule}'"),
        other => other.to_string(),
    };
    let lines = followed.changes.iter().map(did).collect();
    let report = Report::Apply {
        file: host.path(noted::APPLIED).display().to_string(),
        gone: Vec::new(),
        changes: words(&followed.changes),
        waiting: named(&followed.waiting),
        dry_run: false,
    };
    Ok(Outcome {
        lines,
        report,
        complaints: words(&followed.refused),
    })
}

fn words<T: ToString>(all: &[T]) -> Vec<String> {
    all.iter().map(T::to_string).collect()
}

pub fn good(host: &Host) -> Result<Outcome, Refusal> {
    Attempts::read(host)?.good(host).write(host)?;
    Ok(Outcome::good(Vec::new(), Report::Good { good: true }))
}

pub fn save(host: &Host, file: Option<PathBuf>) -> Result<Outcome, Refusal> {
    let old = Config::read(&host.path(PLACE));
    let old = old.unwrap_or_else(|_| Config::new());
    // Files of users are not waited for while others wait for their turn.
    let names = save::Names::new(host, &old);
    let turn = host.turn()?;
    let now = host.state()?;
    let (mut config, fleeting) = save::in_force(&now);
    names.put_back(host, &now, &mut config);
    let others = save::keep_waiting(host, &old, &mut config);
    let (waiting, gone) = (words(&others.waiting), words(&others.gone));
    // A GPU that is not there cannot show the mode of its own.
    let mut absent = old.gpus;
    absent.retain(|gpu, _| !now.gpus.contains_key(gpu));
    config.gpus.extend(absent);
    let text = file_text::toml(&config);
    let fleeting = words(&fleeting);
    let mut lines = Vec::new();
    let file = if file.as_deref() == Some(Path::new("-")) {
        lines.extend(text.lines().map(String::from));
        "-".to_owned()
    } else {
        let path = place(host, file);
        replace(&path, &text, 0o644)?;
        lines.push(format!("{} has what is in force", path.display()));
        path.display().to_string()
    };
    drop(turn);
    let why = |rule| format!("# left out, because a process number does not last: {rule}");
    lines.extend(fleeting.iter().map(why));
    let why = |rule| format!("# kept, because it waits for its cgroup: {rule}");
    lines.extend(waiting.iter().map(why));
    let why = |rule| format!("# left out, because it is not in force any more: {rule}");
    lines.extend(gone.iter().map(why));
    let left_out = [fleeting, gone].concat();
    Ok(Outcome::good(lines, Report::Save { file, left_out }))
}

/// How the host's configuration compares with what is in force, if it has one.
pub fn standing(host: &Host) -> Option<Standing> {
    let path = host.path(PLACE);
    let mut standing = Standing {
        file: path.display().to_string(),
        differences: Vec::new(),
        waiting: Vec::new(),
        faults: Vec::new(),
        gone: Vec::new(),
        barred: false,
    };
    match Config::read(&path) {
        Ok(config) => {
            standing.gone = places(&config.gone);
            match compare::compare(host, &config) {
                Ok(found) => {
                    standing.differences = found.differences;
                    standing.waiting = found.waiting;
                }
                Err(refusal) => standing.differences = vec![refusal.to_string()],
            }
            let attempts = Attempts::read(host).unwrap_or_default();
            standing.barred = attempts.is_barred(host, &config);
        }
        Err(Wrong::Faults(faults)) => {
            standing.faults = places(&faults);
        }
        Err(Wrong::Unreadable(_)) if !path.exists() => return None,
        Err(Wrong::Unreadable(refusal)) => standing.differences.push(refusal.to_string()),
    }
    Some(standing)
}

/// The same for people.
pub fn lines(standing: &Standing) -> Vec<String> {
    let file = &standing.file;
    if !standing.faults.is_empty() {
        return vec![format!(
            "{file} is wrong in {} places: 'gpreempt check' names them",
            standing.faults.len()
        )];
    }
    let mut lines = match standing.differences.is_empty() {
        true => vec![format!("{file} is in force")],
        false => vec![format!(
            "{file} is not in force: 'gpreempt apply' would put it into force"
        )],
    };
    let all = standing.differences.iter().chain(&standing.waiting);
    lines.extend(all.map(|what| format!("  {what}")));
    let what = |place: &Place| format!("  line {}: {}", place.line, place.what);
    lines.extend(standing.gone.iter().map(what));
    if standing.barred {
        lines.push("  the host failed with it, so that it is not applied: change it, or run 'gpreempt apply --again'".into());
    }
    lines
}
