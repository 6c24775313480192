// SPDX-License-Identifier: GPL-2.0-only
//! The steps, from harmless to full load.

pub mod here;
pub mod loads;
pub mod reading;
pub mod repeated;
pub mod transaction;

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;

use crate::module::{Module, Times};
use crate::session::Session;

/// What a step has found: lines for people, and the same for programs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Found {
    pub lines: Vec<String>,
    pub data: Value,
}

impl Found {
    /// Notes a line, and shows it to who waits.
    pub fn line(&mut self, line: String) {
        println!("  {line}");
        self.lines.push(line);
    }
}

/// How much is done.
#[derive(Clone, Debug)]
pub struct Extent {
    /// How often a load is stopped and started for each size of state.
    pub cycles: u64,
    /// For how long urgent requests arrive in each run of a load.
    pub millis: u64,
    /// The fewest urgent requests of such a run.
    pub requests: u64,
    pub loads: Vec<String>,
}

pub type Step = fn(&mut Session, &Extent, &mut Found) -> Result<()>;

/// The steps by number, with their titles.
pub const STEPS: &[(&str, Step)] = &[
    ("what is here", here::run),
    ("reading only", reading::run),
    ("one transaction on queues of its own", transaction::run),
    ("a load of its own, stopped and started", repeated::run),
    ("the loads", loads::run),
];

/// Gives every parameter the value that is measured with: the default, in the GPU's time.
/// How queues are stopped stays as the operator has it.
pub fn set_defaults(module: &Module, dilation: u32) -> Result<()> {
    let numbers = gpreempt_bench::settings::stretched(dilation);
    let words = "user_priority=auto sampler=auto transaction=driver timeslice_us=0";
    for setting in words.split(' ').chain(numbers.split(' ')) {
        if let Some((name, value)) = setting.split_once('=') {
            module.set(name, value)?;
        }
    }
    Ok(())
}

/// Microseconds of the GPU's time.
pub fn micros(nanos: u64, dilation: u32) -> String {
    format!("{:.1} us", nanos as f64 / f64::from(dilation) / 1e3)
}

/// Times in a few words.
pub fn in_words(times: &Times, dilation: u32) -> String {
    match times.count {
        0 => "never".into(),
        count => format!("{} on average of {count}", micros(times.mean_ns, dilation)),
    }
}

/// The number of a rule that is still free.
pub fn free_rule(module: &Module) -> Result<u32> {
    let rules = module.rules()?;
    Ok((0..)
        .find(|number| !rules.contains_key(number))
        .unwrap_or(0))
}
