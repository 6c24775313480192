// SPDX-License-Identifier: GPL-2.0-only

//! The table of queues.

use super::{nodes::each_node, text, text::Quoted};
use crate::{fleet::Fleet, node::comm::Comm};
use gpreempt_policy::{Waves, QUEUE_SLOTS};
use kernel::{prelude::*, seq_file::SeqFile, seq_print};
use kfd::{driver::queue::Activity, kernel::clock};

/// A number, or what stands for one that is unknown.
struct Maybe(Option<u64>, &'static str);

impl kernel::fmt::Display for Maybe {
    fn fmt(&self, out: &mut kernel::fmt::Formatter<'_>) -> kernel::fmt::Result {
        match self.0 {
            Some(value) => kernel::fmt::Display::fmt(&value, out),
            None => out.pad(self.1),
        }
    }
}

/// The table.
pub(super) fn table(fleet: &Fleet, out: &SeqFile) -> Result {
    seq_print!(
        out,
        "{:<12} {:>4} {:>8} {:<15} {:>5} {:>4} {:>4} {:>12} {:>12} {:<8} {:>10} {:>8} {:>12} {:>12}\n",
        "gpu",
        "node",
        "pid",
        "comm",
        "queue",
        "prio",
        "eff",
        "rptr",
        "wptr",
        "state",
        "since_ms",
        "stops",
        "run_us",
        "stopped_us"
    );
    let now = clock::now();
    each_node(fleet, |gpu, node, _| {
        let index = node.index;
        node.each_queue(|view, queue, seen| {
            seq_print!(
                out,
                "{:<12} {:>4} {:>8} {:<15} {:>5} {:>4} {:>4} {:>12} {:>12} {:<8} {:>10} {:>8} {:>12} {:>12}\n",
                gpu,
                index,
                queue.pid,
                Comm(&queue.comm),
                queue.key.id(),
                queue.priority.level(),
                view.effective.level(),
                Maybe(seen.sample.read, "-"),
                Maybe(seen.sample.write, "-"),
                view.verdict.name(),
                now.since(view.since).0 / 1_000_000,
                view.stops,
                view.ran.0 / 1_000,
                view.stopped.0 / 1_000
            );
        });
        for process in node.look.survey.left_out() {
            seq_print!(
                out,
                "{:<12} {:>4} {:>8} {:<15} {} of {} queues are left alone: there is room for {} in all\n",
                gpu,
                index,
                process.pid,
                Comm(&process.comm),
                process.left_out,
                process.queues,
                QUEUE_SLOTS
            );
        }
        Ok(())
    })
}

/// The same and more as JSON.
pub(super) fn json(fleet: &Fleet, out: &SeqFile) -> Result {
    text::object(out, || {
        text::member(out, "queues", |next| json_queues(fleet, out, next))?;
        text::member(out, "left_out", |next| json_left_out(fleet, out, next))
    })
}

/// The queues in view.
fn json_queues(fleet: &Fleet, out: &SeqFile, next: &mut dyn FnMut()) -> Result {
    each_node(fleet, |gpu, node, _| {
        let (index, gpu_id) = (node.index, node.check.gpu_id);
        node.each_queue(|view, queue, seen| {
                next();
                let waves = match seen.sample.waves {
                    Waves::Known(waves) => Some(u64::from(waves)),
                    Waves::Unknown => None,
                };
                let active = seen.facts.activity == Activity::Active;
                seq_print!(
                    out,
                    "{{\"gpu\":\"{}\",\"node\":{},\"gpu_id\":{},\"pid\":{},\"comm\":{},\"queue\":{},\"format\":\"{}\",\"prio\":{},\"eff_prio\":{},\"rule\":{},",
                    gpu,
                    index,
                    gpu_id,
                    queue.pid,
                    Quoted(&queue.comm),
                    queue.key.id(),
                    seen.facts.format.name(),
                    queue.priority.level(),
                    view.effective.level(),
                    Maybe(queue.rule.map(|rule| u64::from(rule.id)), "null")
                );
                seq_print!(
                    out,
                    "\"rptr\":{},\"wptr\":{},\"waves\":{},\"head\":\"{}\",\"active\":{},\"contends\":{},\"internal\":{},\"protected\":{},",
                    Maybe(seen.sample.read, "null"),
                    Maybe(seen.sample.write, "null"),
                    Maybe(waves, "null"),
                    seen.sample.head.name(),
                    active,
                    view.contends,
                    seen.internal,
                    seen.facts.protected
                );
                seq_print!(
                    out,
                    "\"state\":\"{}\",\"since_ns\":{},\"stops\":{},\"run_ns\":{},\"stopped_ns\":{}}}",
                    view.verdict.name(),
                    view.since.0,
                    view.stops,
                    view.ran.0,
                    view.stopped.0
                );
            });
        Ok(())
    })
}

/// The processes of which not all queues are in view.
fn json_left_out(fleet: &Fleet, out: &SeqFile, next: &mut dyn FnMut()) -> Result {
    each_node(fleet, |gpu, node, _| {
        for process in node.look.survey.left_out() {
            next();
            seq_print!(
                out,
                "{{\"gpu\":\"{}\",\"node\":{},\"gpu_id\":{},\"pid\":{},\"comm\":{},\"queues\":{},\"left_out\":{}}}",
                gpu,
                node.index,
                node.check.gpu_id,
                process.pid,
                Quoted(&process.comm),
                process.queues,
                process.left_out
            );
        }
        Ok(())
    })
}
