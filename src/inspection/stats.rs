// SPDX-License-Identifier: GPL-2.0-only

//! Counters and the state of each node.

use super::{nodes::each_node, text, text::Quoted};
use crate::{
    fleet::Fleet,
    node::{record::wide, NodeState},
};
use kernel::{prelude::*, seq_file::SeqFile, seq_print};
use kfd::act::failure::Failure;

/// The numbers of a node, each with its name.
fn numbers(node: &NodeState) -> [(&'static str, u64); 24] {
    let counters = &node.memory.record.counters;
    let last = node.last;
    [
        ("queues", wide(node.look.survey.queues().len())),
        (
            "copy_queues",
            u64::from(node.look.survey.counted().copy_queues),
        ),
        ("processes", wide(node.look.survey.processes().len())),
        ("running", wide(last.running)),
        ("waiting", wide(last.waiting)),
        ("stopped", wide(last.stopped)),
        ("passes", counters.passes.get()),
        ("missed", counters.missed.get()),
        ("inversions", counters.inversions.get()),
        ("observed", counters.observed.get()),
        ("stops", counters.stops.get()),
        ("starts", counters.starts.get()),
        ("transactions", counters.transactions.get()),
        ("failures", counters.failures.get()),
        ("handed_over", counters.handed_over.get()),
        ("waited_for", counters.waited_for.get()),
        ("unwritten", counters.unwritten.get()),
        ("healed", counters.healed.get()),
        ("hints", counters.hints.get()),
        ("hints_honoured", counters.hints_honoured.get()),
        ("hints_expired", counters.hints_expired.get()),
        ("hints_over_budget", counters.hints_over_budget.get()),
        ("hints_ignored", counters.hints_ignored.get()),
        ("exempt", counters.exempt),
    ]
}

/// The table.
pub(super) fn table(fleet: &Fleet, out: &SeqFile) -> Result {
    each_node(fleet, |gpu, node, settings| {
        seq_print!(
            out,
            "{} node {} gpu_id {}: {}, mode {}, sampler {}, backend {}, transaction {}\n",
            gpu,
            node.index,
            node.check.gpu_id,
            node.state(),
            settings.mode.name(),
            settings.sampler.name(),
            settings.backend.name(),
            settings.transaction.name()
        );
        if let Some(refusal) = node.refusal() {
            seq_print!(out, "  refused: {}\n", refusal.why);
        }
        if let Some(failure) = node.transactions.last_failure {
            seq_print!(out, "  last failure: {}\n", failure.why());
        }
        for (name, value) in numbers(node) {
            seq_print!(out, "  {:<17} {}\n", name, value);
        }
        Ok(())
    })
}

/// Words as a JSON string, or `null`.
fn or_null(out: &SeqFile, words: Option<&str>) {
    match words {
        Some(words) => seq_print!(out, "{}", Quoted(words.as_bytes())),
        None => seq_print!(out, "null"),
    }
}

/// The same as JSON.
pub(super) fn json(fleet: &Fleet, out: &SeqFile) -> Result {
    text::list(out, "nodes", |next| {
        each_node(fleet, |gpu, node, settings| {
            next();
            seq_print!(
                out,
                "{{\"gpu\":\"{}\",\"node\":{},\"gpu_id\":{},\"state\":\"{}\",\"refusal\":",
                gpu,
                node.index,
                node.check.gpu_id,
                node.state()
            );
            or_null(out, node.refusal().map(|refusal| refusal.why));
            seq_print!(out, ",\"last_failure\":");
            or_null(out, node.transactions.last_failure.map(Failure::why));
            seq_print!(
                out,
                ",\"mode\":\"{}\",\"sampler\":\"{}\",\"backend\":\"{}\",\"transaction\":\"{}\"",
                settings.mode.name(),
                settings.sampler.name(),
                settings.backend.name(),
                settings.transaction.name()
            );
            for (name, value) in numbers(node) {
                seq_print!(out, ",\"{}\":{}", name, value);
            }
            seq_print!(out, "}}");
            Ok(())
        })
    })
}
