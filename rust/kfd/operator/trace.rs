// SPDX-License-Identifier: GPL-2.0-only

//! The tracepoints. With a tracepoint off, a call costs a function call.

use crate::kernel::bindings;
use kernel::prelude::*;

/// Which tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// A queue waits while a lower one runs.
    Inversion,
    /// A queue is stopped.
    Stop,
    /// A queue is started.
    Start,
    /// A queue is started because a transaction has failed, or because nothing came of
    /// stopping it.
    Fallback,
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
    /// A word of the policy.
    pub reason: &'static CStr,
    /// How long the condition has lasted.
    pub age_ns: u64,
}

/// Emits an event, if its tracepoint is enabled.
pub fn tell(point: Point, event: &Event) {
    use crate::kernel::compat::*;
    let event = bindings::gp_event {
        gpu_id: event.gpu_id,
        node: event.node,
        pid: event.pid,
        queue_id: event.queue_id,
        prio: event.prio,
        eff_prio: event.eff_prio,
        reason: event.reason.as_char_ptr(),
        age_ns: event.age_ns,
    };
    // SAFETY: `event` is a whole event whose string is static; the functions
    // may be called from any context and keep nothing.
    unsafe {
        match point {
            Point::Inversion => bindings::gp_trace_inversion(&event),
            Point::Stop => bindings::gp_trace_stop(&event),
            Point::Start => bindings::gp_trace_start(&event),
            Point::Fallback => bindings::gp_trace_fallback(&event),
        }
    }
}

/// A reason as the tracepoints take it.
pub fn word(reason: gpreempt_policy::Reason) -> &'static CStr {
    use gpreempt_policy::Reason;
    match reason {
        Reason::Inversion => c"inversion",
        Reason::Rotation => c"rotation",
        Reason::Calm => c"calm",
        Reason::Turn => c"turn",
        Reason::Bound => c"bound",
        Reason::NoProgress => c"no-progress",
        Reason::Budget => c"budget",
        Reason::Exempt => c"exempt",
        Reason::Release => c"release",
        Reason::Failure => c"failure",
        Reason::Orphan => c"orphan",
    }
}
