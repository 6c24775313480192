// SPDX-License-Identifier: GPL-2.0-only

//! Counters and the state of each node.

use super::each_node;
use super::text;
use super::text::Quoted;
use crate::fleet::Fleet;
use crate::node::NodeEngine;
use gpreempt_policy::Arming;
use gpreempt_policy::Granularity;
use kernel::prelude::*;
use kernel::seq_file::SeqFile;
use kernel::seq_print;
use kfd::operator::settings::BackendKind;
use kfd::operator::settings::Settings;

/// The word for the state of a node.
pub(crate) fn state(node: &mut NodeEngine) -> &'static str {
    if node.refusal().is_some() {
        return "refused";
    }
    match node.scheduler().arming() {
        Arming::Armed => "armed",
        Arming::BackingOff(_) => "backing-off",
        Arming::Silent(_) => "silent",
        Arming::Disarmed => "disarmed",
    }
}

fn granularity(settings: &Settings) -> Granularity {
    match settings.backend {
        BackendKind::Hws | BackendKind::Mqd => Granularity::Queue,
        BackendKind::Process => Granularity::Process,
    }
}

/// The numbers of a node, each with its name.
fn numbers(node: &NodeEngine) -> [(&'static str, u64); 16] {
    let counters = &node.counters;
    let last = node.last();
    let wide = |value: usize| u64::try_from(value).unwrap_or(u64::MAX);
    [
        ("queues", wide(node.survey().queues().len())),
        ("copy_queues", u64::from(node.survey().copy_queues())),
        ("processes", wide(node.survey().processes().len())),
        ("running", wide(last.running)),
        ("waiting", wide(last.stalled)),
        ("stopped", wide(last.stopped)),
        ("passes", counters.passes),
        ("missed", counters.missed),
        ("inversions", counters.inversions),
        ("observed", counters.observed),
        ("stops", counters.stops),
        ("starts", counters.starts),
        ("transactions", counters.transactions),
        ("failures", counters.failures),
        ("healed", counters.healed),
        ("exempt", counters.exempt),
    ]
}

/// The table to read.
pub(super) fn table(fleet: &Fleet, out: &SeqFile) -> Result {
    each_node(fleet, |gpu, node, settings| {
        seq_print!(
            out,
            "{} node {} gpu_id {}: {}, mode {}, policy {}, sampler {}, backend {}\n",
            gpu,
            node.index(),
            node.gpu_id(),
            state(node),
            settings.policy.mode.name(),
            settings.policy.policy.name(),
            settings.sampler.name(),
            settings.backend.name()
        );
        if let Some(refusal) = node.refusal() {
            seq_print!(out, "  refused: {}\n", refusal.why);
        }
        if let Some(failure) = node.last_failure() {
            seq_print!(out, "  last failure: {}\n", failure.why());
        }
        if granularity(settings) == Granularity::Process {
            seq_print!(out, "  whole processes are stopped, with their copies\n");
        }
        for (name, value) in numbers(node) {
            seq_print!(out, "  {:<14} {}\n", name, value);
        }
        Ok(())
    })
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
                node.index(),
                node.gpu_id(),
                state(node)
            );
            match node.refusal() {
                Some(refusal) => seq_print!(out, "{}", Quoted(refusal.why.as_bytes())),
                None => seq_print!(out, "null"),
            }
            seq_print!(out, ",\"last_failure\":");
            match node.last_failure() {
                Some(failure) => seq_print!(out, "{}", Quoted(failure.why().as_bytes())),
                None => seq_print!(out, "null"),
            }
            seq_print!(
                out,
                ",\"mode\":\"{}\",\"policy\":\"{}\",\"sampler\":\"{}\",\"backend\":\"{}\"",
                settings.policy.mode.name(),
                settings.policy.policy.name(),
                settings.sampler.name(),
                settings.backend.name()
            );
            for (name, value) in numbers(node) {
                seq_print!(out, ",\"{}\":{}", name, value);
            }
            seq_print!(out, "}}");
            Ok(())
        })
    })
}
