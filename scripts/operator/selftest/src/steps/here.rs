// SPDX-License-Identifier: GPL-2.0-only
//! Step 0: what is here. Nothing is changed.

use anyhow::{bail, ensure, Result};
use serde_json::json;

use super::{Extent, Found};
use crate::session::Session;

pub fn run(session: &mut Session, _: &Extent, found: &mut Found) -> Result<()> {
    let gpu = session.gpu.clone();
    let stats = session.stats()?;
    let facts = session.host.facts(&gpu, &stats.gpu);
    let others = session.host.others(gpu.gpu_id, std::process::id());
    found.line(format!(
        "kernel {}, module {}, {} units on {} dies",
        facts.kernel.as_deref().unwrap_or("unknown"),
        facts.module.as_deref().unwrap_or("unknown"),
        gpu.units,
        gpu.dies
    ));
    let partition = facts.compute_partition.as_deref().unwrap_or("unknown");
    found.line(format!(
        "compute partition {partition}, backend {}",
        stats.backend
    ));
    // Of others only how many there are: who they are is nobody's business.
    found.line(format!("{} other processes use the GPU", others.len()));
    found.data = json!({
        "facts": facts,
        "parameters": session.module.parameters()?,
        "stats": stats,
        "others": others.len(),
    });
    if let Some(other) = others.first().filter(|_| !session.others) {
        bail!(
            "process {} ({}) uses the GPU with {} queues: end it, or say --beside-others",
            other.pid,
            other.command,
            other.queues
        );
    }
    session.module.refuse_own(&stats.gpu)?;
    ensure!(
        stats.stopped == 0,
        "{} queues are stopped: wait until they run, or set the mode to observe",
        stats.stopped
    );
    session.check()
}
