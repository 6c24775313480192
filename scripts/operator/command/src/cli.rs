// SPDX-License-Identifier: GPL-2.0-only
//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use gpreempt_operator::report::export::MOST_WORKLOADS;

/// Shows and steers amd_gpreempt.
#[derive(Debug, Parser)]
#[command(name = "gpreempt", version = version(), disable_help_subcommand = true)]
pub struct Arguments {
    /// where /sys, /proc and /etc are
    #[arg(long, global = true, default_value = "/", hide_default_value = true)]
    pub root: PathBuf,
    /// print JSON; docs/gpreempt.schema.json describes it
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// the state and counters of each node, and whether the configuration is in force
    Status,
    /// the queues, most urgent first
    Queues,
    /// both, live, with keys for the mode and the rules
    Top {
        /// seconds between two looks, 0.1 at least
        #[arg(long, default_value = "1", value_parser = seconds)]
        interval: f64,
        /// print it once
        #[arg(long)]
        once: bool,
        /// show no colours, as NO_COLOR and TERM=dumb do; words say the same
        #[arg(long)]
        no_color: bool,
    },
    /// the last decisions and their reasons
    Events {
        /// how many
        #[arg(long, default_value_t = 30)]
        last: usize,
    },
    /// why a process ran, waited or was stopped
    Explain {
        /// the process's number
        #[arg(value_parser = clap::value_parser!(i64).range(1..=i64::from(i32::MAX)))]
        pid: i64,
    },
    /// write decisions as they are made to a trace for Perfetto
    Record {
        /// the trace
        file: PathBuf,
        /// for how long
        #[arg(long, default_value = "10", value_parser = seconds)]
        seconds: f64,
        /// make it of what trace_pipe or perf script has printed before
        #[arg(long, conflicts_with = "seconds")]
        from: Option<PathBuf>,
    },
    /// metrics for Prometheus
    Export {
        /// write them to a file of node_exporter's, replacing it as a whole
        #[arg(long)]
        output: Option<PathBuf>,
        /// write the file again and again, with so many seconds in between, 0.1 at least
        #[arg(long, requires = "output", value_parser = interval)]
        interval: Option<f64>,
        /// how many workloads have names of their own
        #[arg(long, default_value_t = MOST_WORKLOADS, value_parser = workloads)]
        workloads: usize,
    },
    /// show or set the mode
    Mode { mode: Option<Mode> },
    /// list, add, delete and save rules
    Rules {
        #[command(subcommand)]
        what: Option<Rules>,
    },
    /// say what is wrong with a configuration, with line and column
    Check {
        /// the configuration (default: /etc/amd-gpreempt/config.toml)
        file: Option<PathBuf>,
        /// only say what it and the options of the module name that is gone
        #[arg(long)]
        gone: bool,
    },
    /// put a configuration into force: all of it or nothing
    Apply {
        /// the configuration (default: /etc/amd-gpreempt/config.toml)
        file: Option<PathBuf>,
        /// also one that has made the host fail twice
        #[arg(long)]
        again: bool,
        /// remember the attempt until 'gpreempt good', as at boot
        #[arg(long)]
        at_boot: bool,
        /// only have the rules for names follow what runs under them now
        #[arg(long, conflicts_with_all = ["file", "again", "at_boot", "dry_run"])]
        resolve: bool,
        /// say what would change, and change nothing
        #[arg(long, conflicts_with_all = ["again", "at_boot"])]
        dry_run: bool,
    },
    /// say that the host runs well with the configuration that was applied
    Good,
    /// is this host supported, and if not, why
    Doctor {
        #[arg(long, hide = true)]
        release: Option<String>,
    },
    /// try the module on this GPU, from reading only to full load
    #[command(disable_help_flag = true)]
    Selftest {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// print what a shell needs to complete command lines
    #[command(hide = true)]
    Completion { shell: Shell },
}

#[derive(Debug, Subcommand)]
pub enum Rules {
    /// the rules in force
    List,
    /// add a rule, or replace the one of its number
    Add {
        /// as in '10 cgroup=/inference.slice prio=12' or '20 container=trainer prio=2'
        rule: Vec<String>,
    },
    /// delete a rule
    Del {
        /// its number
        number: Vec<String>,
    },
    /// write what is in force as a configuration
    Save {
        /// the file, or - for the terminal (default: /etc/amd-gpreempt/config.toml)
        file: Option<PathBuf>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    Off,
    Observe,
    Enforce,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Mode::Off => "off",
            Mode::Observe => "observe",
            Mode::Enforce => "enforce",
        }
    }
}

/// The project's version, from the one place where it is.
fn version() -> &'static str {
    const DKMS: &str = include_str!("../../../../dkms.conf");
    let line = DKMS
        .lines()
        .find_map(|line| line.strip_prefix("PACKAGE_VERSION="));
    line.unwrap_or_default().trim_matches('"')
}

fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    number
        .filter(|seconds| (0.0..=86_400.0).contains(seconds))
        .ok_or_else(|| "give seconds, from 0 to 86400".to_owned())
}

/// A time that leaves the module alone in between, which each look waits for.
fn interval(text: &str) -> Result<f64, String> {
    let number = seconds(text).ok();
    number
        .filter(|seconds| *seconds >= 0.1)
        .ok_or_else(|| "give seconds, from 0.1 to 86400".to_owned())
}

/// So many that a collector can still bear them, with a dozen numbers for each.
fn workloads(text: &str) -> Result<usize, String> {
    let number = text.parse().ok();
    number
        .filter(|number| *number <= 1000)
        .ok_or_else(|| "give a number from 0 to 1000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_fits_together() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_version_is_three_numbers() {
        let numbers: Vec<&str> = version().split('.').collect();
        assert_eq!(numbers.len(), 3, "{}", version());
        assert!(numbers.iter().all(|number| number.parse::<u32>().is_ok()));
    }

    #[test]
    fn an_interval_is_a_number_of_seconds() {
        assert_eq!(seconds("0.5"), Ok(0.5));
        for wrong in ["-1", "NaN", "inf", "soon", "86401"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
            assert!(interval(wrong).is_err(), "{wrong}");
        }
        assert_eq!(interval("0.1"), Ok(0.1));
        assert!(interval("0.09").is_err() && interval("0").is_err());
    }
}
