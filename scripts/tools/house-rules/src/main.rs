// SPDX-License-Identifier: GPL-2.0-only
//! Says where the source tree breaks the rules of the house.
//!
//! `make check` runs it. The rules as data are in `house.rs`; each kind of rule
//! has a file or a folder of its own, with tests that break it on small trees.

mod breach;
mod documents;
mod house;
mod imports;
mod licences;
mod rust_source;
mod sizes;
#[cfg(test)]
mod testing;
mod tree;
mod unsafe_code;
mod version;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, ValueEnum};

use breach::Breach;
use tree::Tree;

/// Prints a line for each place where the tree breaks a rule: the file, the
/// line, the rule, and what to do. Exits with 1 if there is any.
#[derive(Parser)]
struct Arguments {
    /// The rules to look at; without any, all.
    rules: Vec<Rules>,
    /// The top of the tree.
    #[arg(long, default_value = ".")]
    root: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Rules {
    /// Which way imports may run, and that they do not run in circles.
    Imports,
    /// Where unsafe code may be, and that it says why it is sound.
    UnsafeCode,
    /// How long files and functions may be.
    Sizes,
    /// That documents name what is there.
    Documents,
    /// That one file alone knows the version.
    Version,
    /// That each source file names its licence.
    Licences,
    /// That replaced words do not come back.
    Words,
}

impl Rules {
    fn breaches(self, tree: &Tree) -> Result<Vec<Breach>> {
        match self {
            Rules::Imports => imports::check(tree, house::CRATES),
            Rules::UnsafeCode => unsafe_code::check(tree),
            Rules::Sizes => sizes::check(tree),
            Rules::Documents => documents::check(tree),
            Rules::Version => version::check(tree),
            Rules::Licences => licences::check(tree),
            Rules::Words => words::check(tree),
        }
    }
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let tree = Tree::open(&arguments.root)?;
    let rules = if arguments.rules.is_empty() {
        Rules::value_variants()
    } else {
        &arguments.rules
    };
    let mut breaches = house::check(&tree);
    for rules in rules {
        breaches.extend(rules.breaches(&tree)?);
    }
    breaches.sort();
    breaches.dedup();
    for breach in &breaches {
        println!("{breach}");
    }
    Ok(if breaches.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
