// SPDX-License-Identifier: GPL-2.0-only

//! The tracepoints. With a tracepoint off, a call costs a function call.

use crate::kernel::bindings;
use gpreempt_policy::Reason;

/// Which tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Point {
    /// A queue waits while a lower one runs.
    Inversion = bindings::gp_point_GP_POINT_INVERSION,
    /// A queue is stopped.
    Stop = bindings::gp_point_GP_POINT_STOP,
    /// A queue is started.
    Start = bindings::gp_point_GP_POINT_START,
    /// A queue is started because a transaction has failed, or because nothing came of
    /// stopping it.
    Fallback = bindings::gp_point_GP_POINT_FALLBACK,
}

/// What a tracepoint tells.
pub struct Event {
    /// KFD's number of the GPU.
    pub gpu_id: u32,
    /// The node's place in the GPU.
    pub node: u32,
    /// The process that owns the queue, or 0.
    pub pid: i32,
    /// KFD's number of the queue within the process.
    pub queue_id: u32,
    /// The priority that the process gave the queue.
    pub prio: u32,
    /// The priority that counts.
    pub eff_prio: u32,
    /// Why.
    pub reason: Reason,
    /// How long the condition has lasted.
    pub age_ns: u64,
}

/// More bytes than any reason's word has.
const REASON_LEN: usize = 16;

const _: () = {
    let mut at = 0;
    while at < Reason::WORDS.len() {
        assert!(Reason::WORDS[at].len() < REASON_LEN);
        at += 1;
    }
};

/// Emits an event, if its tracepoint is enabled.
pub fn tell(point: Point, event: &Event) {
    // As C has it; there is room for every word.
    let mut reason = [0u8; REASON_LEN];
    for (to, from) in reason.iter_mut().zip(event.reason.name().bytes()) {
        *to = from;
    }
    let event = bindings::gp_event {
        gpu_id: event.gpu_id,
        node: event.node,
        pid: event.pid,
        queue_id: event.queue_id,
        prio: event.prio,
        eff_prio: event.eff_prio,
        reason: reason.as_ptr().cast(),
        age_ns: event.age_ns,
    };
    // SAFETY: `event` is a whole event whose string ends with a zero, since that is longer
    // than any; the function may be called from any context and keeps nothing.
    unsafe { bindings::gp_trace(point as u32, &event) }
}
