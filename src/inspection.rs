// SPDX-License-Identifier: GPL-2.0-only

//! What people see: tables in debugfs, each also as JSON.

mod events;
mod latency;
mod nodes;
mod queues;
mod rules;
mod stats;
mod text;

use crate::fleet::Fleet;
use kernel::{prelude::*, seq_file::SeqFile, sync::Arc};
use kfd::operator::files::{Files, Show};

/// The folder's name in debugfs.
pub(crate) const FOLDER: &CStr = c"amd_gpreempt";

/// All files. They appear later.
pub(crate) fn files(fleet: &Arc<Fleet>) -> Result<Files<File>> {
    let mut files = Files::new();
    for (name, show) in FILES {
        let file = File {
            fleet: fleet.clone(),
            show: *show,
        };
        files.add(name, file)?;
    }
    Ok(files)
}

/// How a file is written.
type Print = fn(&Fleet, &SeqFile) -> Result;

const FILES: &[(&CStr, Print)] = &[
    (c"queues", queues::table),
    (c"queues.json", queues::json),
    (c"events", events::table),
    (c"events.json", events::json),
    (c"stats", stats::table),
    (c"stats.json", stats::json),
    (c"latency", latency::table),
    (c"latency.json", latency::json),
    (c"rules", rules::table),
    (c"rules.json", rules::json),
];

/// A file.
pub(crate) struct File {
    fleet: Arc<Fleet>,
    show: Print,
}

impl Show for File {
    fn show(&self, out: &SeqFile) -> Result {
        (self.show)(&self.fleet, out)
    }
}
