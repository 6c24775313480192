// SPDX-License-Identifier: GPL-2.0-only
//! Which running queues are stopped, and for which waiting ones.
//!
//! All of them go into one transaction, since a transaction takes every queue
//! of the node off the hardware anyway. Lower queues that are idle at present go
//! along: their next work would run beside the waiting queue, and cost another
//! transaction.

use crate::algorithm::standing::Side;
use crate::memory::phase::Phase;
use crate::memory::plan::Claim;
use crate::memory::plan::Whole;
use crate::memory::process::Process;
use crate::memory::queue::Queue;
use crate::memory::stop::Stop;
use crate::pass::pass::Pass;
use crate::pass::rivals::Rival;
use crate::terms::decision::Action;
use crate::terms::decision::Decision;
use crate::terms::decision::Inversion;
use crate::terms::decision::Reason;
use crate::terms::priority::Priority;
use crate::terms::time::Nanos;

/// How many queues the hardware has places for. Of more than that the firmware gives each
/// its turn, and a queue waits for its own, whoever runs.
const PLACES: usize = 24;

/// How many times as long an inversion is left to pass by itself where queues take turns,
/// at most: once for each time that they would fill the places.
const MOST_TURNS: u64 = 6;

/// How long it is left for that reason at most: anybody may open queues.
const LONGEST_TURNS: Nanos = Nanos(8_000_000);

