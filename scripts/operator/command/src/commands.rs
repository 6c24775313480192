// SPDX-License-Identifier: GPL-2.0-only
//! What each command does.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gpreempt_operator::act::follow;
use gpreempt_operator::host::file::replace_bytes;
use gpreempt_operator::host::tables::{ShownRule, Stats};
use gpreempt_operator::host::tree::{cannot, Host, Refusal};
use gpreempt_operator::module::kernel::rules_path;
use gpreempt_operator::report::doctor::examine;
use gpreempt_operator::report::explain;
use gpreempt_operator::report::record;
use gpreempt_operator::words::names;
use gpreempt_operator::words::rule::Rule;

use crate::cli::Mode;
use crate::outcome::Outcome;
use crate::report::Report;
use crate::{configuration, show};

pub fn status(host: &Host) -> Result<Outcome, Refusal> {
    let Stats { nodes } = host.stats()?;
    let own = host.own_modes()?;
    let configuration = configuration::standing(host);
    let mut lines = show::nodes(&nodes);
    lines.extend(show::own(&own));
    lines.extend(configuration.iter().flat_map(configuration::lines));
    let report = Report::Status {
        nodes,
        own,
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

/// Sets the mode if there is one to be set. No GPU does more than that then, whatever
/// mode it had of its own; one that does less by its own mode keeps it.
pub fn mode(host: &Host, wanted: Option<Mode>) -> Result<Outcome, Refusal> {
    host.need_module()?;
    let own = match wanted {
        Some(wanted) => host.clone().put_mode(wanted.name())?,
        None => host.own_modes()?,
    };
    let mode = host.parameter("mode")?;
    let mut lines = vec![mode.clone()];
    lines.extend(show::own(&own));
    Ok(Outcome::good(lines, Report::Mode { mode, own }))
}

pub fn rules(host: &Host) -> Result<Outcome, Refusal> {
    let rules = rules_with_names(host)?;
    let lines = rules
        .iter()
        .map(|rule| {
            let dead = if rule.dead {
                "  # dead: the cgroup is gone"
            } else {
                ""
            };
            let name = rule.name.as_deref();
            let name = name.map_or(String::new(), |name| format!("  # {name}"));
            format!("{}{name}{dead}", rule.text)
        })
        .collect();
    Ok(Outcome::good(lines, Report::Rules { rules }))
}

/// The rules in force, each with the name for which it was added, if there is one.
fn rules_with_names(host: &Host) -> Result<Vec<ShownRule>, Refusal> {
    let mut rules = host.rules()?.rules;
    let names = follow::Names::applied(host);
    for rule in &mut rules {
        // A rule that is unknown here has no name either.
        let known = Rule::parse(&rule.text).ok();
        rule.name = known.and_then(|known| names.of(&known));
    }
    Ok(rules)
}

/// Adds a rule that may have a name. One without is the kernel's to understand.
pub fn add_rule(host: &Host, words: &[String]) -> Result<Outcome, Refusal> {
    let text = words.join(" ");
    let is_named = |word: &str| {
        names::WORDS
            .iter()
            .any(|name| word.starts_with(&format!("{name}=")))
    };
    if !text.split_ascii_whitespace().any(is_named) {
        return change_rules(host, "add", words);
    }
    let rule = Rule::typed(&text).map_err(Refusal)?;
    // Files of users are not waited for while others wait for their turn.
    let paths = follow::look_up(host, &rule)?;
    let turn = host.turn()?;
    follow::add(&mut host.clone(), &rule, &paths)?;
    drop(turn);
    rules_after(host)
}

/// Writes a rule or the number of one. The kernel says what it thinks of it.
pub fn change_rules(host: &Host, what: &str, words: &[String]) -> Result<Outcome, Refusal> {
    if words.is_empty() {
        return Err(Refusal::new(match what {
            "add" => "'rules add' needs a rule, as in '10 cgroup=/inference.slice prio=12'",
            _ => "'rules del' needs a number",
        }));
    }
    let turn = host.turn()?;
    host.write(&rules_path(what), &words.join(" "))?;
    drop(turn);
    rules_after(host)
}

fn rules_after(host: &Host) -> Result<Outcome, Refusal> {
    // What was changed is in force where the tables cannot be read, too.
    let rules = rules_with_names(host).unwrap_or_default();
    Ok(Outcome::good(Vec::new(), Report::Rules { rules }))
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
