// SPDX-License-Identifier: GPL-2.0-only

//! The latest decisions with their reasons.

use super::{nodes::each_node, text};
use crate::{fleet::Fleet, node::record::Outcome};
use kernel::{prelude::*, seq_file::SeqFile, seq_print};

/// The table.
pub(super) fn table(fleet: &Fleet, out: &SeqFile) -> Result {
    seq_print!(
        out,
        "{:>8} {:>14} {:<12} {:>4} {:>8} {:>5} {:>4} {:>4} {:<5} {:<11} {:>10} {:<13} {}\n",
        "number",
        "time_us",
        "gpu",
        "node",
        "pid",
        "queue",
        "prio",
        "eff",
        "what",
        "reason",
        "age_us",
        "fate",
        "for"
    );
    each_node(fleet, |gpu, node, _| {
        let index = node.index;
        for (number, event) in node.memory.record.events.iter() {
            seq_print!(
                out,
                "{:>8} {:>14} {:<12} {:>4} {:>8} {:>5} {:>4} {:>4} {:<5} {:<11} {:>10} {:<13} ",
                number,
                event.time.0 / 1_000,
                gpu,
                index,
                event.pid,
                event.queue_id,
                event.priority,
                event.effective,
                event.action.name(),
                event.reason.name(),
                event.age.0 / 1_000,
                event.outcome.name()
            );
            match event.beneficiary {
                Some((pid, queue)) => seq_print!(out, "{}/{}\n", pid, queue),
                None => seq_print!(out, "-\n"),
            }
        }
        Ok(())
    })
}

/// The same as JSON.
pub(super) fn json(fleet: &Fleet, out: &SeqFile) -> Result {
    text::list(out, "events", |next| {
        each_node(fleet, |gpu, node, _| {
            let (index, gpu_id) = (node.index, node.check.gpu_id);
            for (number, event) in node.memory.record.events.iter() {
                next();
                seq_print!(
                    out,
                    "{{\"number\":{},\"time_ns\":{},\"gpu\":\"{}\",\"node\":{},\"gpu_id\":{},\"pid\":{},\"queue\":{},\"prio\":{},\"eff_prio\":{},",
                    number,
                    event.time.0,
                    gpu,
                    index,
                    gpu_id,
                    event.pid,
                    event.queue_id,
                    event.priority,
                    event.effective
                );
                seq_print!(
                    out,
                    "\"action\":\"{}\",\"reason\":\"{}\",\"age_ns\":{},\"fate\":\"{}\",\"errno\":{},",
                    event.action.name(),
                    event.reason.name(),
                    event.age.0,
                    event.outcome.name(),
                    match event.outcome {
                        Outcome::Failed(failure) => failure.errno(),
                        Outcome::Observed | Outcome::Done | Outcome::Nothing => 0,
                    }
                );
                match event.beneficiary {
                    Some((pid, queue)) => {
                        seq_print!(out, "\"for\":{{\"pid\":{},\"queue\":{}}}}}", pid, queue)
                    }
                    None => seq_print!(out, "\"for\":null}}"),
                }
            }
            Ok(())
        })
    })
}
