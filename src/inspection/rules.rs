// SPDX-License-Identifier: GPL-2.0-only

//! The operator's rules.

use super::{text, text::Quoted};
use crate::fleet::Fleet;
use kernel::{prelude::*, seq_file::SeqFile, seq_print};

/// The table: each rule as it was written.
pub(super) fn table(fleet: &Fleet, out: &SeqFile) -> Result {
    fleet.rules().each(|rule| {
        let dead = if rule.dead {
            " # dead: the cgroup is gone"
        } else {
            ""
        };
        seq_print!(out, "{}{}\n", rule.text, dead);
    });
    Ok(())
}

/// The same as JSON.
pub(super) fn json(fleet: &Fleet, out: &SeqFile) -> Result {
    text::list(out, "rules", |next| {
        fleet.rules().each(|rule| {
            next();
            seq_print!(
                out,
                "{{\"id\":{},\"text\":{},\"dead\":{},\"exempt\":{}",
                rule.id,
                Quoted(rule.text.as_bytes()),
                rule.dead,
                rule.effect.exempt
            );
            if let Some(node) = rule.node {
                seq_print!(out, ",\"node\":\"{}/{}\"", node.gpu, node.index);
            }
            if let Some(priority) = rule.effect.priority {
                seq_print!(out, ",\"prio\":{}", priority.level());
            }
            if let Some(timeslice) = rule.effect.timeslice {
                seq_print!(out, ",\"timeslice_ns\":{}", timeslice.0);
            }
            if let Some(budget) = rule.effect.stop_budget {
                seq_print!(out, ",\"stop_budget_ns\":{}", budget.0);
            }
            if let Some(cgroup) = rule.cgroup {
                seq_print!(out, ",\"cgroup_id\":{}", cgroup);
            }
            seq_print!(out, "}}");
        });
        Ok(())
    })
}
