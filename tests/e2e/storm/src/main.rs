// SPDX-License-Identifier: GPL-2.0-only
//! Everything that KFD offers its clients, at random: processes that make its calls,
//! and a parent that kills, stops, freezes and moves them. The same seed gives the same
//! processes, whatever becomes of each.

mod call;
mod faults;
mod gpu;
mod life;
mod parent;
mod transcript;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

#[derive(Parser)]
#[command(about = "KFD's calls at random")]
struct Arguments {
    #[arg(long)]
    seed: u64,
    /// No process begins after that.
    #[arg(long)]
    seconds: u64,
    /// Processes at a time.
    #[arg(long, default_value_t = 4)]
    actors: u64,
}

fn main() -> ExitCode {
    let Arguments {
        seed,
        seconds,
        actors,
    } = Arguments::parse();
    match parent::storm(seed, Duration::from_secs(seconds), actors) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("storm: {error:#}");
            ExitCode::from(2)
        }
    }
}
