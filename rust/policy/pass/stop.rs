// SPDX-License-Identifier: GPL-2.0-only
//! Which running queues are stopped, and for whom.
//!
//! All of them go into one transaction, since a transaction takes every queue
//! of the node off the hardware anyway.

use crate::algorithm::standing::Side;
use crate::memory::queue::Phase;
use crate::memory::queue::Queue;
use crate::memory::queue::Stop;
use crate::pass::pass::Pass;
use crate::pass::rivals::Rival;
use crate::terms::decision::Action;
use crate::terms::decision::Decision;
use crate::terms::decision::Inversion;
use crate::terms::decision::Reason;
use crate::terms::time::Nanos;

impl Pass<'_, '_> {
    /// Stops whatever a waiting queue may have stopped.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn stop_queues(&mut self) {
        let Some(first) = self.waiting.first().copied() else {
            return;
        };
        let mut worth = false;
        let mut disturbed = 0u32;
        let mut lowest = None;
        for at in 0..self.queues.len() {
            worth |= self.claim(at, &first, &mut lowest);
            if let Some(queue) = self.queues.get(at) {
                let equal = queue.busy && queue.contends && queue.effective >= first.effective;
                disturbed = disturbed.saturating_add(u32::from(equal && at != first.at));
            }
        }
        // Nothing that could make room runs: a transaction would only cost.
        if !worth {
            return;
        }
        let next = self.thrash.next_stop(self.now, self.config);
        if next > self.now {
            self.look_at(next);
            return;
        }
        let mut stopped = false;
        for at in 0..self.queues.len() {
            stopped |= self.stop(at, disturbed);
        }
        if stopped {
            self.thrash.stopped(self.now);
        }
    }

    /// Works out whether the queue at a place may be stopped and for whom; says
    /// whether that would make room on the compute units.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    fn claim(&mut self, at: usize, first: &Rival, lowest: &mut Option<Queue>) -> bool {
        let Some(queue) = self.queues.get_mut(at) else {
            return false;
        };
        queue.claim = None;
        queue.favoured = false;
        let queue = *queue;
        if queue.phase == Phase::Starting {
            // A process that is being started is not stopped in the same breath.
            if let Some(process) = self.processes.get_mut(queue.process_at) {
                process.refuses = true;
            }
        }
        if queue.phase != Phase::Free || !queue.active {
            return false;
        }
        if self.limits.whole_process {
            if let Some(process) = self.processes.get_mut(queue.process_at) {
                process.active = process.active.saturating_add(1);
                process.refuses |= queue.protected;
            }
        }
        if !queue.busy {
            return false;
        }
        self.find_inversion(&queue, first, lowest);
        let claim = if self.is_eligible(&queue) {
            self.claimant(&queue)
        } else {
            None
        };
        if let Some(queue) = self.queues.get_mut(at) {
            queue.claim = claim;
        }
        if let Some(process) = self.processes.get_mut(queue.process_at) {
            // A process is stopped for one beneficiary or not at all.
            let place = |claim: (Reason, usize)| claim.1;
            let first = process.stops.or(claim);
            process.refuses |= claim.is_none() || first.map(place) != claim.map(place);
            process.stops = first;
        }
        claim.is_some() && queue.may_occupy(self.now, &self.limits)
    }

    /// Whether a busy queue may be stopped at all at present.
    fn is_eligible(&self, queue: &Queue) -> bool {
        let ran = match queue.started {
            Some(started) => self.now.since(started),
            None => Nanos::NEVER,
        };
        queue.contends
            && !queue.protected
            && !queue.is_blocked()
            && ran >= self.limits.min_run
            && self.now >= queue.immune
            && self.now >= queue.retry_at
    }

    /// Why, and for whom, the queue is stopped.
    fn claimant(&self, queue: &Queue) -> Option<(Reason, usize)> {
        let side = Side::of(queue, &self.limits);
        self.waiting
            .iter()
            .filter(|rival| rival.side != side)
            .filter(|rival| !self.pairs.cooling(self.now, rival.process, queue.process))
            .find_map(|rival| {
                let waiting = self.queues.get(rival.at)?;
                let reason = self.algorithm.claims(&self.context, waiting, queue)?;
                Some((reason, rival.at))
            })
    }

    /// Remembers the inversion with the lowest running queue, guards or not.
    fn find_inversion(&mut self, queue: &Queue, first: &Rival, lowest: &mut Option<Queue>) {
        if !queue.contends || Side::of(queue, &self.limits) == first.side {
            return;
        }
        if lowest.is_some_and(|lowest| lowest.effective <= queue.effective) {
            return;
        }
        let Some(waiting) = self.queues.get(first.at) else {
            return;
        };
        if self
            .algorithm
            .claims(&self.context, waiting, queue)
            .is_some()
        {
            self.step.inversion = Some(Inversion {
                waiting: waiting.id,
                running: queue.id,
                age: self.now.since(waiting.pending_since.max(queue.busy_since)),
            });
            *lowest = Some(*queue);
        }
    }

    /// Decides the stop of the queue at a place if it may be stopped.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    fn stop(&mut self, at: usize, disturbed: u32) -> bool {
        let Some(queue) = self.queues.get(at).copied() else {
            return false;
        };
        let claim = if self.limits.whole_process {
            self.whole_claim(&queue)
        } else {
            self.single_claim(&queue)
        };
        let Some((reason, for_at)) = claim else {
            return false;
        };
        let Some(beneficiary) = self.queues.get(for_at).copied() else {
            return false;
        };
        let decision = Decision {
            queue: queue.id,
            action: Action::Stop,
            reason,
            beneficiary: Some(beneficiary.id),
            age: self
                .now
                .since(beneficiary.pending_since.max(queue.busy_since)),
            apply: self.limits.enforce,
        };
        if !self.push(decision) {
            return false;
        }
        let now = self.now;
        let stop = Stop {
            since: now,
            reason,
            beneficiary: Some(beneficiary.id),
            process: beneficiary.process,
            wanted: now,
            disturbed,
            dry: !self.limits.enforce,
            along: queue.claim.is_none(),
            started_for: reason,
        };
        if let Some(queue) = self.queues.get_mut(at) {
            queue.begin_stop(stop);
        }
        if let Some(beneficiary) = self.queues.get_mut(for_at) {
            beneficiary.favoured = true;
            if reason == Reason::Rotation {
                beneficiary.account.turn = now;
            }
        }
        if let Some(process) = self.processes.get_mut(beneficiary.process_at) {
            process.favoured = true;
        }
        self.hold(beneficiary.process_at);
        self.look_at(now.after(self.limits.max_stop));
        true
    }

    /// The claim on a queue. Two equals may each have a claim on the other; one
    /// of them runs.
    fn single_claim(&self, queue: &Queue) -> Option<(Reason, usize)> {
        let (reason, for_at) = queue.claim.filter(|_| !queue.favoured)?;
        let beneficiary = self.queues.get(for_at)?;
        let runs = matches!(beneficiary.phase, Phase::Free | Phase::Starting);
        runs.then_some((reason, for_at))
    }

    /// The claim on a queue where whole processes are stopped: the one on its
    /// process, unless one of its busy queues refuses, another process was
    /// stopped for it, its beneficiary is stopped itself, or the output cannot
    /// take all of its queues.
    fn whole_claim(&mut self, queue: &Queue) -> Option<(Reason, usize)> {
        if queue.phase != Phase::Free || !queue.active {
            return None;
        }
        let process = self.processes.get_mut(queue.process_at)?;
        let (reason, for_at) = process.stops.filter(|_| !process.refuses)?;
        // Asked once a process: all of its queues or none.
        let active = core::mem::take(&mut process.active);
        if active > 0 {
            let favoured = process.favoured;
            let beneficiary = self.queues.get(for_at)?.process_at;
            let stopped = self.processes.get(beneficiary)?.stopping;
            let refuses = favoured || stopped || !self.out.promise(active);
            let process = self.processes.get_mut(queue.process_at)?;
            process.refuses = refuses;
            process.stopping = !refuses;
            if refuses {
                return None;
            }
        }
        let own = queue.claim.map(|(reason, _)| reason);
        Some((own.unwrap_or(reason), for_at))
    }
}
