// SPDX-License-Identifier: GPL-2.0-only
//! What each command does.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gpreempt_operator::doctor::examine;
use gpreempt_operator::explain;
use gpreempt_operator::file::replace_bytes;
use gpreempt_operator::host::{cannot, Host, Refusal};
use gpreempt_operator::kernel::{parameter_path, rules_path};
use gpreempt_operator::record;
use gpreempt_operator::tables::Stats;

use crate::cli::Mode;
use crate::report::Report;
use crate::{configuration, show};

/// What a command prints, and why it has failed if it has.
pub struct Outcome {
    /// For people.
    pub lines: Vec<String>,
    /// For programs.
    pub report: Report,
    /// Each a line on the error output; with one, the command has failed.
    pub complaints: Vec<String>,
}

impl Outcome {
    pub fn good(lines: Vec<String>, report: Report) -> Outcome {
        Outcome {
            lines,
            report,
            complaints: Vec::new(),
        }
    }
}

pub fn status(host: &Host) -> Result<Outcome, Refusal> {
    let Stats { nodes } = host.stats()?;
    let configuration = configuration::standing(host);
    let mut lines = show::nodes(&nodes);
    lines.extend(configuration.iter().flat_map(configuration::lines));
    let report = Report::Status {
        nodes,
        configuration,
    };
    Ok(Outcome::good(lines, report))
}

pub fn queues(host: &Host) -> Result<Outcome, Refusal> {
    let table = host.queues()?;
    let lines = show::queues(&table);
    let report = Report::Queues {
        queues: table.queues,
        left_out: table.left_out,
    };
    Ok(Outcome::good(lines, report))
}

/// What `top --once` prints.
pub fn overview(host: &Host) -> Result<Vec<String>, Refusal> {
    let mut lines = show::nodes(&host.stats()?.nodes);
    lines.extend(show::queues(&host.queues()?));
    Ok(lines)
}

pub fn events(host: &Host, last: usize) -> Result<Outcome, Refusal> {
    let mut events = host.events()?.events;
    events.drain(..events.len().saturating_sub(last));
    Ok(Outcome::good(
        show::events(&events),
        Report::Events { events },
    ))
}

pub fn explain(host: &Host, pid: i64) -> Result<Outcome, Refusal> {
    let explanation = explain::explain(host, pid)?;
    let lines = show::explanation(&explanation);
    Ok(Outcome::good(lines, Report::Explain(explanation)))
}

pub fn record(
    host: &Host,
    file: &Path,
    time: Duration,
    from: Option<PathBuf>,
) -> Result<Outcome, Refusal> {
    let recorded = match from {
        Some(text) => record::convert(host, &text)?,
        None => record::record(host, time)?,
    };
    replace_bytes(file, &recorded.trace, 0o644)?;
    let file = file.display().to_string();
    let mut lines = vec![format!(
        "{file} has {} events: open it at https://ui.perfetto.dev",
        recorded.events
    )];
    if recorded.lost > 0 {
        lines.push(format!(
            "{} events came too fast and are missing",
            recorded.lost
        ));
    }
    let report = Report::Record {
        file,
        events: recorded.events,
        lost: recorded.lost,
    };
    Ok(Outcome::good(lines, report))
}

pub fn mode(host: &Host, wanted: Option<Mode>) -> Result<Outcome, Refusal> {
    host.need_module()?;
    if let Some(wanted) = wanted {
        host.write(&parameter_path("mode"), wanted.name())?;
    }
    let mode = host.parameter("mode")?;
    Ok(Outcome::good(vec![mode.clone()], Report::Mode { mode }))
}

pub fn rules(host: &Host) -> Result<Outcome, Refusal> {
    let rules = host.rules()?.rules;
    let lines = rules
        .iter()
        .map(|rule| {
            let dead = if rule.dead {
                "  # dead: the cgroup is gone"
            } else {
                ""
            };
            format!("{}{dead}", rule.text)
        })
        .collect();
    Ok(Outcome::good(lines, Report::Rules { rules }))
}

/// Writes a rule or the number of one. The kernel says what it thinks of it.
pub fn change_rules(host: &Host, what: &str, words: &[String]) -> Result<Outcome, Refusal> {
    if words.is_empty() {
        return Err(Refusal::new(match what {
            "add" => "'rules add' needs a rule, as in '10 cgroup=/inference.slice prio=12'",
            _ => "'rules del' needs a number",
        }));
    }
    host.need_module()?;
    host.write(&rules_path(what), &words.join(" "))?;
    match host.rules() {
        Ok(table) => Ok(Outcome::good(
            Vec::new(),
            Report::Rules { rules: table.rules },
        )),
        // The rule is in force where the tables cannot be read, too.
        Err(_) => Ok(Outcome::good(
            Vec::new(),
            Report::Rules { rules: Vec::new() },
        )),
    }
}

pub fn doctor(host: &Host, release: Option<String>) -> Result<Outcome, Refusal> {
    let findings = examine(host, &release.unwrap_or_else(|| host.release()))?;
    let failures = findings.iter().filter(|finding| !finding.good).count();
    let mut lines = show::findings(&findings);
    let ready = failures == 0;
    let mut complaints = Vec::new();
    if ready {
        lines.push("this host is supported and ready".into());
    } else {
        complaints.push(format!("{failures} of the above must be mended first"));
    }
    Ok(Outcome {
        lines,
        report: Report::Doctor { ready, findings },
        complaints,
    })
}

/// Becomes the program of the self test, which has arguments of its own.
pub fn self_test(arguments: &[std::ffi::OsString]) -> Refusal {
    let beside = || -> io::Result<PathBuf> {
        Ok(std::env::current_exe()?.with_file_name("gpreempt-selftest"))
    };
    match beside() {
        Ok(program) if program.exists() => {
            let error = std::process::Command::new(&program).args(arguments).exec();
            cannot("run", &program, &error)
        }
        Ok(program) => Refusal(format!(
            "{} is missing: run 'scripts/operator/gpreempt selftest' of a checkout of the project",
            program.display()
        )),
        Err(error) => Refusal(format!("cannot tell where this program is: {error}")),
    }
}
