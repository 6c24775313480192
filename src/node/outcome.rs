// SPDX-License-Identifier: GPL-2.0-only

//! What became of the decisions: noted in the roster, counted, kept for the tables,
//! told to the tracepoints, and reported to the policy.

use crate::node::{
    memory::Memory,
    record::{Event, Outcome},
    tracing::Tracer,
    transaction::Transactions,
};
use gpreempt_policy::{Action, Decision, Mode, Nanos, Report};
use kfd::act::{failure::Failure, transaction::Done};

/// Keeps what became of the decisions of a pass, which the transactions have
/// carried out as far as there was no failure.
pub(crate) fn keep(
    memory: &mut Memory,
    transactions: &Transactions,
    failure: Option<Failure>,
    tracer: Tracer,
    mode: Mode,
    now: Nanos,
) {
    for at in 0..memory.policy.decisions().len() {
        let Some(decision) = memory.policy.decisions().get(at).copied() else {
            return;
        };
        let Some(queue) = memory.roster.find_mut(decision.queue) else {
            continue;
        };
        let done = match decision.apply {
            true => transactions.requests.done(queue.key),
            false => Done::Nothing,
        };
        if done != Done::Nothing {
            queue.stop = match decision.action {
                Action::Stop => done,
                Action::Start => Done::Nothing,
            };
        }
        let queue = *queue;
        let outcome = outcome(&decision, done, failure);
        note(memory, &decision, outcome);
        let effective = memory.policy.effective(&queue);
        tracer.decision(mode, &decision, &queue, effective, outcome);
        let beneficiary = decision
            .beneficiary
            .and_then(|id| memory.roster.find(id))
            .map(|queue| (queue.pid, queue.key.id()));
        memory.record.events.add(Event {
            time: now,
            pid: queue.pid,
            queue_id: queue.key.id(),
            priority: queue.priority.level(),
            effective: effective.level(),
            action: decision.action,
            reason: decision.reason,
            age: decision.age,
            outcome,
            beneficiary,
        });
    }
}

/// What became of a decision.
fn outcome(decision: &Decision, done: Done, failure: Option<Failure>) -> Outcome {
    if !decision.apply {
        return Outcome::Observed;
    }
    if let Some(failure) = failure {
        return Outcome::Failed(failure);
    }
    match done {
        Done::Nothing => Outcome::Nothing,
        Done::Yes | Done::StoppedWithWaves | Done::StoppedIdle | Done::StoppedWithoutWaves => {
            Outcome::Done
        }
    }
}

/// Counts what became of a decision, and has the policy hear of it.
fn note(memory: &mut Memory, decision: &Decision, outcome: Outcome) {
    let record = &mut memory.record;
    let report = match outcome {
        Outcome::Observed => {
            record.counters.observed.add(1);
            return;
        }
        Outcome::Done => Report::Done,
        Outcome::Nothing => Report::NothingToDo,
        Outcome::Failed(failure) => Report::Failed(failure.kind()),
    };
    match (outcome, decision.action) {
        (Outcome::Done, Action::Stop) => {
            record.counters.stops.add(1);
            record.latencies.detection.add(decision.age);
        }
        (Outcome::Done, Action::Start) => {
            record.counters.starts.add(1);
            record.latencies.stopped.add(decision.age);
        }
        _ => {}
    }
    memory.policy.report(decision.queue, report);
}
