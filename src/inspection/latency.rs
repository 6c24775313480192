// SPDX-License-Identifier: GPL-2.0-only

//! How long things took, by order of magnitude.

use super::{nodes::each_node, text};
use crate::fleet::Fleet;
use kernel::{prelude::*, seq_file::SeqFile, seq_print};

/// The table.
pub(super) fn table(fleet: &Fleet, out: &SeqFile) -> Result {
    each_node(fleet, |gpu, node, _| {
        seq_print!(out, "{} node {}\n", gpu, node.index);
        for (name, histogram) in node.memory.record.latencies.all() {
            let mean = histogram.sum.checked_div(histogram.count).unwrap_or(0);
            seq_print!(
                out,
                "  {:<10} count {} mean_ns {} max_ns {}\n",
                name,
                histogram.count,
                mean,
                histogram.longest
            );
            for (least, count) in histogram.buckets() {
                seq_print!(out, "    >= {:>14} ns {:>10}\n", least, count);
            }
        }
        Ok(())
    })
}

/// The same as JSON.
pub(super) fn json(fleet: &Fleet, out: &SeqFile) -> Result {
    text::list(out, "nodes", |next| {
        each_node(fleet, |gpu, node, _| {
            next();
            seq_print!(out, "{{\"gpu\":\"{}\",\"node\":{}", gpu, node.index);
            for (name, histogram) in node.memory.record.latencies.all() {
                seq_print!(
                    out,
                    ",\"{}\":{{\"count\":{},\"sum_ns\":{},\"max_ns\":{},\"buckets\":[",
                    name,
                    histogram.count,
                    histogram.sum,
                    histogram.longest
                );
                for (at, (least, count)) in histogram.buckets().enumerate() {
                    let comma = if at > 0 { "," } else { "" };
                    seq_print!(out, "{}[{},{}]", comma, least, count);
                }
                seq_print!(out, "]}}");
            }
            seq_print!(out, "}}");
            Ok(())
        })
    })
}
