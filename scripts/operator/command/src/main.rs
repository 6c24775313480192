// SPDX-License-Identifier: GPL-2.0-only
//! The operator's command: shows and steers the module.
//!
//! Everything it does can be done with the files in sysfs and debugfs; it saves
//! typing, keeps a configuration, and `doctor` says why a host is not supported.

mod cli;
mod commands;
mod configuration;
mod export;
mod report;
mod show;
mod top;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Parser};
use gpreempt_operator::host::{Host, Refusal};

use crate::cli::{Arguments, Command, Rules};
use crate::commands::Outcome;
use crate::export::Export;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let json = arguments.json;
    let written = match run(arguments) {
        Ok(None) => return ExitCode::SUCCESS,
        Ok(Some(outcome)) => finish(&outcome, json),
        Err(refusal) => complain(&[refusal.to_string()]).map(|()| ExitCode::FAILURE),
    };
    // Who has closed the output has seen enough.
    written.unwrap_or(ExitCode::SUCCESS)
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
            listen,
            public,
            workloads: most,
        } => {
            let export = Export {
                output,
                interval,
                listen,
                public,
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
        Command::Check { file } => configuration::check(&host, file),
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
    let lines = commands::overview(host)?;
    // As with every other output, nobody may be there to read it.
    let _ = print(&lines.join("\n"));
    Ok(())
}

/// Prints what a command found, and returns what it exits with.
fn finish(outcome: &Outcome, json: bool) -> io::Result<ExitCode> {
    if json {
        print(&outcome.report.json())?;
    } else if !outcome.lines.is_empty() {
        print(&outcome.lines.join("\n"))?;
    }
    complain(&outcome.complaints)?;
    Ok(match outcome.complaints.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

fn complain(complaints: &[String]) -> io::Result<()> {
    let mut out = io::stderr().lock();
    for complaint in complaints {
        writeln!(out, "gpreempt: {complaint}")?;
    }
    Ok(())
}
