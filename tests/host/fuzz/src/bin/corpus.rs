// SPDX-License-Identifier: GPL-2.0-only
//! Lists targets, and turns a target's kept inputs into files and back.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;
use gpreempt_fuzz::{corpus, target, Target, TARGETS};

/// Inputs of fuzz targets.
#[derive(Parser)]
enum Command {
    /// Names each target and the length of its longest inputs.
    List,
    /// Names the files and folders, from the project's, that decide what a target finds.
    Sources { target: String },
    /// Writes a target's inputs into a folder.
    Unpack { target: String, folder: PathBuf },
    /// Keeps the inputs of a folder as those of a target.
    Pack { target: String, folder: PathBuf },
}

fn named(name: &str) -> Result<&'static Target> {
    target(name).with_context(|| format!("there is no target '{name}': 'corpus list' names them"))
}

fn file(name: &str) -> Result<PathBuf> {
    named(name)?;
    Ok(corpus::directory().join(name).with_extension("corpus"))
}

fn main() -> Result<()> {
    match Command::parse() {
        Command::List => {
            for target in TARGETS {
                println!("{} {}", target.name, target.longest);
            }
        }
        Command::Sources { target } => {
            for source in named(&target)?.all_sources() {
                println!("{source}");
            }
        }
        Command::Unpack { target, folder } => {
            corpus::unpack(&file(&target)?, &folder)?;
        }
        Command::Pack { target, folder } => {
            let count = corpus::pack(&folder, &file(&target)?)?;
            println!("{target}: {count} inputs");
        }
    }
    Ok(())
}
