// SPDX-License-Identifier: GPL-2.0-only
//! The operator's command: shows and steers the module.
//!
//! Everything it does can be done with the files in sysfs and debugfs; it saves
//! typing, keeps a configuration, and `doctor` says why a host is not supported.

mod clean;
mod cli;
mod commands;
mod configuration;
mod export;
mod outcome;
mod report;
mod show;
mod top;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Parser};
use gpreempt_operator::host::tree::{plain, Host, Refusal};

use crate::clean::clean;
use crate::cli::{Arguments, Command, Rules};
use crate::export::Export;
use crate::outcome::Outcome;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let json = arguments.json;
    let done = match run(arguments) {
        Ok(None) => true,
        Ok(Some(outcome)) => finish(&outcome, json),
        Err(refusal) => complain(&[refusal.to_string()]),
    };
    match done {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Does what was asked for. Nothing is left to print for what prints by itself.
fn run(arguments: Arguments) -> Result<Option<Outcome>, Refusal> {
    let host = Host::new(arguments.root);
    let outcome = match arguments.command {
        Command::Status => commands::status(&host),
        Command::Queues => commands::queues(&host),
        Command::Top {
            interval,
            once,
            no_color,
        } => {
            if arguments.json {
                return Err(Refusal::new(
                    "'top' is for people: use 'gpreempt --json status' and 'gpreempt --json queues'",
                ));
            }
            let interval = Duration::from_secs_f64(interval);
            return show_top(&host, interval, once, !no_color).map(|()| None);
        }
        Command::Events { last } => commands::events(&host, last),
        Command::Explain { pid } => commands::explain(&host, pid),
        Command::Record {
            file,
            seconds,
            from,
        } => commands::record(&host, &file, Duration::from_secs_f64(seconds), from),
        Command::Export {
            output,
            interval,
            workloads: most,
        } => {
            let export = Export {
                output,
                interval,
                most,
            };
            return write_metrics(&host, export, arguments.json);
        }
        Command::Mode { mode } => commands::mode(&host, mode),
        Command::Rules { what } => match what {
            None | Some(Rules::List) => commands::rules(&host),
            Some(Rules::Add { rule }) => commands::add_rule(&host, &rule),
            Some(Rules::Del { number }) => commands::change_rules(&host, "del", &number),
            Some(Rules::Save { file }) => configuration::save(&host, file),
        },
        Command::Check { file, gone: true } => Ok(configuration::gone(&host, file)),
        Command::Check { file, gone: false } => configuration::check(&host, file),
        Command::Apply {
            file,
            again,
            at_boot,
            resolve,
            dry_run,
        } => match (dry_run, resolve) {
            (true, _) => configuration::dry_run(&host, file),
            (false, true) => configuration::resolve(&host),
            (false, false) => configuration::apply(&host, file, again, at_boot),
        },
        Command::Good => configuration::good(&host),
        Command::Doctor { release } => commands::doctor(&host, release),
        Command::Selftest { arguments } => Err(commands::self_test(&arguments)),
        Command::Completion { shell } => {
            let mut command = Arguments::command();
            clap_complete::generate(shell, &mut command, "gpreempt", &mut io::stdout());
            return Ok(None);
        }
    };
    outcome.map(Some)
}

fn write_metrics(host: &Host, export: Export, json: bool) -> Result<Option<Outcome>, Refusal> {
    if json {
        return Err(Refusal::new(
            "'export' has a format of its own: use 'gpreempt --json status' and 'gpreempt --json queues'",
        ));
    }
    export::run(host, &export).map(|()| None)
}

fn show_top(host: &Host, interval: Duration, once: bool, colour: bool) -> Result<(), Refusal> {
    if !once {
        return top::run(host, interval, colour);
    }
    say(&commands::overview(host)?)
}

/// Prints what a command found, and says whether it has succeeded.
fn finish(outcome: &Outcome, json: bool) -> bool {
    let said = match json {
        true => print(&outcome.report.json()),
        false => say(&outcome.lines),
    };
    let mut complaints = outcome.complaints.clone();
    complaints.extend(said.err().map(|refusal| refusal.0));
    complaints.is_empty() || complain(&complaints)
}

/// Prints lines for people.
fn say(lines: &[String]) -> Result<(), Refusal> {
    if lines.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = lines.iter().map(|line| clean(line)).collect();
    print(&lines.join("\n"))
}

fn print(text: &str) -> Result<(), Refusal> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        // A reader that has closed the output has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Refusal(format!(
            "cannot write the output: {}",
            plain(&error)
        ))),
        _ => Ok(()),
    }
}

/// Says why a command has failed, which it has also where nobody can be told.
fn complain(complaints: &[String]) -> bool {
    let mut out = io::stderr().lock();
    for complaint in complaints {
        let _ = writeln!(out, "gpreempt: {}", clean(complaint));
    }
    false
}
