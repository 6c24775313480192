// SPDX-License-Identifier: GPL-2.0-only

//! What was seen of a node's queues, in the policy's terms.

use crate::node::roster::Roster;
use gpreempt_policy::{Observation, QueueState, TenantId, Waves};
use kernel::prelude::*;
use kfd::{act::transaction::Done, driver::queue::Activity, look::survey::Survey};

/// Puts what was seen into the policy's terms, and notes in the roster which
/// queues are stopped. The survey must be the one that the roster took in last.
pub(crate) fn observe(survey: &Survey, roster: &mut Roster, into: &mut KVVec<Observation>) {
    into.clear();
    // A process's queues are together, and asking for its tenant takes locks.
    let mut owner = None;
    for (seen, queue) in survey.queues().iter().zip(roster.queues_mut()) {
        let state = match seen.facts.activity {
            Activity::Active => QueueState::Active,
            // Whoever is changing it has the driver set it running, and only waits for the
            // driver's lock. Where the driver has refused, nobody else will start it.
            _ if seen.facts.changing && !queue.changing && !queue.is_stopped() => QueueState::Held,
            _ if seen.facts.may_be_started() => QueueState::StoppedByUs,
            Activity::Stopped | Activity::Held => QueueState::Held,
        };
        queue.changing = seen.facts.changing;
        queue.follow_stop(state == QueueState::StoppedByUs);
        let process = survey.processes().get(seen.process);
        let tenant = match owner {
            Some((at, tenant)) if at == seen.process => tenant,
            _ => process.map_or(TenantId(0), |process| TenantId(process.task.tenant())),
        };
        owner = Some((seen.process, tenant));
        let observation = Observation {
            queue: queue.id,
            process: queue.process,
            tenant,
            kfd: seen.facts.priority,
            rule: queue.rule.map(|rule| rule.effect),
            backlog: queue.backlog,
            progress: queue.progress,
            waves: match queue.stop {
                Done::Nothing => seen.sample.waves,
                Done::StoppedIdle => Waves::Known(0),
                // Without a backlog, a launch that was not known of may be what it has left.
                Done::StoppedWithoutWaves if queue.backlog > Some(0) => Waves::Known(0),
                // How many does not matter.
                Done::StoppedWithWaves => Waves::Known(1),
                Done::StoppedWithoutWaves | Done::Yes => Waves::Unknown,
            },
            grid: seen.sample.grid,
            head: seen.sample.head,
            state,
            hint: process.and_then(|process| process.hint),
            internal: seen.internal,
            protected: seen.facts.protected,
        };
        // There is as much room as in the survey.
        let _ = into.push_within_capacity(observation);
    }
}
