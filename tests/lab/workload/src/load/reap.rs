// SPDX-License-Identifier: GPL-2.0-only
//! The reaper: completions as they come, with the counters checked at each, and
//! the report at the end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use super::{Finished, Load, Outcome, Outstanding, LOOK};
use crate::clock::{guest_now_ns, Correlation};
use crate::counters::Tally;
use crate::latency::summary;
use crate::report::{ClockReport, QueueReport, Requests, Sample};
use crate::spec::RunSpec;

impl Load {
    pub(super) fn reap(
        &self,
        run: &RunSpec,
        outstanding: Receiver<Outstanding>,
        freed: Sender<usize>,
        ended: &AtomicBool,
    ) -> Outcome {
        let mut outcome = Outcome {
            finished: Vec::new(),
            failure: None,
            wrong: Tally::default(),
        };
        let limit = Duration::from_millis(run.request_timeout_ms).as_nanos() as u64;
        for request in outstanding {
            let slot = &self.slots[request.slot];
            let since = guest_now_ns();
            while !slot.done.wait_below(1, LOOK) {
                if let Some(failure) = self.with_queue(|active| active.queue.failure()).flatten() {
                    outcome.failure = Some(format!("ROCr reports: {failure}"));
                    return outcome;
                }
                if let Some(exception) = self.runtime.exception() {
                    outcome.failure = Some(format!("fault: {exception}"));
                    return outcome;
                }
                if !self.spec.drain && ended.load(Ordering::Acquire) {
                    return outcome;
                }
                if self.spec.drain && guest_now_ns() - since > limit {
                    outcome.failure = Some(format!(
                        "request {} did not finish within {} ms (read and write index {:?})",
                        outcome.finished.len(),
                        run.request_timeout_ms,
                        self.indices(),
                    ));
                    return outcome;
                }
            }
            let (start_ticks, end_ticks) = slot.done.timestamps();
            outcome.finished.push(Finished {
                arrival_guest_ns: request.arrival_guest_ns,
                hint_guest_ns: request.hint_guest_ns,
                submit_guest_ns: request.submit_guest_ns,
                seen_guest_ns: guest_now_ns(),
                start_ticks,
                end_ticks,
            });
            let expected = slot.expected.fetch_add(1, Ordering::AcqRel) + 1;
            outcome.wrong += self.parts.tally(request.slot, expected, expected);
            self.in_flight
                .lock()
                .expect("no holder panics")
                .retain(|&slot| slot != request.slot);
            self.completed.fetch_add(1, Ordering::Release);
            // The submitter may be gone.
            let _ = freed.send(request.slot);
        }
        outcome
    }

    /// Destroys the queue and checks all counters a last time.
    pub fn finish(&self, outcome: Outcome, clock: &Correlation, run: &RunSpec) -> QueueReport {
        drop(self.active.write().expect("no holder panics").take());
        let (submitted, completed) = self.progress();
        let abandoned = submitted - completed;

        let in_flight = self.in_flight.lock().expect("no holder panics").clone();
        let mut workgroups = Tally::default();
        for (index, slot) in self.slots.iter().enumerate() {
            let least = slot.expected.load(Ordering::Acquire);
            // A request that was given up may have run in part. The signal tells of one
            // that was given up while its packets were written.
            let given_up = in_flight.contains(&index) || slot.done.load() > 0;
            let most = least + u32::from(given_up);
            workgroups += self.parts.tally(index, least, most);
        }
        // A count that was wrong at its request's completion counts even if it
        // became right later.
        workgroups.lost = workgroups.lost.max(outcome.wrong.lost);
        workgroups.repeated = workgroups.repeated.max(outcome.wrong.repeated);

        let times: Vec<Sample> = outcome
            .finished
            .iter()
            .map(|request| Sample {
                arrival_ns: clock.gpu_at(request.arrival_guest_ns).unwrap_or(0),
                hint_ns: request.hint_guest_ns.and_then(|hint| clock.gpu_at(hint)),
                submit_ns: clock.gpu_at(request.submit_guest_ns).unwrap_or(0),
                start_ns: clock.gpu_ns(request.start_ticks),
                end_ns: clock.gpu_ns(request.end_ticks),
            })
            .collect();
        let spread =
            |time: fn(&Sample) -> u64| summary(&times.iter().map(time).collect::<Vec<_>>());
        let first = times
            .iter()
            .map(|sample| sample.arrival_ns)
            .min()
            .unwrap_or(0);
        let last = times.iter().map(|sample| sample.end_ns).max().unwrap_or(0);
        let guest: Vec<u64> = outcome
            .finished
            .iter()
            .map(|request| {
                request
                    .seen_guest_ns
                    .saturating_sub(request.arrival_guest_ns)
            })
            .collect();
        QueueReport {
            identity: self.identity.clone(),
            requests: Requests {
                submitted,
                completed,
                abandoned,
            },
            dispatches: completed * self.spec.dispatches(),
            workgroups,
            resets: self.resets.load(Ordering::Relaxed),
            redone: self.redone.load(Ordering::Relaxed),
            latency_gpu_ns: spread(Sample::latency),
            latency_guest_ns: summary(&guest),
            service_gpu_ns: spread(|sample| sample.end_ns.saturating_sub(sample.start_ns)),
            span_gpu_ns: last.saturating_sub(first),
            clock: ClockReport {
                dilation: clock.dilation(),
                uncertainty_guest_ns: clock.uncertainty_ns(),
                moments: if run.samples {
                    clock.moments().to_vec()
                } else {
                    Vec::new()
                },
            },
            failure: outcome.failure.or_else(|| {
                (self.spec.drain && abandoned > 0)
                    .then(|| format!("{abandoned} requests were submitted and not finished"))
            }),
            samples: if run.samples { times } else { Vec::new() },
        }
    }
}
