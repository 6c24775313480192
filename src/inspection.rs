// SPDX-License-Identifier: GPL-2.0-only

//! What a person sees: tables in debugfs, each also as JSON.

mod events;
mod latency;
mod queues;
mod rules;
mod stats;
mod text;

pub(crate) use stats::state;

use crate::engine::Engine;
use crate::fleet::Fleet;
use crate::node::NodeEngine;
use kernel::prelude::*;
use kernel::seq_file::SeqFile;
use kernel::sync::Arc;
use kfd::operator::files::Files;
use kfd::operator::files::Show;

/// The folder's name in debugfs.
pub(crate) const FOLDER: &CStr = c"amd_gpreempt";

/// All files, which do not appear yet.
pub(crate) fn files(fleet: &Arc<Fleet>) -> Result<Files> {
    let mut files = Files::default();
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
type Write = fn(&Fleet, &SeqFile) -> Result;

const FILES: &[(&CStr, Write)] = &[
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
struct File {
    fleet: Arc<Fleet>,
    show: Write,
}

impl Show for File {
    fn show(&self, out: &SeqFile) -> Result {
        (self.show)(&self.fleet, out)
    }
}

/// Calls a function for each node, with the GPU's name.
fn each_node(
    fleet: &Fleet,
    mut f: impl FnMut(&str, &mut NodeEngine, &kfd::operator::settings::Settings) -> Result,
) -> Result {
    fleet.each(|gpu| {
        let name = gpu.device().name().to_str().unwrap_or("?");
        gpu.with(|_, engine: &mut Engine| {
            let settings = *engine.settings();
            engine
                .nodes()
                .iter_mut()
                .try_for_each(|node| f(name, node, &settings))
        })
    })
}