impl Pass<'_, '_> {
    /// Stops the queues that a waiting queue may preempt.
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
                let equal = queue.work().is_busy()
                    && queue.contends()
                    && queue.effective() >= first.effective;
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
            self.gaps.end(self.now, &self.limits);
        }
    }

    /// Works out whether the queue at a place may be stopped and for which queue;
    /// says whether that would make room on the compute units, or keep it free.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    fn claim(&mut self, at: usize, first: &Rival, lowest: &mut Option<Priority>) -> bool {
        let Some(queue) = self.queues.get_mut(at) else {
            return false;
        };
        queue.plan_mut().clear_stop();
        let process_at = queue.process_at();
        if queue.phase().is_starting() {
            // A process that is being started is not stopped in the same breath.
            if let Some(process) = self.processes.get_mut(process_at) {
                process.plan_mut().refuse();
            }
        }
        if !queue.phase().is_free() || !queue.work().is_active() {
            return false;
        }
        if self.limits.whole_process {
            if let Some(process) = self.processes.get_mut(process_at) {
                process.plan_mut().count_active();
                if queue.rating().is_protected() {
                    process.plan_mut().refuse();
                }
            }
        }
        if !queue.work().is_busy() {
            self.claim_along(at);
            return false;
        }
        let Some(queue) = self.queues.get(at) else {
            return false;
        };
        if let Some(inversion) = self.inversion(queue, first, *lowest) {
            *lowest = Some(queue.effective());
            self.step.inversion = Some(inversion);
        }
        let claim = if self.is_eligible(queue) {
            self.strongest_claim(queue)
        } else {
            None
        };
        let work = queue.work();
        let occupies =
            work.may_occupy(self.now, &self.limits) || work.is_eager(self.now, &self.limits);
        if let Some(queue) = self.queues.get_mut(at) {
            queue.plan_mut().set_claim(claim);
        }
        if let Some(process) = self.processes.get_mut(process_at) {
            process.plan_mut().add_claim(claim);
        }
        claim.is_some_and(|claim| occupies && !self.passes_by_itself(at, claim))
    }

    /// Whether an inversion is over before a transaction could end it, as far as both
    /// queues are known. If it is not over by then, they are known better.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    fn passes_by_itself(&mut self, at: usize, claim: Claim) -> bool {
        if claim.reason != Reason::Inversion {
            return false;
        }
        let queues = self.queues.len();
        let crowded = queues > PLACES;
        let brief = self.thrash.brief(self.config);
        let turns = u64::try_from(queues / PLACES).unwrap_or(MOST_TURNS);
        let in_turns = brief.times(turns.min(MOST_TURNS)).min(LONGEST_TURNS);
        let brief = brief.max(in_turns);
        let running = self.queues.get(at);
        let waiting = self.queues.get(claim.beneficiary_at);
        let running = running.and_then(|queue| queue.work().brief_until(brief, crowded));
        let waiting = waiting.and_then(|queue| queue.work().patient_until(brief, crowded));
        let (Some(running), Some(waiting)) = (running, waiting) else {
            return false;
        };
        let until = running.min(waiting);
        if until > self.now {
            self.look_at(until);
        }
        until > self.now
    }

    /// Works out whether the idle queue at a place is stopped along with others, should
    /// any be stopped. Only where its priority is lower: no turn, share or deadline of
    /// a queue without work is over.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    fn claim_along(&mut self, at: usize) {
        let Some(queue) = self.queues.get(at) else {
            return;
        };
        if self.limits.whole_process || !queue.work().launched_lately(self.now, &self.limits) {
            return;
        }
        let claim = if self.is_eligible(queue) {
            self.strongest_claim(queue)
        } else {
            None
        };
        let claim = claim.filter(|claim| claim.reason == Reason::Inversion);
        if let Some(queue) = self.queues.get_mut(at) {
            queue.plan_mut().set_claim(claim);
        }
    }

    /// Whether a queue may be stopped at all at present.
    fn is_eligible(&self, queue: &Queue) -> bool {
        queue.contends()
            && !queue.rating().is_protected()
            && !queue.work().is_blocked()
            && queue.tenure().length(self.now) >= self.limits.min_run
            && !queue.tenure().is_immune(self.now)
            && self.now >= queue.retry_at()
            // Left alone, it would keep the rest of its process running.
            && (self.limits.whole_process || !queue.patience().is_alone(self.now))
    }

    /// The claim of the foremost waiting queue that has one on this queue.
    fn strongest_claim(&self, queue: &Queue) -> Option<Claim> {
        let side = Side::of(queue, &self.limits);
        self.waiting
            .iter()
            .filter(|rival| rival.side != side)
            .filter(|rival| !self.pairs.cooling(self.now, rival.process, queue.process()))
            .find_map(|rival| {
                let waiting = self.queues.get(rival.at)?;
                let reason = self.algorithm.claims(&self.context, waiting, queue)?;
                Some(Claim {
                    reason,
                    beneficiary_at: rival.at,
                })
            })
    }

    /// The inversion of a running queue with the first waiting one, guards or not,
    /// if the running one is lower than those before it.
    fn inversion(
        &self,
        running: &Queue,
        first: &Rival,
        lowest: Option<Priority>,
    ) -> Option<Inversion> {
        let rivals = running.contends() && Side::of(running, &self.limits) != first.side;
        if !rivals || lowest.is_some_and(|lowest| lowest <= running.effective()) {
            return None;
        }
        let waiting = self.queues.get(first.at)?;
        self.algorithm.claims(&self.context, waiting, running)?;
        Some(Inversion {
            waiting: waiting.id(),
            running: running.id(),
            age: self.inverted_for(waiting, running),
        })
    }

    /// How long one queue has waited while the other has been busy.
    fn inverted_for(&self, waiting: &Queue, running: &Queue) -> Nanos {
        let since = waiting.wanting_since();
        self.now.since(since.max(running.work().busy_since()))
    }

    /// Decides the stop of the queue at a place if it may be stopped.
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    fn stop(&mut self, at: usize, disturbed: u32) -> bool {
        let Some(queue) = self.queues.get(at) else {
            return false;
        };
        let own = queue.plan().claim();
        let claim = if !self.limits.whole_process {
            self.single_claim(queue)
        } else if queue.phase().is_free() && queue.work().is_active() {
            let process_at = queue.process_at();
            self.whole_claim(process_at, own)
        } else {
            None
        };
        let Some(claim) = claim else {
            return false;
        };
        let queue = self.queues.get(at);
        let beneficiary = self.queues.get(claim.beneficiary_at);
        let (Some(queue), Some(beneficiary)) = (queue, beneficiary) else {
            return false;
        };
        let process_at = beneficiary.process_at();
        let on_behalf_of = (beneficiary.id(), beneficiary.process());
        let decision = Decision {
            queue: queue.id(),
            action: Action::Stop,
            reason: claim.reason,
            beneficiary: Some(beneficiary.id()),
            age: self.inverted_for(beneficiary, queue),
            apply: self.limits.enforce,
        };
        if !self.push(decision) {
            return false;
        }
        let now = self.now;
        let stop = Stop::new(now, claim.reason)
            .on_behalf_of(on_behalf_of.0, on_behalf_of.1)
            .disturbing(disturbed)
            .dry(!self.limits.enforce)
            .along(own.is_none());
        if let Some(queue) = self.queues.get_mut(at) {
            queue.begin_stop(stop);
        }
        if let Some(beneficiary) = self.queues.get_mut(claim.beneficiary_at) {
            beneficiary.plan_mut().favour();
            if claim.reason == Reason::Rotation {
                beneficiary.account_mut().begin_turn(now);
            }
        }
        if let Some(process) = self.processes.get_mut(process_at) {
            process.plan_mut().favour();
        }
        self.book_preparation(claim.beneficiary_at);
        self.hold(process_at);
        self.keep_bound(now.after(self.limits.max_stop));
        true
    }

    /// The claim on a queue. Two equals may each have a claim on the other; one
    /// of them runs.
    fn single_claim(&self, queue: &Queue) -> Option<Claim> {
        let claim = queue.plan().claim()?;
        let beneficiary = self.queues.get(claim.beneficiary_at)?;
        let runs = matches!(beneficiary.phase(), Phase::Free | Phase::Starting(_));
        (runs && !queue.plan().is_favoured()).then_some(claim)
    }

    /// The claim on an active queue where whole processes are stopped: its own, or
    /// else the one on its process.
    fn whole_claim(&mut self, process_at: usize, own: Option<Claim>) -> Option<Claim> {
        let process = self.processes.get(process_at)?;
        let claim = process.plan().claim()?;
        match process.plan().whole() {
            Whole::Refused => return None,
            Whole::Stopping => {}
            Whole::Open => {
                let stops = self.can_stop_whole(process, claim)?;
                let active = process.plan().active();
                let stops = stops && self.out.promise(active);
                let process = self.processes.get_mut(process_at)?;
                process.plan_mut().decide(stops);
                if !stops {
                    return None;
                }
            }
        }
        let reason = own.map_or(claim.reason, |own| own.reason);
        Some(Claim { reason, ..claim })
    }

    /// Whether a process on which there is a claim is stopped: not if another one
    /// was stopped for it, or if its beneficiary is stopped itself.
    fn can_stop_whole(&self, process: &Process, claim: Claim) -> Option<bool> {
        let beneficiary = self.queues.get(claim.beneficiary_at)?.process_at();
        let beneficiary = self.processes.get(beneficiary)?;
        let stopped = beneficiary.plan().whole() == Whole::Stopping;
        Some(!process.plan().is_favoured() && !stopped)
    }
}
