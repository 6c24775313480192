// SPDX-License-Identifier: GPL-2.0-only
//! Everything that KFD offers its clients, at random: processes that make its calls,
//! and a parent that kills, stops, freezes and moves them. The same seed gives the same
//! processes, whatever becomes of each.

mod call;
mod faults;
mod gpu;
#[cfg(test)]
mod header;
mod heir;
mod life;
mod parent;
mod race;
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
    #[arg(long, required_unless_present = "heir")]
    seconds: Option<u64>,
    /// Processes at a time.
    #[arg(long, default_value_t = 4)]
    actors: u64,
    /// Only one process, which was another program before.
    #[arg(long, conflicts_with = "seconds")]
    heir: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.heir {
        std::process::exit(heir::live(arguments.seed));
    }
    let time = Duration::from_secs(arguments.seconds.unwrap_or(0));
    match parent::storm(arguments.seed, time, arguments.actors) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("storm: {error:#}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_becomes_an_heir() {
        let line = ["storm".to_owned()].into_iter().chain(heir::line(7));
        let arguments = Arguments::try_parse_from(line).unwrap();
        assert!(arguments.seed == 7 && arguments.heir);
        assert_eq!(arguments.seconds, None);
        assert!(Arguments::try_parse_from(["storm", "--seed", "7"]).is_err());
    }
}
