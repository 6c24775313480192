// SPDX-License-Identifier: GPL-2.0-only
//! What a command has found out, as lines for people or as JSON for programs.

use serde::Serialize;

use gpreempt_operator::host::tables::{Event, LeftOut, Node, Queue, ShownRule};
use gpreempt_operator::report::doctor::Finding;
use gpreempt_operator::report::explain::Explanation;
use gpreempt_operator::words::gpu::OwnModes;
use gpreempt_operator::words::table::Fault;

/// The version of the JSON.
pub const SCHEMA: u32 = 1;

/// The JSON of a command, one for each.
#[derive(Debug, Serialize)]
#[serde(tag = "command", rename_all = "kebab-case")]
pub enum Report {
    Status {
        nodes: Vec<Node>,
        own: OwnModes,
        configuration: Option<Standing>,
    },
    Queues {
        queues: Vec<Queue>,
        left_out: Vec<LeftOut>,
    },
    Events {
        events: Vec<Event>,
    },
    Explain(Explanation),
    Record {
        file: String,
        events: u64,
        lost: u64,
    },
    Mode {
        mode: String,
        own: OwnModes,
    },
    Rules {
        rules: Vec<ShownRule>,
    },
    Save {
        file: String,
        left_out: Vec<String>,
    },
    Check {
        file: String,
        faults: Vec<Place>,
        gone: Vec<Place>,
    },
    Gone {
        gone: Vec<String>,
    },
    Apply {
        file: String,
        gone: Vec<Place>,
        changes: Vec<String>,
        waiting: Vec<String>,
        dry_run: bool,
    },
    Good {
        good: bool,
    },
    Doctor {
        ready: bool,
        findings: Vec<Finding>,
    },
}

/// How a configuration compares with what is in force.
#[derive(Debug, Serialize)]
pub struct Standing {
    pub file: String,
    /// What differs, or why that cannot be said.
    pub differences: Vec<String>,
    /// Rules with names for which there is nothing now, or not everything yet.
    pub waiting: Vec<String>,
    pub faults: Vec<Place>,
    /// What it says that is gone, while the rest counts.
    pub gone: Vec<Place>,
    /// It has made the host fail too often to be applied.
    pub barred: bool,
}

/// A fault of a file.
#[derive(Debug, Serialize)]
pub struct Place {
    pub line: usize,
    pub column: usize,
    pub what: String,
}

impl From<&Fault> for Place {
    fn from(fault: &Fault) -> Place {
        Place {
            line: fault.line,
            column: fault.column,
            what: fault.what.clone(),
        }
    }
}

#[derive(Serialize)]
struct Document<'r> {
    schema: u32,
    #[serde(flatten)]
    report: &'r Report,
}

impl Report {
    pub fn json(&self) -> String {
        let document = Document {
            schema: SCHEMA,
            report: self,
        };
        // Names and numbers can always be written.
        serde_json::to_string_pretty(&document).unwrap_or_default()
    }
}
