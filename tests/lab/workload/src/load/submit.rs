// SPDX-License-Identifier: GPL-2.0-only
//! The submitter: requests as packets, at their arrival times.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use super::{Chains, Load, Outstanding, LOOK, STRIDE};
use crate::arrival::{forget, Times};
use crate::clock::guest_now_ns;
use crate::hsa::Queue;
use crate::packet::{self, Dispatch, Packet};
use crate::spec::{Arrival, Barrier, RunSpec};

/// How often a submitter looks whether it should stop, for a queue that is held for a moment.
const HELD_LOOK: Duration = Duration::from_micros(200);

impl Load {
    pub(super) fn submit_all(
        &self,
        run: &RunSpec,
        start_guest_ns: u64,
        chains: &Chains,
        free: &Receiver<usize>,
        submitted: Sender<Outstanding>,
    ) {
        let guest_ns = |gpu_ns| run.guest(gpu_ns).as_nanos() as u64;
        let begin = start_guest_ns.saturating_add(guest_ns(self.spec.start_ns));
        let end = self
            .spec
            .duration_ns
            .map(|duration| begin.saturating_add(guest_ns(duration)));
        let mut times = Times::new(&self.spec.arrival, run.seed, &self.spec.name).peekable();
        let mut request = 0;
        if !self.sleep_until(begin) {
            return;
        }
        while self.spec.requests.is_none_or(|requests| request < requests) {
            let arrival = match &self.spec.arrival {
                Arrival::ClosedLoop { .. } => None,
                _ => match times.next() {
                    Some(time) => Some(begin.saturating_add(guest_ns(time))),
                    None => break,
                },
            };
            if end.is_some_and(|end| arrival.is_some_and(|arrival| arrival >= end)) {
                break;
            }
            if arrival.is_some_and(|time| !self.sleep_until(time)) {
                break;
            }
            let Some(slot) = self.next_free(free, end) else {
                break;
            };
            if self.spec.one_at_a_time {
                forget(&mut times, run.gpu(guest_now_ns().saturating_sub(begin)));
            }
            if let Arrival::ClosedLoop { depth, think_ns } = self.spec.arrival {
                let follows_another = request >= u64::from(depth);
                let thought = guest_now_ns() + guest_ns(think_ns);
                if follows_another && !self.sleep_until(thought) {
                    break;
                }
            }
            let hint_guest_ns = self.hints.as_ref().map(|page| {
                page.prepare();
                guest_now_ns()
            });
            let preparation = guest_ns(self.spec.preparation_ns);
            if preparation > 0 && !self.sleep_until(guest_now_ns() + preparation) {
                break;
            }
            let submit_guest_ns = guest_now_ns();
            if !self.submit(slot, request as usize, chains) {
                break;
            }
            self.submitted.fetch_add(1, Ordering::Release);
            let arrival_guest_ns = arrival.unwrap_or(submit_guest_ns - preparation);
            if submitted
                .send(Outstanding {
                    slot,
                    arrival_guest_ns,
                    hint_guest_ns,
                    submit_guest_ns,
                })
                .is_err()
            {
                break;
            }
            request += 1;
        }
    }

    /// A slot without an outstanding request, or None when submission is to end.
    fn next_free(&self, free: &Receiver<usize>, end: Option<u64>) -> Option<usize> {
        loop {
            if self.stop.load(Ordering::Acquire) || end.is_some_and(|end| guest_now_ns() >= end) {
                return None;
            }
            match free.recv_timeout(LOOK) {
                Ok(slot) => return Some(slot),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Submits a request, waiting while the queue is held. False when the load is
    /// to stop.
    fn submit(&self, slot: usize, request: usize, chains: &Chains) -> bool {
        loop {
            // Held while packets are written: a queue that is destroyed meanwhile would take
            // a part of them with it.
            let active = self.active.read().expect("no holder panics");
            if let Some(active) = &*active {
                self.slots[slot].done.store(1);
                if self.put(&active.queue, slot, request, chains) {
                    self.in_flight.lock().expect("no holder panics").push(slot);
                    return true;
                }
            }
            drop(active);
            if self.stop.load(Ordering::Acquire) || !self.held.load(Ordering::Acquire) {
                return false;
            }
            thread::sleep(HELD_LOOK);
        }
    }

    /// A packet with the slot's buffer, in which the command processor waits.
    fn wait_in_buffer(&self, slot: usize, earlier: u64) -> Packet {
        let words = packet::wait_for_zero(earlier + packet::SIGNAL_VALUE);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.waits.store(slot * STRIDE, &bytes);
        let address = self.waits.address() + (slot * STRIDE) as u64;
        Packet::buffer(address, words.len() as u32, 0)
    }

    /// Writes a request's packets.
    pub(super) fn put(&self, queue: &Queue, slot: usize, request: usize, chains: &Chains) -> bool {
        let give_up = || self.stop.load(Ordering::Acquire) || self.held.load(Ordering::Acquire);
        let unwritten = self.spec.unwritten_guest_ns > 0;
        let mut late = Vec::new();
        let mut batch = self.spec.batched.then(|| queue.batch());
        let mut submit = |packet: &Packet| match &mut batch {
            _ if unwritten => {
                late.push(packet.clone());
                true
            }
            Some(batch) => batch.submit(packet, give_up),
            None => queue.submit(packet, give_up),
        };
        let done = &self.slots[slot].done;
        let mut ok = chains.wait_for.iter().all(|(chain, barrier)| {
            let earlier = chain
                .handle(request)
                .expect("there is a signal for each request");
            let packet = match barrier {
                Barrier::Standard => Packet::barrier_and(&[earlier], 0),
                Barrier::Value => Packet::barrier_below(earlier, 1, 0),
                Barrier::Buffer => self.wait_in_buffer(slot, earlier),
            };
            submit(&packet)
        });
        let mut dispatches = self.parts.dispatches(slot).peekable();
        while let Some((step, kernel_object, kernel_arguments)) = dispatches.next() {
            let last = dispatches.peek().is_none();
            let packet = Packet::dispatch(&Dispatch {
                workgroups: step.workgroups,
                workgroup_size: self.spec.workgroup_size,
                private_bytes: 0,
                lds_bytes: step.kernel.lds_bytes,
                kernel_object,
                kernel_arguments,
                completion: if last { done.handle() } else { 0 },
                // The dispatch behind a barrier packet waits for it.
                ordered: self.spec.ordered || !chains.wait_for.is_empty(),
            });
            ok = ok && submit(&packet);
        }
        ok = ok
            && chains.tell.iter().all(|chain| {
                // Another queue may never wait for this request.
                chain
                    .handle(request)
                    .is_none_or(|signal| submit(&Packet::barrier_and(&[], signal)))
            });
        let pause = Duration::from_nanos(self.spec.unwritten_guest_ns);
        ok && (!unwritten || queue.submit_late(&late, pause, give_up))
    }

    /// False when the load is to stop meanwhile.
    fn sleep_until(&self, guest_ns: u64) -> bool {
        loop {
            if self.stop.load(Ordering::Acquire) {
                return false;
            }
            let now = guest_now_ns();
            if now >= guest_ns {
                return true;
            }
            thread::sleep(Duration::from_nanos(guest_ns - now).min(LOOK));
        }
    }
}
